// Distributions: a histogram of rounds, and the groups (modes) that they fall into.
import { plot, rect, ruleX, text } from "@observablehq/plot";
import type { Level, Page, Row } from "../data";
import { levelOf, rowLabel, uniqueLabels } from "../data";
import { choice, colour } from "../dom";
import { counted, say } from "../language";
import { figure } from "../number";
import type { Chart } from "./frame";
import { base, fittedApart, labelRoom, environmentStyle } from "./style";

interface Bin { environment: string; x1: number; x2: number; y1: number; y2: number; group: number; title: string }

const FEWEST_ROUNDS = 6;
/** Shades of groups next to each other. */
const SHADES = [0.85, 0.4];

/** Draws a chart with a choice of row: those with groups come first. */
export function distribution(page: Page, redraw: () => void): Chart | null {
  const { rows } = page.report;
  const grouped = new Set(page.modes.map((modes) => modes.row));
  const shown = rows.map((row, i) => ({ row, i })).filter(({ row }) => levels(page, row).some(({ level }) => level.values.length >= FEWEST_ROUNDS));
  if (shown.length === 0) return null;
  const ordered = [...shown.filter(({ i }) => grouped.has(i)), ...shown.filter(({ i }) => !grouped.has(i))];
  const labels = uniqueLabels(rows);
  let chosen = 0;
  return {
    id: "distribution",
    title: say("Distributions"),
    about: say("Rounds by their distance from their environment's median. Groups that the dip test separates differ in shade and are counted."),
    controls: choice(say("Probe"), ordered.map(({ row, i }, place) => [String(place), `${labels.get(row) ?? rowLabel(row)}${grouped.has(i) ? say(" (groups)") : ""}`]),
      (value) => { chosen = Number(value); redraw(); }),
    draw: (width) => draw(page, ordered[chosen].row, ordered[chosen].i, width),
  };
}

function levels(page: Page, row: Row): { environment: string; place: number; level: Level }[] {
  return [{ environment: page.report.baseline, place: 0, level: row.baseline }, ...row.cells.map((cell, i) => ({ environment: cell.environment, place: i + 1, level: levelOf(cell) }))]
    .flatMap(({ environment, place, level }) => (level === null || level.median === null || level.median === 0 || level.values.length === 0 ? [] : [{ environment, place, level }]));
}

/** Sorts values, each with its group. */
function grouped(level: Level, sizes: number[]): { value: number; group: number }[] {
  const values = level.values.filter((value) => value !== null).sort((a, b) => a - b);
  const ends = sizes.map((_, i) => sizes.slice(0, i + 1).reduce((sum, size) => sum + size, 0));
  return values.map((value, i) => ({ value, group: Math.max(ends.findIndex((end) => i < end), 0) }));
}

function draw(page: Page, row: Row, index: number, width: number): SVGSVGElement | null {
  const environments = levels(page, row);
  if (environments.length === 0) return null;
  const { unit } = row.metric;
  const values = environments.map(({ environment, place, level }) => {
    const sizes = page.modes.find((modes) => modes.row === index && modes.environment === place)?.sizes ?? [level.values.length];
    const median = level.median as number;
    return { environment, median, sizes, points: grouped(level, sizes).map(({ value, group }) => ({ value, group, x: (value / median - 1) * 100 })) };
  });
  const reach = values.flatMap(({ points }) => points.map((point) => point.x));
  const [least, most] = [Math.min(...reach, -0.5), Math.max(...reach, 0.5)];
  const bins = Math.max(Math.min(Math.floor(width / 22), 40), 12);
  const step = (most - least) / bins;
  const shapes = values.flatMap(({ environment, median, sizes, points }) => histogram(points, least, step, bins).map((bin): Bin => ({
    environment, group: bin.group, x1: least + bin.at * step, x2: least + (bin.at + 1) * step, y1: bin.from, y2: bin.from + bin.count,
    title: say("{environment}: {rounds} from {low} to {high}", {
      environment, rounds: counted(bin.count, "run", "runs"), low: figure(median * (1 + (least + bin.at * step) / 100), unit), high: figure(median * (1 + (least + (bin.at + 1) * step) / 100), unit),
    }) + (sizes.length > 1 ? say(", group {group} of {groups}", { group: bin.group + 1, groups: sizes.length }) : ""),
  })));
  const names = values.map(({ environment }) => environment);
  const notes = new Map(values.map(({ environment, median, sizes }) => [environment, sizes.length > 1 ? say("groups: {sizes}", { sizes: sizes.join(" + ") }) : figure(median, unit)]));
  const room = labelRoom([...names, ...notes.values()], width);
  const labels = fittedApart(names, room);
  return plot({
    ...base(width), height: names.length * 84 + 64, marginLeft: room, marginRight: 44, marginBottom: 42, marginTop: 22,
    x: {
      domain: [least - step / 2, most + step / 2], label: say("apart from the environment's own median"), labelArrow: "none", grid: true, ticks: Math.max(Math.floor((width - room) / 100), 3),
      tickFormat: (x: number) => `${x > 0 ? "+" : x < 0 ? "−" : ""}${Number(Math.abs(x).toPrecision(3))} %`,
    },
    y: { axis: "right", label: say("rounds"), labelArrow: "none", ticks: 2, tickSize: 3, tickFormat: (count: number) => (Number.isInteger(count) ? String(count) : "") },
    fy: { domain: names, label: null, axis: null, padding: 0.2 },
    marks: [
      text(names, { fy: (name: string) => name, frameAnchor: "left", dx: -room + 4, dy: -7, textAnchor: "start", text: (name: string) => labels.get(name), fontWeight: 600, fill: (name: string) => environmentStyle(page, name).colour }),
      text(names, { fy: (name: string) => name, frameAnchor: "left", dx: -room + 4, dy: 8, textAnchor: "start", text: (name: string) => notes.get(name) ?? "", fillOpacity: 0.8 }),
      ruleX([0], { stroke: colour("--ink"), strokeOpacity: 0.4, strokeDasharray: "3 3" }),
      rect(shapes, { x1: "x1", x2: "x2", y1: "y1", y2: "y2", fy: "environment", fill: (bin: Bin) => environmentStyle(page, bin.environment).colour, fillOpacity: (bin: Bin) => SHADES[bin.group % SHADES.length], insetLeft: 0.6, insetRight: 0.6, title: "title" }),
    ],
  }) as SVGSVGElement;
}

/** Counts values by bin and group; groups that share a bin are stacked. */
function histogram(points: { x: number; group: number }[], least: number, step: number, bins: number) {
  const counts = new Map<string, { at: number; group: number; count: number; from: number }>();
  for (const { x, group } of points) {
    const at = Math.max(Math.min(Math.floor((x - least) / step), bins - 1), 0);
    const bin = counts.get(`${at} ${group}`) ?? { at, group, count: 0, from: 0 };
    bin.count += 1;
    counts.set(`${at} ${group}`, bin);
  }
  const all = [...counts.values()];
  for (const bin of all) bin.from = all.filter((other) => other.at === bin.at && other.group < bin.group).reduce((sum, other) => sum + other.count, 0);
  return all;
}
