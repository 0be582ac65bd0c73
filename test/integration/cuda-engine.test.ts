// SPDX-License-Identifier: Apache-2.0
// The CUDA backend without a GPU: the plugin's own sources, kernels and frame code alike, compiled for the CPU
// (test/doubles/native/warp) and opened by the addon in place of the real library. What it computes, how it gets at images,
// and what becomes of an engine whose device fails.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectAsync } from "mqtt";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ERROR_CATALOGUE } from "../../core/error-catalogue.js";
import { createEngine, type EngineInfo, type EngineOptions } from "../../cuda/index.js";
import { lookAtMemory } from "../../edge/commands/doctor/look-at-memory.js";
import { loadConfig } from "../../edge/config/index.js";
import type { RunFigures } from "../../edge/run/figures.js";
import { BadDays } from "../doubles/bad-day.js";
import { buildEmulatedPlugin, compilePlugin } from "../doubles/emulated-kernels.js";
import { computeFrame, engineOptions } from "../doubles/engine-call.js";
import { floorEngine, floorFrames, voxelFrames } from "../doubles/floor-frames.mjs";
import { until } from "../doubles/frames.js";
import { changedMatch, type MatchChange } from "../doubles/match-change.js";
import { startMosquitto } from "../doubles/mosquitto.js";
import { framesOfMovingRows } from "../doubles/moving-rows.mjs";
import { needs } from "../doubles/needs.js";
import { lastJson, runProgram } from "../doubles/program.js";
import { expectSameImage, Random } from "../doubles/stages.js";
import { steadyFrames } from "../doubles/steady-frames.mjs";
import { layeredPair } from "../doubles/stereo-pair.js";
import { computeHash, engineCases, hashResult } from "../golden/engine-cases.mjs";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-emulated-"));
let plugin = "";

needs("toolchain").suite("the CUDA backend on a CPU", () => {
  beforeAll(async () => {
    plugin = await buildEmulatedPlugin();
    process.env.DEPTHWATT_CUDA_PLUGIN = plugin;
  }, 300_000);
  afterAll(() => {
    delete process.env.DEPTHWATT_CUDA_PLUGIN;
    rmSync(folder, { recursive: true, force: true });
  });

  test("the plugin that fails on purpose, for test/gpu/faults.mjs, compiles", async () => {
    expect(await compilePlugin("test/doubles/native/faulty_plugin.cu")).toBe("");
  });

  const golden = JSON.parse(readFileSync("test/golden/engine.json", "utf8")) as Record<string, string>;
  test.each(Object.entries(engineCases))("golden hash: %s", async (name, engineCase) => {
    expect(await computeHash(createEngine, engineCase, { backend: "cuda" })).toBe(golden[name]);
  });

  test.each([
    "from YUYV, rectified",
    "esaw of 5 rounds from YUYV, rectified",
    "sad of 9 x 5 from YUYV, rectified",
    "esaw of grey, in a region at half resolution",
  ])("the left image's colours are the CPU's, and nothing else changes: %s", async (name) => {
    const { options, pair } = engineCases[name]!;
    const colours: Uint8Array[] = [];
    for (const backend of ["cpu", "cuda"] as const) {
      const engine = createEngine({ ...options, backend, leftRgb: true });
      // Two frames in work, each with different colours.
      await Promise.all(
        [0, 1].map(
          (slot) =>
            new Promise<void>((resolve, reject) =>
              engine.submit(slot, pair.left, pair.right, (error) => (error ? reject(error) : resolve())),
            ),
        ),
      );
      for (const slot of engine.slots) colours.push(slot.leftRgb.slice());
      const result = await engine.compute(pair.left, pair.right);
      expect(hashResult(engine.slots[0]!, result)).toBe(golden[name]);
      engine.close();
    }
    expect(colours).toHaveLength(4);
    expect(colours[0]!.some((value) => value !== 0)).toBe(true);
    for (const one of colours) expect(Buffer.compare(one, colours[0]!)).toBe(0);
  });

  test.each([
    "from YUYV, rectified",
    "a region",
    "esaw of 5 rounds from YUYV, rectified",
    "esaw of grey, in a region at half resolution",
  ])("the right image is the CPU's, and nothing else changes: %s", async (name) => {
    const { options, pair } = engineCases[name]!;
    const images: Uint8Array[] = [];
    for (const backend of ["cpu", "cuda"] as const) {
      const engine = createEngine({ ...options, backend, rightGrey: true });
      const computed = [0, 1].map(
        (slot) =>
          new Promise<void>((resolve, reject) =>
            engine.submit(slot, pair.left, pair.right, (error) => (error ? reject(error) : resolve())),
          ),
      );
      await Promise.all(computed);
      for (const slot of engine.slots) images.push(slot.right.slice());
      const result = await engine.compute(pair.left, pair.right);
      expect(hashResult(engine.slots[0]!, result)).toBe(golden[name]);
      engine.close();
    }
    expect(images).toHaveLength(4);
    expect(new Set(images[0]).size).toBeGreaterThan(8);
    for (const one of images) expect(Buffer.compare(one, images[0]!)).toBe(0);
  });

  test.each([true, false])("depth in another camera's image is the CPU's, filled: %s", async (fill) => {
    const { options, pair } = engineCases["from YUYV, rectified"]!;
    const matrix = Float64Array.of(1.3, 0.02, 1, -0.4, -0.02, 1.3, 2, 0.2, 0.0002, 0, 1, 0.001);
    const registration = { camera: "rgb", width: 131, height: 90, matrix, fill };
    const images: Uint8Array[] = [];
    for (const backend of ["cpu", "cuda"] as const) {
      const engine = createEngine({ ...options, backend, registration });
      // Twice: the second frame finds the first one's depth buffer.
      for (let frame = 0; frame < 2; frame++) await engine.compute(pair.left, pair.right);
      const { registered, registeredConfidence } = engine.slots[0]!;
      images.push(new Uint8Array(registered.slice().buffer), registeredConfidence.slice());
      engine.close();
    }
    const [depth, confidence, ...cuda] = images;
    expect(new Set(depth).size).toBeGreaterThan(5);
    expect(cuda.map((image, i) => Buffer.compare(image, [depth!, confidence!][i]!))).toEqual([0, 0]);
  });

  test("the floor and its grid are the CPU's, followed over frames of which two are in work", async () => {
    const expected = await floorFrames(createEngine, { backend: "cpu" });
    expect(await floorFrames(createEngine, { backend: "cuda" })).toEqual(expected);
    for (const stage of ["floor", "grid"] as const) {
      const repeatStage = { stage, times: 3 };
      for (const backend of ["cpu", "cuda"] as const)
        expect(await floorFrames(createEngine, { backend, repeatStage })).toEqual(expected);
    }
    // The camera sinks from 1 m; the fourth frame shows no floor, and the seventh forgets it.
    expect(expected.map(({ floor }) => floor[0])).toEqual([0, 0, 0, 1, 0, 0, 0, 0]);
    expect(expected.map(({ floor }) => floor[9])).toEqual(new Array(8).fill(1));
    expect(expected[3]!.floor.slice(10)).toEqual(expected[2]!.floor.slice(10));
    expect(expected[6]!.floor.slice(10)).toEqual(expected[6]!.floor.slice(1, 4));
    expect(expected.map(({ grid }) => new Set(grid).size)).toEqual([4, 4, 4, 1, 4, 4, 4, 4]);
  });

  test("voxels are the CPU's, in its order", async () => {
    const expected = await voxelFrames(createEngine, "cpu");
    expect(await voxelFrames(createEngine, "cuda")).toEqual(expected);
    for (const list of expected) expect(list.length).toBeGreaterThan(4 * 500);
  });

  test.each(["cpu", "cuda"] as const)("a floor that cannot be is refused, on %s", (backend) => {
    const options = floorEngine(64, 48, { backend });
    const open = (changes: object) => () => createEngine({ ...options, ...changes }).close();
    expect(open({ floor: { cx: 32, cy: 24, plane: new Float64Array(3) } })).toThrow(
      "a floor below the cameras",
    );
    expect(open({ floor: { cx: 1e6, cy: 24 } })).toThrow("principal point");
    expect(open({ floor: undefined })).toThrow("A grid needs a floor");
    expect(open({ geometry: undefined })).toThrow("needs a geometry");
    expect(open({ grid: { ...options.grid, cellMetres: 0 } })).toThrow("cellMetres from 0.01 to 1, got 0");
  });

  describe.each(["cpu", "cuda"] as const)("depth of a surface at 4 pixels, by hand, on %s", (backend) => {
    const [width, height, disparity] = [64, 24, 4];
    const random = new Random(3);
    const left = random.fill(new Uint8Array(width * height), 0, 255);
    const right = left.map((_, i) => left[Math.min(i + disparity, left.length - 1)]!);
    // Z = f b / (d + offset) in millimetres, rounded half up; 0 is none.
    test.each([
      ["a metre", 1000, 0, 1000],
      ["a half goes up", 2.5, 0, 3],
      ["less than a half goes down", 2.25, 0, 2],
      ["the last millimetre of 16 bits", 65_535, 0, 65_535],
      ["still the last one", 65_535.25, 0, 65_535],
      ["beyond 16 bits", 65_535.75, 0, 0],
      ["half the distance at twice the disparity", 1000, 4, 500],
      ["infinitely far", 1000, -4, 0],
      ["behind the camera", 1000, -5, 0],
    ])("%s", async (_, millimetres, disparityOffsetPixels, expected) => {
      const geometry = {
        focalPixels: 1,
        baselineMetres: (disparity * millimetres) / 1000,
        disparityOffsetPixels,
      };
      const options = engineOptions({ width, height, left, right }, { geometry, backend, threads: 1 });
      const match = changedMatch(options.match, { numDisparities: 16, subpixel: false });
      const engine = createEngine({ ...options, match });
      await engine.compute(left, right);
      const { disparityQ4, depthMillimetres } = engine.slots[0]!;
      engine.close();
      const found = depthMillimetres.filter((_, i) => disparityQ4[i] === 16 * disparity);
      expect(found.length).toBeGreaterThan(0.8 * width * height);
      expect(new Set(found)).toEqual(new Set([expected]));
    });
  });

  describe("gives the CPU's bits", () => {
    const pair = layeredPair(83, 37, 5);
    const geometry = { focalPixels: 400, baselineMetres: 0.12, disparityOffsetPixels: 0 };
    const base = engineOptions(pair, { geometry, encodeDepth: "rvl", encodeDisparity: "raw", threads: 1 });
    const withMatch = (match: MatchChange, more: Partial<EngineOptions> = {}) => ({
      ...base,
      ...more,
      match: changedMatch(base.match, { numDisparities: 32, ...match }),
    });
    const RGB = { leftFormat: "RGB8", rightFormat: "RGB8" } as const;
    const plain = { leftRight: false, speckleSize: 0, fill: "off", boundary: false, median: false } as const;
    const region = { x: 41, y: 7, width: 31, height: 22 };
    const limits = {
      refine: { ...base.refine, minConfidence: 0.9 },
      depth: { minMetres: 2, maxMetres: 5 },
    };
    const cases: Record<string, EngineOptions> = {
      "4 paths, everything refined": withMatch({}),
      "2 paths": withMatch({ paths: 2 }),
      "8 paths": withMatch({ paths: 8, p2: 30 }),
      "sums that do not fit a byte": withMatch({ p2: 700, minDisparity: 3 }),
      "census, nothing refined": withMatch({ cost: "census" }, { refine: { ...base.refine, ...plain } }),
      "filled, no median": withMatch({}, { refine: { ...base.refine, boundary: false, median: false } }),
      "no filling, an edge": withMatch({}, { refine: { ...base.refine, fill: "off", median: false } }),
      "half resolution": withMatch({ halfResolution: true, minDisparity: 1 }),
      "a region": withMatch({}, { region }),
      "a region at the left border": withMatch({}, { region: { x: 0, y: 0, width: 20, height: 37 } }),
      "a region at half resolution": withMatch({ halfResolution: true }, { region }),
      // A third as wide: the same bytes, taken as colours.
      "from RGB8": withMatch(
        { numDisparities: 8 },
        { ...RGB, width: 27, inputWidth: 27, leftStrideBytes: 83, rightStrideBytes: 83 },
      ),
      cbca: withMatch({ algorithm: "cbca" }),
      "cbca at half resolution": withMatch({ algorithm: "cbca", halfResolution: true }),
      "cbca in a region": withMatch({ algorithm: "cbca", halfResolution: true }, { region }),
      "a region, nothing refined": withMatch({}, { region, refine: { ...base.refine, ...plain } }),
      "confidence and depth limits": withMatch({}, limits),
      "limits, in a region at half resolution": withMatch({ halfResolution: true }, { region, ...limits }),
      "local planes, in a region": withMatch({}, { region, refine: { ...base.refine, slant: true } }),
      "two rows apart": withMatch({}, { verticalOffset: 2 }),
      "rows apart, in a region at half resolution": withMatch(
        { halfResolution: true },
        { region, verticalOffset: -1.5 },
      ),
    };

    test.each(Object.entries(cases))("%s", async (_, options) => {
      const expected = await computeFrame(pair, options);
      const got = await computeFrame(pair, { ...options, backend: "cuda" });
      expect(got.info).toMatchObject({ backend: "cuda", instructionSet: "cuda", framesInFlight: 2 });
      for (const image of ["left", "disparityQ4", "confidence", "depthMillimetres"] as const)
        expectSameImage(got[image], expected[image], options.width, image);
      expect(got.result).toEqual(expected.result);
      expect(got.stages).toEqual(expected.stages);
    });

    test.each<[string, Partial<EngineOptions>]>([
      ["everything refined", {}],
      ["a region, nothing refined", { region, refine: { ...base.refine, ...plain } }],
    ])("of a pair that brings its disparity: %s", async (_, more) => {
      const random = new Random(46);
      const [width, pixels] = [base.width, pair.right.length];
      const disparityQ4 = Int16Array.from(pair.right, (_, i) =>
        i % 9 === 0 ? -32768 : 200 + ((i % width) >> 3),
      );
      disparityQ4[3 * width + 3] = -16;
      const planes = [
        pair.right,
        Buffer.from(disparityQ4.buffer),
        random.fill(new Uint8Array(pixels), 0, 255),
      ];
      const right = new Uint8Array(Buffer.concat(planes));
      const options = { ...base, ...more, rightFormat: "GREY_DISPARITY" as const };
      const expected = await computeFrame({ ...pair, right }, options);
      const got = await computeFrame({ ...pair, right }, { ...options, backend: "cuda" });
      for (const image of ["left", "disparityQ4", "confidence", "depthMillimetres"] as const)
        expectSameImage(got[image], expected[image], width, image);
      expect(got.result).toEqual(expected.result);
      expect(expected.result.matchedPixels).toBeGreaterThan(100);
    });

    test("not with arms that only the CPU has: cuda refuses, auto says why the CPU computes", async () => {
      const options = withMatch({ algorithm: "cbca", armX: 62 });
      await expect(computeFrame(pair, { ...options, backend: "cuda" })).rejects.toMatchObject({
        code: "BACKEND_UNAVAILABLE",
        message: expect.stringContaining("at most 61 pixels, got armX 62"),
      });
      const { info } = await computeFrame(pair, { ...options, backend: "auto" });
      expect(info).toMatchObject({ backend: "cpu", backendReason: expect.stringContaining("got armX 62") });
    });

    const form = { frame: "robot", element: "float32", colours: false, cx: 40, cy: 18 } as const;
    const colours = { ...form, colours: true };
    const narrow = { ...RGB, width: 27, inputWidth: 27, leftStrideBytes: 83, rightStrideBytes: 83 };
    const unencoded = engineOptions(pair, { ...narrow, geometry, threads: 1 });
    test.each<[string, EngineOptions]>([
      ["float32", withMatch({}, { points: form })],
      [
        "int16, of a region",
        withMatch({}, { region, points: { ...form, element: "int16", frame: "camera" } }),
      ],
      ["float32 with colours, nothing encoded", { ...unencoded, points: colours }],
      [
        "int16 with colours that are a result too",
        { ...cases["from RGB8"]!, leftRgb: true, points: { ...colours, element: "int16" } },
      ],
      ["float32 with colours, two rows apart", { ...unencoded, points: colours, verticalOffset: -2 }],
    ])("in points, %s", async (_, options) => {
      const clouds: Uint8Array[] = [];
      for (const backend of ["cpu", "cuda"] as const) {
        const engine = createEngine({ ...options, backend });
        await engine.compute(pair.left, pair.right);
        clouds.push(engine.slots[0]!.points.slice());
        engine.close();
      }
      expect(new Set(clouds[0]).size).toBeGreaterThan(50);
      expect(Buffer.compare(clouds[0]!, clouds[1]!)).toBe(0);
    });

    test.each([
      ["speckle", {}],
      ["fill", {}],
      ["match", {}],
      ["rectify", {}],
      ["threshold", { region, ...limits }],
    ] as const)("with %s run 3 times", async (stage, changes) => {
      const options = withMatch({}, { ...changes, repeatStage: { stage, times: 3 } });
      const expected = await computeFrame(pair, options);
      const got = await computeFrame(pair, { ...options, backend: "cuda" });
      expectSameImage(got.disparityQ4, expected.disparityQ4, pair.width, "disparity");
      expectSameImage(got.confidence, expected.confidence, pair.width, "confidence");
      expect(got.stages).toContain(stage);
      expect(got.result.droppedPixels).toEqual(expected.result.droppedPixels);
    });

    test("while rows move: a left map is read from the first time on that rows are lost", async () => {
      const [expected, got] = [
        await framesOfMovingRows(createEngine, "cpu"),
        await framesOfMovingRows(createEngine, "cuda"),
      ];
      expect(got).toEqual(expected);
      // One hash of each kind, and one of the frame that is aligned while the rows are still shifted.
      expect(got.appliedRows).toEqual([...Array(8).fill(0), ...Array(4).fill(2), 0]);
      expect(new Set(got.hashes).size).toBe(4);
    });

    const part = { region: { x: 30, y: 10, width: 100, height: 70 }, match: { halfResolution: true } };
    test.each([
      ["", "temporal", {}],
      [" in a region at half resolution", "temporal", part],
      [" of filtered images", "average", { average: true, denoise: "on" }],
      [" of images in a region at half resolution", "average", { ...part, average: true }],
    ])("and averages over time, two frames in work%s", async (_, stage, changes) => {
      const expected = await steadyFrames(createEngine, { ...changes, backend: "cpu" });
      const got = await steadyFrames(createEngine, { ...changes, backend: "cuda" });
      expect(got.hashes).toEqual(expected.hashes);
      const repeatStage = { stage, times: 3 };
      const often = await steadyFrames(createEngine, { ...changes, backend: "cuda", repeatStage });
      expect(often.hashes).toEqual(expected.hashes);
    });

    test("in each of two frames that are in work at once, in the order of submission", async () => {
      const other = layeredPair(83, 37, 6);
      const options = withMatch({});
      const expected = [await computeFrame(pair, options), await computeFrame(other, options)];
      const engine = createEngine({ ...options, backend: "cuda", slots: 4 });
      const order: number[] = [];
      await Promise.all(
        [0, 1, 2, 3].map(
          (slot) =>
            new Promise<void>((resolve, reject) => {
              const { left, right } = slot % 2 === 0 ? pair : other;
              engine.submit(slot, left, right, (error) => {
                order.push(slot);
                if (error) reject(error);
                else resolve();
              });
            }),
        ),
      );
      for (const slot of [0, 1, 2, 3]) {
        const got = engine.slots[slot]!;
        expectSameImage(got.disparityQ4, expected[slot % 2]!.disparityQ4, pair.width, `slot ${slot}`);
        expectSameImage(got.left, expected[slot % 2]!.left, pair.width, `left of slot ${slot}`);
      }
      expect(order).toEqual([0, 1, 2, 3]);
      engine.close();
    });
  });

  interface Line {
    frame?: number;
    hash?: string;
    stages?: number;
    code?: string;
    message?: string;
    info?: EngineInfo;
  }

  /** Output of cuda-frames.mjs: a line for each frame between the engine's info before and after. */
  function frames(
    backend: string,
    count: number,
    environment: Record<string, string> = {},
    buffers?: string,
  ) {
    const words = [backend, String(count), ...(buffers === undefined ? [] : [buffers])];
    const ran = spawnSync(process.execPath, ["test/doubles/cuda-frames.mjs", ...words], {
      encoding: "utf8",
      env: { ...process.env, DEPTHWATT_CUDA_PLUGIN: plugin, ...environment },
    });
    expect(ran.status, ran.stderr).toBe(0);
    const lines = ran.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Line);
    return { before: lines[0]!.info!, after: lines.at(-1)!.info!, frames: lines.slice(1, -1) };
  }

  describe("a device that fails", () => {
    const healthy = () => frames("cpu", 12);
    const ILLEGAL = /CUDA: [^:]+: an illegal memory access was encountered \(cudaErrorIllegalAddress\)/;

    /** Every frame that was not lost has the CPU's bits. */
    function expectBits(got: Line[], lost: number) {
      const reference = healthy().frames;
      expect(got.map(({ frame }) => frame)).toEqual(reference.map(({ frame }) => frame));
      const kept = got.filter(({ code }) => code === undefined);
      expect(kept).toHaveLength(reference.length - lost);
      for (const { frame, hash } of kept) expect(hash, `frame ${frame}`).toBe(reference[frame!]!.hash);
      for (const { code } of got.filter((line) => line.code !== undefined)) expect(code).toBe("FRAME_LOST");
    }

    test.each(["90,register,map", "integrated,87,register,map"])(
      "once (%s) is opened again, and CUDA continues",
      (device) => {
        const got = frames("auto", 12, { WARP_FAIL_SYNC: "4", WARP_DEVICE: device });
        const lost = got.frames.filter(({ code }) => code !== undefined);
        // The frame next to it was in the same context.
        expect([1, 2]).toContain(lost.length);
        expectBits(got.frames, lost.length);
        expect(lost[0]!.message).toMatch(/^CUDA was opened again after an error: /);
        expect(lost[0]!.message).toMatch(ILLEGAL);
        expect(got.after).toMatchObject({ backend: "cuda", framesInFlight: 2 });
        expect(got.after.backendReason).toBe(lost[0]!.message);
      },
    );

    test("twice: the CPU continues, with the same bits", () => {
      const got = frames("auto", 12, { WARP_FAIL_SYNC: "4,7" });
      const lost = got.frames.filter(({ code }) => code !== undefined);
      expect(lost.length).toBeGreaterThanOrEqual(2);
      expectBits(got.frames, lost.length);
      expect(got.after).toMatchObject({ backend: "cpu", framesInFlight: 1 });
      expect(got.after.backendReason).toMatch(/^CUDA failed: /);
      expect(got.after.backendReason).toMatch(ILLEGAL);
    });

    test("and cannot be opened again: the CPU continues, and the reason says both", () => {
      const got = frames("auto", 12, { WARP_FAIL_SYNC: "3", WARP_FAIL_RESET: "1" });
      const lost = got.frames.filter(({ code }) => code !== undefined);
      expectBits(got.frames, lost.length);
      expect(got.after.backend).toBe("cpu");
      expect(got.after.backendReason).toMatch(ILLEGAL);
      expect(got.after.backendReason).toMatch(/Opening it again: CUDA unavailable: the driver refuses/);
    });

    test("where CUDA was asked for: the coded error, and no CPU", () => {
      const got = frames("cuda", 12, { WARP_FAIL_SYNC: "3", WARP_FAIL_RESET: "1" });
      const failed = got.frames.filter((frame) => frame.code !== undefined);
      expect(failed.length).toBeGreaterThan(0);
      for (const { code, message } of failed) {
        expect(code).toBe("GPU_LOST");
        expect(message).toMatch(ILLEGAL);
      }
      // Nothing is computed any more; the frame next to it may have been ready before.
      expect(got.frames.length - got.frames.indexOf(failed[0]!)).toBeLessThanOrEqual(2);
      expect(got.after.backend).toBe("cuda");
    });

    test("when it is opened: a launch that fails has the kernel's name", () => {
      const ran = spawnSync(process.execPath, ["test/doubles/cuda-frames.mjs", "cuda", "1"], {
        encoding: "utf8",
        env: { ...process.env, DEPTHWATT_CUDA_PLUGIN: plugin, WARP_FAIL_LAUNCH: "3" },
      });
      expect(ran.status).not.toBe(0);
      expect(ran.stderr).toMatch(/ENGINE_FAILED/);
      expect(ran.stderr).toMatch(/CUDA: censusKernel: too many resources requested for launch/);
    });

    const SMALL = [
      "--set",
      "source.synthetic.width=64",
      "--set",
      "source.synthetic.height=48",
      "--set",
      "match.numDisparities=16",
    ];
    const RUN = ["run", ...SMALL, "--rate", "max", "--frames", "8", "--broker", "none", "--json"];
    const failing = () => ({
      DEPTHWATT_CUDA_PLUGIN: plugin,
      WARP_FAIL_SYNC: "4",
      WARP_FAIL_RESET: "1",
    });

    test("in `run --backend auto`: all frames, the lost ones counted, the reason in the figures, a warning", async () => {
      const ran = await runProgram(RUN, failing());
      expect(ran.code, ran.stderr).toBe(0);
      const figures = lastJson<RunFigures>(ran);
      expect(figures).toMatchObject({ frames: 8, backend: "cpu" });
      expect(figures.backendReason).toMatch(/^CUDA failed: .*cudaErrorIllegalAddress/);
      expect(figures.drops.backendLost).toBeGreaterThanOrEqual(1);
      expect(ran.stderr).toMatch(/CUDA failed: .*cudaErrorIllegalAddress/);
      const { hint } = ERROR_CATALOGUE.GPU_LOST;
      expect(ran.stderr.replace(/\s+/g, " ")).toContain(`(GPU_LOST): ${hint}`);
    }, 60_000);

    needs("mosquitto").suite("on the broker", () => {
      test("state, info and metrics say what computes now and why", async () => {
        const broker = await startMosquitto();
        const client = await connectAsync(broker.url);
        const messages: Record<string, { [key: string]: unknown }[]> = {};
        client.on("message", (topic, payload) => {
          const name = topic.split("/").at(-1)!;
          messages[name] = [...(messages[name] ?? []), JSON.parse(payload.toString())];
        });
        await client.subscribeAsync(["state", "info", "metrics"].map((name) => `depthwatt/broken/${name}`));
        try {
          const words = ["run", ...SMALL, "--rate", "max", "--frames", "8", "--json", "--device", "broken"];
          const ran = await runProgram([...words, "--broker", broker.url], failing());
          expect(ran.code, ran.stderr).toBe(0);
          await until("the end", () => messages.state?.at(-1)?.state === "stopped", 20_000);
          const lost = { code: "GPU_LOST", reason: expect.stringMatching(/^CUDA failed: /) };
          expect(messages.state).toContainEqual({ state: "degraded", runId: expect.any(Number), ...lost });
          const backends = messages.info!.map(({ backend }) => backend);
          expect([backends[0], backends.at(-1)]).toEqual(["cuda", "cpu"]);
          expect(messages.info!.at(-1)!.backendReason).toMatch(/^CUDA failed: /);
          expect(messages.metrics!.at(-1)).toMatchObject({
            backend: "cpu",
            backendReason: expect.stringMatching(/^CUDA failed: /),
            drops: { backendLost: expect.any(Number) },
          });
        } finally {
          await client.endAsync(true);
          await broker.stop();
        }
      }, 60_000);

      test("a run that has lost it holds what a run on the CPU holds, and one sleeping thread", async () => {
        const bench = new BadDays();
        const settings = SMALL.filter((word) => word !== "--set");
        try {
          const plain = await bench.begin({ settings: [...settings, "engine.backend=cpu"] });
          const without = await plain.holds();
          expect((await plain.end()).code).toBe(0);
          const environment = { ...failing(), WARP_FAIL_SYNC: "12" };
          const day = await bench.begin({ settings, environment });
          await day.says(/CUDA failed: .*cudaErrorIllegalAddress/);
          await day.delivers();
          // The thread of a second frame, which CUDA took, sleeps until the engine is closed.
          await day.holdsAgain({ ...without, threads: without.threads + 1 });
          const { code, figures } = await day.end();
          expect(code).toBe(0);
          expect(figures.backend).toBe("cpu");
        } finally {
          await bench.close();
        }
      }, 180_000);
    });

    test("in `run --backend cuda`: the run ends with that error", async () => {
      const ran = await runProgram([...RUN, "--backend", "cuda"], failing());
      expect(ran.code).toBe(4);
      expect(ran.stderr).toMatch(/^error: CUDA: .*cudaErrorIllegalAddress/m);
    }, 60_000);
  });

  describe("captured images", () => {
    let program = "";
    beforeAll(() => {
      program = join(folder, "input-path");
      execFileSync("g++", ["-std=c++14", "-o", program, "test/doubles/native/input_path_main.cc"]);
    });

    test.each([
      ["a card", [0, 9, 0, 1, 1], "GPU card, pinned copy"],
      ["a card whose system registers no memory", [0, 9, 0, 0, 1], "GPU card, copy"],
      ["Nano and TX1", [1, 5, 3, 0, 1], "Nano, TX1, TX2, copy, dma-buf"],
      ["TX2, should it ever register", [1, 6, 2, 1, 1], "Nano, TX1, TX2, copy, dma-buf"],
      ["Xavier", [1, 7, 2, 1, 1], "Xavier, Orin, Thor, user pointer, dma-buf"],
      ["Orin", [1, 8, 7, 1, 1], "Xavier, Orin, Thor, user pointer, dma-buf"],
      ["Thor", [1, 11, 0, 1, 1], "Xavier, Orin, Thor, user pointer, dma-buf"],
      ["a board that maps nothing", [1, 8, 7, 1, 0], "Xavier, Orin, Thor, pinned copy, dma-buf"],
    ])("get to %s by a rule", (_, facts, path) => {
      expect(execFileSync(program, facts.map(String), { encoding: "utf8" }).trim()).toBe(path);
    });

    let paths: EngineInfo["memory"] | undefined;
    /** The stand-in's log of a run of `count` frames: [what, address, bytes]. */
    function readLog(device: string, count: number, buffers?: string, more: Record<string, string> = {}) {
      const file = join(mkdtempSync(join(folder, "log-")), device);
      const got = frames("cuda", count, { WARP_DEVICE: device, WARP_LOG: file, ...more }, buffers);
      paths = got.after.memory;
      const reference = frames("cpu", count);
      expect(got.frames.map(({ hash }) => hash)).toEqual(reference.frames.map(({ hash }) => hash));
      const log = readFileSync(file, "utf8").trim().split("\n");
      return log
        .map((line) => line.split(" "))
        .map(([what, at, bytes]) => ({ what, at, bytes: Number(bytes) }));
    }
    const isInput = ({ bytes }: { bytes: number }) => bytes === 48 * 24;

    test("are copied from registered memory on a card; every registration ends before the memory does", () => {
      const log = readLog("90,register,map", 6);
      const of = (what: string) => log.filter((line) => line.what === what);
      const registered = of("register").map(({ at }) => at);
      expect(of("upload")).toHaveLength(12);
      for (const { at } of of("upload")) expect(registered).toContain(at);
      expect(of("unregister").map(({ at }) => at)).toEqual(registered);
      // 4 slots of left, disparity and confidence (there is no depth), and 8 inputs.
      expect(registered).toHaveLength(12 + 8);
      expect(of("graph")).toHaveLength(6);
      // Left image, disparity and confidence of every frame.
      expect(of("download")).toHaveLength(3 * 6);
    });

    test("are read where they lie on a coherent board, and results are written where they are read", () => {
      const log = readLog("integrated,87,register,map", 6);
      expect(log.filter(({ what }) => what === "upload" || what === "download")).toEqual([]);
      expect(log.filter(({ what }) => what === "graph")).toHaveLength(6);
    });

    test("say which path they took and what it cost, once two timed frames were computed", () => {
      readLog("90,register,map", 33);
      const microseconds = {
        imagesMicroseconds: expect.any(Number),
        resultsMicroseconds: expect.any(Number),
      };
      expect(paths).toEqual({ images: "pinned-copy", results: "copied", ...microseconds });
      readLog("integrated,87,register,map", 1);
      expect(paths).toEqual({ images: "user-pointer", results: "mapped" });
      expect(frames("cpu", 1).after.memory).toEqual({ images: "in-place", results: "in-place" });
    });

    test("are measured by the doctor, from known memory and from other memory", async () => {
      const { config } = loadConfig({ environment: {}, set: ["board=none"] });
      const { state, text, facts } = await lookAtMemory(config, { width: 64, height: 48 });
      expect(state, text).toBe("ok");
      const microseconds = {
        imagesMicroseconds: expect.any(Number),
        resultsMicroseconds: expect.any(Number),
      };
      expect(facts).toEqual({
        known: { images: "pinned-copy", results: "copied", ...microseconds },
        other: { images: "copy", results: "copied", ...microseconds },
      });
    });

    test.each(["87", "53"])(
      "are read from a driver's DMA buffers on a board of capability %s, and every import ends",
      (capability) => {
        const buffers = mkdtempSync(join(folder, "buffers-"));
        const log = readLog(`integrated,${capability},register,map,import`, 33, buffers);
        expect(log.filter(({ what }) => what === "upload")).toEqual([]);
        const of = (wanted: string) => log.filter(({ what }) => what === wanted).map(({ at }) => at);
        expect(of("import")).toHaveLength(8);
        expect(of("unimport").sort()).toEqual(of("import").sort());
        expect(paths!.images).toBe("dma-buf");
      },
    );

    test("are copied where the device does not import the driver's buffers", () => {
      const got = frames(
        "cuda",
        3,
        { WARP_DEVICE: "integrated,87,register,map" },
        mkdtempSync(join(folder, "buffers-")),
      );
      expect(got.after.memory.images).toBe("copy");
    });

    test("are copied on an older board, which registers nothing", () => {
      const log = readLog("integrated,53", 4);
      expect(log.filter(({ what }) => what === "upload").filter(isInput)).toHaveLength(8);
      expect(log.filter(({ what }) => what === "register")).toEqual([]);
    });
  });
});
