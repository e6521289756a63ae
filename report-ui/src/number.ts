// Numbers for people, by the same rules as crates/tare-report/src/number.rs; a shared list tests both.
import type { Figure, Unit } from "./data";
import { say } from "./language";

type Scale = readonly [divisor: number, unit: string];

const SCALES: Record<Unit, readonly Scale[]> = {
  nanoseconds: [[1, "ns"], [1e3, "µs"], [1e6, "ms"], [1e9, "s"]],
  per_second: [[1, "ops/s"], [1e3, "kops/s"], [1e6, "Mops/s"], [1e9, "Gops/s"]],
  per_minute: [[1, "ops/min"], [1e3, "kops/min"], [1e6, "Mops/min"]],
  bytes_per_second: [[1, "B/s"], [1e3, "kB/s"], [1e6, "MB/s"], [1e9, "GB/s"]],
  bits_per_second: [[1, "bit/s"], [1e3, "kbit/s"], [1e6, "Mbit/s"], [1e9, "Gbit/s"]],
  bytes: [[1, "B"], [1024, "KiB"], [1024 ** 2, "MiB"], [1024 ** 3, "GiB"], [1024 ** 4, "TiB"]],
  mwips: [[1, "MWIPS"]],
  percent: [[1, "%"]],
  count: [[1, ""]],
};

const NO_NUMBER = "?";

function roundToThree(value: number): number {
  if (value === 0 || !Number.isFinite(value) || value >= 100) return Math.round(value);
  const factor = 10 ** (2 - Math.floor(Math.log10(value)));
  return Math.round(value * factor) / factor;
}

/** Finds the prefix under which a value has one to three digits before the point. */
export function scaleOf(value: number, unit: Unit): Scale {
  const all = SCALES[unit];
  const step = unit === "bytes" ? 1024 : 1000;
  return all.find(([divisor]) => roundToThree(Math.abs(value) / divisor) < step) ?? all[all.length - 1];
}

function decimals(value: number): number {
  const rounded = roundToThree(Math.abs(value));
  if (rounded >= 100 || rounded === 0) return 0;
  if (rounded >= 10) return 1;
  return rounded >= 1 ? 2 : 3;
}

function exponent(value: number, digits: number): string {
  return value.toExponential(digits).replace("e+", "e");
}

function fixed(value: number, places: number): string {
  if (!Number.isFinite(value)) return NO_NUMBER;
  if (Math.abs(value) >= 1e6) return exponent(value, 1);
  const text = value.toFixed(Math.abs(value) >= 1e3 ? 0 : places);
  return /^-[0.]+$/.test(text) ? text.slice(1) : text;
}

/** Formats `20.6 µs`, or with further digits. */
export function figure(value: Figure, unit: Unit, further = 0): string {
  if (value === null) return NO_NUMBER;
  const [divisor, name] = scaleOf(value, unit);
  const number = value / divisor;
  const text = fixed(number, decimals(number) + further);
  return name === "" ? text : `${text} ${name}`;
}

/** Fewest rounds of a median that has a 95 % interval. */
const ROUNDS_OF_AN_INTERVAL = 6;

/** Formats a median over rounds as `20.6 µs ±0.4`, without the half interval if there are too few rounds. */
export function overRounds({ median, low, high, rounds }: { median: Figure; low: Figure; high: Figure; rounds: number }, unit: Unit): [string, string] {
  return [figure(median, unit), rounds < ROUNDS_OF_AN_INTERVAL ? "" : half(median, low, high, unit)];
}

/** Half of an interval, as a share of its value, beyond which the bounds are shown. */
const WIDEST_HALF = 0.1;

/** Formats `±0.4`, or a wide interval as `(12.0–191)`, in the prefix of its value. */
export function half(value: Figure, low: Figure, high: Figure, unit: Unit): string {
  if (value === null || low === null || high === null) return "";
  const [divisor] = scaleOf(value, unit);
  const width = Math.abs(high - low) / 2 / divisor;
  const own = decimals(value / divisor);
  if (width > WIDEST_HALF * Math.abs(value / divisor)) {
    const bound = (of: number): string => fixed(of / divisor, decimals(of / divisor));
    return `(${bound(low)}–${bound(high)})`;
  }
  const isNothing = (places: number): boolean => width < 0.5 * 10 ** -places;
  const places = [own, own + 1, own + 2].find((p) => !isNothing(p));
  if (places === undefined) return "±0";
  return `±${fixed(width, width >= 1 ? Math.min(places, decimals(width)) : places)}`;
}

function ratioDecimals(value: number): number {
  const rounded = roundToThree(Math.abs(value));
  if (rounded >= 100) return 0;
  if (rounded >= 10) return 1;
  return rounded >= 0.1 ? 2 : 3;
}

function ratioWith(value: number, places: number): string {
  if (value !== 0 && Math.abs(value) < 0.001) return exponent(value, 0);
  return fixed(value, places);
}

/** Formats `24.1x`, or with further digits. */
export function ratio(value: Figure, further = 0): string {
  return value === null ? NO_NUMBER : say("{factor}x", { factor: ratioWith(value, ratioDecimals(value) + further) });
}

/** Formats `[23.8, 24.5]`. */
export function interval(low: Figure, high: Figure, estimate: Figure): string {
  if (low === null || high === null || estimate === null || (low <= 0 && estimate > 0)) return say("no interval");
  const places = ratioDecimals(estimate);
  const bound = (value: number): string => ratioWith(value, Math.abs(value) < 1 ? Math.max(places, 2) : Math.min(places, ratioDecimals(value)));
  return `[${bound(low)}, ${bound(high)}]`;
}

/** Formats a share as `2.6 %`. */
export function percent(share: number): string {
  const value = share * 100;
  const places = Math.abs(value) < 9.95 && Math.abs(value - Math.round(value)) > 0.05 ? 1 : 0;
  return `${fixed(value, places)} %`;
}

/** Formats `2 min 38 s`. */
export function duration(seconds: Figure): string {
  if (seconds === null || seconds < 0) return say("unknown time");
  const whole = Math.round(seconds);
  if (whole < 60) return say("{seconds} s", { seconds: whole });
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60), whole % 60];
  if (hours > 0) return say("{hours} h {minutes} min", { hours, minutes });
  return rest === 0 ? say("{minutes} min", { minutes }) : say("{minutes} min {seconds} s", { minutes, seconds: rest });
}
