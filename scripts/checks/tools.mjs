// SPDX-License-Identifier: Apache-2.0
// The checks that are other people's programs: the TypeScript compiler, biome (lint and format), clang-format.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { formattedSources, unformatted } from "../format-native.mjs";

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
    // The live page is a project of its own: a browser's types, and JSX.
    const problems = ["tsconfig.check.json", "clients/page"]
      .filter((project) => existsSync(join(root, project)))
      .flatMap((project) => run(root, "typescript/bin/tsc", ["-p", project, "--pretty", "false"]).lines);
    return { found: "sources, tests, benchmarks and the live page", problems };
  },
};

export const lint = {
  name: "lint and format",
  run(root) {
    const { lines, output } = run(root, "@biomejs/biome/bin/biome", ["check", "--colors=off", "."]);
    return { found: output.match(/Checked \d+ files/)?.[0].toLowerCase() ?? "", problems: lines };
  },
};

export const nativeFormat = {
  name: "C++ and CUDA format",
  async run(root) {
    const problems = (await unformatted(root)).map(
      ({ path }) => `${path}: not as clang-format lays it out: npm run format`,
    );
    return { found: `${formattedSources(root).length} files`, problems };
  },
};
