// The checks on the session's reliability in a line, which opens a strip of them; each opens its details.
import type { Cell, Interference, Page, Row, Warning } from "./data";
import { uniqueLabels } from "./data";
import { h } from "./dom";
import { counted, joined, listed, range, say } from "./language";
import { figure, interval, percent, ratio } from "./number";
import { headline, needed, rounds } from "./words";

interface Check { name: string; value: string; about: string; doubtful: boolean; behind: () => (HTMLElement | null)[] }

/** Limit on the lines of a list; the JSON document has all. */
const MOST_LINES = 200;

export function checks(page: Page): HTMLElement {
  const all = [control(page), planted(page), smallestEffects(page), interference(page), starts(page), warnings(page)].filter((check) => check !== null);
  const panels = all.map((check, i) => h("div", { class: "behind", id: `check-${i}`, hidden: true }, check.behind()));
  const buttons = all.map((check, i) => h("button", {
    type: "button", class: `check${check.doubtful ? " doubtful" : ""}`, "aria-expanded": "false", "aria-controls": `check-${i}`, click: () => toggle(i),
  }, h("span", { class: "name" }, check.name), h("strong", {}, check.value), h("span", { class: "about" }, check.about)));
  const toggle = (chosen: number): void => {
    buttons.forEach((button, i) => {
      const open = i === chosen && panels[i].hidden;
      panels[i].hidden = !open;
      button.setAttribute("aria-expanded", String(open));
    });
  };
  const doubtful = all.filter((check) => check.doubtful).map((check) => check.name);
  const sum = doubtful.length === 0 ? say("Checks: all passed") : say("Checks: look at {names}", { names: listed(doubtful) });
  return h("section", { "aria-label": say("Checks") }, h("details", { class: "checks" }, h("summary", {}, sum), h("div", { class: "strip" }, buttons), panels));
}

/** Builds the check of the control, the baseline measured twice. */
function control({ report }: Page): Check | null {
  const { certificate: c, baseline } = report;
  if (c.control_cells === 0) {
    return { name: say("Control (A/A)"), value: say("none"), about: say("{baseline} was measured once", { baseline }), doubtful: true,
      behind: () => [h("p", {}, say("A control measures {baseline} a second time, as if it were another environment. This session had none, so nothing shows how often it finds a difference that is not there.", { baseline }))] };
  }
  const cells = rowsOf(report.rows, (row) => row.control);
  return {
    name: say("Control (A/A)"), value: say("{count} of {cells} differ", { count: c.control_differing, cells: c.control_cells }), about: say("{baseline} against itself", { baseline }), doubtful: c.banner,
    behind: () => [
      h("p", {}, say("{baseline} was measured a second time, as if it were another environment. Each difference here is a false alarm.", { baseline })),
      list([say("Probe"), say("Answer"), say("95 % interval")], cells.map(({ label, row, cell }) => [label, headline(cell, row), cell.interval ?? ""])),
    ],
  };
}

/** Builds the check of the planted cost, of known size, in a hidden copy of the baseline. */
function planted({ report }: Page): Check | null {
  const { planted: cost } = report.certificate;
  if (cost === null) return null;
  const share = percent(cost.share);
  return {
    name: say("Planted cost"), value: cost.found ? say("{share} found", { share }) : say("{share} not found", { share }), about: say("a known difference"), doubtful: !cost.found,
    behind: () => [h("p", {}, cost.found
      ? say("A hidden copy of {baseline} worked {share} longer in one case. The session found it.", { baseline: report.baseline, share })
      : say("A hidden copy of {baseline} worked {share} longer in one case. The session did not find it: differences of {share} may be missed here.", { baseline: report.baseline, share })),
      list([say("Case"), say("Rounds"), say("Slowdown"), say("95 % interval")], [[cost.case, String(cost.rounds), cost.ratio === null ? "" : ratio(cost.ratio),
        cost.ratio === null ? "" : interval(cost.low, cost.high, cost.ratio)]])],
  };
}

/** Builds the check of the smallest difference: how small a one the session could have missed. */
function smallestEffects({ report }: Page): Check {
  const { smallest_effect: typical, decided, compared } = report.certificate;
  const cells = report.subjects.flatMap((environment, i) => rowsOf(report.rows, (row) => row.cells[i]).map((found) => ({ ...found, environment })));
  const known = cells.flatMap(({ cell }) => cell.comparison?.smallest?.differs ?? []);
  const size = (effect: number): string => percent(Math.abs(effect - 1));
  const missed = known.length > 0 ? range(size(Math.min(...known)), size(Math.max(...known))) : typical === null ? say("unknown") : size(typical);
  return {
    name: say("Could have been missed"), value: missed, about: say("{count} of {answers} answers decided", { count: decided, answers: compared }), doubtful: typical === null && compared > 0,
    behind: () => [
      h("p", {}, typical === null ? say("Too few rounds: no difference could have been shown.")
        : say("A typical cell could have shown a difference of {size}. A smaller one could have been missed; more rounds find smaller ones.", { size: size(typical) })),
      list([say("Probe"), say("Environment"), say("Answer"), say("Smallest difference"), say("Needed to decide")], cells.flatMap(({ label, row, cell, environment }) => {
        const found = cell.comparison;
        return found === null ? [] : [[label, environment, headline(cell, row), found.smallest?.differs == null ? "" : size(found.smallest.differs), needed(found)]];
      })),
    ],
  };
}

/** Builds the check of interference: the share of the machine that others took. */
function interference({ report, interference: found }: Page): Check {
  const labels = new Map(report.rows.map((row) => [row.case, row.label]));
  const failed = report.failures.length;
  const [before, after] = say("{link} shows each trial.").split("{link}");
  return {
    name: say("Interference"), value: interferenceValue(found),
    about: joined([say("{rounds} repeated", { rounds: rounds(report.certificate.repeated) }), failed === 0 ? "" : say("{trials} failed", { trials: counted(failed, "trial", "trials") })].filter((part) => part !== "")),
    doubtful: false,
    behind: () => [
      h("p", {}, [...interferenceWords(found), say("A round is repeated when it was disturbed more than its limit allows."), ""].join(say(" ")),
        before, h("a", { href: "#time-title" }, say("The session in time")), after),
      list([say("Repeated"), say("Round"), say("Reason")], report.repeated.map(({ case: id, round, reason }) => [labels.get(id) ?? id, String(round + 1), reason])),
      list([say("Failed"), say("Environment"), say("Round"), say("Reason")], report.failures.map(({ case: id, environment, round, reason }) => [labels.get(id) ?? id, environment, String(round + 1), reason])),
    ],
  };
}

function interferenceValue({ stolen_ms, elapsed_ms, canary_least_ns: least, canary_most_ns: most }: Interference): string {
  if (stolen_ms !== null && elapsed_ms > 0) return say("{share} stolen", { share: percent(stolen_ms / elapsed_ms) });
  return least === null || most === null || least === 0 ? say("unknown") : say("up to {ratio}", { ratio: ratio(most / least) });
}

function interferenceWords({ stolen_ms, elapsed_ms, canary_least_ns: least, canary_most_ns: most }: Interference): string[] {
  const stolen = stolen_ms === null || elapsed_ms === 0 ? say("No counter shows how much processor time a hypervisor took.")
    : say("The hypervisor took {share} of the time of the trials.", { share: percent(stolen_ms / elapsed_ms) });
  const canary = least === null || most === null ? ""
    : say("A fixed piece of arithmetic before each trial took {least} to {most}: the longer, the less processor tare had.",
      { least: figure(least, "nanoseconds"), most: figure(most, "nanoseconds") });
  return [stolen, canary].filter((part) => part !== "");
}

/** Builds the check of starts: rounds that share a start of an environment are not independent. */
function starts({ report }: Page): Check | null {
  const shared = report.subjects.map((environment, i) => ({
    environment, counts: report.rows.flatMap((row) => row.cells[i]?.comparison?.starts?.starts ?? []),
  })).filter(({ counts }) => counts.length > 0);
  if (report.subjects.length === 0) return null;
  if (shared.length === 0) {
    return { name: say("Starts"), value: say("not shared"), about: say("by any rounds"), doubtful: false,
      behind: () => [h("p", {}, say("No answer rests on rounds that share a start of their environment, so what differs from start to start is part of every interval."))] };
  }
  const span = (counts: number[]): string => range(Math.min(...counts), Math.max(...counts));
  return {
    name: say("Starts"), value: span(shared.flatMap(({ counts }) => counts)), about: say("an environment, shared by rounds"), doubtful: shared.some(({ counts }) => Math.min(...counts) < 2),
    behind: () => [
      h("p", {}, say("Rounds that share a start of their environment are less independent than rounds with a start each; intervals allow for it.")),
      list([say("Environment"), say("Starts")], shared.map(({ environment, counts }) => [environment, span(counts)])),
    ],
  };
}

function warnings({ report, running }: Page): Check {
  // A running session has not ended early, whatever its record looks like.
  const general = report.warnings.filter(({ warning }) => running === null || warning.kind !== "broken_off");
  const ofCells = rowsOf(report.rows, (row) => row.cells.find((cell) => (cell.comparison?.warnings.length ?? 0) > 0) ?? null).length;
  const about = ofCells === 0 ? "" : say("{rows} own, marked !", { rows: counted(ofCells, "row has its", "rows have their") });
  return {
    name: say("Warnings"), value: general.length === 0 ? say("none") : String(general.length), about: about === "" ? say("about session and environments") : about, doubtful: general.length > 0,
    behind: () => [general.length === 0 ? h("p", {}, say("No reason to doubt the session or an environment was found."))
      : h("ul", { class: "warnings" }, general.map(({ environment, warning }) => h("li", {}, h("strong", {}, environment ?? say("The session")), ": ", ...warned(warning))))],
  };
}

/** Formats a warning and its advice. */
export const warned = ({ words, advice }: Warning): (string | HTMLElement)[] => [say("{sentence}. ", { sentence: words }), h("span", { class: "advice" }, sentence(advice))];

/** Makes words a sentence; a command at its beginning stays as it is typed. */
const sentence = (words: string): string => say("{clause}.", { clause: words.startsWith("tare ") ? words : words.charAt(0).toUpperCase() + words.slice(1) });

/** Selects headline rows with one of their cells, where there is one. */
function rowsOf(rows: Row[], of: (row: Row) => Cell | null | undefined): { label: string; row: Row; cell: Cell }[] {
  const headlines = rows.filter((row) => row.headline);
  const labels = uniqueLabels(headlines);
  return headlines.flatMap((row) => {
    const cell = of(row);
    return cell == null ? [] : [{ label: labels.get(row) ?? row.label, row, cell }];
  });
}

/** Builds a list with headings; null if it is empty. */
function list(heads: string[], lines: string[][]): HTMLElement | null {
  if (lines.length === 0) return null;
  const wanted = heads.map((_, i) => lines.some((line) => line[i] !== ""));
  const pick = <T>(of: T[]): T[] => of.filter((_, i) => wanted[i]);
  return h("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": heads[0] },
    h("table", { class: "raw" },
      h("thead", {}, h("tr", {}, pick(heads).map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, lines.slice(0, MOST_LINES).map((line) => h("tr", {}, pick(line).map((text, i) =>
        (i === 0 ? h("th", { scope: "row" }, text) : h("td", {}, text)))))),
      lines.length > MOST_LINES ? h("caption", {}, say("{shown} of {all}; tare report --json has them all", { shown: MOST_LINES, all: lines.length })) : null));
}
