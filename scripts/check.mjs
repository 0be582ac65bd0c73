// SPDX-License-Identifier: Apache-2.0
// `npm run check`: runs every check that needs only the source tree, and prints one line per check.
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { papers, results } from "./checks/citations.mjs";
import commits from "./checks/commits.mjs";
import cycles from "./checks/cycles.mjs";
import { dependencies, lockFile } from "./checks/dependencies.mjs";
import { binaries, fileSize, headers } from "./checks/files.mjs";
import imports from "./checks/imports.mjs";
import includes from "./checks/includes.mjs";
import layers from "./checks/layers.mjs";
import { generatedPages, links, pageLengths, scripts } from "./checks/pages.mjs";
import stages from "./checks/stages.mjs";
import { lint, nativeFormat, types } from "./checks/tools.mjs";
import variables from "./checks/variables.mjs";
import { lowerAllowance, names, plainEnglish, prose } from "./checks/wording.mjs";
import words from "./checks/words.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const checks = [
  types,
  lint,
  nativeFormat,
  imports,
  cycles,
  layers,
  includes,
  stages,
  fileSize,
  headers,
  words,
  names,
  prose,
  plainEnglish,
  variables,
  generatedPages,
  pageLengths,
  links,
  scripts,
  papers,
  results,
  lockFile,
  dependencies,
  binaries,
  commits,
];

if (process.argv.includes("--lower")) lowerAllowance(root);

// The compiler and the linter run in their own processes, and the other checks meanwhile.
const runs = checks.map(async (check) => check.run(root));
let failures = 0;
for (const [i, check] of checks.entries()) {
  const { found, problems } = await runs[i];
  const good = problems.length === 0;
  console.log(
    `${good ? "ok  " : "BAD "} ${check.name.padEnd(22)} ${good ? found : `${problems.length} problems`}`,
  );
  for (const problem of problems) console.log(`       ${problem}`);
  if (!good) failures++;
}
if (failures > 0) {
  console.error(`${failures} of ${checks.length} checks failed`);
  process.exit(1);
}
