// SPDX-License-Identifier: Apache-2.0
// The checks that are other people's programs: the TypeScript compiler over everything, and biome (lint and format).
import { spawnSync } from "node:child_process";
import { join } from "node:path";

function run(root, program, words) {
  const script = join(root, "node_modules", program);
  const result = spawnSync(process.execPath, [script, ...words], { cwd: root, encoding: "utf8" });
  if (result.status === 0) return { lines: [], output: result.stdout + result.stderr };
  const lines = `${result.stdout}${result.stderr}`.split("\n").filter((line) => line.trim() !== "");
  return { lines: lines.length > 0 ? lines : [`${program} ended with status ${result.status}`], output: "" };
}

export const types = {
  name: "types",
  run(root) {
    const { lines } = run(root, "typescript/bin/tsc", ["-p", "tsconfig.check.json", "--pretty", "false"]);
    return { found: "sources, tests and benchmarks", problems: lines };
  },
};

export const lint = {
  name: "lint and format",
  run(root) {
    const { lines, output } = run(root, "@biomejs/biome/bin/biome", ["check", "--colors=off", "."]);
    return { found: output.match(/Checked \d+ files/)?.[0].toLowerCase() ?? "", problems: lines };
  },
};
