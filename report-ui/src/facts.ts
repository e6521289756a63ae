// The facts of every environment side by side, differences from the baseline marked.
import type { Facts, Page } from "./data";
import { broken, h } from "./dom";
import { say } from "./language";

/** Characters of a fact that is not folded; a processor's flags are longer. */
const LONGEST = 120;
/** Number of words that a difference lists. */
const MOST_WORDS = 24;

/** Tells whether a fact differs; an unknown one does not. */
const isDifferent = (value: string | undefined, baseline: string | undefined): boolean =>
  value !== undefined && baseline !== undefined && value !== baseline;

/** Shortens a long fact to the words in which it differs, or to its beginning; the whole is folded. */
function shortened(value: string, baseline: string | undefined): HTMLElement | string {
  if (value.length <= LONGEST) return value;
  const summary = baseline === undefined || baseline.length <= LONGEST ? `${value.slice(0, LONGEST / 2)}…` : difference(value, baseline);
  return h("details", {}, h("summary", {}, summary), value);
}

/** Finds the words that only one of two texts has: `+avx512 −sse`. */
function difference(value: string, baseline: string): string {
  const [own, others] = [new Set(value.split(/\s+/)), new Set(baseline.split(/\s+/))];
  const words = [...[...own].filter((word) => !others.has(word)).map((word) => `+${word}`), ...[...others].filter((word) => !own.has(word)).map((word) => `−${word}`)];
  if (words.length === 0) return say("the same words in another order");
  return words.length > MOST_WORDS
    ? say("{words} and {count} more", { words: words.slice(0, MOST_WORDS).join(" "), count: words.length - MOST_WORDS }) : words.join(" ");
}

export function facts({ report }: Page): HTMLElement | null {
  const environments = report.facts.environments.filter((facts) => report.plan.environments.every((l) => l.name !== facts.environment || l.role !== "control"));
  if (environments.length === 0) return null;
  const sides: [string, (index: number) => Facts][] = [
    [say("Inside, as the program sees it"), (i) => environments[i].inside],
    [say("Outside, as the host sees it"), (i) => environments[i].outside],
  ];
  for (const place of new Set(environments.flatMap((environment) => Object.keys(environment.places)))) {
    sides.push([say("Place: {place}", { place }), (i) => environments[i].places[place] ?? {}]);
  }
  const baseline = Math.max(environments.findIndex((environment) => environment.environment === report.baseline), 0);
  const body = h("tbody");
  let hidden = 0;
  for (const [title, of] of sides) {
    const keys = [...new Set(environments.flatMap((_, i) => Object.keys(of(i))))].sort();
    if (keys.length === 0) continue;
    const family = h("tr", { class: "family alike" }, h("th", { scope: "rowgroup", colspan: environments.length + 1 }, title));
    body.append(family);
    for (const key of keys) {
      const values = environments.map((_, i) => of(i)[key]);
      const differs = values.some((value) => isDifferent(value, values[baseline]));
      if (differs) family.classList.remove("alike");
      else hidden += 1;
      body.append(h("tr", { class: differs ? null : "alike" }, h("th", { scope: "row" }, broken(key)), values.map((value, i) => {
        const other = isDifferent(value, values[baseline]);
        return h("td", { class: other ? "differs" : null, "data-environment": environments[i].environment }, h("span", {},
          other ? h("span", { class: "mark", title: say("differs from {baseline}", { baseline: report.baseline }) }, "≠ ") : null,
          value === undefined ? h("span", { class: "none" }, say("unknown")) : shortened(value, other ? values[baseline] : undefined)));
      })));
    }
  }
  const table = h("table", { class: "facts stacking only-differences" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, say("Fact")), environments.map((environment) => h("th", { scope: "col" }, environment.environment)))), body);
  return h("section", { "aria-labelledby": "facts-title" },
    h("h2", { id: "facts-title" }, say("Facts side by side")),
    hidden === 0 ? null : h("label", { class: "choice" },
      h("input", { type: "checkbox", change: (event: Event) =>
        table.classList.toggle("only-differences", !(event.target as HTMLInputElement).checked) }),
      h("span", {}, say("show the {count} facts in which nothing differs", { count: hidden }))),
    h("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": say("Facts") }, table));
}
