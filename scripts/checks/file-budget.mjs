// SPDX-License-Identifier: Apache-2.0
// A file is one idea: TypeScript at most 250 lines, C++ and CUDA at most 350. A tracked file is at most 1 MiB.
import { statSync } from "node:fs";
import { join } from "node:path";
import { filesBelow, filesIn, NATIVE_ENDINGS, readText, SOURCE_FOLDERS } from "./tree.mjs";

const LINES = [
  { endings: [".ts", ".mts", ".mjs"], most: 250 },
  { endings: NATIVE_ENDINGS, most: 350 },
];
const MOST_BYTES = 1 << 20;

export default {
  name: "file budget",
  run(root) {
    const problems = [];
    let count = 0;
    for (const { endings, most } of LINES) {
      for (const path of filesIn(root, [...SOURCE_FOLDERS, "scripts", "bench"], endings)) {
        count++;
        const lines = readText(root, path).split("\n").length - 1;
        if (lines > most)
          problems.push(`${path}: ${lines} lines, at most ${most}: ask whether it is two things`);
      }
    }
    for (const path of filesBelow(root)) {
      const { size } = statSync(join(root, path));
      if (size > MOST_BYTES) problems.push(`${path}: ${size} bytes, at most ${MOST_BYTES}`);
    }
    return { found: `${count} source files`, problems };
  },
};
