// SPDX-License-Identifier: Apache-2.0
// depthwatt match warns of pairs that cannot give depth: swapped images, one image twice, images as captured.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { writeScene } from "../../camera/index.js";
import { loadNative } from "../../edge/contracts/native.js";
import { lastJson, runProgram } from "../doubles/program.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-doubts-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const image = (view: string, side: string) => join(folder, view, side, "000000.png");

beforeAll(async () => {
  const options = { frames: 1, width: 480, height: 360, truth: "none" } as const;
  for (const view of ["ideal", "raw"] as const)
    await writeScene(loadNative(), { ...options, folder: join(folder, view), view });
}, 60_000);

const match = (left: string, right: string, ...more: string[]) =>
  runProgram(["match", left, right, "--backend", "cpu", ...more]);

test("a good pair gets no warning", async () => {
  const { code, stderr } = await match(image("ideal", "left"), image("ideal", "right"));
  expect([code, stderr]).toEqual([0, ""]);
});

test.each([
  ["PAIR_SWAPPED", image("ideal", "right"), image("ideal", "left")],
  ["PAIR_IDENTICAL", image("ideal", "left"), image("ideal", "left")],
  ["PAIR_UNRECTIFIED", image("raw", "left"), image("raw", "right")],
])("%s", async (problem, left, right) => {
  const ran = await match(left, right, "--json");
  expect(ran.code, ran.stderr).toBe(0);
  expect(ran.stderr).toContain(`warning: ${problem}: `);
  expect(lastJson(ran)).toMatchObject({ problem: { code: problem } });
});

test("a search range that is too short: the warning names the range that the scene needs", async () => {
  const pair = [image("ideal", "left"), image("ideal", "right")] as const;
  const ran = await match(...pair, "--num-disparities", "16", "--json");
  const { neededDisparities, atRangeEndPercent } = lastJson(ran) as Record<string, number>;
  expect(atRangeEndPercent).toBeGreaterThan(0.5);
  expect(ran.stderr).toContain(`Increase match.numDisparities from 16 to ${neededDisparities}.`);
  const again = await match(...pair, "--num-disparities", `${neededDisparities}`, "--json");
  expect(again.stderr).toBe("");
  expect(lastJson(again)).toMatchObject({ neededDisparities: null });
});

test("images that are too small to be examined get no warning", async () => {
  const small = join(folder, "small");
  const options = { frames: 1, width: 32, height: 32, truth: "none", view: "ideal", folder: small } as const;
  await writeScene(loadNative(), options);
  const ran = await match(image("small", "right"), image("small", "left"), "--num-disparities", "8");
  expect(ran.code, ran.stderr).toBe(0);
});
