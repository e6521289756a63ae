// Figures of other tools beside a session, in a real browser. PAGES names the folder that the example `pages` wrote.
import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { join } from "node:path";
import { drawAll, folder, misplacedLetters, open, picture, saved, seriousViolations } from "./pages.mjs";
import { browse, pageTest } from "./browser.mjs";

const MOST_BYTES = 1_000_000;

browse("figures of other tools in a browser");

/** Pages of figures, of nothing that fits, and of too much. */
const PAGES = ["beside.html", "beside-nothing.html", "beside-hostile.html"];

const texts = (tab, selector) => tab.locator(selector).allTextContents();
const names = (tab, chart) => tab.locator(`#${chart} svg .readable`).evaluateAll((marks) => marks.map((mark) => mark.getAttribute("aria-label")));

for (const name of PAGES) {
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

pageTest("text of an import stays text", async () => {
  const { tab, wrongs, close } = await open("beside-hostile.html");
  await drawAll(tab);
  await tab.locator("main .readable").first().focus();
  await tab.evaluate(() => { for (const fold of document.querySelectorAll("main details")) fold.open = true; });
  assert.equal(await tab.evaluate(() => globalThis.hacked), undefined);
  assert.equal(await tab.locator("img").count(), 0);
  assert.ok((await tab.locator("main").textContent()).includes("</script><img src=x onerror=\"window.hacked=1\">"));
  assert.deepEqual(wrongs, []);
  await close();
});

pageTest("the plot saves as SVG and PNG, and no letters overlap", async () => {
  for (const viewport of [{ width: 1280, height: 900 }, { width: 390, height: 844 }]) {
    const { tab, wrongs, close } = await open("beside.html", { viewport, acceptDownloads: true });
    await drawAll(tab);
    assert.deepEqual(await misplacedLetters(tab), [], `at ${viewport.width} pixels`);
    const svg = await saved(tab, "beside", "SVG");
    assert.equal(svg.name, "tare-beside.svg");
    assert.ok(!svg.content.toString().includes("var(--"), "a saved file knows no property of the page");
    const [width] = await picture(tab, "image/svg+xml", svg.content);
    const [pixels] = await picture(tab, "image/png", (await saved(tab, "beside", "PNG")).content);
    assert.ok(Math.abs(pixels - 2 * width) <= 4, `${width}, ${pixels} pixels`);
    assert.deepEqual(wrongs, []);
    await close();
  }
});

for (const colorScheme of ["light", "dark"]) {
  pageTest(`axe finds nothing serious (${colorScheme})`, async () => {
    const { tab, close } = await open("beside.html", { colorScheme });
    await drawAll(tab);
    assert.deepEqual(await seriousViolations(tab), []);
    await close();
  });
}
