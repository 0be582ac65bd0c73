// SPDX-License-Identifier: Apache-2.0
// Checks code for what it must not contain: a library that exits or prints, unfinished marks, tests that are skipped.
import {
  filesBelow,
  filesIn,
  lineAt,
  NATIVE_ENDINGS,
  readText,
  SOURCE_FOLDERS,
  withoutComments,
} from "./tree.mjs";

const isProgram = (path) => path.endsWith("_main.cc") || path.startsWith("cuda/check/");
const isText = (path) => /\.(ts|mjs|h|cc|cu|cuh|md|json|gyp|service|rules|sh|py|yaml|yml)$/.test(path);

// Written in pieces, so that this file does not forbid itself.
const UNFINISHED = new RegExp(`\\b(${["TO" + "DO", "FIX" + "ME", "X" + "XX"].join("|")})\\b`, "g");

const RULES = [
  {
    why: "a library returns a Status; it never ends the process",
    paths: (root) =>
      filesIn(root, ["core", "cuda", "camera", "power"], NATIVE_ENDINGS).filter((path) => !isProgram(path)),
    pattern: /(?<![\w.>])(std::)?(exit|_exit|quick_exit|abort|terminate|assert)\s*\(/g,
  },
  {
    why: "a library prints nothing",
    paths: (root) =>
      filesIn(root, ["core", "cuda", "camera", "power"], NATIVE_ENDINGS).filter((path) => !isProgram(path)),
    pattern: /(?<![\w.>])(std::)?(printf|fprintf|puts|fputs|perror)\s*\(|std::(cout|cerr|clog)\b/g,
  },
  {
    why: "only the command line ends the process or writes to the terminal",
    paths: (root) =>
      filesIn(root, SOURCE_FOLDERS, [".ts"]).filter((path) => !/^edge\/(cli|commands)\//.test(path)),
    pattern: /\bprocess\.exit\s*\(|\bconsole\.(log|error|warn|info)\s*\(|\bprocess\.stdout\.write\s*\(/g,
  },
  {
    why: "a test singled out or skipped for good (test/doubles/needs.ts gates what a machine lacks)",
    paths: (root) => filesIn(root, ["test"], [".ts"]),
    pattern: /\b(it|test|describe)\.(only|skip|todo)\(/g,
  },
  {
    why: "an object literal spread into another: its properties can stand there themselves",
    paths: (root) => filesBelow(root).filter((path) => /\.(ts|tsx|mjs)$/.test(path)),
    pattern: /\.\.\.\{/g,
  },
  {
    why: "the name of a private member begins with # (only a constructor is declared private)",
    paths: (root) => filesBelow(root).filter((path) => /\.tsx?$/.test(path)),
    pattern: /(?<=^[ \t]*|[(,]\s*)private (?!constructor\b)\w+/gm,
  },
  {
    why: "an unfinished mark",
    paths: (root) => filesBelow(root).filter((path) => isText(path) && !path.endsWith("package-lock.json")),
    pattern: UNFINISHED,
    withComments: true,
  },
];

export default {
  name: "forbidden words",
  run(root) {
    const problems = RULES.flatMap(({ why, paths, pattern, withComments }) =>
      paths(root).flatMap((path) => {
        const text = readText(root, path);
        const searched = withComments ? text : withoutComments(text);
        return [...searched.matchAll(pattern)].map(
          (match) => `${path}:${lineAt(searched, match.index)}: "${match[0]}": ${why}`,
        );
      }),
    );
    return { found: `${RULES.length} rules`, problems };
  },
};
