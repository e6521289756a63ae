// The language of the page: messages are English in the code; the page's data has their translations.

let words: Readonly<Record<string, string>> = {};

/** Sets the language and its translations, from the page's data. */
export function speak(language: string, found: Readonly<Record<string, string>> | null): void {
  words = found ?? {};
  document.documentElement.lang = language;
}

/** Marks a message that is translated elsewhere. */
export const message = (english: string): string => english;

/** Translates a message, with values in place of `{names}`. */
export function say(english: string, values: Readonly<Record<string, string | number>> = {}): string {
  return (words[english] ?? english).replace(/\{(\w+)\}/g, (whole, name: string) => (Object.hasOwn(values, name) ? String(values[name]) : whole));
}

/** Formats a count with its noun, `1 round` or `2 rounds`; other languages translate `{count} rounds`. */
export function counted(count: number, one: string, many: string): string {
  const other = words[`{count} ${many}`];
  return other === undefined ? `${count} ${count === 1 ? one : many}` : other.replaceAll("{count}", String(count));
}

/** Joins items as `a, b, c`. */
export const joined = (items: string[]): string => items.join(say(", "));

/** Joins names as `a, b and c`. */
export const listed = (names: string[]): string =>
  (names.length < 2 ? names.join("") : say("{first} and {last}", { first: joined(names.slice(0, -1)), last: names[names.length - 1] }));

/** Formats `2 % to 9 %`, or `2 %` if both ends are the same. */
export const range = (low: string | number, high: string | number): string => (low === high ? String(low) : say("{low} to {high}", { low, high }));

/** Measures a text in Latin letters: those of East Asia are nearly twice as wide. */
export const letters = (text: string): number =>
  [...text].reduce((sum, letter) => sum + (/[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/u.test(letter) ? 1.75 : 1), 0);
