// Takes pictures of pages as wide as a screen, a phone and paper, and names what leaves its place there:
// node tests/widths.mjs PAGE... FOLDER
import { chromium } from "playwright-core";
import { mkdirSync } from "node:fs";
import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import { launchOptions } from "./browser.mjs";

const pages = process.argv.slice(2);
const folder = pages.pop();
/** A4 in CSS pixels, without the margins that a browser prints with. */
const PAPER = { width: 718, height: 1047 };
const FORMS = [
  ["1280", { viewport: { width: 1280, height: 900 } }],
  ["390", { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2 }],
  ["a4", { viewport: PAPER }],
];
mkdirSync(folder, { recursive: true });
const browser = await chromium.launch(launchOptions);
let wrong = 0;
for (const page of pages) {
  for (const [form, options] of FORMS) {
    const name = `${basename(page, ".html")}-${form}`;
    const context = await browser.newContext({ ...options, colorScheme: "light" });
    const tab = await context.newPage();
    await tab.goto(pathToFileURL(page).href);
    await tab.locator("footer").waitFor();
    if (form === "a4") await tab.emulateMedia({ media: "print" });
    // Plots are drawn when they come into view.
    await tab.evaluate(async () => {
      for (let y = 0; y < document.body.scrollHeight; y += 500) {
        window.scrollTo({ top: y, behavior: "instant" });
        await new Promise((done) => setTimeout(done, 60));
      }
      window.scrollTo({ top: 0, behavior: "instant" });
    });
    const found = await tab.evaluate(() => {
      const wide = document.documentElement.clientWidth;
      const shows = (at) => at.checkVisibility?.() !== false && at.getClientRects().length > 0;
      const scrolls = (at) => {
        for (let up = at.parentElement; up; up = up.parentElement) {
          if (["auto", "scroll"].includes(getComputedStyle(up).overflowX)) return true;
        }
        return false;
      };
      const all = [...document.querySelectorAll("body *:not(.unseen)")].filter(shows);
      const label = (at) => `${at.tagName.toLowerCase()}.${at.getAttribute("class") ?? ""} "${(at.textContent ?? "").trim().slice(0, 40)}"`;
      const beyond = all.filter((at) => at.getBoundingClientRect().right > wide + 1 && !scrolls(at) && !at.closest("svg")).map((at) => `beyond the edge: ${label(at)}`);
      const cut = all.filter((at) => at.children.length === 0 && getComputedStyle(at).overflowX === "hidden" && at.scrollWidth > at.clientWidth + 1)
        .map((at) => `cut off: ${label(at)}`);
      const over = [...document.querySelectorAll("td *:not(.unseen), th *:not(.unseen)")].filter(shows)
        .filter((at) => at.getBoundingClientRect().right > at.closest("td, th").getBoundingClientRect().right + 1 && !scrolls(at))
        .map((at) => `runs over its cell: ${label(at)}`);
      return [...beyond, ...cut, ...over].slice(0, 12);
    });
    found.forEach((line) => console.log(`${name}: ${line}`));
    wrong += found.length;
    await tab.screenshot({ path: `${folder}/${name}.png`, fullPage: true });
    if (form === "a4") await tab.pdf({ path: `${folder}/${name}.pdf`, format: "A4" });
    await context.close();
  }
}
await browser.close();
console.log(wrong === 0 ? "nothing leaves its place" : `${wrong} things leave their place`);
process.exitCode = wrong === 0 ? 0 : 1;
