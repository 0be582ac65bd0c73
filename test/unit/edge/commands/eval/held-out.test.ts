// SPDX-License-Identifier: Apache-2.0
// Held-out evaluations: once for each commit, of all scenes, by a work tree without changes.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { evaluateHeldOut, sourceCommit } from "../../../../../edge/commands/eval/held-out.js";
import { modeFrom } from "../../../../../edge/commands/eval/options.js";
import { VERSION } from "../../../../../edge/contracts/version.js";

const report = { json: { mean: 9.17 }, lines: ["9.17"], notes: ["counted"], plots: [] };
const evaluate = vi.fn();

let folder = "";
const before = process.cwd();
const git = (...words: string[]) =>
  execFileSync("git", ["-C", folder, "-c", "user.name=t", "-c", "user.email=t@t", ...words], {
    encoding: "utf8",
  }).trim();

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "depthwatt-held-out-"));
  process.chdir(folder);
  evaluate.mockReset().mockResolvedValue(report);
});
afterEach(() => {
  process.chdir(before);
  rmSync(folder, { recursive: true });
});

const evaluateAt = (commit: string) =>
  evaluateHeldOut(["/data/rooms/"], { frames: 1 }, { commit: async () => commit, evaluate });

test("writes the result with its commit, and refuses to do so again", async () => {
  const { notes, lines } = await evaluateAt("abcdef0");
  expect(lines).toEqual(["9.17"]);
  expect(notes).toEqual(["counted", "held-out result: held-out-rooms-abcdef0.json"]);
  const written = JSON.parse(readFileSync("held-out-rooms-abcdef0.json", "utf8"));
  expect(written).toEqual({ heldOut: "rooms", commit: "abcdef0", date: expect.any(String), mean: 9.17 });
  await expect(evaluateAt("abcdef0")).rejects.toMatchObject({ code: "FILE_EXISTS" });
  expect(evaluate).toHaveBeenCalledTimes(1);
  await evaluateAt("abcdef1");
  expect(readdirSync(folder)).toHaveLength(2);
});

test("a folder that cannot be written is an error with a code", async () => {
  rmSync(folder, { recursive: true });
  const failure = evaluateAt("abcdef0");
  await expect(failure).rejects.toMatchObject({ code: "OUTPUT_UNWRITABLE" });
  process.chdir(before);
  folder = mkdtempSync(join(tmpdir(), "depthwatt-held-out-"));
});

test("the commit is that of a work tree without changes; a package has its version", async () => {
  expect(await sourceCommit(folder)).toBe(`v${VERSION}`);
  git("init", "--quiet");
  writeFileSync("a", "1");
  git("add", "a");
  git("commit", "--quiet", "--message", "Add a");
  expect(await sourceCommit(folder)).toBe(git("rev-parse", "--short=7", "HEAD"));
  writeFileSync("a", "2");
  await expect(sourceCommit(folder)).rejects.toMatchObject({ code: "USAGE" });
});

test.each([{ sweep: ["p2=1,2"] }, { algorithm: "all" as const }, { scenes: "teddy" }])(
  "nothing may be chosen on held-out scenes: %o",
  (options) => {
    const expected = expect.objectContaining({ code: "USAGE" });
    expect(() => modeFrom({ frames: 1, heldOut: true, ...options })).toThrow(expected);
  },
);

test("held-out is a mode", () => expect(modeFrom({ frames: 1, heldOut: true })).toBe("heldOut"));
