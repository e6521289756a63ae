// Tails: the time of an operation over its quantile, from the first hundredth as far out as there are operations for.
import { dot, line, plot, text } from "@observablehq/plot";
import type { Page, Tail } from "../data";
import { choice } from "../dom";
import { counted, figure } from "../number";
import type { Chart } from "./frame";
import { base, figureAxis, fitted, laneStyle, spread } from "./style";

interface Point { lane: string; x: number; ns: number; title: string }

/** Where a quantile stands: every nine is one step, as HdrHistogram draws it. */
const step = (quantile: number): number => -Math.log10(1 - quantile);
const TICKS = [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999];
const LABEL_HEIGHT = 14;

/** A chart with a choice of what to show; nothing where no probe timed its operations one by one. */
export function tails(page: Page, redraw: () => void): Chart | null {
  const drawable = page.tails.filter((tail) => tail.points.length > 1);
  const keys = [...new Map(drawable.map((tail) => [key(tail), tail])).entries()];
  if (keys.length === 0) return null;
  let chosen = keys[0][0];
  const name = (tail: Tail): string => {
    const label = page.report.rows.find((row) => row.case === tail.case)?.label ?? tail.case;
    const several = keys.filter(([, other]) => other.case === tail.case).length > 1;
    return several ? `${label}: ${tail.series}` : label;
  };
  return {
    id: "tails",
    title: "Tails",
    about: "Time of single operations over all rounds. Each nine is one step; a curve ends where there are too few operations to tell.",
    controls: choice("Operation", keys.map(([id, tail]) => [id, name(tail)]), (value) => { chosen = value; redraw(); }),
    draw: (width) => draw(page, drawable.filter((tail) => key(tail) === chosen), width),
  };
}

const key = (tail: Tail): string => `${tail.case}\n${tail.series}`;

function draw(page: Page, curves: Tail[], width: number): SVGSVGElement {
  const shown = curves.filter((curve) => page.report.subjects.includes(curve.lane) || curve.lane === page.report.reference);
  const points: Point[] = shown.flatMap((curve) => curve.points.map(([quantile, ns]) => ({
    lane: curve.lane, x: step(quantile), ns,
    title: `${curve.lane}, p${Number((quantile * 100).toPrecision(7))}: ${figure(ns, "nanoseconds")} (${counted(curve.operations, "operation", "operations")}, longest ${figure(curve.longest_ns, "nanoseconds")})`,
  })));
  const ends = shown.map((curve) => points.filter((point) => point.lane === curve.lane).at(-1) as Point);
  const styles = new Map(shown.map((curve) => [curve.lane, laneStyle(page, curve.lane)]));
  const furthest = Math.max(...points.map((point) => point.x));
  const room = Math.min(Math.max(...shown.map((curve) => curve.lane.length)) * 6.8 + 14, width * 0.3);
  const options = {
    ...base(width), height: Math.min(Math.max(width * 0.5, 260), 400), marginLeft: 62, marginRight: room, marginBottom: 44, marginTop: 14,
    x: {
      domain: [0, furthest], label: "quantile", labelArrow: "none" as const, grid: true,
      // On a phone the first tick would run into the second.
      ticks: [...(width > 560 ? [step(0.01)] : []), ...TICKS.map(step).filter((x) => x <= furthest + 1e-9)],
      tickFormat: (x: number) => `p${Number(((1 - 10 ** -x) * 100).toPrecision(6))}`,
    },
    y: figureAxis(points.map((point) => point.ns), "nanoseconds", 7, "time of an operation (lower is better)"),
    symbol: { type: "identity" as const },
  };
  const scale = plot({ ...options, marks: [] }).scale("y");
  const places = ends.map((end) => scale?.apply(end.ns) as number);
  const apart = spread(places, LABEL_HEIGHT);
  return plot({
    ...options,
    marks: [
      line(points, { x: "x", y: "ns", z: "lane", stroke: (p: Point) => styles.get(p.lane)?.colour, strokeWidth: 2, curve: "monotone-x" }),
      dot(points, { x: "x", y: "ns", r: 3.4, fill: (p: Point) => styles.get(p.lane)?.colour, symbol: (p: Point) => styles.get(p.lane)?.symbol, title: "title" }),
      ...ends.map((end, i) => text([end], {
        x: "x", y: "ns", dx: 9, dy: apart[i] - places[i], text: () => fitted(end.lane, room), textAnchor: "start", fill: styles.get(end.lane)?.colour, fontWeight: 600,
      })),
    ],
  }) as SVGSVGElement;
}
