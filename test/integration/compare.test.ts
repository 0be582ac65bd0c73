// SPDX-License-Identifier: Apache-2.0
// Tests depthwatt compare like a user: the sheet, the metrics, and refusals.
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readRgbImage, writeDisparity } from "../../camera/index.js";
import { runInProcess } from "../doubles/command-line.js";
import { lastJson, runProgram } from "../doubles/program.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-compare-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const scene = (name: string) => join(folder, "scene", name);
const pair = [scene("left/000000.png"), scene("right/000000.png")];
const out = join(folder, "both.png");
const QUIET = ["--set", "board=none", "--num-disparities", "32"];

beforeAll(async () => {
  const ran = await runInProcess([
    "scene",
    "--frames",
    "1",
    "--out",
    join(folder, "scene"),
    "--width",
    "120",
    "--height",
    "80",
  ]);
  expect(ran.code, ran.stderr).toBe(0);
}, 60_000);

test("maps above, errors below, held against the truth", async () => {
  const words = [
    "--a",
    "quality",
    "--b",
    "sad-3",
    "--truth",
    scene("disparity-left/000000.pfm"),
    "-o",
    out,
    "--json",
  ];
  const ran = await runProgram(["compare", ...pair, ...words, ...QUIET]);
  expect(ran.code, ran.stderr).toBe(0);
  const { a, b, differingPercent } = lastJson<
    Record<"a" | "b", { preset: string; badPercent: number }> & { differingPercent: number }
  >(ran);
  expect([a.preset, b.preset]).toEqual(["quality", "sad-3"]);
  expect(a.badPercent).toBeLessThan(b.badPercent);
  expect(differingPercent).toBeGreaterThan(0);
  const sheet = await readRgbImage(out);
  expect([sheet.width, sheet.height]).toEqual([2 * 120 + 8, 2 * 80 + 8]);
  // The error map of the better one is whiter.
  const white = (fromX: number) => {
    let count = 0;
    for (let y = 88; y < 168; ++y)
      for (let x = fromX; x < fromX + 120; ++x) {
        const at = 3 * (y * sheet.width + x);
        if (sheet.data[at] === sheet.data[at + 1] && sheet.data[at]! > 100) ++count;
      }
    return count;
  };
  expect(white(0)).toBeGreaterThan(white(128));
}, 30_000);

test("one preset against itself differs nowhere; an unknown one is reported with the nearest", async () => {
  const same = await runInProcess([
    "compare",
    ...pair,
    "--a",
    "quality",
    "--b",
    "quality",
    "-o",
    out,
    "--threshold",
    "2",
    ...QUIET,
  ]);
  expect(same.stdout).toMatch(
    /^(quality +[\d.]+ ms +[\d.]+ % valid *\n){2}0\.00 % of the pixels differ by more than 2 px, or/,
  );
  expect(same.stderr).toContain(`${out}: above quality and quality, below where they differ`);
  const unknown = await runInProcess([
    "compare",
    ...pair,
    "--a",
    "quality",
    "--b",
    "chang-haf",
    "-o",
    out,
    ...QUIET,
  ]);
  expect(unknown.code).toBe(2);
  expect(unknown.stderr).toMatch(/expected --b to be .*did you mean "chang-half"\?/);
}, 30_000);

test("another engine's disparity is one side; its helper needs the name foreign and the other way round", async () => {
  const stream = join(folder, "stream");
  const frame = Buffer.alloc(120 * 80 * 5, 7);
  // A disparity of 32 / 16 px everywhere, of full confidence.
  for (let at = 2 * 120 * 80; at < 4 * 120 * 80; at += 2) frame.writeInt16LE(32, at);
  frame.fill(255, 4 * 120 * 80);
  const frames = [0, 1, 2].flatMap(() => [Buffer.from("FRAME\n"), frame]);
  writeFileSync(stream, Buffer.concat([Buffer.from("DEPTHWATT-PAIRS W120 H80 F30:1\n"), ...frames]));
  // Errors of 0, 0.5, 1, 1.5, 3 and 7 px, and nothing to compare with.
  const truth = Float32Array.from({ length: 120 * 80 }, () => Number.POSITIVE_INFINITY);
  truth.set([2, 2.5, 3, 3.5, 5, 9]);
  const truthFile = join(folder, "by-hand.pfm");
  await writeDisparity(truthFile, { width: 120, height: 80, data: truth });
  const words = ["compare", ...pair, "--a", "sad-3", "-o", out, "--json", ...QUIET];
  const foreign = ["--b", "foreign", "--foreign", `cat ${stream}`, "--truth", truthFile];
  const ran = await runInProcess([...words, ...foreign]);
  expect(ran.code, ran.stderr).toBe(0);
  const { width, height, threshold, b } = lastJson<{
    width: number;
    height: number;
    threshold: number;
    b: { preset: string; validPercent: number; milliseconds: number };
  }>(ran);
  expect([width, height, threshold]).toEqual([120, 80, 1]);
  expect(b).toMatchObject({ preset: "foreign", validPercent: 100, badPercent: 50 });
  expect(b).toMatchObject({ averageErrorPx: expect.closeTo(13 / 6, 6) });
  expect(b.milliseconds).toBeGreaterThan(0);
  const sheet = await readRgbImage(out);
  const pixel = (x: number, y: number) => [...sheet.data.subarray(3 * (y * sheet.width + x)).subarray(0, 3)];
  expect([0, 1, 2, 3, 4, 5, 6].map((x) => pixel(128 + x, 88))).toEqual([
    [255, 255, 255],
    [218, 218, 218],
    [180, 180, 180],
    [255, 150, 0],
    [255, 0, 0],
    [255, 0, 0],
    [0, 0, 0],
  ]);
  // White lines between the maps.
  for (const [x, y] of [
    [120, 0],
    [127, 79],
    [0, 80],
    [247, 87],
  ] as const)
    expect(pixel(x, y)).toEqual([255, 255, 255]);
  expect(pixel(247, 167)).toEqual([0, 0, 0]);
  for (const more of [
    ["--b", "foreign"],
    ["--b", "sad-5", "--foreign", "cat"],
  ]) {
    const { code, stderr } = await runInProcess([...words, ...more]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("expected --foreign COMMAND and foreign")]);
  }
}, 30_000);

test("no picture is overwritten by what was made of it", async () => {
  const truth = join(folder, "truth.png");
  copyFileSync(pair[0]!, truth);
  for (const place of [...pair, truth]) {
    const before = readFileSync(place);
    const words = ["--a", "sad-3", "--b", "sad-5", "--truth", truth, "-o", place];
    const ran = await runInProcess(["compare", ...pair, ...words, ...QUIET]);
    expect(ran.code, ran.stderr).toBe(2);
    expect(ran.stderr).toMatch(/expected -o and (the (left|right) image|--truth) to be two files/);
    expect(readFileSync(place).equals(before), place).toBe(true);
  }
}, 30_000);

test("what would have no effect is refused", async () => {
  const words = ["compare", ...pair, "--a", "sad-3", "--b", "sad-5", "-o", join(folder, "idle.png")];
  const preset = await runInProcess([...words, "--preset", "quality"]);
  expect([preset.code, preset.stderr]).toEqual([2, expect.stringContaining("unknown option '--preset'")]);
  const scale = await runInProcess([...words, "--truth-scale", "4"]);
  expect([scale.code, scale.stderr]).toEqual([2, expect.stringContaining("expected --truth with")]);
  expect(existsSync(join(folder, "idle.png"))).toBe(false);
}, 30_000);
