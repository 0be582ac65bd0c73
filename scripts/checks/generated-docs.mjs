// SPDX-License-Identifier: Apache-2.0
// The reference pages that are made from the code say what the code says now.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

export default {
  name: "generated pages",
  async run(root) {
    if (!existsSync(join(root, "dist/edge/config/index.js"))) {
      return { found: "", problems: ["dist is not built: run 'npm run build:ts' first"] };
    }
    const { generatePages } = await import(pathToFileURL(join(root, "scripts/docs.mjs")).href);
    const pages = await generatePages(root);
    const problems = Object.entries(pages).flatMap(([path, text]) => {
      const file = join(root, path);
      if (!existsSync(file)) return [`${path} is missing: run 'npm run docs'`];
      return readFileSync(file, "utf8") === text ? [] : [`${path} is stale: run 'npm run docs'`];
    });
    return { found: `${Object.keys(pages).length} pages`, problems };
  },
};
