// The session in time: every trial when it ran, disturbed and failed ones marked, with the interference.
import { barX, dot, line, plot } from "@observablehq/plot";
import type { Page } from "../data";
import { colour } from "../dom";
import { message, say } from "../language";
import { duration, figure, percent } from "../number";
import type { Chart } from "./frame";
import { base, durationTicks, figureAxis, fittedApart, labelRoom, environmentStyle } from "./style";

interface Bar { environment: string; from: number; to: number; outcome: number; title: string }

const OUTCOMES = ["", message(", disturbed and repeated"), message(", failed")];

/** Draws the trials, and the processor's canary if any environment has one. */
export function timeline(page: Page): Chart[] {
  const { timeline: t, report } = page;
  if (t.case.length === 0) return [];
  const label = new Map(report.rows.map((row) => [row.case, row.label]));
  const bars: Bar[] = t.case.map((place, i) => {
    const environment = report.plan.environments[t.environment[i]].name;
    const steal = t.steal_us[i] === null || t.elapsed_ms[i] === 0 ? "" : say(", {share} stolen", { share: percent((t.steal_us[i] as number) / 1000 / t.elapsed_ms[i]) });
    return {
      environment, from: t.started_ms[i] / 1000, to: (t.started_ms[i] + Math.max(t.elapsed_ms[i], 1)) / 1000, outcome: t.outcome[i],
      title: say("{name}, round {round}: {row}, {value} after {time}", {
        name: environment, round: t.round[i] + 1, row: label.get(t.cases[place]) ?? t.cases[place], value: figure(t.elapsed_ms[i] * 1e6, "nanoseconds"), time: duration(t.started_ms[i] / 1000),
      }) + steal + say(OUTCOMES[t.outcome[i]] ?? ""),
    };
  });
  const thinned = bars.length < t.of ? say(" ") + say("{count} of {all} trials are drawn.", { count: bars.length, all: t.of }) : "";
  const charts: Chart[] = [{
    id: "timeline",
    title: say("The session in time"),
    about: say("One trial at a time, in random order. Disturbed rounds are hollow, failures crossed.") + thinned,
    draw: (width) => drawTrials(page, bars, width),
  }];
  const canary = t.canary_100ns.flatMap((tenths, i) => tenths === null ? [] : [{
    environment: report.plan.environments[t.environment[i]].name, at: t.started_ms[i] / 1000, ns: tenths * 100,
  }]);
  if (canary.length > 1) {
    charts.push({
      id: "canary",
      title: say("Interference: a fixed piece of arithmetic"),
      about: say("Run just before each trial. Where it slows, the processor was throttled or shared, whatever the counters say."),
      draw: (width) => drawCanary(page, canary, width),
    });
  }
  return charts;
}

/** Builds the axis of the time since the session began. */
export function timeAxis(end: number, width: number) {
  return {
    domain: [0, end], label: say("time since the session began"), labelArrow: "none" as const, grid: true,
    ticks: durationTicks(end, Math.max(Math.floor(width / 90), 2)), tickFormat: (seconds: number) => duration(seconds),
  };
}

function drawTrials(page: Page, bars: Bar[], width: number): SVGSVGElement {
  const environments = page.report.plan.environments.map((environment) => environment.name);
  const room = labelRoom(environments, width);
  const labels = fittedApart(environments, room);
  const styles = new Map(environments.map((environment) => [environment, environmentStyle(page, environment)]));
  const of = (bar: Bar): string => styles.get(bar.environment)?.colour ?? "currentColor";
  const whole = bars.filter((bar) => bar.outcome === 0);
  const failed = bars.filter((bar) => bar.outcome === 2);
  return plot({
    ...base(width), height: environments.length * 26 + 56, marginLeft: room, marginRight: 24, marginBottom: 42, marginTop: 6,
    x: timeAxis(Math.max(...bars.map((bar) => bar.to)), width - room),
    y: { type: "band", domain: environments, label: null, tickSize: 0, padding: 0.2, tickFormat: (environment: string) => labels.get(environment) ?? "" },
    marks: [
      barX(whole, { x1: "from", x2: "to", y: "environment", fill: of, fillOpacity: 0.75, stroke: of, strokeWidth: 0.6, title: "title" }),
      barX(bars.filter((bar) => bar.outcome !== 0), { x1: "from", x2: "to", y: "environment", fill: colour("--surface"), stroke: of, strokeWidth: 1.2, title: "title" }),
      dot(failed, { x: "from", y: "environment", symbol: "times", stroke: colour("--v-slower"), r: 5, strokeWidth: 2, title: "title" }),
    ],
  }) as SVGSVGElement;
}

function drawCanary(page: Page, points: { environment: string; at: number; ns: number }[], width: number): SVGSVGElement {
  const styles = new Map(page.report.plan.environments.map((environment) => [environment.name, environmentStyle(page, environment.name)]));
  return plot({
    ...base(width), height: 220, marginLeft: 66, marginRight: 24, marginBottom: 42, marginTop: 12,
    x: timeAxis(Math.max(...points.map((point) => point.at)), width),
    y: figureAxis(points.map((point) => point.ns), "nanoseconds", 5, say("{name} (lower is better)", { name: say("time") })),
    symbol: { type: "identity" },
    marks: [
      line(points, { x: "at", y: "ns", stroke: colour("--ink"), strokeOpacity: 0.25 }),
      dot(points, {
        x: "at", y: "ns", r: 2.6, fill: (p: { environment: string }) => styles.get(p.environment)?.colour, symbol: (p: { environment: string }) => styles.get(p.environment)?.symbol,
        title: (p: { environment: string; at: number; ns: number }) => say("{environment} after {time}: {value}", { environment: p.environment, time: duration(p.at), value: figure(p.ns, "nanoseconds") }),
      }),
    ],
  }) as SVGSVGElement;
}
