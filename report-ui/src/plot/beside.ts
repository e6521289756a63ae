// Values of other tools next to the session's medians of the same metric. They are not paired, so there is no verdict.
import type { SymbolType } from "@observablehq/plot";
import { dot, plot, ruleX, ruleY } from "@observablehq/plot";
import type { BesideRow, Level, Page, Row } from "../data";
import { levelOf, rowLabel, uniqueLabels, where } from "../data";
import { colour, h } from "../dom";
import { counted } from "../language";
import { figure, overRounds, ratio } from "../number";
import type { Chart } from "./frame";
import { frame } from "./frame";
import { legend } from "./legend";
import { base, fitted, labelRoom, environmentStyle, placeColour, ratioAxis } from "./style";

/** Limit on the figures of a readable plot. */
const MOST_DRAWN = 60;
/** Limit on the lines of an unfolded table: the plot above it says most of it. */
const MOST_OPEN = 12;
/** Limit on ratios and their inverses: greater ones would have the axis to themselves. */
const MOST_RATIO = 1e9;
/** Marks of tools; no environment has them. */
const OPEN_MARKS: SymbolType[] = ["hexagon", "times", "asterisk", "plus", "diamond2", "square2"];
/** Pixels between the marks of a row, and above and below them. */
const [SLOT, PADDING] = [12, 9];

interface Measured { environment: string; level: Level }
/** A row of the plot: the environments' medians over the baseline's, and the figures drawn next to them. */
interface Line { label: string; words: string[]; row: Row; median: number; environments: Measured[]; others: BesideRow[] }

const rowOf = (page: Page, other: BesideRow): Row => page.report.rows[other.row];

const environmentsOf = (page: Page, row: Row): { environment: string; level: Level | null }[] => [
  { environment: page.report.baseline, level: row.baseline }, ...row.cells.map((cell) => ({ environment: cell.environment, level: levelOf(cell) })),
];

/** Explains why a figure has no place on the axis; null if it has one. */
function undrawable(page: Page, other: BesideRow): string | null {
  const median = rowOf(page, other).baseline?.median ?? null;
  if (median === null || median <= 0) return `${page.report.baseline} has no value of it`;
  return inRange((other.value ?? 0) / median) ? null : "no place on a log axis";
}

const inRange = (value: number): boolean => value <= MOST_RATIO && value >= 1 / MOST_RATIO;

/** Names tool and environment, as given by the person who imported the file. */
const who = (other: BesideRow): string => (other.environment === null ? other.tool : `${other.tool} in ${other.environment}`);

/** Chooses a mark by tool and a colour by environment: the session's own for an environment of the same name. */
function markOf(page: Page, all: BesideRow[], other: BesideRow): { symbol: SymbolType; colour: string } {
  const { baseline, subjects } = page.report;
  const tools = [...new Set(all.map(({ tool }) => tool))];
  const symbol = OPEN_MARKS[tools.indexOf(other.tool) % OPEN_MARKS.length];
  const environments = [baseline, ...subjects];
  const unknown = [...new Set(all.map(({ environment }) => environment))].filter((name) => name !== null && !environments.includes(name));
  if (other.environment === null) return { symbol, colour: colour("--muted") };
  const environment = environments.indexOf(other.environment);
  return { symbol, colour: placeColour(environment >= 0 ? environment : environments.length + unknown.indexOf(other.environment)) };
}

function linesOf(page: Page, drawn: BesideRow[]): Line[] {
  const labels = uniqueLabels(page.report.rows);
  return [...new Set(drawn.map((other) => other.row))].map((at) => {
    const row = page.report.rows[at];
    const median = row.baseline?.median ?? Number.NaN;
    const label = labels.get(row) ?? rowLabel(row);
    // A label has place or peer only if they distinguish it from others.
    const words = [row.label, label === rowLabel(row) ? row.metric.name : `${row.metric.name}, ${row.place ?? row.peer ?? ""}`];
    return {
      row, median, label, words, others: drawn.filter((other) => other.row === at),
      environments: environmentsOf(page, row).filter((own): own is Measured => own.level !== null && inRange((own.level.median ?? 0) / median)),
    };
  });
}

function chart(page: Page, drawn: BesideRow[]): Chart {
  const { baseline } = page.report;
  return {
    id: "beside",
    title: "Other tools and this session",
    about: `Each value over ${baseline}'s own median. Filled marks are medians of this session with their 95 % intervals, open marks the results of other tools. They are not paired, so there is no verdict between them.`,
    draw: (width) => draw(page, drawn, width),
  };
}

interface Mark { x: number; low: number; high: number; y: number; symbol: SymbolType; colour: string | undefined; title: string }

/** Lays out the marks of a row whose top is `top` pixels down: the environments', then the others. */
function marksOf(page: Page, all: BesideRow[], line: Line, top: number): { environments: Mark[]; others: Mark[] } {
  const { label, median, row: { metric } } = line;
  const place = (slot: number): number => top + PADDING + (slot + 0.5) * SLOT;
  const over = (value: number): string => `${ratio(value)} of ${page.report.baseline}'s own median`;
  const environments = line.environments.map(({ environment, level }, i): Mark => {
    const [x, low, high] = [level.median, level.low, level.high].map((value) => (value ?? 0) / median);
    const { colour, symbol } = environmentStyle(page, environment);
    const text = overRounds(level, metric.unit).join(" ");
    return { x, low: inRange(low) ? low : x, high: inRange(high) ? high : x, y: place(i), symbol, colour, title: `${label}, ${environment}: ${text}, ${over(x)}` };
  });
  const others = line.others.map((other, i): Mark => {
    const x = (other.value ?? 0) / median;
    const said = `${figure(other.value, metric.unit)} (${other.statistic} of ${other.figure}; as written ${other.written})`;
    return { x, low: x, high: x, y: place(environments.length + i), ...markOf(page, all, other), title: `${label}, ${who(other)}: ${said}, ${over(x)}` };
  });
  return { environments, others };
}

function draw(page: Page, drawn: BesideRow[], width: number): SVGSVGElement {
  const lines = linesOf(page, drawn);
  const room = labelRoom(lines.flatMap(({ words }) => words), width);
  const tops: number[] = [];
  let height = 0;
  for (const line of lines) {
    tops.push(height);
    height += 2 * PADDING + SLOT * (line.environments.length + line.others.length);
  }
  const middles = tops.map((top, i) => (top + (tops[i + 1] ?? height)) / 2);
  const marks = lines.map((line, i) => marksOf(page, drawn, line, tops[i]));
  const environments = marks.flatMap((mark) => mark.environments);
  const others = marks.flatMap((mark) => mark.others);
  const shown = [page.report.baseline, ...page.report.subjects].filter((environment) => lines.some((line) => line.environments.some((own) => own.environment === environment)));
  const tools = [...new Map(drawn.map((other) => [who(other), other]))];
  const keys = legend([
    { title: "this session", keys: shown.map((name) => ({ name, ...environmentStyle(page, name), open: false })) },
    { title: "other tools", keys: tools.map(([name, other]) => ({ name, ...markOf(page, drawn, other), open: true })) },
  ], width, room);
  const top = keys.height + 6;
  return plot({
    ...base(width), height: height + top + 48, marginLeft: room, marginRight: 26, marginBottom: 44, marginTop: top,
    x: ratioAxis([...environments, ...others].flatMap(({ low, high }) => [low, high]), width - room - 26, fitted(`value over ${page.report.baseline}'s own median, log scale`, width)),
    y: { domain: [0, height], reverse: true, label: null, ticks: middles, tickSize: 0, tickFormat: (at: number) => lines[middles.indexOf(at)]?.words.map((words) => fitted(words, room)).join("\n") ?? "" },
    symbol: { type: "identity" },
    marks: [
      ruleY(tops.slice(1), { stroke: colour("--line") }),
      ruleX([1], { stroke: colour("--ink"), strokeOpacity: 0.55 }),
      ruleY(environments, { x1: "low", x2: "high", y: "y", stroke: "colour", strokeWidth: 2, strokeLinecap: "round" }),
      dot(environments, { x: "x", y: "y", r: 4, symbol: "symbol", fill: "colour", title: "title" }),
      // Nearly transparent instead of empty, so that the pointer hits the middle of an open mark too.
      dot(others, { x: "x", y: "y", r: 5, symbol: "symbol", stroke: "colour", strokeWidth: 1.8, fill: "colour", fillOpacity: 0.001, title: "title" }),
      ...keys.marks,
    ],
    color: { type: "identity" },
  }) as SVGSVGElement;
}

/** Builds a table of all figures, a line each. */
function table(page: Page, figures: BesideRow[]): HTMLElement {
  const { baseline, subjects } = page.report;
  const heads = ["Probe and metric", baseline, ...subjects, "Another tool", "What it is", "What it does not say"];
  const cell = (i: number, kind: string | null, ...children: (Node | string | null)[]): HTMLElement =>
    h("td", { "data-environment": heads[i], class: kind }, h("span", {}, ...children));
  const own = (row: Row): HTMLElement[] => environmentsOf(page, row).map(({ level }, i) => (level === null
    ? cell(i + 1, "stated", h("span", { class: "none" }, i === 0 ? row.baseline_missing?.words ?? "none" : row.cells[i - 1].missing?.words ?? "none"))
    : cell(i + 1, "stated", overRounds(level, row.metric.unit)[0], h("small", {}, ` ${overRounds(level, row.metric.unit)[1]}`))));
  const after = subjects.length + 2;
  const line = (other: BesideRow): HTMLElement => {
    const row = rowOf(page, other);
    const reason = undrawable(page, other);
    return h("tr", {},
      h("th", { scope: "row" }, h("span", {}, `${row.label}: ${row.metric.name}`), h("small", {}, where(row)),
        reason === null ? null : h("small", { class: "none" }, `not in the plot: ${reason}`)),
      ...own(row),
      cell(after, "stated", figure(other.value, row.metric.unit), h("small", {}, ` as written ${other.written}`)),
      cell(after + 1, null, `${other.statistic} of ${other.figure}`, h("small", {}, ` ${other.origin}`)),
      cell(after + 2, null, other.open.length === 0 ? h("span", { class: "none" }, "nothing") : other.open.join(", ")));
  };
  return h("table", { class: "facts stacking beside" },
    h("thead", {}, h("tr", {}, heads.map((name, i) => h("th", { scope: "col", class: i > 0 && i <= after ? "stated" : null }, name)))),
    h("tbody", {}, figures.map(line)));
}

/** Counts the figures that are not in the plot, or not on the page. */
function missing(page: Page, drawn: number, drawable: number): string[] {
  const { figures, left_out } = page.beside ?? { figures: [], left_out: 0 };
  const undrawn = figures.length - drawable;
  return [
    undrawn > 0 ? `${counted(undrawn, "result is", "results are")} in the table alone, with the reason.` : null,
    drawn < drawable ? `The plot has the first ${drawn} of ${drawable} results, the table has all.` : null,
    left_out > 0 ? `${counted(left_out, "further result is", "further results are")} left out of a report of this size; tare report --beside RECORD --json has them.` : null,
  ].filter((words) => words !== null);
}

/** Builds the plot, its table and the note on missing figures; nothing if no results were given. */
export function beside(page: Page): HTMLElement[] {
  if (page.beside === null) return [];
  const { figures } = page.beside;
  const drawable = figures.filter((other) => undrawable(page, other) === null);
  const drawn = drawable.slice(0, MOST_DRAWN);
  const intro = "Results of other tools for the same metrics, as far as their outputs show what they measured. They are not paired with this session's rounds, so there is no verdict between the columns.";
  const notes = figures.length === 0
    ? ["Nothing that was imported corresponds to a case and metric of this session."]
    : missing(page, drawn.length, drawable.length);
  const whole = figures.length === 0 ? null : h("details", { open: figures.length <= MOST_OPEN },
    h("summary", {}, `All ${counted(figures.length, "result of another tool", "results of other tools")}`),
    h("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": "Results of other tools" }, table(page, figures)));
  return [
    h("p", { class: "advice" }, intro), drawn.length === 0 ? null : frame(chart(page, drawn)).element,
    ...notes.map((words) => h("p", { class: "advice" }, words)), whole,
  ].filter((part) => part !== null);
}
