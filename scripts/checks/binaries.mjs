// SPDX-License-Identifier: Apache-2.0
// Nothing compiled is committed: every file is text that can be reviewed, a picture of a page, or test data that says in its
// folder's README how it is made.
import { closeSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { filesBelow } from "./tree.mjs";

const ALLOWED = [
  { pattern: /^docs\/.*\.png$/, magic: "\x89PNG" },
  { pattern: /^test\/fuzz\/corpus\/[\w-]+\/[\w.-]+$/ },
];
/** What a machine runs, or holds other files: no folder may have it. */
const COMPILED = ["\x7fELF", "MZ", "\0asm", "PK\x03\x04", "\xca\xfe\xba\xbe", "\xcf\xfa\xed\xfe", "!<arch>"];

function headOf(root, path) {
  const bytes = Buffer.alloc(8192);
  const file = openSync(join(root, path), "r");
  const length = readSync(file, bytes);
  closeSync(file);
  return bytes.toString("latin1", 0, length);
}

export default {
  name: "no binaries",
  run(root) {
    const paths = filesBelow(root);
    const problems = [];
    let pictures = 0;
    for (const path of paths) {
      const head = headOf(root, path);
      if (COMPILED.some((magic) => head.startsWith(magic))) problems.push(`${path}: is a compiled file`);
      if (!head.includes("\0")) continue;
      const allowed = ALLOWED.find(({ pattern }) => pattern.test(path));
      if (allowed === undefined || (allowed.magic !== undefined && !head.startsWith(allowed.magic)))
        problems.push(`${path}: is not text: nobody can review it`);
      else pictures++;
    }
    return { found: `${paths.length} files, ${pictures} of them pictures or test data`, problems };
  },
};
