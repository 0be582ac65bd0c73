// SPDX-License-Identifier: Apache-2.0
// `node test/sanitize/sanitize.mjs [--addon NAME] [--quick] [--keep FOLDER] [--out FILE] [vitest's words]`: tests with both addons, or a named
// one, under AddressSanitizer and UBSan, in a copy of the tree; without words, what `npm test` runs. --quick leaves the bodies
// in vectors as they were built without. A folder that is kept has its addons built once. Prints one JSON object; ends with 1 where a
// sanitizer says anything, or a test fails.
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeRun, formatResult } from "../../bench/shared/result-file.mjs";
import { ADDONS, buildAddon, copyTree, root, SANITIZERS, sanitizerEnvironment } from "./build.mjs";
import { endCleanly, run, writeWhole } from "./end.mjs";

const words = process.argv.slice(2);
function taken(name) {
  const at = words.indexOf(name);
  return at < 0 ? undefined : words.splice(at, 2)[1];
}
const out = taken("--out");
const kept = taken("--keep");
const named = taken("--addon");
const quick = words.includes("--quick") && words.splice(words.indexOf("--quick"), 1).length > 0;
if (named !== undefined && !(named in ADDONS)) {
  console.error(`error: --addon: expected one of ${Object.keys(ADDONS).join(", ")}, got ${named}`);
  process.exit(2);
}
const addons = named === undefined ? Object.keys(ADDONS) : [named];
const tests = words.length > 0 ? words : ["--project=!long-*"];
const folder = kept ?? mkdtempSync(join(tmpdir(), "depthwatt-sanitize-"));
endCleanly(() => {
  if (kept === undefined) rmSync(folder, { recursive: true, force: true });
});
const TIMEOUT_MS = 300_000;
const copy = join(folder, "tree");
const found = join(folder, "found");

/** Programs of others are called as ever: a sanitizer in them finds nothing of ours, and breaks some. */
const FOREIGN = ["g++", "gcc", "cc", "git", "chromium", "gst-launch-1.0", "ffmpeg", "tar"];
function shims() {
  const folderOfShims = join(folder, "shims");
  mkdirSync(folderOfShims, { recursive: true });
  for (const name of FOREIGN) {
    const where = spawnSync("which", [name], { encoding: "utf8" }).stdout.trim();
    if (where === "") continue;
    writeFileSync(join(folderOfShims, name), `#!/bin/sh\nunset LD_PRELOAD\nexec ${where} "$@"\n`);
    chmodSync(join(folderOfShims, name), 0o755);
  }
  return folderOfShims;
}

/**
 * Vitest does not hand a --hookTimeout of its command line on to projects, so a configuration around the copy's own sets it. It
 * also leaves out the global setup, which would build the addons again without sanitizers.
 */
function config() {
  const file = join(folder, "vitest.config.mjs");
  const own = JSON.stringify(join(copy, "vitest.config.ts"));
  writeFileSync(
    file,
    `import own from ${own};\nexport default { ...own, test: { ...own.test, testTimeout: ${TIMEOUT_MS}, hookTimeout: ${TIMEOUT_MS}, globalSetup: [] } };\n`,
  );
  return file;
}

const began = Date.now();
const stamp = join(folder, "built");
const asked = JSON.stringify({ addons, quick });
if (!existsSync(stamp) || readFileSync(stamp, "utf8") !== asked) {
  rmSync(stamp, { force: true });
  await copyTree(copy);
  for (const addon of addons) await buildAddon(copy, addon, { quick });
  writeFileSync(stamp, asked);
}
const builtSeconds = (Date.now() - began) / 1000;
console.error(`${addons.join(" and ")} built with ${SANITIZERS.join(" ")} in ${builtSeconds.toFixed(0)} s`);

rmSync(found, { recursive: true, force: true });
mkdirSync(found, { recursive: true });
const results = join(folder, "results.json");
rmSync(results, { force: true });
const env = {
  ...process.env,
  ...sanitizerEnvironment(found),
  PATH: `${shims()}:${process.env.PATH}`,
  SANITIZE_RESULTS: results,
};
const reporters = ["--reporter=default", `--reporter=${join(root, "test/sanitize/failures.mjs")}`];
const ran = await run(
  process.execPath,
  [
    join(copy, "node_modules/vitest/vitest.mjs"),
    ...["run", "--root", copy, "--config", config()],
    ...[`--testTimeout=${TIMEOUT_MS}`, ...reporters, ...tests],
  ],
  // The tests' output is not this script's answer.
  { cwd: copy, env, stdio: ["ignore", process.stderr, process.stderr] },
);
const reports = readdirSync(found).map((name) => readFileSync(join(found, name), "utf8"));
const nothing = { testFiles: 0, passed: 0, skipped: 0, failed: [{ file: "", test: "", says: "no run" }] };
const { failed, ...counts } = existsSync(results) ? JSON.parse(readFileSync(results, "utf8")) : nothing;
const report = {
  what: `tests with ${addons.join(" and ")} under ${SANITIZERS[0]}: test/sanitize/sanitize.mjs ${tests.join(" ")}`,
  ...describeRun(),
  failed,
  sanitizerReports: reports.map((text) => text.slice(0, 4000)),
  rows: [
    {
      kind: "measured",
      seconds: Math.round((Date.now() - began) / 1000),
      buildSeconds: Math.round(builtSeconds),
      vectors: quick ? "not watched" : "AddressSanitizer",
      ...counts,
    },
  ],
};
if (out !== undefined) writeWhole(out, formatResult(report));
console.log(JSON.stringify(report));
if (ran.status !== 0 || reports.length > 0 || failed.length > 0) process.exitCode = 1;
