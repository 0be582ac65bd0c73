// SPDX-License-Identifier: Apache-2.0
// Checks of single files: their size, their first lines, and that they are text.
import { closeSync, openSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { filesBelow, filesIn, NATIVE_ENDINGS, readText, SOURCE_FOLDERS } from "./tree.mjs";

/** Recordings and large images belong elsewhere. */
const MAX_BYTES = 1 << 20;

export const fileSize = {
  name: "file size",
  run(root) {
    const paths = filesBelow(root);
    const problems = paths.flatMap((path) => {
      const { size } = statSync(join(root, path));
      return size > MAX_BYTES ? [`${path}: ${size} bytes, at most ${MAX_BYTES}`] : [];
    });
    return { found: `${paths.length} files`, problems };
  },
};

const LICENCE = "// SPDX-License-Identifier: Apache-2.0";

/** Every source file begins with its licence and a comment that says what it is. */
export const headers = {
  name: "file headers",
  run(root) {
    const problems = [];
    const folders = [...SOURCE_FOLDERS, "scripts", "test", "bench", "packaging"];
    const paths = filesIn(root, folders, [".ts", ".mjs", ...NATIVE_ENDINGS]);
    for (const path of paths) {
      const lines = readText(root, path).split("\n");
      if (lines[0].startsWith("#!")) lines.shift();
      if (lines[0] !== LICENCE) problems.push(`${path}: expected the first line to be "${LICENCE}"`);
      else if (!/^(\/\/|\/\*\*) ?\S/.test(lines[1]))
        problems.push(`${path}: line 2 says what the file is, in a comment`);
    }
    return { found: `${paths.length} files`, problems };
  },
};

/** Test data says in its folder's README how it is made. */
const ALLOWED = [
  { pattern: /^(docs|test\/viewer\/looks)\/.*\.png$/, magic: "\x89PNG" },
  { pattern: /^docs\/.*\.webp$/, magic: "RIFF" },
  { pattern: /^test\/data\/[\w-]+\.csv\.gz$/, magic: "\x1f\x8b" },
  { pattern: /^test\/fuzz\/corpus\/[\w-]+\/[\w.-]+$/ },
];
/** Signatures of executables and archives: no folder may have such a file. */
const COMPILED = ["\x7fELF", "MZ", "\0asm", "PK\x03\x04", "\xca\xfe\xba\xbe", "\xcf\xfa\xed\xfe", "!<arch>"];

function readHead(root, path) {
  const bytes = Buffer.alloc(8192);
  const file = openSync(join(root, path), "r");
  const length = readSync(file, bytes);
  closeSync(file);
  return bytes.toString("latin1", 0, length);
}

/** Nothing compiled is committed: every file is text that can be reviewed, a picture of a page, or test data. */
export const binaries = {
  name: "no binaries",
  run(root) {
    const paths = filesBelow(root);
    const problems = [];
    let pictures = 0;
    for (const path of paths) {
      const head = readHead(root, path);
      if (COMPILED.some((magic) => head.startsWith(magic))) problems.push(`${path}: is a compiled file`);
      if (!head.includes("\0")) continue;
      const allowed = ALLOWED.find(({ pattern }) => pattern.test(path));
      if (allowed === undefined || (allowed.magic !== undefined && !head.startsWith(allowed.magic)))
        problems.push(`${path}: is not text: it cannot be reviewed`);
      else pictures++;
    }
    return { found: `${paths.length} files, ${pictures} of them pictures or test data`, problems };
  },
};
