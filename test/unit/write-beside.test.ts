// SPDX-License-Identifier: Apache-2.0
// Files that are there whole or not at all, and paths that lead to one file.
import { execFileSync } from "node:child_process";
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { isSameFile, writeBeside } from "../../core/index.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-beside-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("a file is replaced whole; what cannot be written leaves the older one and nothing next to it", async () => {
  const own = mkdtempSync(join(folder, "whole-"));
  const path = join(own, "a.txt");
  await writeBeside(path, "one");
  await writeBeside(path, "two");
  expect(readFileSync(path, "utf8")).toBe("two");
  expect(readdirSync(own)).toEqual(["a.txt"]);
  mkdirSync(join(own, "is-a-folder"));
  await expect(writeBeside(join(own, "is-a-folder"), "x")).rejects.toThrow();
  await writeBeside("/dev/null", "x");
  expect(readdirSync(own).sort()).toEqual(["a.txt", "is-a-folder"]);
});

test("a name of 255 bytes is written, in every alphabet", async () => {
  const long = mkdtempSync(join(folder, "long-"));
  for (const name of ["a".repeat(255), "\u6df1".repeat(85)]) {
    await writeBeside(join(long, name), "x");
    expect(readdirSync(long)).toEqual([name]);
    rmSync(join(long, name));
  }
  rmSync(long, { recursive: true });
});

test("one file by other names is one file", () => {
  const path = join(folder, "file");
  writeFileSync(path, "");
  linkSync(path, join(folder, "hard"));
  symlinkSync("file", join(folder, "soft"));
  writeFileSync(join(folder, "other"), "");
  for (const same of ["file", "hard", "soft", `../${folder.split("/").at(-1)}/file`])
    expect(isSameFile(path, join(folder, same)), same).toBe(true);
  expect(isSameFile(path, join(folder, "other"))).toBe(false);
  expect(isSameFile(join(folder, "new"), join(folder, ".", "new"))).toBe(true);
  expect(isSameFile(join(folder, "new"), join(folder, "newer"))).toBe(false);
  expect(isSameFile("/dev/null", "/dev/null")).toBe(false);
});

test("a path that can lead nowhere is no other file, and no error", () => {
  const path = join(folder, "taken for a folder");
  writeFileSync(path, "");
  symlinkSync("circle", join(folder, "circle"));
  for (const nowhere of [join(folder, "circle"), join(folder, "n".repeat(300)), join(path, "below")])
    expect(isSameFile(nowhere, path), nowhere.slice(0, 80)).toBe(false);
});

/** Its own small disk; undefined where this user may not mount one. */
function smallDisk(): string | undefined {
  const disk = join(folder, "disk");
  mkdirSync(disk);
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], { stdio: "pipe" });
    return disk;
  } catch {
    return undefined;
  }
}

test("a full disk", async ({ skip }) => {
  const disk = smallDisk();
  if (disk === undefined) return skip("needs root: it mounts a disk of 64 kB");
  try {
    await writeBeside(join(disk, "kept"), Buffer.alloc(20_000, 1));
    await expect(writeBeside(join(disk, "kept"), Buffer.alloc(100_000, 2))).rejects.toMatchObject({
      code: "ENOSPC",
    });
    expect(readdirSync(disk)).toEqual(["kept"]);
    expect(readFileSync(join(disk, "kept")).equals(Buffer.alloc(20_000, 1))).toBe(true);
  } finally {
    execFileSync("umount", [disk]);
  }
});
