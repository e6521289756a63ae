// Values of other tools side by side: a plot per name, statistic and unit, with a line for each file that has it.
import { barX, dot, line, plot, ruleX, ruleY, text, tickX } from "@observablehq/plot";
import type { ImportedFigure, ImportedFile, ImportedPage, Stated, Unit } from "../data";
import { choice, colour, h } from "../dom";
import { counted } from "../language";
import { figure } from "../number";
import { section } from "./all";
import type { Chart } from "./frame";
import { frame } from "./frame";
import { base, curveNames, figureAxis, fittedApart, labelRoom, nameRoom, placeColour, short, unitName, zeroTicks } from "./style";

/** Limit on the plots of a page that people still look through; other figures are only in the tables. */
const MOST_PLOTS = 24;
/** Limit on the lines of a plot. */
const MOST_LINES = 40;
/** Limit on drawn values; in nanoseconds this is thirty years. */
const GREATEST = 1e18;
/** Statistics of single operations: they share one line, from the least to the greatest. */
const SPREAD = /^(min|mean|max|p[\d.]+)$/;
/** Statistics of a run as a whole, which tell least about the measurement. */
const ASIDE = ["count", "elapsed", "sd"];
/** Room right of a plot for the figure at the end of a line. */
const FIGURE_ROOM = 112;
const LINE_HEIGHT = 26;
/** Fewest runs of a series of one name and environment. */
const LEAST_RUNS = 3;

interface Known extends Stated { value: number; unit: Unit }
interface Line { id: string; label: string; file: ImportedFile; figure: ImportedFigure; values: Known[] }
interface Group { name: string; unit: Unit; statistics: string[]; lines: Line[] }

const isDrawable = (stated: Stated): stated is Known =>
  stated.unit !== null && stated.value !== null && Math.abs(stated.value) <= GREATEST;

/** Groups figures by name, kind of statistic and unit, over all files; those in most files come first. */
function groups(files: ImportedFile[]): Group[] {
  const found = new Map<string, Group>();
  for (const file of files) {
    for (const figure of file.figures) {
      for (const [kind, values] of byKind(figure.values.filter(isDrawable))) {
        const { unit } = values[0];
        const key = JSON.stringify([figure.name, kind, unit]);
        const group = found.get(key) ?? { name: figure.name, unit, statistics: [], lines: [] };
        group.lines.push({ id: String(group.lines.length), label: "", file, figure, values });
        for (const { statistic } of values) if (!group.statistics.includes(statistic)) group.statistics.push(statistic);
        found.set(key, group);
      }
    }
  }
  const aside = (group: Group): number => Number(ASIDE.includes(group.statistics[0]));
  const sources = (group: Group): number => new Set(group.lines.map(({ file }) => file)).size;
  const all = [...found.values()].sort((a, b) => sources(b) - sources(a) || aside(a) - aside(b));
  for (const { lines } of all) nameApart(lines);
  return all;
}

/** Groups values that share an axis: those of single operations together, every other statistic alone. */
function byKind(values: Known[]): Map<string, Known[]> {
  const found = new Map<string, Known[]>();
  for (const value of values) {
    const kind = JSON.stringify([SPREAD.test(value.statistic) ? "" : value.statistic, value.unit]);
    found.set(kind, [...found.get(kind) ?? [], value]);
  }
  return found;
}

/** Labels lines by their differences: environment, then parameters, tool, file, and finally a number. */
function nameApart(lines: Line[]): void {
  const keys = [...new Set(lines.flatMap(({ figure }) => Object.keys(figure.parameters)))]
    .filter((key) => new Set(lines.map(({ figure }) => figure.parameters[key])).size > 1);
  const parts: ((line: Line) => string)[] = [
    ({ file }) => file.environment ?? (lines.some((line) => line.file.environment !== null) ? "not given" : ""),
    ({ figure }) => keys.map((key) => (figure.parameters[key] === undefined ? `no ${key}` : `${key} ${figure.parameters[key]}`)).join(", "),
    ({ file }) => `${file.tool} ${file.version ?? ""}`.trim(),
    ({ file }) => file.source.name,
    ({ id }) => `no. ${Number(id) + 1}`,
  ];
  const alike = (): number => lines.length - new Set(lines.map(({ label }) => label)).size;
  for (const part of parts) {
    if (alike() === 0 && lines[0].label !== "") break;
    const words = lines.map(part);
    // Words that all lines share distinguish nothing, but serve as a name if there is none yet.
    if (new Set(words).size === 1 && (lines.length > 1 || words[0] === "")) continue;
    lines.forEach((line, i) => { line.label = [line.label, words[i]].filter((word) => word !== "").join(" · "); });
  }
}

/** Assigns colours that an environment keeps in every plot: native the baseline's, others in the order of the files. */
function colours(files: ImportedFile[]): (file: ImportedFile) => string {
  const others = [...new Set(files.map(({ environment }) => environment))].filter((environment) => environment !== "native");
  const of = new Map(others.map((environment, i) => [environment, placeColour(i + 1)]));
  const native = placeColour(0);
  return ({ environment }) => of.get(environment) ?? native;
}

/** Chooses the mean if a tool states one, else the median, else the first value. */
const leading = (values: Known[]): Known =>
  values.find(({ statistic }) => statistic === "mean") ?? values.find(({ statistic }) => statistic === "p50") ?? values[0];

function chart(files: ImportedFile[], group: Group, i: number): Chart {
  const tools = [...new Set(group.lines.map(({ file }) => file.tool))];
  const isSpread = group.statistics.length > 1;
  const how = isSpread
    ? "a line from the least to the greatest that was stated, the mean filled, percentiles open"
    : "one bar per value, from zero";
  const cut = group.lines.length > MOST_LINES ? ` The first ${MOST_LINES} of ${group.lines.length}.` : "";
  return {
    id: `imported-${i}`,
    title: `${group.name}: ${group.statistics.join(", ")}`,
    about: `${tools.join(", ")}: ${how}.${cut}`,
    draw: (width) => (isSpread ? spread : bars)(files, { ...group, lines: group.lines.slice(0, MOST_LINES) }, width),
  };
}

const said = (line: Line, { statistic, value, unit, written }: Known): string =>
  `${line.label}: ${statistic} ${figure(value, unit)} (as written ${written})`;

/** Computes the room left of the axis, and the vertical scale of the lines. */
function rowsOf(lines: Line[], width: number) {
  const room = labelRoom(lines.map(({ label }) => label), width);
  const cut = fittedApart(lines.map(({ label }) => label), room);
  const labels = new Map(lines.map(({ id, label }) => [id, cut.get(label) ?? ""]));
  return { room, y: { type: "band" as const, domain: lines.map(({ id }) => id), label: null, tickSize: 0, tickFormat: (id: string) => labels.get(id) ?? "" } };
}

/** Draws least, mean, percentiles and greatest of each figure on one line. */
function spread(files: ImportedFile[], { unit, lines }: Group, width: number): SVGSVGElement {
  const { room, y } = rowsOf(lines, width);
  const colourOf = colours(files);
  const all = lines.flatMap((line) => line.values.map((known) => ({ ...known, id: line.id, colour: colourOf(line.file), title: said(line, known) })));
  const ends = lines.map((line) => {
    const values = line.values.map(({ value }) => value);
    const lead = leading(line.values);
    return { id: line.id, colour: colourOf(line.file), low: Math.min(...values), high: Math.max(...values), words: `${lead.statistic} ${figure(lead.value, unit)}` };
  });
  const axis = figureAxis(all.map(({ value }) => value), unit, Math.max(Math.floor((width - room - FIGURE_ROOM) / 64), 2), "");
  const label = `${unitName(unit)}${axis.type === "symlog" ? ", log scale" : ""}`;
  const isEnd = (statistic: string): boolean => statistic === "min" || statistic === "max";
  return plot({
    ...base(width), height: lines.length * LINE_HEIGHT + 62, marginLeft: room, marginRight: FIGURE_ROOM, marginBottom: 44, marginTop: 10,
    x: { ...axis, label }, y, color: { type: "identity" },
    marks: [
      ruleY(ends, { x1: "low", x2: "high", y: "id", stroke: "colour", strokeOpacity: 0.55, strokeWidth: 2 }),
      tickX(all.filter(({ statistic }) => isEnd(statistic)), { x: "value", y: "id", stroke: "colour", strokeWidth: 2, inset: 7, title: "title" }),
      dot(all.filter(({ statistic }) => !isEnd(statistic) && statistic !== "mean"), { x: "value", y: "id", r: 3.6, stroke: "colour", strokeWidth: 1.6, fill: colour("--surface"), title: "title" }),
      dot(all.filter(({ statistic }) => statistic === "mean"), { x: "value", y: "id", r: 4.6, fill: "colour", stroke: colour("--surface"), strokeWidth: 1.2, title: "title" }),
      text(ends, { y: "id", frameAnchor: "right", dx: 10, textAnchor: "start", text: "words" }),
    ],
  }) as SVGSVGElement;
}

/** Draws figures of one value as bars from zero. */
function bars(files: ImportedFile[], { unit, statistics, lines }: Group, width: number): SVGSVGElement {
  const { room, y } = rowsOf(lines, width);
  const colourOf = colours(files);
  const all = lines.flatMap((line) => line.values.map((known) => ({ id: line.id, value: known.value, colour: colourOf(line.file), title: said(line, known) })));
  // A tool may state a statistic twice.
  const ends = lines.map((line) => ({
    id: line.id, x: Math.max(...line.values.map(({ value }) => value), 0),
    words: [...new Set(line.values.map(({ value }) => figure(value, unit)))].slice(0, 2).join(", "),
  }));
  const values = all.map(({ value }) => value);
  const [least, most] = [Math.min(...values, 0), Math.max(...values, 0)];
  const pad = (most - least || 1) * 0.02;
  const count = Math.max(Math.floor((width - room - FIGURE_ROOM) / 76), 2);
  return plot({
    ...base(width), height: lines.length * LINE_HEIGHT + 62, marginLeft: room, marginRight: FIGURE_ROOM, marginBottom: 44, marginTop: 10,
    x: {
      domain: [least === 0 ? 0 : least - pad, most + pad], label: `${unitName(unit)} (${statistics.join(", ")})`, labelArrow: "none", grid: true,
      ticks: least === 0 ? zeroTicks(most, unit, count) : count, tickFormat: (value: number) => (value === 0 ? "0" : short(figure(value, unit))),
    },
    y: { ...y, padding: 0.28 }, color: { type: "identity" },
    marks: [
      // Both ends are given: the library would stack bars with one end if a tool states a statistic twice.
      barX(all, { x1: 0, x2: "value", y: "id", fill: "colour", fillOpacity: 0.8, title: "title" }),
      text(ends, { x: "x", y: "id", dx: 7, textAnchor: "start", text: "words" }),
      ruleX([0], { stroke: colour("--ink"), strokeOpacity: 0.55 }),
    ],
  }) as SVGSVGElement;
}

interface Run { file: ImportedFile; figure: ImportedFigure; values: { statistic: string; value: number; written: string }[] }
interface Series { name: string; colour: string; runs: Run[] }
interface Point { series: Series; x: number; value: number; title: string }

/** Groups runs by environment, or by file if it is not known; empty if nothing was repeated. */
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

/** Draws a plot of the runs, with a choice of statistic; null if too few were repeated. */
function runsFrame(id: string, title: string, runs: Run[], unit: Unit, statistics: string[], colourOf: (file: ImportedFile) => string): HTMLElement | null {
  const all = seriesOf(runs, colourOf);
  if (all.length === 0 || all.reduce((sum, { runs: own }) => sum + own.length, 0) < runs.length) return null;
  let chosen = statistics[0];
  let redraw = (): void => {};
  const made = frame({
    id, title: `${title}, run by run`,
    about: "Each run in the order of its file, as it was stated.",
    controls: statistics.length < 2 ? null
      : choice("Statistic", statistics.map((name): [string, string] => [name, name]), (value) => { chosen = value; redraw(); }, chosen),
    draw: (width) => drawRuns(all, chosen, unit, width) ?? h("p", { class: "nothing" }, "Nothing to draw."),
  });
  redraw = made.redraw;
  return made.element;
}

function drawRuns(all: Series[], statistic: string, unit: Unit, width: number): SVGSVGElement | null {
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

/** Builds the plots, and the note on figures that are not in them. */
export function importedPlots({ imported: { files } }: ImportedPage): HTMLElement | null {
  const all = groups(files);
  const colourOf = colours(files);
  const drawn = all.slice(0, MOST_PLOTS).map((group, i) =>
    runsFrame(`imported-${i}`, group.name, group.lines, group.unit, group.statistics, colourOf) ?? frame(chart(files, group, i)).element);
  const part = section("imported-title", "Side by side", drawn, drawn.length > 1 ? "twos" : "stacked");
  const undrawn = files.flatMap((file) => file.figures.flatMap(({ values }) => values)).filter((stated) => !isDrawable(stated)).length;
  const notes = [
    all.length > MOST_PLOTS ? `${MOST_PLOTS} of ${all.length} plots are drawn, those with the most files first; the other results are in the tables below.` : null,
    undrawn > 0 ? `${counted(undrawn, "value is", "values are")} in the tables alone: the unit is unknown, or no axis would show it.` : null,
  ].filter((words) => words !== null);
  part?.append(...notes.map((words) => h("p", { class: "advice" }, words)));
  return part;
}
