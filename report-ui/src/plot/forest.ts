// Ratios with their intervals on a logarithmic axis, a plot an environment, each on a scale that shows its intervals.
import { dot, plot, rect, ruleX, ruleY } from "@observablehq/plot";
import type { Page } from "../data";
import { rowId, uniqueLabels } from "../data";
import { colour } from "../dom";
import { interval, ratio } from "../number";
import { VERDICTS } from "../words";
import type { Chart } from "./frame";
import { base, fitted, labelRoom, ratioAxis } from "./style";

interface Mark { id: string; label: string; estimate: number; low: number; high: number; verdict: keyof typeof VERDICTS; margin: number }

function marksOf(page: Page, environment: number): Mark[] {
  const rows = page.report.rows.filter((row) => row.headline);
  const labels = uniqueLabels(rows);
  return rows.flatMap((row) => {
    const cell = row.cells[environment];
    const c = cell?.comparison;
    if (c == null || c.estimate === null || c.low === null || c.high === null || c.low <= 0 || c.estimate <= 0) return [];
    return [{ id: rowId(row), label: labels.get(row) ?? row.label, estimate: c.estimate, low: c.low, high: c.high, verdict: cell.verdict, margin: row.margin ?? 1 }];
  });
}

/** One chart an environment that has ratios. */
export function forests(page: Page): Chart[] {
  const environments = page.report.subjects.map((environment, i) => ({ environment, marks: marksOf(page, i) }));
  return environments.filter(({ marks }) => marks.length > 0).map(({ environment, marks }, i) => ({
    id: `forest-${i}`,
    title: environment,
    about: `Cost ratios against ${page.report.baseline} with 95 % intervals, on a scale of its own; the band is the margin of “same”.`,
    draw: (width) => draw(marks, width),
  }));
}

function draw(marks: Mark[], width: number): SVGSVGElement {
  const room = labelRoom(marks.map((mark) => mark.label), width);
  const labels = new Map(marks.map((mark) => [mark.id, fitted(mark.label, room)]));
  const fill = (mark: Mark): string => colour(`--v-${mark.verdict}`);
  const title = (mark: Mark): string =>
    `${mark.label}: ${ratio(mark.estimate)} ${interval(mark.low, mark.high, mark.estimate)} ${VERDICTS[mark.verdict].word}`;
  return plot({
    ...base(width), height: marks.length * 22 + 62, marginLeft: room, marginRight: 18, marginBottom: 44, marginTop: 8,
    x: ratioAxis(marks.flatMap((mark) => [mark.low, mark.high, mark.margin, 1 / mark.margin]), width - room, "cost ratio, log scale (right is slower)"),
    y: { type: "band", domain: marks.map((mark) => mark.id), label: null, padding: 0, tickSize: 0, tickFormat: (id: string) => labels.get(id) ?? "" },
    marks: [
      rect(marks, { x1: (mark: Mark) => 1 / mark.margin, x2: "margin", y: "id", fill: colour("--ink"), fillOpacity: 0.09 }),
      ruleX([1], { stroke: colour("--ink"), strokeOpacity: 0.55 }),
      ruleY(marks, { x1: "low", x2: "high", y: "id", stroke: fill, strokeWidth: 2, strokeLinecap: "round" }),
      dot(marks, {
        x: "estimate", y: "id", r: 4.2, fill, stroke: colour("--surface"), strokeWidth: 1.2, title,
        symbol: (mark: Mark) => (mark.estimate >= 1 ? "circle" : "diamond"),
      }),
    ],
    symbol: { type: "identity" },
  }) as SVGSVGElement;
}
