// SPDX-License-Identifier: Apache-2.0
// Runs the built command line, and other programs that print JSON.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { root } from "./result-file.mjs";

export const PROGRAM = join(root, "dist/edge/cli/main.js");

/** Runs a program that prints JSON in its last line. @returns what it printed; throws with its stderr if it fails */
export function spawnJson(program, words, environment = {}) {
  const { status, stdout, stderr, error } = spawnSync(program, words.map(String), {
    encoding: "utf8",
    maxBuffer: 1 << 26,
    env: { ...process.env, ...environment },
  });
  if (status !== 0)
    throw new Error(`${program} ${words.join(" ")} exited with ${status}: ${stderr || error}`);
  return JSON.parse(stdout.trim().split("\n").at(-1));
}

/** Runs `depthwatt WORDS --json`, each setting with --set. */
export function runDepthwatt(words, settings = [], environment = {}) {
  const set = settings.flatMap((setting) => ["--set", setting]);
  return spawnJson(process.execPath, [PROGRAM, ...words, "--json", ...set], environment);
}
