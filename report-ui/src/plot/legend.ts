// A legend inside a plot, so that a saved picture has it too.
import type { SymbolType } from "@observablehq/plot";
import { dot, text } from "@observablehq/plot";
import { colour } from "../dom";
import { fitted } from "./style";

/** A mark and its meaning; open marks are not filled. */
export interface Key { name: string; symbol: SymbolType; colour: string | undefined; open: boolean }
/** Keys of one kind, and its title. */
export interface Keys { title: string; keys: Key[] }

const LINE_HEIGHT = 20;
const LETTER = 6.5;
/** Distance from the middle of a mark to its name, and from a name to the next mark. */
const [NAME_AT, APART] = [11, 24];

interface Placed { key: Key | null; words: string; x: number; y: number }

/** Places the keys, from the top left corner of the picture; each group begins a new line. */
function placed(groups: Keys[], width: number): Placed[] {
  const out: Placed[] = [];
  let y = LINE_HEIGHT / 2;
  for (const { title, keys } of groups.filter((group) => group.keys.length > 0)) {
    out.push({ key: null, words: title, x: 0, y });
    let x = title.length * LETTER + APART;
    for (const key of keys) {
      const words = fitted(key.name, width - 40);
      const right = x + NAME_AT + words.length * LETTER;
      if (right > width && x > APART) [x, y] = [APART, y + LINE_HEIGHT];
      out.push({ key, words, x, y });
      x += NAME_AT + words.length * LETTER + APART;
    }
    y += LINE_HEIGHT;
  }
  return out;
}

/** Draws a legend above a plot with this left margin, and returns the room that it needs on top. */
export function legend(groups: Keys[], width: number, left: number) {
  const all = placed(groups, width);
  const height = Math.max(...all.map(({ y }) => y), 0) + LINE_HEIGHT;
  const at = (x: number, y: number) => ({ frameAnchor: "top-left" as const, dx: x - left, dy: y - height });
  const marks = all.flatMap(({ key, words, x, y }) => [
    key === null ? null : dot([0], {
      ...at(x, y), symbol: key.symbol, r: key.open ? 5 : 4,
      fill: key.open ? "none" : key.colour, stroke: key.open ? key.colour : "none", strokeWidth: 1.8,
    }),
    text([words], {
      ...at(x + (key === null ? 0 : NAME_AT), y), text: (of: string) => of, textAnchor: "start", lineAnchor: "middle",
      fill: colour(key === null ? "--muted" : "--ink"),
    }),
  ]);
  return { height, marks };
}
