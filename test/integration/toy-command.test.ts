// SPDX-License-Identifier: Apache-2.0
// Adds a command as CONTRIBUTING says, in a copy of the tree: a folder and a line in the list.
import { afterAll, beforeAll, expect, test } from "vitest";
import { TreeCopy } from "../doubles/tree-copy.js";

const COMMAND = `// SPDX-License-Identifier: Apache-2.0
// depthwatt toy: prints a word a number of times.
import type { Command } from "commander";
import { describeArguments, withExamples, withJson } from "../../cli/options.js";
import { printJson, printLine } from "../../cli/output.js";
import { repeated } from "./repeated.js";

interface ToyOptions {
  times: string;
  json?: boolean;
}

function toy(word: string, { times, json }: ToyOptions): void {
  const text = repeated(word, times);
  if (json) printJson({ text });
  else printLine(text);
}

export function define(command: Command): void {
  describeArguments(command, { word: "word to print" });
  command.option("--times <n>", "how often, 1 to 9", "2");
  withExamples(withJson(command, "print one line of JSON"), "depthwatt toy hello --times 3").action(toy);
}
`;

const REPEATED = `// SPDX-License-Identifier: Apache-2.0
// The toy's logic.
import { DepthwattError } from "../../../core/index.js";

/** Returns the word, as often as asked for. @throws DepthwattError USAGE */
export function repeated(word: string, times: string): string {
  if (!/^[1-9]$/.test(times))
    throw new DepthwattError("USAGE", \`expected --times to be a number from 1 to 9, got "\${times}"\`);
  return Array.from({ length: Number(times) }, () => word).join(" ");
}
`;

const LINE = `  { usage: "toy <word>", summary: "print a word again and again", load: () => import("./toy/command.js") },
`;
const LAST = '  { usage: "completion <shell>"';

let tree: TreeCopy;
beforeAll(async () => {
  tree = new TreeCopy();
  tree.put("edge/commands/toy/command.ts", COMMAND);
  tree.put("edge/commands/toy/repeated.ts", REPEATED);
  tree.replace("edge/commands/list.ts", LAST, LINE + LAST);
  await tree.build("build:ts");
}, 960_000);
afterAll(() => tree.remove());

test("runs, with its flags and its refusals, and one line outside its folder has changed", () => {
  expect(tree.run("toy", "hello").stdout).toBe("hello hello\n");
  expect(JSON.parse(tree.run("toy", "hello", "--times", "3", "--json").stdout)).toEqual({
    text: "hello hello hello",
  });
  const wrong = tree.run("toy", "hello", "--times", "10");
  expect(wrong.status).toBe(2);
  expect(wrong.stderr).toContain('expected --times to be a number from 1 to 9, got "10"');
  expect(tree.run("toy").stderr).toContain("missing required argument 'word'");
  expect(tree.changed).toEqual(["edge/commands/list.ts"]);
}, 120_000);

test("stands in help, completion and the suggestions for a mistyped name", () => {
  expect(tree.run("--help").stdout).toMatch(/^ {2}toy \[options\] <word> +print a word again and again$/m);
  expect(tree.run("toy", "--help").stdout).toMatch(/^ {2}word +word to print$/m);
  for (const shell of ["bash", "zsh"]) {
    const { stdout } = tree.run("completion", shell);
    expect(stdout).toContain("toy");
    expect(stdout).toContain("--times");
  }
  expect(tree.run("toyy").stderr).toContain("Did you mean toy?");
}, 120_000);
