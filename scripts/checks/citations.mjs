// SPDX-License-Identifier: Apache-2.0
// Every paper that code or a page cites stands in docs/papers.md, under the words it is cited by.
import { filesBelow, lineAt, readText } from "./tree.mjs";

const LIST = "docs/papers.md";
const isText = (path) => /\.(ts|mts|mjs|h|cc|cu|cuh|md)$/.test(path);
/** "(Hernandez-Juarez et al. 2016, eq. 3)": a name with a capital, perhaps more names, a year; or the number of a file of ours. */
const CITATION =
  /\(((?:\p{Lu}[\p{L}-]+)(?: et al\.| and \p{Lu}[\p{L}-]+)?(?: (?:19|20)\d\d)?)(?:, (?:eq|section|sections|alg|table|fig)[^)]*)\)|\[papers\/\d+/gu;

export default {
  name: "citations",
  run(root) {
    const listed = new Set([...readText(root, LIST).matchAll(/^\| ([^|]+?) \|/gm)].map(([, cited]) => cited));
    const problems = [];
    let count = 0;
    for (const path of filesBelow(root).filter(
      (file) => isText(file) && file !== LIST && !file.startsWith("test/"),
    )) {
      const text = readText(root, path);
      for (const match of text.matchAll(CITATION)) {
        count++;
        if (!listed.has(match[1]))
          problems.push(`${path}:${lineAt(text, match.index)}: "${match[0]}" is not in ${LIST}`);
      }
    }
    return { found: `${count} citations`, problems };
  },
};
