// SPDX-License-Identifier: Apache-2.0
// An environment variable of ours that is read is also one that the configuration knows; an unknown one is refused there.
import { filesIn, lineAt, NATIVE_ENDINGS, readText, SOURCE_FOLDERS } from "./tree.mjs";

const READ = /\b(?:getenv\(\s*"|env\.|environment\.|env\[")(DEPTHWATT_[A-Z0-9_]+)/g;

export default {
  name: "environment variables",
  run(root) {
    const lists = readText(root, "edge/config/layers.ts").matchAll(
      /_VARIABLES\b[^{[]*[{[]([\s\S]*?)\n[}\]];/g,
    );
    const text = [...lists].map(([, list]) => list).join("\n");
    const known = new Set([...text.matchAll(/^\s*"?(DEPTHWATT_[A-Z0-9_]+)"?[:,]/gm)].map(([, name]) => name));
    const problems = [];
    const paths = filesIn(
      root,
      [...SOURCE_FOLDERS, "bench", "packaging", "scripts", "test"],
      [".ts", ".mjs", ...NATIVE_ENDINGS],
    );
    for (const path of paths) {
      const text = readText(root, path);
      for (const match of text.matchAll(READ)) {
        if (known.has(match[1])) continue;
        problems.push(
          `${path}:${lineAt(text, match.index)}: ${match[1]} is not in OTHER_VARIABLES or TEST_VARIABLES (edge/config/layers.ts)`,
        );
      }
    }
    return { found: `${known.size} variables`, problems };
  },
};
