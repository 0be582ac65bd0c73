// SPDX-License-Identifier: Apache-2.0
// A toy command: its folder and one line in edge/commands/list.ts.
import type { TreeCopy } from "../tree-copy.js";

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

const LINE = `  { group: "Device", usage: "toy <word>", summary: "print a word again and again", load: () => import("./toy/command.js") },
`;
const NEXT = '  { group: "Device", usage: "completion <shell>"';

export function addCommand(tree: TreeCopy): void {
  tree.put("edge/commands/toy/command.ts", COMMAND);
  tree.put("edge/commands/toy/repeated.ts", REPEATED);
  tree.replace("edge/commands/list.ts", NEXT, LINE + NEXT);
}
