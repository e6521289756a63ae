// Where the browser of the tests is, and how it is started.
import { existsSync } from "node:fs";

const CANDIDATES = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Path of Chromium; undefined where there is none. */
export const chromiumPath = CANDIDATES.find((path) => path !== undefined && existsSync(path));

export const launchOptions = {
  executablePath: chromiumPath,
  // Root has no sandbox to start Chromium in; the pages are ours.
  args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
};
