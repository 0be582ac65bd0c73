// SPDX-License-Identifier: Apache-2.0
// One look at a pair: contrast and corners of each image, and the shift between them from features.
import { expect, test } from "vitest";
import { rotationMatrix } from "../../../../camera/calibration/matrix.js";
import { greyPairLayout, turnMap } from "../../../../camera/index.js";
import { PairAligner } from "../../../../camera/rig/alignment/index.js";
import { isDepthwattError } from "../../../../core/index.js";
import { createTexture } from "../../../doubles/texture.js";

const [width, height, disparity] = [320, 240, 12];
const texture = createTexture(width + disparity, height);

/** @param gain of the grey values about 128 */
const image = (shift: number, gain: number) =>
  Uint8Array.from({ length: width * height }, (_, i) =>
    Math.round(128 + gain * (texture((i % width) + shift, Math.floor(i / width)) - 128)),
  );

/** Standard deviation of every fourth pixel of every fourth row. */
function contrast(pixels: Uint8Array): number {
  const values = [...pixels].filter((_, i) => (i % width) % 4 === 0 && Math.floor(i / width) % 4 === 0);
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
}

test("a look reports contrast and corners of both images and the disparity between them", () => {
  const aligner = new PairAligner({
    ...greyPairLayout(width, height),
    inputWidth: width,
    inputHeight: height,
    focalPixels: 300,
    cx: width / 2,
    cy: height / 2,
    maxWidth: 0,
    rows: 4,
    minDisparity: 0,
    maxDisparity: 32,
  });
  // The left image sees a point further to the right. Its contrast is half the other's.
  const [left, right] = [image(0, 0.5), image(disparity, 1)];
  const look = aligner.look(left, right);
  aligner.close();
  expect(look.leftContrast).toBeCloseTo(contrast(left), 6);
  expect(look.rightContrast).toBeCloseTo(contrast(right), 6);
  expect(look.rightContrast / look.leftContrast).toBeCloseTo(2, 1);
  expect(look.leftCorners).toBeGreaterThan(20);
  expect(look.rightCorners).toBeGreaterThan(20);
  expect(look.kept).toBeGreaterThan(8);
  expect(Math.abs(look.medianDisparity - disparity)).toBeLessThan(0.25);
  expect(Math.abs(look.meanRows)).toBeLessThan(0.1);
});

/** A map of 1/32 px that turns and shifts an image a little. */
const turnedMap = (sine: number, shift: number) =>
  Int32Array.from({ length: 2 * width * height }, (_, i) => {
    const [x, y] = [(i >> 1) % width, Math.floor((i >> 1) / width)];
    const at = i % 2 === 0 ? x - sine * (y - height / 2) : y + sine * (x - width / 2) + shift;
    return Math.round(32 * Math.min(Math.max(at, 0), (i % 2 === 0 ? width : height) - 1));
  });
const options = {
  ...greyPairLayout(width, height),
  inputWidth: width,
  inputHeight: height,
  focalPixels: 300,
  cx: width / 2 - 5,
  cy: height / 2 + 3,
  maxWidth: 0,
  rows: 4,
  minDisparity: 0,
  maxDisparity: 32,
};
const maps = { leftMap: turnedMap(0, 0), rightMap: turnedMap(0.006, 1.25) };

/** Rows 60 to 150 are of something that moved by three rows; noise is in both. */
const disturbed = (pixels: Uint8Array, rows: number) =>
  pixels.map((_, i) => {
    const y = Math.floor(i / width);
    const grey = pixels[y >= 60 && y < 150 && i % width < 110 ? i + rows * width : i]!;
    return Math.min(255, grey + ((Math.imul(i + rows, 0x9e3779b1) >>> 16) % 9));
  });

// These pin the results of the code whose shift, rotation and rows above are right, so that no change of any step is
// overlooked.
test.each([
  [
    "as it is",
    {},
    0,
    "192 708 148 148 0.22265625 0.25 49.9845548 55.63197565 11.9989624 11.99220276 -0.0003693290596 0.001885861605 147.8572613 3.160625494e-8 323.7213597 0.0004403791878",
  ],
  [
    "turned",
    maps,
    0,
    "192 707 135 135 0.22265625 0.2578125 49.9845548 50.35017041 11.93789673 11.32733154 -1.226472529 2.046638066 126.1644539 0.00000562906302 270.2578479 0.2972389293",
  ],
  [
    "at half the size",
    { ...maps, maxWidth: 160 },
    0,
    "48 165 34 34 0.484375 0.46484375 59.10380905 43.37633683 12.05209351 11.3772316 -1.311211448 1.977083101 32.44443113 0.000001269747456 66.69874764 0.08276350167",
  ],
  [
    "at a third, without maps",
    { maxWidth: 120 },
    0,
    "20 63 17 17 0.6953125 0.7109375 44.21413553 48.60493703 11.99993706 11.99371719 0.002368312239 0.008753537341 16.99708113 5.835090108e-9 32.96158534 -0.0001048389908",
  ],
  [
    "in a narrow search",
    { ...maps, rows: 1, minDisparity: 11, maxDisparity: 12 },
    0,
    "192 707 107 107 0.22265625 0.2578125 49.9845548 50.35017041 11.92868042 11.29185486 -1.050894064 1.786534618 99.57715428 0.000005545360625 218.6125271 0.2791199151",
  ],
  [
    "with a part that moved",
    { focalPixels: 200 },
    3,
    "192 711 137 118 0.234375 0.25390625 49.99150552 55.34768819 12.00061035 11.89009094 -0.004133340298 0.01845716867 105.792532 0.000006728771578 435.7970279 0.00653408177",
  ],
  [
    "turned, with a part that moved",
    { ...maps, rows: 12 },
    -5,
    "192 708 132 110 0.234375 0.26171875 49.99150552 50.61016171 11.9466095 11.32556152 -1.336116756 2.075682441 101.5830702 0.000005591107043 224.6219139 0.2337520667",
  ],
])("the numbers of a look are reproduced: %s", (_, changes, rows, expected) => {
  const aligner = new PairAligner({ ...options, ...changes });
  const [left, right] = [image(0, 0.9), image(disparity, 1)];
  const { cpuMs, products, targets, ...look } =
    rows === 0 ? aligner.look(left, right) : aligner.look(disturbed(left, 0), disturbed(right, rows));
  aligner.close();
  const sum = (values: readonly number[]) => values.reduce((total, value, at) => total + value * (1 + at), 0);
  const figures = [...Object.values(look), sum(products), sum(targets)];
  for (const [at, text] of expected.split(" ").entries())
    expect(Math.abs(figures[at]! - Number(text)), `figure ${at}`).toBeLessThanOrEqual(
      1e-8 * Math.abs(Number(text)),
    );
});

test.each<[string, object, RegExp]>([
  ["no width", { inputWidth: 0 }, /./],
  ["too large", { inputWidth: 16385 }, /./],
  ["another size without maps", { width: width - 1 }, /two maps of 319x240/],
  ["another height without maps", { height: height + 1 }, /two maps of 320x241/],
  ["a left map alone", { leftMap: maps.leftMap }, /two maps of 320x240/],
  ["a right map alone", { rightMap: maps.rightMap }, /two maps of 320x240/],
  ["short maps", { leftMap: maps.leftMap.slice(2), rightMap: maps.rightMap }, /two maps of 320x240/],
  ["a short right map", { leftMap: maps.leftMap, rightMap: maps.rightMap.slice(2) }, /two maps of 320x240/],
  ["short rows of the left image", { leftStrideBytes: width - 1 }, /hold 320 pixels, got 319 and 320 bytes/],
  [
    "short rows of the right image",
    { rightStrideBytes: width - 1 },
    /hold 320 pixels, got 320 and 319 bytes/,
  ],
  ["no focal length", { focalPixels: 0 }, /focal length above 0, got 0 px/],
  ["no rows", { rows: 0 }, /./],
])("an aligner is refused: %s", (_, changes, message) => {
  expect(() => new PairAligner({ ...options, ...changes })).toThrow(
    expect.objectContaining({ code: "ENGINE_PARAMETER", message: expect.stringMatching(message) }),
  );
});

// The smallest and the largest value of each setting, each with one beyond it.
test.each<[string, readonly [number, number], readonly [number, number]]>([
  ["maxWidth", [0, -1], [16384, 16385]],
  ["rows", [1, 0], [16384, 16385]],
  ["minDisparity", [-16384, -16385], [16384, 16385]],
  ["maxDisparity", [-16384, -16385], [16384, 16385]],
  ["focalPixels", [0.5, 0], [1e6, Number.NaN]],
])("%s: the smallest value and one below %j, the largest and one above %j", (name, ...borders) => {
  const opened = (value: number) => new PairAligner({ ...options, [name]: value }).close();
  for (const [accepted, refused] of borders) {
    opened(accepted);
    expect(() => opened(refused)).toThrow(expect.objectContaining({ code: "ENGINE_PARAMETER" }));
  }
});

test("a map has at least 2 x 2 entries, of images of 1 to 16384 pixels a side", async () => {
  const turn = (width: number, height: number, inputWidth: number, inputHeight: number, angle = 1) =>
    turnMap({
      map: new Int32Array(2 * width * height),
      width,
      height,
      inputWidth,
      inputHeight,
      focalPixels: 0.5,
      cx: 0,
      cy: 0,
      rotation: Float64Array.of(angle, 0, 0, 0, 1, 0, 0, 0, 1),
    });
  const accepted: [number, number, number, number][] = [
    [2, 2, 1, 1],
    [2, 2, 16384, 16384],
    [16384, 2, 1, 1],
    [2, 16384, 1, 1],
  ];
  for (const sizes of accepted) expect(await turn(...sizes)).toEqual(new Int32Array(2 * sizes[0] * sizes[1]));
  const refused: [number, number, number, number, number?][] = [
    [1, 2, 1, 1],
    [2, 1, 1, 1],
    [2, 2, 0, 1],
    [2, 2, 1, 0],
    [2, 2, 16385, 1],
    [2, 2, 1, 16385],
    [16385, 2, 1, 1],
    [2, 16385, 1, 1],
    [2, 2, 1, 1, Number.POSITIVE_INFINITY],
  ];
  for (const sizes of refused)
    await expect(turn(...sizes)).rejects.toMatchObject({ code: "ENGINE_PARAMETER" });
});

test("each image has its own format", () => {
  const aligner = new PairAligner({ ...options, rightFormat: "RGB8", rightStrideBytes: 3 * width });
  const left = image(0, 1);
  const right = Uint8Array.from({ length: 3 * left.length }, (_, i) => left[Math.floor(i / 3)]!);
  const look = aligner.look(left, right);
  expect(Math.abs(look.leftContrast - look.rightContrast)).toBeLessThan(0.5);
  expect([look.meanRows, look.medianDisparity]).toEqual([expect.closeTo(0, 1), expect.closeTo(0, 1)]);
  expect(() => aligner.look(left, right.subarray(1))).toThrow(/230400 bytes for the right image/);
  aligner.close();
});

test("images that are too small are refused by their side; a closed aligner compares nothing", () => {
  const aligner = new PairAligner(options);
  const [whole, short] = [image(0, 1), image(0, 1).subarray(1)];
  expect(() => aligner.look(short, whole)).toThrow(/76800 bytes for the left image/);
  expect(() => aligner.look(whole, short)).toThrow(/76800 bytes for the right image/);
  expect(aligner.take()).toBeUndefined();
  aligner.close();
  expect(() => aligner.look(whole, whole)).toThrow(/open PairAligner/);
});

test.each([1, -1])(
  "a turned map samples the map between its pixels, up to the image's borders: %i",
  async (sign) => {
    const shape = {
      width: 40,
      height: 30,
      inputWidth: 40,
      inputHeight: 30,
      focalPixels: 35,
      cx: 18.5,
      cy: 16,
    };
    const map = Int32Array.from(
      { length: 2 * 40 * 30 },
      (_, i) => 32 * (i % 2 ? Math.floor(i / 80) : (i >> 1) % 40),
    );
    const rotation = Float64Array.from(rotationMatrix([sign * 0.06, sign * -0.08, 0.1]));
    const turned = await turnMap({ ...shape, map, rotation });
    const [r, expected] = [rotation, [] as number[]];
    for (let y = 0; y < 30; y++)
      for (let x = 0; x < 40; x++) {
        const [u, v] = [(x - 18.5) / 35, (y - 16) / 35];
        const z = r[6]! * u + r[7]! * v + r[8]!;
        const at = [
          (35 * (r[0]! * u + r[1]! * v + r[2]!)) / z + 18.5,
          (35 * (r[3]! * u + r[4]! * v + r[5]!)) / z + 16,
        ];
        // The map is linear: what lies between its pixels, and beyond them, is 32 times the place.
        expected.push(
          ...at.map((place, axis) =>
            Math.min(Math.max(Math.floor(32 * place + 0.5), -32), [1280, 960][axis]!),
          ),
        );
      }
    const apart = expected.map((value, i) => Math.abs(value - turned[i]!));
    expect(apart.filter((off) => off > 0).length).toBeLessThan(3);
    expect(Math.max(...apart)).toBeLessThanOrEqual(1);
    for (const changes of [{ focalPixels: 0 }, { width: 39 }, { height: 31 }])
      await expect(turnMap({ ...shape, map, rotation, ...changes })).rejects.toMatchObject({
        code: "ENGINE_PARAMETER",
      });
  },
);

test("errors of the addon are errors of depthwatt, with their cause and advice", async () => {
  const aligner = new PairAligner(options);
  const short = new Uint8Array(5);
  const turn = { map: new Int32Array(2), width: 0, height: 1, inputWidth: 1, inputHeight: 1 };
  const attempts = [
    () => new PairAligner({ ...options, inputWidth: 0 }),
    () => aligner.look(short, short),
    () => turnMap({ ...turn, focalPixels: 1, cx: 0, cy: 0, rotation: new Float64Array(9) }),
  ];
  for (const attempt of attempts) {
    const error = await (async () => attempt())().catch((caught: unknown) => caught);
    expect(isDepthwattError(error)).toBe(true);
    expect(error).toMatchObject({ code: "ENGINE_PARAMETER", exitCode: 4, cause: expect.any(Error) });
  }
  aligner.close();
});
