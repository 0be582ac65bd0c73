// SPDX-License-Identifier: Apache-2.0
// The tools that judge the tests: which mutants they make, how they count what ran, and the page that describes them.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { lineShare, mergeLines, shortfalls, typescriptShares } from "../coverage/shares.mjs";
import { type Mutant, mutated, nativeMutants, typescriptMutants } from "../mutate/mutants.mjs";
import { SUITES } from "../suites.js";

const results = (text: string, make: (text: string) => Mutant[]) =>
  make(text).map((mutant) => mutated(text, mutant));

test("mutants of TypeScript: operators, constants, conditions and statements, never types, imports or messages", () => {
  const made = results('import x from "./y.js";\nif (a < 1 && !b) c(2);\n', typescriptMutants);
  const lines = made.map((text) => text.split("\n")[1]);
  expect(lines.sort()).toEqual([
    "if (!(a < 1 && !b)) c(2);",
    "if (a < 1 && !b) ;",
    "if (a < 1 && !b) c(3);",
    "if (a < 1 && b) c(2);",
    "if (a < 1 || !b) c(2);",
    "if (a < 2 && !b) c(2);",
    "if (a <= 1 && !b) c(2);",
  ]);
  expect(results("const v = a ?? true;", typescriptMutants)).toEqual([
    "const v = true;",
    "const v = a ?? false;",
  ]);
  for (const text of ["type A = 1 | true;", 'throw new Error("a" + 1);', "const s = `x`;"])
    expect(typescriptMutants(text), text).toEqual([]);
});

test("mutants of C++: not in comments, strings, templates or the preprocessor", () => {
  expect(results("  if (a <= b) {", nativeMutants).sort()).toEqual(["  if (!(a <= b)) {", "  if (a < b) {"]);
  expect(results("  count += step * 2;", nativeMutants).sort()).toEqual([
    "  ;",
    "  count += step * 3;",
    "  count += step / 2;",
    "  count -= step * 2;",
  ]);
  expect(results("  release(buffer);", nativeMutants)).toEqual(["  ;"]);
  for (const text of [
    "// a < b + 1",
    "#define SIZE (1 + 2)",
    '  return "1 < 2";',
    "  std::vector<int32_t> x;",
    "  return value;",
    "template <int kN = 3>",
  ])
    expect(nativeMutants(text), text).toEqual([]);
});

test("a line or branch that ran in one of two runs has run", () => {
  const file = (taken: [number, number]) => ({
    "/p/a.ts": {
      statementMap: { 0: { start: { line: 1 } }, 1: { start: { line: 2 } } },
      s: { 0: 1, 1: taken[1] },
      branchMap: { 0: { type: "if", loc: { start: { line: 2, column: 4 } } } },
      b: { 0: taken },
    },
  });
  expect(typescriptShares([file([1, 0])], "/p")).toEqual({
    lines: 50,
    branches: 50,
    files: [{ file: "a.ts", missing: 1, percent: 50 }],
  });
  expect(typescriptShares([file([1, 0]), file([0, 2])], "/p")).toEqual({
    lines: 100,
    branches: 100,
    files: [],
  });
});

test("a built program adds counts, but no branches that only its compiler wrote", () => {
  const file = (column: number, arms: [number, number]) => ({
    "/p/a.ts": {
      statementMap: {},
      s: {},
      branchMap: { 0: { type: "if", loc: { start: { line: 2, column } } } },
      b: { 0: arms },
    },
  });
  const tests = [file(4, [1, 0])];
  expect(typescriptShares(tests, "/p", [file(4, [0, 1])]).branches).toBe(100);
  expect(typescriptShares(tests, "/p", [file(9, [1, 1])]).branches).toBe(50);
});

test("a line of a header counts once, however many objects hold it", () => {
  const lines = new Map();
  const row = (line: number, count: number) => ({ line_number: line, count });
  mergeLines(lines, "core/a.h", [row(1, 1), row(2, 0), row(3, 0)]);
  mergeLines(lines, "core/a.h", [row(1, 4), row(2, 5), row(3, 0)]);
  expect(lineShare(lines)).toEqual({ lines: 66.6, files: [{ file: "core/a.h", missing: 1, percent: 66.6 }] });
});

test("a share below its floor is named with both numbers", () => {
  const floor = { typescript: { branches: 70 }, native: { lines: 97 } };
  expect(shortfalls({ typescript: { branches: 69.9 } }, floor)).toEqual([
    "below   typescript branches: expected at least 70 %, found 69.9 %. Test what you added.",
  ]);
  expect(shortfalls({ typescript: { branches: 70 }, native: { lines: 98 } }, floor)).toEqual([]);
});

/** Starts a tool that runs a program with a child. */
function startTool() {
  const child = 'sh -c "echo $$; exec sleep 1000" & wait';
  const code = `
    import { endCleanly, run } from "./test/sanitize/end.mjs";
    endCleanly(() => console.log("removed"), () => console.log("restored"));
    await run("sh", ["-c", ${JSON.stringify(child)}], { stdio: ["ignore", "inherit", "inherit"] });`;
  return spawn(process.execPath, ["--input-type=module", "--eval", code], {
    stdio: ["ignore", "pipe", "pipe"],
  });
}

test.each([
  ["SIGTERM", 143],
  ["SIGINT", 130],
] as const)("a tool of the tests ends its programs and cleans up after %s", async (signal, status) => {
  const tool = startTool();
  const closed = once(tool, "close");
  let output = "";
  for await (const chunk of tool.stdout) {
    // The first line is the child's number.
    if (output === "") tool.kill(signal);
    output += chunk;
  }
  expect(await closed).toEqual([status, null]);
  const [pid, ...rest] = output.trim().split("\n");
  expect(rest).toEqual(["restored", "removed"]);
  expect(() => process.kill(Number(pid), 0)).toThrow("ESRCH");
});

test("a tool of the tests names a program that is missing, and cleans up", () => {
  const code = `
    import { endCleanly, run } from "./test/sanitize/end.mjs";
    endCleanly(() => console.log("removed"));
    await run("no-such-program", []);`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", code], {
    encoding: "utf8",
  });
  expect({ status, stdout }).toEqual({ status: 2, stdout: "removed\n" });
  expect(stderr).toContain("spawn no-such-program ENOENT\nhint: install no-such-program");
});

test("the page on debugging and testing names scripts, files, suites, functions and flags that exist", () => {
  const page = readFileSync("docs/internals/debugging.md", "utf8");
  const commands = [...page.matchAll(/^ {4}(\S.*)$/gm)].map(([, line]) => line!.replace(/ +# .*/, ""));
  const text = commands.join("\n").replaceAll(" \\\n", " ");
  const all = (pattern: RegExp) => [...text.matchAll(pattern)].map(([, name]) => name!);
  expect(commands.length).toBeGreaterThan(15);
  const { scripts } = JSON.parse(readFileSync("package.json", "utf8"));
  expect(all(/npm run (\S+)/g).filter((name) => scripts[name] === undefined)).toEqual([]);
  expect(all(/(?:^|[ =])((?:[a-z][\w.-]*\/)+[\w.-]*)/gm).filter((path) => !existsSync(path))).toEqual([]);
  const suites = SUITES.map(({ name }) => name);
  expect(all(/--project=([\w-]+)/g).filter((name) => !suites.includes(name))).toEqual([]);
  const functions = [...all(/break depthwatt::(\w+)/g), ...all(/breakpoint set -n (\w+)/g)];
  const source = readFileSync("cuda/refine/median/median.ref.cc", "utf8");
  expect(functions.map((name) => source.includes(` ${name}(`))).toEqual([true, true]);
  const [, filter] = /(?<=matchers\.test\.ts) -t '(.+)'/.exec(text)!;
  expect(readFileSync("test/unit/matchers.test.ts", "utf8")).toContain(filter);
  for (const tool of ["coverage/coverage", "mutate/mutate", "sanitize/sanitize"]) {
    const code = readFileSync(`test/${tool}.mjs`, "utf8");
    const [name] = tool.split("/");
    const own = text.split("\n").filter((line) => new RegExp(`(test:|test/)${name}`).test(line));
    const flags = own.flatMap((line) => line.match(/(?<= )--(?!project)[a-z]+/g) ?? []);
    expect(flags.length, tool).toBeGreaterThan(0);
    for (const flag of flags) expect(code, flag).toContain(flag.slice(2));
  }
});
