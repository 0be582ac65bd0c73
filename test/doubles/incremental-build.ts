// SPDX-License-Identifier: Apache-2.0
// Builds a C++ program of tests and compiles a source again only if its command or a file that it includes has changed.
// Files are compared by content. Each result is written under a temporary name and renamed, so an interrupted run or a full
// disk leaves no half-written object.
import { execFile, execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { promisify } from "node:util";
import { locked } from "../../camera/v4l2/build.mjs";

/** Next to each result: a hash of the command and of every file that it read. */
interface Record {
  files: string[];
  hash: string;
}

const readIfPresent = (path: string) => {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
};

/** Writes a file whose content would change. */
export function writeIfChanged(path: string, text: string): void {
  if (readIfPresent(path)?.toString() === text) return;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}

let compilerVersion: string | undefined;

function hashInputs(command: readonly string[], files: readonly string[]): string {
  compilerVersion ??= execFileSync("g++", ["-dumpfullversion"], { encoding: "utf8" });
  const hash = createHash("sha256").update([compilerVersion, ...command].join("\n"));
  for (const path of files) hash.update(`\n${path}\n`).update(readIfPresent(path) ?? "absent");
  return hash.digest("hex");
}

function isCurrent(result: string, command: readonly string[]): boolean {
  const written = readIfPresent(`${result}.json`);
  if (readIfPresent(result) === undefined || written === undefined) return false;
  const { files, hash } = JSON.parse(written.toString()) as Record;
  return hash === hashInputs(command, files);
}

/** Runs a command that writes `result`, unless nothing that it reads has changed. `listFiles` lists what it read. */
async function produce(
  result: string,
  command: readonly string[],
  listFiles: () => string[],
): Promise<boolean> {
  if (isCurrent(result, command)) return false;
  // A record without its result, or with an older one, would look current.
  rmSync(`${result}.json`, { force: true });
  const [program, ...words] = command as [string, ...string[]];
  await promisify(execFile)(program, [...words, "-o", `${result}.new`], { maxBuffer: 1 << 26 });
  const files = listFiles();
  renameSync(`${result}.new`, result);
  writeIfChanged(
    `${result}.json`,
    JSON.stringify({ files, hash: hashInputs(command, files) } satisfies Record),
  );
  return true;
}

/** Reads a compiler's list of dependencies: "x.o: a.cc b.h \\\n c.h". */
const dependencies = (path: string) =>
  readFileSync(path, "utf8")
    .replace(/^[^:]*:/, "")
    .split(/[\s\\]+/)
    .filter((word) => word !== "");

/**
 * Builds a program or library, two compilers at a time.
 * @param moreObjects what another build compiled, linked after the own objects
 * @returns the sources that were compiled
 * @throws Error with the compiler's messages
 */
export async function buildProgram(
  program: string,
  sources: readonly string[],
  flags: readonly string[],
  linkFlags: readonly string[] = [],
  moreObjects: readonly string[] = [],
): Promise<string[]> {
  const folder = dirname(program);
  const compiled: string[] = [];
  return locked(folder, async () => {
    const objects = sources.map((path) =>
      join(folder, `${relative(dirname(folder), path).replaceAll(/[./]+/g, "_")}.o`),
    );
    const jobs = sources.map((path, i) => async () => {
      const list = `${objects[i]}.d`;
      const command = ["g++", ...flags, "-MMD", "-MF", list, "-x", "c++", "-c", path];
      if (await produce(objects[i]!, command, () => dependencies(list))) compiled.push(path);
    });
    const worker = async () => {
      for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) await job();
    };
    await Promise.all([worker(), worker()]);
    const linked = [...objects, ...moreObjects];
    await produce(program, ["g++", ...linkFlags, ...linked], () => linked);
    return compiled;
  });
}
