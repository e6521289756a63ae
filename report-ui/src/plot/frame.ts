// A plot's frame: title, controls, saving as a file, values on hover and focus. A plot is drawn when it comes into view, when
// the browser is idle, or after a second: some browsers are never idle while a dialog is open.
import { h } from "../dom";
import { say } from "../language";

export interface Chart {
  id: string;
  title: string;
  about: string;
  controls?: HTMLElement | null;
  /** Draws for this many pixels; null if there is nothing to draw. */
  draw: (width: number) => SVGSVGElement | HTMLElement | null;
  /** Called with the words of a mark that was clicked, or tapped for the second time. */
  chosen?: (words: string) => void;
}

/** Distance from the view at which a plot is drawn, so that it is there when the reader arrives. */
const DRAW_AHEAD = "400px";
/** Milliseconds after which a plot is drawn though the browser was not idle. */
const LONGEST_WAIT = 1_000;
/** Pixels by which a tap may miss a mark. */
const FINGERTIP = 14;
/** Scale of a saved picture. */
const PNG_SCALE = 2;

const tip = h("div", { class: "tip", hidden: true });

/** Builds a chart with its frame, and the function that redraws it. */
export function frame(chart: Chart): { element: HTMLElement; redraw: () => void } {
  const canvas = h("div", { class: "canvas" });
  const element = h("figure", { class: "chart", id: chart.id },
    h("figcaption", {},
      h("div", {}, h("h3", {}, chart.title), h("p", {}, chart.about)),
      h("div", { class: "tools" }, chart.controls ?? null,
        h("button", { type: "button", class: "quiet", "aria-label": say("Save {title} as SVG", { title: chart.title }), click: () => saveSvg(canvas, chart.id) }, "SVG"),
        h("button", { type: "button", class: "quiet", "aria-label": say("Save {title} as PNG", { title: chart.title }), click: () => savePng(canvas, chart.id) }, "PNG"))),
    canvas);
  let seen = false;
  let width = 0;
  const redraw = (): void => {
    if (!seen) return;
    width = canvas.clientWidth;
    const drawn = width > 0 ? chart.draw(width) : null;
    canvas.replaceChildren(drawn ?? h("p", { class: "nothing" }, say("Nothing to draw.")));
    const svg = canvas.querySelector("svg");
    if (svg !== null) makeReadable(svg, `${chart.title}. ${chart.about}`, chart.chosen);
  };
  const show = (): void => { if (!seen) { seen = true; redraw(); } };
  const observer = new IntersectionObserver((entries) => {
    if (entries.some((entry) => entry.isIntersecting)) { observer.disconnect(); show(); }
  }, { rootMargin: DRAW_AHEAD });
  observer.observe(element);
  new ResizeObserver(() => { if (Math.abs(canvas.clientWidth - width) > 1) redraw(); }).observe(canvas);
  window.addEventListener("themechange", redraw);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  window.addEventListener("beforeprint", show);
  // Screenshots of the whole page, and programs that save it as a document, fire no print event.
  window.requestIdleCallback?.(show, { timeout: LONGEST_WAIT });
  return { element, redraw };
}

/** Shows the titles of marks on hover and on focus; arrow keys move between them. */
function makeReadable(svg: SVGSVGElement, label: string, chosen?: (words: string) => void): void {
  svg.setAttribute("role", "group");
  svg.setAttribute("aria-label", label);
  // The library labels its groups for programs; a label without a role tells a reader nothing.
  for (const group of svg.querySelectorAll("g[aria-label]")) group.removeAttribute("aria-label");
  const marks = [...svg.querySelectorAll<SVGElement>("title")].map((title) => {
    const mark = title.parentElement as unknown as SVGElement;
    mark.setAttribute("aria-label", title.textContent ?? "");
    mark.setAttribute("role", chosen === undefined ? "img" : "button");
    mark.setAttribute("tabindex", "-1");
    mark.classList.add("readable");
    title.remove();
    return mark;
  });
  marks[0]?.setAttribute("tabindex", "0");
  const markOf = (event: Event): SVGElement | undefined => marks.find((mark) => mark === (event.target as Element).closest(".readable"));
  svg.addEventListener("pointerover", (event) => { const mark = markOf(event); if (mark !== undefined) showTip(mark); });
  svg.addEventListener("pointerout", hideTip);
  svg.addEventListener("focusin", (event) => { const mark = markOf(event); if (mark !== undefined) showTip(mark); });
  svg.addEventListener("focusout", hideTip);
  if (chosen !== undefined) choosable(svg, marks, chosen);
  svg.addEventListener("keydown", (event) => {
    const mark = markOf(event);
    if (mark === undefined) return;
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const next = step === undefined ? undefined : marks[marks.indexOf(mark) + step];
    if (next === undefined) return;
    event.preventDefault();
    mark.setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
  });
}

/** Opens marks on a click, on Enter and, since a finger cannot hover, on the second tap. */
function choosable(svg: SVGSVGElement, marks: SVGElement[], chosen: (words: string) => void): void {
  svg.classList.add("choosable");
  let tapped: SVGElement | null = null;
  const choose = (mark: SVGElement): void => { hideTip(); chosen(mark.getAttribute("aria-label") ?? ""); };
  svg.addEventListener("click", (event) => {
    const mark = nearest(marks, event.clientX, event.clientY);
    if (mark === null) return;
    const isFirstTap = (event as PointerEvent).pointerType === "touch" && mark !== tapped;
    tapped = mark;
    if (isFirstTap) showTip(mark);
    else choose(mark);
  });
  svg.addEventListener("keydown", (event) => {
    const mark = marks.find((mark) => mark === event.target);
    if (mark !== undefined && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      choose(mark);
    }
  });
}

/** Finds the mark at a point, or the nearest within a fingertip. */
function nearest(marks: SVGElement[], x: number, y: number): SVGElement | null {
  let [found, least]: [SVGElement | null, number] = [null, FINGERTIP];
  for (const mark of marks) {
    const { left, right, top, bottom } = mark.getBoundingClientRect();
    const distance = Math.hypot(Math.max(left - x, 0, x - right), Math.max(top - y, 0, y - bottom));
    if (distance < least) [found, least] = [mark, distance];
  }
  return found;
}

function showTip(mark: SVGElement): void {
  // An open dialog is above everything else, so the tip must be inside it.
  (mark.closest("dialog") ?? document.body).append(tip);
  tip.textContent = mark.getAttribute("aria-label");
  tip.hidden = false;
  const at = mark.getBoundingClientRect();
  const own = tip.getBoundingClientRect();
  const left = Math.min(Math.max(at.left + at.width / 2 - own.width / 2, 6), window.innerWidth - own.width - 6);
  const above = at.top - own.height - 8;
  tip.style.left = `${left}px`;
  tip.style.top = `${above < 6 ? at.bottom + 8 : above}px`;
}

function hideTip(): void {
  tip.hidden = true;
}

/** Serialises the plot with the page's background and fonts. */
function svgText(canvas: HTMLElement): { text: string; width: number; height: number } | null {
  const svg = canvas.querySelector("svg");
  if (svg === null) return null;
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const { width, height } = svg.getBoundingClientRect();
  const style = getComputedStyle(svg);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height));
  copy.setAttribute("style", `color: ${style.color}; background: ${getComputedStyle(document.body).backgroundColor}; font-family: system-ui, sans-serif; font-size: ${style.fontSize}`);
  for (const mark of copy.querySelectorAll(".readable")) mark.removeAttribute("tabindex");
  return { text: new XMLSerializer().serializeToString(copy), width, height };
}

function save(blob: Blob, name: string): void {
  const address = URL.createObjectURL(blob);
  h("a", { href: address, download: name }).click();
  // The browser reads the blob after the click returns.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

function saveSvg(canvas: HTMLElement, name: string): void {
  const drawn = svgText(canvas);
  if (drawn !== null) save(new Blob([drawn.text], { type: "image/svg+xml" }), `tare-${name}.svg`);
}

function savePng(canvas: HTMLElement, name: string): void {
  const drawn = svgText(canvas);
  if (drawn === null) return;
  const image = new Image();
  image.addEventListener("load", () => {
    const picture = h("canvas", { width: Math.ceil(drawn.width * PNG_SCALE), height: Math.ceil(drawn.height * PNG_SCALE) });
    const context = picture.getContext("2d");
    if (context === null) return;
    context.fillStyle = getComputedStyle(document.body).backgroundColor;
    context.fillRect(0, 0, picture.width, picture.height);
    context.scale(PNG_SCALE, PNG_SCALE);
    context.drawImage(image, 0, 0, drawn.width, drawn.height);
    picture.toBlob((blob) => { if (blob !== null) save(blob, `tare-${name}.png`); });
  });
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(drawn.text)}`;
}
