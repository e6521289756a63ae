// The page in Japanese: its language, its words, and that wide letters keep to their places.
import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { join } from "node:path";
import { browse, pageTest } from "./browser.mjs";
import { drawAll, folder, misplacedLetters, open, seriousViolations } from "./pages.mjs";

const PAGE = "japanese.html";

browse("page in Japanese");

pageTest("headings, verdicts and sentences are Japanese", async () => {
  const { tab, wrongs, close } = await open(PAGE);
  assert.equal(await tab.getAttribute("html", "lang"), "ja");
  assert.equal(await tab.title(), "container、gvisor、wsl2-likeをnativeと比較 · tare");
  assert.equal(await tab.locator("h1").textContent(), "container、gvisor、wsl2-likeをnativeと比較");
  await drawAll(tab);
  const titles = await tab.locator("h2, h3").allTextContents();
  const names = ["container", "gvisor", "wsl2-like", "UnixBench"];
  const english = titles.filter((title) => !/[\u3040-\u30ff\u4e00-\u9fff]/.test(title) && !names.some((name) => title.startsWith(name)));
  assert.deepEqual(english, []);
  const sentences = await tab.locator(".card .sentence").allTextContents();
  assert.ok(sentences[1].includes("最大はシステムコールの24倍の時間"), sentences[1]);
  const cells = await tab.locator("button.cell .what").allTextContents();
  assert.ok(cells.includes("24倍 (23.9〜24.4倍)") && cells.includes("同等 (0.99〜1.01倍)") && cells.includes("–"), cells.join());
  assert.deepEqual(cells.filter((cell) => /[a-z]{3}/.test(cell)), []);
  assert.deepEqual(wrongs, []);
  await close();
});

pageTest("an open cell and an open check are Japanese", async () => {
  const { tab, close } = await open(PAGE);
  await tab.locator(".checks summary").click();
  await tab.locator("button.check").first().click();
  assert.match(await tab.locator("#check-0").textContent(), /誤検出です。/);
  await tab.locator("button.cell").nth(1).click();
  const terms = await tab.locator("#detail dt").allTextContents();
  assert.ok(terms.includes("許容差") && terms.includes("平均コスト"), terms.join());
  await close();
});

pageTest("letters of plots stay in their places", async () => {
  const { tab, close } = await open(PAGE);
  await drawAll(tab);
  assert.deepEqual(await misplacedLetters(tab), []);
  await close();
});

pageTest("nothing is wider than a phone", async () => {
  const { tab, close } = await open(PAGE, { viewport: { width: 390, height: 844 } });
  await drawAll(tab);
  assert.ok(await tab.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth));
  await close();
});

for (const colorScheme of ["light", "dark"]) {
  pageTest(`axe finds nothing serious in Japanese (${colorScheme})`, async () => {
    const { tab, close } = await open(PAGE, { colorScheme });
    await drawAll(tab);
    assert.deepEqual(await seriousViolations(tab), []);
    await close();
  });
}

pageTest("a full session stays under a megabyte, with its words", async () => {
  assert.ok(statSync(join(folder, "big-japanese.html")).size < 1_000_000);
});

pageTest("an English page says so", async () => {
  const { tab, close } = await open("rich.html");
  assert.equal(await tab.getAttribute("html", "lang"), "en");
  await close();
});
