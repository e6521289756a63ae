// Rounds in the order in which they ran: drift, warm-up and steps are seen here and nowhere else.
import { dot, line, plot, text } from "@observablehq/plot";
import type { Page, Row } from "../data";
import { levelOf, rowLabel, uniqueLabels } from "../data";
import { choice } from "../dom";
import { figure } from "../number";
import type { Chart } from "./frame";
import { base, figureAxis, fitted, laneStyle, spread, unitLabel } from "./style";

interface Point { lane: string; round: number; value: number; title: string }
const LABEL_HEIGHT = 14;

function pointsOf(page: Page, row: Row): Point[] {
  const levels: [string, (number | null)[]][] = row.reference === null ? [] : [[page.report.reference, row.reference.values]];
  for (const cell of row.cells) {
    const level = levelOf(cell);
    if (level !== null) levels.push([cell.lane, level.values]);
  }
  return levels.flatMap(([lane, values]) => values.flatMap((value, i) => value === null ? [] : [{
    lane, round: i + 1, value, title: `${lane}, round ${i + 1}: ${figure(value, row.metric.unit)}`,
  }]));
}

/** A chart with a choice of row. */
export function series(page: Page, redraw: () => void): Chart | null {
  const rows = page.report.rows.map((row) => ({ row, points: pointsOf(page, row) })).filter(({ points }) => points.length > 1);
  if (rows.length === 0) return null;
  const labels = uniqueLabels(rows.map(({ row }) => row));
  let chosen = 0;
  return {
    id: "series",
    title: "Round by round",
    about: "The same rounds in the order in which they ran.",
    controls: choice("Probe", rows.map(({ row }, i) => [String(i), labels.get(row) ?? rowLabel(row)]), (value) => { chosen = Number(value); redraw(); }),
    draw: (width) => draw(page, rows[chosen].row, rows[chosen].points, width),
  };
}

function draw(page: Page, row: Row, points: Point[], width: number): SVGSVGElement {
  const names = [...new Set(points.map((point) => point.lane))];
  const styles = new Map(names.map((name) => [name, laneStyle(page, name)]));
  const ends = names.map((name) => points.filter((point) => point.lane === name).at(-1) as Point);
  const last = Math.max(...points.map((point) => point.round));
  const room = Math.min(Math.max(...names.map((name) => name.length)) * 6.8 + 14, width * 0.3);
  const options = {
    ...base(width), height: Math.min(Math.max(width * 0.45, 240), 340), marginLeft: 66, marginRight: room, marginBottom: 44, marginTop: 14,
    x: { domain: [0.5, last + 0.5], label: "round", labelArrow: "none" as const, ticks: Math.min(last, Math.floor(width / 70)), tickFormat: (x: number) => (Number.isInteger(x) ? String(x) : "") },
    y: figureAxis(points.map((point) => point.value), row.metric.unit, 6, unitLabel(row.metric.unit, row.metric.better)),
    symbol: { type: "identity" as const },
  };
  const scale = plot({ ...options, marks: [] }).scale("y");
  const places = ends.map((end) => scale?.apply(end.value) as number);
  const apart = spread(places, LABEL_HEIGHT);
  const stroke = (point: Point): string | undefined => styles.get(point.lane)?.colour;
  return plot({
    ...options,
    marks: [
      line(points, { x: "round", y: "value", z: "lane", stroke, strokeOpacity: 0.45, strokeWidth: 1.2 }),
      dot(points, { x: "round", y: "value", r: 3, fill: stroke, symbol: (p: Point) => styles.get(p.lane)?.symbol, title: "title" }),
      ...ends.map((end, i) => text([end], {
        x: "round", y: "value", dx: 10, dy: apart[i] - places[i], text: () => fitted(end.lane, room), textAnchor: "start", fill: stroke, fontWeight: 600,
      })),
    ],
  }) as SVGSVGElement;
}
