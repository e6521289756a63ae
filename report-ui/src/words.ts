// The words and signs of verdicts, families and environments: never a colour alone.
import type { Cell, Comparison, Figure, Row, Verdict } from "./data";
import { counted, figure, interval, percent, ratio } from "./number";

/** A verdict as a reader sees it: what has no comparison was either measured, and must not be compared, or not measured. */
export type Shown = Exclude<Verdict, "missing"> | "typically_same" | "not_comparable" | "not_measured";

/** In the order in which bars and lists show them: the slowest first, what is not known last. */
export const VERDICTS: Record<Shown, { sign: string; word: string; meaning: string }> = {
  slower: { sign: "▲", word: "slower", meaning: "the whole interval lies beyond the margin" },
  slower_unclear: { sign: "△", word: "slower (size unclear)", meaning: "the direction is known, the size is not" },
  slower_unconfirmed: { sign: "▵", word: "slower, unconfirmed", meaning: "seen in these rounds or starts; may be chance" },
  slightly_slower: { sign: "▴", word: "slightly slower", meaning: "a real difference inside the margin" },
  typically_same: { sign: "≈", word: "typically the same", meaning: "but some rounds take much longer" },
  same: { sign: "=", word: "same", meaning: "shown to be within the margin" },
  slightly_faster: { sign: "▾", word: "slightly faster", meaning: "a real difference inside the margin" },
  faster_unconfirmed: { sign: "▿", word: "faster, unconfirmed", meaning: "seen in these rounds or starts; may be chance" },
  faster_unclear: { sign: "▽", word: "faster (size unclear)", meaning: "the direction is known, the size is not" },
  faster: { sign: "▼", word: "faster", meaning: "the whole interval lies beyond the margin" },
  inconclusive: { sign: "?", word: "inconclusive", meaning: "more rounds are needed" },
  observed: { sign: "·", word: "shown only", meaning: "a value that is never compared, such as a maximum" },
  not_comparable: { sign: "×", word: "not comparable", meaning: "for the reason given" },
  not_measured: { sign: "–", word: "not measured", meaning: "for the reason given" },
};

export const FAMILIES: Record<string, string> = {
  system_call: "System calls",
  process: "Processes",
  ipc: "IPC",
  cpu: "CPU",
  memory: "Memory",
  time: "Clock",
  file: "Files",
  network: "Network",
  start: "Starts",
  other: "Other",
};

/** What tare's own environments are, in about five words. */
const ENVIRONMENTS: Record<string, string> = {
  native: "the host itself",
  container: "Linux namespaces, made by tare",
  bwrap: "Linux namespaces by bubblewrap",
  oci: "container by an OCI runtime",
  docker: "container by Docker",
  podman: "container by Podman",
  nerdctl: "container by nerdctl on containerd",
  nspawn: "container by systemd-nspawn",
  gvisor: "gVisor: system calls in user space",
  proot: "another root folder through ptrace",
  qemu: "virtual machine by QEMU",
  uml: "Linux kernel as a process",
  ssh: "another machine over SSH",
  wsl: "another distribution of WSL",
  "wsl1-like": "gVisor, standing in for WSL1",
  "wsl2-like": "QEMU with 9P, standing in for WSL2",
  guest: "QEMU, standing in for a desktop VM",
};

/** What an environment is; its specification where it is not one that tare knows. */
export function whatItIs(name: string, specification: string): string {
  const known = [name, specification].map((words) => words.split(/[?:]/)[0]).find((word) => Object.hasOwn(ENVIRONMENTS, word));
  return known === undefined ? specification : ENVIRONMENTS[known];
}

/** Below this many starts nothing is decided: `FEWEST_STARTS` in tare-analysis. */
const FEWEST_STARTS = 8;

/** Kinds of missing whose value was measured: it stands in the cell, and no comparison does. */
const MEASURED = ["not_comparable", "no_baseline"];

/** Verdicts on a typical cost within the margin that mean costs do not bear out. */
const UNDECIDED_IN_TOTAL: Verdict[] = ["inconclusive", "slower_unclear", "faster_unclear"];

const stalls = ({ verdict, comparison }: Cell): boolean =>
  UNDECIDED_IN_TOTAL.includes(verdict) && (comparison?.warnings.some(({ kind }) => kind === "stalls") ?? false);

export function shown(cell: Cell): Shown {
  const { verdict, missing } = cell;
  if (verdict !== "missing") return stalls(cell) ? "typically_same" : verdict;
  return MEASURED.includes(missing?.kind ?? "") ? "not_comparable" : "not_measured";
}

/** Why a cell has no comparison, in full. */
export function reason({ missing }: Cell): string {
  if (missing === null) return "";
  const word = missing.words === "not comparable" ? null : missing.words;
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
  const { word } = VERDICTS[shown(cell)];
  const { comparison: c, observed, verdict } = cell;
  if (observed !== null) return figure(observed.median, row.metric.unit);
  if (c === null || c.estimate === null) return word;
  const size = ratio(factor(c.estimate, verdict));
  switch (verdict) {
    case "slower": case "faster": return `${size} ${word}`;
    case "slower_unconfirmed": case "faster_unconfirmed": {
      const direction = isFaster(verdict) ? "faster" : "slower";
      const starts = c.starts?.starts ?? FEWEST_STARTS;
      return `${size} ${direction}${starts < FEWEST_STARTS ? ` in ${counted(starts, "start", "starts")}` : "†"}`;
    }
    case "slightly_slower": case "slightly_faster": return `${word} (${percent(Math.abs(c.estimate - 1))})`;
    default: return word;
  }
}

/** The same with what a narrow cell leaves out: the margin of "same", the reason of what was not compared. */
export function verdictInFull(cell: Cell, row: Row): string {
  const why = reason(cell);
  if (why !== "") return `${headline(cell, row)}: ${why}`;
  return cell.verdict === "same" && row.margin !== null ? `same (within ${percent(row.margin - 1)})` : headline(cell, row);
}

/** Verdicts that are not settled: their marks are hollow. */
export const isOpen = (verdict: Verdict): boolean => verdict === "inconclusive" || /_(unconfirmed|unclear)$/.test(verdict);

/** What it would take to decide. */
export function needed({ needed }: Comparison): string {
  if (needed === null) return "";
  if (needed.kind === "less_noise" || needed.count === null) return "a quieter machine";
  return `about ${counted(needed.count, needed.kind.slice(0, -1), needed.kind)}`;
}

export const rounds = (count: number): string => counted(count, "round", "rounds");
