// Runs in the order in which they ran: only here can drift, warm-up and steps be seen.
import { dot, line, plot, ruleX } from "@observablehq/plot";
import type { Page, Row } from "../data";
import { levelOf, rowLabel, uniqueLabels } from "../data";
import { choice } from "../dom";
import { say } from "../language";
import { figure } from "../number";
import type { Chart } from "./frame";
import { timeAxis } from "./timeline";
import { base, curveNames, figureAxis, environmentStyle, nameRoom, unitLabel } from "./style";

interface Point { environment: string; round: number; value: number; low: number | null; high: number | null; x: number; title: string }

/** Times at which the rounds of each environment began, in seconds, by case and environment. */
type Starts = Map<string, number[]>;

/** Points of a row, placed by the time at which their rounds began, or else by the number of the round. */
interface Points { points: Point[]; isByTime: boolean }

function startsOf({ starts, report }: Page): Starts {
  return new Map(starts.flatMap(({ case: of, steps }) => steps.map((ofOne, i): [string, number[]] => {
    let now = 0;
    return [`${of} ${report.plan.environments[i].name}`, ofOne.map((step) => (now += step) / 10)];
  })));
}

/** A row, with the rows of its shortest and longest operation if its probe timed operations singly. */
interface Run { row: Row; name: string; shortest: Row | null; longest: Row | null }

function valuesOf(row: Row, place: number): (number | null)[] {
  const level = place === 0 ? row.baseline : row.cells[place - 1] === undefined ? null : levelOf(row.cells[place - 1]);
  return level?.values ?? [];
}

/** Lists every row; those with minimum, mean and maximum of every run, as netperf prints them, come first. */
function runs(page: Page): Run[] {
  const { rows } = page.report;
  const labels = uniqueLabels(rows);
  const all = rows.map((row): Run => ({ row, name: labels.get(row) ?? rowLabel(row), shortest: null, longest: null }));
  const spans = rows.filter((row) => row.metric.name === "mean").flatMap((row): Run[] => {
    const other = (name: string): Row | null => rows.find((r) => r.case === row.case && r.metric.name === name) ?? null;
    const [shortest, longest] = [other("min"), other("max")];
    return shortest === null || longest === null ? [] : [{ row, name: say("{label}: min, mean, max", { label: row.label }), shortest, longest }];
  });
  return [...spans, ...all];
}

/** An environment may have fewer rounds than another in the same time: only by time are both in their place. */
function pointsOf(page: Page, { row, shortest, longest }: Run, starts: Starts): Points {
  const environments = [page.report.baseline, ...page.report.subjects];
  const { unit } = row.metric;
  const began = environments.map((environment, place) => {
    const known = starts.get(`${row.case} ${environment}`) ?? [];
    return known.length === valuesOf(row, place).length ? known : null;
  });
  const isByTime = began.every((known) => known !== null);
  const points = environments.flatMap((environment, place) => {
    const [low, high] = [shortest, longest].map((other) => (other === null ? [] : valuesOf(other, place)));
    // Environments of one round are drawn side by side, so that their spans can be told apart.
    const aside = shortest === null || isByTime ? 0 : (place - (environments.length - 1) / 2) * Math.min(0.7 / environments.length, 0.18);
    return valuesOf(row, place).flatMap((value, i) => {
      if (value === null) return [];
      const span = low[i] == null || high[i] == null ? "" : say(" (shortest {low}, longest {high})", { low: figure(low[i], unit), high: figure(high[i], unit) });
      return [{ environment, round: i + 1, value, low: low[i] ?? null, high: high[i] ?? null, x: (isByTime ? began[place]?.[i] : null) ?? i + 1 + aside, title: say("{name}, round {round}: {value}", { name: environment, round: i + 1, value: figure(value, unit) }) + span }];
    });
  });
  return { points, isByTime };
}

/** Draws a chart with a choice of row. */
export function series(page: Page, redraw: () => void): Chart | null {
  const starts = startsOf(page);
  const all = runs(page).filter((run) => pointsOf(page, run, starts).points.length > 1);
  if (all.length === 0) return null;
  let chosen = 0;
  return {
    id: "series",
    title: say("Run by run"),
    about: say("Each round in the order in which they ran. Where operations are timed one by one, a line goes from the shortest to the longest of the run, and the mark is their mean."),
    controls: choice(say("Probe"), all.map(({ name }, i) => [String(i), name]), (value) => { chosen = Number(value); redraw(); }),
    draw: (width) => draw(page, all[chosen].row, pointsOf(page, all[chosen], starts), width),
  };
}

function draw(page: Page, row: Row, { points, isByTime }: Points, width: number): SVGSVGElement {
  const names = [...new Set(points.map((point) => point.environment))];
  const styles = new Map(names.map((name) => [name, environmentStyle(page, name)]));
  const last = Math.max(...points.map((point) => point.round));
  const end = Math.max(...points.map((point) => point.x));
  const room = nameRoom(names, width);
  const stroke = (point: Point): string | undefined => styles.get(point.environment)?.colour;
  const spans = points.filter((point) => point.low !== null && point.high !== null);
  const options = {
    ...base(width), height: Math.min(Math.max(width * 0.45, 240), 360), marginLeft: 66, marginRight: room, marginBottom: 44, marginTop: 24,
    x: isByTime ? timeAxis(end * 1.01, width)
      : { domain: [0.5, last + 0.4], label: say("round"), labelArrow: "none" as const, ticks: Math.min(last, Math.floor(width / 70)), tickFormat: (x: number) => (Number.isInteger(x) ? String(x) : "") },
    y: figureAxis(points.flatMap((point) => [point.value, point.low ?? point.value, point.high ?? point.value]), row.metric.unit, 6, unitLabel(row.metric.unit, row.metric.better)),
    symbol: { type: "identity" as const },
  };
  const lasts = names.map((name) => points.filter((point) => point.environment === name).at(-1) as Point);
  return plot({
    ...options,
    marks: [
      ruleX(spans, { x: "x", y1: "low", y2: "high", stroke, strokeOpacity: 0.45, strokeWidth: 1.5 }),
      line(points, { x: "x", y: "value", z: "environment", stroke, strokeOpacity: 0.45, strokeWidth: 1.2 }),
      dot(points, { x: "x", y: "value", r: 3, fill: stroke, symbol: (p: Point) => styles.get(p.environment)?.symbol, title: "title" }),
      ...curveNames(options, lasts.map((point) => ({ name: point.environment, colour: stroke(point), x: isByTime ? end : last + 0.3, y: point.value })), room),
    ],
  }) as SVGSVGElement;
}
