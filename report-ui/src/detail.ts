// An opened cell: both medians, both intervals, every round, the warnings, the facts and the command.
import type { Cell, Facts, Level, Page, Row } from "./data";
import { levelOf, rowLabel, where } from "./data";
import { broken, h } from "./dom";
import { say } from "./language";
import { figure, interval, overRounds, percent, ratio } from "./number";
import { rounds } from "./plot/rounds";
import { warned } from "./checks";
import { answerInFull, headline, intervalOf, meaningAt, needed, reason, rounds as counted, answerWords } from "./words";

/** Builds the address of a cell within the page. */
const address = (row: Row, cell: Cell): string =>
  `#${new URLSearchParams({ case: row.case, metric: row.metric.name, environment: cell.environment })}`;

/** Builds the dialog of cells, the function that opens a cell, and one that opens the cell in the page's address. */
export function details(page: Page): { dialog: HTMLElement; open: (row: Row, cell: Cell) => void; openAddressed: () => void } {
  const content = h("div", { class: "content" });
  const dialog = h("dialog", { id: "detail", "aria-labelledby": "detail-title" }, content);
  const close = h("button", { type: "button", class: "quiet close", click: () => dialog.close() }, say("Close"));
  // A click outside the content is a click on the dialog itself.
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  // While no cell is open, the address has the state of the table.
  let before = "#";
  dialog.addEventListener("close", () => history.replaceState(null, "", before));
  const open = (row: Row, cell: Cell): void => {
    content.replaceChildren(close, ...parts(page, row, cell));
    dialog.showModal();
    content.scrollTop = 0;
    if (!location.hash.startsWith("#case=")) before = location.hash === "" ? "#" : location.hash;
    history.replaceState(null, "", address(row, cell));
  };
  const openAddressed = (): void => {
    if (!location.hash.startsWith("#case=")) return;
    for (const row of page.report.rows) {
      const cell = row.cells.find((cell) => address(row, cell) === location.hash);
      if (cell !== undefined) open(row, cell);
    }
  };
  return { dialog, open, openAddressed };
}

function parts(page: Page, row: Row, cell: Cell): HTMLElement[] {
  const out: HTMLElement[] = [
    h("h2", { id: "detail-title" }, say("{row} in {environment}", { row: rowLabel(row), environment: cell.environment })),
    h("p", { class: "where" }, where(row)),
    h("p", { class: `verdict v-${cell.answer}` }, h("span", { class: "sign", "aria-hidden": "true" }, answerWords(cell.answer).sign),
      ` ${cell.missing === null ? answerInFull(cell, row) : headline(cell, row)} `, h("small", {}, meaningAt(cell.answer, row.margin === null ? say("the margin") : percent(row.margin - 1)))),
  ];
  const signs = page.signs.filter(({ sign }) => cell.signs.includes(sign));
  const remarks = [...signs.map(({ sign, meaning }) => `${sign} = ${meaning}`), ...(cell.doubt === null ? [] : [cell.doubt])];
  out.push(...remarks.map((remark) => h("p", { class: "reason" }, remark)));
  if (cell.missing !== null) out.push(h("p", { class: "reason" }, reason(cell)));
  out.push(figures(page, row, cell));
  const level = levelOf(cell);
  const levels = [level, row.baseline].filter((known): known is Level => known !== null);
  if (levels.some((known) => known.values.length > 0)) out.push(rounds(page, row, [cell.environment]));
  else if (levels.some((known) => known.rounds > 0)) {
    out.push(h("p", { class: "advice" }, say("A report of this size leaves out the rounds of further metrics; tare report --json has them.")));
  }
  const warnings = cell.comparison?.warnings ?? [];
  if (warnings.length > 0) {
    out.push(h("h3", {}, say("Warnings")), h("ul", { class: "warnings" }, warnings.map((warning) => h("li", {}, ...warned(warning)))));
  }
  out.push(...rawRounds(page, row, cell), ...differingFacts(page, row, cell.environment));
  out.push(h("h3", {}, say("Measure this alone")), h("p", {}, h("code", { class: "command" }, command(page, row, cell))));
  return out;
}

function figures(page: Page, row: Row, cell: Cell): HTMLElement {
  const { unit } = row.metric;
  const of = (level: Level): string =>
    `${overRounds(level, unit).join(" ")} (${counted(level.rounds)})`;
  const lines: [string, string][] = [];
  if (row.baseline !== null) lines.push([page.report.baseline, of(row.baseline)]);
  const own = levelOf(cell);
  const c = cell.comparison;
  if (c !== null && c.value !== null) lines.push([cell.environment, figure(c.value, unit)]);
  if (own !== null) lines.push([c === null ? cell.environment : say("median of all its rounds"), of(own)]);
  if (c !== null) {
    const method = c.leading === "sign" ? say("signs") : "Hodges-Lehmann";
    lines.push([say("difference"), difference(c.difference, row)]);
    lines.push([say("in a typical pair ({method})", { method }), `${ratio(c.slowdown)} ${intervalOf(cell) ?? say("no interval")}`]);
    if (c.total !== null) lines.push([say("mean cost"), `${ratio(c.total.ratio)} ${interval(c.total.low, c.total.high, c.total.ratio)}`]);
    if (c.leading !== "sign" && c.sign_low !== null) lines.push([say("interval (signs)"), interval(c.sign_low, c.sign_high, c.slowdown)]);
    lines.push([say("p (no difference)"), c.p === null ? "?" : c.p < 0.001 ? say("below 0.001") : c.p.toFixed(3)]);
    if (row.margin !== null) lines.push([say("margin"), `±${percent(row.margin - 1)}`]);
    lines.push([say("paired rounds"), c.decided_at === null ? String(c.rounds) : say("{rounds}, decided after {count}", { rounds: c.rounds, count: c.decided_at })]);
    if (c.needed !== null) lines.push([say("needed to decide"), needed(c)]);
    const again = row.control?.comparison ?? null;
    if (again !== null) lines.push([say("{baseline} against itself", { baseline: page.report.baseline }), `${row.control?.words ?? ""} ${row.control?.interval ?? ""}`]);
    if (c.smallest?.differs != null) lines.push([say("smallest difference it could show"), percent(Math.abs(c.smallest.differs - 1))]);
    if (c.starts !== null) lines.push([say("starts of the environment"), String(c.starts.starts)]);
  }
  return h("dl", { class: "figures" }, lines.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

function difference(value: number | null, row: Row): string {
  if (value === null) return "?";
  return `${value > 0 ? "+" : value < 0 ? "−" : ""}${figure(Math.abs(value), row.metric.unit)}`;
}

/** Lists the value of every round, to read and to copy. */
function rawRounds(page: Page, row: Row, cell: Cell): HTMLElement[] {
  const { unit } = row.metric;
  const levels: [string, Level | null][] = [[page.report.baseline, row.baseline], [cell.environment, levelOf(cell)]];
  const columns = levels.filter((column): column is [string, Level] => column[1] !== null);
  const most = Math.max(...columns.map(([, level]) => level.values.length), 0);
  if (most === 0) return [];
  return [h("details", {}, h("summary", {}, say("The value of every round")),
    h("table", { class: "raw" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, say("Round")), columns.map(([name]) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, Array.from({ length: most }, (_, i) => h("tr", {}, h("th", { scope: "row" }, i + 1),
        columns.map(([, level]) => h("td", {}, level.values[i] === undefined ? "" : figure(level.values[i], unit))))))))];
}

/** Lists facts of the environment and of the place of the row's files that differ from the baseline's. */
function differingFacts(page: Page, row: Row, environment: string): HTMLElement[] {
  const of = (name: string) => page.report.facts.environments.find((facts) => facts.environment === name);
  const [own, baseline] = [of(environment), of(page.report.baseline)];
  if (own === undefined || baseline === undefined) return [];
  const place = row.place ?? "";
  const sides: [string, Facts, Facts][] = [["", own.inside, baseline.inside], [`${place}: `, own.places[place] ?? {}, baseline.places[place] ?? {}]];
  const lines = sides.flatMap(([prefix, mine, theirs]) => [...new Set([...Object.keys(mine), ...Object.keys(theirs)])].sort()
    .filter((key) => mine[key] !== theirs[key])
    .map((key) => h("tr", {}, h("th", { scope: "row" }, prefix, broken(key)), h("td", {}, mine[key] ?? say("unknown")), h("td", {}, theirs[key] ?? say("unknown")))));
  if (lines.length === 0) return [];
  return [h("h3", {}, say("Where it differs from {baseline}", { baseline: page.report.baseline })),
    h("table", { class: "raw facts-here" },
      h("thead", {}, h("tr", {}, [say("Fact"), environment, page.report.baseline].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, lines))];
}

/** Quotes a word for a shell. */
function quoted(word: string): string {
  return /^[A-Za-z0-9_=.,:/@+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

function command(page: Page, row: Row, cell: Cell): string {
  const { environments, study, seed } = page.report.plan;
  const specification = (name: string): string => environments.find((environment) => environment.name === name)?.specification ?? name;
  const both = `${specification(page.report.baseline)},${specification(cell.environment)}`;
  const place = row.place === null ? "" : ` --place ${quoted(row.place)}`;
  return `tare run ${quoted(study)} --only ${quoted(row.probe)}${place} --in ${quoted(both)} --seed ${seed}`;
}
