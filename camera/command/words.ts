// SPDX-License-Identifier: Apache-2.0
// A command line as words, without a shell: quotes group, nothing is expanded.
import { DepthwattError } from "../../core/index.js";

/** Words that only a shell understands: as a separate word, they were meant for one. */
const FOR_A_SHELL = /^([|&;<>]|&&|\|\||>>|\d?>&?\d?)$/;

function refuse(command: string, text: string): never {
  throw new DepthwattError("CONFIG_INVALID", `expected a command, ${text}`, { context: { command } });
}

/**
 * Blanks separate words; '...' is taken as it stands; "..." and a backslash outside of quotes take the next character as it
 * stands. Variables, globs, pipes and redirections mean nothing.
 * @throws DepthwattError CONFIG_INVALID for nothing at all, a quote without its other half, a word that is for a shell
 */
export function splitCommand(command: string): [program: string, ...words: string[]] {
  const words: string[] = [];
  let word: string | undefined;
  let quoted = false;
  const finish = () => {
    if (word === undefined) return;
    if (!quoted && FOR_A_SHELL.test(word))
      refuse(command, `got one with ${word}, which only a shell understands`);
    words.push(word);
    word = undefined;
    quoted = false;
  };
  for (let at = 0; at < command.length; at++) {
    const letter = command[at]!;
    if (/\s/.test(letter)) {
      finish();
    } else if (letter === "'" || letter === '"') {
      const end = closing(command, at);
      if (end === -1) refuse(command, `got one in which ${letter} is opened and not closed`);
      const inner = command.slice(at + 1, end);
      word = (word ?? "") + (letter === '"' ? inner.replace(/\\(["\\])/g, "$1") : inner);
      quoted = true;
      at = end;
    } else if (letter === "\\" && at + 1 < command.length) {
      word = (word ?? "") + command[++at]!;
      quoted = true;
    } else {
      word = (word ?? "") + letter;
    }
  }
  finish();
  if (words.length === 0 || words[0] === "") refuse(command, "got none");
  return words as [string, ...string[]];
}

/** Where the quote at `from` is closed; -1 where it is not. */
function closing(command: string, from: number): number {
  const quote = command[from]!;
  for (let at = from + 1; at < command.length; at++) {
    if (quote === '"' && command[at] === "\\") at++;
    else if (command[at] === quote) return at;
  }
  return -1;
}

/** @throws DepthwattError CONFIG_INVALID */
export function commandWords(command: string, shell: boolean): [program: string, ...words: string[]] {
  return shell ? ["/bin/sh", "-c", command] : splitCommand(command);
}
