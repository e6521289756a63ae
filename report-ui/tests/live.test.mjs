// The page that follows a session, in a real browser: TARE names the program, which serves a record that this test
// lets grow.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { browse, browser, pageTest } from "./browser.mjs";

const program = process.env.TARE;
if (program === undefined) throw new Error("set TARE to the program: cargo build -p tare");
browse("report page that follows a session");

/** The lines of a whole record of a small session. */
function recorded(folder) {
  const record = join(folder, "whole.tare");
  execFileSync(program, ["run", "--only", "null,sys.getppid", "--in", "native", "--rounds", "4", "--record", record, "--scratch", folder],
    { cwd: folder, env: { ...process.env, XDG_STATE_HOME: join(folder, "state") }, stdio: "ignore" });
  return readFileSync(record, "utf8").split(/(?<=\n)/);
}

/** Serves a record; gives its address and a function that ends the server. */
async function serve(record) {
  const child = spawn(program, ["report", "--serve", record], { stdio: ["ignore", "pipe", "ignore"] });
  const ended = new Promise((done) => child.once("exit", done));
  const address = await new Promise((done, failed) => {
    child.stdout.once("data", (text) => done(String(text).trim()));
    child.once("exit", (code) => failed(new Error(`the server ended with ${code}`)));
  });
  return { address, end: async () => { child.kill("SIGINT"); return ended; } };
}

pageTest("progress moves while the record grows, and the figures come at its end", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tare-live-"));
  try {
    const lines = recorded(folder);
    const plan = lines.findIndex((line) => line.includes("{\"plan\""));
    const third = plan + Math.ceil((lines.length - plan) / 3);
    const record = join(folder, "growing.tare");
    writeFileSync(record, lines[0]);
    const { address, end } = await serve(record);
    const tab = await browser.newPage();
    const wrongs = [];
    tab.on("console", (message) => { if (["error", "warning"].includes(message.type())) wrongs.push(message.text()); });
    tab.on("pageerror", (error) => wrongs.push(String(error)));
    tab.on("request", (request) => { if (!request.url().startsWith(address) && !request.url().startsWith("data:")) wrongs.push(`asked for ${request.url()}`); });
    await tab.goto(address);
    await tab.getByRole("heading", { name: "A session is being prepared" }).waitFor();
    await tab.getByRole("heading", { name: "Environments start and cases are calibrated" }).waitFor();
    appendFileSync(record, lines.slice(1, third).join(""));
    await tab.getByRole("heading", { name: "The session is running" }).waitFor();
    await tab.getByText(/round \d of 4/).waitFor();
    const bar = tab.getByRole("progressbar");
    const before = await bar.evaluate((element) => element.value);
    const counts = await tab.locator(".live .counts").textContent();
    assert.equal(await tab.getByText(/The record ends early|the session broke off/).count(), 0, "a session that runs has not broken off");
    appendFileSync(record, lines.slice(third, -1).join(""));
    await tab.waitForFunction((counts) => document.querySelector(".live .counts").textContent !== counts, counts);
    assert.ok(await bar.evaluate((element) => element.value) > before, `the bar moves on from ${before}`);
    await tab.getByRole("button", { name: "Show the results so far" }).click();
    await tab.getByRole("heading", { name: "The session is running" }).waitFor();
    appendFileSync(record, lines.at(-1));
    await tab.locator(".live").waitFor({ state: "detached" });
    await tab.locator("footer").waitFor();
    assert.ok((await tab.locator("#table").textContent()).includes("sys.getppid"));
    assert.deepEqual(wrongs, []);
    assert.equal(await end(), 0);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
