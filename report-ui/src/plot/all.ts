// The plots of the page, in their order.
import type { Page } from "../data";
import { h } from "../dom";
import { curves } from "./curves";
import type { Chart } from "./frame";
import { frame } from "./frame";
import { forests } from "./forest";
import { roundsChart } from "./rounds";
import { series } from "./series";
import { tails } from "./tails";
import { timeline } from "./timeline";

type Choosable = (page: Page, redraw: () => void) => Chart | null;

/** A framed chart whose own controls draw it anew. */
function framed(page: Page, make: Choosable): HTMLElement | null {
  let redraw = (): void => {};
  const chart = make(page, () => redraw());
  if (chart === null) return null;
  const made = frame(chart);
  redraw = made.redraw;
  return made.element;
}

function section(id: string, title: string, charts: (HTMLElement | null)[], kind = "stacked"): HTMLElement | null {
  const drawn = charts.filter((chart) => chart !== null);
  if (drawn.length === 0) return null;
  return h("section", { "aria-labelledby": id }, h("h2", { id }, title), h("div", { class: `charts ${kind}` }, drawn));
}

/** Sections of plots; those without anything to draw are left out. */
export function plots(page: Page): (HTMLElement | null)[] {
  return [
    section("intervals-title", "Intervals", forests(page).map((chart) => frame(chart).element), forests(page).length % 3 === 0 ? "threes" : "twos"),
    section("curves-title", "Sizes and places", [framed(page, curves)]),
    section("rounds-title", "Rounds and tails", [framed(page, roundsChart), framed(page, series), framed(page, tails)]),
    section("time-title", "Time and noise", timeline(page).map((chart) => frame(chart).element)),
  ];
}
