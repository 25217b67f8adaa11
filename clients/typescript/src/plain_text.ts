/** Texts that other people wrote, as they are safe to show: names, notes, sentences of refusals. */

const NAMED: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/**
 * Returns a text with each character escaped that can't be printed: `\\n`, `\\x1b`, `\\u200f`. A terminal obeys some of
 * them, and others forge lines or turn their direction.
 */
export function plainText(text: string): string {
  return text.replace(/(?! )[\p{C}\p{Z}]/gu, (character) => NAMED[character] ?? escaped(character));
}

/** Does so line by line, for a text of several lines such as a stack; further lines are indented. */
export function plainLines(text: string): string {
  return text.split("\n").map(plainText).join("\n    ");
}

function escaped(character: string): string {
  const hexadecimal = (character.codePointAt(0) ?? 0).toString(16);
  if (hexadecimal.length <= 2) return `\\x${hexadecimal.padStart(2, "0")}`;
  if (hexadecimal.length <= 4) return `\\u${hexadecimal.padStart(4, "0")}`;
  return `\\U${hexadecimal.padStart(8, "0")}`;
}
