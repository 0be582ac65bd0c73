// SPDX-License-Identifier: Apache-2.0
// Tests folders for saved files: with their parents, and an error, never a hang, if none can be made.
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { makeFolder } from "../../../../camera/index.js";

const root = mkdtempSync(join(tmpdir(), "depthwatt-folder-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

test("makes missing folders, and uses existing ones", () => {
  const deep = join(root, "a/b/c");
  makeFolder(deep, 0o750);
  makeFolder(deep);
  expect(statSync(deep).mode & 0o777).toBe(0o750 & ~process.umask());
});

test("a file in the way is an error", () => {
  writeFileSync(join(root, "file"), "");
  for (const path of ["file", "file/below"])
    expect(() => makeFolder(join(root, path))).toThrow(
      expect.objectContaining({ code: expect.stringMatching(/EEXIST|ENOTDIR/) }),
    );
});

test.runIf(existsSync("/proc/self"))("a file system that refuses folders is an error and not a hang", () => {
  for (const path of ["/proc/depthwatt", "/proc/depthwatt/below/it"])
    expect(() => makeFolder(path)).toThrow(expect.objectContaining({ code: "ENOENT" }));
});
