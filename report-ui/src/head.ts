// The top and the end of a page: what was compared on which machine, what to read before anything else, where the record is.
import type { Page, Report, Waiting } from "./data";
import { h } from "./dom";
import { counted, duration, listed } from "./number";
import { rounds } from "./words";

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** The bar above every title. */
export const brand = (): HTMLElement =>
  h("div", { class: "brand" }, h("span", { class: "mark", "aria-hidden": "true" }, "tare"), themeSwitch());

/** What was compared, and in one line: study, machine, date, length. */
export function head({ report }: Page): HTMLElement {
  const { subjects, baseline } = report;
  const title = subjects.length === 0 ? `${baseline} alone` : `${listed(subjects)} compared with ${baseline}`;
  return h("header", { class: "head" }, brand(), h("h1", { class: title.length > 90 ? "long" : null }, title), about(report));
}

function about(report: Report): HTMLElement {
  const { session, plan } = report;
  const most = Math.max(0, ...report.rows.flatMap((row) => [row.baseline?.rounds ?? 0, ...row.cells.map((cell) => cell.comparison?.rounds ?? 0)]));
  const parts: (string | HTMLElement)[] = [
    h("strong", {}, plan.study), ...machine(report),
    h("time", { datetime: session.started }, date(session.started)),
    session.measured_s === null ? "" : duration(session.measured_s), most === 0 ? "" : rounds(most),
    `tare ${session.tare}`,
  ].filter((part) => part !== "");
  return h("p", { class: "machine" }, parts.flatMap((part, i) => [h("span", {}, part, i < parts.length - 1 ? " ·" : null), " "]));
}

/** Processor, kernel and file system of the baseline, as far as they are known. */
function machine({ facts, baseline }: Report): string[] {
  const own = facts.environments.find(({ environment }) => environment === baseline);
  const fact = (key: string): string => facts.host[key] ?? own?.inside[key] ?? "";
  const places = Object.values(own?.places ?? {}).map((place) => place["file_system.type"] ?? "");
  const count = Number(fact("cpu.count"));
  return [
    fact("machine.product"), fact("cpu.model"),
    count > 0 ? counted(count, "CPU", "CPUs") : "",
    fact("cpu.hypervisor") === "" ? "" : `virtual machine (${fact("cpu.hypervisor")})`,
    fact("kernel.release") === "" ? "" : `Linux ${fact("kernel.release")}`,
    [...new Set(places)].filter((name) => name !== "").join(", "),
  ];
}

/** `21 Nov 2026, 20:41` where the text is a date and time; else the text. */
export function date(started: string): string {
  const parts = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}:\d{2})/.exec(started);
  return parts === null ? started : `${Number(parts[3])} ${MONTHS[Number(parts[2]) - 1] ?? parts[2]} ${parts[1]}, ${parts[4]}`;
}

/** The head of a page without a session. */
export const waiting = ({ record }: Waiting): HTMLElement =>
  h("header", { class: "head" }, brand(), h("h1", {}, "A session is being prepared"), h("p", { class: "machine" }, record ?? ""));

/** A button that goes through light, dark and the system's choice. */
function themeSwitch(): HTMLElement {
  const themes = ["auto", "light", "dark"];
  let current = 0;
  const button = h("button", {
    type: "button", class: "quiet", id: "theme",
    click: () => {
      current = (current + 1) % themes.length;
      document.documentElement.style.colorScheme = current === 0 ? "" : themes[current];
      button.textContent = `Theme: ${themes[current]}`;
      window.dispatchEvent(new Event("themechange"));
    },
  }, "Theme: auto");
  return button;
}

/** What must be read before anything else. */
export function alarms({ report, live }: Page): HTMLElement | null {
  const { certificate, session } = report;
  const alarms: HTMLElement[] = [];
  if (certificate.banner) {
    alarms.push(h("p", { class: "alarm bad" }, h("strong", {}, "Do not trust this session. "),
      `${report.baseline} differs from itself in ${certificate.control_differing} of ` +
      `${counted(certificate.control_cells, "cell", "cells")}, more often than chance allows. ` +
      "Stop other programs on the machine (tare check names them) and run again."));
  }
  if (session.ending !== "complete" && !live) {
    const how = session.ending === "interrupted" ? "The session was stopped early" : "The record ends early";
    alarms.push(h("p", { class: "alarm" }, h("strong", {}, `${how}. `), "The report shows the rounds that were measured."));
  }
  return alarms.length === 0 ? null : h("div", { role: "alert" }, alarms);
}

/** Where the record is and how to measure the same again. */
export const foot = ({ report: { session, plan }, record, again }: Page): HTMLElement =>
  footer([["Record", record], ["Run again", again], ["Random seed", plan.seed], ["Measured by", `tare ${session.tare}, SHA-256 ${session.binary}`]]);

/** The end of a page: lines with a name. */
export function footer(lines: [string, string | null][]): HTMLElement {
  return h("footer", {}, h("dl", {}, lines.filter(([, value]) => value !== null).map(([name, value]) =>
    h("div", {}, h("dt", {}, name), h("dd", {}, h("code", {}, value))))));
}
