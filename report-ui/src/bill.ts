// Where the time of a command goes: a waterfall from its time in the baseline to its time in an environment.
import { barX, plot, ruleX, text } from "@observablehq/plot";
import type { Bill, Page } from "./data";
import { choice, colour, h } from "./dom";
import { say } from "./language";
import { figure } from "./number";
import type { Chart } from "./plot/frame";
import { base, environmentStyle, fitted, labelRoom, short, zeroTicks } from "./plot/style";

interface Bar { row: number; from: number; to: number; fill: string; label: string; title: string }

/** Draws the bills of a session; null if it explains no command. */
export function bills(page: Page, redraw: () => void): Chart | null {
  if (page.bills.length === 0) return null;
  let chosen = page.bills[0];
  const names = page.bills.map((bill, i): [string, string] => [String(i), say("{command} in {environment}", { command: bill.command, environment: bill.environment })]);
  return {
    id: "bill", title: say("Where the difference goes"),
    about: say("From the time in the baseline, by what each kind of work adds, to the time here. Shares are of the difference; what no line explains is never spread over the others."),
    controls: choice(say("Command"), names, (value) => { chosen = page.bills[Number(value)]; redraw(); }, "0"),
    draw: (width) => h("div", {}, h("p", {}, chosen.headline), draw(page, chosen, width), h("p", { class: "nothing" }, chosen.forecast)),
  };
}

const percent = (share: number): string => `${Math.round(share)} %`;

/** Builds the bars: first the baseline's time, last the time here, and each between begins where the previous one ends. */
function bars(page: Page, bill: Bill): { names: string[]; bars: Bar[] } {
  const here = environmentStyle(page, bill.environment).colour;
  const before = environmentStyle(page, page.report.baseline).colour;
  let at = bill.baseline_ns;
  const steps = bill.steps.map((step, i): Bar => {
    const from = at;
    at += step.more_ns;
    const size = `${step.more_ns < 0 ? "-" : "+"}${figure(Math.abs(step.more_ns), "nanoseconds")}`;
    const share = step.least === null || step.most === null ? percent(step.share)
      : say("{share} ({least} to {most} by single starts)", { share: percent(step.share), least: percent(step.least), most: percent(step.most) });
    const fill = step.rest ? colour("--muted") : step.more_ns < 0 ? before : here;
    return { row: i + 1, from, to: at, fill, label: `${size}, ${percent(step.share)}`, title: `${step.name}: ${size}, ${share}` };
  });
  const whole = (row: number, name: string, ns: number, fill: string): Bar => {
    const label = figure(ns, "nanoseconds");
    return { row, from: 0, to: ns, fill, label, title: `${name}: ${label}` };
  };
  const last = bill.ns === null ? say("forecast for {environment}", { environment: bill.environment }) : bill.environment;
  const names = [page.report.baseline, ...bill.steps.map((step) => step.name), last];
  return { names, bars: [whole(0, names[0], bill.baseline_ns, before), ...steps, whole(names.length - 1, last, bill.ns ?? at, here)] };
}

function draw(page: Page, bill: Bill, width: number): SVGSVGElement {
  const { names, bars: all } = bars(page, bill);
  const room = labelRoom(names, width);
  const most = Math.max(...all.flatMap((bar) => [bar.from, bar.to]));
  const least = Math.min(...all.flatMap((bar) => [bar.from, bar.to]), 0);
  const ticks = zeroTicks(most, "nanoseconds", Math.floor((width - room - 120) / 90));
  const end = (bar: Bar): number => Math.max(bar.from, bar.to);
  return plot({
    ...base(width), height: names.length * 24 + 64, marginLeft: room, marginRight: 120, marginBottom: 44, marginTop: 8,
    x: { domain: [least, most * 1.02 || 1], label: say("time"), labelArrow: "none", grid: true, ticks, tickFormat: (value: number) => (value === 0 ? "0" : short(figure(value, "nanoseconds"))) },
    y: { type: "band", domain: names.map((_, i) => i), label: null, tickSize: 0, padding: 0.2, tickFormat: (i: number) => fitted(names[i], room) },
    marks: [
      barX(all, { x1: (bar: Bar) => Math.min(bar.from, bar.to), x2: end, y: "row", fill: "fill", fillOpacity: 0.8, title: "title" }),
      text(all, { x: end, y: "row", dx: 7, textAnchor: "start", text: "label" }),
      ruleX([0], { stroke: colour("--ink"), strokeOpacity: 0.55 }),
    ],
  }) as SVGSVGElement;
}
