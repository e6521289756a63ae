// The top of the page: what was compared, what each layer costs, how far the session can be trusted.
import type { Noise, Page, Verdict, Waiting } from "./data";
import { h } from "./dom";
import { counted, duration, figure, percent, ratio } from "./number";
import { VERDICTS } from "./words";

const SHARES: Verdict[] = ["slower", "slower_unclear", "inconclusive", "same", "faster_unclear", "faster", "missing"];

/** Title, origin, theme. */
export function head({ report }: Page): HTMLElement {
  const { session, plan } = report;
  const environments = plan.environments.filter((environment) => environment.role !== "control").length;
  return h("header", { class: "head" },
    h("div", { class: "brand" }, h("span", { class: "mark", "aria-hidden": "true" }, "tare"), themeSwitch()),
    h("h1", {}, plan.study),
    h("p", { class: "subtitle" },
      `Against ${report.baseline} · ${counted(environments, "environment", "environments")} · ` +
      `${counted(session.trials, "trial", "trials")}${session.measured_s === null ? "" : ` in ${duration(session.measured_s)}`} · `,
      h("time", { datetime: session.started }, session.started.replace("T", " ")),
    ),
  );
}

/** The head of a page without a session. */
export function waiting({ record }: Waiting): HTMLElement {
  return h("header", { class: "head" },
    h("div", { class: "brand" }, h("span", { class: "mark", "aria-hidden": "true" }, "tare"), themeSwitch()),
    h("h1", {}, "A session is being prepared"),
    h("p", { class: "subtitle" }, record ?? ""));
}

/** A button that goes through light, dark and what the system says. */
export function themeSwitch(): HTMLElement {
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
    alarms.push(h("p", { class: "alarm bad" }, h("strong", {}, "This session cannot be trusted. "),
      `${report.baseline} differs from itself in ${certificate.control_coloured} of ` +
      `${counted(certificate.control_cells, "cell", "cells")}, more than chance allows. ` +
      "Quieten the machine (tare check names what is loud) and run again."));
  }
  if (session.ending !== "complete" && !live) {
    const how = session.ending === "interrupted" ? "The session was stopped early" : "The record breaks off";
    alarms.push(h("p", { class: "alarm" }, h("strong", {}, `${how}. `), "This is what was measured until then."));
  }
  return alarms.length === 0 ? null : h("div", { role: "alert" }, alarms);
}

/** A card a layer: its sentence, and how its verdicts fall. */
export function layers({ report }: Page): HTMLElement | null {
  if (report.subjects.length === 0) return null;
  const cards = report.subjects.map((environment, index) => {
    const sentence = report.sentences.find((s) => s.environment === environment)?.sentence ?? "";
    const cells = report.rows.filter((row) => row.headline).map((row) => row.cells[index]);
    const counts = SHARES.map((verdict) => ({ verdict, count: cells.filter((c) => c?.verdict === verdict).length }))
      .filter(({ count }) => count > 0);
    return h("li", { class: "card" },
      h("h3", {}, environment),
      h("div", { class: "shares", "aria-hidden": "true" }, counts.map(({ verdict, count }) => {
        const share = h("span", { class: `share v-${verdict}` });
        share.style.flexGrow = String(count);
        return share;
      })),
      h("p", { class: "counts" }, counts.map(({ verdict, count }, i) => [
        i > 0 ? " · " : null,
        h("span", { class: `count v-${verdict}` }, `${VERDICTS[verdict].sign} `),
        `${count} ${VERDICTS[verdict].word}`,
      ]).flat()),
      h("p", { class: "sentence" }, sentence.charAt(0).toUpperCase() + sentence.slice(1)),
    );
  });
  return h("section", { "aria-labelledby": "layers-title" },
    h("h2", { id: "layers-title" }, "What each layer costs"), h("ul", { class: "cards" }, cards));
}

/** What the session says of its own power, and its warnings. */
export function certificate({ report, noise, live }: Page): HTMLElement {
  // A session that runs has not broken off, whatever its record looks like.
  const warnings = report.warnings.filter(({ warning }) => !live || warning.kind !== "broken_off");
  const { certificate: c, plan } = report;
  const effect = c.smallest_effect === null ? "unknown" : percent(Math.abs(c.smallest_effect - 1));
  const tiles: [string, string, string][] = [
    ["Verdicts decided", `${c.decided} of ${c.compared}`, "headline cells that are no gaps"],
    ["Smallest effect", effect, c.smallest_effect === null ? "too few rounds" : "that a typical cell could have shown"],
    ["A/An environment", c.control_cells === 0 ? "none" : `${c.control_coloured} of ${c.control_cells}`,
      c.control_cells === 0 ? "the session did not check itself" : "cells where the baseline differs from itself"],
    ["Noise", ...noiseWords(noise)],
    ["Rounds run again", String(c.repeated), "because they were disturbed"],
    ["Seed", plan.seed, "of the random order"],
  ];
  return h("section", { "aria-labelledby": "trust-title" },
    h("h2", { id: "trust-title" }, "How far to trust it"),
    h("dl", { class: "tiles" }, tiles.map(([name, value, about]) =>
      h("div", { class: "tile" }, h("dt", {}, name), h("dd", {}, h("strong", {}, value), h("span", {}, about))))),
    warnings.length === 0 ? null : h("ul", { class: "warnings" }, warnings.map(({ environment, warning }) =>
      h("li", {}, h("strong", {}, environment ?? "The session"), `: ${warning.words}. `,
        h("span", { class: "advice" }, sentence(warning.advice))))),
  );
}

/** Words as a sentence; one that begins with a command keeps it as it is typed. */
const sentence = (words: string): string => `${words.startsWith("tare ") ? words : words.charAt(0).toUpperCase() + words.slice(1)}.`;

/** What the machine had left for the session: a figure, and what it means. */
function noiseWords({ stolen_ms, elapsed_ms, canary_least_ns: least, canary_most_ns: most }: Noise): [string, string] {
  const canary = least === null || most === null || least === 0 ? null
    : `a fixed piece of arithmetic took ${figure(least, "nanoseconds")} to ${figure(most, "nanoseconds")}`;
  if (stolen_ms !== null && elapsed_ms > 0) {
    return [`${percent(stolen_ms / elapsed_ms)} stolen`, canary === null ? "of the time, by the hypervisor" : `by the hypervisor; ${canary}`];
  }
  return canary === null || least === null || most === null ? ["unknown", "no counter tells"] : [`up to ${ratio(most / least)}`, canary];
}

/** Where the record is and how to measure the same again. */
export const foot = ({ report: { session }, record, again }: Page): HTMLElement =>
  footer([["Record", record], ["Again", again], ["Measured by", `tare ${session.tare}, SHA-256 ${session.binary}`]]);

/** The end of a page: lines with a name. */
export function footer(lines: [string, string | null][]): HTMLElement {
  return h("footer", {}, h("dl", {}, lines.filter(([, value]) => value !== null).map(([name, value]) =>
    h("div", {}, h("dt", {}, name), h("dd", {}, h("code", {}, value))))));
}
