// Figures of other tools in a real browser: beside a session, and alone. PAGES names the folder that the example `pages`
// wrote, TARE the program, which imports real outputs.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before } from "node:test";
import { fileURLToPath } from "node:url";
import { drawAll, folder, misplacedLetters, open, picture, saved, seriousViolations } from "./pages.mjs";
import { browse, pageTest } from "./browser.mjs";

const program = process.env.TARE;
if (program === undefined) throw new Error("set TARE to the program: cargo build -p tare");
const fixtures = fileURLToPath(new URL("../../fixtures/imported", import.meta.url));
const MOST_BYTES = 1_000_000;

/** Real outputs and where, for these tests, their tools are said to have run. */
const OUTPUTS = [
  ["netperf-keys.txt", "native"], ["netperf-keys-all.txt", "gvisor"], ["netperf-omni-all.txt", "container"],
  ["sysbench-cpu.txt", "native"], ["sysbench-cpu-histogram.txt", "gvisor"], ["hyperfine.json", ""],
  ["dd-two.txt", "native"], ["crystaldiskmark-8.txt", "wsl2"], ["unixbench.txt", "native"],
];

browse("figures of other tools in a browser");
before(() => {
  const [record, page] = [join(folder, "tools.tare"), join(folder, "imports.html")];
  const files = OUTPUTS.map(([name]) => join(fixtures, name));
  execFileSync(program, ["import", ...files, "--environment", OUTPUTS.map(([, where]) => where).join(","), "--out", record], { stdio: "ignore" });
  execFileSync(program, ["report", record, "--html", page], { stdio: "ignore" });
});

const PAGES = ["imports.html", "beside.html"];
/** Pages of what is hardly there, or too much. */
const EDGES = ["imports-many.html", "imports-none.html", "imports-hostile.html", "beside-nothing.html", "beside-hostile.html"];

const texts = (tab, selector) => tab.locator(selector).allTextContents();
const names = (tab, chart) => tab.locator(`#${chart} svg .readable`).evaluateAll((marks) => marks.map((mark) => mark.getAttribute("aria-label")));

for (const name of [...PAGES, ...EDGES]) {
  pageTest(`${name} opens offline without an error or a request, and fits a phone`, async () => {
    for (const options of [{}, { viewport: { width: 390, height: 844 }, isMobile: true }]) {
      const { tab, wrongs, close } = await open(name, options);
      await drawAll(tab);
      assert.deepEqual(wrongs, []);
      const [inner, wide] = await tab.evaluate(() => [window.innerWidth, document.documentElement.scrollWidth]);
      assert.ok(wide <= inner, `${wide} pixels wide on ${inner}`);
      await close();
    }
    assert.ok(statSync(join(folder, name)).size < MOST_BYTES);
  });
}

pageTest("figures beside a session stand at its medians, as marks of their own", async () => {
  const { tab, close } = await open("beside.html");
  await drawAll(tab);
  const plot = await tab.locator("#beside svg").textContent();
  for (const words of ["value over native's own median, log scale", "this session", "other tools", "netperf in gvisor", "sockperf", "TCP round tripp99"]) {
    assert.ok(plot.includes(words), `${words} in ${plot}`);
  }
  const marks = await names(tab, "beside");
  const own = marks.find((mark) => mark.startsWith("TCP round trip, native: "));
  assert.match(own, /^TCP round trip, native: 20\.6 µs ±\d.*, 1\.00x of native's own median$/);
  const other = marks.find((mark) => mark.startsWith("TCP round trip, netperf in gvisor: "));
  assert.match(other, /^TCP round trip, netperf in gvisor: 126 µs \(time of TCP REQUEST\/RESPONSE; as written 20\.70\), 6\.13x of native's own median$/);
  assert.match(await tab.locator("#beside figcaption").textContent(), /not paired, so there is no verdict/);
  const lines = await texts(tab, "table.beside tbody tr");
  const rate = lines.filter((line) => line.startsWith("TCP round trip: rate"));
  assert.equal(rate.length, 4);
  assert.ok(rate.every((line) => line.includes("not in the plot: native has no value of it")), rate[0]);
  assert.ok(!plot.includes("rate"));
  assert.ok(lines.some((line) => line.includes("burst=1, rate=0")), "what the tool does not say");
  assert.match(await tab.locator("section", { has: tab.locator("#beside-title") }).textContent(), /4 results are in the table alone/);
  await close();
});

pageTest("a page without figures of other tools has no such part", async () => {
  const { tab, close } = await open("rich.html");
  await drawAll(tab);
  assert.equal(await tab.locator("#beside-title").count(), 0);
  await close();
  const asked = await open("beside-nothing.html");
  await asked.tab.getByText("Nothing that was imported corresponds to a case and metric of this session.").waitFor();
  await asked.close();
});

pageTest("figures of one name stand side by side, whichever file they come from", async () => {
  const { tab, close } = await open("imports.html");
  await drawAll(tab);
  assert.equal(await tab.locator("h1").textContent(), "Results of other tools");
  const titles = await texts(tab, "figure.chart h3");
  const at = titles.findIndex((title) => title.startsWith("TCP REQUEST/RESPONSE: min, mean"));
  assert.ok(at >= 0, titles.join("; "));
  const id = await tab.locator("figure.chart").nth(at).getAttribute("id");
  const marks = await names(tab, id);
  for (const label of ["native: mean 7.42 µs (as written 7.42 us)", "native: p99 25.0 µs (as written 25 us)"]) assert.ok(marks.includes(label), marks.join("; "));
  assert.ok(marks.some((mark) => mark.startsWith("gvisor: max ")), marks.join("; "));
  assert.match(await tab.locator(`#${id} svg`).textContent(), /time, log scale/);
  for (const chart of await tab.locator("figure.chart").all()) {
    const text = await chart.locator("svg").textContent();
    assert.match(text, /time|per second|bytes|count|MWIPS|percent/, await chart.getAttribute("id"));
    assert.ok(await chart.locator("svg .readable").count() > 0);
  }
  await close();
});

pageTest("repeated runs are one plot, with a colour for each environment", async () => {
  const netperf = (from) => Array.from({ length: 50 }, (_, i) => readFileSync(join(fixtures, "netperf-keys.txt"), "utf8").replace(/^MAX_LATENCY=.*$/m, `MAX_LATENCY=${from + i % 7}`)).join("");
  const files = [["wsl1", 170], ["wsl2", 250]].map(([name, from]) => {
    writeFileSync(join(folder, `${name}.txt`), netperf(from));
    return join(folder, `${name}.txt`);
  });
  const record = join(folder, "runs.tare");
  execFileSync(program, ["import", ...files, "--environment", "wsl1-like,wsl2-like", "--out", record], { stdio: "ignore" });
  execFileSync(program, ["report", record, "--html", join(folder, "runs.html")], { stdio: "ignore" });
  const { tab, wrongs, close } = await open("runs.html");
  await drawAll(tab);
  const chart = tab.locator("figure.chart", { hasText: "run by run" }).first();
  await chart.locator("select").selectOption("max");
  const marks = await chart.locator("svg .readable").evaluateAll((all) => all.map((mark) => mark.getAttribute("aria-label")));
  assert.equal(marks.length, 100);
  assert.ok(marks.includes("wsl1-like, run 1: max 170 µs (as written 170 us)"), marks[0]);
  assert.ok(marks.includes("wsl2-like, run 50: max 250 µs (as written 250 us)"), marks.at(-1));
  assert.deepEqual(wrongs, []);
  await close();
});

pageTest("every figure of every file is in a table, with what the tool wrote", async () => {
  const { tab, close } = await open("imports.html");
  await drawAll(tab);
  assert.equal(await tab.locator("table.sources tbody tr").count(), OUTPUTS.length);
  assert.match((await texts(tab, "table.sources tbody tr"))[5], /hyperfine\.json.*not given/);
  const printed = execFileSync(program, ["report", join(folder, "tools.tare"), "--json"], { encoding: "utf8" });
  const values = JSON.parse(printed).imported.flatMap((file) => file.figures.flatMap((figure) => figure.values));
  assert.equal(await tab.locator("table.stated-figures tbody tr").count(), values.length);
  assert.deepEqual(await texts(tab, "td.written"), values.map(({ written }) => written));
  await close();
});

pageTest("too many figures are bounded, and the page says what it leaves out", async () => {
  const { tab, close } = await open("imports-many.html");
  await drawAll(tab);
  assert.equal(await tab.locator("figure.chart").count(), 24);
  const text = await tab.locator("main").textContent();
  assert.match(text, /24 of \d+ plots are drawn, those with the most files first; the other results are in the tables below\./);
  assert.match(text, /\d+ further results are left out of a report of this size; tare report --json has them\./);
  await close();
});

pageTest("text of an import stays text", async () => {
  for (const name of ["imports-hostile.html", "beside-hostile.html"]) {
    const { tab, wrongs, close } = await open(name);
    await drawAll(tab);
    await tab.locator("main .readable").first().focus();
    await tab.evaluate(() => { for (const fold of document.querySelectorAll("main details")) fold.open = true; });
    assert.equal(await tab.evaluate(() => globalThis.hacked), undefined, name);
    assert.equal(await tab.locator("img").count(), 0, name);
    assert.ok((await tab.locator("main").textContent()).includes("</script><img src=x onerror=\"window.hacked=1\">"), name);
    assert.deepEqual(wrongs, [], name);
    await close();
  }
});

for (const name of PAGES) {
  pageTest(`the plots of ${name} save as SVG and PNG, and no letters overlap`, async () => {
    for (const viewport of [{ width: 1280, height: 900 }, { width: 390, height: 844 }]) {
      const { tab, wrongs, close } = await open(name, { viewport, acceptDownloads: true });
      await drawAll(tab);
      assert.deepEqual(await misplacedLetters(tab), [], `at ${viewport.width} pixels`);
      const id = name === "beside.html" ? "beside" : "imported-0";
      const svg = await saved(tab, id, "SVG");
      assert.equal(svg.name, `tare-${id}.svg`);
      assert.ok(!svg.content.toString().includes("var(--"), "a saved file knows no property of the page");
      const [width] = await picture(tab, "image/svg+xml", svg.content);
      const [pixels] = await picture(tab, "image/png", (await saved(tab, id, "PNG")).content);
      assert.ok(Math.abs(pixels - 2 * width) <= 4, `${width}, ${pixels} pixels`);
      assert.deepEqual(wrongs, []);
      await close();
    }
  });

  for (const colorScheme of ["light", "dark"]) {
    pageTest(`axe finds nothing serious in ${name} (${colorScheme})`, async () => {
      const { tab, close } = await open(name, { colorScheme });
      await drawAll(tab);
      assert.deepEqual(await seriousViolations(tab), []);
      await close();
    });
  }
}
