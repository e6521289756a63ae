// How a session stands while it runs, as the server of this page tells; on a saved page there is none of it.
import { h } from "./dom";
import { counted, say } from "./language";
import { duration } from "./number";

/** As crates/tare-report/src/html/live.rs writes it. */
interface Standing {
  planned: boolean; trials: number; failures: number; repeated: number; round: number; rounds: number | null;
  elapsed_s: number; budget_s: number | null; label: string | null; environment: string | null;
  ending: "complete" | "interrupted" | "baseline_failed" | "broken_off" | null;
}

/** After so long without news the page says so: a session that was killed tells nothing. */
const QUIET_MS = 15_000;

/** The progress of the session. Shows the figures anew when there is a plan, when somebody asks, and at the end. */
export function live(): HTMLElement {
  const bar = h("progress", { max: 1, value: 0, "aria-label": say("Progress of the session") });
  const title = h("h2", { id: "live-title" }, say("The session is running"));
  const counts = h("p", { class: "counts" }, say("Waiting for the record to grow."));
  const now = h("p", { class: "now" });
  const status = h("p", { class: "status", role: "status" });
  const refresh = h("button", { type: "button", class: "quiet", click: () => window.location.reload() }, say("Show the results so far"));
  let planned: boolean | null = null;
  let heard_ms = Date.now();
  const events = new EventSource("events");
  events.addEventListener("standing", (event) => {
    const standing = JSON.parse((event as MessageEvent<string>).data) as Standing;
    heard_ms = Date.now();
    if (standing.ending !== null || (planned === false && standing.planned)) {
      events.close();
      window.location.reload();
      return;
    }
    planned = standing.planned;
    bar.value = share(standing);
    title.textContent = standing.planned ? say("The session is running") : say("Environments start and cases are calibrated");
    counts.textContent = words(standing);
    now.textContent = standing.environment === null ? "" : `${standing.environment}: ${standing.label ?? ""}`;
    status.textContent = "";
  });
  events.addEventListener("error", () => { status.textContent = say("The server does not answer; the session may still run."); });
  window.setInterval(() => {
    const quiet_ms = Date.now() - heard_ms;
    if (quiet_ms > QUIET_MS && status.textContent === "") status.textContent = say("No news for {time}.", { time: duration(quiet_ms / 1000) });
  }, QUIET_MS / 3);
  return h("section", { class: "live", "aria-labelledby": "live-title" },
    h("div", { class: "brand" }, title, refresh), bar, counts, now, status,
    h("p", { class: "advice" }, say("A browser on the machine that is measured is interference: open this report rarely.")));
}

/** How far it is: by time where that is given, else by rounds; nowhere where decisions alone end it. */
function share({ elapsed_s, budget_s, round, rounds }: Standing): number {
  if (budget_s !== null && budget_s > 0) return Math.min(elapsed_s / budget_s, 1);
  return rounds === null || rounds === 0 ? 0 : Math.min(Math.max(round - 1, 0) / rounds, 1);
}

/** Time and decisions end a session without a number of rounds of its own. */
const rounds = ({ round, rounds }: Standing): string => (rounds === null ? say("round {round}", { round }) : say("round {round} of {planned}", { round, planned: rounds }));

function words(s: Standing): string {
  return [
    s.planned ? rounds(s) : null,
    counted(s.trials, "trial", "trials"),
    s.elapsed_s > 0 ? duration(s.elapsed_s) : null,
    s.failures > 0 ? counted(s.failures, "failure", "failures") : null,
    s.repeated > 0 ? say("{rounds} repeated", { rounds: counted(s.repeated, "round", "rounds") }) : null,
  ].filter((part) => part !== null).join(" · ");
}
