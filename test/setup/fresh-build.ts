// SPDX-License-Identifier: Apache-2.0
// Builds before the tests if a source is newer than the last build: many tests start the built program.
import { spawnSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../../core/index.js";

const FOLDERS = ["camera", "clients", "core", "cuda", "edge", "power", "scripts"];
const SOURCE = /\.(ts|tsx|mjs|js|css|html|svg|cc|h|gyp)$/;
const BUILT = /(^|\/)(node_modules|dist|build|test|tests)\//;

/** Returns the newest modification time below the source folders, milliseconds since 1970. */
export function newestSourceMs(root: string): number {
  const times = FOLDERS.flatMap((folder) =>
    (readdirSync(join(root, folder), { recursive: true }) as string[])
      .filter((path) => SOURCE.test(path) && !BUILT.test(path))
      .map((path) => statSync(join(root, folder, path)).mtimeMs),
  );
  return Math.max(...times);
}

/** Returns when `npm run build` ended last, milliseconds since 1970; 0 if it never did. */
export function lastBuildMs(root: string): number {
  return statSync(join(root, "build/built"), { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** @throws Error if the build fails */
export default function setup(): void {
  const root = packageRoot();
  if (newestSourceMs(root) <= lastBuildMs(root)) return;
  process.stdout.write("A source is newer than the build: running 'npm run build'.\n");
  const { status } = spawnSync("npm", ["run", "--silent", "build"], { cwd: root, stdio: "inherit" });
  if (status !== 0) throw new Error("Expected 'npm run build' to succeed. Fix the errors above.");
}
