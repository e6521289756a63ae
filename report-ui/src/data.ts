// The page's data: the JSON document of a report (docs/reference/report-json.md), the trials in time, the tails and the modes.
import { say } from "./language";

/** The name of an answer; `answers` of the page has a line for each. */
export type Answer = string;

/** Look, word and meaning of an answer; `decided` if it settles the question. */
export interface AnswerWords { name: Answer; sign: string; word: string; meaning: string; light: string; dark: string; decided: boolean }

export type Unit =
  | "nanoseconds" | "per_second" | "per_minute" | "bytes_per_second" | "bits_per_second"
  | "bytes" | "mwips" | "percent" | "count";

/** Null if the number is not finite. */
export type Figure = number | null;

export interface Level { median: Figure; low: Figure; high: Figure; rounds: number; values: Figure[] }
export interface Warning { kind: string; words: string; advice: string }
export interface Missing { kind: string; words: string; reason: string | null; level: Level | null }

/** Total that would decide a cell. */
export interface Needed { kind: "rounds" | "starts" | "less_noise"; count: number | null }

export interface Comparison {
  slowdown: Figure; /** The baseline's value times the slowdown. */ value: Figure; low: Figure; high: Figure; sign_low: Figure; sign_high: Figure;
  /** Ratio of mean costs; null for further metrics, and if only typical values are known. */
  total: { ratio: Figure; low: Figure; high: Figure } | null;
  leading: "hodges_lehmann" | "sign" | "student"; p: Figure; rounds: number;
  decided_at: number | null; needed: Needed | null; smallest: { differs: Figure; slower: Figure } | null; difference: Figure;
  starts: { starts: number; between: Figure; design_effect: Figure } | null;
  level: Level; warnings: Warning[];
}

export interface Cell {
  environment: string; answer: Answer;
  /** The answer in the words of the table and of a narrow one, the signs behind it, and the interval of its number. */
  words: string; short: string; signs: string; interval: string | null;
  /** Why it is not sure, or what it leaves out. */
  doubt: string | null;
  comparison: Comparison | null; observed: Level | null; missing: Missing | null;
}

/** A value of the session for comparison with an article's. */
export interface OwnValue { median: Figure; low: Figure; high: Figure; rounds: number }

/** An article: its conclusions, and printed values that no row measures. */
export interface Article {
  source: string; title: string;
  claims: { text: string; recommends: boolean; needs: string | null; checks: { states: string; answer: string; words: string }[] }[];
  without_row: { name: string; printed: Record<string, string[]>; unit: string | null; ratio: Figure; words: string }[];
}

/** A value that an article or another tool published for this row, with the session's own. */
export interface Published {
  source: string; title: string; environment: string | null; reference: string | null;
  /** The printed values, one per run. */
  printed: string[]; reference_printed: string[]; unit: string | null; ratio: Figure;
  /** Factor from the row's values to `unit`, if the article uses another unit. */
  factor: number | null;
  /** The environment that corresponds to `environment`, and its ratio; null if the baseline is another. */
  session_environment?: string | null; session_baseline?: string | null;
  session_value: OwnValue | null; session_baseline_value: OwnValue | null;
  session_ratio?: Figure; session_ratio_low: Figure; session_ratio_high: Figure; contained: boolean | null;
  /** The answer in words. */
  words: string;
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
    ending: "complete" | "early" | "interrupted" | "baseline_failed" | "subjects_failed" | "broken_off"; trials: number;
  };
  plan: {
    study: string; seed: string; rounds: number; looks: number[]; budget_s: Figure;
    environments: { name: string; specification: string; role: "baseline" | "control" | "subject"; short_description: string }[];
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
  /** Time since the start of the previous trial; `started_ms` is computed from it. */
  after_ms: number[]; started_ms: number[]; elapsed_ms: number[]; outcome: number[];
  steal_us: (number | null)[]; canary_100ns: (number | null)[];
}

/** Start times of a case: by environment of the plan, in tenths of a second after the one before. */
export interface CaseStarts { case: string; steps: number[][] }

/** Over all trials: time that the hypervisor took, and the shortest and longest canary of the baseline. */
export interface Interference { stolen_ms: Figure; elapsed_ms: number; canary_least_ns: Figure; canary_most_ns: Figure }

/** A level whose rounds fall into groups: environment 0 is the baseline; sizes from the smallest values to the largest. */
export interface Modes { row: number; environment: number; sizes: number[] }

export interface Tail {
  case: string; series: string; environment: string; operations: number;
  points: [number, number][]; longest_ns: number;
}

/** Translations for a page in another language than English, by the English text. */
interface Spoken { language: string; words: Record<string, string> | null }

export interface Page extends Spoken {
  /** All environments in one sentence; empty if the baseline was measured alone. */
  summary: string;
  /** What is known of work that lasts; null where nothing was compared. */
  lasting: string | null;
  report: Report; answers: AnswerWords[]; signs: { sign: string; meaning: string }[]; record: string | null; again: string | null; interference: Interference;
  /** The block to paste; null while the session runs, and where there is no room for it. */
  paste: string | null;
  /** Progress of a running session; null once it has ended. */
  running: string | null;
  /** Rounds of each row, of the baseline and of each cell, in ten-thousandths away from the median; empty if left out. */
  rounds: (number | null)[][][]; starts: CaseStarts[]; timeline: Timeline; tails: Tail[]; modes: Modes[];
  /** Scores of UnixBench's tests; empty if the session does not measure them all. */
  scores: { test: string; environments: { environment: string; score: Figure }[] }[];
  /** Tables of the article that the session repeats, as texts: lines of a title and its cells. */
  article_tables: { heading: string; heads: string[]; lines: [string, string[]][]; notes: string[] }[];
  /** Bills of commands; empty if no command was explained. */
  bills: Bill[];
  /** Values of other tools; null if none were given. */
  beside: { figures: BesideRow[]; left_out: number } | null;
}

/** The bill of a command in an environment: steps from its time in the baseline to its time here. */
export interface Bill {
  command: string; environment: string; headline: string; forecast: string; baseline_ns: number;
  /** Null if the command was not timed here. */
  ns: Figure;
  /** Shares in percent of the difference, with the range over single starts; `rest` marks the part that no line explains. */
  steps: { name: string; more_ns: number; share: number; least: Figure; most: Figure; rest: boolean }[];
}

/** A value of another tool for a row's metric, in its unit. */
export interface BesideRow {
  row: number; tool: string; origin: string; environment: string | null;
  figure: string; statistic: string; value: Figure; written: string;
  /** Parameters of the case that the tool's output does not fix. */
  open: string[];
}

const PARTS = 10_000;

/** Finds the level of a cell, however it is shown. */
export const shownOf = (cell: Cell): Figure =>
  cell.comparison?.value ?? levelOf(cell)?.median ?? null;

/** Moves the level of an environment, with its interval, to the value that is shown of it. */
export function scaled({ level, value }: Comparison): Level {
  const by = value === null || !level.median ? 1 : value / level.median;
  const [median, low, high] = [level.median, level.low, level.high].map((of) => (of === null ? null : of * by));
  return { ...level, median, low, high };
}

/** Finds an environment's own value over all its rounds. */
export const levelOf = (cell: Cell): Level | null =>
  cell.comparison?.level ?? cell.observed ?? cell.missing?.level ?? null;

type Packed = null | boolean | number | string | Packed[];

interface PackedPage { shapes: string[][]; texts: string[]; root: Packed[] }

/** Unpacks the output of crates/tare-report/src/html/pack.rs, in which shapes of objects and texts are stored once. */
function opener({ shapes, texts }: PackedPage): (value: Packed) => unknown {
  // Built from entries, a field named __proto__ is an ordinary field; the loop is for the thousands of other objects.
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

/** Fields that the first paint does without. */
const LATER = ["rounds", "starts", "timeline", "tails", "modes", "bills", "beside"];

/** Reads the data in the page; `complete` adds the rest, after the first paint. */
export function load(): { page: Page; complete: () => void } {
  const packed = JSON.parse(document.getElementById("tare-data")?.textContent ?? "") as PackedPage;
  const open = opener(packed);
  const keys = packed.shapes[packed.root[0] as number];
  const fields = (wanted: (key: string) => boolean) =>
    Object.fromEntries(keys.flatMap((key, i) => (wanted(key) ? [[key, open(packed.root[i + 1])]] : [])));
  const page = fields((key) => !LATER.includes(key)) as unknown as Page;
  return {
    page,
    complete: () => {
      if (page.report === null) return;
      complete(Object.assign(page, fields((key) => LATER.includes(key))));
    },
  };
}

/** Puts the rounds back into the document's fields, and converts steps of time into times since the beginning. */
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

/** Identifies a row by its case and metric. */
export const rowId = (row: Row): string => `${row.case}\n${row.metric.name}`;

/** Labels a row, with its metric if that is not the headline. */
export const rowLabel = (row: Row): string => (row.headline ? row.label : `${row.label}: ${row.metric.name}`);

/** Labels rows uniquely: with place or peer if nothing else distinguishes them. */
export function uniqueLabels(rows: Row[]): Map<Row, string> {
  const counts = new Map<string, number>();
  for (const row of rows) counts.set(rowLabel(row), (counts.get(rowLabel(row)) ?? 0) + 1);
  return new Map(rows.map((row) => {
    const label = rowLabel(row);
    const apart = row.place ?? row.peer;
    return [row, (counts.get(label) ?? 0) > 1 && apart !== null ? `${label}, ${apart}` : label];
  }));
}

/** Formats the place of a row's work: `file.seq · own`. */
export function where(row: Row): string {
  return [row.probe, row.place, row.peer === null ? null : say("to {peer}", { peer: row.peer })].filter((part) => part !== null).join(" · ");
}
