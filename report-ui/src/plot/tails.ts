// Tails: the time of an operation over its quantile, from the first hundredth as far as the operations reach.
import { dot, line, plot, ruleY } from "@observablehq/plot";
import type { Page, Tail } from "../data";
import { choice, colour } from "../dom";
import { counted, say } from "../language";
import { figure, ratio } from "../number";
import type { Chart } from "./frame";
import { base, curveNames, figureAxis, environmentStyle, nameRoom, ratioAxis } from "./style";

interface Point { environment: string; x: number; y: number; title: string }
interface Operation { id: string; name: string; curves: Tail[] }

/** Places a quantile on the axis: every nine is one step, as HdrHistogram draws it. */
const step = (quantile: number): number => -Math.log10(1 - quantile);
const TICKS = [0.01, 0.5, 0.75, 0.9, 0.99, 0.999, 0.9999, 0.99999].map(step);
/** Pixels from one tick to the next in which both labels can be read. */
const TICK_ROOM = 50;

/** Chooses ticks so that the last point has one and labels do not meet; `width` is that of the axis. */
function ticksTo(furthest: number, width: number): number[] {
  const ticks = [furthest];
  for (const tick of [...TICKS].reverse()) if ((ticks[0] - tick) / furthest >= TICK_ROOM / width) ticks.unshift(tick);
  return ticks;
}

/** Lists the operations that were timed singly, with the curves of the shown environments. */
function operations(page: Page): Operation[] {
  const environments = [page.report.baseline, ...page.report.subjects];
  const found = new Map<string, Operation>();
  for (const tail of page.tails.filter((tail) => tail.points.length > 1 && environments.includes(tail.environment))) {
    const id = `${tail.case}\n${tail.series}`;
    const label = page.report.rows.find((row) => row.case === tail.case)?.label ?? tail.case;
    const operation = found.get(id) ?? { id, name: label, curves: [] };
    operation.curves.push(tail);
    found.set(id, operation);
  }
  const all = [...found.values()];
  const cases = all.map((operation) => operation.curves[0].case);
  return all.map((operation, i) => cases.filter((other) => other === cases[i]).length === 1 ? operation
    : { ...operation, name: `${operation.name}: ${operation.curves[0].series}` });
}

function chooser(all: Operation[], chosen: (index: number) => void): HTMLElement {
  return choice(say("Operation"), all.map(({ name }, i) => [String(i), name]), (value) => chosen(Number(value)));
}

/** Draws a chart with a choice of operation; null if no probe timed its operations singly. */
export function tails(page: Page, redraw: () => void): Chart | null {
  const all = operations(page);
  if (all.length === 0) return null;
  let chosen = 0;
  return {
    id: "tails",
    title: say("Tails"),
    about: say("Time of single operations over all rounds. Each nine is one step; a curve ends where there are too few operations."),
    controls: chooser(all, (index) => { chosen = index; redraw(); }),
    draw: (width) => {
      const points = all[chosen].curves.flatMap((curve) => curve.points.map(([quantile, ns]): Point => ({
        environment: curve.environment, x: step(quantile), y: ns,
        title: say("{environment}, {percentile}: {value} ({operations}, longest {longest})", {
          environment: curve.environment, percentile: percentile(quantile), value: figure(ns, "nanoseconds"), operations: counted(curve.operations, "operation", "operations"), longest: figure(curve.longest_ns, "nanoseconds"),
        }),
      })));
      return draw(page, points, figureAxis(points.map((point) => point.y), "nanoseconds", 7, say("{name} (lower is better)", { name: say("time of an operation") })), width);
    },
  };
}

/** Draws the curves over the baseline's: the slowdown of typical operations, and of rare ones. */
export function tailRatios(page: Page, redraw: () => void): Chart | null {
  const all = operations(page).map((operation) => ({ operation, points: ratiosOf(page, operation) })).filter(({ points }) => points.length > 1);
  if (all.length === 0) return null;
  let chosen = 0;
  return {
    id: "tail-ratios",
    title: say("Tails against the baseline"),
    about: say("Each quantile over the same quantile of {baseline}. A level curve slows every operation alike; a rising one slows the rare operations more.", { baseline: page.report.baseline }),
    controls: chooser(all.map(({ operation }) => operation), (index) => { chosen = index; redraw(); }),
    draw: (width) => {
      const { points } = all[chosen];
      return draw(page, points, ratioAxis(points.map((point) => point.y), heightOf(width), say("{name} (lower is better)", { name: say("ratio of quantiles, log scale") }), 44), width, 1);
    },
  };
}

function ratiosOf(page: Page, { curves }: Operation): Point[] {
  const baseline = new Map(curves.find((curve) => curve.environment === page.report.baseline)?.points ?? []);
  return curves.filter((curve) => curve.environment !== page.report.baseline).flatMap((curve) => curve.points.flatMap(([quantile, ns]) => {
    const own = baseline.get(quantile);
    if (own === undefined || own <= 0 || ns <= 0) return [];
    return [{ environment: curve.environment, x: step(quantile), y: ns / own,
      title: say("{environment}, {percentile}: {ratio} ({value} to {baseline})", { environment: curve.environment, percentile: percentile(quantile), ratio: ratio(ns / own), value: figure(ns, "nanoseconds"), baseline: figure(own, "nanoseconds") }) }];
  }));
}

const heightOf = (width: number): number => Math.min(Math.max(width * 0.5, 260), 400);

const percentile = (quantile: number): string => `p${Number((quantile * 100).toPrecision(7))}`;

function draw(page: Page, points: Point[], y: object, width: number, even: number | null = null): SVGSVGElement | null {
  if (points.length === 0) return null;
  const names = [...new Set(points.map((point) => point.environment))];
  const styles = new Map(names.map((name) => [name, environmentStyle(page, name)]));
  const furthest = Math.max(...points.map((point) => point.x));
  const room = nameRoom(names, width);
  const stroke = (point: Point): string | undefined => styles.get(point.environment)?.colour;
  const options = {
    ...base(width), height: heightOf(width), marginLeft: 62, marginRight: room, marginBottom: 44, marginTop: 24,
    x: {
      domain: [0, furthest], label: say("quantile of operations"), labelArrow: "none" as const, grid: true,
      ticks: ticksTo(furthest, width - 62 - room),
      tickFormat: (x: number) => percentile(1 - 10 ** -x),
    },
    y,
    symbol: { type: "identity" as const },
  };
  const ends = names.map((name) => points.filter((point) => point.environment === name).at(-1) as Point);
  return plot({
    ...options,
    marks: [
      even === null ? null : ruleY([even], { stroke: colour("--ink"), strokeOpacity: 0.55 }),
      line(points, { x: "x", y: "y", z: "environment", stroke, strokeWidth: 2 }),
      dot(points, { x: "x", y: "y", r: 3.4, fill: stroke, symbol: (p: Point) => styles.get(p.environment)?.symbol, title: "title" }),
      ...curveNames(options, ends.map((end) => ({ name: end.environment, colour: stroke(end), x: end.x, y: end.y })), room),
    ],
  }) as SVGSVGElement;
}
