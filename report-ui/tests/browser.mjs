// The browser of the tests: where it is, how it is started, and what is done where it stops making frames.
import { existsSync } from "node:fs";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";

const CANDIDATES = [
  process.env.CHROMIUM, "/usr/bin/chromium-headless-shell", "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome",
];
/** Longest that a test may take; the slowest takes 20 s on two busy cores. */
const LONGEST_MS = 90_000;
/** A page that is seen makes sixty frames a second: one that made none for so long makes no more. */
const NO_FRAME_MS = 10_000;
/** Starting a browser, or ending it, takes a second. */
const BROWSER_MS = 60_000;
const MOST_ATTEMPTS = 3;

/** Path of Chromium; undefined where there is none. */
export const chromiumPath = CANDIDATES.find((path) => path !== undefined && existsSync(path));

export const launchOptions = {
  executablePath: chromiumPath,
  // Root has no sandbox to start Chromium in; the pages are ours.
  args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
};

const skip = chromiumPath === undefined ? "no Chromium here" : false;
/** Started before the first test of a file. */
export let browser;

const launch = async () => { if (!skip) browser = await chromium.launch(launchOptions); };
const quit = async () => { await within(BROWSER_MS / 2, browser?.close()); };

/** What a promise gives, or undefined after so long; the promise's failure is thrown. */
async function within(ms, promise) {
  let timer;
  const late = new Promise((done) => { timer = setTimeout(done, ms); });
  try { return await Promise.race([promise, late]); } finally { clearTimeout(timer); }
}

/** Has a browser for the tests of a file; `what` they test is said where they are skipped. */
export function browse(what) {
  if (skip) console.log(`SKIPPED ${what}: ${skip}`);
  before(launch, { timeout: BROWSER_MS });
  after(quit, { timeout: BROWSER_MS });
}

/** Whether every page that is open still makes frames. */
async function makesFrames() {
  const pages = browser.contexts().flatMap((context) => context.pages());
  const frames = pages.map((page) => within(NO_FRAME_MS, page.evaluate(() => new Promise((done) => requestAnimationFrame(() => done(true)))).catch(() => false)));
  return (await Promise.all(frames)).every((frame) => frame === true);
}

/**
 * A test of a page. Headless Chromium now and then stops making frames, for good, on a page of many plots: then, and only
 * then, the test runs again in a fresh one, and says so. What runs in a page has no time limit of its own, so the test
 * has one.
 */
export function pageTest(name, body) {
  test(name, { skip, timeout: MOST_ATTEMPTS * LONGEST_MS + BROWSER_MS }, async () => {
    for (let attempt = 1; ; attempt++) {
      const failed = await within(LONGEST_MS, body().then(() => false, (error) => error));
      if (failed === false) return;
      const stalled = !await makesFrames();
      await quit();
      await launch();
      if (!stalled || attempt === MOST_ATTEMPTS) throw failed ?? new Error(`took longer than ${LONGEST_MS / 1000} s`);
      console.log(`${name}: the browser stopped making frames; once more in a fresh one`);
    }
  });
}
