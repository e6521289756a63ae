// The language of the page: English stands in the code, and the page's data has what another language has instead.

let words: Readonly<Record<string, string>> = {};

/** Takes the words of the page's data; none of them in English. */
export function speak(language: string, found: Readonly<Record<string, string>> | null): void {
  words = found ?? {};
  document.documentElement.lang = language;
}

/** A message that is said elsewhere than where it stands. */
export const message = (english: string): string => english;

/** A message with values in place of `{names}`. */
export function say(english: string, values: Readonly<Record<string, string | number>> = {}): string {
  return (words[english] ?? english).replace(/\{(\w+)\}/g, (whole, name: string) => (Object.hasOwn(values, name) ? String(values[name]) : whole));
}

/** `1 round`, `2 rounds`: a count with its noun, which other languages have as `{count} rounds`. */
export function counted(count: number, one: string, many: string): string {
  const other = words[`{count} ${many}`];
  return other === undefined ? `${count} ${count === 1 ? one : many}` : other.replaceAll("{count}", String(count));
}

/** `a, b, c` */
export const joined = (items: string[]): string => items.join(say(", "));

/** `a, b and c` */
export const listed = (names: string[]): string =>
  (names.length < 2 ? names.join("") : say("{first} and {last}", { first: joined(names.slice(0, -1)), last: names[names.length - 1] }));

/** `2 % to 9 %`, or `2 %` where both are the same. */
export const range = (low: string | number, high: string | number): string => (low === high ? String(low) : say("{low} to {high}", { low, high }));

/** A text as wide as this many Latin letters: those of East Asia are nearly twice as wide. */
export const letters = (text: string): number =>
  [...text].reduce((sum, letter) => sum + (/[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/u.test(letter) ? 1.75 : 1), 0);
