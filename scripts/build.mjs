// SPDX-License-Identifier: Apache-2.0
// `npm run build`: builds the addons and the TypeScript, and records the sources. A second build in the same tree waits for the
// first. A failed build and an interrupted one leave the older record, so the next run of tests builds again.
//   node scripts/build.mjs [--if-stale]   --if-stale: does nothing if no source has changed since the last build
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isBuilt, recordBuild, sourcesKey } from "./build-stamp.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

function build() {
  const key = sourcesKey(root);
  const steps = [
    [process.execPath, "scripts/build-native.mjs"],
    [process.execPath, "scripts/facts.mjs"],
    ["npm", "run", "--silent", "build:ts"],
  ];
  for (const [program, ...words] of steps) {
    const { status, error } = spawnSync(program, words, { cwd: root, stdio: "inherit" });
    if (error) throw error;
    if (status !== 0) return false;
  }
  recordBuild(root, key);
  return true;
}

if (process.argv.includes("--if-stale") && isBuilt(root) && existsSync(join(root, "dist/edge/cli/main.js")))
  process.exit(0);
try {
  const { locked } = await import("v4l2-camera/build.mjs");
  if (!(await locked(join(root, "build"), build))) process.exitCode = 1;
} catch (error) {
  const isMissing = error.code === "ERR_MODULE_NOT_FOUND";
  const hint = isMissing ? "Run 'npm ci' first." : "Is the disk full? The next build begins again.";
  console.error(`error: the build did not finish: ${error.message}\nhint: ${hint}`);
  process.exitCode = 1;
}
