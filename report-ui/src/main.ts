// The page of a report: reads its data and lays out its parts, plots last, when they come into view.
import { load } from "./data";
import { details } from "./detail";
import { h } from "./dom";
import { facts } from "./facts";
import { alarms, certificate, foot, head, layers } from "./overview";
import { plots } from "./plot/all";
import "./style.css";
import { table } from "./table";

const page = load();
const main = h("main");

/** Adds parts that there are. */
function add(parts: (HTMLElement | null)[]): void {
  main.append(...parts.filter((part) => part !== null));
}

/** Goes on when what is there has been painted. */
function afterPaint(next: () => void): void {
  requestAnimationFrame(() => setTimeout(next));
}

// What is read first is painted first; a table of a full study takes longer than the eye waits.
document.getElementById("page")?.classList.toggle("many", page.report.subjects.length > 4);
document.getElementById("page")?.append(head(page), main);
add([alarms(page), layers(page), certificate(page)]);
afterPaint(() => {
  const { dialog, open } = details(page);
  add([table(page, open)]);
  afterPaint(() => {
    add([...plots(page), facts(page)]);
    document.getElementById("page")?.append(foot(page), dialog);
  });
});
