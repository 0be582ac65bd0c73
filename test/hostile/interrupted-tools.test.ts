// SPDX-License-Identifier: Apache-2.0
// Interrupts the tools of the tests while they compile and run tests: each ends with its status and leaves nothing behind.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { packageRoot } from "../../core/index.js";
import { isBuilt, recordBuild, sourcesKey } from "../../scripts/build-stamp.mjs";
import { needs } from "../doubles/needs.js";
import { TreeCopy } from "../doubles/tree-copy.js";

/** A tool copies the tree before a test can interrupt it. */
const WAIT = { timeout: 250_000, interval: 100 };

let folder: string;
let tool: ChildProcess | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "depthwatt-interrupted-"));
});
afterEach(() => {
  tool?.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

function start(root: string, ...words: string[]): ChildProcess {
  const env = { ...process.env, TMPDIR: folder };
  tool = spawn(process.execPath, words, { cwd: root, env, stdio: ["ignore", "ignore", "pipe"] });
  return tool;
}

/** Names of files below a folder, without those of packages. */
function filesBelow(path: string): string[] {
  if (!existsSync(path)) return [];
  return readdirSync(path, { withFileTypes: true }).flatMap((entry) => {
    if (entry.name === "node_modules" || entry.name === ".git") return [];
    return entry.isDirectory() ? filesBelow(join(path, entry.name)) : [join(path, entry.name)];
  });
}

needs("toolchain").suite("an interrupted tool of the tests", () => {
  test("sanitize.mjs removes its copy while it compiles", async () => {
    const words = ["test/sanitize/sanitize.mjs", "--addon", "v4l2_camera", "--quick", "camera/v4l2/test/"];
    const ended = once(start(packageRoot(), ...words), "close");
    await vi.waitUntil(() => filesBelow(folder).some((name) => /objects\/.*\.o$/.test(name)), WAIT);
    tool!.kill("SIGTERM");
    expect(await ended).toEqual([143, null]);
    expect(readdirSync(folder)).toEqual([]);
  });

  test("mutate.mjs removes its copy while it judges mutants", async () => {
    const words = ["test/mutate/mutate.mjs", "--seed", "1", "--minutes", "5", "core/statistics.ts"];
    const ended = once(start(packageRoot(), ...words), "close");
    await vi.waitUntil(() => filesBelow(folder).some((name) => name.endsWith("/vitest.config.mjs")), WAIT);
    tool!.kill("SIGINT");
    expect(await ended).toEqual([130, null]);
    expect(readdirSync(folder)).toEqual([]);
  });

  test("coverage.mjs replaces the page that only it needs", async () => {
    const tree = new TreeCopy();
    try {
      recordBuild(tree.root, sourcesKey(tree.root));
      const words = ["test/coverage/coverage.mjs", "--typescript", "test/unit/matchers.test.ts"];
      const ended = once(start(tree.root, ...words), "close");
      const isReadable = () => filesBelow(join(tree.root, "dist/page")).some((name) => name.endsWith(".map"));
      await vi.waitUntil(isReadable, WAIT);
      tool!.kill("SIGTERM");
      expect(await ended).toEqual([143, null]);
      expect(isReadable()).toBe(false);
      expect(isBuilt(tree.root)).toBe(true);
      expect(filesBelow(join(tree.root, "build/coverage"))).toEqual([]);
    } finally {
      tree.remove();
    }
  });
});
