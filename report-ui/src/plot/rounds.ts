// Rounds: the value of every round, in the order in which they ran and as a distribution, with median and interval.
import { dot, plot, rect, ruleX, text } from "@observablehq/plot";
import type { Level, Page, Row } from "../data";
import { levelOf, rowLabel, uniqueLabels } from "../data";
import { choice } from "../dom";
import { counted, say } from "../language";
import { figure, overRounds } from "../number";
import type { Chart } from "./frame";
import { frame } from "./frame";
import { base, fittedApart, labelRoom, environmentStyle } from "./style";

interface Environment { name: string; level: Level }
interface Point { environment: string; x: number; round: number; title: string }

function environmentsOf(page: Page, row: Row, only: string[] | null): Environment[] {
  const out: Environment[] = row.baseline === null ? [] : [{ name: page.report.baseline, level: row.baseline }];
  for (const cell of row.cells) {
    const level = levelOf(cell);
    if (level !== null && (only === null || only.includes(cell.environment))) out.push({ name: cell.environment, level });
  }
  return out;
}

/** Draws the rounds of one row in the baseline and these environments, for a dialog. */
export function rounds(page: Page, row: Row, environments: string[]): HTMLElement {
  return frame({
    id: "detail-rounds", title: say("Every round"),
    about: say("Each point is a round, the first on top, around the environment's median (the band: 95 % interval)."),
    draw: (width) => draw(page, row, environmentsOf(page, row, environments), width),
  }).element;
}

/** Draws the rounds of any row in every environment. */
export function roundsChart(page: Page, redraw: () => void): Chart | null {
  const rows = page.report.rows.filter((row) => environmentsOf(page, row, null).some(({ level }) => level.values.length > 0));
  if (rows.length === 0) return null;
  const labels = uniqueLabels(rows);
  let chosen = 0;
  return {
    id: "rounds",
    title: say("Rounds"),
    about: say("Each point is a round in a fresh process. An environment's rounds run downwards around its median (the band: 95 % interval). A slope is drift, columns are modes."),
    controls: choice(say("Probe"), rows.map((row, i) => [String(i), labels.get(row) ?? rowLabel(row)]), (value) => { chosen = Number(value); redraw(); }),
    draw: (width) => draw(page, rows[chosen], environmentsOf(page, rows[chosen], null), width),
  };
}

function draw(page: Page, row: Row, environments: Environment[], width: number): SVGSVGElement | null {
  const { unit } = row.metric;
  const panels = environments.flatMap(({ name, level }) => {
    const { median } = level;
    if (median === null || median === 0) return [];
    const apart = (value: number): number => (value / median - 1) * 100;
    const points: Point[] = level.values.flatMap((value, i) => value === null ? [] : [{
      environment: name, x: apart(value), round: i + 1, title: say("{name}, round {round}: {value}", { name, round: i + 1, value: figure(value, unit) }),
    }]);
    const middle = {
      environment: name, x: 0, low: apart(level.low ?? median), high: apart(level.high ?? median),
      title: say("{name}: median {value}, {rounds}", { name, value: overRounds(level, unit).join(" "), rounds: counted(level.rounds, "run", "runs") }),
    };
    return [{ name, median, points, middle }];
  }).filter(({ points }) => points.length > 0);
  if (panels.length === 0) return null;
  const points = panels.flatMap((panel) => panel.points);
  const middles = panels.map((panel) => panel.middle);
  const medians = new Map(panels.map((panel) => [panel.name, figure(panel.median, unit)]));
  const names = panels.map((panel) => panel.name);
  const room = labelRoom([...names, ...medians.values()], width);
  const labels = fittedApart(names, room);
  const styles = new Map(names.map((name) => [name, environmentStyle(page, name)]));
  const fill = (mark: { environment: string }): string => styles.get(mark.environment)?.colour ?? "currentColor";
  const reach = [...points.map((point) => point.x), ...middles.flatMap(({ low, high }) => [low, high])];
  const [least, greatest] = [Math.min(...reach, -0.5), Math.max(...reach, 0.5)];
  const pad = (greatest - least) * 0.03;
  const last = Math.max(...points.map((point) => point.round));
  // The environments are facets, and within each the rounds run down: drift shows as a slope, modes as columns.
  return plot({
    ...base(width), height: names.length * Math.min(Math.max(last * 2.2, 44), 90) + 52, marginLeft: room, marginRight: 20, marginBottom: 42, marginTop: 6,
    x: {
      domain: [least - pad, greatest + pad], label: say("apart from the environment's own median"), labelArrow: "none", grid: true, ticks: Math.max(Math.floor((width - room) / 100), 3),
      tickFormat: (x: number) => `${x > 0 ? "+" : x < 0 ? "−" : ""}${Number(Math.abs(x).toPrecision(3))} %`,
    },
    fy: { domain: names, label: null, padding: 0.1, axis: null },
    y: { axis: null, domain: [last + 1, 0], reverse: false },
    symbol: { type: "identity" },
    marks: [
      text(names, { fy: (name: string) => name, frameAnchor: "left", dx: -room + 4, dy: -7, textAnchor: "start", text: (name: string) => labels.get(name), fontWeight: 600, fill: (name: string) => styles.get(name)?.colour }),
      text(names, { fy: (name: string) => name, frameAnchor: "left", dx: -room + 4, dy: 8, textAnchor: "start", text: (name: string) => medians.get(name) ?? "", fillOpacity: 0.75 }),
      rect(middles, { x1: "low", x2: "high", fy: "environment", fill, fillOpacity: 0.16, title: "title" }),
      ruleX(middles, { x: "x", fy: "environment", stroke: fill, strokeWidth: 1.5 }),
      dot(points, { x: "x", y: "round", fy: "environment", r: 3, fill, fillOpacity: 0.85, title: "title", symbol: (p: Point) => styles.get(p.environment)?.symbol }),
    ],
  }) as SVGSVGElement;
}
