// SPDX-License-Identifier: Apache-2.0
// No module imports itself through others. Imports of types count: they tie the readers of two modules together too. A dynamic
// import does not count, because it runs after both modules are loaded.
import { posix } from "node:path";
import { listStaticImports } from "./imports.mjs";
import { filesBelow, readText } from "./tree.mjs";

/** Returns the modules that a module imports by a relative path, as paths from the root. */
function importedModules(root, path, exists) {
  return [...listStaticImports(readText(root, path))]
    .filter((from) => from.startsWith("."))
    .map((from) => posix.join(posix.dirname(path), from))
    .flatMap((target) => {
      const candidates = [target, target.replace(/\.js$/, ".ts"), target.replace(/\.js$/, ".tsx")];
      return candidates.find(exists) ?? [];
    });
}

/** Returns each circle of imports that a depth-first search meets, as the paths in it, the first one repeated. */
export function findCycles(imports) {
  const cycles = [];
  const state = new Map();
  const trail = [];
  const visit = (path) => {
    state.set(path, "open");
    trail.push(path);
    for (const target of imports.get(path)) {
      if (state.get(target) === "open") cycles.push([...trail.slice(trail.indexOf(target)), target]);
      else if (!state.has(target)) visit(target);
    }
    trail.pop();
    state.set(path, "done");
  };
  for (const path of imports.keys()) if (!state.has(path)) visit(path);
  return cycles;
}

export default {
  name: "import cycles",
  run(root) {
    const files = filesBelow(root).filter((path) => /\.(tsx?|mjs)$/.test(path));
    const known = new Set(files);
    const exists = (path) => known.has(path);
    const cycles = findCycles(new Map(files.map((path) => [path, importedModules(root, path, exists)])));
    return {
      found: `${files.length} modules`,
      problems: cycles.map((cycle) => `${cycle[0]}: imports itself: ${cycle.join(" -> ")}`),
    };
  },
};
