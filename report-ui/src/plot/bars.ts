// Bars from zero: time and memory of processes, in every environment side by side.
import { barX, plot, ruleX, ruleY, text } from "@observablehq/plot";
import type { Page, Row } from "../data";
import { levelOf, scaled, uniqueLabels } from "../data";
import { choice, colour } from "../dom";
import { counted, say } from "../language";
import { figure, overRounds } from "../number";
import type { Chart } from "./frame";
import { base, fitted, labelRoom, environmentStyle, short, unitLabel, zeroTicks } from "./style";

interface Bar { row: string; environment: string; value: number; low: number; high: number; label: string; title: string }
/** An environment without a bar, and the reason. */
interface Missing { row: string; environment: string; words: string }
interface Group { name: string; rows: Row[] }

/** Groups rows by probe and metric; each group shares a scale. */
function groups(rows: Row[], of: (row: Row) => boolean): Group[] {
  const found = new Map<string, Group>();
  for (const row of rows.filter((row) => of(row) && barsOf([row]))) {
    const key = JSON.stringify([row.probe, row.metric.name]);
    const group = found.get(key) ?? { name: `${row.probe}: ${row.metric.name}`, rows: [] };
    group.rows.push(row);
    found.set(key, group);
  }
  return [...found.values()];
}

const barsOf = (rows: Row[]): boolean => rows.some((row) => row.baseline !== null || row.cells.some((cell) => levelOf(cell) !== null));

function chart(page: Page, redraw: () => void, id: string, title: string, about: string, of: (row: Row) => boolean): Chart | null {
  const all = groups(page.report.rows, of);
  if (all.length === 0) return null;
  // A single bar per environment says little: a probe with several cases is shown first.
  let chosen = Math.max(all.findIndex((group) => group.rows.length > 1), 0);
  return {
    id, title, about,
    controls: choice(say("Probe"), all.map(({ name }, i) => [String(i), name]), (value) => { chosen = Number(value); redraw(); }, String(chosen)),
    draw: (width) => draw(page, all[chosen].rows, width),
  };
}

/** Draws the times of processes: forks, threads, programs, scripts. */
export const processes = (page: Page, redraw: () => void): Chart | null =>
  chart(page, redraw, "processes", say("Processes"),
    say("Medians over the rounds, from zero, with 95 % intervals."),
    (row) => row.family === "process" && row.headline);

/** Draws the memory of a process, a thread or a mapping. */
export const memory = (page: Page, redraw: () => void): Chart | null =>
  chart(page, redraw, "memory", say("Memory"),
    say("What each process or thread takes, from zero, with 95 % intervals: the environment's own account, where it keeps one."),
    (row) => row.metric.unit === "bytes");

function draw(page: Page, rows: Row[], width: number): SVGSVGElement | null {
  const labels = uniqueLabels(rows);
  const { unit, better } = rows[0].metric;
  const bars = rows.flatMap((row): Bar[] => {
    const levels = [{ environment: page.report.baseline, level: row.baseline }, ...row.cells.map((cell) => ({ environment: cell.environment, level: cell.comparison === null ? levelOf(cell) : scaled(cell.comparison) }))];
    return levels.flatMap(({ environment, level }) => {
      if (level === null || level.median === null) return [];
      const text = overRounds(level, unit).join(" ");
      return [{ row: labels.get(row) ?? row.label, environment, value: level.median, low: level.low ?? level.median, high: level.high ?? level.median,
        label: figure(level.median, unit), title: `${labels.get(row) ?? row.label}, ${environment}: ${text}, ${counted(level.rounds, "run", "runs")}` }];
    });
  });
  const missing = rows.flatMap((row): Missing[] => row.cells.filter((cell) => levelOf(cell) === null && cell.missing !== null)
    .map((cell) => ({ row: labels.get(row) ?? row.label, environment: cell.environment, words: cell.missing?.words ?? "" })));
  const text = (value: number): string => short(figure(value, unit));
  return drawBars(page, bars, missing, { label: unitLabel(unit, better), text, ticks: (most, count) => zeroTicks(most, unit, count) }, width);
}

/** Draws the scores of UnixBench's tests, as articles print them. */
export function unixbench(page: Page): Chart | null {
  const { scores } = page;
  if (scores.length === 0) return null;
  const text = (value: number): string => String(Number(value.toPrecision(4)));
  return {
    id: "unixbench", title: say("UnixBench scores"),
    about: say("By UnixBench's definition, from tare's trials: 10 is its baseline machine. From zero; longer is better."),
    draw: (width) => {
      const all = scores.flatMap(({ test, environments }) => environments.map((of) => ({ row: test, ...of })));
      const bars = all.flatMap(({ row, environment, score }): Bar[] => (score === null ? [] : [{ row, environment, value: score, low: score, high: score, label: text(score), title: `${row}, ${environment}: ${text(score)}` }]));
      const missing = all.filter(({ score }) => score === null).map(({ row, environment }) => ({ row, environment, words: say("no score") }));
      return drawBars(page, bars, missing, { label: say("{name} (higher is better)", { name: say("score") }), text, ticks: (_, count) => count }, width);
    },
  };
}

interface Axis { label: string; text: (value: number) => string; ticks: (most: number, count: number) => number[] | number }

/** Draws a group of bars per row, one for each environment. */
function drawBars(page: Page, bars: Bar[], missing: Missing[], axis: Axis, width: number): SVGSVGElement | null {
  if (bars.length === 0) return null;
  const names = [page.report.baseline, ...page.report.subjects].filter((environment) => [...bars, ...missing].some((bar) => bar.environment === environment));
  const cases = [...new Set(bars.map((bar) => bar.row))];
  const room = labelRoom(names, width);
  const fill = (bar: Bar): string => environmentStyle(page, bar.environment).colour;
  const most = Math.max(...bars.map((bar) => bar.high), 0);
  return plot({
    ...base(width), height: cases.length * (names.length * 19 + 34) + 50, marginLeft: room, marginRight: 84, marginBottom: 44, marginTop: 20,
    x: { domain: [0, most * 1.02 || 1], label: axis.label, labelArrow: "none", grid: true, ticks: axis.ticks(most, Math.floor((width - room - 84) / 90)), tickFormat: (value: number) => (value === 0 ? "0" : axis.text(value)) },
    fy: { domain: cases, label: null, axis: null, padding: 0.24 },
    y: { type: "band", domain: names, label: null, tickSize: 0, padding: 0.14, tickFormat: (environment: string) => fitted(environment, room) },
    marks: [
      text(cases, { fy: (name: string) => name, frameAnchor: "top-left", dx: 2, dy: -14, text: (name: string) => fitted(name, width - room), fontWeight: 600 }),
      barX(bars, { x: "value", y: "environment", fy: "row", fill, fillOpacity: 0.8, title: "title" }),
      ruleY(bars, { x1: "low", x2: "high", y: "environment", fy: "row", stroke: colour("--ink"), strokeWidth: 1.6 }),
      text(bars, { x: "high", y: "environment", fy: "row", dx: 7, textAnchor: "start", text: "label" }),
      text(missing, { x: 0, y: "environment", fy: "row", dx: 7, textAnchor: "start", text: "words", fill: colour("--muted"), fontStyle: "italic" }),
      ruleX([0], { stroke: colour("--ink"), strokeOpacity: 0.55 }),
    ],
  }) as SVGSVGElement;
}
