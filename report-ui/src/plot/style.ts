// Shared by all plots: the environments' colours and symbols, axes of ratios and of figures, margins for labels.
import type { PlotOptions, SymbolType } from "@observablehq/plot";
import { dot, plot, text } from "@observablehq/plot";
import type { Page, Unit } from "../data";
import { colour } from "../dom";
import { letters, message, say } from "../language";
import { figure, ratio, scaleOf } from "../number";

/** A triangle on its tip, with the area of the library's symbols. */
const TIP_DOWN = {
  draw(context: { moveTo(x: number, y: number): void; lineTo(x: number, y: number): void; closePath(): void }, size: number): void {
    const y = -Math.sqrt(size / (Math.sqrt(3) * 3));
    context.moveTo(0, -2 * y);
    context.lineTo(-Math.sqrt(3) * y, y);
    context.lineTo(Math.sqrt(3) * y, y);
    context.closePath();
  },
};
/** One symbol for the baseline, eight for others. They tell environments apart for everyone, as Okabe and Ito's colours do. */
const SYMBOLS: SymbolType[] = ["circle", "square", "triangle", "diamond", "star", "cross", "wye", "hexagon", TIP_DOWN];
/** Symbols and colours of environments that are not the baseline. */
const OTHERS = SYMBOLS.length - 1;
/** Smallest distance between the names of curves, in pixels. */
const LABEL_HEIGHT = 14;

export interface EnvironmentStyle { colour: string; symbol: SymbolType }

/** Chooses colour and symbol of an environment: the baseline first, then the subjects in their order. */
export function environmentStyle(page: Page, environment: string): EnvironmentStyle {
  const { baseline, subjects } = page.report;
  const subject = subjects.indexOf(environment);
  // The control, the baseline entered a second time, gets no separate colour.
  if (environment !== baseline && subject < 0) return { colour: colour("--muted"), symbol: "circle" };
  const place = subject + 1;
  return { colour: placeColour(place), symbol: SYMBOLS[symbolOf(place)] };
}

/** Numbers the colour for a position among the environments: 0 is the baseline's alone. */
const colourOf = (place: number): number => (place === 0 ? 0 : 1 + (place - 1) % OTHERS);

/** Numbers the symbol. Each time the colours repeat, symbols move on by one, so that no two have both in common. */
const symbolOf = (place: number): number => (place === 0 ? 0 : 1 + (place - 1 + Math.floor((place - 1) / OTHERS)) % OTHERS);

/** Returns the colour for a position among the environments: 0 is the baseline's. */
export const placeColour = (place: number): string => colour(`--environment-${colourOf(place)}`);

/** Draws the mark of an environment for use next to its name, in colours that follow the theme. */
export function mark(page: Page, environment: string): SVGSVGElement {
  const place = page.report.subjects.indexOf(environment) + 1;
  const fill = `var(--environment-${colourOf(place)})`;
  const picture = plot({
    width: 16, height: 16, margin: 0, axis: null, symbol: { type: "identity" },
    marks: [dot([0], { frameAnchor: "middle", r: 5.4, symbol: environmentStyle(page, environment).symbol, fill })],
  }) as SVGSVGElement;
  picture.querySelector("style")?.remove();
  picture.setAttribute("aria-hidden", "true");
  return picture;
}

/** Returns the options of every plot. */
export function base(width: number): { width: number; style: Record<string, string> } {
  return { width, style: { background: "transparent", fontSize: "12px", overflow: "visible", color: colour("--ink") } };
}

/** Measures the room for labels left of an axis, in pixels, but leaves room for the plot. */
export function labelRoom(labels: string[], width: number): number {
  const longest = Math.max(...labels.map((label) => letters(label)), 0);
  return Math.min(Math.max(longest * 6.6 + 16, 48), Math.min(width * 0.4, 230));
}

/** Shares of a cut label that its end gets: the first with which no two labels read alike is taken. */
const TAILS = [1 / 3, 1 / 2, 2 / 3, 5 / 6, 1 / 6];

/** Cuts a label to the room, with … before its last part: labels of several rows often begin alike. */
export function fitted(label: string, room: number, share = TAILS[0]): string {
  const most = Math.max(Math.floor((room - 14) / 6.4), 4);
  if (letters(label) <= most) return label;
  const tail = Math.floor((most - 1) * share);
  const head = most - 1 - tail;
  let [begin, end] = [label, label];
  while (begin !== "" && letters(begin) > head) begin = begin.slice(0, -1);
  while (end !== "" && letters(end) > tail) end = end.slice(1);
  return `${begin.trimEnd()}…${end.trimStart()}`;
}

/** Cuts the labels of one axis so that no two read alike; those that no cut tells apart are numbered. */
export function fittedApart(labels: string[], room: number): Map<string, string> {
  const distinct = [...new Set(labels)];
  const cuts = TAILS.map((share) => distinct.map((label) => fitted(label, room, share)));
  const alike = (cut: string[]): number => cut.length - new Set(cut).size;
  const best = cuts.find((cut) => alike(cut) === 0) ?? cuts.reduce((least, cut) => (alike(cut) < alike(least) ? cut : least));
  const numbered = best.map((cut, i) => {
    const before = best.slice(0, i).filter((other) => other === cut).length;
    return before === 0 ? cut : `${before + 1} ${cut}`;
  });
  return new Map(distinct.map((label, i) => [label, numbered[i]]));
}

/** Chooses ticks of a logarithmic axis at 1, 2 and 5 of every decade, thinned to at most `most`. */
export function logTicks(low: number, high: number, most: number): number[] {
  if (!(low > 0 && high > low)) return [];
  const all = (steps: number[]): number[] => {
    const ticks = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
      for (const step of steps) {
        const tick = step * 10 ** power;
        if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push(tick);
      }
    }
    return ticks;
  };
  const fewest = high / low < 10 ? Math.min(4, most) : 2;
  for (const steps of [[1, 2, 5], [1, 3], [1]]) {
    const ticks = all(steps);
    if (ticks.length <= most && ticks.length >= fewest) return ticks;
  }
  const decades = all([1]);
  if (decades.length > most) return decades.filter((_, i) => i % Math.ceil(decades.length / most) === 0);
  // Less than a decade: even steps read best.
  return evenTicks(low, high, niceStep((high - low) / most));
}

/** Lists the multiples of a step between two values. */
function evenTicks(low: number, high: number, step: number): number[] {
  const first = Math.ceil(low / step - 1e-9);
  const count = Math.floor(high / step + 1e-9) - first + 1;
  return Number.isFinite(count) ? Array.from({ length: Math.max(count, 0) }, (_, i) => (first + i) * step) : [];
}

/** Most digits after those that a figure usually has. */
const MOST_FURTHER_DIGITS = 4;

/** Chooses the format of ticks: with as many further digits as it takes until no two read alike. */
function formatApart(ticks: number[], text: (tick: number, further: number) => string): (tick: number) => string {
  for (let further = 0; further <= MOST_FURTHER_DIGITS; further += 1) {
    if (new Set(ticks.map((tick) => text(tick, further))).size === ticks.length) return (tick) => text(tick, further);
  }
  return (tick) => text(tick, MOST_FURTHER_DIGITS);
}

function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return ([1, 2, 5, 10].find((step) => step * power >= least) ?? 10) * power;
}

/** Removes trailing zeros of decimals: `2.00 µs` becomes `2 µs` on an axis, `20.5x` stays. */
export const short = (text: string): string => text.replace(/(\.\d*?)0+(?=\D|$)/, "$1").replace(/\.(?=\D|$)/, "");

/**
 * A logarithmic scale. The library's own drops the labels of ticks that it does not like, whatever is asked; a
 * symmetric one, linear only far below the domain, draws the same to a part in a million and keeps them all.
 */
export function logScale(low: number, high: number) {
  return { type: "symlog" as const, constant: low * 1e-6, domain: [low, high] };
}

/** Builds an axis of slowdowns. */
export function ratioAxis(values: number[], width: number, label: string, tickRoom = 64) {
  const [least, greatest] = [Math.min(...values, 1), Math.max(...values, 1)];
  const pad = Math.max((greatest / least) ** 0.06, 1.002);
  const [low, high] = [least / pad, greatest * pad];
  const ticks = logTicks(low, high, Math.max(Math.floor(width / tickRoom), 3));
  return {
    ...logScale(low, high), label, labelArrow: "none" as const, grid: true,
    ticks, tickFormat: formatApart(ticks, (tick, further) => short(ratio(tick, further))),
  };
}

/** Builds an axis of figures in a unit; logarithmic if they span more than a decade. */
export function figureAxis(values: number[], unit: Unit, room: number, label: string) {
  const finite = values.filter((value) => Number.isFinite(value));
  const [least, greatest] = [Math.min(...finite), Math.max(...finite)];
  const common = (ticks: number[]) => ({
    label, labelArrow: "none" as const, grid: true, ticks, tickFormat: formatApart(ticks, (tick, further) => short(figure(tick, unit, further))),
  });
  if (least > 0 && greatest / least > 8) {
    const [low, high] = [least / 1.15, greatest * 1.15];
    return { ...logScale(low, high), ...common(logTicks(low, high, room)) };
  }
  const pad = (greatest - least || Math.abs(greatest) || 1) * 0.06;
  const [low, high] = [least - pad, greatest + pad];
  const [divisor] = scaleOf(greatest, unit);
  const step = niceStep((high - low) / Math.min(room, 6) / divisor) * divisor;
  return { type: "linear" as const, domain: [low, high], ...common(evenTicks(low, high, step)) };
}

/** Round steps of a duration, in seconds. */
const DURATIONS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400];

/** Chooses ticks of a time axis from 0 to `end`, at most this many after the first. */
export function durationTicks(end: number, most: number): number[] {
  const step = DURATIONS.find((seconds) => end / seconds <= most) ?? end;
  return Array.from({ length: Math.floor(end / step) + 1 }, (_, i) => i * step);
}

/** Chooses ticks of an axis from zero, round in the unit's own prefix: 100 KiB, not 97.7 KiB. */
export function zeroTicks(most: number, unit: Unit, count: number): number[] {
  const [divisor] = scaleOf(most, unit);
  const step = niceStep(most / divisor / Math.max(count, 1)) * divisor;
  return most > 0 && Number.isFinite(step) ? Array.from({ length: Math.floor(most / step) + 1 }, (_, i) => i * step) : [0];
}

const UNIT_NAMES: Record<Unit, string> = {
  nanoseconds: message("time per operation"), per_second: message("operations per second"), per_minute: message("operations per minute"),
  bytes_per_second: message("bytes per second"), bits_per_second: message("bits per second"), bytes: message("bytes"),
  mwips: message("Whetstone instructions per second"), percent: message("percent"), count: message("count"),
};

/** Names the quantity on an axis, for figures that are not of single operations. */
export const unitName = (unit: Unit): string => (unit === "nanoseconds" ? say("time") : say(UNIT_NAMES[unit]));

/** Names the quantity on an axis, with its better direction. */
export function unitLabel(unit: Unit, better: "lower" | "higher"): string {
  const name = say(UNIT_NAMES[unit]);
  return better === "lower" ? say("{name} (lower is better)", { name }) : say("{name} (higher is better)", { name });
}

/** The end of a curve, next to which its name is drawn. */
export interface CurveEnd { name: string; colour: string | undefined; x: number; y: number }

/** Measures the room right of a plot for the names of its curves. */
export function nameRoom(names: string[], width: number): number {
  return Math.min(Math.max(...names.map((name) => letters(name)), 0) * 7.1 + 16, width * 0.4);
}

/** Draws the names of curves at their ends, moved apart if they would overlap. `options` has the scales of the plot. */
export function curveNames(options: PlotOptions, ends: CurveEnd[], room: number) {
  const scale = plot({ ...options, marks: [] }).scale("y");
  const places = ends.map((end) => scale?.apply(end.y) as number);
  const apart = spread(places, LABEL_HEIGHT);
  const labels = fittedApart(ends.map(({ name }) => name), room);
  return ends.map((end, i) => text([end], {
    x: "x", y: "y", dx: 10, dy: apart[i] - places[i], text: () => labels.get(end.name), textAnchor: "start", fill: end.colour, fontWeight: 600,
  }));
}

/** Moves labels apart that would overlap: each down by as little as needed, kept in their order. */
export function spread(places: number[], least: number): number[] {
  const order = places.map((_, i) => i).sort((a, b) => places[a] - places[b]);
  const out = [...places];
  for (let i = 1; i < order.length; i += 1) {
    out[order[i]] = Math.max(out[order[i]], out[order[i - 1]] + least);
  }
  // If the last label was pushed too far down, the whole group moves up by half the excess.
  const excess = order.length === 0 ? 0 : out[order[order.length - 1]] - places[order[order.length - 1]];
  return out.map((place) => place - excess / 2);
}
