// The page of a report: reads its data and lays out its parts; plots come last, when they scroll into view.
import { cards } from "./cards";
import { checks } from "./checks";
import type { Cell, Page, Row } from "./data";
import { load } from "./data";
import { details } from "./detail";
import { h } from "./dom";
import { say, speak } from "./language";
import { facts } from "./facts";
import { alarms, foot, head, progress } from "./head";
import { framed, plots } from "./plot/all";
import { overview } from "./plot/overview";
import { articleTables } from "./plot/published";
import "./style.css";
import { MOST_COLUMNS, table } from "./table";
import { setAnswers } from "./words";

const { page, complete } = load();
speak(page.language, page.words);
const skip = document.querySelector(".skip");
if (skip !== null) skip.textContent = say("Skip to the table");
const main = h("main");

/** Adds the parts that are not null. */
function add(parts: (HTMLElement | null)[]): void {
  main.append(...parts.filter((part) => part !== null));
}

/** Continues when the page so far has been painted. */
function afterPaint(next: () => void): void {
  requestAnimationFrame(() => setTimeout(next));
}

/** Fades the lower edge of a part that scrolls while there is more below. */
function hintAtMore(part: HTMLElement): void {
  const look = (): void => { part.classList.toggle("cut", part.scrollTop + part.clientHeight < part.scrollHeight - 2); };
  part.addEventListener("scroll", look, { passive: true });
  new ResizeObserver(look).observe(part);
}

/** Paints the first part of the page first: building the table of a full study takes noticeably long. */
function show(page: Page, place: HTMLElement): void {
  setAnswers(page.answers);
  place.classList.toggle("many", page.report.subjects.length > 4);
  place.classList.toggle("crowd", page.report.subjects.length > MOST_COLUMNS);
  // Cells can be opened once the rounds have been unpacked.
  let opened = (_row: Row, _cell: Cell): void => {};
  const first = [cards(page), framed(page, (page, redraw) => overview(page, (row, cell) => opened(row, cell), redraw))].filter((part) => part !== null);
  place.append(head(page), main);
  add([progress(page), alarms(page), articleTables(page), first.length === 0 ? null : h("div", { class: "first" }, first), checks(page)]);
  document.querySelectorAll<HTMLElement>(".cards, .scrolls").forEach(hintAtMore);
  afterPaint(() => {
    complete();
    const { dialog, open, openAddressed } = details(page);
    opened = open;
    add([table(page, open)]);
    afterPaint(() => {
      add([...plots(page), facts(page)]);
      place.append(foot(page), dialog);
      openAddressed();
    });
  });
}

const place = document.getElementById("page") ?? document.body;
show(page, place);
