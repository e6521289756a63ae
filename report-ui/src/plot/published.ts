// Published against measured: the ratio from an article or another tool, next to this session's interval.
import { dot, plot, ruleX, ruleY } from "@observablehq/plot";
import type { Article, OwnValue, Page, Published, Row } from "../data";
import { rowLabel } from "../data";
import { colour, h } from "../dom";
import { counted, message, say } from "../language";
import { interval, overRounds, ratio } from "../number";
import type { Chart } from "./frame";
import { legend } from "./legend";
import { base, fittedApart, labelRoom, ratioAxis } from "./style";

interface Claim extends Published { id: string; row: Row }

/** Limit on the lines of an unfolded table: the plot above it says most of it. */
const MOST_OPEN = 12;

const ANSWERS: { sign: string; words: string; colour: string }[] = [
  { sign: "✓", words: message("inside the interval"), colour: "--v-faster" },
  { sign: "✗", words: message("outside the interval"), colour: "--v-slower" },
  { sign: "?", words: message("not comparable"), colour: "--v-none" },
];

/** Finds sign and colour of an answer, with the words that the terminal has. */
function answer(claim: Claim): { sign: string; words: string; colour: string } {
  const known = ANSWERS[claim.contained === true ? 0 : claim.contained === false ? 1 : 2];
  return { ...known, words: claim.words === "" ? say(known.words) : claim.words };
}

/** Collects everything published in the document. */
export function claims(page: Page): Claim[] {
  return page.report.rows.flatMap((row) => (row.published ?? []).map((published) => ({ ...published, row, id: "" })))
    .map((claim, i) => ({ ...claim, id: String(i) }));
}

/** Draws the ratios as a chart; null if nothing was published. */
export function published(page: Page): Chart | null {
  const drawable = claims(page).filter((claim) => claim.ratio !== null && claim.ratio > 0);
  if (drawable.length === 0) return null;
  return {
    id: "published",
    title: say("Published ratios and this session's intervals"),
    about: say("A diamond is what was published, a line this session's 95 % interval. Another machine and another day: a difference is a question, not an error."),
    draw: (width) => draw(drawable, width),
  };
}

function named(claim: Claim): string {
  return `${rowLabel(claim.row)}, ${claim.environment ?? "?"}`;
}

function draw(all: Claim[], width: number): SVGSVGElement {
  const room = labelRoom(all.map(named), width);
  const labels = fittedApart(all.map(named), room);
  const keys = legend([{
    title: say("published"), keys: ANSWERS.filter(({ sign }) => all.some((claim) => answer(claim).sign === sign))
      .map((known) => ({ name: say(known.words), symbol: "diamond" as const, colour: colour(known.colour), open: false })),
  }], width, room);
  const measured = all.filter((claim) => (claim.session_ratio_low ?? 0) > 0 && claim.session_ratio_high !== null);
  const fill = (claim: Claim): string => colour(answer(claim).colour);
  const title = (claim: Claim): string => say("{name}: published {ratio} ({title}), measured {own}, {answer}", { name: named(claim), ratio: ratio(claim.ratio), title: claim.title, own: bounds(claim), answer: answer(claim).words });
  const values = all.flatMap((claim) => [claim.ratio, claim.session_ratio_low, claim.session_ratio_high]).filter((v): v is number => v !== null && v > 0);
  return plot({
    ...base(width), height: all.length * 24 + keys.height + 58, marginLeft: room, marginRight: 26, marginBottom: 44, marginTop: keys.height + 2,
    x: ratioAxis(values, width - room, say("ratio of values, log scale")),
    y: { type: "band", domain: all.map((claim) => claim.id), label: null, padding: 0, tickSize: 0, tickFormat: (id: string) => labels.get(named(all.find((claim) => claim.id === id) as Claim)) ?? "" },
    marks: [
      ruleX([1], { stroke: colour("--ink"), strokeOpacity: 0.55 }),
      ruleY(measured, { x1: "session_ratio_low", x2: "session_ratio_high", y: "id", stroke: colour("--ink"), strokeWidth: 5, strokeOpacity: 0.35, strokeLinecap: "round" }),
      dot(measured.filter((claim) => (claim.session_ratio ?? 0) > 0), { x: "session_ratio", y: "id", r: 3.4, fill: colour("--ink"), fillOpacity: 0.7 }),
      dot(all, { x: "ratio", y: "id", r: 5, symbol: "diamond", fill, stroke: colour("--surface"), strokeWidth: 1.2, title }),
      ...keys.marks,
    ],
  }) as SVGSVGElement;
}

/** Formats the printed values: `4.2; 0.21 µs`. */
function values({ printed, reference_printed: reference, unit }: Claim): string {
  if (printed.length === 0) return "";
  return `${[printed, reference].filter((runs) => runs.length > 0).map((runs) => runs.join(", ")).join("; ")}${unit === null ? "" : ` ${unit}`}`;
}

/** Formats the session's own values, in the environments that correspond to the article's. */
function own({ row, factor, unit, ...of }: Claim): string {
  const text = (environment: string | null | undefined, value: OwnValue | null): string | null => {
    if (environment == null) return null;
    if (value === null) return `${environment}: ${say("not measured")}`;
    if (factor !== null && unit !== null) return `${environment} ${Number(((value.median ?? 0) * factor).toPrecision(3))} ${unit}`;
    return `${environment} ${overRounds(value, row.metric.unit).join(" ")}`;
  };
  const parts = [text(of.session_environment, of.session_value), text(of.session_baseline, of.session_baseline_value)];
  return parts.filter((part) => part !== null).join("; ");
}

const bounds = (claim: Claim): string =>
  claim.session_ratio_low === null || claim.session_ratio_high === null ? claim.session_ratio == null ? say("nothing to compare") : say("{ratio}, no interval yet", { ratio: ratio(claim.session_ratio) })
    : `${claim.session_ratio == null ? "" : `${ratio(claim.session_ratio)} `}${interval(claim.session_ratio_low, claim.session_ratio_high, claim.session_ratio ?? claim.session_ratio_low)}`;

/** Builds a table of the ratios, one article after the other. */
export function publishedTable(page: Page): HTMLElement | null {
  const all = claims(page);
  if (all.length === 0) return null;
  const heads = [say("Probe"), say("Environments"), say("Published"), say("This session"), say("Answer")];
  const cell = (i: number, ...children: (Node | string | null)[]): HTMLElement => h("td", { "data-environment": heads[i] }, h("span", {}, ...children));
  const row = (claim: Claim): HTMLElement => h("tr", {},
    h("th", { scope: "row" }, rowLabel(claim.row)),
    cell(1, claim.reference === null ? claim.environment ?? "?" : say("{environment} against {reference}", { environment: claim.environment ?? "?", reference: claim.reference })),
    cell(2, claim.ratio === null ? "" : `${ratio(claim.ratio)} `, h("small", {}, values(claim))),
    cell(3, bounds(claim), own(claim) === "" ? null : h("small", {}, ` ${own(claim)}`)),
    cell(4, `${answer(claim).sign} ${answer(claim).words}`));
  const sources = [...new Map(all.map((claim) => [claim.source, claim.title]))];
  const table = h("table", { class: "facts stacking published" },
    h("thead", {}, h("tr", {}, heads.map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, sources.flatMap(([source, title]) => [
      // The source is text, not a link: the page makes no requests wherever it is opened.
      h("tr", { class: "family" }, h("th", { scope: "rowgroup", colspan: heads.length }, `${title} (${source})`)),
      ...all.filter((claim) => claim.source === source).map(row),
    ])));
  return h("details", { open: all.length <= MOST_OPEN }, h("summary", {}, counted(all.length, "published value", "published values")),
    h("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": say("Published") }, table));
}

/** Builds the tables of the article that the session repeats, in the article's own form; null if it repeats none. */
export function articleTables({ article_tables: tables }: Page): HTMLElement | null {
  if (tables.length === 0) return null;
  return h("section", { "aria-labelledby": "article-title" }, tables.flatMap(({ heading, heads, lines, notes }, i) => [
    h("h2", { id: i === 0 ? "article-title" : null, class: "form" }, heading.replace(/:$/, "")),
    h("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": heading }, h("table", { class: "article" },
      h("thead", {}, h("tr", {}, ["", ...heads].map((head) => h("th", { scope: "col" }, head)))),
      h("tbody", {}, lines.map(([title, cells]) => h("tr", {}, h("th", { scope: "row" }, title), cells.map((cell) => h("td", { class: "stated" }, cell))))))),
    ...notes.map((note) => h("p", { class: "advice" }, note)),
  ]));
}

/** Lists the articles' conclusions with this session's answers, and printed values that it does not measure. */
export function conclusions(page: Page): HTMLElement | null {
  const articles = page.report.articles.filter(({ claims, without_row }) => claims.length + without_row.length > 0);
  if (articles.length === 0) return null;
  const checks = ({ checks: all, needs }: Article["claims"][number]): HTMLElement => h("ul", {}, all.length === 0
    ? h("li", {}, `${say("not judged")}: ${needs === null ? say("no row of this session shows it") : say("it would need {needs}", { needs })}`)
    : all.map(({ states, answer: found, words }) => h("li", { class: `answer ${found}` }, h("b", {}, states), ` ${words}`)));
  const printed = (runs: Record<string, string[]>): string => Object.entries(runs).map(([name, all]) => `${name} ${all.join(", ")}`).join("; ");
  return h("div", { class: "conclusions" }, articles.flatMap(({ source, title, claims: all, without_row: without }) => [
    h("h3", {}, `${title} (${source})`),
    h("dl", {}, all.flatMap((claim) => [h("dt", {}, claim.recommends ? h("b", {}, say("It recommends: {text}", { text: claim.text })) : claim.text), h("dd", {}, checks(claim))])),
    without.length === 0 ? null : h("details", {}, h("summary", {}, say("Printed by {article}, and not measured here:", { article: source })),
      h("ul", {}, without.map(({ name, printed: runs, unit, ratio: stated, words }) =>
        h("li", {}, `${name} (${stated === null ? `${printed(runs)} ${unit ?? ""}` : ratio(stated)}): ${words}`)))),
  ]));
}
