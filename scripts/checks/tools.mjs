// SPDX-License-Identifier: Apache-2.0
// The checks that are other people's programs: the TypeScript compiler, biome (lint and format), clang-format.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { formattedSources, unformatted } from "../format-native.mjs";
import { filesBelow, readText } from "./tree.mjs";

/** Runs a program of node_modules and returns what it prints if it fails. */
function run(root, program, words) {
  const script = join(root, "node_modules", program);
  const options = { cwd: root, encoding: "utf8", maxBuffer: 2 ** 26 };
  return new Promise((resolve) => {
    execFile(process.execPath, [script, ...words], options, (error, stdout, stderr) => {
      if (!error) return resolve([]);
      const lines = `${stdout}${stderr}`.split("\n").filter((line) => line.trim() !== "");
      resolve(lines.length > 0 ? lines : [`${program}: ${error.message}`]);
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

/** tsc projects, and the file in which tsc lists what it read for each. */
const PROJECTS = {
  "tsconfig.check.json": "build/tsconfig.check.tsbuildinfo",
  "tsconfig.scripts.json": "build/tsconfig.scripts.tsbuildinfo",
  // The live page has a browser's types, and JSX.
  "clients/page": "build/tsconfig.page.tsbuildinfo",
};

/** Reads a JSON file; undefined if it is missing or incomplete. */
function readJson(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return undefined;
  }
}

/** Returns a hash of the names of all files that tsc may read: a new or deleted file can change what an import means. */
const hashNames = (root) =>
  createHash("sha256")
    .update(
      filesBelow(root)
        .filter((path) => /\.([cm]?[jt]sx?|json)$/.test(path))
        .join("\n"),
    )
    .digest("hex");

/**
 * Runs tsc unless nothing that it read has changed since its last run without errors. Status change times are compared, because
 * they also show a file that was replaced by an older one. A file that changes while tsc runs is checked again by the next run.
 */
async function typeProblems(root, project, buildInfo) {
  const record = join(root, buildInfo.replace("tsbuildinfo", "passed.json"));
  const passed = readJson(record);
  const startMs = Date.now();
  const names = hashNames(root);
  if (passed?.names === names && isUnchanged(root, buildInfo, passed.startMs)) return [];
  const lines = await run(root, "typescript/bin/tsc", ["-p", project, "--pretty", "false"]);
  if (lines.length === 0) writeFileSync(record, JSON.stringify({ startMs, names }));
  return lines;
}

/** Returns whether every file that tsc read last time, and what says how to read them, is older than `timeMs`. */
function isUnchanged(root, buildInfo, timeMs) {
  const { fileNames = [] } = readJson(join(root, buildInfo)) ?? {};
  const settings = filesBelow(root).filter((path) => /(^|\/)(tsconfig[^/]*|package)\.json$/.test(path));
  const installed = join(root, "node_modules/.package-lock.json");
  const read = fileNames.map((name) => join(root, dirname(buildInfo), name));
  return (
    read.length > 0 &&
    [...read, ...settings.map((path) => join(root, path)), installed].every((path) => {
      const status = statSync(path, { throwIfNoEntry: false });
      return status !== undefined && status.ctimeMs < timeMs;
    })
  );
}

export const types = {
  name: "types",
  async run(root) {
    const problems = [];
    for (const [project, buildInfo] of Object.entries(PROJECTS))
      if (existsSync(join(root, project))) problems.push(...(await typeProblems(root, project, buildInfo)));
    return {
      found: "sources, tests, scripts that they import, and the live page",
      problems: [...problems, ...unlistedScripts(root)],
    };
  },
};

export const lint = {
  name: "lint and format",
  async run(root) {
    const { version } = JSON.parse(
      readText(import.meta.dirname, "../../node_modules/@biomejs/biome/package.json"),
    );
    const settings = readText(root, "biome.json");
    const record = join(root, "build/well-linted.json");
    const known = new Set(readJson(record));
    const files = filesBelow(root)
      .filter((path) => /\.(tsx?|mjs)$/.test(path))
      .map((path) => {
        const words = [version, settings, path, readText(root, path)];
        return { path, hash: createHash("sha256").update(words.join("\0")).digest("hex") };
      });
    // No rule of biome.json compares files, so a file that passed does not need to be read again.
    const changed = files.filter(({ hash }) => !known.has(hash)).map(({ path }) => path);
    const lines =
      changed.length === 0
        ? []
        : await run(root, "@biomejs/biome/bin/biome", ["check", "--colors=off", ...changed]);
    if (lines.length === 0) {
      mkdirSync(dirname(record), { recursive: true });
      writeFileSync(record, JSON.stringify(files.map(({ hash }) => hash)));
    }
    return { found: `${files.length} files`, problems: lines };
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
