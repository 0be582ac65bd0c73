// SPDX-License-Identifier: Apache-2.0
// The layers inside edge/: contracts, then features, then run, then the command line and the library, then the index. Imports never
// go to a higher layer, and two folders import each other only where this file lists them.
import { posix } from "node:path";
import { listImports } from "./imports.mjs";
import { filesIn, readText } from "./tree.mjs";

const FEATURE = 1;
/** Folder or file of edge/ -> its layer; folders that are not named here are features. */
const LAYERS = { contracts: 0, run: 2, commands: 3, cli: 3, library: 3, "index.ts": 4 };
const LAYER_NAMES = ["contracts", "a feature", "run", "the command line or the library", "the index"];

/** Folders that may import each other: a section of the settings and its owner, a list and its folders. */
const MUTUAL = ["edge/config <-> edge/control", "edge/service <-> edge/service/power-mode"];

const folderLayer = (path) => LAYERS[path.split("/")[1]] ?? FEATURE;

export default {
  name: "layers of edge",
  run(root) {
    const problems = [];
    const arrows = new Map();
    for (const path of filesIn(root, ["edge"], [".ts", ".tsx"])) {
      for (const from of listImports(readText(root, path))) {
        const target = posix.join(posix.dirname(path), from);
        if (!from.startsWith(".") || !target.startsWith("edge/")) continue;
        const [layer, targetLayer] = [folderLayer(path), folderLayer(target.replace(/\.js$/, ".ts"))];
        if (targetLayer > layer)
          problems.push(
            `${path}: ${LAYER_NAMES[layer]} must not import ${LAYER_NAMES[targetLayer]} (${from})`,
          );
        const arrow = `${posix.dirname(path)} -> ${posix.dirname(target)}`;
        if (!arrows.has(arrow)) arrows.set(arrow, `${path} imports ${from}`);
      }
    }
    const pairs = [...arrows.keys()]
      .map((arrow) => arrow.split(" -> "))
      .filter(([one, other]) => one < other && arrows.has(`${other} -> ${one}`));
    for (const [one, other] of pairs) {
      const pair = `${one} <-> ${other}`;
      if (MUTUAL.includes(pair)) continue;
      const [there, back] = [arrows.get(`${one} -> ${other}`), arrows.get(`${other} -> ${one}`)];
      problems.push(`${pair}: ${there}, and ${back}`);
    }
    return { found: `${arrows.size} arrows between folders, ${pairs.length} pairs both ways`, problems };
  },
};
