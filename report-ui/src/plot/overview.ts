// The first plot: the slowdown of every probe in every environment, with its interval, on one logarithmic axis.
import { axisX, dot, plot, rect, ruleX, ruleY, text } from "@observablehq/plot";
import type { Cell, Page, Row } from "../data";
import { levelOf, uniqueLabels } from "../data";
import { choice, colour, h } from "../dom";
import { letters, say } from "../language";
import { figure, ratio } from "../number";
import { answerInFull, answerWords, familyName, reason, rounds } from "../words";
import type { Chart } from "./frame";
import { base, environmentStyle, fittedApart, labelRoom, logScale, logTicks, ratioAxis, short } from "./style";

type Open = (row: Row, cell: Cell) => void;

/** A cell as a mark at its slowdown, or as words at the right edge if it has none. */
interface Mark { row: Row; cell: Cell; title: string; estimate: number; low: number; high: number; hollow: boolean; y: number }
interface Words { cell: Cell; title: string; words: string; y: number }
interface Line { row: Row; label: string; marks: Mark[]; words: Words[]; top: number; bottom: number; y: number }
interface Heading { words: string; y: number }
/** The name of an environment next to one of its marks. */
interface Name { environment: string; x: number; y: number; anchor: "start" | "end" }

/** Heights in pixels: of the axis above, of a line with one mark, of each overlapping mark, of a family's name. */
const [AXIS, LINE, MARK, HEADING] = [44, 19, 9, 20];
/** Radius of a mark, and width of a letter. */
const [RADIUS, LETTER] = [4.6, 6.7];
/** Ends of the axis if nothing is faster or slower. */
const [LEAST, MOST] = [0.5, 2];
/** Width below which a cell without a slowdown is a sign instead of words. */
const NARROW = 560;

/** Draws the overview, with a choice that shows one environment on a separate axis. */
export function overview(page: Page, open: Open, redraw: () => void): Chart | null {
  const { subjects, baseline } = page.report;
  if (subjects.length === 0 || page.report.rows.length === 0) return null;
  let only = "";
  const cells = new Map<string, Mark | Words>();
  return {
    id: "overview",
    title: say("Slowdown against {baseline}", { baseline }),
    about: say("With 95 % intervals. Hollow: not decided; shaded: the margin of “same”. A mark opens its rounds and facts."),
    controls: subjects.length < 2 ? null
      : choice(say("Axis for"), [["", say("all environments")], ...subjects.map((name): [string, string] => [name, name])], (value) => { only = value; redraw(); }),
    chosen: (title) => {
      for (const row of page.report.rows) {
        const cell = row.cells.find((cell) => cell === cells.get(title)?.cell);
        if (cell !== undefined) open(row, cell);
      }
    },
    draw: (width) => {
      const lines = linesOf(page, only);
      if (lines.length === 0) return null;
      cells.clear();
      for (const line of lines) for (const each of [...line.marks, ...line.words]) cells.set(each.title, each);
      return draw(page, lines, only === "", width);
    },
  };
}

/** Lists the families and their rows, the largest slowdown first. */
function linesOf(page: Page, only: string): Line[] {
  const rows = page.report.rows.filter((row) => row.headline);
  const labels = uniqueLabels(rows);
  const lines = rows.map((row): Line => {
    const label = labels.get(row) ?? row.label;
    const cells = row.cells.filter((cell) => only === "" || cell.environment === only);
    const marks = cells.flatMap((cell) => markOf(row, label, cell) ?? []);
    const words = cells.flatMap((cell) => wordsOf(row, label, cell) ?? []);
    return { row, label, marks, words, top: 0, bottom: 0, y: 0 };
  }).filter(({ marks, words }) => marks.length + words.length > 0);
  const worst = (of: Line[]): number => Math.max(0, ...of.flatMap(({ marks }) => marks.map(({ estimate }) => estimate)));
  const families = [...new Set(lines.map(({ row }) => row.family))].map((family) => lines.filter(({ row }) => row.family === family));
  return families.sort((a, b) => worst(b) - worst(a)).flatMap((family) => family.sort((a, b) => worst([b]) - worst([a])));
}

function markOf(row: Row, label: string, cell: Cell): Mark | null {
  const c = cell.comparison;
  if (c === null || c.slowdown === null || c.slowdown <= 0) return null;
  const { unit } = row.metric;
  const own = figure(c.value, unit);
  const values = row.baseline === null ? own : say("{value} against {baseline}", { value: own, baseline: figure(row.baseline.median, unit) });
  return {
    row, cell, estimate: c.slowdown, hollow: !answerWords(cell.answer).decided, y: 0,
    low: c.low === null || c.low <= 0 ? c.slowdown : c.low, high: c.high ?? c.slowdown,
    title: `${label}, ${cell.environment}: ${answerInFull(cell, row)}; ${values}, ${rounds(c.rounds)}`,
  };
}

function wordsOf(row: Row, label: string, cell: Cell): Words | null {
  if (cell.missing === null) return null;
  const level = levelOf(cell);
  const own = level === null ? "" : `; ${say("its own value is {value}", { value: figure(level.median, row.metric.unit) })}`;
  return { cell, words: answerWords(cell.answer).word, title: `${label}, ${cell.environment} ${answerWords(cell.answer).word}: ${reason(cell)}${own}`, y: 0 };
}

function draw(page: Page, lines: Line[], all: boolean, width: number): HTMLElement {
  const room = labelRoom(lines.map(({ label }) => label), width);
  const labels = fittedApart(lines.map(({ label }) => label), room);
  const isNarrow = width < NARROW;
  const missing = lines.flatMap(({ words }) => words);
  const inWords = ({ cell, words }: Words): string => (isNarrow ? answerWords(cell.answer).sign : `${cell.environment} ${words}`);
  const said = fittedApart(missing.map(inWords), width * 0.35);
  const wordsRoom = ({ words }: Line): number => Math.min(Math.max(0, ...words.map((each) => letters(inWords(each)) * LETTER + 8)), width * 0.35);
  // Words go inside the plot if no mark of their line is in the way, else right of it.
  const scaled = (right: number) => {
    const x = axisOf(lines, all, width - room - right);
    const [low, high] = x.domain;
    return { right, x, low, high, across: (value: number): number => room + (Math.log(value / low) / Math.log(high / low)) * (width - room - right) };
  };
  const inside = scaled(18);
  const areFree = lines.every((line) => line.words.length === 0 || line.marks.every((mark) => inside.across(mark.high) + RADIUS + 8 < width - wordsRoom(line)));
  const { right, x, low, high, across } = areFree ? inside : scaled(Math.max(...lines.map(wordsRoom)) + 8);
  const headings = place(lines, across);
  const height = lines[lines.length - 1].bottom + 6;
  const marks = lines.flatMap((line) => line.marks);
  const names = namesOf(lines, across, room + 2, (line) => Math.min(width - right, width - wordsRoom(line)) - 4);
  const looks = new Map(page.report.subjects.map((name) => [name, environmentStyle(page, name)]));
  const colourOf = ({ cell }: { cell: Cell }): string => looks.get(cell.environment)?.colour ?? "";
  const options = { ...base(width), marginLeft: room, marginRight: right, marginTop: AXIS, marginBottom: 0, x };
  const axis = axisX({ anchor: "top" as const, ticks: x.ticks, tickFormat: x.tickFormat, label: x.label, labelArrow: "none" as const });
  const picture = plot({
    ...options, height, y: { type: "identity", axis: null }, symbol: { type: "identity" },
    marks: [
      axis,
      ruleY(lines, { y: "bottom", x1: low, x2: high, stroke: colour("--line") }),
      rect(lines.filter(({ row }) => row.margin !== null), {
        x1: ({ row }: Line) => Math.max(1 / (row.margin as number), low), x2: ({ row }: Line) => Math.min(row.margin as number, high), y1: "top", y2: "bottom",
        fill: colour("--ink"), fillOpacity: 0.12,
      }),
      ruleX([1], { y1: AXIS, y2: height - 6, stroke: colour("--ink"), strokeOpacity: 0.5 }),
      text(headings, { x: low, dx: 6 - room, y: "y", text: ({ words }: Heading) => words, textAnchor: "start", fontWeight: 650, fill: colour("--muted") }),
      text(lines, { x: low, dx: -10, y: "y", text: ({ label }: Line) => labels.get(label), textAnchor: "end" }),
      ruleY(marks, { x1: ({ low: from }: Mark) => Math.max(from, low), x2: ({ high: to }: Mark) => Math.min(to, high), y: "y", stroke: colourOf, strokeWidth: 2.2, strokeOpacity: 0.75, strokeLinecap: "round" }),
      dot(marks, {
        x: "estimate", y: "y", r: RADIUS, fill: (mark: Mark) => (mark.hollow ? colour("--surface") : colourOf(mark)), stroke: colourOf,
        strokeWidth: 1.7, symbol: ({ cell }: Mark) => looks.get(cell.environment)?.symbol, title: "title",
      }),
      text(missing, { x: high, dx: right - 4, y: "y", text: (each: Words) => said.get(inWords(each)), textAnchor: "end", fill: colourOf, title: "title" }),
      ...names.map((name) => text([name], {
        x: low, dx: name.x - room, y: "y", text: () => name.environment, textAnchor: name.anchor, fontWeight: 650, fill: looks.get(name.environment)?.colour,
      })),
    ],
  });
  // This axis stays in view while the lines scroll below it; a saved picture has the axis of the plot itself.
  const above = plot({ ...options, height: AXIS, y: { axis: null }, marks: [axis] });
  above.setAttribute("aria-hidden", "true");
  above.classList.add("above");
  return h("div", { class: "scrolls" }, picture, above);
}

function axisOf(lines: Line[], all: boolean, width: number) {
  const label = say("slowdown, log scale (right is slower)");
  const margins = lines.flatMap(({ row }) => (row.margin === null ? [] : [row.margin, 1 / row.margin]));
  const values = lines.flatMap(({ marks }) => marks.flatMap(({ low, high, estimate }) => [low, high, estimate]));
  if (!all) {
    const { domain, ...rest } = ratioAxis([...values, ...margins], width, label, 54);
    return { ...rest, domain: domain as [number, number] };
  }
  const low = Math.min(LEAST, ...values.map((value) => value * 0.92));
  const high = Math.max(MOST, ...values.map((value) => value * 1.12));
  return {
    ...logScale(low, high), domain: [low, high] as [number, number], label, labelArrow: "none" as const, grid: true, axis: null,
    ticks: logTicks(low, high, Math.max(Math.floor(width / 48), 3)), tickFormat: (tick: number) => short(ratio(tick)),
  };
}

/** Gives every line its height and every mark its place in it: marks that would overlap go below each other. */
function place(lines: Line[], across: (value: number) => number): Heading[] {
  const headings: Heading[] = [];
  let top = AXIS;
  lines.forEach((line, i) => {
    const { family } = line.row;
    if (family !== lines[i - 1]?.row.family) {
      headings.push({ words: familyName(family), y: top + HEADING / 2 + 2 });
      top += HEADING;
    }
    const levels = levelsOf(line.marks, across);
    const count = Math.max(1, ...levels.map(({ of }) => of));
    const height = Math.max(LINE + (count - 1) * MARK, line.words.length * 14 + 4);
    [line.top, line.bottom, line.y] = [top, top + height, top + height / 2];
    line.marks.forEach((mark, j) => { mark.y = line.y + (levels[j].level - (levels[j].of - 1) / 2) * MARK; });
    line.words.forEach((each, j) => { each.y = line.y + (j - (line.words.length - 1) / 2) * 14; });
    top += height;
  });
  return headings;
}

/** Finds for each mark the first level on which it touches no other, and the number of levels around it. */
function levelsOf(marks: Mark[], across: (value: number) => number): { level: number; of: number }[] {
  const spans = marks.map(({ low, high, estimate }) => ({
    from: Math.min(across(low), across(estimate) - RADIUS) - 1, to: Math.max(across(high), across(estimate) + RADIUS) + 1, level: 0, of: 1,
  }));
  let group: typeof spans = [];
  for (const span of [...spans].sort((a, b) => a.from - b.from)) {
    if (group.every((other) => other.to <= span.from)) group = [];
    while (group.some((other) => other.level === span.level && other.to > span.from)) span.level += 1;
    group.push(span);
    const of = Math.max(...group.map(({ level }) => level + 1));
    for (const each of group) each.of = of;
  }
  return spans;
}

/** Places the name of each environment next to its first mark with room on a side. */
function namesOf(lines: Line[], across: (value: number) => number, leftmost: number, rightmost: (line: Line) => number): Name[] {
  const names: Name[] = [];
  const environments = new Set(lines.flatMap(({ marks }) => marks.map(({ cell }) => cell.environment)));
  for (const environment of environments) {
    const needed = letters(environment) * 7.4 + 6;
    const fits = (line: Line, from: number, to: number, own: Mark): boolean => to <= rightmost(line) && from >= leftmost
      && line.marks.every((mark) => mark === own || across(mark.high) + RADIUS + 3 < from || across(mark.low) - RADIUS - 3 > to)
      && names.every((name) => name.y < line.top || name.y > line.bottom);
    for (const line of lines) {
      const own = line.marks.find(({ cell }) => cell.environment === environment);
      if (own === undefined) continue;
      const [after, before] = [across(own.high) + RADIUS + 5, across(own.low) - RADIUS - 5];
      const anchor = fits(line, after, after + needed, own) ? "start" : fits(line, before - needed, before, own) ? "end" : null;
      if (anchor === null) continue;
      names.push({ environment, x: anchor === "start" ? after : before, y: own.y, anchor });
      break;
    }
  }
  return names;
}
