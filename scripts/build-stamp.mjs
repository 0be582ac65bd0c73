// SPDX-License-Identifier: Apache-2.0
// Records from which sources `npm run build` built, so that a run of tests notices an edited, new or deleted source.
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Files and folders of the root that the build reads. */
const READ =
  /^(addon\.cc|binding\.gyp|package(-lock)?\.json|tsconfig.*\.json|board-configs|camera|clients|core|cuda|edge|power|scripts)$/;
/** Below them: results, and inputs of other programs. */
const NOT_READ =
  /(^|\/)(node_modules|dist|build|test|tests|cuda\/check|__pycache__)(\/|$)|\.(md|cuh?)$|build\.lock/;

/**
 * Returns a hash of the names, times and sizes of everything that the build reads.
 * @param {string} root
 */
export function sourcesKey(root) {
  const hash = createHash("sha256");
  for (const top of readdirSync(root)
    .filter((name) => READ.test(name))
    .sort()) {
    const isFolder = statSync(join(root, top)).isDirectory();
    const below = isFolder
      ? readdirSync(join(root, top), { recursive: true, encoding: "utf8" }).sort()
      : [""];
    for (const path of below.map((name) => join(top, name)).filter((path) => !NOT_READ.test(path))) {
      const found = statSync(join(root, path), { throwIfNoEntry: false });
      if (found?.isFile()) hash.update(`${path} ${found.mtimeMs} ${found.size}\n`);
    }
  }
  return hash.digest("hex");
}

/**
 * Returns whether the last successful build was made from the sources as they are.
 * @param {string} root
 */
export function isBuilt(root) {
  try {
    return readFileSync(join(root, "build/built"), "utf8") === sourcesKey(root);
  } catch {
    return false;
  }
}

/**
 * Records a successful build.
 * @param {string} root
 * @param {string} key sourcesKey from before the build, so that an edit during the build makes the next run build again
 */
export function recordBuild(root, key) {
  mkdirSync(join(root, "build"), { recursive: true });
  writeFileSync(join(root, "build/built.new"), key);
  renameSync(join(root, "build/built.new"), join(root, "build/built"));
}
