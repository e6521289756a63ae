// Elements from plain values. Text becomes a text node and nothing else: a record's strings cannot become markup.

type Child = Node | string | number | null | undefined | false;
type Attributes = Record<string, string | number | boolean | null | undefined | ((event: never) => void)>;

/** Creates an element with attributes (functions become listeners) and children. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: (Child | Child[])[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value as EventListener);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== false) {
      element.append(typeof child === "number" ? String(child) : child);
    }
  }
  return element;
}

/** Resolves a custom property under the current theme, as a colour that a saved file understands. */
export function colour(property: string): string {
  const swatch = h("span", { hidden: true });
  swatch.style.color = `var(${property})`;
  document.body.append(swatch);
  const found = getComputedStyle(swatch).color;
  swatch.remove();
  return found;
}

/** Creates a select with a label, which calls back with the chosen value. */
export function choice(
  label: string,
  options: [value: string, text: string][],
  changed: (value: string) => void,
  chosen = "",
): HTMLElement {
  const select = h(
    "select",
    { change: (event: Event) => changed((event.target as HTMLSelectElement).value) },
    options.map(([value, text]) => h("option", { value, selected: value === chosen }, text)),
  );
  return h("label", { class: "choice" }, h("span", {}, label), select);
}

/** Lets a line break inside a dotted name after a dot or an underscore. */
export function broken(name: string): (Node | string)[] {
  return name.split(/(?<=[._])/).flatMap((part) => [part, document.createElement("wbr")]);
}
