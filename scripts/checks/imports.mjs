// SPDX-License-Identifier: Apache-2.0
// Which folder may import which modules of others.
import { posix } from "node:path";
import { filesIn, readText, SOURCE_FOLDERS, withoutComments } from "./tree.mjs";

const WIRE_FORMAT = ["core/frame/", "core/mqtt/"];
/** Folder -> modules of other folders that it may import; a name that ends in "/" stands for every module below it. */
const MAY_IMPORT = {
  core: [],
  power: ["core/index.js"],
  camera: ["core/index.js"],
  cuda: ["core/index.js"],
  "clients/javascript": ["core/index.js", ...WIRE_FORMAT],
  "clients/page": ["core/colour-maps.js", "core/plane.js", "edge/outputs/viewer/protocol.js"],
  edge: [
    "core/index.js",
    ...WIRE_FORMAT,
    "camera/index.js",
    "cuda/index.js",
    "power/index.js",
    "clients/javascript/src/index.js",
  ],
};
/** Its own package inside a folder: it imports nothing from outside, and is imported by its name. Its tests share doubles. */
const PACKAGE = "camera/v4l2/";
const SHARED = ["test/doubles/", "test/capture-vm/"];

const ruledFolder = (path) => Object.keys(MAY_IMPORT).find((folder) => path.startsWith(`${folder}/`));

function directionProblem(path, target, from) {
  const [folder, targetFolder] = [ruledFolder(path), ruledFolder(target)];
  if (path.startsWith(PACKAGE) || folder === undefined || folder === targetFolder) return undefined;
  const entries = MAY_IMPORT[folder].filter((entry) => ruledFolder(entry) === targetFolder);
  if (targetFolder === undefined || entries.length === 0)
    return `${path}: ${folder} must not import ${targetFolder ?? target} (${from})`;
  if (entries.some((entry) => (entry.endsWith("/") ? target.startsWith(entry) : target === entry)))
    return undefined;
  return `${path}: ${from}: ${folder} imports ${targetFolder} by ${entries.join(", ")} only`;
}

/** The live page reads frames as any program in a browser does. */
const PAGE = "clients/page/";
const PAGE_READS_BY = "depthwatt-consumer/frames";

function packageProblem(path, target, from) {
  const [inside, enters] = [path.startsWith(PACKAGE), target.startsWith(PACKAGE)];
  if (inside === enters) return undefined;
  if (!inside) return `${path}: ${from}: the package is imported by its name, v4l2-camera`;
  const isTest = path.startsWith(`${PACKAGE}test/`);
  if (isTest && SHARED.some((folder) => target.startsWith(folder))) return undefined;
  return `${path}: ${from}: v4l2-camera imports nothing of depthwatt`;
}

/** Each command is a folder below this one, imported by the list alone. */
const COMMANDS = "edge/commands/";
const COMMAND_LIST = `${COMMANDS}list.ts`;

const commandFolder = (path) => path.match(/^edge\/commands\/([^/]+)\//)?.[1];

function commandProblem(path, target) {
  if (target === COMMAND_LIST.replace(/ts$/, "js")) {
    if (path.startsWith("edge/cli/")) return undefined;
    return `${path}: ${target}: only edge/cli imports the list of commands`;
  }
  const command = commandFolder(target);
  if (command === undefined || path === COMMAND_LIST || command === commandFolder(path)) return undefined;
  return `${path}: ${target}: only ${COMMAND_LIST} imports a command; move what is shared to a feature or to edge/cli`;
}

const IMPORT = /\b(?:import|export)\s+(?:[^"';]*?\s+from\s+)?"([^"]+)"|\bimport\(\s*"([^"]+)"\s*\)/g;

/** The module specifiers that a file imports, exports from or imports dynamically. */
export function* listImports(text) {
  for (const [, from, dynamic] of withoutComments(text).matchAll(IMPORT)) yield from ?? dynamic;
}

/** The module specifiers that a file imports or exports from when it is loaded. */
export function* listStaticImports(text) {
  for (const [, from] of withoutComments(text).matchAll(IMPORT)) if (from !== undefined) yield from;
}

export default {
  name: "import direction",
  run(root) {
    const problems = [];
    let count = 0;
    for (const path of filesIn(root, SOURCE_FOLDERS, [".ts", ".tsx"])) {
      for (const from of listImports(readText(root, path))) {
        if (!from.startsWith(".")) {
          if (from === PAGE_READS_BY && path.startsWith(PAGE)) continue;
          if (from.startsWith("depthwatt") || from.startsWith("@depthwatt")) {
            problems.push(`${path}: imports ${from}; inside the project imports are relative`);
          }
          continue;
        }
        count++;
        if (!/\.(js|json|mjs|css)$/.test(from)) problems.push(`${path}: ${from} does not end in .js`);
        const target = posix.join(posix.dirname(path), from);
        const problem =
          packageProblem(path, target, from) ??
          commandProblem(path, target) ??
          directionProblem(path, target, from);
        if (problem !== undefined) problems.push(problem);
      }
    }
    return { found: `${count} imports`, problems };
  },
};
