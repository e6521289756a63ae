// The top and the end of a page: study and machine, warnings to read first, the place of the record.
import type { Page, Report } from "./data";
import { levelOf } from "./data";
import { h } from "./dom";
import { counted, listed, message, say } from "./language";
import { duration } from "./number";
import { rounds } from "./words";

const MONTHS = [
  message("Jan"), message("Feb"), message("Mar"), message("Apr"), message("May"), message("Jun"),
  message("Jul"), message("Aug"), message("Sep"), message("Oct"), message("Nov"), message("Dec"),
];

/** Builds the bar above every title. */
const brand = (): HTMLElement =>
  h("div", { class: "brand" }, h("span", { class: "mark", "aria-hidden": "true" }, "tare"), themeSwitch());

/** Builds the heading: the compared environments, study, machine, date and length in one line, and the result in one sentence. */
export function head({ report, summary, paste }: Page): HTMLElement {
  const { subjects, baseline } = report;
  const title = subjects.length === 0 ? say("{baseline} alone", { baseline }) : say("{subjects} compared with {baseline}", { subjects: listed(subjects), baseline });
  return h("header", { class: "head" }, brand(), h("h1", { class: title.length > 90 ? "long" : null }, title), about(report), summary === "" ? null : h("p", { class: "summary" }, summary),
    paste === null ? null : copier(paste));
}

/** Builds a button that copies the block to paste; from a file as well, where pages may not use the clipboard's own interface. */
function copier(block: string): HTMLElement {
  const button = h("button", {
    type: "button", class: "quiet", id: "paste",
    click: () => {
      const area = h("textarea", {}, block) as HTMLTextAreaElement;
      button.after(area);
      area.select();
      if (document.execCommand("copy")) button.textContent = say("Copied");
      area.remove();
      button.focus();
    },
  }, say("Copy as Markdown"));
  return button;
}

function about(report: Report): HTMLElement {
  const { session, plan } = report;
  const parts: (string | HTMLElement)[] = [
    h("strong", {}, plan.study), ...machine(report),
    h("time", { datetime: session.started }, date(session.started)),
    session.measured_s === null ? "" : duration(session.measured_s), measuredRounds(report),
    `tare ${session.tare}`,
  ].filter((part) => part !== "");
  return h("p", { class: "machine" }, parts.flatMap((part, i) => [h("span", {}, part, i < parts.length - 1 ? " ·" : null), " "]));
}

/** Formats `18 rounds`, or `7 to 18 rounds` if cases or environments differ; empty if there are none. */
function measuredRounds(report: Report): string {
  const counts = report.rows.filter((row) => row.headline).flatMap((row) => [row.baseline, ...row.cells.map(levelOf)]).map((level) => level?.rounds ?? 0).filter((count) => count > 0);
  const [least, most] = [Math.min(...counts), Math.max(0, ...counts)];
  if (most === 0) return "";
  return least < most ? say("{least} to {most} runs", { least, most }) : rounds(most);
}

/** Lists processor, kernel and file system of the baseline, as far as they are known. */
function machine({ facts, baseline }: Report): string[] {
  const own = facts.environments.find(({ environment }) => environment === baseline);
  const fact = (key: string): string => facts.host[key] ?? own?.inside[key] ?? "";
  const places = Object.values(own?.places ?? {}).map((place) => place["file_system.type"] ?? "");
  const count = Number(fact("cpu.count"));
  return [
    fact("machine.product"), fact("cpu.model"),
    count > 0 ? counted(count, "CPU", "CPUs") : "",
    fact("cpu.hypervisor") === "" ? "" : say("virtual machine ({hypervisor})", { hypervisor: fact("cpu.hypervisor") }),
    fact("kernel.release") === "" ? "" : `Linux ${fact("kernel.release")}`,
    [...new Set(places)].filter((name) => name !== "").join(", "),
  ];
}

/** Formats a time as `21 Nov 2026, 20:41`; any other text stays as it is. */
export function date(started: string): string {
  const parts = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}:\d{2})/.exec(started);
  if (parts === null) return started;
  const [, year, month, day, time] = parts;
  return say("{day} {month} {year}, {time}", { day: Number(day), month: say(MONTHS[Number(month) - 1] ?? month), year, time });
}

/** Builds a button that cycles through light, dark and the system's choice. */
function themeSwitch(): HTMLElement {
  const themes = [message("auto"), message("light"), message("dark")];
  let current = 0;
  const button = h("button", {
    type: "button", class: "quiet", id: "theme",
    click: () => {
      current = (current + 1) % themes.length;
      document.documentElement.style.colorScheme = current === 0 ? "" : themes[current];
      button.textContent = say("Theme: {theme}", { theme: say(themes[current]) });
      window.dispatchEvent(new Event("themechange"));
    },
  }, say("Theme: {theme}", { theme: say("auto") }));
  return button;
}

/** Shows the progress of a running session, which rewrites this page again and again. */
export const progress = ({ running }: Page): HTMLElement | null => (running === null ? null
  : h("section", { class: "running", "aria-labelledby": "running-title" },
    h("h2", { id: "running-title" }, say("The session is running")), h("p", {}, running),
    h("p", { class: "advice" }, say("These are the results so far. The page loads again by itself; a browser on the machine that is measured is interference."))));

/** Builds the warnings that must be read first. */
export function alarms({ report, running }: Page): HTMLElement | null {
  const { certificate, session } = report;
  const alarms: HTMLElement[] = [];
  if (certificate.banner) {
    alarms.push(h("p", { class: "alarm bad" }, h("strong", {}, say("Do not trust this session. ")),
      say("{baseline} differs from itself in {count} of {cells}, more often than chance allows. Stop other programs on the machine (tare check names them) and run again.",
        { baseline: report.baseline, count: certificate.control_differing, cells: counted(certificate.control_cells, "cell", "cells") })));
  }
  const emulated = report.warnings.flatMap(({ environment, warning }) => (warning.kind === "emulated_processor" && environment !== null ? [environment] : []));
  if (emulated.length > 0) {
    alarms.push(h("p", { class: "alarm" }, h("strong", {}, say("Emulated processor: {names}. ", { names: listed(emulated) })), say("A real one gives other numbers than those marked ^: use a machine with KVM.")));
  }
  if (session.ending !== "complete" && running === null) {
    const how = session.ending === "interrupted" ? say("The session was stopped early. ")
      : session.ending === "broken_off" ? say("The record ends early. ") : say("The session ended early. ");
    const why = session.ending === "early" ? say("What is open needs more time than it had taken.") : say("The report shows the runs that were measured.");
    alarms.push(h("p", { class: "alarm" }, h("strong", {}, how), why));
  }
  return alarms.length === 0 ? null : h("div", { role: "alert" }, alarms);
}

/** Shows the path of the record, and the command that measures the same again. */
export const foot = ({ report: { session, plan }, record, again }: Page): HTMLElement =>
  footer([[say("Record"), record], [say("Run again"), again], [say("Random seed"), plan.seed], [say("Measured by"), `tare ${session.tare}, SHA-256 ${session.binary}`]]);

/** Builds the end of a page: lines with a name. */
function footer(lines: [string, string | null][]): HTMLElement {
  return h("footer", {}, h("dl", {}, lines.filter(([, value]) => value !== null).map(([name, value]) =>
    h("div", {}, h("dt", {}, name), h("dd", {}, h("code", {}, value))))));
}
