// SPDX-License-Identifier: Apache-2.0
// node --import of this file: the names of all packages that a program loads, one a line, into the file LOADED_MODULES.
import { appendFileSync } from "node:fs";
import { Module, register } from "node:module";

const note = (place) => {
  const name = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(place)?.[1];
  if (name) appendFileSync(process.env.LOADED_MODULES, `${name}\n`);
};
const source = `import { appendFileSync } from "node:fs";
export async function load(url, context, next) {
  const name = /node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url)?.[1];
  if (name) appendFileSync(${JSON.stringify(process.env.LOADED_MODULES)}, name + "\\n");
  return next(url, context);
}`;
register(`data:text/javascript,${encodeURIComponent(source)}`);
const resolveFilename = Module._resolveFilename;
Module._resolveFilename = function (...words) {
  const found = resolveFilename.apply(this, words);
  note(found);
  return found;
};
