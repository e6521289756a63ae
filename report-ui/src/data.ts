// The page's data: the JSON document of a report (docs/reference/report-json.md), the trials in time, the tails and the modes.
import { say } from "./language";

/** The name of a verdict, or of the reason why there is none; `verdicts` of the page has a line for each. */
export type Verdict = string;

/** What a verdict looks like, how it is called and what it means. */
export interface VerdictWords {
  name: Verdict; sign: string; word: string; meaning: string; light: string; dark: string;
  /** Whether the question is settled by it, and the direction of the factor that a cell states. */
  decided: boolean; factor: "slower" | "faster" | null;
}

export type Unit =
  | "nanoseconds" | "per_second" | "per_minute" | "bytes_per_second" | "bits_per_second"
  | "bytes" | "mwips" | "percent" | "count";

/** Null where it is not a finite number. */
export type Figure = number | null;

export interface Level { median: Figure; low: Figure; high: Figure; rounds: number; values: Figure[] }
export interface Warning { kind: string; words: string; advice: string }
export interface Missing { kind: string; words: string; reason: string | null; level: Level | null }

/** What it would take to decide, in total. */
export interface Needed { kind: "rounds" | "starts" | "less_noise"; count: number | null }

export interface Comparison {
  slowdown: Figure; low: Figure; high: Figure; sign_low: Figure; sign_high: Figure;
  /** Of mean costs; null of further metrics and where only typical values are known. */
  total: { ratio: Figure; low: Figure; high: Figure } | null;
  leading: "hodges_lehmann" | "sign"; p: Figure; rounds: number;
  decided_at: number | null; needed: Needed | null; smallest: { differs: Figure; slower: Figure } | null; difference: Figure;
  starts: { starts: number; between: Figure; design_effect: Figure } | null;
  level: Level; warnings: Warning[];
}

export interface Cell {
  environment: string; verdict: Verdict;
  /** The verdict as the table says it. */
  words: string;
  comparison: Comparison | null; observed: Level | null; missing: Missing | null;
}

/** A value of the session's own beside one of an article. */
export interface OwnValue { median: Figure; low: Figure; high: Figure; rounds: number }

/** An article beside the session: its conclusions, and what it printed that no row measures. */
export interface Article {
  source: string; title: string;
  claims: { text: string; recommends: boolean; needs: string | null; checks: { states: string; answer: string; words: string }[] }[];
  without_row: { name: string; printed: Record<string, string[]>; unit: string | null; ratio: Figure; words: string }[];
}

/** What an article or another tool published for this row, beside what the session found. */
export interface Published {
  source: string; title: string; environment: string | null; reference: string | null;
  /** As it was printed: a value a run. */
  printed: string[]; reference_printed: string[]; unit: string | null; ratio: Figure;
  /** What the row's values are multiplied by to be in `unit`, where the article counts in another. */
  factor: number | null;
  /** The environment that stands for `environment`, and its ratio: none where the baseline is another. */
  session_environment?: string | null; session_baseline?: string | null;
  session_value: OwnValue | null; session_baseline_value: OwnValue | null;
  session_ratio?: Figure; session_ratio_low: Figure; session_ratio_high: Figure; contained: boolean | null;
}

export interface Row {
  case: string; probe: string; family: string; label: string; parameters: Record<string, string>;
  place: string | null; peer: string | null; definition: string | null; margin: Figure;
  metric: { name: string; unit: Unit; better: "lower" | "higher" };
  headline: boolean; baseline: Level | null; baseline_missing: Missing | null;
  cells: Cell[]; control: Cell | null;
  published?: Published[] | null;
}

export type Facts = Record<string, string>;

export interface Report {
  schema: string; version: number;
  session: {
    tare: string; binary: string; started: string; measured_s: Figure; command: string[];
    ending: "complete" | "interrupted" | "baseline_failed" | "broken_off"; trials: number;
  };
  plan: {
    study: string; seed: string; rounds: number; looks: number[]; budget_s: Figure;
    environments: { name: string; specification: string; role: "baseline" | "control" | "subject" }[];
  };
  baseline: string; subjects: string[];
  certificate: {
    control_cells: number; control_differing: number; banner: boolean; smallest_effect: Figure;
    decided: number; compared: number; repeated: number;
    planted: { case: string; share: number; rounds: number; ratio: Figure; low: Figure; high: Figure; found: boolean } | null;
  };
  warnings: { environment: string | null; warning: Warning }[];
  sentences: { environment: string; sentence: string }[];
  rows: Row[];
  articles: Article[];
  facts: { host: Facts; environments: { environment: string; inside: Facts; outside: Facts; places: Record<string, Facts> }[] };
  failures: { trial: number; case: string; environment: string; round: number; attempt: number; kind: string; reason: string }[];
  repeated: { case: string; round: number; attempt: number; reason: string }[];
}

export interface Timeline {
  of: number; cases: string[]; case: number[]; environment: number[]; round: number[];
  /** Of each trial since the start of the one before; `started_ms` is made of it. */
  after_ms: number[]; started_ms: number[]; elapsed_ms: number[]; outcome: number[];
  steal_us: (number | null)[]; canary_100ns: (number | null)[];
}

/** Over all trials: time that the hypervisor took, and the shortest and longest canary of the baseline. */
export interface Interference { stolen_ms: Figure; elapsed_ms: number; canary_least_ns: Figure; canary_most_ns: Figure }

/** A level whose rounds fall into groups: environment 0 is the baseline; sizes from the smallest values to the largest. */
export interface Modes { row: number; environment: number; sizes: number[] }

export interface Tail {
  case: string; series: string; environment: string; operations: number;
  points: [number, number][]; longest_ns: number;
}

/** What a page says in another language than English, by the English. */
interface Spoken { language: string; words: Record<string, string> | null }

export interface Page extends Spoken {
  report: Report; verdicts: VerdictWords[]; record: string | null; again: string | null; interference: Interference;
  /** Progress of a session that still runs; null once it has ended. */
  running: string | null;
  /** By row: of the baseline and of each cell, in hundred-thousandths apart from the median; none where left out. */
  rounds: (number | null)[][][]; timeline: Timeline; tails: Tail[]; modes: Modes[];
  /** Scores of UnixBench's tests; none where the session does not measure them all. */
  scores: { test: string; environments: { environment: string; score: Figure }[] }[];
  /** Where the time of commands goes; none where none was explained. */
  bills: Bill[];
  /** Figures of other tools; null where nobody asked for them. */
  beside: { figures: BesideRow[]; left_out: number } | null;
}

/** The bill of a command in an environment: steps from its time in the baseline to its time here. */
export interface Bill {
  command: string; environment: string; headline: string; forecast: string; baseline_ns: number;
  /** Null where it was not timed here. */
  ns: Figure;
  /** Shares in percent of the difference, `least` and `most` by single starts; `rest` is what no line explains. */
  steps: { name: string; more_ns: number; share: number; least: Figure; most: Figure; rest: boolean }[];
}

/** What another tool stated of a row's metric, in its unit. */
export interface BesideRow {
  row: number; tool: string; origin: string; environment: string | null;
  figure: string; statistic: string; value: Figure; written: string;
  /** Parameters of the case that the tool's output does not fix. */
  open: string[];
}

export interface Stated { statistic: string; value: Figure; unit: Unit | null; written: string; metric: string | null }

export interface ImportedFigure { name: string; parameters: Record<string, string>; probe: string | null; values: Stated[] }

/** What one file of another tool's output says. */
export interface ImportedFile {
  tool: string; version: string | null; environment: string | null;
  source: { name: string; bytes: number; sha256: string };
  parameters: Record<string, string>; figures: ImportedFigure[]; left_out: number;
}

/** The page of figures that other tools stated, without a session. */
export interface ImportedPage {
  report: null; record: string; tare: string; started: string;
  imported: { files: ImportedFile[]; left_out: number };
}

export type AnyPage = Page | ImportedPage;

const PARTS = 100_000;

/** The level of a cell, whichever way it is shown. */
export const levelOf = (cell: Cell): Level | null =>
  cell.comparison?.level ?? cell.observed ?? cell.missing?.level ?? null;

type Packed = null | boolean | number | string | Packed[];

interface PackedPage { shapes: string[][]; texts: string[]; root: Packed[] }

/** Opens what crates/tare-report/src/html/pack.rs packed: shapes of objects and texts stand once. */
function opener({ shapes, texts }: PackedPage): (value: Packed) => unknown {
  // Built from entries, a field named __proto__ is a field like any other; the loop is for the thousands of others.
  const odd = shapes.map((keys) => keys.includes("__proto__"));
  const open = (value: Packed): unknown => {
    if (typeof value === "string") return texts[Number.parseInt(value, 36)];
    if (!Array.isArray(value)) return value;
    const shape = value[0] as number;
    if (shape === -1) return value.slice(1).map(open);
    const keys = shapes[shape];
    if (odd[shape]) return Object.fromEntries(keys.map((key, i) => [key, open(value[i + 1])]));
    const out: Record<string, unknown> = {};
    for (let i = 0; i < keys.length; i += 1) out[keys[i]] = open(value[i + 1]);
    return out;
  };
  return open;
}

/** What is read first does without these. */
const LATER = ["rounds", "timeline", "tails", "modes", "bills", "beside"];

/** Reads the data that stands in the page; `complete` adds the rest, after the first paint. */
export function load(): { page: AnyPage; complete: () => void } {
  const packed = JSON.parse(document.getElementById("tare-data")?.textContent ?? "") as PackedPage;
  const open = opener(packed);
  const keys = packed.shapes[packed.root[0] as number];
  const fields = (wanted: (key: string) => boolean) =>
    Object.fromEntries(keys.flatMap((key, i) => (wanted(key) ? [[key, open(packed.root[i + 1])]] : [])));
  const page = fields((key) => !LATER.includes(key)) as unknown as AnyPage;
  return {
    page,
    complete: () => {
      if (page.report === null) return;
      complete(Object.assign(page, fields((key) => LATER.includes(key))));
    },
  };
}

/** Puts the rounds back where the document has them, and times since the beginning where the page has steps. */
function complete(page: Page): void {
  page.report.rows.forEach((row, i) => {
    [row.baseline, ...row.cells.map(levelOf)].forEach((level, j) => {
      const median = level?.median ?? null;
      if (level === null || median === null) return;
      level.values = (page.rounds[i][j] ?? []).map((part) => (part === null ? null : median * (1 + part / PARTS)));
    });
  });
  let now_ms = 0;
  page.timeline.started_ms = page.timeline.after_ms.map((after_ms) => (now_ms += after_ms));
}

/** Names a row: a case and one of its metrics. */
export const rowId = (row: Row): string => `${row.case}\n${row.metric.name}`;

/** The label of a row, with its metric where that is not the headline. */
export const rowLabel = (row: Row): string => (row.headline ? row.label : `${row.label}: ${row.metric.name}`);

/** The label of a row that no other row has: with its place or peer where that is all that tells them apart. */
export function uniqueLabels(rows: Row[]): Map<Row, string> {
  const counts = new Map<string, number>();
  for (const row of rows) counts.set(rowLabel(row), (counts.get(rowLabel(row)) ?? 0) + 1);
  return new Map(rows.map((row) => {
    const label = rowLabel(row);
    const apart = row.place ?? row.peer;
    return [row, (counts.get(label) ?? 0) > 1 && apart !== null ? `${label}, ${apart}` : label];
  }));
}

/** Where a row's work happens: `file.seq · own`. */
export function where(row: Row): string {
  return [row.probe, row.place, row.peer === null ? null : say("to {peer}", { peer: row.peer })].filter((part) => part !== null).join(" · ");
}
