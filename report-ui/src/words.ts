// The words and signs of verdicts and families: never a colour alone.
import type { Cell, Verdict } from "./data";
import { figure, ratio } from "./number";
import type { Row } from "./data";

export const VERDICTS: Record<Verdict, { sign: string; word: string; meaning: string }> = {
  slower: { sign: "▲", word: "slower", meaning: "the whole interval lies beyond the margin" },
  faster: { sign: "▼", word: "faster", meaning: "the whole interval lies beyond the margin" },
  same: { sign: "=", word: "same", meaning: "shown to lie within the margin" },
  slower_unclear: { sign: "△", word: "slower?", meaning: "direction known, size not" },
  faster_unclear: { sign: "▽", word: "faster?", meaning: "direction known, size not" },
  inconclusive: { sign: "?", word: "inconclusive", meaning: "more rounds are needed" },
  observed: { sign: "·", word: "observed", meaning: "shown, never judged" },
  missing: { sign: "–", word: "missing", meaning: "no comparison, for the reason given" },
};

export const FAMILIES: Record<string, string> = {
  system_call: "System calls",
  process: "Processes",
  ipc: "Between processes",
  cpu: "Computing",
  memory: "Memory",
  time: "Clock",
  file: "Files",
  network: "Network",
  other: "Other",
};

/** The first words of a cell: `24.1x slower`. */
export function headline(cell: Cell, row: Row): string {
  if (cell.missing !== null) return cell.missing.words;
  if (cell.observed !== null) return figure(cell.observed.median, row.metric.unit);
  if (cell.verdict === "inconclusive" || cell.comparison === null) return VERDICTS[cell.verdict].word;
  return `${ratio(cell.comparison.estimate)} ${VERDICTS[cell.verdict].word}`;
}
