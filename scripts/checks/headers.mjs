// SPDX-License-Identifier: Apache-2.0
// Every source file begins with its licence and then says in a comment what it is.
import { filesIn, NATIVE_ENDINGS, readText, SOURCE_FOLDERS } from "./tree.mjs";

const LICENCE = "// SPDX-License-Identifier: Apache-2.0";

export default {
  name: "file headers",
  run(root) {
    const problems = [];
    const folders = [...SOURCE_FOLDERS, "scripts", "test", "bench", "packaging"];
    const paths = filesIn(root, folders, [".ts", ".mts", ".mjs", ...NATIVE_ENDINGS]);
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
