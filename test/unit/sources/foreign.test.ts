// SPDX-License-Identifier: Apache-2.0
// The source "foreign": cat plays what a helper writes, and the engine refines and publishes its disparity.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sceneCalibration } from "../../../camera/index.js";
import type { DepthwattError } from "../../../core/index.js";
import { createEngine } from "../../../cuda/index.js";
import { loadConfig } from "../../../edge/config/index.js";
import { Helper } from "../../../edge/match/helper.js";
import { engineOptionsFrom } from "../../../edge/pipeline/engine-options.js";
import { rectifiedGeometry, uncalibrated } from "../../../edge/pipeline/geometry.js";
import { openRuntime } from "../../../edge/run/main.js";
import { openSource } from "../../../edge/run/open-source.js";

const [WIDTH, HEIGHT] = [33, 17];
const PIXELS = WIDTH * HEIGHT;
const INVALID = -32768;
/** A place that the reader does not check. */
const UNCHECKED = 62;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "depthwatt-foreign-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const left = Uint8Array.from({ length: PIXELS }, (_, at) => (at * 7) & 255);
const right = Uint8Array.from({ length: PIXELS }, (_, at) => (at * 11) & 255);
const confidence = Uint8Array.from({ length: PIXELS }, (_, at) => at % 256);
const disparity = Int16Array.from({ length: PIXELS }, (_, at) => (at % 13 === 0 ? INVALID : 3 * at));

function frame(found: Int16Array = disparity, line = "FRAME XTIME=5000 XSEQ=7"): Buffer {
  const planes = [left, right, Buffer.from(found.buffer), confidence];
  return Buffer.concat([Buffer.from(`${line}\n`), ...planes]);
}

/** A helper that writes these bytes. */
function helper(bytes: Buffer, size = `W${WIDTH} H${HEIGHT}`): string {
  const file = join(folder, "stream");
  writeFileSync(file, Buffer.concat([Buffer.from(`DEPTHWATT-PAIRS ${size} F30:1\n`), bytes]));
  return `cat ${file}`;
}

/** Refinement that changes nothing. */
const PLAIN = ["refine.median=false", "refine.speckleSize=0", "refine.fill=off", "refine.repair=false"];
const configFor = (command: string, more: readonly string[] = []) =>
  loadConfig({
    environment: {},
    set: [
      "board=none",
      "source.kind=foreign",
      `source.foreign.command=${command}`,
      "source.foreign.live=false",
      "outputs.mqtt.broker=none",
      "engine.backend=cpu",
      "refine.boundary=false",
      ...PLAIN,
      ...more,
    ],
  }).config;

async function run(command: string, more: readonly string[] = []) {
  const results: { disparity: Int16Array; confidence: Uint8Array; left: Uint8Array; times: unknown[] }[] = [];
  const runtime = await openRuntime(configFor(command, more), undefined, {
    onNotice: () => {},
    onFrame: ({ slot, leftTimestampNs, leftSequence, timestampPoint }) =>
      results.push({
        disparity: slot.disparityQ4.slice(),
        confidence: slot.confidence.slice(),
        left: slot.left.slice(),
        times: [leftTimestampNs, leftSequence, timestampPoint],
      }),
  });
  const figures = await runtime.run();
  return { results, figures };
}

const refusal = (command: string, more: readonly string[] = []) =>
  run(command, more).then(
    () => expect.fail("the run succeeded"),
    (error: DepthwattError) => error,
  );

test("a helper of other images' size is refused, ended, and its images are removed", async () => {
  const [files, pid] = [join(folder, "files"), join(folder, "pid")];
  const command = `echo $$ > ${pid}; echo {left} > ${files}; ${helper(frame())}; exec sleep 60`;
  const images = { left, right, width: HEIGHT, height: WIDTH, numDisparities: 16 };
  await expect(Helper.open({ command, shell: true, timeoutMs: 5000 }, images)).rejects.toMatchObject({
    code: "IMAGE_SIZE_MISMATCH",
    message: "expected pairs of the images' size 17x33 from the helper, got 33x17",
  });
  const place = readFileSync(files, "utf8").trim();
  expect(place).toMatch(/left\.png$/);
  expect(existsSync(dirname(place))).toBe(false);
  expect(() => process.kill(Number(readFileSync(pid, "utf8")), 0)).toThrow("ESRCH");
});

describe("a helper's pairs", () => {
  test("disparity, confidence, image, time and number arrive as written", async () => {
    const { results, figures } = await run(helper(Buffer.concat([frame(), frame()])));
    expect(results).toHaveLength(2);
    const kept = confidence.map((value, at) => (disparity[at] === INVALID ? 0 : value));
    expect(results[0]).toEqual({ disparity, confidence: kept, left, times: [5000n, 7, "startOfExposure"] });
    expect(figures.stages.match).toBeDefined();
    expect(figures.stages.half).toBeUndefined();
  });

  test("a region keeps its pixels and their places", async () => {
    const { results } = await run(helper(frame()), ["region.x=9", "region.y=4", "region.width=8"]);
    const expected = disparity.map((value, at) => {
      const [x, y] = [at % WIDTH, Math.floor(at / WIDTH)];
      return x >= 9 && x < 17 && y >= 4 ? value : INVALID;
    });
    expect(results[0]!.disparity).toEqual(expected);
  });

  test("a value out of range that the reader did not check has no disparity", async () => {
    const found = disparity.slice();
    found[UNCHECKED] = -16;
    const { results } = await run(helper(frame(found)));
    expect([results[0]!.disparity[UNCHECKED], results[0]!.confidence[UNCHECKED]]).toEqual([INVALID, 0]);
    expect(results[0]!.disparity[UNCHECKED + 1]).toBe(disparity[UNCHECKED + 1]);
  });

  test("the refinement of the settings runs", async () => {
    const found = new Int16Array(PIXELS).fill(160);
    found[5 * WIDTH + 5] = 480;
    const { results } = await run(helper(frame(found)), ["refine.median=true"]);
    expect(results[0]!.disparity[5 * WIDTH + 5]).toBe(160);
  });
});

describe("bad input", () => {
  const cases: [string, () => string, string, RegExp][] = [
    [
      "a size of 0",
      () => helper(frame(), "W0 H17"),
      "DEVICE_UNSUITABLE",
      /expected W and H of 16 to 16384 pixels/,
    ],
    [
      "another stream",
      () => "echo YUV4MPEG2",
      "COMMAND_FAILED",
      /expected "DEPTHWATT-PAIRS" at the beginning/,
    ],
    ["too large frames", () => helper(Buffer.concat([frame(), right])), "COMMAND_FAILED", /expected "FRAME"/],
    [
      "a truncated frame",
      () => helper(frame().subarray(0, -1)),
      "COMMAND_FAILED",
      /helper "cat": ended with exit code 0/,
    ],
    [
      "SGBM's own invalid value",
      () => helper(frame(new Int16Array(PIXELS).fill(-16))),
      "COMMAND_FAILED",
      /expected disparities of 0 to 2047 px in 1\/16 px, or -32768 for none, got -16/,
    ],
    [
      "a helper that dies",
      () => "sh -c 'echo no camera >&2; exit 3'",
      "COMMAND_FAILED",
      /exit code 3.*no camera/,
    ],
  ];
  for (const [name, command, code, text] of cases) {
    test(name, async () => {
      const error = await refusal(command());
      expect([error.code, error.message]).toEqual([code, expect.stringMatching(text)]);
    });
  }

  test("a frame that is cut off after a whole one is counted", async () => {
    const { source } = await openSource(configFor(helper(Buffer.concat([frame(), frame().subarray(0, 99)]))));
    await new Promise<void>((resolve) => {
      const end = () => resolve();
      source.start({ onPair: (pair) => pair.release(), onDegraded: end, onEnd: end, onError: end });
    });
    expect(source.counters()).toMatchObject({ pairs: 1, dropsLeft: { cut: 1 } });
    await source.stop();
  });

  test("no command", () => {
    expect(() => configFor("")).toThrow(/source\.foreign\.command/);
  });
});

describe("calibration", () => {
  const image = {
    description: {
      width: 64,
      height: 48,
      leftFormat: "GREY",
      rightFormat: "GREY_DISPARITY",
      leftStrideBytes: 64,
      rightStrideBytes: 64,
    },
  } as const;
  const config = configFor("cat", ["match.halfResolution=true"]);

  test("one of rectified images gives depth; half resolution is ignored, because nothing is matched", () => {
    const geometry = rectifiedGeometry(sceneCalibration({ width: 64, height: 48, view: "ideal" }), 0);
    const engine = createEngine({ ...engineOptionsFrom(config, image, geometry) });
    engine.close();
    expect(engine.info.backend).toBe("cpu");
  });

  test("one with distortion is refused", () => {
    const calibration = sceneCalibration({ width: 64, height: 48 });
    const bent = {
      ...calibration,
      left: {
        ...calibration.left,
        distortion: { ...calibration.left.distortion, coefficients: [0.3, 0, 0, 0, 0] },
      },
    };
    const geometry = rectifiedGeometry(bent as typeof calibration, 0);
    expect(() => engineOptionsFrom(config, image, geometry)).toThrow(
      /calibration whose images are rectified/,
    );
  });

  test("maps in the engine are refused", () => {
    const options = engineOptionsFrom(config, image, uncalibrated(64, 48));
    const map = new Int32Array(2 * 64 * 48);
    expect(() => createEngine({ ...options, leftMap: map, rightMap: map })).toThrow(/rectified images/);
  });
});
