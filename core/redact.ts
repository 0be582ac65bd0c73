// SPDX-License-Identifier: Apache-2.0
// Removes from text what must not be shown: passwords in URLs, and characters that control a terminal. Runs in a
// browser too.

/** Replaces a secret in texts. */
export const HIDDEN = "(hidden)";

/**
 * Hides the password inside URLs: mqtt://anna:secret@host becomes mqtt://anna:(hidden)@host. One that holds an @ continues to the
 * last, but not beyond a quotation mark: a line of JSON stays one.
 */
export function redactUrl(text: string): string {
  return text.replace(/(\b[a-z]+:\/\/[^\s/:@]*):[^\s/@]*@(?:[^\s/@"]*@)*/gi, `$1:${HIDDEN}@`);
}

/**
 * The same for one text that was to be a URL and is none: its password may hold blanks, slashes and @, or stand behind no
 * scheme at all.
 */
export function redactBrokenUrl(text: string): string {
  // Not one expression: for text of colons without an @ that would restart at each of them.
  const end = text.lastIndexOf("@");
  const begin = text.slice(0, Math.max(end, 0)).search(/:(?!\/\/)/);
  return begin < 0 ? text : `${text.slice(0, begin)}:${HIDDEN}${text.slice(end)}`;
}

/**
 * Returns the text with control characters, invisible ones and those that change the direction of writing as \uXXXX, so that a
 * name from a file or the network cannot move the cursor or pretend to be another one. Line ends stay.
 */
export function printable(text: string): string {
  const unsafe =
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones meant
    /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
  return text.replace(unsafe, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}
