// SPDX-License-Identifier: Apache-2.0
// How --help fits into a terminal. Where it is piped, its lines are as long as they are.
import { Help } from "commander";

/** Narrower terminals break the lines themselves. */
const MIN_COLUMNS = 60;
export const DEFAULT_COLUMNS = 80;
/** Maximum width of running text. */
const TEXT_COLUMNS = 104;
const INDENT = " ".repeat(6);

const plain = new Help();

/** Undefined: stdout is no terminal. One that does not know its width says 0. */
export function helpColumns(): number | undefined {
  const { isTTY, columns } = process.stdout;
  return isTTY ? Math.max(MIN_COLUMNS, columns || DEFAULT_COLUMNS) : undefined;
}

/** Paragraphs below the options. */
export function helpText(paragraphs: string): string {
  return plain.boxWrap(paragraphs, Math.min(TEXT_COLUMNS, helpColumns() ?? TEXT_COLUMNS));
}

/** Next to long names too little is left to wrap a description into: there it stands below its name. */
export const formatItem: Help["formatItem"] = (term, termWidth, description, helper) => {
  const columns = helpColumns();
  const { helpWidth = 0, minWidthToWrap } = helper;
  // Other widths belong to documents made of the help, such as manual pages.
  const fits = columns !== helpWidth || columns - termWidth - 4 >= minWidthToWrap;
  if (fits || description === "") return plain.formatItem.call(helper, term, termWidth, description, helper);
  const lines = helper.boxWrap(description, columns - INDENT.length).split("\n");
  return [`  ${term}`, ...lines.map((line) => INDENT + line)].join("\n");
};
