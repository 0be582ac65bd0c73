// SPDX-License-Identifier: Apache-2.0
// The engine as JavaScript uses it: what it refuses, what it promises about threads and slots, and that every instruction
// set computes the same bits from raw images to encoded bodies.
import { createHash } from "node:crypto";
import { readdirSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, test, vi } from "vitest";
import {
  createEngine,
  type EngineOptions,
  engineAddon,
  type NativeEngine,
  openEngine,
} from "../../cuda/index.js";
import { loadNative } from "../../edge/contracts/native.js";
import { computeFrame, engineOptions } from "../doubles/engine-call.js";
import { until } from "../doubles/frames.js";
import { changedMatch } from "../doubles/match-change.js";
import { INVALID } from "../doubles/sgm-call.js";
import { variants } from "../doubles/stages.js";
import { layeredPair } from "../doubles/stereo-pair.js";
import { engineCases } from "../golden/engine-cases.mjs";

const pair = layeredPair(203, 77);

function options(changes: Partial<EngineOptions> = {}): EngineOptions {
  return {
    inputWidth: pair.width,
    inputHeight: pair.height,
    width: pair.width,
    height: pair.height,
    leftFormat: "GREY",
    rightFormat: "GREY",
    leftStrideBytes: pair.width,
    rightStrideBytes: pair.width,
    match: {
      algorithm: "sgm",
      halfResolution: false,
      minDisparity: 0,
      numDisparities: 48,
      parameters: {
        cost: "gradientCensus",
        paths: 8,
        p1: 10,
        p2: 60,
        adaptiveP2: 0,
        uniqueness: 5,
        subpixel: true,
      },
    },
    refine: {
      leftRight: true,
      speckleSize: 30,
      speckleRange: 1,
      fill: "background",
      fillThreshold: 8,
      boundary: true,
      median: true,
    },
    geometry: { focalPixels: 400, baselineMetres: 0.12, disparityOffsetPixels: 0 },
    encodeDepth: "rvl",
    encodeDisparity: "raw",
    backend: "cpu",
    threads: 2,
    slots: 3,
    ...changes,
  };
}

function withEngine<T>(changes: Partial<EngineOptions>, use: (engine: NativeEngine) => T): T {
  const engine = createEngine(options(changes));
  const done = () => engine.close();
  const result = use(engine);
  if (result instanceof Promise) return result.finally(done) as T;
  done();
  return result;
}

const frame = (engine: NativeEngine, slot = 0) =>
  new Promise<import("../../cuda/index.js").FrameResult>((resolve, reject) =>
    engine.submit(slot, pair.left, pair.right, (error, result) =>
      error === null ? resolve({ ...result }) : reject(error),
    ),
  );

describe("backends", () => {
  test("cuda without a plugin or device is refused with the reason", () => {
    expect(() => createEngine(options({ backend: "cuda" }))).toThrow(
      expect.objectContaining({
        code: "BACKEND_UNAVAILABLE",
        message: expect.stringContaining("CUDA unavailable"),
      }),
    );
  });

  test("auto runs on the CPU and says why not on CUDA", () =>
    withEngine({ backend: "auto" }, ({ info }) => {
      expect(info).toMatchObject({ backend: "cpu", backendReason: loadNative().cudaUnavailable() });
      expect(info.backendReason).toMatch(/^CUDA unavailable: .+\.$/);
    }));

  test.each(variants)("%s, when forced, is what answers", (instructionSet) =>
    withEngine({ instructionSet }, ({ info }) => expect(info.instructionSet).toBe(instructionSet)),
  );

  test("an instruction set of another CPU is refused, never replaced", () => {
    const other = variants.includes("neon") ? "avx2" : "neon";
    expect(() => createEngine(options({ instructionSet: other }))).toThrow(
      expect.objectContaining({ code: "BACKEND_UNAVAILABLE" }),
    );
  });
});

describe("parameters", () => {
  const match = options().match;
  test.each<[string, Partial<EngineOptions>, string]>([
    ["a width of 0", { width: 0, inputWidth: 0 }, "1 to 16384"],
    ["too few disparities", { match: { ...match, numDisparities: 7 } }, "8 to 512"],
    ["p1 above p2", { match: changedMatch(match, { p1: 61 }) }, "p1"],
    ["a stride below the width", { leftStrideBytes: pair.width - 1 }, "left image"],
    ["one map without the other", { leftMap: new Int32Array(2 * pair.width * pair.height) }, "both images"],
    ["a map of the wrong size", { leftMap: new Int32Array(4), rightMap: new Int32Array(4) }, "map"],
    [
      "a baseline of 0",
      { geometry: { focalPixels: 1, baselineMetres: 0, disparityOffsetPixels: 0 } },
      "baseline",
    ],
    ["another size without maps", { width: 100 }, "without maps"],
    ["one slot", { slots: 1 }, "2 to 16"],
  ])("%s is refused with what was expected", (_, changes, expected) => {
    expect(() => createEngine(options(changes))).toThrow(
      expect.objectContaining({ code: "ENGINE_PARAMETER", message: expect.stringContaining(expected) }),
    );
  });

  const registration = { camera: "ir", width: 4, height: 3, matrix: new Float64Array(12), fill: false };
  const lens = { gridX: 0, gridY: 0, gridWidth: 2, gridHeight: 2, grid: new Int32Array(8) };
  const grid = { cellMetres: 0.1, aheadCells: 4, leftCells: 4, obstacleMetres: 0.2, tallMetres: 1 };
  const wholeGrid = { ...grid, dropMetres: 0.1, errorPixels: 0.25, minPixels: 3, stepX: 1 };
  const floor = { cx: 100, cy: 40 };
  const registered = (key: string) => (value: number) => ({
    registration: { ...registration, ...lens, [key]: value },
  });
  const ofGrid = (key: string) => (value: number) => ({ floor, grid: { ...wholeGrid, [key]: value } });
  const top = (key: string) => (value: number) => ({ [key]: value });
  test.each<[string, number, number, (value: number) => Partial<EngineOptions>]>([
    ["slots", 2, 16, top("slots")],
    ["threads", 0, 256, top("threads")],
    ["rank", 0, 256, top("rank")],
    ["leftStrideBytes", 1, 2 ** 30, top("leftStrideBytes")],
    ["rightStrideBytes", 1, 2 ** 30, top("rightStrideBytes")],
    ["width", 1, 16384, registered("width")],
    ["height", 1, 16384, registered("height")],
    ["gridX", -(2 ** 24), 2 ** 24, registered("gridX")],
    ["gridY", -(2 ** 24), 2 ** 24, registered("gridY")],
    ["gridWidth", 2, 65536, registered("gridWidth")],
    ["gridHeight", 2, 65536, registered("gridHeight")],
    ["aheadCells", 1, 1000, ofGrid("aheadCells")],
    ["leftCells", 1, 1000, ofGrid("leftCells")],
    ["minPixels", 1, 2 ** 20, ofGrid("minPixels")],
    ["stepX", 1, 64, ofGrid("stepX")],
    ["dmaBuffer", 0, 2 ** 31 - 1, (dmaBuffer) => ({ inputMemory: [{ bytes: pair.left, dmaBuffer }] })],
    [
      "strideBytes",
      1,
      2 ** 30,
      (strideBytes) => ({ registration: { ...registration, image: { format: "GREY", strideBytes } } }),
    ],
  ])("%s is a whole number from %i to %i", (name, low, high, changesOf) => {
    const refusal = (value: number) => {
      try {
        createEngine(options(changesOf(value))).close();
        return "none";
      } catch (error) {
        return error;
      }
    };
    for (const value of [low - 1, high + 1, low + 0.5, 1e12, Number.NaN, Number.POSITIVE_INFINITY])
      expect(refusal(value)).toMatchObject({
        code: "ENGINE_PARAMETER",
        message: `Expected a whole number from ${low} to ${high} for ${name}, got ${value}.`,
      });
  });

  test.each([
    [{ repeatStage: { stage: "match", times: 0 } }, "Expected 1 to 10000 runs of a repeated stage, got 0."],
    [
      { repeatStage: { stage: "match", times: 10001 } },
      "Expected 1 to 10000 runs of a repeated stage, got 10001.",
    ],
    [{ rightStrideBytes: pair.width - 1 }, "holds 203 pixels for the right image, got 202 bytes."],
    [{ width: 16385, inputWidth: 16385 }, "captured images of 1 to 16384 pixels a side, got 16385x77."],
    [{ height: 16385 }, "rectified images of 1 to 16384 pixels a side, got 203x16385."],
    [{ width: 1e9, inputWidth: 1e9 }, "captured images of 1 to 16384 pixels a side, got 1000000000x77."],
    [{ width: 202.5 }, "Expected a whole number from -1073741824 to 1073741824 for width, got 202.5."],
    [{ height: -5 }, "rectified images of 1 to 16384 pixels a side, got 203x-5."],
    [{ height: 76 }, "results of the captured size 203x77 without maps, got 203x76."],
    [{ encodeDepth: "png" }, "Expected rvl or raw for encoding, got 'png'."],
    [{ backend: "gpu" }, "Expected auto, cpu or cuda for backend, got 'gpu'."],
    [{ refine: { ...options().refine, speckle: 3 } }, "Expected a setting of a stage, got refine.speckle."],
  ] as unknown as [Partial<EngineOptions>, string][])("%j", (changes, message) => {
    expect(() => createEngine(options(changes))).toThrow(
      expect.objectContaining({ code: "ENGINE_PARAMETER", message: expect.stringContaining(message) }),
    );
  });

  const sized = (width: number, height: number) => ({
    inputWidth: width,
    inputHeight: height,
    width,
    height,
    leftStrideBytes: width,
    rightStrideBytes: width,
  });
  const map = (values: number) => new Int32Array(values);
  const pixels = pair.width * pair.height;
  const foreign = { rightFormat: "GREY_DISPARITY" } as const;
  const needsNoMaps = "rectified images and match.halfResolution = false for a disparity from the source";
  test.each<[string, Partial<EngineOptions>, string]>([
    ["one row of 16384 pixels", sized(16384, 1), ""],
    ["one column of 16384 pixels", sized(1, 16384), ""],
    [
      "17000 captured rows",
      { ...sized(16, 16385) },
      "captured images of 1 to 16384 pixels a side, got 16x16385.",
    ],
    ["no row", sized(16, 0), "captured images of 1 to 16384 pixels a side, got 16x0."],
    [
      "no captured column",
      { ...sized(1, 16), inputWidth: 0 },
      "captured images of 1 to 16384 pixels a side, got 0x16.",
    ],
    ["no rectified column", { width: 0 }, "rectified images of 1 to 16384 pixels a side, got 0x77."],
    ["10000 runs of a stage", { repeatStage: { stage: "match", times: 10000 } }, ""],
    ["both maps", { leftMap: map(2 * pixels), rightMap: map(2 * pixels) }, ""],
    [
      "a left map with a value too many",
      { leftMap: map(2 * pixels + 1), rightMap: map(2 * pixels) },
      `Expected a left map of ${2 * pixels} values for 203x77, got ${2 * pixels + 1}.`,
    ],
    [
      "a right map with a value too few",
      { leftMap: map(2 * pixels), rightMap: map(2 * pixels - 1) },
      `Expected a right map of ${2 * pixels} values for 203x77, got ${2 * pixels - 1}.`,
    ],
    ["a right map alone", { rightMap: map(2 * pixels) }, "maps for both images or for none"],
    ["a disparity from the source", foreign, ""],
    [
      "a disparity from the source with maps",
      { ...foreign, leftMap: map(2 * pixels), rightMap: map(2 * pixels) },
      needsNoMaps,
    ],
    [
      "a disparity from the source at half resolution",
      { ...foreign, match: { ...match, halfResolution: true } },
      needsNoMaps,
    ],
    ["an encoding of raw depth", { encodeDepth: "raw" } as never, "Expected no encoding or rvl for depth"],
  ])("%s is accepted, or refused with what was expected", (_, changes, message) => {
    const open = () => createEngine(options({ threads: 1, ...changes })).close();
    if (message === "") expect(open).not.toThrow();
    else
      expect(open).toThrow(
        expect.objectContaining({ code: "ENGINE_PARAMETER", message: expect.stringContaining(message) }),
      );
  });

  test("an encoded body has room for the worst image of its size", () => {
    const { encodedBound } = engineAddon() as unknown as {
      encodedBound(encoding: string, width: number, height: number): number;
    };
    for (let pixels = 1; pixels < 100; pixels++) {
      // Six nibbles for each value, twelve for two counts, in words of eight nibbles, and eight bytes that may be written behind them.
      const words = Math.ceil((6 * pixels + 12) / 8);
      expect(encodedBound("rvl", pixels, 3)).toBe(4 * Math.ceil((18 * pixels + 12) / 8) + 8);
      expect([encodedBound("rvl", 1, pixels), encodedBound("raw", pixels, 7)]).toEqual([
        4 * words + 8,
        14 * pixels,
      ]);
    }
  });

  const geometry = { focalPixels: 400, baselineMetres: 0.12, disparityOffsetPixels: 0 };
  const ofFloor = (change: object) => ({ floor: { ...floor, ...change } });
  const ofGeometry = (change: object) => ({ floor, geometry: { ...geometry, ...change } });
  const ofHeights = (change: object) => ({ floor, grid: { ...wholeGrid, ...change } });
  const region = (x: number, y: number, width: number, height: number) => ({
    region: { x, y, width, height },
  });
  const plane = (b: number) => ofFloor({ plane: Float64Array.of(0, b, 0) });
  const from = (low: number, high: number, step: number) => [
    [low, high],
    [low - step, high + step],
  ];
  const number = (changesOf: (change: object) => Partial<EngineOptions>, key: string, limits: number[][]) =>
    limits.map((values) => values.map((value) => changesOf({ [key]: value })));
  test.each<[string, Partial<EngineOptions>[][], string]>([
    ["focal length", number(ofGeometry, "focalPixels", from(1, 1e5, 0.5)), "Expected for the floor"],
    ["baseline", number(ofGeometry, "baselineMetres", from(0.001, 100, 0.0005)), "Expected for the floor"],
    ["offset", number(ofGeometry, "disparityOffsetPixels", from(-4096, 4096, 0.5)), "Expected for the floor"],
    ["cx", number(ofFloor, "cx", from(-1e5, 1e5, 0.5)), "Expected for the floor"],
    ["cy", number(ofFloor, "cy", from(-1e5, 1e5, 0.5)), "Expected for the floor"],
    [
      "plane",
      [
        [plane(1), plane(9_999_999_999_999)],
        [plane(0), plane(-1), plane(1e13)],
      ],
      "below the cameras",
    ],
    ["cellMetres", number(ofHeights, "cellMetres", from(0.01, 1, 0.005)), "cellMetres from 0.01 to 1,"],
    [
      "obstacleMetres",
      number(ofHeights, "obstacleMetres", from(0, 100, 0.5)),
      "obstacleMetres from 0 to 100,",
    ],
    ["tallMetres", number(ofHeights, "tallMetres", from(0, 100, 0.5)), "tallMetres from 0 to 100,"],
    ["dropMetres", number(ofHeights, "dropMetres", from(0, 100, 0.5)), "dropMetres from 0 to 100,"],
    ["errorPixels", number(ofHeights, "errorPixels", from(0, 64, 0.5)), "errorPixels from 0 to 64,"],
    [
      "region",
      [
        [region(0, 0, 203, 77), region(202, 76, 1, 1), region(0, 0, 0, 0)],
        [region(0, 0, 204, 77), region(0, 0, 203, 78), region(203, 0, 1, 1), region(0, 77, 1, 1)],
        [region(1, 0, 203, 77), region(0, 1, 203, 77), region(0, 0, 0, 5), region(0, 0, 5, 0)],
        [region(1, 0, 0, 0), region(0, 1, 0, 0)],
      ],
      "Expected a region inside",
    ],
  ])("%s at its limits and beyond", (_, [accepted, ...refused], message) => {
    for (const changes of accepted!) createEngine(options(changes)).close();
    for (const changes of refused.flat())
      expect(() => createEngine(options(changes)), JSON.stringify(changes)).toThrow(
        expect.objectContaining({ code: "ENGINE_PARAMETER", message: expect.stringContaining(message) }),
      );
  });

  test.each<[Partial<EngineOptions>, string]>([
    [{ floor }, "The floor needs a geometry"],
    [{ grid: wholeGrid }, "A grid needs a floor"],
    [{ registration }, "Registration needs a geometry"],
    [{ voxels: { frame: "camera", cx: 0, cy: 0 } as never }, "Voxels need a geometry"],
    [{ encodeDepth: "rvl" }, "a geometry (focal length, baseline) where depth is encoded"],
    [
      { points: { frame: "camera", element: "float32", colours: false, cx: 0, cy: 0 } },
      "Points need a geometry",
    ],
    [
      { geometry, points: { frame: "camera", element: "int16", colours: true, cx: 0, cy: 0 } },
      "Points with colours need a left image with colours",
    ],
  ])("%j lacks what it needs", (changes, message) => {
    const { geometry: _, encodeDepth: __, ...bare } = options();
    expect(() => createEngine({ ...bare, ...changes })).toThrow(
      expect.objectContaining({ code: "ENGINE_PARAMETER", message: expect.stringContaining(message) }),
    );
  });

  test("an image that is too small is refused before it is read", () =>
    withEngine({}, (engine) => {
      expect(() => engine.submit(0, pair.left.subarray(1), pair.right, () => {})).toThrow(
        expect.objectContaining({ code: "ENGINE_PARAMETER" }),
      );
    }));
});

describe("memory", () => {
  const outputs = options({
    leftFormat: "RGB8",
    rightFormat: "RGB8",
    leftStrideBytes: 3 * pair.width,
    rightStrideBytes: 3 * pair.width,
    leftRgb: true,
    rightGrey: true,
    points: { frame: "camera", element: "float32", colours: true, cx: 100, cy: 40 },
    voxels: { frame: "camera", cx: 100, cy: 40 } as never,
    registration: {
      camera: "ir",
      width: 64,
      height: 48,
      matrix: new Float64Array(12),
      fill: false,
      image: { format: "GREY", strideBytes: 64 },
    },
    floor: { cx: 100, cy: 40 },
    grid: {
      cellMetres: 0.1,
      aheadCells: 30,
      leftCells: 31,
      obstacleMetres: 0.1,
      tallMetres: 1,
      dropMetres: 0.1,
      errorPixels: 0.5,
      minPixels: 1,
      stepX: 1,
    },
    verticalOffset: "auto",
    denoise: "auto",
    repeatStage: { stage: "boundary", times: 2 },
    refine: { ...options().refine, minConfidence: 0.2 } as never,
  });

  // In bytes, of the scalar form. Depends on the layout of the working memory only: a change is a decision about memory.
  const MEMORY: Record<string, number> = {
    usual: 2208815,
    "two paths": 2208815,
    "never outside, one gradient": 2208815,
    "wide census": 2240631,
    "eight paths": 2208815,
    "wide sums": 2187029,
    "from YUYV, rectified": 2247904,
    "nothing refined": 2134114,
    "bilateral filling": 2183398,
    "half resolution": 2154235,
    "rows moved, smoothed": 2224723,
    "a region": 2143379,
    "a region at half resolution": 2114916,
    cbca: 370898,
    "cbca at half resolution": 159203,
    "cbca in a region": 71400,
    esaw: 762091,
    "esaw of 5 rounds from YUYV, rectified": 787422,
    "esaw of grey, in a region at half resolution": 147589,
    "esaw in CIELab": 838285,
    esmp: 710513,
    sad: 281390,
    "sad of 9 x 5 from YUYV, rectified": 349508,
    "sad of grey, in a region at half resolution": 162069,
    pyramid: 303524,
    "pyramid of two levels, nothing refined": 301291,
    "coarse to fine": 4413499,
    "coarse to fine, wide census, two paths, three levels": 6463623,
    "coarse to fine, separate right-image match, in a region at half resolution": 4242783,
    "every output": 3328610,
  };

  test("each configuration reports what it always needed", () => {
    const needed = (chosen: Omit<EngineOptions, "backend">) => {
      const engine = createEngine({ ...chosen, backend: "cpu", instructionSet: "scalar" });
      const { workspaceBytes } = engine.info;
      engine.close();
      return workspaceBytes;
    };
    const found = Object.keys(MEMORY).map((name) => [name, needed(engineCases[name]?.options ?? outputs)]);
    expect(Object.fromEntries(found)).toEqual(MEMORY);
  });
});

describe("slots and threads", () => {
  test("the JavaScript thread continues while frames are computed", () =>
    withEngine({ instructionSet: "scalar" }, async (engine) => {
      let turns = 0;
      let running = true;
      const turn = () => {
        turns += 1;
        if (running) setImmediate(turn);
      };
      turn();
      const before = turns;
      for (let i = 0; i < 10; ++i) await frame(engine);
      running = false;
      // Were frames computed on this thread, there would be about one turn per frame.
      expect(turns - before).toBeGreaterThan(100);
    }));

  test("a slot in use is refused; the frame in it is not disturbed", () =>
    withEngine({}, async (engine) => {
      const first = frame(engine, 1);
      expect(() => engine.submit(1, pair.left, pair.right, () => {})).toThrow(
        expect.objectContaining({ code: "ENGINE_PARAMETER", message: expect.stringContaining("slot 1") }),
      );
      expect((await first).slot).toBe(1);
    }));

  test("frames are computed in the order in which they came", () =>
    withEngine({}, async (engine) => {
      const order: number[] = [];
      await Promise.all(
        [2, 0, 1].map((slot) => frame(engine, slot).then((result) => order.push(result.slot))),
      );
      expect(order).toEqual([2, 0, 1]);
    }));

  test("close rejects every frame that was not computed, and a closed engine rejects frames", async () => {
    const engine = createEngine(options());
    const outcomes = [0, 1, 2].map((slot) =>
      frame(engine, slot).then(
        () => "done",
        (error) => error.code,
      ),
    );
    engine.close();
    engine.close();
    const settled = await Promise.all(outcomes);
    expect(settled.at(-1)).toBe("ENGINE_FAILED");
    expect(() => engine.submit(0, pair.left, pair.right, () => {})).toThrow(
      expect.objectContaining({ code: "ENGINE_FAILED" }),
    );
    expect(engine.info.backend).toBe("cpu");
  });

  test("close ends the engine's threads, not the garbage collector", async () => {
    const threads = () => readdirSync("/proc/self/task");
    const before = threads();
    const engine = createEngine(options({ threads: 3 }));
    const started = threads().filter((id) => !before.includes(id));
    expect(started).toHaveLength(3);
    engine.close();
    // The kernel lists a thread for a moment after it was joined.
    await vi.waitFor(() => expect(threads().filter((id) => started.includes(id))).toEqual([]));
  });
});

describe("results", () => {
  // Counts are added up in 16-bit and 8-bit fields: the image has more pixels than either can hold.
  test.each([["background"], ["off"]] as const)("count valid and matched pixels, fill %s", async (fill) => {
    const large = layeredPair(736, 480);
    const { result, disparityQ4, confidence } = await computeFrame(
      large,
      engineOptions(large, {
        refine: { ...options().refine, fill },
      }),
    );
    expect(result.validPixels).toBe(disparityQ4.filter((value) => value !== INVALID).length);
    expect(result.matchedPixels).toBe(confidence.filter((value) => value > 0).length);
    expect(result.validPixels).toBeGreaterThan(0.8 * large.width * large.height);
  });

  test("count every pixel of an image without a hole", async () => {
    // A 16-bit field counts an eighth of the pixels and an 8-bit field a sixteenth: more than either can hold.
    const [width, height] = [1024, 257];
    const pixels = width * height;
    // A disparity of 0 everywhere, with a confidence of 1.
    const right = new Uint8Array(4 * pixels).fill(1, 3 * pixels);
    const images = { width, height, left: new Uint8Array(pixels), right };
    const changes = { rightFormat: "GREY_DISPARITY", refine: { ...options().refine, fill: "off" } } as const;
    const { result } = await computeFrame(images, engineOptions(images, changes));
    expect(result).toMatchObject({ validPixels: pixels, matchedPixels: pixels });
  });

  /** Everything that a frame leaves behind, as one hash. */
  async function fingerprint(changes: Partial<EngineOptions>): Promise<string> {
    return withEngine(changes, async (engine) => {
      const result = await frame(engine);
      const slot = engine.slots[0]!;
      const hash = createHash("sha256");
      for (const image of [slot.left, slot.disparityQ4, slot.confidence, slot.depthMillimetres])
        hash.update(new Uint8Array(image.buffer, image.byteOffset, image.byteLength));
      hash.update(slot.encodedDepth.subarray(0, result.encodedDepthBytes));
      hash.update(slot.encodedDisparity.subarray(0, result.encodedDisparityBytes));
      hash.update(String(result.validPixels));
      return hash.digest("hex");
    });
  }

  test.each(variants)(
    "%s computes what the scalar form computes, with any number of threads",
    async (set) => {
      for (const paths of [2, 4, 8] as const) {
        const match = { ...options().match, paths, adaptiveP2: paths === 4 ? 20 : 0 };
        const expected = await fingerprint({ match, instructionSet: "scalar", threads: 1 });
        for (const threads of [1, 2, 3]) {
          expect(
            await fingerprint({ match, instructionSet: set, threads }),
            `${paths} paths, ${threads} threads`,
          ).toBe(expected);
        }
      }
    },
  );

  test("coarse-to-fine search needs a third of the full search's memory, at any range", () => {
    const memory = (search: string, numDisparities: number) => {
      const size = { inputWidth: 640, inputHeight: 480, width: 640, height: 480 };
      const strides = { leftStrideBytes: 640, rightStrideBytes: 640 };
      const match = { ...options().match, numDisparities, parameters: { search } };
      const engine = createEngine(options({ ...size, ...strides, match }));
      engine.close();
      return engine.info.workspaceBytes;
    };
    const coarse = memory("coarseToFine", 128);
    expect(coarse).toBeLessThan(memory("full", 128) / 3);
    expect(memory("coarseToFine", 256)).toBeLessThan(1.2 * coarse);
  });

  test("the layers come out where they are", () =>
    withEngine({}, async (engine) => {
      await frame(engine);
      const { disparityQ4 } = engine.slots[0]!;
      let right = 0;
      let valid = 0;
      for (let i = 0; i < disparityQ4.length; ++i) {
        const value = disparityQ4[i] as number;
        if (value === -32768) continue;
        valid += 1;
        if (Math.abs(value / 16 - (pair.disparity[i] as number)) <= 1) right += 1;
      }
      expect(valid / disparityQ4.length).toBeGreaterThan(0.7);
      expect(right / valid).toBeGreaterThan(0.97);
    }));

  test("depth is focal length times baseline over disparity, in millimetres", () =>
    withEngine({}, async (engine) => {
      await frame(engine);
      const { disparityQ4, depthMillimetres } = engine.slots[0]!;
      for (let i = 0; i < disparityQ4.length; ++i) {
        const q4 = disparityQ4[i] as number;
        const millimetres = q4 > 0 ? (400 * 0.12 * 1000) / (q4 / 16) : 0;
        const expected = millimetres < 65535.5 ? millimetres : 0;
        expect(Math.abs((depthMillimetres[i] as number) - expected)).toBeLessThanOrEqual(0.51);
      }
    }));
});

test("closed engines leave nothing behind: the memory of their slots is given back", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const closed: WeakRef<NativeEngine>[] = [];
  for (let i = 0; i < 20; i++) {
    const engine = createEngine(options());
    await frame(engine);
    engine.close();
    closed.push(new WeakRef(engine));
  }
  // The newest object may still be in a register or on the stack.
  const kept = () => closed.filter((reference) => reference.deref() !== undefined).length;
  await until("the engines are collected", () => {
    collect();
    return kept() <= 1;
  });
});

describe("an engine that is opened on another thread", () => {
  const left = new Uint8Array(pair.left);
  const right = new Uint8Array(pair.right);

  test("computes what one opened at once computes", async () => {
    const reference = await openEngine(options());
    const now = createEngine(options());
    const [one, other] = await Promise.all([reference.compute(left, right), now.compute(left, right)]);
    expect(one.validPixels).toBe(other.validPixels);
    expect(reference.slots[0]!.disparityQ4).toEqual(now.slots[0]!.disparityQ4);
    reference.close();
    now.close();
  });

  test("lets the JavaScript thread continue while its memory is made", async () => {
    let turns = 0;
    let opened = false;
    const count = (): void => {
      turns++;
      if (!opened) setImmediate(count);
    };
    setImmediate(count);
    const big = { inputWidth: 2048, inputHeight: 2048, width: 2048, height: 2048 };
    const strides = { leftStrideBytes: 2048, rightStrideBytes: 2048 };
    const engine = await openEngine(options({ ...big, ...strides }));
    opened = true;
    engine.close();
    expect(turns).toBeGreaterThan(1);
  });

  test("a value out of range has the same error code as an unknown backend", async () => {
    await expect(openEngine(options({ width: 0 }))).rejects.toMatchObject({ code: "ENGINE_PARAMETER" });
    await expect(openEngine(options({ threads: 9999 }))).rejects.toMatchObject({ code: "ENGINE_PARAMETER" });
    await expect(openEngine(options({ backend: "cuda" }))).rejects.toMatchObject({
      code: "BACKEND_UNAVAILABLE",
    });
  });

  test("options that are none are refused", () => {
    expect(() => engineAddon().openEngine(undefined as never)).toThrow(
      expect.objectContaining({ code: "ENGINE_PARAMETER" }),
    );
  });
});
