// Pages of the tests: opened and watched, scrolled through, altered, saved.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { browser } from "./browser.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** The folder that the example `pages` wrote. */
export const folder = process.env.PAGES;
if (folder === undefined) throw new Error("set PAGES to the folder of: cargo run -p tare-report --example pages -- FOLDER");

/** Opens a page and notes everything that it should not do. */
export async function open(name, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const tab = await context.newPage();
  const wrongs = [];
  tab.on("console", (message) => { if (["error", "warning"].includes(message.type())) wrongs.push(message.text()); });
  tab.on("pageerror", (error) => wrongs.push(String(error)));
  tab.on("request", (request) => { if (!/^(file|data|blob):/.test(request.url())) wrongs.push(`asked for ${request.url()}`); });
  await tab.goto(pathToFileURL(join(folder, name)).href);
  await tab.locator("footer").waitFor();
  return { tab, wrongs, close: () => context.close() };
}

/** Writes a page anew with other data, and names the file. */
export function altered(name, as, change) {
  const page = readFileSync(join(folder, name), "utf8");
  const from = page.indexOf("id=\"tare-data\">") + "id=\"tare-data\">".length;
  const to = page.indexOf("</script>", from);
  const packed = JSON.parse(page.slice(from, to));
  const changed = change(packed) ?? packed;
  writeFileSync(join(folder, as), page.slice(0, from) + JSON.stringify(changed).replaceAll("<", "\\u003c") + page.slice(to));
  return as;
}

/** What crates/tare-report/src/html/pack.rs does to a value, but that nothing is said once. */
export function packedAnew(packed, change) {
  const { shapes, texts } = packed;
  const open = (value) => {
    if (typeof value === "string") return texts[Number.parseInt(value, 36)];
    if (!Array.isArray(value)) return value;
    const values = value.slice(1).map(open);
    return value[0] === -1 ? values : Object.fromEntries(shapes[value[0]].map((key, i) => [key, values[i]]));
  };
  const root = open(packed.root);
  change(root);
  const out = { shapes: [], texts: [], root: null };
  const pack = (value) => {
    if (typeof value === "string") return (out.texts.push(value) - 1).toString(36);
    if (value === null || typeof value !== "object") return value;
    if (Array.isArray(value)) return [-1, ...value.map(pack)];
    return [out.shapes.push(Object.keys(value)) - 1, ...Object.values(value).map(pack)];
  };
  out.root = pack(root);
  return out;
}

/** Scrolls through the page, so that every plot is drawn. */
export async function drawAll(tab) {
  await tab.evaluate(async () => {
    for (let y = 0; y <= document.body.scrollHeight; y += 400) {
      window.scrollTo({ top: y, behavior: "instant" });
      await new Promise((done, failed) => {
        setTimeout(() => failed(new Error("no frame in 10 s")), 10_000);
        requestAnimationFrame(() => setTimeout(done, 20));
      });
    }
    window.scrollTo({ top: 0, behavior: "instant" });
  });
}

/** What axe takes seriously. */
export async function seriousViolations(tab) {
  await tab.evaluate(axe);
  const found = await tab.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  return found.violations.filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.target} ${node.failureSummary}`).slice(0, 3).join(" | ")}`);
}

/** Whether a picture can be drawn, and its size. */
export const picture = (tab, kind, content) => tab.evaluate(async ([kind, base64]) => {
  const image = new Image();
  image.src = `data:${kind};base64,${base64}`;
  await image.decode();
  return [image.naturalWidth, image.naturalHeight];
}, [kind, content.toString("base64")]);

/** A plot as its button saves it. */
export async function saved(tab, id, kind) {
  const [download] = await Promise.all([tab.waitForEvent("download"), tab.locator(`#${id}`).getByText(kind, { exact: true }).click()]);
  return { name: download.suggestedFilename(), content: readFileSync(await download.path()) };
}

/** Letters of plots that leave their plot or lie over others. */
export function misplacedLetters(tab) {
  return tab.evaluate(() => [...document.querySelectorAll(".chart")].flatMap((chart) => {
    const frame = chart.getBoundingClientRect();
    const texts = [...chart.querySelectorAll("svg:not([aria-hidden]) text")].map((text) => ({ text: text.textContent, box: text.getBoundingClientRect() }))
      .filter(({ box }) => box.width > 0);
    const out = texts.filter(({ box }) => box.left < frame.left || box.right > frame.right + 0.5).map(({ text }) => `${chart.id}: ${text} leaves`);
    texts.forEach((a, i) => texts.slice(i + 1).forEach((b) => {
      const across = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left);
      const along = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
      // Boxes of letters have air above and below; what counts is the letters.
      if (across > 1 && along > 4) out.push(`${chart.id}: ${a.text} over ${b.text}`);
    }));
    return out;
  }));
}
