// SPDX-License-Identifier: Apache-2.0
// depthwatt scene: what it writes is what the other commands read.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  loadStereoCalibration,
  openReplaySource,
  readDisparity,
  readFrameIndex,
  readGreyImage,
  sceneCalibration,
  writeScene,
} from "../../camera/index.js";
import { define } from "../../edge/commands/scene/command.js";
import { loadNative } from "../../edge/contracts/native.js";
import { readDataset, readScene } from "../../edge/eval/dataset.js";

const SIZE = { width: 320, height: 240 };
let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "depthwatt-scene-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("a rectified scene is a data set for eval: truth, masks, sizes and numbers fit together", async () => {
  await writeScene(loadNative(), { ...SIZE, folder, frames: 2, firstFrame: 40, view: "rectified" });
  const entries = await readDataset(folder);
  expect(entries.map((entry) => entry.name)).toEqual(["000040", "000041"]);
  const scene = await readScene(entries[1]!);
  expect([scene.width, scene.height, scene.numDisparities]).toEqual([320, 240, 32]);
  expect(readFrameIndex({ data: scene.left, ...SIZE })).toBe(41);
  expect(readFrameIndex({ data: scene.right, ...SIZE })).toBe(41);
  expect(Math.max(...scene.truth)).toBeLessThan(scene.numDisparities);
  const seen = scene.masks.get("nonocc")!.reduce((sum, value) => sum + value, 0) / scene.truth.length;
  expect(seen).toBeGreaterThan(0.9);
  expect(seen).toBeLessThan(0.99);
  const right = await readDisparity(join(folder, "disparity-right/000041.pfm"));
  expect(right.data.every((value) => value > 1 && value < 32)).toBe(true);
});

test("the descriptions of a scene have every field, and none of a part that was not asked for", async () => {
  const [width, height] = [320, 240];
  const done: number[] = [];
  const both = join(folder, "both");
  const onFrame = (count: number) => done.push(count);
  await writeScene(loadNative(), {
    ...SIZE,
    folder: both,
    frames: 2,
    firstFrame: 9,
    view: "ideal",
    room: "bare",
    onFrame,
  });
  expect(done).toEqual([1, 2]);
  const read = (path: string) => JSON.parse(readFileSync(path, "utf8"));
  const scenes = ["000009", "000010"].map((name) => ({
    name,
    left: `left/${name}.png`,
    right: `right/${name}.png`,
    groundTruth: { path: `disparity-left/${name}.pfm`, scale: 1, invalid: "inf" },
    masks: { nonocc: `visible-left/${name}.png` },
    groundTruthRight: { path: `disparity-right/${name}.pfm`, scale: 1, invalid: "inf" },
    masksRight: { nonocc: `visible-right/${name}.png` },
    numDisparities: 32,
    badThresholdPx: 1,
  }));
  expect(read(join(both, "dataset.json"))).toEqual({
    name: "depthwatt-scene",
    metric: "as middlebury-v2",
    scenes,
  });
  const description = {
    name: "depthwatt-scene",
    width,
    height,
    seed: 1,
    room: "bare",
    floor: { heightMetres: 1.3, pitchDegrees: expect.closeTo(11.30993, 4), rollDegrees: 0 },
    firstFrame: 9,
    frames: 2,
    images: "rectified",
    calibration: "calibration.json",
    truthView: {
      width,
      height,
      focalPixels: 260,
      cx: 159.5,
      cy: 119.5,
      baselineMetres: expect.closeTo(0.12, 9),
    },
    scenes,
  };
  expect(read(join(both, "scene.json"))).toEqual(description);
  const none = join(folder, "none");
  const pose = { heightMetres: 1, pitchDegrees: 5, rollDegrees: 2 };
  await writeScene(loadNative(), {
    width: 64,
    height: 48,
    folder: none,
    frames: 1,
    truth: "none",
    pose,
    colours: true,
    seed: 3,
  });
  expect(read(join(none, "scene.json"))).toMatchObject({
    seed: 3,
    floor: pose,
    firstFrame: 0,
    images: "raw",
    rawFiles: { left: "left.raw", right: "right.raw", format: "RGB8" },
    scenes: [
      {
        name: "000000",
        left: "left/000000.png",
        right: "right/000000.png",
        numDisparities: 16,
        badThresholdPx: 1,
      },
    ],
  });
  expect(readdirSync(none).sort()).toEqual([
    "calibration.json",
    "left",
    "left.raw",
    "right",
    "right.raw",
    "scene.json",
  ]);
});

test("a raw scene: one file a side with the frames back to back, PNG next to, a calibration that loads, replayable", async () => {
  await writeScene(loadNative(), { ...SIZE, folder, frames: 3, view: "raw", truth: "left" });
  const stream = readFileSync(join(folder, "right.raw"));
  expect(stream.length).toBe(3 * 320 * 240);
  for (const n of [0, 1, 2]) {
    const frame = stream.subarray(n * 320 * 240, (n + 1) * 320 * 240);
    expect(readFrameIndex({ data: frame, ...SIZE })).toBe(n);
    const { data } = await readGreyImage(join(folder, `right/00000${n}.png`));
    expect(Buffer.compare(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), frame)).toBe(0);
  }
  const { calibration } = await loadStereoCalibration(join(folder, "calibration.json"));
  expect(calibration.hash).toBe(sceneCalibration(SIZE).hash);
  const description = JSON.parse(readFileSync(join(folder, "scene.json"), "utf8"));
  expect(description).toMatchObject({
    images: "raw",
    truthView: { ...SIZE, baselineMetres: expect.closeTo(0.12, 9) },
  });
  // Unrectified pictures under the name of a data set would be scored as if they were rectified.
  await expect(readDataset(folder)).rejects.toMatchObject({ code: "DATASET_INVALID" });
  const replay = await openReplaySource({
    left: join(folder, "left"),
    right: join(folder, "right"),
    rateHz: "max",
  });
  expect(replay.pairsPerLap).toBe(3);
});

test("a folder that cannot be made is named", async () => {
  writeFileSync(join(folder, "file"), "");
  const error = await writeScene(loadNative(), { ...SIZE, folder: join(folder, "file"), frames: 1 }).catch(
    (e) => e,
  );
  expect(error).toMatchObject({ code: "OUTPUT_UNWRITABLE" });
  expect(error.message).toContain(join(folder, "file"));
});

test("the command's flags: both views at once and numbers that are none are usage errors", async () => {
  const run = (...words: string[]) => {
    const program = new Command().exitOverride();
    define(program.command("scene"));
    return program.parseAsync(["scene", "--out", folder, ...words], { from: "user" });
  };
  await expect(run("--frames", "1", "--raw", "--ideal")).rejects.toMatchObject({ code: "USAGE" });
  await expect(run("--frames", "0")).rejects.toThrow(/--frames to be a whole number from 1.*got "0"/);
  await expect(run("--frames", "1", "--width", "12x")).rejects.toThrow(
    /--width.*from 16 to 16384, got "12x"/,
  );
  await run("--frames", "1", "--ideal", "--truth", "none", "--width", "64", "--height", "48");
  expect((await readGreyImage(join(folder, "left/000000.png"))).width).toBe(64);
});

test("a scene is written over an older scene, but not over a data set or calibration", async () => {
  const run = () => {
    const program = new Command().exitOverride();
    define(program.command("scene"));
    const words = ["--frames", "1", "--ideal", "--truth", "none", "--width", "64", "--height", "48"];
    return program.parseAsync(["scene", "--out", folder, ...words], { from: "user" });
  };
  for (const name of ["dataset.json", "calibration.json"]) {
    writeFileSync(join(folder, name), "{}");
    await expect(run()).rejects.toMatchObject({
      code: "FILE_EXISTS",
      message: expect.stringContaining(`${name} and no scene.json`),
    });
    expect(readdirSync(folder)).toEqual([name]);
    rmSync(join(folder, name));
  }
  await run();
  await run();
  expect(readdirSync(folder)).toContain("scene.json");
});
