// SPDX-License-Identifier: Apache-2.0
// Benchmarks in the folders as downloaded, small and with answers worked out by hand.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { encodePfm, encodePng } from "../../../camera/index.js";
import { evaluate, measuresTable, readDataset, readScene } from "../../../edge/eval/index.js";

const NONE = -32768;
const INFINITE = Number.POSITIVE_INFINITY;
const near = (value: number) => expect.closeTo(value, 10);
const SIZE = { width: 4, height: 1 };

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "depthwatt-benchmarks-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function put(path: string, content: Uint8Array | string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), content);
}
const grey = (...data: number[]) => encodePng({ data: Uint8Array.from(data), ...SIZE });
const png16 = (...data: number[]) => encodePng({ data: Uint16Array.from(data), ...SIZE });
const pfm = (...data: number[]) => encodePfm({ data: Float32Array.from(data), ...SIZE });

async function middleburyScene(scene: string, truth = scene, ndisp = "32"): Promise<void> {
  put(`${scene}/im0.png`, await grey(1, 2, 3, 4));
  put(`${scene}/im1.png`, await grey(1, 2, 3, 4));
  put(`${scene}/calib.txt`, `cam0=[1 0 0; 0 1 0; 0 0 1]\nbaseline=1\nndisp=${ndisp}\n`);
  put(`${truth}/disp0GT.pfm`, pfm(10, 10, 10, INFINITE));
  put(`${truth}/mask0nocc.png`, await grey(255, 255, 128, 0));
}

async function kittiScene(name: string, year: 2012 | 2015): Promise<void> {
  const [images, all, noc] =
    year === 2015
      ? [["image_2", "image_3"], "disp_occ_0", "disp_noc_0"]
      : [["image_0", "image_1"], "disp_occ", "disp_noc"];
  for (const side of images) put(`training/${side}/${name}_10.png`, await grey(1, 2, 3, 4));
  // 80, 40, 40 and none; the third pixel is occluded.
  put(`training/${all}/${name}_10.png`, await png16(80 * 256, 40 * 256, 40 * 256, 0));
  put(`training/${noc}/${name}_10.png`, await png16(80 * 256, 40 * 256, 0, 0));
}

/** Evaluates a folder whose matcher answers with these disparities in pixels. */
async function evaluated(path: string, ...answer: number[]) {
  const scenes = await Promise.all((await readDataset(path)).map((entry) => readScene(entry)));
  const disparityQ4 = Int16Array.from(answer, (value) => (Number.isNaN(value) ? NONE : 16 * value));
  return evaluate(scenes, async () => ({ disparityQ4, milliseconds: 1, numDisparities: 8 }));
}

describe("Middlebury v3 and ETH3D", () => {
  test("thresholds are pixels of the full size; noc, all and estimated only", async () => {
    await middleburyScene("MiddEval3/trainingH/Adirondack");
    await middleburyScene("MiddEval3/trainingH/Vintage");
    // Off by 0.75, none, 0.25: 1.5, none and 0.5 px of the full size.
    const { scenes, mean } = await evaluated(join(folder, "MiddEval3"), 10.75, Number.NaN, 10.25, 0);
    expect(scenes.map(({ name, thresholdPx }) => [name, thresholdPx])).toEqual([
      ["Adirondack", 1],
      ["Vintage", 1],
    ]);
    const [first] = scenes;
    expect(first!.measures!.nonocc).toEqual({
      "bad 0.5": { badPercent: 100, badPercentValidOnly: 100 },
      "bad 1": { badPercent: 100, badPercentValidOnly: 100 },
      "bad 2": { badPercent: 50, badPercentValidOnly: 0 },
      "bad 4": { badPercent: 50, badPercentValidOnly: 0 },
    });
    expect(first!.measures!.all!["bad 0.5"]!.badPercent).toBeCloseTo(200 / 3, 10);
    expect(first!.measures!.all!["bad 1"]!.badPercentValidOnly).toBe(50);
    expect(mean.measures).toEqual(first!.measures);
    // The end-point error is in pixels of the full size too.
    expect(first!.estimates.all).toEqual({ density: near(200 / 3), endPointErrorPx: 1 });
    expect(first!.estimates.nonocc).toEqual({ density: 50, endPointErrorPx: 1.5 });
    expect(mean.estimates).toEqual(first!.estimates);
    expect(measuresTable([{ name: "mean", ...mean }]).slice(-2)).toEqual([
      ["mean", "nonocc", "every", "100.00", "100.00", "50.00", "50.00", "50.0", "1.50"],
      ["mean", "nonocc", "estimated", "100.00", "100.00", "0.00", "0.00", "50.0", "1.50"],
    ]);
  });

  test("filled pixels, whose confidence is 0, are no matched ones", async () => {
    await middleburyScene("trainingQ/Adirondack");
    const [entry] = await readDataset(join(folder, "trainingQ"));
    const scene = await readScene(entry!);
    // Filled and off by 1.5, matched and off by 0.25, matched and right; the fourth has no ground truth.
    const matched = {
      disparityQ4: Int16Array.of(184, 164, 160, 0),
      confidence: Uint8Array.of(0, 1, 255, 9),
      milliseconds: 1,
      numDisparities: 8,
    };
    const { scenes } = await evaluate([scene], async () => matched);
    // Quarter size: 6, 1 and 0 px of the full size.
    expect(scenes[0]!.measures.all!["bad 4"]).toEqual({
      badPercent: near(100 / 3),
      badPercentValidOnly: near(100 / 3),
      badPercentMatched: 0,
    });
    expect(scenes[0]!.measures.nonocc!["bad 0.5"]).toEqual({
      badPercent: 100,
      badPercentValidOnly: 100,
      badPercentMatched: 100,
    });
    expect(scenes[0]!.estimates.all).toEqual({
      density: 100,
      endPointErrorPx: near(7 / 3),
      matchedDensity: near(200 / 3),
      matchedEndPointErrorPx: 0.5,
    });
    expect(measuresTable(scenes).map((row) => row.slice(1, 4))).toEqual([
      ["mask", "pixels", "bad 0.5 %"],
      ["all", "every", "66.67"],
      ["all", "matched", "50.00"],
      ["nonocc", "every", "100.00"],
      ["nonocc", "matched", "100.00"],
    ]);
  });

  test("the hard scenes count half in the mean", async () => {
    await middleburyScene("trainingQ/Adirondack");
    await middleburyScene("trainingQ/Vintage");
    put("trainingQ/Vintage/disp0GT.pfm", pfm(20, 20, 20, INFINITE));
    const { mean } = await evaluated(join(folder, "trainingQ"), 10, 10, 10, 0);
    expect(mean.measures!.all!["bad 2"]!.badPercent).toBeCloseTo(100 / 3, 10);
    expect(mean.masks.valid!.badPercent).toBe(50);
  });

  test("ETH3D: own pixels, and the ground truth in its own archive", async () => {
    await middleburyScene("two_view_training/delivery_area_1l", "two_view_training_gt/delivery_area_1l");
    const { scenes } = await evaluated(folder, 11.5, 10, 10, 0);
    expect(scenes[0]).toMatchObject({ name: "delivery_area_1l", thresholdPx: 1 });
    expect(scenes[0]!.measures!.nonocc!["bad 1"]!.badPercent).toBe(50);
    expect(scenes[0]!.measures!.nonocc!["bad 2"]!.badPercent).toBe(0);
  });

  test("a whole scene as it is read, of the full size and of a quarter", async () => {
    for (const [size, scale] of [
      ["trainingF", 1],
      ["trainingQ", 4],
    ] as const) {
      await middleburyScene(`${size}/Shelves`, undefined, "600");
      put(`${size}/notes/readme.txt`, "");
      expect(await readDataset(join(folder, size))).toEqual([
        {
          folder: join(folder, size),
          name: "Shelves",
          left: "Shelves/im0.png",
          right: "Shelves/im1.png",
          groundTruth: { path: "Shelves/disp0GT.pfm", scale: 1, invalid: "+inf" },
          masks: { nonocc: "Shelves/mask0nocc.png" },
          // The engine's largest search.
          numDisparities: 512,
          badThresholdPx: 2 / scale,
          measures: [0.5, 1, 2, 4].map((px) => ({ name: `bad ${px}`, thresholdPx: px / scale })),
          pixelScale: scale,
          weight: 0.5,
        },
      ]);
    }
    await middleburyScene("other/Shelves", undefined, "1");
    const [plain] = await readDataset(join(folder, "other"));
    expect(plain).toMatchObject({ numDisparities: 1, badThresholdPx: 1, pixelScale: 1 });
    expect(plain!.weight).toBeUndefined();
  });

  test("only training scenes are found below MiddEval3", async () => {
    await middleburyScene("MiddEval3/testQ/Adirondack");
    await expect(readDataset(join(folder, "MiddEval3"))).rejects.toMatchObject({ code: "DATASET_INVALID" });
    await middleburyScene("MiddEval3/trainingH/Pipes");
    expect((await readDataset(join(folder, "MiddEval3"))).map(({ name }) => name)).toEqual(["Pipes"]);
  });

  test("several sizes are a choice of the user", async () => {
    await middleburyScene("trainingH/Adirondack");
    await middleburyScene("trainingQ/Adirondack");
    await expect(readDataset(folder)).rejects.toMatchObject({
      code: "DATASET_INVALID",
      message: expect.stringContaining("trainingH, trainingQ"),
    });
  });

  test.each(["nan", "inf", "0", "-3", "2.5", ""])("ndisp=%s is refused", async (ndisp) => {
    await middleburyScene("trainingQ/Adirondack", undefined, ndisp);
    await expect(readDataset(folder)).rejects.toMatchObject({
      code: "DATASET_INVALID",
      message: expect.stringContaining("ndisp"),
    });
  });

  test.each([
    ["NaN", pfm(10, Number.NaN, 10, 10), "IMAGE_UNSUPPORTED", /found NaN at \(1, 0\)/],
    ["minus infinity", pfm(10, 10, -INFINITE, 10), "IMAGE_UNSUPPORTED", /found -Infinity at \(2, 0\)/],
    ["a cut file", pfm(10, 10, 10, 10).subarray(0, -3), "SOURCE_UNREADABLE", /disp0GT.pfm/],
    [
      "another size",
      encodePfm({ data: new Float32Array(6), width: 3, height: 2 }),
      "IMAGE_SIZE_MISMATCH",
      /expected 4 x 1/,
    ],
  ])("a ground truth with %s is refused", async (_, truth, code, message) => {
    await middleburyScene("trainingQ/Adirondack");
    put("trainingQ/Adirondack/disp0GT.pfm", truth);
    const [entry] = await readDataset(folder);
    await expect(readScene(entry!)).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  });
});

describe("KITTI", () => {
  test.each([2012, 2015] as const)("%i: D1 needs more than 3 px and 5 %", async (year) => {
    await kittiScene("000000", year);
    // Off by 3.5 of 80 (4.4 %), 3.5 of 40 (8.8 %), and none where occluded.
    const { scenes } = await evaluated(folder, 83.5, 43.5, Number.NaN, 7);
    const [{ name, measures, masks, numDisparities }] = scenes as [(typeof scenes)[number]];
    expect([name, numDisparities]).toEqual(["000000_10", 8]);
    expect(measures!.noc!.D1).toEqual({ badPercent: 50, badPercentValidOnly: 50 });
    expect(measures!.noc!["bad 3"]!.badPercent).toBe(100);
    expect(measures!.all!.D1!.badPercent).toBeCloseTo(200 / 3, 10);
    expect(measures!.all!["bad 4"]).toMatchObject({ badPercentValidOnly: 0 });
    expect(masks.valid!.density).toBeCloseTo(200 / 3, 10);
  });

  test("whole scenes as they are read; 2012 in colours where they are there", async () => {
    await kittiScene("000000", 2012);
    const measures = [
      { name: "D1", thresholdPx: 3, share: 0.05 },
      ...[2, 3, 4, 5].map((px) => ({ name: `bad ${px}`, thresholdPx: px })),
    ];
    const scene = (left: string, right: string) => ({
      folder: join(folder, "training"),
      name: "000000_10",
      left: `${left}/000000_10.png`,
      right: `${right}/000000_10.png`,
      groundTruth: { path: "disp_occ/000000_10.png", scale: 256, invalid: 0 },
      masks: { noc: { path: "disp_noc/000000_10.png", counts: expect.any(Function) } },
      numDisparities: 256,
      badThresholdPx: 3,
      measures,
    });
    put("training/disp_occ/000000_11.png", "another moment");
    expect(await readDataset(folder)).toEqual([scene("image_0", "image_1")]);
    expect(await readDataset(join(folder, "training"))).toEqual([scene("image_0", "image_1")]);
    put("training/colored_0/000000_10.png", "colours");
    expect(await readDataset(folder)).toEqual([scene("colored_0", "colored_1")]);
  });

  test("2015: background and objects apart", async () => {
    await kittiScene("000000", 2015);
    put("training/obj_map/000000_10.png", await grey(0, 1, 1, 0));
    const { scenes } = await evaluated(folder, 80, 50, 40, 0);
    expect(scenes[0]!.measures!.background!.D1!.badPercent).toBe(0);
    expect(scenes[0]!.measures!.objects!.D1!.badPercent).toBe(50);
  });

  test("a cut PNG and a missing mask are refused with the file's name", async () => {
    await kittiScene("000000", 2015);
    const truth = join(folder, "training/disp_occ_0/000000_10.png");
    const whole = readFileSync(truth);
    const [entry] = await readDataset(folder);
    put("training/disp_occ_0/000000_10.png", whole.subarray(0, whole.length - 30));
    await expect(readScene(entry!)).rejects.toMatchObject({
      code: "SOURCE_UNREADABLE",
      message: expect.stringContaining("disp_occ_0/000000_10.png"),
    });
    put("training/disp_occ_0/000000_10.png", whole);
    rmSync(join(folder, "training/disp_noc_0/000000_10.png"));
    await expect(readScene(entry!)).rejects.toMatchObject({
      code: "SOURCE_UNREADABLE",
      message: expect.stringContaining("disp_noc_0/000000_10.png"),
    });
  });
});
