// Repeated runs of another tool in the order in which they ran: what an article draws as a graph over fifty runs.
import { dot, line, plot } from "@observablehq/plot";
import type { ImportedFigure, ImportedFile, Unit } from "../data";
import { choice, h } from "../dom";
import { figure } from "../number";
import { frame } from "./frame";
import { base, curveNames, figureAxis, nameRoom, unitName } from "./style";

/** A figure of one name and environment is a series from as many runs on. */
const LEAST_RUNS = 3;

export interface Run { file: ImportedFile; figure: ImportedFigure; values: { statistic: string; value: number; written: string }[] }
interface Series { name: string; colour: string; runs: Run[] }
interface Point { series: Series; x: number; value: number; title: string }

/** Runs by where they ran, or by their file where that is not known; none where nothing was repeated. */
function seriesOf(runs: Run[], colourOf: (file: ImportedFile) => string): Series[] {
  const found = new Map<string, Series>();
  for (const run of runs) {
    const parameters = Object.entries(run.figure.parameters).map(([key, value]) => `${key} ${value}`).join(", ");
    const name = run.file.environment ?? run.file.source.name;
    const key = JSON.stringify([name, parameters]);
    const series = found.get(key) ?? { name: [...found.values()].some((other) => other.name === name) ? `${name}, ${parameters}` : name, colour: colourOf(run.file), runs: [] };
    series.runs.push(run);
    found.set(key, series);
  }
  return [...found.values()].filter((series) => series.runs.length >= LEAST_RUNS);
}

/** A plot of the runs, with a choice of what was stated of each; nothing where too few were repeated. */
export function runsFrame(id: string, title: string, runs: Run[], unit: Unit, statistics: string[], colourOf: (file: ImportedFile) => string): HTMLElement | null {
  const all = seriesOf(runs, colourOf);
  if (all.length === 0 || all.reduce((sum, { runs: own }) => sum + own.length, 0) < runs.length) return null;
  let chosen = statistics[0];
  let redraw = (): void => {};
  const made = frame({
    id, title: `${title}, run by run`,
    about: "Each run in the order of its file, as it was stated.",
    controls: statistics.length < 2 ? null
      : choice("Statistic", statistics.map((name): [string, string] => [name, name]), (value) => { chosen = value; redraw(); }, chosen),
    draw: (width) => draw(all, chosen, unit, width) ?? h("p", { class: "nothing" }, "Nothing to draw."),
  });
  redraw = made.redraw;
  return made.element;
}

function draw(all: Series[], statistic: string, unit: Unit, width: number): SVGSVGElement | null {
  const points = all.flatMap((series) => series.runs.flatMap(({ values }, i): Point[] => {
    const stated = values.find((value) => value.statistic === statistic);
    return stated === undefined ? [] : [{ series, x: i + 1, value: stated.value, title: `${series.name}, run ${i + 1}: ${statistic} ${figure(stated.value, unit)} (as written ${stated.written})` }];
  }));
  if (points.length === 0) return null;
  const last = Math.max(...points.map(({ x }) => x));
  const ends = all.flatMap((series) => points.filter((point) => point.series === series).at(-1) ?? []);
  const room = nameRoom(ends.map(({ series }) => series.name), width);
  const options = {
    ...base(width), height: Math.min(Math.max(width * 0.45, 240), 360), marginLeft: 66, marginRight: room, marginBottom: 44, marginTop: 24,
    x: { domain: [0.5, last + 0.4], label: "run", labelArrow: "none" as const, ticks: Math.min(last, Math.floor(width / 70)), tickFormat: (x: number) => (Number.isInteger(x) ? String(x) : "") },
    y: figureAxis(points.map(({ value }) => value), unit, 6, `${unitName(unit)} (${statistic})`),
  };
  return plot({
    ...options, color: { type: "identity" },
    marks: [
      line(points, { x: "x", y: "value", z: ({ series }: Point) => series.name, stroke: ({ series }: Point) => series.colour, strokeOpacity: 0.5, strokeWidth: 1.2 }),
      dot(points, { x: "x", y: "value", r: 3, fill: ({ series }: Point) => series.colour, title: "title" }),
      ...curveNames(options, ends.map(({ series, value }) => ({ name: series.name, colour: series.colour, x: last + 0.3, y: value })), room),
    ],
  }) as SVGSVGElement;
}
