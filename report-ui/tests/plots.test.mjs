// Axes, labels and lines of plots, on pages whose values or names are close to each other.
import assert from "node:assert/strict";
import { altered, drawAll, open, packedAnew } from "./pages.mjs";
import { browse, pageTest } from "./browser.mjs";

browse("plots in a browser");

/** The texts of every continuous axis of a plot, and of the lines of those that name lines. */
const texts = (tab) => tab.evaluate(() => [...document.querySelectorAll("main figure.chart")].flatMap((chart) =>
  [...chart.querySelectorAll("svg:not([aria-hidden]) g")].map((group) => ({
    id: chart.id, isAxis: group.getAttribute("font-variant") === "tabular-nums",
    texts: [...group.children].filter((child) => child.tagName === "text").map((text) => text.textContent),
  }))));

/** The rich page with values a hundred-thousandth apart, and names that differ in the middle alone. */
const close = () => altered("rich.html", "close.html", (packed) => packedAnew(packed, (page) => {
  const { report } = page;
  const named = (name) => `a name of an environment, ${name}, with the same beginning and the same end`;
  const names = new Map(report.plan.environments.map((environment) => [environment.name, named(environment.name)]));
  const rename = (of) => { of.environment = names.get(of.environment) ?? of.environment; };
  report.rows.forEach((row, i) => {
    row.label = `reads of a file, ${i}, with the same beginning and the same end`;
    const levels = [row.baseline, ...row.cells.map((cell) => cell.comparison?.level)].filter((level) => level != null);
    for (const level of levels) [level.median, level.low, level.high] = [1_000_000, 1_000_000, 1_000_000];
    page.rounds[i] = page.rounds[i].map((parts) => parts?.map((_, k) => (k % 3) / 10) ?? parts);
    for (const cell of row.cells) {
      rename(cell);
      if (cell.comparison !== null) Object.assign(cell.comparison, { slowdown: 1.0041, low: 1.0032, high: 1.0051 });
    }
    row.published = [{
      source: "https://example.org", title: "An article", environment: report.subjects[0], reference: report.baseline, printed: [], reference_printed: [],
      unit: null, factor: null, ratio: 1.001 + i / 1e4, session_environment: report.subjects[0], session_baseline: report.baseline, session_value: null,
      session_baseline_value: null, session_ratio_low: 1.0005, session_ratio_high: 1.002, contained: i % 2 === 0, because: null, words: "",
    }];
  });
  page.tails.forEach((tail) => { rename(tail); tail.points.forEach((point, i) => { point[1] = 1_000_000 + i + tail.environment.length; }); });
  report.sentences.forEach(rename);
  report.facts.environments.forEach(rename);
  for (const environment of report.plan.environments) environment.name = names.get(environment.name);
  report.baseline = names.get(report.baseline);
  report.subjects = report.subjects.map((name) => names.get(name));
}));

for (const width of [1280, 390]) {
  pageTest(`no two ticks and no two lines of a plot read alike at ${width} pixels`, async () => {
    for (const name of ["rich.html", close()]) {
      const { tab, wrongs, close: end } = await open(name, { viewport: { width, height: 900 } });
      await drawAll(tab);
      const all = await texts(tab);
      const axes = all.filter(({ isAxis, texts }) => isAxis && texts.length > 1);
      assert.ok(axes.length >= 8, `${axes.length} axes`);
      for (const { id, texts } of axes) assert.equal(new Set(texts).size, texts.length, `${id} of ${name}: ${texts}`);
      const lines = all.filter(({ isAxis, id, texts }) => !isAxis && ["overview", "published", "timeline"].includes(id) && texts.some((text) => text.includes("…")));
      assert.ok(name === "rich.html" || lines.length >= 3, `${lines.length} groups of cut labels`);
      for (const { id, texts } of lines) assert.equal(new Set(texts).size, texts.length, `${id} of ${name}: ${texts}`);
      assert.deepEqual(wrongs, []);
      await end();
    }
  });
}

pageTest("the last point of a tail has a tick, and lines go straight from point to point", async () => {
  // Of 5,000 operations a curve ends between two nines.
  const name = altered("rich.html", "short-tails.html", (packed) => packedAnew(packed, (page) => {
    for (const tail of page.tails) tail.points = tail.points.filter(([quantile]) => quantile <= 0.9995);
  }));
  const { tab, close: end } = await open(name);
  await drawAll(tab);
  for (const id of ["tails", "tail-ratios"]) {
    const axes = (await texts(tab)).filter((group) => group.id === id && group.isAxis).map((group) => group.texts);
    const quantiles = axes.find((labels) => labels[0]?.startsWith("p"));
    assert.equal(quantiles.at(-1), "p99.95", quantiles.join());
    const paths = await tab.locator(`#${id} svg path[d]`).evaluateAll((all) => all.map((path) => path.getAttribute("d")).filter((d) => d.split("L").length > 5 || d.includes("C")));
    assert.ok(paths.length > 0 && paths.every((d) => !d.includes("C")), paths.join("; "));
  }
  await end();
});

pageTest("runs are drawn at their time: fewer runs of one environment reach as far as those of others", async () => {
  const name = altered("rich.html", "by-time.html", (packed) => packedAnew(packed, (page) => {
    const { report } = page;
    const row = report.rows.find(({ case: of }) => of.startsWith("net.rr"));
    // gvisor runs in every third round alone, and rests meanwhile.
    const steps = ({ name }) => (name === "gvisor" ? Array.from({ length: 6 }, (_, i) => (i === 0 ? 50 : 150)) : Array.from({ length: 18 }, () => 50));
    page.starts = [{ case: row.case, steps: report.plan.environments.map(steps) }];
    report.rows.forEach((each, i) => { if (each.case === row.case) page.rounds[i][2] = page.rounds[i][2].slice(0, 6); });
  }));
  const { tab, wrongs, close: end } = await open(name);
  await drawAll(tab);
  assert.match(await tab.locator("#series svg").first().textContent(), /time since the session began/);
  const places = await tab.locator("#series svg .readable").evaluateAll((marks) => marks.map((mark) => ({ name: mark.getAttribute("aria-label").split(",")[0], x: mark.getBoundingClientRect().x })));
  const of = (environment) => places.filter((point) => point.name === environment).map(({ x }) => x);
  const [few, many] = [of("gvisor"), of("native")];
  assert.ok(few.length > 1 && few.length * 3 === many.length, `${few.length} of ${many.length}`);
  const width = Math.max(...many) - Math.min(...many);
  const apart = (Math.max(...many) - Math.max(...few)) / width;
  assert.ok(apart < 0.25, `the last run of gvisor is ${apart} of the axis before that of native`);
  assert.deepEqual(wrongs, []);
  await end();
});

pageTest("every colour of a published diamond is explained", async () => {
  const { tab, close: end } = await open(close());
  await drawAll(tab);
  const colours = await tab.locator("#published svg path.readable").evaluateAll((marks) => [...new Set(marks.map((mark) => getComputedStyle(mark).fill))]);
  assert.equal(colours.length, 2);
  const text = await tab.locator("#published svg").textContent();
  for (const words of ["inside the interval", "outside the interval"]) assert.ok(text.includes(words), text);
  assert.ok(!text.includes("not comparable"), text);
  await end();
});

pageTest("an environment that is named by its specification alone is named once", async () => {
  const name = altered("rich.html", "named.html", (packed) => packedAnew(packed, ({ report }) => {
    const environment = report.plan.environments.find(({ name }) => name === "gvisor");
    Object.assign(environment, { short_description: null, specification: "gvisor" });
  }));
  const { tab, close: end } = await open(name);
  assert.equal(await tab.locator(".card h2").nth(1).textContent(), "gvisor");
  await end();
});

pageTest("the longest name of a choice is seen whole at 1280 pixels", async () => {
  const { tab, close: end } = await open("rich.html");
  await drawAll(tab);
  const cut = await tab.locator("figure.chart select").evaluateAll((all) => all.flatMap((select) => {
    const context = document.createElement("canvas").getContext("2d");
    context.font = getComputedStyle(select).font;
    const longest = Math.max(...[...select.options].map((option) => context.measureText(option.text).width));
    return longest > select.clientWidth - 20 ? [`${select.closest("figure").id}: ${longest} in ${select.clientWidth}`] : [];
  }));
  assert.deepEqual(cut, []);
  await end();
});
