// What all plots share: the environments' colours and symbols, axes of ratios and of figures, margins for labels.
import type { PlotOptions, SymbolType } from "@observablehq/plot";
import { dot, plot, text } from "@observablehq/plot";
import type { Page, Unit } from "../data";
import { colour } from "../dom";
import { letters, message, say } from "../language";
import { figure, ratio, scaleOf } from "../number";

/** A triangle that stands on its tip, of the area that the library's symbols have. */
const TIP_DOWN = {
  draw(context: { moveTo(x: number, y: number): void; lineTo(x: number, y: number): void; closePath(): void }, size: number): void {
    const y = -Math.sqrt(size / (Math.sqrt(3) * 3));
    context.moveTo(0, -2 * y);
    context.lineTo(-Math.sqrt(3) * y, y);
    context.lineTo(Math.sqrt(3) * y, y);
    context.closePath();
  },
};
/** Okabe and Ito's colours stay apart for colour-blind readers; the symbols do for everyone. One for the baseline, eight for others. */
const SYMBOLS: SymbolType[] = ["circle", "square", "triangle", "diamond", "star", "cross", "wye", "hexagon", TIP_DOWN];
/** Names of curves stand at least so far apart, in pixels. */
const LABEL_HEIGHT = 14;

export interface EnvironmentStyle { colour: string; symbol: SymbolType }

/** The look of an environment: the baseline first, then the subjects in their order. */
export function environmentStyle(page: Page, environment: string): EnvironmentStyle {
  const { baseline, subjects } = page.report;
  const subject = subjects.indexOf(environment);
  // The baseline entered once more has no colour of its own.
  if (environment !== baseline && subject < 0) return { colour: colour("--muted"), symbol: "circle" };
  const place = subject + 1;
  return { colour: placeColour(place), symbol: SYMBOLS[place % SYMBOLS.length] };
}

/** The colour of what stands at a place: 0 is the baseline's. */
export const placeColour = (place: number): string => colour(`--environment-${place % SYMBOLS.length}`);

/** The mark of an environment beside its name, in colours that follow the theme. */
export function mark(page: Page, environment: string): SVGSVGElement {
  const place = page.report.subjects.indexOf(environment) + 1;
  const fill = `var(--environment-${place % SYMBOLS.length})`;
  const picture = plot({
    width: 16, height: 16, margin: 0, axis: null, symbol: { type: "identity" },
    marks: [dot([0], { frameAnchor: "middle", r: 5.4, symbol: environmentStyle(page, environment).symbol, fill })],
  }) as SVGSVGElement;
  picture.querySelector("style")?.remove();
  picture.setAttribute("aria-hidden", "true");
  return picture;
}

/** Options that every plot has. */
export function base(width: number): { width: number; style: Record<string, string> } {
  return { width, style: { background: "transparent", fontSize: "12px", overflow: "visible", color: colour("--ink") } };
}

/** Room for labels left of an axis, in pixels; never so much that the plot has none. */
export function labelRoom(labels: string[], width: number): number {
  const longest = Math.max(...labels.map((label) => letters(label)), 0);
  return Math.min(Math.max(longest * 6.6 + 16, 48), Math.min(width * 0.4, 230));
}

/** A label that fits the room, ended by … where it does not. */
export function fitted(label: string, room: number): string {
  const most = Math.max(Math.floor((room - 14) / 6.4), 4);
  if (letters(label) <= most) return label;
  let kept = label;
  while (kept !== "" && letters(kept) > most - 1) kept = kept.slice(0, -1);
  return `${kept}…`;
}

/** Ticks of a logarithmic axis at 1, 2 and 5 of every decade, thinned to at most `most`. */
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
  const step = niceStep((high - low) / most);
  const ticks = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high * 1.0001; tick += step) ticks.push(tick);
  return ticks;
}

function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return ([1, 2, 5, 10].find((step) => step * power >= least) ?? 10) * power;
}

/** A figure without the noughts at the end of its decimals: `2.00 µs` is `2 µs` on an axis, `20.5x` stays. */
export const short = (text: string): string => text.replace(/(\.\d*?)0+(?=\D|$)/, "$1").replace(/\.(?=\D|$)/, "");

/**
 * A logarithmic scale. The library's own drops the labels of ticks that it does not like, whatever is asked; a
 * symmetric one, linear only far below the domain, draws the same to a part in a million and keeps them all.
 */
export function logScale(low: number, high: number) {
  return { type: "symlog" as const, constant: low * 1e-6, domain: [low, high] };
}

/** An axis of slowdowns. */
export function ratioAxis(values: number[], width: number, label: string, tickRoom = 64) {
  const [least, greatest] = [Math.min(...values, 1), Math.max(...values, 1)];
  const pad = Math.max((greatest / least) ** 0.06, 1.002);
  const [low, high] = [least / pad, greatest * pad];
  return {
    ...logScale(low, high), label, labelArrow: "none" as const, grid: true,
    ticks: logTicks(low, high, Math.max(Math.floor(width / tickRoom), 3)),
    tickFormat: (tick: number) => short(ratio(tick)),
  };
}

/** An axis of figures in a unit; logarithmic where they span more than a decade. */
export function figureAxis(values: number[], unit: Unit, room: number, label: string) {
  const finite = values.filter((value) => Number.isFinite(value));
  const [least, greatest] = [Math.min(...finite), Math.max(...finite)];
  const tickFormat = (tick: number): string => short(figure(tick, unit));
  if (least > 0 && greatest / least > 8) {
    const [low, high] = [least / 1.15, greatest * 1.15];
    return { ...logScale(low, high), label, labelArrow: "none" as const, grid: true, ticks: logTicks(low, high, room), tickFormat };
  }
  const pad = (greatest - least || Math.abs(greatest) || 1) * 0.06;
  return { type: "linear" as const, domain: [least - pad, greatest + pad], label, labelArrow: "none" as const, grid: true, ticks: Math.min(room, 6), tickFormat };
}

/** Steps of a duration that read well, in seconds. */
const DURATIONS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400];

/** Ticks of an axis of time from 0 to `end`, at most this many but for the first. */
export function durationTicks(end: number, most: number): number[] {
  const step = DURATIONS.find((seconds) => end / seconds <= most) ?? end;
  return Array.from({ length: Math.floor(end / step) + 1 }, (_, i) => i * step);
}

/** Ticks of an axis from zero, round in the unit's own prefix: 100 KiB, not 97.7 KiB. */
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

/** What an axis of a unit measures, where a figure is not of single operations. */
export const unitName = (unit: Unit): string => (unit === "nanoseconds" ? say("time") : say(UNIT_NAMES[unit]));

/** What an axis of a unit measures, with which way is better. */
export function unitLabel(unit: Unit, better: "lower" | "higher"): string {
  const name = say(UNIT_NAMES[unit]);
  return better === "lower" ? say("{name} (lower is better)", { name }) : say("{name} (higher is better)", { name });
}

/** The end of a curve, where its name stands. */
export interface CurveEnd { name: string; colour: string | undefined; x: number; y: number }

/** Room right of a plot for the names of its curves. */
export function nameRoom(names: string[], width: number): number {
  return Math.min(Math.max(...names.map((name) => letters(name)), 0) * 7.1 + 16, width * 0.4);
}

/** The names of curves at their ends, moved apart where they would overlap. `options` has the scales of the plot. */
export function curveNames(options: PlotOptions, ends: CurveEnd[], room: number) {
  const scale = plot({ ...options, marks: [] }).scale("y");
  const places = ends.map((end) => scale?.apply(end.y) as number);
  const apart = spread(places, LABEL_HEIGHT);
  return ends.map((end, i) => text([end], {
    x: "x", y: "y", dx: 10, dy: apart[i] - places[i], text: () => fitted(end.name, room), textAnchor: "start", fill: end.colour, fontWeight: 600,
  }));
}

/** Places for labels that must not overlap: each moved down as little as needed, kept in their order. */
export function spread(places: number[], least: number): number[] {
  const order = places.map((_, i) => i).sort((a, b) => places[a] - places[b]);
  const out = [...places];
  for (let i = 1; i < order.length; i += 1) {
    out[order[i]] = Math.max(out[order[i]], out[order[i - 1]] + least);
  }
  // What was pushed too far down pulls the whole group up by half of it.
  const excess = order.length === 0 ? 0 : out[order[order.length - 1]] - places[order[order.length - 1]];
  return out.map((place) => place - excess / 2);
}
