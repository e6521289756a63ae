// The page in a real browser: npm test FOLDER is run with PAGES naming the folder that the example `pages` wrote.
import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { join } from "node:path";
import { altered, drawAll, folder, misplacedLetters, open, packedAnew, picture, saved, seriousViolations } from "./pages.mjs";
import { browse, pageTest } from "./browser.mjs";

const MOST_BYTES = 1_000_000;

browse("report page in a browser");

/** Text of the first column, row by row. */
const labels = (tab) => tab.locator("#table tbody th[scope=row] span").allTextContents();

for (const name of ["rich.html", "big.html", "empty.html", "baseline.html"]) {
  pageTest(`${name} opens offline without an error or a request`, async () => {
    const { tab, wrongs, close } = await open(name);
    await drawAll(tab);
    assert.match(await tab.locator("h1").textContent(), name === "baseline.html" ? /^native alone$/ : / compared with native$/);
    assert.deepEqual(wrongs, []);
    await close();
  });
}

pageTest("the table sorts by an environment, slowest first, and back", async () => {
  const { tab, close } = await open("rich.html");
  const planned = await labels(tab);
  const sort = tab.getByRole("button", { name: "gvisor", exact: true });
  await sort.click();
  assert.equal((await labels(tab))[0], "system call");
  assert.equal(await tab.locator("th", { has: sort }).getAttribute("aria-sort"), "descending");
  const ratios = (await tab.locator("#table td[data-environment=gvisor] .what").allTextContents())
    .map((text) => Number.parseFloat(text)).filter((ratio) => !Number.isNaN(ratio));
  assert.deepEqual(ratios, [...ratios].sort((a, b) => b - a));
  await sort.click();
  assert.equal((await labels(tab))[0], "primes to 20000");
  await sort.click();
  assert.deepEqual(await labels(tab), planned);
  await close();
});

pageTest("the table filters by name, family, answer and place", async () => {
  const { tab, close } = await open("rich.html");
  await tab.getByRole("searchbox").fill("PIPE");
  assert.deepEqual(await labels(tab), ["pipe, 512 B"]);
  await tab.getByRole("searchbox").fill("");
  await tab.getByRole("combobox", { name: "Family" }).selectOption("process");
  assert.deepEqual(await labels(tab), ["fork + wait", "exec"]);
  await tab.getByRole("combobox", { name: "Family" }).selectOption("");
  await tab.getByRole("combobox", { name: "Answer" }).selectOption("faster");
  assert.deepEqual(await labels(tab), ["write+fdatasync 4 KiB"]);
  await tab.getByRole("combobox", { name: "Answer" }).selectOption("");
  await tab.getByRole("combobox", { name: "Place" }).selectOption("share");
  assert.equal((await labels(tab)).length, 6);
  assert.equal(await tab.getByRole("status").textContent(), "6 of 19 rows");
  await tab.getByRole("combobox", { name: "Place" }).selectOption("");
  await tab.getByRole("checkbox", { name: "every metric" }).check();
  assert.equal(await tab.getByRole("status").textContent(), "23 rows");
  await close();
});

pageTest("a cell is reached, opened and closed by keyboard", async () => {
  const { tab, wrongs, close } = await open("rich.html");
  await tab.locator("button.cell[tabindex='0']").focus();
  await tab.keyboard.press("ArrowRight");
  await tab.keyboard.press("ArrowDown");
  assert.match(await tab.evaluate(() => document.activeElement.textContent), /^fork \+ wait in gvisor: ▲12x \(12\.2 to 12\.5x\), 914 µs/);
  await tab.keyboard.press("Enter");
  const dialog = tab.getByRole("dialog");
  await dialog.waitFor();
  const text = await dialog.textContent();
  for (const part of ["fork + wait in gvisor", "12x (12.2 to 12.5x)", "74.2 µs ±0.4", "914 µs ±5", "interval (signs)", "native against itself", "kernel.release", "tare run quick --only proc.spawn --in native,gvisor"]) {
    assert.ok(text.includes(part), `${part} in ${text}`);
  }
  await dialog.locator("svg").waitFor();
  assert.equal(await dialog.locator("svg .readable[aria-label*=round]").count() >= 36, true);
  await dialog.getByText("The value of every round").click();
  assert.equal(await dialog.locator("details tbody tr").count(), 18);
  await tab.keyboard.press("Escape");
  assert.equal(await dialog.isVisible(), false);
  assert.match(await tab.evaluate(() => document.activeElement.textContent), /^fork \+ wait in gvisor/);
  assert.deepEqual(wrongs, []);
  await close();
});

pageTest("dark and light follow the system and the switch", async () => {
  const brightness = (tab) => tab.evaluate(() => {
    const [r, g, b] = getComputedStyle(document.body).backgroundColor.match(/[\d.]+/g).map(Number);
    return (r + g + b) / 3;
  });
  const { tab, close } = await open("rich.html", { colorScheme: "dark" });
  assert.ok(await brightness(tab) < 60);
  await tab.getByRole("button", { name: "Theme: auto" }).click();
  assert.ok(await brightness(tab) > 200);
  await close();
});

for (const name of ["rich.html", "big.html", "hostile.html"]) {
  pageTest(`${name} needs no sideways scroll at 390 pixels`, async () => {
    const { tab, close } = await open(name, { viewport: { width: 390, height: 844 }, isMobile: true });
    await drawAll(tab);
    const [inner, wide] = await tab.evaluate(() => [window.innerWidth, document.documentElement.scrollWidth]);
    assert.equal(inner, 390);
    assert.ok(wide <= 390, `${wide} pixels wide`);
    await close();
  });
}

/** The rich page with each of its environments several times, twelve in all. */
const crowd = () => altered("rich.html", "crowd.html", (packed) => packedAnew(packed, (page) => {
  const { report } = page;
  const places = Array.from({ length: 12 }, (_, i) => i % report.subjects.length);
  const names = places.map((place, i) => `${report.subjects[place]}-${i}`);
  for (const [at, row] of report.rows.entries()) {
    row.cells = places.map((place, i) => ({ ...row.cells[place], environment: names[i] }));
    const rounds = page.rounds[at];
    if (rounds.length > 0) page.rounds[at] = [rounds[0], ...places.map((place) => rounds[place + 1])];
  }
  report.sentences = places.map((place, i) => ({ ...report.sentences[place], environment: names[i] }));
  report.subjects = names;
}));

pageTest("twelve environments have a mark each, and a matrix of numbers in which nothing is cut or broken", async () => {
  const { tab, wrongs, close } = await open(crowd(), { viewport: { width: 1280, height: 900 } });
  await drawAll(tab);
  const marks = await tab.locator(".card h2 svg").evaluateAll((all) => all.map((svg) => svg.querySelector("path").getAttribute("d") + getComputedStyle(svg.querySelector("path")).fill));
  assert.equal(new Set(marks).size, 12, `${marks.length} marks`);
  const cells = await tab.locator("#table.matrix button.cell").evaluateAll((all) => all.map((cell) => ({ lines: cell.innerText.trim().split("\n"), over: cell.scrollWidth - cell.clientWidth })));
  for (const { lines, over } of cells) {
    // Readers of the screen are told row and environment before the answer.
    const text = lines.at(-1);
    assert.match(text, /^(same|<[\d.]+%|~?[\d.e]+x\??|–)[*^]*$/, text);
    assert.ok(over <= 0, `${text} is ${over} pixels too wide`);
  }
  const heads = await tab.locator("#table thead th:nth-child(n + 3)").evaluateAll((all) => all.map((head) => head.scrollHeight - head.clientHeight));
  assert.ok(heads.every((over) => over <= 0), heads.join());
  assert.deepEqual(wrongs, []);
  await close();
});

/** Every plot of the page, with the titles of its axes. */
const AXES = {
  overview: ["slowdown, log scale (right is slower)"],
  published: ["ratio of values, log scale"],
  curves: ["block size (bs), log scale", "bytes per second (higher is better)"],
  processes: ["time per operation (lower is better)"],
  memory: ["bytes (lower is better)"],
  series: ["round", "time per operation (lower is better)"],
  rounds: ["apart from the environment's own median"],
  distribution: ["apart from the environment's own median", "rounds"],
  tails: ["quantile of operations", "time of an operation (lower is better)"],
  "tail-ratios": ["quantile of operations", "ratio of quantiles, log scale (lower is better)"],
  timeline: ["time since the session began"],
  canary: ["time since the session began", "time (lower is better)"],
};

/** The rich page with what an article says of its first row. */
function withPublished() {
  const claim = (of) => ({
    source: "https://example.org/article", title: "An article", environment: "gvisor", reference: "native",
    printed: ["4.2", "4.40"], reference_printed: ["0.21"], unit: "µs", factor: null, ratio: 20, session_environment: "gvisor", session_baseline: "native",
    session_value: { median: 2960, low: 2950, high: 2970, rounds: 18 }, session_baseline_value: { median: 123, low: 122, high: 124, rounds: 18 },
    session_ratio_low: 23.9, session_ratio_high: 24.4, contained: false, because: null, words: "", ...of,
  });
  return altered("rich.html", "published.html", (packed) => packedAnew(packed, ({ report }) => {
    report.rows[0].published = [claim({}), claim({ environment: "container", ratio: 1, session_ratio_low: 0.99, session_ratio_high: 1.01, contained: true })];
    report.rows[1].published = [claim({ environment: null, reference: null, printed: [], reference_printed: [], unit: null, ratio: null, session_environment: null, session_baseline: null, session_value: null, session_baseline_value: null, session_ratio_low: null, session_ratio_high: null, contained: null })];
    report.articles = [{
      source: "an-article", title: "An article",
      claims: [
        { text: "A sandbox takes twice as long.", recommends: false, needs: null, checks: [{ states: "about 2", answer: "opposite", words: "the other way round here: 0.50x" }] },
        { text: "Take the container.", recommends: true, needs: null, checks: [] },
        { text: "Clouds differ.", recommends: false, needs: "a cloud", checks: [] },
      ],
      without_row: [{ name: "total time", printed: { gvisor: ["60.10", "60.2"] }, unit: "s", ratio: null, words: "it is chosen" }],
    }];
  }));
}

pageTest("every plot is there with the titles of its axes", async () => {
  const { tab, wrongs, close } = await open(withPublished());
  await drawAll(tab);
  const drawn = await tab.locator("main figure.chart").evaluateAll((charts) => charts.map((chart) => chart.id));
  assert.deepEqual(drawn.sort(), Object.keys(AXES).sort());
  for (const [id, titles] of Object.entries(AXES)) {
    const text = await tab.locator(`#${id} svg`).first().textContent();
    for (const title of titles) assert.ok(text.includes(title), `${id}: ${title} in ${text}`);
    assert.ok(await tab.locator(`#${id} svg .readable`).count() > 0, `${id} has values to read`);
  }
  assert.deepEqual(wrongs, []);
  await close();
});

pageTest("what was published stands beside the interval, also where it says little", async () => {
  const { tab, close } = await open(withPublished());
  const rows = await tab.locator("table.published tbody tr:not(.family)").allTextContents();
  assert.match(rows[0], /20\.0x 4\.2, 4\.40; 0\.21 µs\[23\.9, 24\.4\] gvisor 2\.96 µs ±0\.01; native 123 ns ±1✗ outside the interval/);
  assert.match(rows[1], /✓ inside the interval/);
  assert.match(rows[2], /fork \+ wait\?nothing to compare\? not comparable/);
  const said = await tab.locator(".conclusions").textContent();
  for (const words of ["A sandbox takes twice as long.about 2 the other way round here: 0.50x", "It recommends: Take the container.not judged: no row of this session shows it",
    "Clouds differ.not judged: it would need a cloud", "Printed by an-article, and not measured here:", "total time (gvisor 60.10, 60.2 s): it is chosen"]) assert.ok(said.includes(words), `${words} in ${said}`);
  await drawAll(tab);
  assert.equal(await tab.locator("#published svg .readable").count(), 2);
  await close();
});

pageTest("runs have their spans, and groups of rounds are told apart", async () => {
  const { tab, close } = await open("rich.html");
  await drawAll(tab);
  assert.match(await tab.locator("#series svg .readable").first().getAttribute("aria-label"), /^native, round 1: .* \(shortest .*, longest .*\)$/);
  const groups = await tab.locator("#distribution svg .readable").evaluateAll((bins) => bins.map((bin) => bin.getAttribute("aria-label")));
  assert.ok(groups.some((label) => /^gvisor: .*, group 2 of 2$/.test(label)), groups.join("; "));
  assert.match(await tab.locator("#distribution svg").textContent(), /groups: 12 \+ 6/);
  await close();
});

pageTest("no letters of a plot overlap or leave it", async () => {
  for (const viewport of [{ width: 1280, height: 900 }, { width: 390, height: 844 }]) {
    const { tab, close } = await open(withPublished(), { viewport });
    await drawAll(tab);
    const wrongs = await misplacedLetters(tab);
    assert.deepEqual(wrongs, [], `at ${viewport.width} pixels`);
    await close();
  }
});

pageTest("a mark shows its values on hover and on focus, and opens its cell", async () => {
  const { tab, close } = await open("rich.html");
  await drawAll(tab);
  const of = (words) => tab.locator(`#overview svg .readable[aria-label^="${words}"]`);
  await of("system call, gvisor").hover();
  assert.equal(await tab.locator(".tip").textContent(), "system call, gvisor: 24x (23.9 to 24.4x); 4.18 µs against 173 ns, 18 runs");
  await of("pipe, 512 B, gvisor").focus();
  await tab.keyboard.press("ArrowRight");
  assert.match(await tab.locator(".tip").textContent(), /^pipe, 512 B, wsl2-like: 1\.42x \(1\.41 to 1\.44x\)/);
  await tab.keyboard.press("Enter");
  await tab.getByRole("dialog").getByRole("heading", { name: "pipe, 512 B in wsl2-like" }).waitFor();
  await tab.keyboard.press("Escape");
  await of("primes to 20000, wsl2-like").click();
  await tab.getByRole("dialog").getByRole("heading", { name: "primes to 20000 in wsl2-like" }).waitFor();
  await close();
});

pageTest("a finger sees the values at its first tap, and opens the cell at its second", async () => {
  const { tab, close } = await open("rich.html", { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true });
  await drawAll(tab);
  const mark = tab.locator("#overview svg .readable[aria-label^='fork + wait, gvisor']");
  await mark.scrollIntoViewIfNeeded();
  await mark.tap();
  await tab.locator(".tip", { hasText: "fork + wait, gvisor: 12x" }).waitFor();
  assert.equal(await tab.getByRole("dialog").isVisible(), false);
  await mark.tap();
  await tab.getByRole("dialog").waitFor();
  await close();
});

pageTest("a session that ended early by itself is not called a record that breaks off", async () => {
  for (const [ending, words] of [["early", "The session ended early. What is open needs more time than it had taken."], ["broken_off", "The record ends early. The report shows the runs"]]) {
    const { tab, close } = await open(altered("rich.html", `${ending}.html`, (packed) => packedAnew(packed, ({ report }) => { report.session.ending = ending; })));
    const alarms = (await tab.locator(".alarm").allTextContents()).join(" ");
    assert.ok(alarms.includes(words), alarms);
    await close();
  }
});

pageTest("the top says how many rounds the cases have, where some have fewer than others", async () => {
  const name = altered("rich.html", "rounds.html", (packed) => packedAnew(packed, ({ report }) => { report.rows[0].baseline.rounds = 12; }));
  for (const [page, words] of [["rich.html", " 18 runs ·"], [name, " 12 to 18 runs ·"]]) {
    const { tab, close } = await open(page);
    const machine = await tab.locator(".machine").textContent();
    assert.ok(machine.includes(words), machine);
    await close();
  }
});

/** Whether the whole of an element is in the first 900 pixels of a window that is 1280 wide. */
async function isOnFirstScreen(locator) {
  const box = await locator.boundingBox();
  return box !== null && box.x >= 0 && box.y >= 0 && box.x + box.width <= 1280 && box.y + box.height <= 900;
}

pageTest("the first screen has what was compared, on which machine, every answer's count, the overview and the checks", async () => {
  for (const name of ["rich.html", "big.html"]) {
    const { tab, close } = await open(name);
    await tab.locator("#overview svg").first().waitFor();
    const [environments, machine] = [await tab.locator("h1").textContent(), await tab.locator(".machine").textContent()];
    assert.match(environments, /^container, gvisor.* and .* compared with native$/);
    for (const part of ["quick", "Intel(R) Xeon(R) Processor", "2 CPUs", "virtual machine (KVM)", "Linux 6.18.44", "ext4", "21 Nov 2026", "runs", "tare 0.1.0"]) assert.ok(machine.includes(part), `${part} in ${machine}`);
    for (const selector of ["h1", ".machine", "#overview", ".checks summary"]) assert.ok(await isOnFirstScreen(tab.locator(selector)), `${selector} of ${name}`);
    const cards = name === "rich.html" ? 3 : 5;
    for (let i = 0; i < cards; i += 1) {
      for (const part of ["h2", ".counts"]) assert.ok(await isOnFirstScreen(tab.locator(".card").nth(i).locator(part)), `${part} of card ${i} of ${name}`);
    }
    await close();
  }
});

pageTest("a card counts the answers of its environment, and its bar has a part for each", async () => {
  const { tab, close } = await open("rich.html");
  const card = tab.locator(".card").nth(1);
  assert.equal((await card.locator("h2").textContent()), "gvisorgVisor: system calls in user space");
  const counts = (await card.locator(".counts > span").allTextContents()).map((text) => text.replace(/^\S+ /, ""));
  assert.deepEqual(counts, ["17 slower", "1 same", "1 not compared"]);
  assert.equal(await card.locator(".share").count(), counts.length);
  await close();
});

pageTest("every check opens what is behind it", async () => {
  const { tab, close } = await open("rich.html");
  const behind = { "Control (A/A)": "Each difference here is a false alarm", "Could have been missed": "A typical cell could have shown a difference of 2.6 %",
    Interference: "steal above 5 % of a trial", Starts: "share a start", Warnings: "its clock and the host's disagree by 41 parts per million" };
  const sum = tab.locator(".checks summary");
  assert.match(await sum.textContent(), /^Checks: look at .*Warnings$/);
  assert.equal(await tab.locator(".check:visible").count(), 0);
  await sum.click();
  for (const [name, words] of Object.entries(behind)) {
    const button = tab.locator(".check", { has: tab.getByText(name, { exact: true }) });
    await button.click();
    assert.equal(await button.getAttribute("aria-expanded"), "true");
    assert.match(await tab.locator(".behind:visible").textContent(), new RegExp(words));
    assert.equal(await tab.locator(".behind:visible").count(), 1);
  }
  await close();
});

pageTest("one environment has an axis of its own", async () => {
  const { tab, close } = await open("rich.html");
  await drawAll(tab);
  await tab.getByRole("combobox", { name: "Axis for" }).selectOption("container");
  const marks = await tab.locator("#overview svg .readable").evaluateAll((marks) => marks.map((mark) => mark.getAttribute("aria-label")));
  assert.ok(marks.length > 10 && marks.every((words) => words.includes(", container: ")), marks.join("; "));
  assert.ok(!(await tab.locator("#overview svg").first().textContent()).includes("100x"));
  await close();
});

pageTest("the address of an open cell opens it again", async () => {
  const { tab, close } = await open("rich.html");
  await tab.locator("button.cell.v-slower").first().click();
  const title = await tab.locator("#detail-title").textContent();
  const hash = await tab.evaluate(() => location.hash);
  assert.match(hash, /^#case=.*environment=gvisor/);
  await tab.keyboard.press("Escape");
  assert.equal(await tab.evaluate(() => location.hash), "");
  await tab.evaluate((hash) => { location.hash = hash; location.reload(); }, hash);
  await tab.getByRole("dialog").waitFor();
  assert.equal(await tab.locator("#detail-title").textContent(), title);
  await close();
});

pageTest("the address shows the table as it was filtered and sorted", async () => {
  const { tab, close } = await open("rich.html");
  const names = () => tab.locator("#table tbody tr:not(.family) th > span").allTextContents();
  await tab.getByRole("combobox", { name: "Answer" }).selectOption("slower");
  await tab.getByRole("button", { name: "gvisor", exact: true }).first().click();
  const [shown, hash] = [await names(), await tab.evaluate(() => location.hash)];
  assert.match(hash, /^#show\?answer=slower&sort=gvisor$/);
  await tab.locator("button.cell.v-slower").first().click();
  await tab.keyboard.press("Escape");
  assert.equal(await tab.evaluate(() => location.hash), hash, "a cell that closes gives the address back");
  await tab.evaluate(() => location.reload());
  await tab.locator("#table tbody tr").first().waitFor();
  assert.deepEqual(await names(), shown);
  assert.equal(await tab.getByRole("combobox", { name: "Answer" }).inputValue(), "slower");
  // What no row has hides none.
  await tab.evaluate(() => { location.hash = "#show?answer=nonsense&sort=nobody"; location.reload(); });
  await tab.locator("#table tbody tr").first().waitFor();
  assert.ok((await names()).length > shown.length);
  await close();
});

pageTest("every plot saves as SVG and as PNG", async () => {
  const { tab, wrongs, close } = await open(withPublished(), { acceptDownloads: true });
  await drawAll(tab);
  for (const id of Object.keys(AXES)) {
    const svg = await saved(tab, id, "SVG");
    assert.equal(svg.name, `tare-${id}.svg`);
    assert.match(svg.content.toString(), /^<svg[^>]* xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
    assert.ok(!svg.content.toString().includes("var(--"), "a saved file knows no property of the page");
    const [width, height] = await picture(tab, "image/svg+xml", svg.content);
    const png = await saved(tab, id, "PNG");
    assert.equal(png.name, `tare-${id}.png`);
    const [pixels] = await picture(tab, "image/png", png.content);
    assert.ok(width > 300 && height > 100 && Math.abs(pixels - 2 * width) <= 4, `${id}: ${width} x ${height}, ${pixels} pixels`);
  }
  assert.deepEqual(wrongs, []);
  await close();
});

for (const colorScheme of ["light", "dark"]) {
  pageTest(`axe finds nothing serious (${colorScheme})`, async () => {
    const { tab, close } = await open(withPublished(), { colorScheme });
    await drawAll(tab);
    assert.deepEqual(await seriousViolations(tab), []);
    await tab.locator("button.cell.v-slower").first().click();
    await tab.getByRole("dialog").locator("svg").waitFor();
    assert.deepEqual(await seriousViolations(tab), []);
    await close();
  });
}

const HOSTILE = "</script><img src=x onerror=\"window.hacked=1\">'\"`&amp;${window.hacked=1}\u202e\u0000";
/** Fields that tare writes itself from lists of its own: no text of a record reaches them. */
const OWN_WORDS = ["schema", "ending", "role", "verdict", "answer", "family", "better", "kind", "leading", "light", "dark", "sign", "signs"];
const OWN_UNITS = ["nanoseconds", "per_second", "per_minute", "bytes_per_second", "bits_per_second", "bytes", "mwips", "percent", "count"];

/** Makes every text below a value hostile, and every name of a fact, a place or a parameter. */
function poison(value, key = "") {
  if (typeof value === "string") return OWN_WORDS.includes(key) || OWN_UNITS.includes(value) ? value : `${HOSTILE}${value}`;
  // The name of an answer is what cells have.
  if (key === "answers") return value.map((line) => ({ ...poison(line), name: line.name }));
  if (Array.isArray(value)) return value.map((item) => poison(item, key));
  if (value === null || typeof value !== "object") return value;
  const named = ["host", "inside", "outside", "places", "own", "parameters"].includes(key);
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [named ? `${HOSTILE}${name}` : name, poison(item, name)]));
}

pageTest("a page in which every text is hostile stays text and runs nothing", async () => {
  const name = altered(withPublished(), "poisoned.html", (packed) => packedAnew(packed, (page) => {
    Object.assign(page, poison(page));
  }));
  for (const file of ["hostile.html", name]) {
    const { tab, wrongs, close } = await open(file);
    await drawAll(tab);
    // A cell without an answer may have no value to draw.
    for (const [cell, shown] of [["button.cell.v-slower", "svg"], ["button.cell.v-none", "h2"]]) {
      await tab.locator(cell).first().click();
      await tab.getByRole("dialog").locator(shown).first().waitFor();
      await tab.keyboard.press("Escape");
    }
    for (const select of await tab.locator("figure.chart select").all()) await select.selectOption({ index: 0 });
    await tab.locator("main .readable").first().hover();
    assert.equal(await tab.evaluate(() => globalThis.hacked), undefined, file);
    assert.equal(await tab.locator("img").count(), 0, file);
    assert.ok((await tab.locator("h1").textContent()).includes("</script><img src=x onerror=\"window.hacked=1\">"), file);
    assert.deepEqual(wrongs, [], file);
    await close();
  }
});

pageTest("it prints on paper with its plots, a plot on no two pages", async () => {
  const { tab, close } = await open("rich.html");
  await tab.emulateMedia({ media: "print" });
  await tab.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
  const heights = await tab.locator("main figure.chart svg:not([aria-hidden])").evaluateAll((plots) => plots.map((plot) => plot.getBoundingClientRect().height));
  assert.ok(heights.length >= 11 && heights.every((height) => height > 60 && height < 1000), heights.join(" "));
  assert.equal(await tab.locator(".toolbar").isVisible(), false);
  const pdf = await tab.pdf({ format: "A4" });
  assert.equal(pdf.subarray(0, 5).toString(), "%PDF-");
  await close();
});

pageTest("the policy of the page runs no script but its own", async () => {
  const { tab, close } = await open("rich.html");
  await tab.evaluate(() => {
    const script = document.createElement("script");
    script.textContent = "globalThis.hacked = 1";
    document.body.append(script);
  });
  assert.equal(await tab.evaluate(() => globalThis.hacked), undefined);
  await close();
});

pageTest("a button copies the block to paste", async () => {
  const { tab, close } = await open("rich.html");
  await tab.evaluate(() => document.addEventListener("copy", () => { globalThis.copied = document.activeElement.value; }));
  await tab.getByRole("button", { name: "Copy as Markdown" }).click();
  await tab.getByRole("button", { name: "Copied" }).waitFor();
  assert.match(await tab.evaluate(() => globalThis.copied), /^\*\*tare .*\n[^]*\n\| probe \|/);
  assert.equal(await tab.locator("textarea").count(), 0);
  await close();
});

pageTest("a full session stays under a megabyte; its first paint is printed", async () => {
  const bytes = statSync(join(folder, "big.html")).size;
  const { tab, wrongs, close } = await open("big.html");
  const paint_ms = await tab.evaluate(() => new Promise((done) => {
    const read = () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime;
    const wait = () => (read() === undefined ? requestAnimationFrame(wait) : done(read()));
    wait();
  }));
  console.log(`full session, 100 probes of 3 metrics x 6 environments x 60 rounds: ${bytes} bytes, first contentful paint after ${Math.round(paint_ms)} ms`);
  assert.ok(bytes < MOST_BYTES, `${bytes} bytes`);
  await tab.getByRole("checkbox", { name: "every metric" }).check();
  assert.equal(await tab.getByRole("status").textContent(), "307 rows");
  await tab.locator("tr.further button.cell.v-slower").last().click();
  await tab.getByText("A report of this size leaves out the rounds of further metrics").waitFor();
  assert.deepEqual(wrongs, []);
  await close();
});

pageTest("a page of a repeated article begins with the article's table", async () => {
  const table = { heading: "As netperf prints round trips:", heads: ["native", "gvisor"], lines: [["TCP round trip >host, MIN_LATENCY, us", ["81.0", "174.0"]], ["TCP round trip >host, MAX_LATENCY, us", ["3599.0", "-"]]], notes: ["- gvisor: no trial was run"] };
  const name = altered("rich.html", "article.html", (packed) => packedAnew(packed, (page) => { page.article_tables = [table]; }));
  const { tab, wrongs, close } = await open(name);
  const article = tab.locator("table.article");
  assert.deepEqual(await article.locator("td").allTextContents(), ["81.0", "174.0", "3599.0", "-"]);
  assert.ok((await article.boundingBox()).y < (await tab.locator("#overview").boundingBox()).y);
  await tab.getByText("- gvisor: no trial was run").waitFor();
  assert.deepEqual(await seriousViolations(tab), []);
  assert.deepEqual(wrongs, []);
  await close();
});

pageTest("one sentence says all, and every value has a bar in its own unit", async () => {
  const { tab, close } = await open("rich.html");
  assert.match(await tab.locator(".summary").textContent(), /^container .*; gvisor takes longer in .*; .*\.$/);
  const row = tab.locator("#table tbody tr:not(.family)").first();
  const widths = await row.locator(".own").evaluateAll((bars) => bars.map((bar) => bar.getBoundingClientRect().width));
  assert.equal(widths.length, 4, "the baseline and three environments");
  assert.equal(Math.max(...widths), 84, "the longest has the full length");
  assert.ok(Math.min(...widths) < 42, widths.join());
  await close();
});

pageTest("a matrix is one on paper, too", async () => {
  const { tab, close } = await open(crowd());
  await tab.setViewportSize({ width: 794, height: 1123 });
  await tab.emulateMedia({ media: "print" });
  const cells = await tab.locator("#table.matrix button.cell").evaluateAll((all) => all.map((cell) => cell.getBoundingClientRect().height));
  assert.ok(cells.length > 8 && Math.max(...cells) < 40, `${Math.max(...cells)}`);
  await close();
});

pageTest("a bill leads from the baseline's time to the time here, for the command that is chosen", async () => {
  const step = (name, more_ns, rest = false) => ({ name, more_ns, share: more_ns / 2e4, least: rest ? null : more_ns / 3e4, most: rest ? null : more_ns / 1e4, rest });
  const bill = (command, steps) => ({
    command, environment: "gvisor", headline: `${command}: 1.00 ms in native, 3.00 ms in gvisor`, forecast: `Forecast of ${command}.`, baseline_ns: 1e6, ns: 3e6, steps,
  });
  const name = altered("rich.html", "bills.html", (packed) => packedAnew(packed, (page) => {
    page.bills = [
      bill("make", [step("files opened and closed", 1.5e6), step("not explained", 5e5, true)]),
      bill("git status", [step("pages touched first", 2.5e6), step("writes made durable", -5e5)]),
    ];
  }));
  const { tab, wrongs, close } = await open(name);
  await drawAll(tab);
  const plot = tab.locator("#bill");
  const marks = () => plot.locator("svg .readable").evaluateAll((all) => all.map((mark) => mark.getAttribute("aria-label")));
  assert.deepEqual(await marks(), ["native: 1.00 ms", "files opened and closed: +1.50 ms, 75 % (50 % to 150 % by single starts)", "not explained: +500 µs, 25 %", "gvisor: 3.00 ms"]);
  assert.match(await plot.textContent(), /make: 1.00 ms in native.*Forecast of make\./s);
  await plot.getByRole("combobox", { name: "Command" }).selectOption({ label: "git status in gvisor" });
  assert.match(await plot.textContent(), /Forecast of git status\./);
  assert.ok((await marks()).some((mark) => mark.startsWith("writes made durable: -500 µs, -25 %")), String(await marks()));
  assert.deepEqual(await seriousViolations(tab), []);
  assert.deepEqual(wrongs, []);
  await close();
});
