// SPDX-License-Identifier: Apache-2.0
// Tests which files commands refuse to overwrite: their own inputs, and one result by another.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { writeImage } from "../../camera/index.js";
import { runProgram } from "../doubles/program.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-files-"));
const [left, right] = [join(folder, "left.png"), join(folder, "right.png")];
beforeAll(async () => {
  const picture = { data: new Uint8Array(64 * 48).map((_, i) => (i * 37) & 255), width: 64, height: 48 };
  for (const path of [left, right]) await writeImage(path, picture);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("match: two results in one file, a result in place of a picture", async () => {
  const out = join(folder, "out.png");
  const before = readFileSync(left);
  for (const [words, message] of [
    [["-o", out, "--color", out], /error: expected --color and -o to be two files/],
    [["-o", left], /error: expected -o and the left image to be two files/],
    [
      ["--color", join(folder, ".", "right.png")],
      /error: expected --color and the right image to be two files/,
    ],
  ] as const) {
    const ran = await runProgram(["match", left, right, "--num-disparities", "16", ...words]);
    expect(ran.code).toBe(2);
    expect(ran.stderr).toMatch(message);
  }
  expect(readFileSync(left).equals(before)).toBe(true);
});

test("scene: a folder without a name", async () => {
  const ran = await runProgram(["scene", "--frames", "1", "--out", ""]);
  expect(ran.code).toBe(2);
  expect(ran.stderr).toMatch(/expected --out to be a folder, got ""/);
});
