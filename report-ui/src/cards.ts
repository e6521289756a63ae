// A card per environment: its description, its sentence of the summary, and the distribution of its verdicts.
import type { Page } from "./data";
import { h } from "./dom";
import { say } from "./language";
import { mark } from "./plot/style";
import { verdict as said, verdicts } from "./words";

/** Builds the cards; null if the baseline was measured alone. */
export function cards(page: Page): HTMLElement | null {
  const { report } = page;
  if (report.subjects.length === 0) return null;
  return h("ul", { class: "cards", "aria-label": say("Environments"), tabindex: 0 }, report.subjects.map((environment, i) => card(page, environment, i)));
}

function card(page: Page, environment: string, index: number): HTMLElement {
  const { report } = page;
  const words = report.sentences.find((s) => s.environment === environment)?.sentence ?? "";
  const sentence = words.charAt(0).toUpperCase() + words.slice(1);
  const planned = report.plan.environments.find(({ name }) => name === environment);
  const cells = report.rows.filter((row) => row.headline).flatMap((row) => row.cells[index] ?? []);
  const counts = verdicts()
    .map((verdict) => ({ verdict, count: cells.filter((cell) => cell.verdict === verdict).length }))
    .filter(({ count }) => count > 0);
  return h("li", { class: "card" },
    h("h2", {}, mark(page, environment), environment, h("small", {}, planned?.short_description ?? planned?.specification ?? "")),
    sentence === "" ? null : h("p", { class: "sentence", title: sentence }, sentence),
    h("div", { class: "shares", "aria-hidden": "true" }, counts.map(({ verdict, count }) => {
      const share = h("span", { class: `share v-${verdict}${said(verdict).decided ? "" : " open"}` });
      share.style.flexGrow = String(count);
      return share;
    })),
    h("p", { class: "counts" }, counts.map(({ verdict, count }) =>
      h("span", {}, h("span", { class: `count v-${verdict}`, "aria-hidden": "true" }, `${said(verdict).sign} `), say("{count} {verdict}", { count, verdict: said(verdict).word })))));
}
