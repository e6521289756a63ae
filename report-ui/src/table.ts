// The table: a row per probe, a column per environment; sorted, filtered and walked by keyboard.
import type { Answer, Cell, Page, Row } from "./data";
import { rowLabel, shownOf, where } from "./data";
import { choice, h } from "./dom";
import { counted, range, say } from "./language";
import { figure, overRounds, percent } from "./number";
import { answerInFull, answers as inOrder, familyName, headline, intervalOf, meaningAt, reason, answerWords } from "./words";

interface State {
  search: string; family: string; answer: string; place: string; everyMetric: boolean;
  /** Column of environments by which rows are sorted; -1 for the label; null for the plan's order. */
  sort: number | null; descending: boolean;
}

/** Beginning of a page address that has the state of the table. */
const ADDRESS = "#show?";

/** Reads the state of the table from the page's address, so that a link can point to a filtered and sorted one. */
function fromAddress(rows: Row[], subjects: string[]): State {
  const said = new URLSearchParams(location.hash.startsWith(ADDRESS) ? location.hash.slice(ADDRESS.length) : "");
  // A value that no row has would hide them all.
  const known = (key: string, values: (string | null)[]): string => values.find((value) => value === said.get(key)) ?? "";
  const by = said.get("sort");
  const column = by === "" ? -1 : subjects.indexOf(by ?? "");
  const sort = by === null || (by !== "" && column < 0) ? null : column;
  return {
    search: said.get("name") ?? "", family: known("family", rows.map((row) => row.family)),
    answer: known("answer", present(rows)), place: known("place", rows.map((row) => row.place)),
    everyMetric: said.has("every"), sort, descending: !said.has("rising"),
  };
}

function toAddress(state: State, subjects: string[]): void {
  const said = new URLSearchParams();
  for (const [key, value] of [["name", state.search], ["family", state.family], ["answer", state.answer], ["place", state.place]]) {
    if (value !== "") said.set(key, value);
  }
  if (state.everyMetric) said.set("every", "");
  if (state.sort !== null) said.set("sort", subjects[state.sort] ?? "");
  if (state.sort !== null && !state.descending) said.set("rising", "");
  const address = said.toString();
  history.replaceState(null, "", address === "" ? "#" : ADDRESS + address);
}

/** Ratio (or inverse) from which a cell has the full depth of its colour. */
const DEEPEST_RATIO = 32;

/** Environments whose answers fit side by side in words; more are a matrix of short ones. */
export const MOST_COLUMNS = 8;

/** Ratio whose bar has the full length: the bars are logarithmic, like the overview. */
const LONGEST_BAR = 100;

export function table(page: Page, open: (row: Row, cell: Cell) => void): HTMLElement {
  const { report } = page;
  const state = fromAddress(report.rows, report.subjects);
  const body = h("tbody", { role: "rowgroup" });
  const status = h("p", { class: "status", role: "status" });
  const explained = h("ul", { class: "legend" });
  const heads = [h("th", {}), ...report.subjects.map(() => h("th", {}))];

  const sortBy = (column: number): void => {
    if (state.sort !== column) [state.sort, state.descending] = [column, column >= 0];
    else if (state.descending === column >= 0) state.descending = !state.descending;
    else state.sort = null;
    redraw();
  };
  const sortTo = (value: string): void => {
    [state.sort, state.descending] = value === "" ? [null, true] : [Number(value), Number(value) >= 0];
    redraw();
  };
  const draw = (): void => {
    const rows = sorted(report.rows.filter((row) => isShown(row, state)), state);
    body.replaceChildren(...bodyRows(rows, page, state.sort === null, open));
    explained.replaceChildren(...legend(page, rows));
    body.querySelector<HTMLElement>("button.cell")?.setAttribute("tabindex", "0");
    const all = report.rows.filter((row) => state.everyMetric || row.headline).length;
    status.textContent = rows.length === all ? counted(all, "row", "rows") : say("{count} of {rows}", { count: rows.length, rows: counted(all, "row", "rows") });
    heads.forEach((head, i) => {
      const order = state.sort !== i - 1 ? "none" : state.descending ? "descending" : "ascending";
      head.setAttribute("aria-sort", order);
    });
  };

  const redraw = (): void => {
    toAddress(state, report.subjects);
    draw();
  };

  heads.forEach((head, i) => {
    head.setAttribute("scope", "col");
    head.setAttribute("role", "columnheader");
    head.append(h("button", { type: "button", class: "sort", click: () => sortBy(i - 1) },
      i === 0 ? say("Probe") : report.subjects[i - 1], h("span", { class: "arrow", "aria-hidden": "true" })),
    // Browsers leave out the text of buttons in a heading that is repeated on paper.
    h("span", { class: "printed", "aria-hidden": "true" }, i === 0 ? say("Probe") : report.subjects[i - 1]));
  });
  const grid = h("table", { id: "table", class: `stacking${report.subjects.length === 1 ? " alone" : report.subjects.length > MOST_COLUMNS ? " matrix" : ""}`, role: "table", "aria-label": say("Results by probe and environment") },
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, heads[0],
      h("th", { scope: "col", role: "columnheader", class: "baseline" }, report.baseline), heads.slice(1))),
    body);
  grid.addEventListener("keydown", walk);
  draw();
  return h("section", { "aria-labelledby": "table-title" },
    h("h2", { id: "table-title" }, say("All results"), report.subjects.length === 0 ? null : h("small", {}, ` ${say("times the time of {baseline}", { baseline: report.baseline })}`)),
    toolbar(report.rows, state, redraw, sorter(report.subjects, state, sortTo)), status, grid, explained);
}

/** Builds the choice of sorting for a table without a heading, on a phone. */
function sorter(subjects: string[], state: State, sortTo: (value: string) => void): HTMLElement {
  const element = choice(say("Sort"), [["", say("as planned")], ["-1", say("by name")], ...subjects.map((environment, i): [string, string] => [String(i), say("slowest in {environment}", { environment })])], sortTo, state.sort === null ? "" : String(state.sort));
  element.classList.add("narrow");
  return element;
}

function toolbar(rows: Row[], state: State, draw: () => void, sort: HTMLElement): HTMLElement {
  const distinct = (of: (row: Row) => string | null): string[] =>
    [...new Set(rows.map(of))].filter((value): value is string => value !== null);
  const families = distinct((row) => row.family);
  const answers = present(rows);
  const places = distinct((row) => row.place);
  const search = h("input", {
    type: "search", value: state.search, placeholder: say("Filter by name"), "aria-label": say("Filter by name"),
    input: (event: Event) => { state.search = (event.target as HTMLInputElement).value.toLowerCase(); draw(); },
  });
  const set = (key: "family" | "answer" | "place") => (value: string): void => { state[key] = value; draw(); };
  return h("div", { class: "toolbar", role: "group", "aria-label": say("Filters") },
    search,
    choice(say("Family"), [["", say("all")], ...families.map((f): [string, string] => [f, familyName(f)])], set("family"), state.family),
    choice(say("Answer"), [["", say("all")], ...answers.map((v): [string, string] => [v, answerWords(v).word])], set("answer"), state.answer),
    places.length === 0 ? null : choice(say("Place"), [["", say("all")], ...places.map((p): [string, string] => [p, p])], set("place"), state.place),
    sort,
    rows.every((row) => row.headline) ? null : h("label", { class: "choice" },
      h("input", { type: "checkbox", checked: state.everyMetric, change: (event: Event) => {
        state.everyMetric = (event.target as HTMLInputElement).checked; draw();
      } }), h("span", {}, say("every metric"))));
}

/** Lists the answers that occur. */
const present = (rows: Row[]): Answer[] =>
  inOrder().filter((answer) => rows.some((row) => row.cells.some((cell) => cell.answer === answer)));

function isShown(row: Row, state: State): boolean {
  return (state.everyMetric || row.headline)
    && (state.family === "" || row.family === state.family)
    && (state.place === "" || row.place === state.place)
    && (state.answer === "" || row.cells.some((cell) => cell.answer === state.answer))
    && (state.search === "" || `${rowLabel(row)} ${where(row)}`.toLowerCase().includes(state.search));
}

function sorted(rows: Row[], { sort, descending }: State): Row[] {
  if (sort === null) return rows;
  const sign = descending ? -1 : 1;
  if (sort < 0) return [...rows].sort((a, b) => sign * rowLabel(a).localeCompare(rowLabel(b)));
  const of = (row: Row): number | null => row.cells[sort]?.comparison?.slowdown ?? null;
  return [...rows].sort((a, b) => {
    const [x, y] = [of(a), of(b)];
    // Cells without a ratio stay at the end in either direction.
    if (x === null || y === null) return Number(x === null) - Number(y === null);
    return sign * (x - y);
  });
}

function bodyRows(rows: Row[], page: Page, grouped: boolean, open: (row: Row, cell: Cell) => void): HTMLElement[] {
  const out: HTMLElement[] = [];
  let family = "";
  const families = [...new Set(rows.map((row) => row.family))];
  const inOrder = grouped ? families.flatMap((name) => rows.filter((row) => row.family === name)) : rows;
  for (const row of inOrder) {
    if (grouped && row.family !== family) {
      family = row.family;
      out.push(h("tr", { role: "row", class: "family" },
        h("th", { role: "rowheader", scope: "rowgroup", colspan: page.report.subjects.length + 2 }, familyName(family))));
    }
    out.push(h("tr", { role: "row", class: row.headline ? null : "further" },
      h("th", { scope: "row", role: "rowheader" }, h("span", {}, rowLabel(row)), h("small", {}, where(row))),
      baselineCell(row, page.report.baseline),
      row.cells.map((cell) => h("td", { role: "cell", "data-environment": cell.environment }, button(row, cell, page.report.subjects.length > MOST_COLUMNS, open)))));
  }
  if (out.length === 0) {
    out.push(h("tr", { role: "row" }, h("td", { role: "cell", class: "nothing", colspan: page.report.subjects.length + 2 },
      page.report.rows.length === 0 ? say("Nothing was measured.") : say("No row passes these filters."))));
  }
  return out;
}

function baselineCell(row: Row, baseline: string): HTMLElement {
  const { baseline: level, metric } = row;
  return h("td", { role: "cell", class: "baseline", "data-environment": baseline },
    level === null
      ? h("span", { class: "none", title: row.baseline_missing?.reason }, row.baseline_missing?.words ?? say("none"))
      : [...overRounds(level, metric.unit).map((part, i) => h(i === 0 ? "span" : "small", {}, part)), ownBar(row, level.median)]);
}

/** Draws an environment's own value as a bar from zero, in the row's unit; the longest of the row has the full length. */
function ownBar(row: Row, value: number | null): HTMLElement | null {
  const longest = Math.max(row.baseline?.median ?? 0, ...row.cells.map((cell) => shownOf(cell) ?? 0));
  if (value === null || !(longest > 0)) return null;
  const bar = h("span", { class: "own", "aria-hidden": "true" });
  bar.style.setProperty("--own", (value / longest).toFixed(4));
  return bar;
}

function button(row: Row, cell: Cell, isMatrix: boolean, open: (row: Row, cell: Cell) => void): HTMLElement {
  const { comparison } = cell;
  const value = cell.observed === null ? shownOf(cell) : null;
  const own = value === null ? "" : figure(value, row.metric.unit);
  const warnings = comparison?.warnings ?? [];
  const second = [own, comparison === null ? reason(cell) : ""].filter((part) => part !== "").join("; ");
  const element = h("button", {
    type: "button", tabindex: -1, title: isMatrix ? `${rowLabel(row)}, ${cell.environment}: ${answerInFull(cell, row)}` : null,
    class: `cell v-${cell.answer}`,
    click: () => open(row, cell),
  },
    h("span", { class: "unseen" }, say("{row} in {environment}: ", { row: rowLabel(row), environment: cell.environment })),
    h("span", { class: "sign", "aria-hidden": "true" }, answerWords(cell.answer).sign),
    isMatrix ? h("span", { class: "short", "aria-hidden": "true" }, cell.observed === null ? cell.short + cell.signs : headline(cell, row)) : null,
    h("span", { class: "what" }, h("span", { class: "words" }, headline(cell, row)), intervalOf(cell) === null ? null : h("span", { class: "interval" }, ` ${intervalOf(cell)}`)),
    h("small", {}, second === "" ? null : h("span", { class: "unseen" }, ", "), second, warnings.length === 0 ? null : [
      h("span", { class: "doubt", "aria-hidden": "true", title: warnings.map((warning) => warning.words).join("; ") }, ` ${"!".repeat(Math.min(warnings.length, 3))}`),
      h("span", { class: "unseen" }, `, ${counted(warnings.length, "warning", "warnings")}`),
    ]),
    isMatrix ? null : ownBar(row, value));
  if (comparison?.slowdown != null && comparison.slowdown > 0) {
    const depth = Math.min(Math.abs(Math.log(comparison.slowdown)) / Math.log(DEEPEST_RATIO), 1);
    element.style.setProperty("--depth", depth.toFixed(3));
    // If one environment has the full width, a bar shows its ratio; see the style of `.alone`.
    element.style.setProperty("--bar", Math.min(Math.abs(Math.log(comparison.slowdown)) / Math.log(LONGEST_BAR), 1).toFixed(3));
  }
  return element;
}

/** Explains the answers and signs that the shown cells have. */
function legend({ signs, lasting }: Page, rows: Row[]): HTMLElement[] {
  const margins = rows.flatMap((row) => (row.margin === null ? [] : [row.margin - 1]));
  const [least, most] = [percent(Math.min(...margins)), percent(Math.max(...margins))];
  const margin = margins.length === 0 ? say("the margin") : range(least, most);
  const has = (sign: string): boolean => rows.some((row) => row.cells.some((cell) => cell.signs.includes(sign)));
  return [
    ...present(rows).map((answer) => {
      const { sign, word } = answerWords(answer);
      return h("li", {}, h("span", { class: `count v-${answer}` }, sign), ` ${word}: ${meaningAt(answer, margin)}`);
    }),
    ...signs.filter(({ sign }) => has(sign)).map(({ sign, meaning }) => h("li", {}, h("span", { class: "count" }, sign), ` ${meaning}`)),
    ...(lasting === null ? [] : [h("li", {}, lasting)]),
    h("li", {}, say("( ): 95 % interval of the factor, in a typical pair; below: the environment's value, and its bar from zero")),
    ...(rows.some((row) => row.cells.some((cell) => (cell.comparison?.warnings.length ?? 0) > 0)) ? [h("li", {}, say("! has a warning"))] : []),
    h("li", {}, say("a cell opens to its rounds and facts")),
  ];
}

/** Moves between cells with the arrow keys, Home and End; one cell of the table is in the tab order. */
function walk(event: KeyboardEvent): void {
  const cell = (event.target as HTMLElement).closest<HTMLElement>("button.cell");
  const body = cell?.closest("tbody");
  if (cell === null || body === null || body === undefined) return;
  const rows = [...body.querySelectorAll("tr")].map((tr) => [...tr.querySelectorAll<HTMLElement>("button.cell")])
    .filter((cells) => cells.length > 0);
  const y = rows.findIndex((cells) => cells.includes(cell));
  const x = rows[y].indexOf(cell);
  const to: Record<string, HTMLElement | undefined> = {
    ArrowLeft: rows[y][x - 1], ArrowRight: rows[y][x + 1], ArrowUp: rows[y - 1]?.[x], ArrowDown: rows[y + 1]?.[x],
    Home: rows[y][0], End: rows[y].at(-1),
  };
  const next = to[event.key];
  if (next === undefined) return;
  event.preventDefault();
  cell.setAttribute("tabindex", "-1");
  next.setAttribute("tabindex", "0");
  next.focus();
}
