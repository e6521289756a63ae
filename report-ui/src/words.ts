// The words and signs of answers, which come with the page's data, of families and of environments: never a colour alone.
import type { Answer, AnswerWords, Cell, Comparison, Row } from "./data";
import { counted, message, say } from "./language";
import { figure, interval } from "./number";

let table = new Map<Answer, AnswerWords>();

/** Sets the table of the page's data, and gives each answer its colour. */
export function setAnswers(answers: AnswerWords[]): void {
  table = new Map(answers.map((line) => [line.name, line]));
  const colours = answers.map(({ name, light, dark }) => `:root { --v-${name}: light-dark(${light}, ${dark}); } .v-${name} { color: var(--v-${name}); }`);
  const style = document.createElement("style");
  style.textContent = colours.join("\n");
  document.head.prepend(style);
}

/** Finds sign, word and meaning of an answer. */
export function answerWords(name: Answer): AnswerWords {
  const line = table.get(name);
  if (line === undefined) throw new Error(`no answer is called ${name}`);
  return line;
}

/** Lists all answers, in the order in which bars and lists show them. */
export const answers = (): Answer[] => [...table.keys()];

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

/** Returns the first words of a cell: `24x`, with the signs behind it. */
export const headline = ({ words, signs, observed }: Cell, row: Row): string =>
  (observed === null ? words + signs : figure(observed.median, row.metric.unit));

/** Returns these words with the interval, or the reason for not being compared. */
export function answerInFull(cell: Cell, row: Row): string {
  const why = reason(cell);
  if (why !== "") return `${headline(cell, row)}: ${why}`;
  const range = intervalOf(cell);
  return range === null ? headline(cell, row) : `${headline(cell, row)} ${range}`;
}

/** Finds the interval of a cell's number; a page has the bounds alone for further metrics. */
export function intervalOf({ interval: text, comparison: c }: Cell): string | null {
  return text ?? (c === null || c.low === null || c.high === null ? null : interval(c.low, c.high, c.slowdown));
}

/** Explains an answer at margins, which are written as one text. */
export const meaningAt = (name: Answer, margin: string): string => answerWords(name).meaning.replace("{margin}", margin);

/** Formats the total that would decide a cell. */
export function needed({ needed }: Comparison): string {
  if (needed === null) return "";
  if (needed.kind === "less_noise" || needed.count === null) return say("a quieter machine");
  const count = needed.kind === "rounds" ? rounds(needed.count) : counted(needed.count, "launch", "launches");
  return say("about {count}", { count });
}

export const rounds = (count: number): string => counted(count, "run", "runs");
