// Figures read the same on the page and on the terminal, and the committed page is what the source builds.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const root = fileURLToPath(new URL("..", import.meta.url));
const fixture = JSON.parse(readFileSync(join(root, "../fixtures/figures.json"), "utf8"));

/** Builds one module for node and imports it. */
async function numbers(folder) {
  await build({
    root, configFile: false, logLevel: "silent",
    build: { outDir: folder, lib: { entry: join(root, "src/number.ts"), formats: ["es"], fileName: () => "number.mjs" } },
  });
  return import(join(folder, "number.mjs"));
}

test("figures read as the shared list says", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tare-ui-"));
  try {
    const { figure, half, ratio, interval, duration } = await numbers(folder);
    for (const { value, low, high, unit, text, half: wanted } of fixture.figures) {
      assert.equal(figure(value, unit), text);
      assert.equal(half(value, low, high, unit), wanted, text);
    }
    for (const { estimate, low, high, text, interval: wanted } of fixture.ratios) {
      assert.equal(ratio(estimate), text);
      assert.equal(interval(low, high, estimate), wanted);
    }
    for (const { seconds, text } of fixture.durations) assert.equal(duration(seconds), text);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("the committed page is what the source builds", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tare-ui-"));
  const here = process.cwd();
  try {
    process.chdir(root);
    await build({ root, logLevel: "silent", build: { outDir: folder } });
    assert.ok(
      readFileSync(join(folder, "page.html"), "utf8") === readFileSync(join(root, "dist/page.html"), "utf8"),
      "run npm run build in report-ui and commit dist/page.html",
    );
  } finally {
    process.chdir(here);
    rmSync(folder, { recursive: true });
  }
});
