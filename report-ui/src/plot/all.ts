// The plots of the page, in their order.
import { bills } from "../bill";
import type { Page } from "../data";
import { h } from "../dom";
import { say } from "../language";
import { memory, processes, unixbench } from "./bars";
import { beside } from "./beside";
import { curves } from "./curves";
import { distribution } from "./distribution";
import type { Chart } from "./frame";
import { frame } from "./frame";
import { conclusions, published, publishedTable } from "./published";
import { roundsChart } from "./rounds";
import { series } from "./series";
import { tailRatios, tails } from "./tails";
import { timeline } from "./timeline";

type Choosable = (page: Page, redraw: () => void) => Chart | null;

/** Frames a chart whose controls redraw it. */
export function framed(page: Page, make: Choosable): HTMLElement | null {
  let redraw = (): void => {};
  const chart = make(page, () => redraw());
  if (chart === null) return null;
  const made = frame(chart);
  redraw = made.redraw;
  return made.element;
}

/** Builds a titled part of the page; null if it has no content. */
export function section(id: string, title: string, charts: (HTMLElement | null)[], kind = "stacked"): HTMLElement | null {
  const drawn = charts.filter((chart) => chart !== null);
  if (drawn.length === 0) return null;
  return h("section", { "aria-labelledby": id }, h("h2", { id }, title), h("div", { class: `charts ${kind}` }, drawn));
}

/** Builds the sections of plots; those without anything to draw are left out. */
export function plots(page: Page): (HTMLElement | null)[] {
  const claims = published(page);
  const scores = unixbench(page);
  return [
    // Bars in a test's own unit come first.
    section("unixbench-title", say("UnixBench"), [scores === null ? null : frame(scores).element]),
    section("processes-title", say("Processes and memory"), [framed(page, processes), framed(page, memory)], "twos"),
    section("published-title", say("Published and measured"), [claims === null ? null : frame(claims).element, publishedTable(page), conclusions(page)]),
    section("bill-title", say("Bills of commands"), [framed(page, bills)]),
    section("beside-title", say("Results of other tools"), beside(page)),
    section("curves-title", say("Sizes and places"), [framed(page, curves)]),
    section("rounds-title", say("Rounds and tails"), [framed(page, series), framed(page, roundsChart), framed(page, distribution), framed(page, tails), framed(page, tailRatios)]),
    section("time-title", say("Time and interference"), timeline(page).map((chart) => frame(chart).element)),
  ];
}
