// SPDX-License-Identifier: Apache-2.0
// Detections of other programs: messages, the history of frames, distances in a rendered scene, speeds.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { buildMap, MAP_STEPS_PER_PIXEL } from "../../../camera/calibration/maps.js";
import {
  greyPairLayout,
  rectify,
  rectifyPoint,
  SceneRenderer,
  sceneCalibration,
} from "../../../camera/index.js";
import { SCENE_BASELINE_METRES, sceneView } from "../../../camera/scene/scene-cameras.js";
import { loadConfig } from "../../../edge/config/index.js";
import type { ComputedFrame } from "../../../edge/contracts/computed-frame.js";
import { loadNative } from "../../../edge/contracts/native.js";
import type { Rig } from "../../../edge/contracts/rig.js";
import {
  type AnswerOptions,
  answerDetections,
  rectifyCorners,
} from "../../../edge/outputs/detections/answer.js";
import { DepthHistory, type KeptFrame } from "../../../edge/outputs/detections/history.js";
import { clippedBounds, depthMetres, measureDetection } from "../../../edge/outputs/detections/measure.js";
import {
  type Detection,
  MAX_DETECTIONS,
  type ParseOptions,
  parseMessage,
} from "../../../edge/outputs/detections/message.js";
import { DETECTION_FORMATS } from "../../../edge/outputs/detections/settings.js";
import { TimeBudget } from "../../../edge/outputs/detections/time-budget.js";
import { Tracks } from "../../../edge/outputs/detections/tracks.js";
import { engineOptionsFrom } from "../../../edge/pipeline/engine-options.js";
import { uncalibrated } from "../../../edge/pipeline/geometry.js";
import { computeFrame } from "../../doubles/engine-call.js";
import { Random } from "../../doubles/random.js";

const OPTIONS: Record<(typeof DETECTION_FORMATS)[number], ParseOptions> = {
  depthwatt: { format: "depthwatt", camera: undefined, imageSize: undefined },
  frigate: { format: "frigate", camera: "porch", imageSize: { width: 1280, height: 720 } },
  homeAssistant: { format: "homeAssistant", camera: undefined, imageSize: undefined },
};

const state = (camera: string, box: unknown, rest: object = {}) => ({
  id: "1735689600.25-k3x9qd",
  camera,
  frame_time: 1735689604.5,
  label: "person",
  sub_label: null,
  score: 0.81,
  top_score: 0.9,
  false_positive: false,
  start_time: 1735689600.25,
  end_time: null,
  box,
  area: 57_600,
  ratio: 0.5,
  region: [200, 100, 600, 500],
  current_zones: [],
  stationary: false,
  has_snapshot: true,
  has_clip: false,
  attributes: {},
  thumbnail: null,
  ...rest,
});
const event = (type: string, after: object) => JSON.stringify({ type, before: after, after });

const GOOD: Record<(typeof DETECTION_FORMATS)[number], string> = {
  depthwatt: JSON.stringify({
    id: "m1",
    leftSequence: 12,
    image: "raw",
    imageSize: [640, 480],
    detections: [
      { id: 7, label: "person", box: [64, 48, 320, 240] },
      { polygon: [[0, 0], [640, 0], [320, 480]] }, // biome-ignore format: three corners
    ],
  }),
  frigate: event("update", state("porch", [320, 180, 640, 540])),
  homeAssistant: JSON.stringify({
    timeMs: 1735689604500,
    matches: { person: [{ score: 91.2, box: [0.1, 0.2, 0.5, 0.4] }], cat: [] },
  }),
};

test("every format gives corners as fractions of the image, and the frame", () => {
  expect(parseMessage(GOOD.depthwatt, OPTIONS.depthwatt)).toMatchObject({
    id: "m1",
    reference: { kind: "sequence", sequence: 12 },
    image: "raw",
    detections: [
      { id: "7", label: "person", corners: [{ x: 0.1, y: 0.1 }, {}, { x: 0.5, y: 0.5 }, {}], isBox: true },
      { id: undefined, corners: [{}, {}, { x: 0.5, y: 1 }], isBox: false },
    ],
  });
  expect(parseMessage(GOOD.frigate, OPTIONS.frigate)).toMatchObject({
    reference: { kind: "time", timeMs: 1735689604500 },
    detections: [
      {
        id: "1735689600.25-k3x9qd",
        label: "person",
        corners: [{ x: 0.25, y: 0.25 }, {}, { x: 0.5, y: 0.75 }, {}],
        ended: false,
      },
    ],
  });
  const ended = event("end", state("porch", [0, 0, 10, 10], { end_time: 1735689609 }));
  expect(parseMessage(ended, OPTIONS.frigate)).toMatchObject({ detections: [{ ended: true }] });
  expect(parseMessage(event("new", state("garden", [0, 0, 10, 10])), OPTIONS.frigate)).toBeUndefined();
  expect(parseMessage(GOOD.homeAssistant, OPTIONS.homeAssistant)).toMatchObject({
    reference: { kind: "time", timeMs: 1735689604500 },
    detections: [{ label: "person", corners: [{ x: 0.2, y: 0.1 }, {}, { x: 0.4, y: 0.5 }, {}] }],
  });
});

test.each([
  ["", "expected JSON"],
  ['{"detections": [NaN]}', "expected JSON"],
  ["[]", "expected an object as message, got a list of 0"],
  ["{}", "expected detections: a list"],
  [
    JSON.stringify({ detections: Array(MAX_DETECTIONS + 1).fill({}) }),
    "at most 50 detections, got a list of 51",
  ],
  ['{"timeMs": "now", "detections": []}', 'timeMs, milliseconds since 1970, got "now"'],
  ['{"timeMs": 1e999, "detections": []}', "expected a number as timeMs"],
  ['{"leftTimestampNs": 5, "detections": []}', "digits in quotes"],
  ['{"leftTimestampNs": "9999999999999999999", "detections": []}', "digits in quotes"],
  ['{"image": "left", "detections": []}', 'expected image "rectified" or "raw"'],
  ['{"imageSize": [0, 1], "detections": []}', "expected imageSize"],
  [`{"id": "${"x".repeat(65)}", "detections": []}`, "an id of at most 64"],
  [`"${"x".repeat(70_000)}"`, "expected at most 65536 bytes, got 70002"],
  [`"${"\u20ac".repeat(30_000)}"`, "expected at most 65536 bytes, got 90002"],
])("the message %.60s is refused with its reason", (text, why) => {
  expect(parseMessage(text, OPTIONS.depthwatt)).toMatchObject({ reason: expect.stringContaining(why) });
});

test.each([
  [{ box: [0.5, 0.5, 0.4, 0.6] }, "a box with an area"],
  [{ box: [0, 0, 1] }, "expected box [left, top, right, bottom], got a list of 3"],
  [{ box: [null, 0, 1, 1] }, "expected a number as a corner, got nothing"],
  [{ box: [0, 0, 640, 480] }, "boxes in pixels need imageSize"],
  [{ polygon: [[0, 0], [1, 1]] }, "a polygon of 3 to 64 corners"], // biome-ignore format: two corners
  [7, "expected box"],
])("the detection %j is answered with its reason, and the others are measured", (bad, why) => {
  const text = JSON.stringify({ detections: [bad, { box: [0, 0, 1, 1] }] });
  expect(parseMessage(text, OPTIONS.depthwatt)).toMatchObject({
    detections: [{ corners: expect.stringContaining(why) }, { corners: { length: 4 } }],
  });
});

const boxOf = (left: number, top: number, right: number, bottom: number) =>
  [{ x: left, y: top }, { x: right, y: top }, { x: right, y: bottom }, { x: left, y: bottom }]; // biome-ignore format: a box

test("whole messages of every format", () => {
  const plain = { id: undefined, label: undefined, ended: false };
  const half = boxOf(0, 0, 0.5, 0.5);
  const box = [0, 0, 0.5, 0.5];
  expect(
    parseMessage(
      JSON.stringify({
        id: 5,
        leftTimestampNs: "0",
        detections: [{ box }, { polygon: [[0, 0], [1, 0], [1, 1]], label: "x".repeat(64) }, null], // biome-ignore format: three corners
      }),
      OPTIONS.depthwatt,
    ),
  ).toEqual({
    id: "5",
    reference: { kind: "timestamp", timestampNs: 0n },
    image: undefined,
    detections: [
      { ...plain, corners: half, isBox: true },
      { ...plain, label: "x".repeat(64), corners: boxOf(0, 0, 1, 1).slice(0, 3), isBox: false },
      { ...plain, corners: "expected box [left, top, right, bottom], got nothing", isBox: true },
    ],
  });
  expect(parseMessage(event("update", state("porch", [320, 180, 640, 540])), OPTIONS.frigate)).toEqual({
    id: undefined,
    reference: { kind: "time", timeMs: 1735689604500 },
    image: undefined,
    detections: [
      {
        id: "1735689600.25-k3x9qd",
        label: "person",
        corners: boxOf(0.25, 0.25, 0.5, 0.75),
        isBox: true,
        ended: false,
      },
    ],
  });
  const matches = { cat: [{ box, id: 3 }, null], dog: [] };
  expect(parseMessage(JSON.stringify({ image: "raw", matches }), OPTIONS.homeAssistant)).toEqual({
    id: undefined,
    reference: { kind: "newest" },
    image: "raw",
    detections: [
      { id: "3", label: "cat", corners: half, isBox: true, ended: false },
      { ...plain, label: "cat", corners: "expected a number as a corner, got nothing", isBox: true },
    ],
  });
});

test.each([
  ["null", "expected an object as message, got nothing"],
  ["true", "expected an object as message, got a value of type boolean"],
  [`"${"x".repeat(50)}"`, `expected an object as message, got "${"x".repeat(39)}`],
  ["5", "expected an object as message, got 5"],
  ['{"id": 1e999}', "expected an id of at most 64 characters, got null"],
  ['{"id": "a\\u0007"}', 'expected an id of at most 64 characters, got "a\\u0007"'],
  ['{"imageSize": [1, 1, 1]}', "expected imageSize [width, height], got a list of 3"],
  ['{"imageSize": [0.5, 1]}', "expected imageSize [width, height], got a list of 2"],
  ['{"imageSize": [1, 0.5]}', "expected imageSize [width, height], got a list of 2"],
  [
    '{"leftTimestampNs": "9223372036854775808", "detections": []}',
    'expected leftTimestampNs as digits in quotes, got "9223372036854775808"',
  ],
])("the message %.60s is refused with the whole reason", (message, reason) => {
  expect(parseMessage(message, OPTIONS.depthwatt)).toEqual({ reason, id: undefined });
});

test.each([
  [{ box: [-100, -100, 100, 100] }, boxOf(-100, -100, 100, 100)],
  [
    { box: [0, 0, 100.5, 1] },
    "expected corners near the image, got one at 100.5, 1; boxes in pixels need imageSize",
  ],
  [{ box: [0.5, 0, 0.5, 1] }, "expected a box with an area, got 0.5, 0 to 0.5, 1"],
  [{ box: [0, 0.5, 1, 0.5] }, "expected a box with an area, got 0, 0.5 to 1, 0.5"],
  [{ polygon: [[0], [0, 0], [0, 0]] }, "expected corners [x, y], got a list of 1"],
  [{ polygon: [{ length: 2 }, [0, 0], [0, 0]] }, "expected corners [x, y], got a value of type object"],
  [{ box: [0, 0, 1, 1], label: true }, "expected a label of at most 64 characters, got a value of type bool"],
])("the detection %j has its corners or the whole reason", (each, corners) => {
  expect(parseMessage(JSON.stringify({ detections: [each] }), OPTIONS.depthwatt)).toMatchObject({
    detections: [{ corners, ended: false }],
  });
});

test("messages at their limits are taken", () => {
  const parsed = (message: object, padded = 0) =>
    parseMessage(JSON.stringify(message).padEnd(padded), OPTIONS.depthwatt);
  expect(parsed({ id: "x".repeat(64), detections: [] }, 65_536)).toMatchObject({ id: "x".repeat(64) });
  expect(parsed({ detections: [] }, 65_537)).toMatchObject({ reason: expect.stringContaining("got 65537") });
  expect(parsed({ leftTimestampNs: "9223372036854775807", detections: [] })).toMatchObject({
    reference: { kind: "timestamp", timestampNs: 2n ** 63n - 1n },
  });
  const box = [0, 0, 1, 1];
  expect(parsed({ imageSize: [1, 1], detections: Array(50).fill({ box }) })).toMatchObject({
    detections: { length: 50, 49: { corners: boxOf(0, 0, 1, 1) } },
  });
  const polygon = (corners: number) => parsed({ detections: [{ polygon: Array(corners).fill([0, 0]) }] });
  expect(polygon(64)).toMatchObject({ detections: [{ corners: { length: 64 } }] });
  expect(polygon(65)).toMatchObject({
    detections: [{ corners: "expected a polygon of 3 to 64 corners, got a list of 65" }],
  });
  // All labels together may have 50 detections.
  const matched = (dogs: number) =>
    parseMessage(
      JSON.stringify({ matches: { cat: Array(30).fill({ box }), dog: Array(dogs).fill({ box }) } }),
      OPTIONS.homeAssistant,
    );
  expect(matched(20)).toMatchObject({ detections: { length: 50 } });
  expect(matched(21)).toEqual({
    reason: "expected matches: lists of at most 50 detections, got a list of 51",
    id: undefined,
  });
});

test("damaged messages never throw, and corners are always numbers", () => {
  const damage = fc.array(fc.tuple(fc.nat(), fc.constantFrom(...'{}[],:"e-0919.\\\u0000nutrlfas', "")), {
    maxLength: 6,
  });
  const seed = Number(process.env.DEPTHWATT_SEED ?? 1) | 0;
  fc.assert(
    fc.property(fc.constantFrom(...DETECTION_FORMATS), damage, fc.json(), (format, steps, json) => {
      let text = GOOD[format];
      for (const [at, replaced] of steps) {
        const place = at % text.length;
        text = text.slice(0, place) + replaced + text.slice(place + 1);
      }
      for (const each of [text, json]) {
        const parsed = parseMessage(each, OPTIONS[format]);
        if (parsed === undefined || "reason" in parsed) continue;
        for (const { corners } of parsed.detections) {
          if (typeof corners === "string") continue;
          for (const { x, y } of corners)
            expect([Number.isFinite(x), Number.isFinite(y)]).toEqual([true, true]);
        }
      }
    }),
    { seed, numRuns: 500 },
  );
});

function frameAt(sequence: number): ComputedFrame {
  const [left, right] = [Uint8Array.of(sequence, 7), Uint8Array.of(8, sequence)];
  const slot = { left, right, disparityQ4: Int16Array.of(sequence, 0), confidence: Uint8Array.of(1, 1) };
  const [width, height, leftTimestampNs] = [2, 1, BigInt(sequence) * 100_000_000n];
  return { slot, width, height, leftTimestampNs, leftSequence: sequence, clock: "file" } as ComputedFrame;
}

test("the history finds late frames, waits for early ones, and says which are gone", () => {
  const history = new DepthHistory(3);
  expect(history.byTime(0, 50)).toBe("empty");
  for (const sequence of [1, 2, 3, 5]) history.add(frameAt(sequence), 100 * sequence);
  const memory = history.newest!.disparityQ4.buffer;
  expect(history.bySequence(2)).toMatchObject({ sequence: 2, timestampNs: 200_000_000n });
  expect([1, 4, 6].map((sequence) => history.bySequence(sequence))).toEqual(["late", "missing", "early"]);
  expect(history.byTime(310, 50)).toMatchObject({ sequence: 3, timeMs: 300 });
  expect(history.byTime(100, 50)).toBe("late");
  expect(history.byTime(400, 50)).toBe("missing");
  expect(history.byTime(510, 50)).toMatchObject({ sequence: 5 });
  expect(history.byTime(540, 50)).toBe("early");
  expect(history.byTime(540, 50, true)).toMatchObject({ sequence: 5 });
  expect(history.byTimestamp(290_000_000n, 50)).toMatchObject({ sequence: 3 });
  expect(history.newest).toMatchObject({ left: Uint8Array.of(5, 7), right: Uint8Array.of(8, 5) });
  // The ring takes no new memory.
  for (const sequence of [6, 7, 8]) history.add(frameAt(sequence), 100 * sequence);
  expect(history.newest!.disparityQ4.buffer).toBe(memory);
  history.clear();
  expect(history.byTime(800, 50)).toBe("empty");
});

test("the mode by hand: an object in front of a wall, filled and doubtful pixels, a larger wall at the corners", () => {
  const [width, height] = [40, 40];
  const disparityQ4 = new Int16Array(width * height).fill(160);
  const confidence = new Uint8Array(width * height).fill(255);
  for (let y = 12; y < 28; y++) disparityQ4.fill(320, y * width + 12, y * width + 28);
  const none = new Uint8Array(0);
  const image = { width, height, left: none, right: none, disparityQ4, confidence };
  const whole = [{ x: 0, y: 0 }, { x: 1, y: 0 }, { x: 1, y: 1 }, { x: 0, y: 1 }]; // biome-ignore format: a box
  const around = whole.map(({ x, y }) => ({ x: 0.2 + 0.6 * x, y: 0.2 + 0.6 * y }));
  const options = { minConfidence: 128, maxPixels: 10_000, preferMiddle: true };
  // 256 of the 576 pixels of the box are the object, and nearly all of its middle.
  expect(measureDetection(image, around, options)).toEqual({
    disparityPixels: 20,
    standardErrorPixels: undefined,
    spreadPixels: 0,
    x: 19.5,
    y: 19.5,
    matchedShare: 1,
    atDistanceShare: 256 / 576,
  });
  expect(measureDetection(image, around, { ...options, preferMiddle: false })).toMatchObject({
    disparityPixels: 10,
  });
  // Filled pixels (confidence 0) and doubtful ones do not count: only the wall is left.
  for (let y = 12; y < 28; y++) confidence.fill(y % 2 === 0 ? 0 : 127, y * width + 12, y * width + 28);
  expect(measureDetection(image, around, options)).toMatchObject({
    disparityPixels: 10,
    matchedShare: 320 / 576,
  });
  confidence.fill(0);
  expect(measureDetection(image, whole, { ...options, minConfidence: 0 })).toEqual({ matchedShare: 0 });
});

test.each<[[left: number, top: number, right: number, bottom: number], object | undefined]>([
  [[0, 0, 1, 1], { left: 0, top: 0, right: 1, bottom: 1, isClipped: false }],
  [[-0.5, 0.25, 1, 1], { left: 0, top: 0.25, right: 1, bottom: 1, isClipped: true }],
  [[0.25, -0.5, 1, 1], { left: 0.25, top: 0, right: 1, bottom: 1, isClipped: true }],
  [[0, 0.25, 1.5, 1], { left: 0, top: 0.25, right: 1, bottom: 1, isClipped: true }],
  [[0, 0.25, 1, 1.5], { left: 0, top: 0.25, right: 1, bottom: 1, isClipped: true }],
  [[1, 0, 2, 1], undefined],
  [[-1, 0, 0, 1], undefined],
  [[0, 1, 1, 2], undefined],
  [[0, -1, 1, 0], undefined],
])("the box %j is clipped to the image", ([left, top, right, bottom], expected) => {
  const corners = [{ x: left, y: bottom }, { x: right, y: bottom }, { x: right, y: top }, { x: left, y: top }]; // biome-ignore format: a box
  expect(clippedBounds(corners)).toEqual(expected);
});

describe("a measurement by hand", () => {
  const [width, height] = [40, 40];
  const corners = (left: number, top: number, right: number, bottom: number) =>
    [{ x: left, y: top }, { x: right, y: top }, { x: right, y: bottom }, { x: left, y: bottom }]; // biome-ignore format: a box
  /** Measures pixels that are listed row by row in the box; the others were not matched. */
  const measured = (q4: number[], options: object = {}, box = corners(0, 0, 1, 1), confident = 255) => {
    const none = new Uint8Array(0);
    const disparityQ4 = new Int16Array(width * height).fill(-32768);
    disparityQ4.set(q4);
    const confidence = new Uint8Array(width * height).fill(confident);
    return measureDetection({ width, height, left: none, right: none, disparityQ4, confidence }, box, {
      minConfidence: 128,
      maxPixels: 1600,
      preferMiddle: false,
      ...options,
    });
  };
  const pixels = (...groups: [count: number, q4: number][]) =>
    groups.flatMap(([count, q4]) => Array(count).fill(q4));

  test("twelve pixels at one distance are enough, and a pixel needs its least confidence", () => {
    expect(measured(pixels([11, 160]))).toEqual({ matchedShare: 11 / 1600 });
    expect(measured(pixels([12, 160]))).toMatchObject({
      disparityPixels: 10,
      atDistanceShare: 12 / 1600,
      x: 5.5,
      y: 0,
    });
    expect(measured(pixels([1600, 160]), {}, undefined, 128)).toMatchObject({ disparityPixels: 10 });
    expect(measured(pixels([1600, 160]), {}, undefined, 127)).toEqual({ matchedShare: 0 });
    expect(measured(pixels([1600, 0]))).toEqual({ matchedShare: 0 });
    expect(measured(pixels([1600, 16]))).toMatchObject({ disparityPixels: 1, matchedShare: 1 });
  });

  test.each([
    [320, 346, 70],
    [320, 347, 50],
    [100, 116, 70],
    [100, 117, 50],
  ])("50 pixels at %i/16 and 20 at %i/16: the mode has %i", (first, second, count) => {
    expect(measured(pixels([50, first], [20, second]))).toMatchObject({ atDistanceShare: count / 1600 });
  });

  test("mean and spread around the mode, with the correction of fractions", () => {
    // The nearest mode with both is 168: -8, and -4 + 2.1.
    expect(measured(pixels([800, 160], [800, 164]))).toEqual({
      disparityPixels: expect.closeTo((168 - (8 + 1.9) / 2) / 16, 9),
      standardErrorPixels: undefined,
      spreadPixels: expect.closeTo((8 - 1.9) / 2 / 16, 9),
      x: 19.5,
      y: 19.5,
      matchedShare: 1,
      atDistanceShare: 1,
    });
  });

  test.each([
    [1600, 19.5],
    [1599, 19],
    [400, 18],
  ])("of 1600 pixels %i are read at most: rows with the mean %d", (maxPixels, y) => {
    expect(measured(pixels([1600, 160]), { maxPixels })).toMatchObject({ y });
  });

  test("the pixels of a box are counted, and a box outside the image has none", () => {
    const box = corners(0.25, 0.5, 0.75, 1);
    expect(measured(pixels([1600, 160]), { maxPixels: 400 }, box)).toMatchObject({ x: 19.5, y: 29.5 });
    expect(measured(pixels([1600, 160]), { maxPixels: 399 }, box)).toMatchObject({ x: 19.5, y: 29 });
    expect(measured(pixels([1600, 160]), {}, corners(1, 0, 2, 1))).toEqual({ matchedShare: 0 });
  });

  test("pixels of the inner half weigh four times as much", () => {
    // The box has columns 4 to 27 and rows 12 to 35, its inner half columns 10 to 21 and rows 18 to 29.
    const box = corners(0.1, 0.3, 0.7, 0.9);
    const mode = (near: number, preferMiddle = true) => {
      const map = pixels([1600, 160]);
      for (let at = 0; at < 144; at++) map[(18 + Math.floor(at / 12)) * width + 10 + (at % 12)] = 320;
      for (let at = 0; at < 144 - near; at++) map[(23 + Math.floor(at / 12)) * width + 10 + (at % 12)] = 160;
      return measured(map, { preferMiddle }, box);
    };
    // 4 x 126 against 4 x 18 + 432: of two equal ones the nearer.
    expect(mode(126)).toMatchObject({ disparityPixels: 20, atDistanceShare: 126 / 576 });
    expect(mode(125)).toMatchObject({ disparityPixels: 10 });
    expect(mode(126, false)).toMatchObject({ disparityPixels: 10 });
  });

  test("depth is behind the camera or at infinity where the disparity with its offset is not above 0", () => {
    const geometry = { focalPixels: 100, baselineMetres: 0.5, cx: 0, cy: 0, disparityOffsetPixels: 2 };
    expect([8, -1.5, -2, -3].map((disparity) => depthMetres(disparity, geometry))).toEqual([
      5,
      100,
      undefined,
      undefined,
    ]);
  });
});

test("distances in the rendered scene: up to 5 m, where 30 % of a box is matched and it has texture, all are within 1 %", async () => {
  const [width, height] = [640, 480];
  const { config } = loadConfig({ environment: {}, set: ["board=none", "match.numDisparities=96"] });
  const description = greyPairLayout(width, height);
  const view = sceneView(width, height);
  const geometry = { ...view, baselineMetres: SCENE_BASELINE_METRES, disparityOffsetPixels: 0 };
  const errors: number[] = [];
  const blank: { distance: number; error: number }[] = [];
  // The scene takes longer to make than a frame of it.
  const renderer = new SceneRenderer(loadNative(), { width, height, view: "rectified" });
  for (const frameNumber of [20, 40, 60]) {
    const { left, right } = await renderer.frame(frameNumber);
    const truth = renderer.truth(frameNumber, "left", view).disparity.data;
    const pair = { width, height, left: Uint8Array.from(left.data), right: Uint8Array.from(right.data) };
    const options = engineOptionsFrom(config, { description }, uncalibrated(width, height));
    const frame = await computeFrame(pair, options);
    for (const side of [24, 32, 48, 72])
      for (let top = 0; top + side <= height; top += 8)
        for (let x0 = 0; x0 + side <= width; x0 += 8) {
          const inside = new Float64Array((side / 2) ** 2);
          let count = 0;
          for (let y = top; y < top + side; y += 2)
            for (let x = x0; x < x0 + side; x += 2) inside[count++] = truth[y * width + x]!;
          inside.sort();
          const part = (share: number) => inside[Math.floor(share * (inside.length - 1))]!;
          const distance = (view.focalPixels * SCENE_BASELINE_METRES) / part(0.5);
          // Only boxes on one surface have one distance.
          if (distance > 5 || part(0.99) / part(0.01) > 1.03 || part(0.5) > 80) continue;
          const [l, r, t, b] = [x0 / width, (x0 + side) / width, top / height, (top + side) / height];
          const corners = [{ x: l, y: t }, { x: r, y: t }, { x: r, y: b }, { x: l, y: b }]; // biome-ignore format: a box
          const measured = measureDetection({ ...pair, ...frame }, corners, {
            minConfidence: 128,
            maxPixels: 16_000,
            preferMiddle: true,
          });
          if (measured.matchedShare < 0.3 || !("disparityPixels" in measured)) continue;
          const error = Math.abs(depthMetres(measured.disparityPixels, geometry)! / distance - 1);
          // The blank shade of a lamp.
          if (measured.standardErrorPixels === undefined) blank.push({ distance, error });
          else errors.push(error);
        }
  }
  renderer.close();
  errors.sort((a, b) => a - b);
  expect(errors.length).toBeGreaterThan(250);
  expect(errors[errors.length >> 1]).toBeLessThan(0.0025);
  expect(errors.at(-1)).toBeLessThan(0.01);
  expect(blank.length).toBeLessThan(20);
  for (const { distance, error } of blank) {
    expect(distance).toBeCloseTo(4.2, 1);
    expect(error).toBeLessThan(0.12);
  }
});

test("corners of the captured image are mapped as the rectification maps do", () => {
  const calibration = sceneCalibration({ width: 320, height: 240 });
  const rectification = rectify(calibration);
  const map = buildMap(
    calibration.left,
    rectification.R1,
    rectification.P1,
    calibration.imageSize,
    rectification,
  );
  for (const [x, y] of [
    [40, 30],
    [160, 120],
    [300, 200],
  ] as const) {
    // biome-ignore format: points
    const at = 2 * (y * 320 + x);
    const [px, py] = [map[at]! / MAP_STEPS_PER_PIXEL, map[at + 1]! / MAP_STEPS_PER_PIXEL];
    const point = rectifyPoint(calibration.left, rectification.R1, rectification.P1, px, py)!;
    expect(Math.hypot(point.x - x, point.y - y)).toBeLessThan(0.1);
    // A polygon around the point contains it after the mapping, at the same place in the image.
    const around = [
      [-4, -4],
      [4, -4],
      [4, 4],
      [-4, 4],
    ].map(([dx, dy]) => ({
      // biome-ignore format: corners
      x: (px + dx! + 0.5) / 320,
      y: (py + dy! + 0.5) / 240,
    }));
    const mapped = rectifyCorners(around, { calibration, rectification })!;
    const mean = (axis: "x" | "y") => mapped.reduce((sum, each) => sum + each[axis], 0) / mapped.length;
    expect(Math.abs(mean("x") * rectification.width - 0.5 - x)).toBeLessThan(0.2);
    expect(Math.abs(mean("y") * rectification.height - 0.5 - y)).toBeLessThan(0.2);
    // Eight points an edge, the corner first.
    expect(mapped).toHaveLength(32);
    for (const [corner, from] of around.entries()) {
      const [cx, cy] = [from.x * 320 - 0.5, from.y * 240 - 0.5];
      const moved = rectifyPoint(calibration.left, rectification.R1, rectification.P1, cx, cy)!;
      expect(mapped[8 * corner]!.x * rectification.width - 0.5).toBeCloseTo(moved.x, 9);
      expect(mapped[8 * corner]!.y * rectification.height - 0.5).toBeCloseTo(moved.y, 9);
    }
  }
});

test("an answer has position, size, speed where ids repeat, and a reason where nothing is known", () => {
  const calibration = sceneCalibration({ width: 64, height: 64, view: "rectified" });
  const rectification = rectify(calibration);
  const { focalPixels, baselineMetres, cx } = rectification;
  const kept = (metres: number, timeMs: number) => ({
    width: 64,
    height: 64,
    clock: "monotonic" as const,
    timestampNs: 0n,
    sequence: 0,
    timeMs,
    left: new Uint8Array(64 * 64),
    right: new Uint8Array(64 * 64),
    disparityQ4: new Int16Array(64 * 64).fill(Math.round((16 * focalPixels * baselineMetres) / metres)),
    confidence: new Uint8Array(64 * 64).fill(255),
  });
  const tracks = new Tracks(10);
  const options = {
    picture: { rig: { calibration, rectification }, hasDepth: true },
    image: "rectified",
    minConfidence: 1,
  } as const;
  const detection = (left: number, right: number, id?: string) => ({
    id,
    label: "person",
    isBox: true,
    ended: false,
    corners: [{ x: left, y: 0 }, { x: right, y: 0 }, { x: right, y: 1 }, { x: left, y: 1 }], // biome-ignore format: a box
  });
  const answer = (metres: number, timeMs: number, box = detection(0.5, 1.5, "a"), changed: object = {}) =>
    answerDetections(kept(metres, timeMs), [box], tracks, { ...options, ...changed })[0] as never as Record<
      string,
      unknown
    >;
  const first = answer(1.25, 1000);
  const z = (16 * focalPixels * baselineMetres) / Math.round((16 * focalPixels * baselineMetres) / 1.25);
  expect(first).toMatchObject({ id: "a", label: "person", spreadMetres: 0, matchedShare: 1, clipped: true });
  expect(first.distanceMetres).toBeCloseTo(z, 3);
  expect(first.standardErrorMetres).toEqual({
    available: false,
    reason: "the pixels have too little texture, or differ between the images",
  });
  expect((first.position as { x: number }).x).toBeCloseTo(((47.5 - cx) * z) / focalPixels, 3);
  expect(first.sizeMetres).toEqual({
    width: Number(((32 * z) / focalPixels).toFixed(4)),
    height: Number(((64 * z) / focalPixels).toFixed(4)),
  });
  expect(first.speed).toMatchObject({ available: false });
  // Half a metre in half a second.
  const second = answer(0.75, 1500).speed as { metresPerSecond: number; z: number };
  expect(second.z).toBeLessThan(-0.8);
  expect(second.z).toBeGreaterThan(-1.2);
  expect(tracks.nearest()).toEqual({ person: expect.closeTo(0.75, 1) });
  // A detection that arrives late changes neither speed nor place.
  expect((answer(3, 1200).speed as { z: number }).z).toBe(second.z);
  const unknown = (text: string) => ({
    distanceMetres: { available: false, reason: expect.stringContaining(text) },
  });
  expect(answer(1, 2000, detection(1.2, 1.4))).toMatchObject(unknown("outside the image"));
  expect(answer(1, 2000, { ...detection(0, 1), corners: "expected a box" } as never)).toMatchObject(
    unknown("expected a box"),
  );
  expect(answer(1, 2000, detection(0, 1), { picture: { rig: undefined, hasDepth: false } })).toMatchObject(
    unknown("calibration"),
  );
  expect(answer(1, 2000, detection(0, 1), { minConfidence: 256 })).toMatchObject({
    ...unknown("fewer than"),
    matchedShare: 0,
  });
});

test("spread and standard error are those of the disparity at its distance: metres are pixels z^2 / (f B)", () => {
  const [width, height, shift] = [96, 64, 10];
  const calibration = sceneCalibration({ width, height, view: "rectified" });
  const rectification = rectify(calibration);
  const random = new Random(12);
  const left = new Uint8Array(width * height).map(() => random.whole(0, 255));
  const moved = (i: number) => left[i - (i % width) + Math.min((i % width) + shift, width - 1)]!;
  const frame = {
    width,
    height,
    clock: "monotonic" as const,
    timestampNs: 0n,
    sequence: 0,
    timeMs: 0,
    left,
    right: left.map((_, i) => Math.min(moved(i) + random.whole(0, 9), 255)),
    disparityQ4: Int16Array.from(left, (_, i) => 16 * shift + (i % 3) - 1),
    confidence: new Uint8Array(width * height).fill(255),
  };
  const corners = [0.3, 0.8].flatMap((x) => [0.2, 0.8].map((y) => ({ x, y })));
  const box = [corners[0]!, corners[2]!, corners[3]!, corners[1]!];
  const options = { minConfidence: 1, maxPixels: 20_000 };
  const measured = measureDetection(frame, box, { ...options, preferMiddle: true }) as Record<string, number>;
  expect(measured.spreadPixels).toBeGreaterThan(0.02);
  expect(measured.standardErrorPixels).toBeGreaterThan(0);
  const detection = { id: undefined, label: "person", isBox: true, ended: false, corners: box };
  const [answer] = answerDetections(frame, [detection], new Tracks(10), {
    picture: { rig: { calibration, rectification }, hasDepth: true },
    image: "rectified",
    minConfidence: 1,
  }) as unknown as Record<string, number>[];
  const z = answer!.distanceMetres!;
  const metresPerPixel = z ** 2 / (rectification.focalPixels * rectification.baselineMetres);
  expect(answer!.spreadMetres! / metresPerPixel).toBeCloseTo(measured.spreadPixels!, 2);
  expect(answer!.standardErrorMetres! / metresPerPixel).toBeCloseTo(measured.standardErrorPixels!, 3);
});

test("messages take a quarter of the time at most, however long each takes", () => {
  let now = 0;
  const budget = new TimeBudget(0.25, () => now);
  const spend = (milliseconds: number) =>
    budget.spend(() => {
      now += milliseconds;
    });
  // 250 ms at once, the last of them overrun by 40 ms.
  expect([spend(100), spend(100), spend(140), spend(1)]).toEqual([true, true, true, false]);
  // A quarter of these 340 ms came back: 5 ms are missing, which take 20 ms.
  now += 19;
  expect(spend(1)).toBe(false);
  now += 2;
  expect(spend(1)).toBe(true);
  let spent = 0;
  for (const end = now + 100_000; now < end; now += 1) if (spend(10)) spent += 10;
  expect(spent).toBeGreaterThan(24_900);
  expect(spent).toBeLessThan(25_100);
  // A pause saves no more than 250 ms.
  now += 1e6;
  expect([spend(249), spend(1000), spend(1)]).toEqual([true, true, false]);
  expect(() =>
    new TimeBudget(1, () => now).spend(() => {
      throw new Error("wrong");
    }),
  ).toThrow("wrong");
});

test("work that took exactly what there was, and what came back meanwhile, leaves nothing", () => {
  let now = 0;
  const budget = new TimeBudget(0.5, () => now);
  const spend = (milliseconds: number) =>
    budget.spend(() => {
      now += milliseconds;
    });
  // 500 ms at once, and half of the 1000 ms that it took; after a pause it is no more.
  for (let turn = 0; turn < 2; turn++) {
    expect([spend(1000), spend(1)]).toEqual([true, false]);
    now += 1e6;
  }
});

test("a velocity is the slope over at most 16 detections of 2 s, which span 80 ms or more", () => {
  const tracks = new Tracks(10, () => 0);
  const at = (timeMs: number, x = timeMs / 1000) =>
    tracks.add("a", undefined, timeMs, { x, y: 2 - 2 * x, z: 5 + 3 * x });
  const close = (x: number) => ({
    x: expect.closeTo(x, 9),
    y: expect.closeTo(-2 * x, 9),
    z: expect.closeTo(3 * x, 9),
  });
  expect([at(0), at(79)]).toEqual([undefined, undefined]);
  expect(at(80)).toEqual(close(1));
  // Twice the same time, and one that is late, add nothing.
  expect([at(80, 99), at(40, 99)]).toEqual([close(1), close(1)]);
  expect(tracks.nearest()).toEqual({ unlabelled: 5.24 });
  // After 2 s the first ones are out of the window; after more the track begins again.
  expect(at(2000)).toEqual(close(1));
  expect(at(2080, 0)).not.toEqual(close(1));
  expect(at(4081, 7)).toBeUndefined();
  const long = new Tracks(10, () => 0);
  let velocity: unknown;
  // The first of 17 is far off the line of the others.
  for (let i = 0; i < 17; i++)
    velocity = long.add("b", "car", 100 * i, { x: i === 0 ? 50 : i, y: 0, z: 1.23456 });
  expect(velocity).toEqual({ x: expect.closeTo(10, 9), y: 0, z: expect.closeTo(0, 9) });
  expect(long.nearest()).toEqual({ car: 1.2346 });
  long.clear();
  expect([long.size, long.nearest()]).toEqual([0, {}]);
});

test("of one label the nearest object counts, until it was not seen for longer than it is kept", () => {
  let now = 0;
  const tracks = new Tracks(2, () => now);
  tracks.add("far", "car", 0, { x: 0, y: 0, z: 9 });
  tracks.add("near", "car", 0, { x: 0, y: 0, z: 4 });
  now = 1000;
  tracks.add("far", "car", 1, { x: 0, y: 0, z: 8 });
  expect(tracks.nearest()).toEqual({ car: 4 });
  now = 2000;
  expect(tracks.nearest()).toEqual({ car: 4 });
  now = 2001;
  expect(tracks.nearest()).toEqual({ car: 8 });
  expect(tracks.size).toBe(1);
});

test("objects are bounded in number and forgotten", () => {
  let now = 0;
  const tracks = new Tracks(2, () => now);
  for (let id = 0; id < 1000; id++) tracks.add(String(id), "car", 0, { x: 0, y: 0, z: 1 + id });
  expect(tracks.size).toBe(256);
  expect(tracks.nearest()).toEqual({ car: 1 + 744 });
  tracks.end("744");
  expect(tracks.nearest()).toEqual({ car: 1 + 745 });
  now = 2001;
  expect(tracks.nearest()).toEqual({});
  expect(tracks.size).toBe(0);
});

describe("an answer by hand", () => {
  const [width, height] = [64, 64];
  /** 32 columns and 23 rows, whose pixels have the mean position 31.5, 19. */
  const BOX = [{ x: 0.25, y: 0.125 }, { x: 0.75, y: 0.125 }, { x: 0.75, y: 0.484375 }, { x: 0.25, y: 0.484375 }]; // biome-ignore format: a box
  /** Pixels of the captured image, 80 x 60, are 2 x 2 ones of the rectified one, around the middle. */
  const rig = {
    calibration: {
      imageSize: { width: 80, height: 60 },
      left: { K: [10, 0, 39.5, 0, 10, 29.5, 0, 0, 1], distortion: { model: "none", coefficients: [] } },
    },
    rectification: {
      width,
      height,
      focalPixels: 100,
      baselineMetres: 0.1,
      disparityOffsetPixels: 0,
      cx: 20,
      cy: 39.45,
      R1: [1, 0, 0, 0, 1, 0, 0, 0, 1],
      P1: [20, 0, 31.5, 0, 0, 20, 31.5, 0, 0, 0, 1, 0],
    },
  } as unknown as Rig;
  /** Odd columns are a pixel of disparity beyond the even ones; two rows are not matched, and two are near. */
  const keptFrame = (q4: number, timeMs = 0): KeptFrame => {
    const none = new Uint8Array(0);
    const disparityQ4 = Int16Array.from({ length: width * height }, (_, i) => q4 + 16 * (i % 2));
    const confidence = new Uint8Array(width * height).fill(200);
    for (const row of [9, 29]) disparityQ4.fill(640, row * width, (row + 1) * width);
    for (const row of [8, 30]) confidence.fill(0, row * width, (row + 1) * width);
    const place = { clock: "monotonic", timestampNs: 0n, sequence: 0, timeMs } as const;
    return { width, height, left: none, right: none, disparityQ4, confidence, ...place };
  };
  const answered = (
    frame: KeptFrame,
    changed: Partial<Detection> = {},
    options: Partial<AnswerOptions> = {},
    tracks = new Tracks(10, () => 0),
  ) => {
    const detection = { id: "a", label: "cat", isBox: false, ended: false, corners: BOX, ...changed };
    const all = {
      picture: { rig, hasDepth: true },
      image: "rectified",
      minConfidence: 1,
      ...options,
    } as const;
    return answerDetections(frame, [detection], tracks, all)[0];
  };
  const noSpeed = { available: false, reason: "needs more detections with this id" };
  // 7 and 8 px: 10 / 7.5 m, and z^2 / (f B) is 0.17778 m for each pixel, of which the spread is a half.
  const WHOLE = {
    id: "a",
    label: "cat",
    distanceMetres: 1.3333,
    standardErrorMetres: {
      available: false,
      reason: "the pixels have too little texture, or differ between the images",
    },
    spreadMetres: 0.0889,
    disparityPixels: 7.5,
    // 21 and 19 of 23 rows.
    matchedShare: 0.913,
    atDistanceShare: 0.8261,
    // 11.5 px to the right of the principal point and 20.45 px above it, at 1.3333 m for each 100 px.
    position: { x: 0.1533, y: -0.2727, z: 1.3333 },
    sizeMetres: { width: 0.4267, height: 0.3067 },
    clipped: false,
    speed: noSpeed,
  };

  test("distance, shares, position and size, with their digits", () => {
    expect(answered(keptFrame(112))).toEqual(WHOLE);
    expect(answered(keptFrame(112), { id: undefined })).toEqual({
      ...WHOLE,
      id: undefined,
      speed: { available: false, reason: "the detection has no id" },
    });
  });

  test("the speed of an object that came from 10 / 7.5 to 10 / 6.5 m in 0.7 s", () => {
    const tracks = new Tracks(10, () => 0);
    answered(keptFrame(112, 300), {}, {}, tracks);
    // 11.5 and -20.45 px are seen 0.20513 m farther.
    expect(answered(keptFrame(96, 1000), {}, {}, tracks)).toMatchObject({
      distanceMetres: 1.5385,
      speed: { metresPerSecond: 0.301, x: 0.034, y: -0.06, z: 0.293 },
    });
    expect(tracks.nearest()).toEqual({ cat: 1.5385 });
  });

  test("corners of the captured image are 2.5 times as far from the middle", () => {
    const scaled = (share: number) => 2.5 * (share - 0.5) + 0.5;
    const raw = [{ x: 0.4, y: 0.3 }, { x: 0.6, y: 0.3 }, { x: 0.6, y: 1.5 }, { x: 0.4, y: 1.5 }]; // biome-ignore format: a box
    const eighths = [0, 1, 2, 3, 4, 5, 6, 7].map((step) => step / 8);
    const along = (from: number, to: number) => eighths.map((share) => from + share * (to - from));
    const same = (value: number) => eighths.map(() => value);
    const xs = [...along(0.4, 0.6), ...same(0.6), ...along(0.6, 0.4), ...same(0.4)];
    const ys = [...same(0.3), ...along(0.3, 1.5), ...same(1.5), ...along(1.5, 0.3)];
    // Nothing was captured below 1. A row of 60 is 2 rows of 64.
    const row = (y: number) => ((Math.min(1, y) * 60 - 30) * 2 + 32) / 64;
    expect(rectifyCorners(raw, rig)).toEqual(
      xs.map((x, i) => ({ x: expect.closeTo(scaled(x), 9), y: expect.closeTo(row(ys[i]!), 9) })),
    );
    const outer = [{ x: 0.1, y: 0.4 }, { x: 0.6, y: 0.4 }, { x: 0.6, y: 0.6 }, { x: 0.1, y: 0.6 }]; // biome-ignore format: a box
    // From -0.5 to 0.75 of the columns, of which three quarters are in the image.
    expect(answered(keptFrame(112), { corners: outer }, { image: "raw" })).toMatchObject({
      sizeMetres: { width: Number(((48 * 10) / 7.5 / 100).toFixed(4)) },
      clipped: true,
    });
    expect(answered(keptFrame(112), { corners: outer })).toMatchObject({ clipped: false });
    const beyond = [{ x: 0, y: 0 }, { x: 0.2, y: 0 }, { x: 0.2, y: 0.2 }, { x: 0, y: 0.2 }]; // biome-ignore format: a box
    const unknown = (reason: string) => ({
      id: "a",
      label: "cat",
      distanceMetres: { available: false, reason },
    });
    expect(answered(keptFrame(112), { corners: beyond }, { image: "raw" })).toEqual(
      unknown("the outline is outside the rectified image"),
    );
    for (const picture of [
      { rig, hasDepth: false },
      { rig: undefined, hasDepth: true },
    ])
      expect(answered(keptFrame(112), {}, { picture })).toEqual(
        unknown("without a calibration there is no depth"),
      );
  });

  test("of 50 outlines every third row is read, of one every second", () => {
    const [columns, rows] = [128, 126];
    const pixels = columns * rows;
    const frame: KeptFrame = {
      ...keptFrame(0),
      width: columns,
      height: rows,
      confidence: new Uint8Array(pixels).fill(9),
      disparityQ4: new Int16Array(pixels).fill(160),
    };
    const corners = [{ x: 0, y: 0 }, { x: 1, y: 0 }, { x: 1, y: 1 }, { x: 0, y: 1 }]; // biome-ignore format: a box
    const one = { id: undefined, label: undefined, isBox: true, ended: false, corners };
    const height = (count: number) =>
      answerDetections(frame, [one, ...Array(count - 1).fill({ ...one, corners: "none" })], new Tracks(10), {
        picture: { rig, hasDepth: true },
        image: "rectified",
        minConfidence: 1,
      })[0];
    // 1 m away: the means of rows 0, 2 to 124 and of 0, 3 to 123.
    expect(height(1)).toMatchObject({ position: { y: Number((0.62 - 0.3945).toFixed(4)) } });
    expect(height(50)).toMatchObject({ position: { y: Number((0.615 - 0.3945).toFixed(4)) } });
  });
});

test("the border of the inner half weighs four times too, and a frame with one image is not aligned", () => {
  const [width, height] = [40, 40];
  const disparityQ4 = new Int16Array(width * height).fill(-32768);
  const set = (rows: number[], columns: number[], q4: number) => {
    for (const y of rows) for (const x of columns) disparityQ4[y * width + x] = q4;
  };
  // The inner half of 10 x 10 pixels has the centres 2.5 to 7.5. 4 x 12 against 40.
  set([2, 3, 4, 5, 6, 7], [2, 7], 320);
  set([0, 1, 8, 9], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 160);
  const corners = [{ x: 0, y: 0 }, { x: 0.25, y: 0 }, { x: 0.25, y: 0.25 }, { x: 0, y: 0.25 }]; // biome-ignore format: a box
  const options = { minConfidence: 1, maxPixels: 1600, preferMiddle: true };
  const confidence = new Uint8Array(width * height).fill(1);
  const [none, image] = [new Uint8Array(0), new Uint8Array(width * height)];
  for (const [left, right] of [
    [none, none],
    [image, none],
    [none, image],
  ] as const)
    expect(
      measureDetection({ width, height, left, right, disparityQ4, confidence }, corners, options),
    ).toEqual({
      disparityPixels: 20,
      standardErrorPixels: undefined,
      spreadPixels: 0,
      x: 4.5,
      y: 4.5,
      matchedShare: 0.52,
      atDistanceShare: 0.12,
    });
});

test("with texture the distance is that of the images: 10.25 px where the matcher found 10", () => {
  const [width, height] = [64, 24];
  const grey = (x: number, y: number) =>
    Math.round(128 + 50 * Math.sin(0.5 * x + y) + 50 * Math.cos(0.23 * x - y));
  const image = (shift: number) =>
    Uint8Array.from({ length: width * height }, (_, i) => grey((i % width) + shift, Math.floor(i / width)));
  const measured = measureDetection(
    {
      width,
      height,
      left: image(0),
      right: image(10.25),
      disparityQ4: new Int16Array(width * height).fill(160),
      confidence: new Uint8Array(width * height).fill(255),
    },
    [{ x: 0.25, y: 0 }, { x: 0.9, y: 0 }, { x: 0.9, y: 1 }, { x: 0.25, y: 1 }], // biome-ignore format: a box
    { minConfidence: 1, maxPixels: 2000, preferMiddle: false },
  ) as { disparityPixels: number; standardErrorPixels: number };
  expect(measured.disparityPixels).toBeGreaterThan(10.24);
  expect(measured.disparityPixels).toBeLessThan(10.26);
  expect(measured.standardErrorPixels).toBeLessThan(0.01);
});

test("the history keeps copies of whole frames, and forgets those of another size", () => {
  const [width, height] = [3, 2];
  const values = (first: number) => [0, 1, 2, 3, 4, 5].map((i) => first + i);
  const slot = {
    left: Uint8Array.from(values(10)),
    right: Uint8Array.from(values(20)),
    disparityQ4: Int16Array.from(values(-3)),
    confidence: Uint8Array.from(values(40)),
  };
  const frame = { slot, width, height, leftTimestampNs: 5n, leftSequence: 7, clock: "file" };
  const history = new DepthHistory(2);
  history.add(frame as unknown as ComputedFrame, 1000);
  const kept = {
    width,
    height,
    clock: "file",
    timestampNs: 5n,
    sequence: 7,
    timeMs: 1000,
    left: slot.left.slice(),
    right: slot.right.slice(),
    disparityQ4: slot.disparityQ4.slice(),
    confidence: slot.confidence.slice(),
  };
  for (const array of Object.values(slot)) array.fill(0);
  expect(history.newest).toEqual(kept);
  const small = {
    ...frame,
    width: 1,
    height: 1,
    leftSequence: 8,
    slot: { ...slot, right: slot.right.slice(0, 1) },
  };
  for (const name of ["left", "disparityQ4", "confidence"] as const)
    small.slot[name] = slot[name].slice(0, 1) as never;
  history.add(small as unknown as ComputedFrame, 2000);
  expect([history.newest!.sequence, history.bySequence(7), history.bySequence(0)]).toEqual([
    8,
    "late",
    "late",
  ]);
  // Without a right image the memory is another one too.
  small.slot.right = new Uint8Array(0);
  history.add({ ...small, leftSequence: 9 } as unknown as ComputedFrame, 3000);
  expect([history.newest!.right.length, history.bySequence(8)]).toEqual([0, "late"]);
});

test("a reference newer than all frames waits beyond a quarter of the tolerance; of two equally near the newer is taken", () => {
  const history = new DepthHistory(3);
  for (const sequence of [1, 2, 3, 5]) history.add(frameAt(sequence), 100 * sequence);
  const found = (lookup: ReturnType<DepthHistory["byTime"]>) =>
    typeof lookup === "string" ? lookup : lookup.sequence;
  expect([520, 521].map((timeMs) => found(history.byTime(timeMs, 80)))).toEqual([5, "early"]);
  expect([520n, 521n].map((ms) => found(history.byTimestamp(ms * 1_000_000n, 80)))).toEqual([5, "early"]);
  expect(found(history.byTimestamp(521_000_000n, 80, true))).toBe(5);
  expect(found(history.byTime(499.5, 0.2))).toBe("missing");
  expect([found(history.byTime(400, 100)), found(history.byTime(250, 50))]).toEqual([5, 3]);
  // The ring holds 5, 3 and 2: the 1 was overwritten.
  expect([1, 2, 3, 5].map((sequence) => found(history.bySequence(sequence)))).toEqual(["late", 2, 3, 5]);
});

test("an object that is detected again is not the first to be forgotten, and a short span has no speed", () => {
  const tracks = new Tracks(10, () => 0);
  const add = (id: number, timeMs = 0, z = id) =>
    tracks.add(String(id), `label ${id}`, timeMs, { x: 0, y: 0, z });
  for (let id = 0; id < 256; id++) add(id);
  add(0, 1000);
  add(256);
  expect([tracks.size, "label 0" in tracks.nearest(), "label 1" in tracks.nearest()]).toEqual([
    256,
    true,
    false,
  ]);
  expect(add(0, 1050)).toEqual({ x: 0, y: 0, z: 0 });
  tracks.clear();
  expect([add(7, 1000, 1), add(7, 1079, 2)]).toEqual([undefined, undefined]);
  // 2 s later the first one still counts: the slope of (0, 0), (1, 1) and (2, 5) is 5 / 2.
  tracks.clear();
  expect([0, 1000, 2000].map((timeMs, i) => add(7, timeMs, [0, 1, 5][i]!)).at(-1)).toEqual({
    x: 0,
    y: 0,
    z: 2.5,
  });
  // 16 positions count: 15 at 0, and one 16 m away in the first of them, far off the line.
  tracks.clear();
  const slopes = Array.from({ length: 17 }, (_, i) => add(7, 100 * i, i === 0 ? 16 : 0)!);
  expect(slopes.slice(14).map((slope) => Math.sign(slope.z))).toEqual([-1, -1, 0]);
});

test.each([
  [["format=frigate"], "width and height of detect"],
  [["imageWidth=5"], "expected both or none"],
  [["topic=a/#"], "a topic without wildcards"],
])("the settings %j are refused", (settings, why) => {
  const set = ["enabled=true", ...settings].map((one) => `outputs.detections.${one}`);
  expect(() => loadConfig({ set, environment: {} })).toThrow(why);
});

test("the example's settings are accepted", () => {
  const { config } = loadConfig({ file: "examples/frigate/depthwatt.yaml", environment: {} });
  expect(config.outputs.detections).toMatchObject({ enabled: true, format: "frigate", camera: "porch" });
});
