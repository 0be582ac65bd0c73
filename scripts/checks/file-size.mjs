// SPDX-License-Identifier: Apache-2.0
// A tracked file is at most 1 MiB: recordings and pictures of that size belong elsewhere.
import { statSync } from "node:fs";
import { join } from "node:path";
import { filesBelow } from "./tree.mjs";

const MAX_BYTES = 1 << 20;

export default {
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
