// SPDX-License-Identifier: Apache-2.0
// Who may import whom: core nobody; power, camera and cuda core's index; edge everybody's index.
import { posix } from "node:path";
import { filesIn, readText, SOURCE_FOLDERS, withoutComments } from "./tree.mjs";

/** Folder -> folders it may import, and whether only types. */
const MAY_IMPORT = {
  core: {},
  power: { core: "values" },
  camera: { core: "values" },
  cuda: { core: "values" },
  edge: { core: "values", camera: "values", cuda: "values", power: "values" },
};

/** A package of its own inside a folder: it imports nothing from outside, and is imported by its name. Its tests share doubles. */
const PACKAGE = "camera/v4l2/";
const SHARED = ["test/doubles/", "test/capture-vm/"];
/** The live page reads frames as any program in a browser does. */
const PAGE = "edge/outputs/viewer/page/";
const PAGE_READS_BY = "depthwatt-consumer/frames";

function pageProblem(path, target) {
  if (!path.startsWith(PAGE) || !/^edge\/(frame|consumer)\//.test(target)) return undefined;
  return `${path}: ${target}: the live page reads frames by ${PAGE_READS_BY}`;
}

function packageProblem(path, target, from) {
  const [inside, enters] = [path.startsWith(PACKAGE), target.startsWith(PACKAGE)];
  if (inside === enters) return undefined;
  if (!inside) return `${path}: ${from}: the package is imported by its name, v4l2-camera`;
  const isTest = path.startsWith(`${PACKAGE}test/`);
  if (isTest && SHARED.some((folder) => target.startsWith(folder))) return undefined;
  return `${path}: ${from}: v4l2-camera imports nothing of depthwatt`;
}

const IMPORT =
  /\b(import|export)\s+(type\s+)?(?:([^"';]*?)\s+from\s+)?"([^"]+)"|\bimport\(\s*"([^"]+)"\s*\)/g;

function* importsOf(text) {
  for (const match of withoutComments(text).matchAll(IMPORT)) {
    const [, , type, names = "", from, dynamic] = match;
    const inner =
      names
        .match(/^\{([^}]*)\}$/)?.[1]
        ?.split(",")
        .map((name) => name.trim()) ?? [];
    const allTypes =
      inner.filter(Boolean).length > 0 && inner.filter(Boolean).every((name) => name.startsWith("type "));
    yield { from: from ?? dynamic, typesOnly: Boolean(type) || allTypes };
  }
}

export default {
  name: "import direction",
  run(root) {
    const problems = [];
    let count = 0;
    for (const path of filesIn(root, SOURCE_FOLDERS, [".ts", ".tsx", ".mts"])) {
      const folder = path.split("/")[0];
      for (const { from, typesOnly } of importsOf(readText(root, path))) {
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
        const crossing = packageProblem(path, target, from);
        if (crossing !== undefined) problems.push(crossing);
        const around = pageProblem(path, target);
        if (around !== undefined) problems.push(around);
        const targetFolder = target.split("/")[0];
        if (targetFolder === folder || path.startsWith(PACKAGE)) continue;
        const allowed = MAY_IMPORT[folder][targetFolder];
        if (allowed === undefined)
          problems.push(`${path}: ${folder} must not import ${targetFolder} (${from})`);
        else if (target !== `${targetFolder}/index.js`) {
          problems.push(`${path}: ${from}: ${targetFolder} is entered by its index.js only`);
        } else if (allowed === "types" && !typesOnly) {
          problems.push(`${path}: ${from}: ${folder} may import only types from ${targetFolder}`);
        }
      }
    }
    return { found: `${count} imports`, problems };
  },
};
