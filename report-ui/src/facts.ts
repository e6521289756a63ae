// The facts of every environment side by side, differences from the reference marked.
import type { Facts, Page } from "./data";
import { broken, h } from "./dom";

export function facts({ report }: Page): HTMLElement | null {
  const lanes = report.facts.lanes.filter((facts) => report.plan.lanes.every((l) => l.name !== facts.lane || l.role !== "control"));
  if (lanes.length === 0) return null;
  const sides: [string, (index: number) => Facts][] = [
    ["Inside, as the program sees it", (i) => lanes[i].inside],
    ["Outside, as the host sees it", (i) => lanes[i].outside],
  ];
  for (const place of new Set(lanes.flatMap((lane) => Object.keys(lane.places)))) {
    sides.push([`Place: ${place}`, (i) => lanes[i].places[place] ?? {}]);
  }
  const reference = Math.max(lanes.findIndex((lane) => lane.lane === report.reference), 0);
  const body = h("tbody");
  let hidden = 0;
  for (const [title, of] of sides) {
    const keys = [...new Set(lanes.flatMap((_, i) => Object.keys(of(i))))].sort();
    if (keys.length === 0) continue;
    body.append(h("tr", { class: "family" }, h("th", { scope: "rowgroup", colspan: lanes.length + 1 }, title)));
    for (const key of keys) {
      const values = lanes.map((_, i) => of(i)[key]);
      const differs = values.some((value) => value !== values[reference]);
      if (!differs) hidden += 1;
      body.append(h("tr", { class: differs ? null : "alike" }, h("th", { scope: "row" }, broken(key)), values.map((value, i) =>
        h("td", { class: value === values[reference] ? null : "differs", "data-lane": lanes[i].lane },
          value === values[reference] ? null : h("span", { class: "mark", title: `differs from ${report.reference}` }, "≠ "),
          value ?? h("span", { class: "none" }, "unknown")))));
    }
  }
  const table = h("table", { class: "facts stacking only-differences" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Fact"), lanes.map((lane) => h("th", { scope: "col" }, lane.lane)))), body);
  return h("section", { "aria-labelledby": "facts-title" },
    h("h2", { id: "facts-title" }, "Facts side by side"),
    hidden === 0 ? null : h("label", { class: "choice" },
      h("input", { type: "checkbox", change: (event: Event) =>
        table.classList.toggle("only-differences", !(event.target as HTMLInputElement).checked) }),
      h("span", {}, `show the ${hidden} facts that all share`)),
    h("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": "Facts" }, table));
}
