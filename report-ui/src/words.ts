// The words and signs of verdicts, which come with the page's data, of families and of environments: never a colour alone.
import type { Cell, Comparison, Row, Verdict, VerdictWords } from "./data";
import { counted, message, say } from "./language";
import { figure, interval } from "./number";

let table = new Map<Verdict, VerdictWords>();

/** Sets the table of the page's data, and gives each verdict its colour. */
export function judge(verdicts: VerdictWords[]): void {
  table = new Map(verdicts.map((line) => [line.name, line]));
  const colours = verdicts.map(({ name, light, dark }) => `:root { --v-${name}: light-dark(${light}, ${dark}); } .v-${name} { color: var(--v-${name}); }`);
  const style = document.createElement("style");
  style.textContent = colours.join("\n");
  document.head.prepend(style);
}

/** Finds sign, word and meaning of a verdict. */
export function verdict(name: Verdict): VerdictWords {
  const line = table.get(name);
  if (line === undefined) throw new Error(`no verdict is called ${name}`);
  return line;
}

/** Lists all verdicts, in the order in which bars and lists show them. */
export const verdicts = (): Verdict[] => [...table.keys()];

const FAMILIES: Record<string, string> = {
  system_call: message("System calls"),
  process: message("Processes"),
  ipc: message("IPC"),
  cpu: message("CPU"),
  memory: message("Memory"),
  time: message("Clock"),
  file: message("Files"),
  network: message("Network"),
  start: message("Starts"),
  other: message("Other"),
};

export const familyName = (family: string): string => say(FAMILIES[family] ?? family);

/** Explains in full why a cell has no comparison. */
export function reason({ missing }: Cell): string {
  if (missing === null) return "";
  const word = missing.kind === "not_comparable" ? null : missing.words;
  return [word, missing.reason].filter((part) => part !== null).join(": ");
}

/** Formats the interval of the factor in the verdict, or of the slowdown if it states none. */
export function bounds({ slowdown, low, high }: Comparison, name: Verdict): string {
  const isFaster = verdict(name).factor === "faster";
  if (!isFaster || slowdown === null || low === null || high === null || low <= 0) return interval(low, high, slowdown);
  return interval(1 / high, 1 / low, 1 / slowdown);
}

/** Returns the first words of a cell: `24.1x slower`. */
export const headline = ({ words, observed }: Cell, row: Row): string =>
  (observed === null ? words : figure(observed.median, row.metric.unit));

/** Returns these words with the reason for not being compared. */
export function verdictInFull(cell: Cell, row: Row): string {
  const why = reason(cell);
  return why === "" ? headline(cell, row) : `${headline(cell, row)}: ${why}`;
}

/** Explains a verdict at margins, which are written as one text. */
export const meaningAt = (name: Verdict, margin: string): string => verdict(name).meaning.replace("{margin}", margin);

/** Formats the total that would decide a cell. */
export function needed({ needed }: Comparison): string {
  if (needed === null) return "";
  if (needed.kind === "less_noise" || needed.count === null) return say("a quieter machine");
  const count = needed.kind === "rounds" ? rounds(needed.count) : counted(needed.count, "start", "starts");
  return say("about {count}", { count });
}

export const rounds = (count: number): string => counted(count, "round", "rounds");
