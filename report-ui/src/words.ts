// The words and signs of verdicts, families and environments: never a colour alone.
import type { Cell, Comparison, Figure, Row, Verdict } from "./data";
import { counted, message, say } from "./language";
import { figure, interval, percent, ratio } from "./number";

/** A verdict as a reader sees it: what has no comparison was either measured, and must not be compared, or not measured. */
export type Shown = Exclude<Verdict, "missing"> | "typically_same" | "not_comparable" | "not_measured";

/** In the order in which bars and lists show them: the slowest first, what is not known last. */
const ENGLISH: Record<Shown, { sign: string; word: string; meaning: string }> = {
  slower: { sign: "▲", word: message("slower"), meaning: message("the whole interval lies beyond the margin") },
  slower_unclear: { sign: "△", word: message("slower (size unclear)"), meaning: message("the direction is known, the size is not") },
  slower_unconfirmed: { sign: "▵", word: message("slower, unconfirmed"), meaning: message("seen in these rounds or starts; may be chance") },
  slightly_slower: { sign: "▴", word: message("slightly slower"), meaning: message("a real difference inside the margin") },
  typically_same: { sign: "≈", word: message("typically the same"), meaning: message("but the mean cost may not be") },
  same: { sign: "=", word: message("same"), meaning: message("shown to be within the margin") },
  slightly_faster: { sign: "▾", word: message("slightly faster"), meaning: message("a real difference inside the margin") },
  faster_unconfirmed: { sign: "▿", word: message("faster, unconfirmed"), meaning: message("seen in these rounds or starts; may be chance") },
  faster_unclear: { sign: "▽", word: message("faster (size unclear)"), meaning: message("the direction is known, the size is not") },
  faster: { sign: "▼", word: message("faster"), meaning: message("the whole interval lies beyond the margin") },
  inconclusive: { sign: "?", word: message("inconclusive"), meaning: message("more rounds are needed") },
  observed: { sign: "·", word: message("shown only"), meaning: message("a value that is never compared, such as a maximum") },
  not_comparable: { sign: "×", word: message("not comparable"), meaning: message("for the reason given") },
  not_measured: { sign: "–", word: message("not measured"), meaning: message("for the reason given") },
};

/** The sign of a verdict, its word and what it means. */
export const verdict = (of: Shown): { sign: string; word: string; meaning: string } =>
  ({ sign: ENGLISH[of].sign, word: say(ENGLISH[of].word), meaning: say(ENGLISH[of].meaning) });

/** All of them, in the order above. */
export const VERDICTS = Object.keys(ENGLISH) as Shown[];

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

/** What tare's own environments are, in about five words. */
const ENVIRONMENTS: Record<string, string> = {
  native: message("the host itself"),
  container: message("Linux namespaces, made by tare"),
  bwrap: message("Linux namespaces by bubblewrap"),
  oci: message("container by an OCI runtime"),
  docker: message("container by Docker"),
  podman: message("container by Podman"),
  nerdctl: message("container by nerdctl on containerd"),
  nspawn: message("container by systemd-nspawn"),
  gvisor: message("gVisor: system calls in user space"),
  proot: message("another root folder through ptrace"),
  qemu: message("virtual machine by QEMU"),
  uml: message("Linux kernel as a process"),
  ssh: message("another machine over SSH"),
  wsl: message("another distribution of WSL"),
  "wsl1-like": message("gVisor, standing in for WSL1"),
  "wsl2-like": message("QEMU with 9P, standing in for WSL2"),
  guest: message("QEMU, standing in for a desktop VM"),
};

/** What an environment is; its specification where it is not one that tare knows. */
export function whatItIs(name: string, specification: string): string {
  const known = [name, specification].map((words) => words.split(/[?:]/)[0]).find((word) => Object.hasOwn(ENVIRONMENTS, word));
  return known === undefined ? specification : say(ENVIRONMENTS[known]);
}

/** Below this many starts nothing is decided: `FEWEST_STARTS` in tare-analysis. */
const FEWEST_STARTS = 8;

/** Kinds of missing whose value was measured: it stands in the cell, and no comparison does. */
const MEASURED = ["not_comparable", "no_baseline"];

/** Verdicts on a typical cost within the margin that mean costs do not bear out. */
const UNDECIDED_IN_TOTAL: Verdict[] = ["inconclusive", "slower_unclear", "slower_unconfirmed", "faster_unclear", "faster_unconfirmed"];

/** Warnings that say what the mean cost is of what is typically the same. */
const OF_MEAN = ["stalls", "mean_cost"];

const isTypical = ({ verdict, comparison }: Cell): boolean =>
  UNDECIDED_IN_TOTAL.includes(verdict) && (comparison?.warnings.some(({ kind }) => OF_MEAN.includes(kind)) ?? false);

export function shown(cell: Cell): Shown {
  const { verdict, missing } = cell;
  if (verdict !== "missing") return isTypical(cell) ? "typically_same" : verdict;
  return MEASURED.includes(missing?.kind ?? "") ? "not_comparable" : "not_measured";
}

/** Why a cell has no comparison, in full. */
export function reason({ missing }: Cell): string {
  if (missing === null) return "";
  const word = missing.kind === "not_comparable" ? null : missing.words;
  return [word, missing.reason].filter((part) => part !== null).join(": ");
}

const isFaster = (verdict: Verdict): boolean => verdict === "faster" || verdict === "faster_unconfirmed";

/** Whether a verdict states the factor by which an environment differs. */
export const hasFactor = (verdict: Verdict): boolean => /^(slower|faster)(_unconfirmed)?$/.test(verdict);

/** By what factor an environment is slower or, where its verdict is that, faster. */
const factor = (estimate: Figure, verdict: Verdict): Figure => (isFaster(verdict) && estimate !== null ? 1 / estimate : estimate);

/** The interval of the factor that the verdict states, or of the slowdown where it states none. */
export function bounds({ estimate, low, high }: Comparison, verdict: Verdict): string {
  if (!isFaster(verdict) || low === null || high === null || low <= 0) return interval(low, high, estimate);
  return interval(1 / high, 1 / low, factor(estimate, verdict));
}

/** The first words of a cell: `24.1x slower`. */
export function headline(cell: Cell, row: Row): string {
  const { word } = verdict(shown(cell));
  const { comparison: c, observed, verdict: found } = cell;
  if (observed !== null) return figure(observed.median, row.metric.unit);
  if (c === null || c.estimate === null) return word;
  const size = ratio(factor(c.estimate, found));
  switch (found) {
    case "slower": case "faster": return say("{size} {word}", { size, word });
    case "slower_unconfirmed": case "faster_unconfirmed": {
      const count = c.starts?.starts ?? FEWEST_STARTS;
      if (count >= FEWEST_STARTS) return `${say("{size} {word}", { size, word: isFaster(found) ? say("faster") : say("slower") })}†`;
      const starts = counted(count, "start", "starts");
      return isFaster(found) ? say("{size} faster in {starts}", { size, starts }) : say("{size} slower in {starts}", { size, starts });
    }
    case "slightly_slower": case "slightly_faster": return `${word} (${percent(Math.abs(c.estimate - 1))})`;
    default: return word;
  }
}

/** The same with what a narrow cell leaves out: the margin of "same", the reason of what was not compared. */
export function verdictInFull(cell: Cell, row: Row): string {
  const why = reason(cell);
  if (why !== "") return `${headline(cell, row)}: ${why}`;
  return cell.verdict === "same" && row.margin !== null ? say("same (within {margin})", { margin: percent(row.margin - 1) }) : headline(cell, row);
}

/** Verdicts that are not settled: their marks are hollow. */
export const isOpen = (verdict: Verdict): boolean => verdict === "inconclusive" || /_(unconfirmed|unclear)$/.test(verdict);

/** What it would take to decide. */
export function needed({ needed }: Comparison): string {
  if (needed === null) return "";
  if (needed.kind === "less_noise" || needed.count === null) return say("a quieter machine");
  const count = needed.kind === "rounds" ? rounds(needed.count) : counted(needed.count, "start", "starts");
  return say("about {count}", { count });
}

export const rounds = (count: number): string => counted(count, "round", "rounds");
