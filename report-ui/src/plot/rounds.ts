// Rounds: what every round said, in the order in which they ran and as a distribution, with median and interval.
import { dodgeY, dot, plot, rectX, tickX } from "@observablehq/plot";
import type { Level, Page, Row } from "../data";
import { rowLabel } from "../data";
import { choice, h } from "../dom";
import { figure, half } from "../number";
import type { Chart } from "./frame";
import { frame } from "./frame";
import { base, figureAxis, fitted, labelRoom, laneStyle, unitLabel } from "./style";

interface Lane { name: string; level: Level }
interface Point { lane: string; value: number; round: number; title: string }

function lanesOf(page: Page, row: Row, only: string[] | null): Lane[] {
  const out: Lane[] = row.reference === null ? [] : [{ name: page.report.reference, level: row.reference }];
  for (const cell of row.cells) {
    const level = cell.comparison?.level ?? cell.observed ?? cell.gap?.level ?? null;
    if (level !== null && (only === null || only.includes(cell.lane))) out.push({ name: cell.lane, level });
  }
  return out;
}

/** The rounds of one row in the reference and these lanes, for a dialog. */
export function rounds(page: Page, row: Row, lanes: string[]): HTMLElement {
  return frame({
    id: "detail-rounds", title: "Every round",
    about: "Each point is a round; the line is the median, the band its 95 % interval.",
    draw: (width) => draw(page, row, lanesOf(page, row, lanes), width),
  }).element;
}

/** The rounds of any row in every lane. */
export function roundsChart(page: Page, redraw: () => void): Chart | null {
  const rows = page.report.rows.filter((row) => lanesOf(page, row, null).length > 0);
  if (rows.length === 0) return null;
  let chosen = 0;
  return {
    id: "rounds",
    title: "Rounds",
    about: "Each point is a round in a fresh process. The line is the median, the band its 95 % interval; separate clumps are separate modes.",
    controls: choice("Probe", rows.map((row, i) => [String(i), rowLabel(row)]), (value) => { chosen = Number(value); redraw(); }),
    draw: (width) => draw(page, rows[chosen], lanesOf(page, rows[chosen], null), width),
  };
}

function draw(page: Page, row: Row, lanes: Lane[], width: number): HTMLElement | null {
  const { unit, better } = row.metric;
  const panels = lanes.map(({ name, level }) => {
    const points: Point[] = level.values.flatMap((value, round) => value === null ? [] : [{
      lane: name, value, round: round + 1, title: `${name}, round ${round + 1}: ${figure(value, unit)}`,
    }]);
    return { name, level, points };
  }).filter(({ points }) => points.length > 0);
  if (panels.length === 0) return null;
  const points = panels.flatMap((panel) => panel.points);
  const names = panels.map((panel) => panel.name);
  const room = labelRoom(names, width);
  const styles = new Map(names.map((name) => [name, laneStyle(page, name)]));
  const medians = panels.flatMap(({ name, level }) => level.median === null ? [] : [{
    lane: name, median: level.median, low: level.low ?? level.median, high: level.high ?? level.median,
    title: `${name}: median ${figure(level.median, unit)} ${half(level.median, level.low, level.high, unit)}, ${level.rounds} rounds`,
  }]);
  const band = 46;
  const axis = figureAxis(points.map((point) => point.value), unit, Math.max(Math.floor((width - room) / 90), 3), unitLabel(unit, better));
  // The lanes are facets: within each, points that would overlap are piled up.
  const svg = plot({
    ...base(width), height: names.length * band + 58, marginLeft: room, marginRight: 20, marginBottom: 44, marginTop: 8,
    x: axis,
    fy: { domain: names, label: null, padding: 0.12, axis: "left", tickFormat: (name: string) => fitted(name, room) },
    y: { axis: null },
    symbol: { type: "identity" },
    marks: [
      rectX(medians, { x1: "low", x2: "high", fy: "lane", fill: colourOf(styles), fillOpacity: 0.16 }),
      tickX(medians, { x: "median", fy: "lane", stroke: colourOf(styles), strokeWidth: 2, title: "title" }),
      dot(points, dodgeY({ anchor: "middle", padding: 1 }, {
        x: "value", fy: "lane", r: 3.2, fill: colourOf(styles), fillOpacity: 0.8, title: "title",
        symbol: (p: Point) => styles.get(p.lane)?.symbol,
      })),
    ],
  });
  return h("div", {}, svg as unknown as HTMLElement);
}

function colourOf(styles: Map<string, { colour: string }>): (mark: { lane: string }) => string {
  return (mark) => styles.get(mark.lane)?.colour ?? "currentColor";
}
