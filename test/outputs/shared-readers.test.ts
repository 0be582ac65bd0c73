// SPDX-License-Identifier: Apache-2.0
// Readers of shared memory in Python, C and C++, each in its own process: the frames they read, memory that they cannot change, a
// reader that is killed while it reads, and systems without memory.
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, expect, test } from "vitest";
import { addonPath, packageRoot } from "../../core/index.js";
import { until } from "../doubles/frames.js";
import { PYTHON } from "../doubles/needs.js";
import { openShared, type SharedOutput, sharedFrame } from "../doubles/shared-memory.js";

const root = packageRoot();
const folder = mkdtempSync(join(tmpdir(), "depthwatt-shared-readers-"));
afterAll(() => rmSync(folder, { recursive: true }));
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function share(): Promise<SharedOutput> {
  const shared = await openShared();
  cleanups.push(shared.close);
  return shared;
}

function start(program: string, ...words: string[]): { child: ChildProcess; lines: string[] } {
  const child = spawn(program, words, { cwd: root, stdio: ["ignore", "pipe", "inherit"] });
  cleanups.push(() => child.kill("SIGKILL"));
  const lines: string[] = [];
  let rest = "";
  child.stdout!.on("data", (bytes: Buffer) => {
    const parts = (rest + bytes).split("\n");
    rest = parts.pop()!;
    lines.push(...parts);
  });
  return { child, lines };
}

const python = (path: string, mode: string): [string, ...string[]] => [
  PYTHON,
  "test/doubles/readers/read_shared.py",
  "clients/python",
  path,
  mode,
];

function compiled(name: string, ...words: string[]): string {
  const program = join(folder, name);
  const flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-Iclients/cpp"];
  execFileSync(
    words[0]!,
    [...words.slice(1), ...flags, "test/doubles/readers/read_shared.c", "-o", program],
    { cwd: root },
  );
  return program;
}

const sum = (seed: number) => [...sharedFrame(seed).slot.depthMillimetres].reduce((one, two) => one + two, 0);

test.each([
  ["Python", (path: string) => python(path, "read")],
  ["C", (path: string) => [compiled("c", "cc", "-std=gnu99"), path] as [string, string]],
  ["C++", (path: string) => [compiled("c++", "g++", "-std=c++17", "-x", "c++"), path] as [string, string]],
])(
  "a reader in %s gets every frame that it waits for, and ends with the publisher",
  async (_language, words) => {
    const shared = await share();
    const { lines } = start(...words(shared.path));
    await until("the reader is there", () => shared.output.streams.length > 0);
    for (let seed = 1; seed <= 5; seed++) {
      shared.offer(sharedFrame(seed));
      await until("the frame is read", () => lines.length === seed);
    }
    expect(lines).toEqual([1, 2, 3, 4, 5].map((seed) => `${seed} ${sum(seed)} True`));
    await shared.output.close();
    await until("the reader ends", () => lines.at(-1) === "end");
  },
);

test("a reader cannot change the memory, and reads it without a copy", async () => {
  const shared = await share();
  const { lines } = start(...python(shared.path, "attack"));
  await until("the reader is there", () => shared.output.streams.length > 0);
  shared.offer(sharedFrame(7));
  await until("it has tried", () => lines.length === 6);
  const refused = /^(write|map|shrink|reopen|rewrite) (OSError|PermissionError)$/;
  for (const line of lines.slice(0, 5)) expect(line).toMatch(refused);
  expect(lines[5]).toBe("view False True 7");
});

test("the publisher and other readers go on when a reader is killed while it holds a frame", async () => {
  const shared = await share();
  const held = start(...python(shared.path, "hold"));
  await until("the reader is there", () => shared.output.streams.length > 0);
  shared.offer(sharedFrame(1));
  await until("it holds a frame", () => held.lines.length === 1);
  const other = start(...python(shared.path, "read"));
  const readers = () => (shared.output.counters().details as { readers: { depth?: number } }).readers.depth;
  await until("another reader is there", () => readers() === 2);
  for (let seed = 2; seed <= 9; seed++) expect(shared.offer(sharedFrame(seed))).toBe(true);
  held.child.kill("SIGKILL");
  await until("it has left", () => readers() === 1);
  shared.offer(sharedFrame(10));
  await until("the other one reads", () => other.lines.at(-1)?.startsWith("10 ") === true);
});

test("a system without memory is an error with a name", () => {
  const script = `const { RingWriter } = require(${JSON.stringify(addonPath())});
    try { new RingWriter({ slots: 4, bodyBytes: 1e9 }); console.log("made"); } catch (error) { console.log(error.code, error.message); }`;
  const under = (limit: string) =>
    spawnSync("prlimit", [limit, process.execPath, "-e", script], { encoding: "utf8" }).stdout;
  expect(under("--fsize=1000000")).toMatch(
    /^MEMORY_EXHAUSTED Expected 4001 MB of shared memory, .*ftruncate: File too/,
  );
});
