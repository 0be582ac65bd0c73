// SPDX-License-Identifier: Apache-2.0
// Copies the TypeScript declarations of a library: those of its entries and all that they import by relative paths.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

/**
 * Replaces the folder `to` by the declarations that the entries need.
 * @param {string} from folder that tsc wrote to
 * @param {string[]} entries modules of that folder, without their ending
 * @param {string} to
 * @param {(text: string) => string} edit changes the text of each file
 */
export function copyTypes(from, entries, to, edit = (text) => text) {
  rmSync(to, { recursive: true, force: true });
  const waiting = entries.map((entry) => join(from, `${entry}.d.ts`));
  const copied = new Set();
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (copied.has(path)) continue;
    copied.add(path);
    const target = join(to, relative(from, path));
    mkdirSync(dirname(target), { recursive: true });
    const text = edit(readFileSync(path, "utf8")).replace(/^\/\/# sourceMappingURL=.*\n?/m, "");
    writeFileSync(target, text);
    for (const [, name] of text.matchAll(/(?:from |import\()"(\.[^"]+)\.js"/g))
      waiting.push(join(dirname(path), `${name}.d.ts`));
  }
}
