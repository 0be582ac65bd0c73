// SPDX-License-Identifier: Apache-2.0
// Builds a C++ program of tests and compiles a source again only if its command or a file that it includes has changed.
// Files are compared by content. Each result is written under a temporary name and renamed, so an interrupted run or a full
// disk leaves no half-written object.
import { execFile, execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
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

const compilerVersions = new Map<string, string>();

function hashCommand(command: readonly string[]) {
  const [compiler] = command as [string, ...string[]];
  const version =
    compilerVersions.get(compiler) ?? execFileSync(compiler, ["-dumpfullversion"], { encoding: "utf8" });
  compilerVersions.set(compiler, version);
  return createHash("sha256").update([version, ...command].join("\n"));
}

function hashInputs(command: readonly string[], files: readonly string[]): string {
  const hash = hashCommand(command);
  for (const path of files) hash.update(`\n${path}\n`).update(readIfPresent(path) ?? "absent");
  return hash.digest("hex");
}

function isCurrent(result: string, command: readonly string[]): boolean {
  const written = readIfPresent(`${result}.json`);
  if (readIfPresent(result) === undefined || written === undefined) return false;
  const { files, hash } = JSON.parse(written.toString()) as Record;
  return hash === hashInputs(command, files);
}

async function runCompiler(command: readonly string[], result: string): Promise<void> {
  const [compiler, ...words] = command as [string, ...string[]];
  await promisify(execFile)(compiler, [...words, "-o", result], { maxBuffer: 1 << 26 });
}

/**
 * Writes `result`, unless nothing that it is made of has changed.
 * @param make writes the file that it gets. @returns false if it only linked an object that exists already
 * @param listFiles lists what was read
 * @returns whether the compiler ran
 */
async function produce(
  result: string,
  command: readonly string[],
  listFiles: () => string[],
  make: (to: string) => Promise<boolean> = async (to) => {
    await runCompiler(command, to);
    return true;
  },
): Promise<boolean> {
  if (isCurrent(result, command)) return false;
  // A record without its result, or with an older one, would look current.
  rmSync(`${result}.json`, { force: true });
  // An interrupted run may have left a link to a shared object there, which a compiler would overwrite.
  rmSync(`${result}.new`, { force: true });
  const made = await make(`${result}.new`);
  const files = listFiles();
  renameSync(`${result}.new`, result);
  writeIfChanged(
    `${result}.json`,
    JSON.stringify({ files, hash: hashInputs(command, files) } satisfies Record),
  );
  return made;
}

/**
 * Compiles a source, or links the object of a program in whose build the preprocessor gave the same text.
 * @param shared folder of these objects, one folder each
 * @param command the compiler and its words, without -o and -c
 * @returns whether the compiler ran
 */
async function compileOnce(shared: string, command: readonly string[], to: string): Promise<boolean> {
  const text = `${to}.ii`;
  try {
    await runCompiler([...command, "-E"], text);
    // The text holds what -D and -I did, and -MF names a file of this program.
    const [compiler, ...words] = command as [string, ...string[]];
    const own = [compiler, ...words.filter((word) => /^-[fgOswW]/.test(word))];
    const key = hashCommand(own).update(readFileSync(text)).digest("hex");
    const folder = join(shared, key);
    return await locked(folder, async () => {
      const object = join(folder, "object.o");
      const isNew = linkCount(object) === 0;
      if (isNew) {
        await runCompiler([...own, "-x", "c++-cpp-output", "-c", text], `${object}.new`);
        renameSync(`${object}.new`, object);
      }
      linkSync(object, to);
      return isNew;
    });
  } finally {
    rmSync(text, { force: true });
  }
}

const linkCount = (path: string) => statSync(path, { throwIfNoEntry: false })?.nlink ?? 0;

/** Removes the shared objects that no program uses. */
async function removeUnused(shared: string): Promise<void> {
  for (const key of readdirSync(shared)) {
    const object = join(shared, key, "object.o");
    if (linkCount(object) !== 1) continue;
    await locked(join(shared, key), () => {
      if (linkCount(object) === 1) rmSync(object);
    });
  }
}

/** Reads a compiler's list of dependencies: "x.o: a.cc b.h \\\n c.h". */
const dependencies = (path: string) =>
  readFileSync(path, "utf8")
    .replace(/^[^:]*:/, "")
    .split(/[\s\\]+/)
    .filter((word) => word !== "");

export interface BuildOptions {
  /** g++ by default. */
  compiler?: string;
  linkFlags?: readonly string[];
  /** Objects that another build compiled, linked after the own ones. */
  moreObjects?: readonly string[];
  /** Folder of the objects that programs share if the preprocessor gives them the same text. */
  shared?: string;
}

/**
 * Builds a program or library, two compilers at a time, in the order of the sources.
 * @param flags of all sources, or of each
 * @returns the sources that were compiled
 * @throws Error with the compiler's messages
 */
export async function buildProgram(
  program: string,
  sources: readonly string[],
  flags: readonly string[] | ((source: string) => readonly string[]),
  { compiler = "g++", linkFlags = [], moreObjects = [], shared }: BuildOptions = {},
): Promise<string[]> {
  const folder = dirname(program);
  const compiled: string[] = [];
  return locked(folder, async () => {
    const objects = sources.map((path) =>
      join(folder, `${relative(dirname(folder), path).replaceAll(/[./]+/g, "_")}.o`),
    );
    const jobs = sources.map((path, i) => async () => {
      const list = `${objects[i]}.d`;
      const own = typeof flags === "function" ? flags(path) : flags;
      const command = [compiler, ...own, "-MMD", "-MF", list, "-x", "c++", path];
      const make = shared === undefined ? undefined : (to: string) => compileOnce(shared, command, to);
      if (await produce(objects[i]!, [...command, "-c"], () => dependencies(list), make)) compiled.push(path);
    });
    const worker = async () => {
      for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) await job();
    };
    await Promise.all([worker(), worker()]);
    const linked = [...objects, ...moreObjects];
    await produce(program, [compiler, ...linkFlags, ...linked], () => linked);
    if (shared !== undefined) await removeUnused(shared);
    return compiled;
  });
}
