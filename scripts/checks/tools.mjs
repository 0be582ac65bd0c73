// SPDX-License-Identifier: Apache-2.0
// The checks that are other people's programs: the TypeScript compiler, biome (lint and format), clang-format.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join, posix } from "node:path";
import { formattedSources, unformatted } from "../format-native.mjs";
import { filesBelow, readText } from "./tree.mjs";

/** Runs a program of node_modules. */
function run(root, program, words) {
  const script = join(root, "node_modules", program);
  const options = { cwd: root, encoding: "utf8", maxBuffer: 2 ** 26 };
  return new Promise((resolve) => {
    execFile(process.execPath, [script, ...words], options, (error, stdout, stderr) => {
      if (!error) return resolve({ lines: [], output: stdout + stderr });
      const lines = `${stdout}${stderr}`.split("\n").filter((line) => line.trim() !== "");
      resolve({ lines: lines.length > 0 ? lines : [`${program}: ${error.message}`], output: "" });
    });
  });
}

/** Scripts that TypeScript imports and tsconfig.scripts.json does not list. */
function unlistedScripts(root) {
  const file = "tsconfig.scripts.json";
  const listed = existsSync(join(root, file)) ? JSON.parse(readText(root, file)).include : [];
  const sources = filesBelow(root).filter((path) => path.endsWith(".ts"));
  const imported = sources.flatMap((path) =>
    [...readText(root, path).matchAll(/^(?:import|export) [^;]*?from "(\.[^"]+\.mjs)";/gm)].map(([, name]) =>
      posix.join(posix.dirname(path), name),
    ),
  );
  return [...new Set(imported)]
    .filter((path) => !listed.includes(path))
    .map((path) => `${path}: TypeScript imports this script, and ${file} does not list it`);
}

export const types = {
  name: "types",
  async run(root) {
    const problems = [];
    // The live page has a browser's types, and JSX; the scripts that TypeScript imports are JavaScript.
    for (const project of ["tsconfig.check.json", "tsconfig.scripts.json", "clients/page"])
      if (existsSync(join(root, project)))
        problems.push(
          ...(await run(root, "@typescript/native/bin/tsc", ["-p", project, "--pretty", "false"])).lines,
        );
    return {
      found: "sources, tests, scripts that they import, and the live page",
      problems: [...problems, ...unlistedScripts(root)],
    };
  },
};

export const lint = {
  name: "lint and format",
  async run(root) {
    const { lines, output } = await run(root, "@biomejs/biome/bin/biome", ["check", "--colors=off", "."]);
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
