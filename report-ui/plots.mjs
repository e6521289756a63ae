// Every plot of a page as SVG and PNG files, without a hand on the browser: node plots.mjs PAGE FOLDER [WIDTH]
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { chromiumPath, launchOptions } from "./tests/browser.mjs";

const [page, folder, width = "1280"] = process.argv.slice(2);
if (page === undefined || folder === undefined) throw new Error("usage: node plots.mjs PAGE FOLDER [WIDTH]");
if (chromiumPath === undefined) throw new Error("no Chromium here: install one, or name it in CHROMIUM");
mkdirSync(folder, { recursive: true });
const browser = await chromium.launch(launchOptions);
try {
  const tab = await browser.newPage({ viewport: { width: Number(width), height: 900 }, colorScheme: "light" });
  await tab.goto(pathToFileURL(page).href);
  await tab.locator("footer").waitFor();
  // Paper has all plots, drawn or not yet in view.
  await tab.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
  for (const chart of await tab.locator("main figure.chart").all()) {
    if (await chart.locator("svg").count() === 0) continue;
    for (const kind of ["SVG", "PNG"]) {
      const [download] = await Promise.all([tab.waitForEvent("download"), chart.getByText(kind, { exact: true }).click()]);
      await download.saveAs(join(folder, download.suggestedFilename()));
      console.log(join(folder, download.suggestedFilename()));
    }
  }
} finally {
  await browser.close();
}
