// SPDX-License-Identifier: Apache-2.0
// Links between our own pages, and the pages that our code names, lead somewhere: the file is there, and the heading in it.
import { existsSync, statSync } from "node:fs";
import { join, posix } from "node:path";
import { filesBelow, filesIn, NATIVE_ENDINGS, readText, SOURCE_FOLDERS } from "./tree.mjs";

/** A heading's anchor, as GitHub makes it. */
const anchorOf = (heading) =>
  heading
    .toLowerCase()
    .replace(/[`*]/g, "")
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");

function anchors(text) {
  return new Set([...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => anchorOf(heading.trim())));
}

export default {
  name: "links",
  run(root) {
    const problems = [];
    let count = 0;
    for (const path of filesBelow(root).filter((file) => file.endsWith(".md"))) {
      const text = readText(root, path)
        .replace(/^```[\s\S]*?^```/gm, "")
        .replace(/`[^`\n]*`/g, "");
      for (const [, link] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
        if (/^[a-z]+:/.test(link)) continue;
        count++;
        const [file, anchor] = link.split("#");
        const target = file === "" ? path : posix.join(posix.dirname(path), file);
        if (!existsSync(join(root, target))) problems.push(`${path}: ${link} leads nowhere`);
        else if (
          anchor &&
          statSync(join(root, target)).isFile() &&
          !anchors(readText(root, target)).has(anchor)
        ) {
          problems.push(`${path}: ${link}: no such heading`);
        }
      }
    }
    // What an error message or a comment sends the reader to.
    for (const path of filesIn(root, SOURCE_FOLDERS, [".ts", ...NATIVE_ENDINGS])) {
      for (const [page] of readText(root, path).matchAll(/\bdocs\/[\w/.-]+\.md\b/g)) {
        count++;
        if (!existsSync(join(root, page))) problems.push(`${path}: names ${page}, which is not there`);
      }
    }
    return { found: `${count} links`, problems };
  },
};
