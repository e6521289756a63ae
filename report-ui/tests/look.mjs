// Takes pictures of a page, to be looked at: node tests/look.mjs PAGE FOLDER
import { chromium } from "playwright-core";
import { mkdirSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { launchOptions } from "./browser.mjs";

const [page, folder] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const browser = await chromium.launch(launchOptions);
const views = [
  ["light", { viewport: { width: 1280, height: 900 }, colorScheme: "light" }],
  ["dark", { viewport: { width: 1280, height: 900 }, colorScheme: "dark" }],
  ["phone", { viewport: { width: 390, height: 844 }, colorScheme: "light", deviceScaleFactor: 2 }],
];
for (const [name, options] of views) {
  const context = await browser.newContext(options);
  const tab = await context.newPage();
  tab.on("console", (message) => console.log(name, message.type(), message.text()));
  tab.on("pageerror", (error) => console.log(name, String(error)));
  await tab.goto(pathToFileURL(page).href);
  await tab.locator("footer").waitFor();
  // Plots are drawn when they come into view.
  await tab.evaluate(async () => {
    for (let y = 0; y < document.body.scrollHeight; y += 500) {
      window.scrollTo({ top: y, behavior: "instant" });
      await new Promise((done) => setTimeout(done, 60));
    }
    window.scrollTo({ top: 0, behavior: "instant" });
  });
  await tab.screenshot({ path: `${folder}/${name}.png`, fullPage: true });
  if (name === "light") await tab.pdf({ path: `${folder}/print.pdf`, format: "A4" });
  for (const chart of await tab.locator("figure.chart").all()) {
    await chart.screenshot({ path: `${folder}/${name}-${await chart.getAttribute("id")}.png` });
  }
  for (const [i, section] of (await tab.locator("section").all()).entries()) {
    await section.screenshot({ path: `${folder}/${name}-${i}.png` });
  }
  await tab.evaluate(() => window.scrollTo({ top: 0, behavior: "instant" }));
  await tab.screenshot({ path: `${folder}/${name}-top.png` });
  const cell = tab.locator("button.cell.v-slower").first();
  if (await cell.count() > 0) {
    await cell.click();
    await tab.waitForTimeout(300);
    await tab.screenshot({ path: `${folder}/${name}-detail.png` });
  }
  await context.close();
}
await browser.close();
