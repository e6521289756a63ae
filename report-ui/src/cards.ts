// A card per environment: its description, its sentence of the summary, and the distribution of its answers.
import type { Page } from "./data";
import { h } from "./dom";
import { say } from "./language";
import { mark } from "./plot/style";
import { answers, answerWords } from "./words";

/** Probes whose rows answer nothing about an environment's cases: the harness itself, what helpers used, and work that lasts. */
const UNJUDGED = ["null", "helpers", "lasting"];

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
  // The sentence leaves the harness out as well.
  const works = report.rows.filter((row) => row.headline && !UNJUDGED.includes(row.probe));
  const cells = (works.length === 0 ? report.rows : works).flatMap((row) => row.cells[index] ?? []);
  const about = planned?.short_description ?? planned?.specification ?? "";
  const counts = answers()
    .map((answer) => ({ answer, count: cells.filter((cell) => cell.answer === answer).length }))
    .filter(({ count }) => count > 0);
  return h("li", { class: "card" },
    h("h2", {}, mark(page, environment), environment, about === environment ? null : h("small", {}, about)),
    sentence === "" ? null : h("p", { class: "sentence", title: sentence }, sentence),
    h("div", { class: "shares", "aria-hidden": "true" }, counts.map(({ answer, count }) => {
      const share = h("span", { class: `share v-${answer}${answerWords(answer).decided ? "" : " open"}` });
      share.style.flexGrow = String(count);
      return share;
    })),
    h("p", { class: "counts" }, counts.map(({ answer, count }) =>
      h("span", {}, h("span", { class: `count v-${answer}`, "aria-hidden": "true" }, `${answerWords(answer).sign} `), say("{count} {answer}", { count, answer: answerWords(answer).word })))));
}
