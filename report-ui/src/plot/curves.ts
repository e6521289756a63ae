// Curves over a size: rows of one probe that differ in one parameter only, own file system against share.
import { dot, line, plot, ruleX } from "@observablehq/plot";
import type { Level, Page, Row } from "../data";
import { scaled } from "../data";
import { choice, colour } from "../dom";
import { say } from "../language";
import { figure, overRounds } from "../number";
import type { Chart } from "./frame";
import { base, curveNames, figureAxis, environmentStyle, logScale, nameRoom, short, unitLabel } from "./style";

interface Sized { row: Row; size: number; variant: string }
/** Rows of a probe over a size. Reading and writing are variants of one family; other families have none. */
interface Family { name: string; parameter: string; rows: Sized[] }
interface Point { environment: string; curve: string; place: string; variant: string; size: number; value: number; low: number; high: number; title: string }

const LEAST_POINTS = 3;
const SUFFIXES: Record<string, number> = { "": 1, B: 1, K: 1024, KiB: 1024, M: 1024 ** 2, MiB: 1024 ** 2, G: 1024 ** 3, GiB: 1024 ** 3 };

/** Parses a size such as `4KiB` into bytes; null if it is not a size. */
export function size(text: string): number | null {
  const match = /^(\d+)([A-Za-z]*)$/.exec(text);
  const unit = match === null ? undefined : SUFFIXES[match[2]];
  return match === null || unit === undefined ? null : Number(match[1]) * unit;
}

/** Labels the axis of a parameter: its letters in the probe, and their meaning if it is known. */
const parameterName = (parameter: string): string => ({ bs: say("block size (bs), log scale"), size: say("size, log scale") })[parameter] ?? say("{parameter}, log scale", { parameter });

/** Finds rows that differ only in one size, over at least three sizes; families of reads and writes together come first. */
function families(rows: Row[]): Family[] {
  const found = new Map<string, Family & { row: Row; others: [string, string][] }>();
  for (const row of rows) {
    for (const [parameter, value] of Object.entries(row.parameters)) {
      const bytes = size(value);
      if (bytes === null) continue;
      const others = Object.entries(row.parameters).filter(([key]) => key !== parameter);
      const key = JSON.stringify([row.probe, row.metric.name, parameter, others]);
      const family = found.get(key) ?? { name: "", parameter, rows: [], row, others };
      family.rows.push({ row, size: bytes, variant: "" });
      found.set(key, family);
    }
  }
  const all = [...found.values()].filter((family) => new Set(family.rows.map((r) => r.size)).size >= LEAST_POINTS);
  const alike = (a: Row, b: Row): boolean => a.probe === b.probe && a.metric.name === b.metric.name;
  for (const family of all) {
    // Only the parts that distinguish it from its neighbours.
    const near = all.filter(({ row, parameter }) => alike(row, family.row) && parameter === family.parameter);
    const telling = family.others.filter(([key, value]) => near.some(({ others }) => others.some(([k, v]) => k === key && v !== value)));
    const words = [...telling.map(([key, value]) => (key === "op" ? value : `${key} ${value}`)), family.row.headline ? "" : family.row.metric.name].filter((word) => word !== "");
    family.name = [family.row.probe, ...words].join(", ");
  }
  return [...together(all), ...all];
}

/** Joins the families of one probe that differ only in their operation. */
function together(all: (Family & { row: Row })[]): Family[] {
  const headlines = all.filter(({ row }) => row.headline && row.parameters.op !== undefined);
  return [...new Set(headlines.map(({ row, parameter }) => `${row.probe} ${parameter}`))].flatMap((key): Family[] => {
    const own = headlines.filter(({ row, parameter }) => `${row.probe} ${parameter}` === key);
    const first = [...new Set(own.map(({ row }) => row.parameters.op))].flatMap((op) => own.find(({ row }) => row.parameters.op === op) ?? []);
    if (first.length < 2) return [];
    const rows = first.flatMap(({ row: { parameters: { op } }, rows: sized }) => sized.map((each) => ({ ...each, variant: op })));
    return [{ name: `${first[0].row.probe}, ${first.map(({ row }) => row.parameters.op).join(" and ")}`, parameter: first[0].parameter, rows }];
  });
}

/** Draws a chart with a choice of probe; null if no probe ran at several sizes. */
export function curves(page: Page, redraw: () => void): Chart | null {
  const all = families(page.report.rows);
  if (all.length === 0) return null;
  let chosen = 0;
  return {
    id: "curves",
    title: say("Over size"),
    about: say("Medians with 95 % intervals. Solid: the environment's own file system; dashed: another place. Where reads and writes are drawn together, one of them is hollow."),
    controls: choice(say("Probe"), all.map((family, i) => [String(i), family.name]), (value) => { chosen = Number(value); redraw(); }),
    draw: (width) => draw(page, all[chosen], width),
  };
}

function pointsOf(page: Page, family: Family): Point[] {
  const doing = [...new Set(family.rows.map(({ variant }) => variant))];
  return family.rows.flatMap(({ row, size: bytes, variant }) => {
    const levels: [string, Level | null][] = [[page.report.baseline, row.baseline],
      ...row.cells.map((cell): [string, Level | null] => [cell.environment, cell.comparison === null ? null : scaled(cell.comparison)])];
    return levels.flatMap(([environment, level]) => {
      if (level === null || level.median === null) return [];
      const place = row.place ?? "own";
      const curve = [environment, place === "own" ? "" : place, variant].filter((part) => part !== "").join(", ");
      return [{ environment, curve, place, variant: doing.indexOf(variant) > 0 ? variant : "", size: bytes, value: level.median, low: level.low ?? level.median, high: level.high ?? level.median,
        title: `${curve}, ${figure(bytes, "bytes")}: ${overRounds(level, row.metric.unit).join(" ")}` }];
    });
  }).sort((a, b) => a.size - b.size);
}

function draw(page: Page, family: Family, width: number): SVGSVGElement | null {
  const points = pointsOf(page, family);
  if (points.length === 0) return null;
  const { unit, better } = family.rows[0].row.metric;
  const names = [...new Set(points.map((point) => point.curve))];
  const ends = names.map((name) => points.filter((point) => point.curve === name).at(-1) as Point);
  const styles = new Map(points.map((point) => [point.environment, environmentStyle(page, point.environment)]));
  const sizes = [...new Set(points.map((point) => point.size))].sort((a, b) => a - b);
  const room = nameRoom(names, width);
  const options = {
    ...base(width), height: Math.min(Math.max(width * 0.5, 260), 380), marginLeft: 70, marginRight: room, marginBottom: 44, marginTop: 26,
    x: { ...logScale(sizes[0] / 1.3, sizes[sizes.length - 1] * 1.3), label: parameterName(family.parameter), labelArrow: "none" as const, ticks: sizes.filter((_, i) => i % Math.ceil(sizes.length / Math.max((width - room - 70) / 58, 1)) === 0), tickFormat: (bytes: number) => short(figure(bytes, "bytes")) },
    y: figureAxis(points.flatMap((p) => [p.low, p.high]), unit, 6, unitLabel(unit, better)),
    symbol: { type: "identity" as const },
  };
  const stroke = (point: Point): string | undefined => styles.get(point.environment)?.colour;
  return plot({
    ...options,
    marks: [
      ...names.map((name) => {
        const own = points.filter((point) => point.curve === name);
        return line(own, { x: "size", y: "value", stroke: stroke(own[0]), strokeWidth: 2, strokeDasharray: own[0].place === "own" ? undefined : "5 4" });
      }),
      ruleX(points, { x: "size", y1: "low", y2: "high", stroke, strokeWidth: 1.5 }),
      dot(points, { x: "size", y: "value", r: 3.6, stroke, strokeWidth: 1.5, fill: (p: Point) => (p.variant === "" ? stroke(p) : colour("--surface")), symbol: (p: Point) => styles.get(p.environment)?.symbol, title: "title" }),
      ...curveNames(options, ends.map((end) => ({ name: end.curve, colour: stroke(end), x: end.size, y: end.value })), room),
    ],
  }) as SVGSVGElement;
}
