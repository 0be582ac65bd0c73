// SPDX-License-Identifier: Apache-2.0
// Writes cuda/facts.ts from the addon's facts of matchers and stages, as part of `npm run build`. Needs only
// the compiled addon, because the TypeScript sources are compiled with the result.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const FACTS_PATH = "cuda/facts.ts";

/** The text of cuda/facts.ts; undefined where the addon has not been compiled. */
export function factsText(root) {
  const addon = join(root, "build/Release/depthwatt.node");
  if (!existsSync(addon)) return undefined;
  const { matchers, stages } = createRequire(import.meta.url)(addon).facts();
  const text = `// SPDX-License-Identifier: Apache-2.0
// Generated from the addon by \`npm run build\`: edits here are lost. The facts are written in cuda/match/*/*.cpu.cc and
// cuda/**/*.stage.cc; cuda/setting.h explains them.

/** Every matcher, in the order of cuda/match/matchers.h. */
export const MATCHER_FACTS = ${JSON.stringify(matchers)} as const;

/** Every stage, in the order of cuda/stages.h, with the settings that it owns. */
export const STAGE_FACTS = ${JSON.stringify(stages)} as const;
`;
  const biome = join(root, "node_modules/@biomejs/biome/bin/biome");
  const words = [biome, "format", `--stdin-file-path=${FACTS_PATH}`];
  const formatted = spawnSync(process.execPath, words, { cwd: root, input: text, encoding: "utf8" });
  if (formatted.status !== 0) throw new Error(`biome could not format ${FACTS_PATH}: ${formatted.stderr}`);
  return formatted.stdout;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = dirname(dirname(fileURLToPath(import.meta.url)));
  const text = factsText(root);
  if (text === undefined) {
    console.error("error: the addon is not compiled\nhint: run 'npm run build' first");
    process.exit(1);
  }
  const path = join(root, FACTS_PATH);
  if (!existsSync(path) || readFileSync(path, "utf8") !== text) {
    writeFileSync(path, text);
    console.log(FACTS_PATH);
  }
}
