// The facts of every environment side by side, differences from the baseline marked.
import type { Facts, Page } from "./data";
import { broken, h } from "./dom";

export function facts({ report }: Page): HTMLElement | null {
  const environments = report.facts.environments.filter((facts) => report.plan.environments.every((l) => l.name !== facts.environment || l.role !== "control"));
  if (environments.length === 0) return null;
  const sides: [string, (index: number) => Facts][] = [
    ["Inside, as the program sees it", (i) => environments[i].inside],
    ["Outside, as the host sees it", (i) => environments[i].outside],
  ];
  for (const place of new Set(environments.flatMap((environment) => Object.keys(environment.places)))) {
    sides.push([`Place: ${place}`, (i) => environments[i].places[place] ?? {}]);
  }
  const baseline = Math.max(environments.findIndex((environment) => environment.environment === report.baseline), 0);
  const body = h("tbody");
  let hidden = 0;
  for (const [title, of] of sides) {
    const keys = [...new Set(environments.flatMap((_, i) => Object.keys(of(i))))].sort();
    if (keys.length === 0) continue;
    body.append(h("tr", { class: "family" }, h("th", { scope: "rowgroup", colspan: environments.length + 1 }, title)));
    for (const key of keys) {
      const values = environments.map((_, i) => of(i)[key]);
      const differs = values.some((value) => value !== values[baseline]);
      if (!differs) hidden += 1;
      body.append(h("tr", { class: differs ? null : "alike" }, h("th", { scope: "row" }, broken(key)), values.map((value, i) =>
        h("td", { class: value === values[baseline] ? null : "differs", "data-environment": environments[i].environment },
          value === values[baseline] ? null : h("span", { class: "mark", title: `differs from ${report.baseline}` }, "≠ "),
          value ?? h("span", { class: "none" }, "unknown")))));
    }
  }
  const table = h("table", { class: "facts stacking only-differences" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Fact"), environments.map((environment) => h("th", { scope: "col" }, environment.environment)))), body);
  return h("section", { "aria-labelledby": "facts-title" },
    h("h2", { id: "facts-title" }, "Facts side by side"),
    hidden === 0 ? null : h("label", { class: "choice" },
      h("input", { type: "checkbox", change: (event: Event) =>
        table.classList.toggle("only-differences", !(event.target as HTMLInputElement).checked) }),
      h("span", {}, `show the ${hidden} facts that all share`)),
    h("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": "Facts" }, table));
}
