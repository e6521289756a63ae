// The page of a fleet in a real browser. PAGES names the folder that the example `pages` wrote.
import assert from "node:assert/strict";
import { open, seriousViolations } from "./pages.mjs";
import { browse, pageTest } from "./browser.mjs";

browse("page of a fleet in a browser");

for (const name of ["fleet.html", "fleet-hostile.html"]) {
  pageTest(`${name} opens offline without an error, a request or a script, and fits a phone`, async () => {
    for (const options of [{}, { viewport: { width: 390, height: 844 }, isMobile: true }]) {
      const { tab, wrongs, close } = await open(name, options);
      assert.deepEqual(wrongs, []);
      assert.equal(await tab.locator("script, img").count(), 0);
      const [inner, wide] = await tab.evaluate(() => [window.innerWidth, document.documentElement.scrollWidth]);
      assert.ok(wide <= inner, `${wide} pixels wide on ${inner}`);
      assert.equal(await tab.evaluate(() => globalThis.hacked), undefined);
      await close();
    }
  });

  for (const colorScheme of ["light", "dark"]) {
    pageTest(`axe finds nothing serious in ${name} (${colorScheme})`, async () => {
      const { tab, close } = await open(name, { colorScheme });
      assert.deepEqual(await seriousViolations(tab), []);
      await close();
    });
  }
}

pageTest("what is missing and what is slow come first, then every node and every pair", async () => {
  const { tab, close } = await open("fleet.html");
  const headings = await tab.locator("h2").allTextContents();
  assert.deepEqual(headings.slice(0, 3), ["Missing: 2 of 80", "Slow nodes", "Map of nodes"]);
  const slow = tab.getByRole("region", { name: "Slow nodes" }).locator("tbody tr");
  assert.match((await slow.allTextContents())[0], /^n07slow\?typically 29 % slower/);
  assert.equal(await slow.count(), 1);
  assert.equal(await tab.locator("ol.map li").count(), 40);
  assert.equal(await tab.locator("ol.map").count(), 2);
  assert.match(await tab.locator("ol.map li.flag").textContent(), /^n07\+29 % slow\?$/);
  const matrix = tab.locator("table.matrix");
  assert.equal(await matrix.locator("tbody td").count(), 144);
  const links = await tab.getByRole("region", { name: /^Links/ }).locator("tbody tr").allTextContents();
  assert.match(links[0], /^n02 with n05.*slow link$/);
  await close();
});

pageTest("what is wider than the page scrolls by itself, and keys reach it", async () => {
  const { tab, close } = await open("fleet.html", { viewport: { width: 390, height: 844 } });
  const matrix = tab.getByRole("region", { name: /^Matrix of pairs/ });
  await matrix.focus();
  await tab.keyboard.press("ArrowRight");
  await tab.waitForFunction(() => document.activeElement.scrollLeft > 0);
  await close();
});
