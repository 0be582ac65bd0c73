// SPDX-License-Identifier: Apache-2.0
// The limits of a calibration, on both sides of each: accepted at the limit; beyond it refused, or a warning.
import { expect, test } from "vitest";
import type { CalibrationDraft, CameraDraft, Located } from "../../../../camera/calibration/draft.js";
import { type ValidationOptions, validate } from "../../../../camera/calibration/validate.js";

const IDENTITY = [1, 0, 0, 0, 1, 0, 0, 0, 1];
const at = <T>(key: string, value: T, file = "pair.json"): Located<T> => ({ file, key, value });

const camera = (name: string, changes: Partial<CameraDraft> = {}): CameraDraft => ({
  name,
  file: `${name}.json`,
  K: at("K", [500, 0, 320, 0, 500, 240, 0, 0, 1], `${name}.json`),
  model: undefined,
  coefficients: undefined,
  size: at("size", [640, 480], `${name}.json`),
  ...changes,
});

const draft = (changes: Partial<CalibrationDraft> = {}): CalibrationDraft => ({
  format: "depthwatt JSON",
  left: camera("left"),
  right: camera("right"),
  R: at("R", IDENTITY),
  T: at("T", [-0.1, 0, 0]),
  given: undefined,
  swapHint: "Exchange the files.",
  ...changes,
});

/** "ok", the warnings, or the refusal as one text. */
function outcome(changes: Partial<CalibrationDraft>, options: ValidationOptions = {}): string {
  try {
    const { warnings } = validate(draft(changes), ["pair.json"], options);
    return warnings.join("\n") || "ok";
  } catch (error) {
    return (error as Error).message;
  }
}

const baseline = (x: number, y = 0, z = 0) => ({ T: at("T", [x, y, z]) });

test.each<[number, RegExp]>([
  [-9.99, /reads 9\.990 m; expected metres, this looks like chessboard squares or another unit/],
  [-10, /reads 10\.00 m; expected metres, this looks like millimetres/],
  [-0.999, /^ok$/],
  [-1, /reads 1\.000 m; expected metres, this looks like chessboard squares/],
  [-0.002, /^ok$/],
  [-0.0019, /reads 0\.001900 m; expected metres, this looks like kilometres or squares/],
  [-1e-8, /kilometres/],
  [-1e-10, /expected a baseline longer than 0, found T = 0: both cameras in one place/],
  [-1e7, /millimetres/],
  [-1.001e7, /expected a baseline of at most 10000000 m, found 1\.001e\+7 m/],
])("a baseline of %f", (x, expected) => {
  expect(outcome(baseline(x))).toMatch(expected);
});

test("the right camera is next to the left one: as far along x as along y or z", () => {
  expect(outcome(baseline(-0.1, 0.1))).toBe("ok");
  expect(outcome(baseline(-0.1, 0, -0.1))).toBe("ok");
  const beside = /expected the right camera next to the left one \(along x\), found it at \(0\.1000, /;
  expect(outcome(baseline(-0.1, 0.101))).toMatch(beside);
  expect(outcome(baseline(-0.1, 0, -0.101))).toMatch(beside);
  expect(outcome(baseline(-0.1, 0, 0.101))).toMatch(beside);
  expect(outcome(baseline(0.1))).toMatch(/it at \(-0\.1000, .*: left and right are swapped/);
});

test("a rotation may be off by one in a thousand, and is made exact", () => {
  const rounded = (by: number) => ({ R: at("R", [1 + by, 0, 0, 0, 1, 0, 0, 0, 1]) });
  const { calibration } = validate(draft(rounded(0.0004)), [], {});
  for (const [i, value] of calibration.R.entries()) expect(value).toBeCloseTo(IDENTITY[i]!, 12);
  // |R^T R - I| is twice as much.
  expect(outcome(rounded(0.00049))).toBe("ok");
  expect(outcome(rounded(0.00051))).toMatch(
    /expected a rotation .*, found det 1\.00051 and .* up to 0\.00102/,
  );
});

test("the unit of length applies to the pair, and a baseline is judged in metres", () => {
  expect(outcome(baseline(-100))).toMatch(/millimetres/);
  expect(outcome(baseline(-100), { lengthUnitMetres: 0.001 })).toBe("ok");
  const { calibration } = validate(draft(baseline(-100)), [], { lengthUnitMetres: 0.001 });
  expect(calibration.T).toEqual([-0.1, 0, 0]);
});

test("both cameras have one image size; one of them, or the caller, may give it", () => {
  const small = camera("right", { size: at("size", [320, 240], "right.json") });
  expect(outcome({ right: small })).toBe(
    "right.json: size: expected 640 x 480 as in left.json, found 320 x 240.",
  );
  const without = (name: string) => camera(name, { size: undefined });
  expect(outcome({ right: without("right") })).toBe("ok");
  expect(outcome({ left: without("left") })).toBe("ok");
  const neither = { left: without("left"), right: without("right") };
  expect(outcome(neither)).toBe("left.json: image_width: expected an image size, found no such key.");
  expect(outcome(neither, { imageSize: { width: 640, height: 480 } })).toBe("ok");
});

test.each([
  [1280, 960],
  [320, 240],
])("calibrated at 640 x 480, images of %i x %i: the cameras are scaled", (width, height) => {
  const { calibration } = validate(draft(), [], { imageSize: { width, height }, allowScaling: true });
  const [fx, , cx, , fy, cy] = calibration.left.K;
  const scale = width / 640;
  expect(calibration.imageSize).toEqual({ width, height });
  // The centre of the first pixel is 0, so the image begins at -0.5.
  expect([fx, fy, cx, cy]).toEqual([500 * scale, 500 * scale, 320.5 * scale - 0.5, 240.5 * scale - 0.5]);
});

test.each<[number, number, boolean]>([
  [1280, 960, true],
  [320, 240, true],
  [1280, 959, false],
  [960, 720, false],
  [320, 241, false],
  [480, 360, false],
])("images of %i x %i are refused without scaling; the hint names it: %s", (width, height, whole) => {
  const imageSize = { width, height };
  const refused = `left.json: size: expected ${width} x ${height}, the size of the images, found 640 x 480.`;
  expect(outcome({}, { imageSize })).toBe(refused);
  expect(outcome({}, { imageSize, allowScaling: true })).toBe(whole ? "ok" : refused);
  try {
    validate(draft(), [], { imageSize });
  } catch (error) {
    expect(error).toMatchObject({ code: "CALIBRATION_SIZE_MISMATCH" });
    expect((error as { hint: string }).hint.includes("calibration.allowScaling")).toBe(whole);
  }
});

const projection = (changes: Record<number, number> = {}) =>
  Object.assign([400, 0, 320, 0, 0, 400, 240, 0, 0, 0, 1, 0], changes);
const given = (P1: number[], P2: number[]) => ({
  given: { R1: at("R1", IDENTITY), R2: at("R2", IDENTITY), P1: at("P1", P1), P2: at("P2", P2) },
});

test("a rectification that is given has equal rows in both images", () => {
  const right = (changes: Record<number, number>) => given(projection(), projection({ 3: -40, ...changes }));
  expect(validate(draft(right({ 2: 300 })), [], {}).calibration.given?.P2[2]).toBe(300);
  expect(outcome(right({ 5: 400.0009 }))).toBe("ok");
  for (const index of [0, 5, 6]) {
    const value = projection()[index]! + 0.0011;
    expect(outcome(right({ [index]: value }))).toBe(
      `pair.json: P2[${index}]: expected ${projection()[index]} as in the left P, found ${value}.`,
    );
  }
  for (const index of [0, 5]) {
    const zero = projection({ [index]: 0 });
    expect(outcome(given(zero, zero))).toMatch(/P1: expected focal lengths above 0, found /);
  }
  // It belongs to the size and the unit that it was computed for.
  const imageSize = { width: 320, height: 240 };
  expect(validate(draft(right({})), [], { imageSize, allowScaling: true }).calibration.given).toBeUndefined();
  expect(validate(draft(right({})), [], { lengthUnitMetres: 0.5 }).calibration.given).toBeUndefined();
});

test.each<[string, number, number, boolean]>([
  ["at the first corner", 0, 0, false],
  ["at the last corner", 640, 480, false],
  ["left of the image", -0.5, 240, true],
  ["right of the image", 640.5, 240, true],
  ["above the image", 320, -0.5, true],
  ["below the image", 320, 480.5, true],
])("a principal point %s", (_, cx, cy, isWarned) => {
  const right = camera("right", { K: at("K", [500, 0, cx, 0, 500, cy, 0, 0, 1], "right.json") });
  expect(outcome({ right })).toBe(
    isWarned
      ? `right.json: K: expected the principal point inside 640 x 480, found (${cx}, ${cy}): was the camera calibrated at another image size?`
      : "ok",
  );
});

test.each<[string, string]>([
  ["rgb", "ok"],
  ["a", "ok"],
  [`a${"b".repeat(63)}`, "ok"],
  [`a${"b".repeat(64)}`, `found 'a${"b".repeat(39)}'`],
  ["left", "found 'left'"],
  ["right", "found 'right'"],
  ["1st", "found '1st'"],
  ["a b", "found 'a b'"],
])("another camera with the name %s", (name, expected) => {
  const others = [{ camera: camera(name), R: at("R", IDENTITY), T: at("T", [0, 0.05, 0]) }];
  expect(outcome({ others })).toContain(expected);
});

test("two other cameras with one name, one without a size, and one that is too large", () => {
  const place = { R: at("R", IDENTITY), T: at("T", [0, 50, 0]) };
  const one = { camera: camera("rgb"), ...place };
  expect(outcome({ others: [one, one] })).toMatch(/that no other camera has, found 'rgb'/);
  expect(outcome({ others: [{ camera: camera("rgb", { size: undefined }), ...place }] })).toMatch(
    /expected the image size of this camera, found none/,
  );
  const sized = (width: number, height: number) => ({
    others: [{ camera: camera("rgb", { size: at("size", [width, height]) }), ...place }],
  });
  expect(outcome(sized(16384, 16384))).toBe("ok");
  for (const [width, height] of [
    [16385, 1],
    [1, 16385],
  ] as const)
    expect(outcome(sized(width, height))).toMatch(`at most 16384 pixels a side, found ${width} x ${height}`);
  const { calibration } = validate(draft({ others: [one], ...baseline(-100) }), [], {
    lengthUnitMetres: 0.001,
  });
  expect(calibration.others![0]).toMatchObject({ name: "rgb", T: [0, 0.05, 0] });
});

/** The lens that a draft's left camera becomes, or the refusal without the file's name. */
function lens(model: string | undefined, coefficients: readonly number[] | undefined): unknown {
  const left = camera("left", {
    model: model === undefined ? undefined : at("model", model, "left.json"),
    coefficients: coefficients && at("D", [...coefficients], "left.json"),
  });
  try {
    const { model: name, coefficients: kept } = validate(draft({ left }), [], {}).calibration.left.distortion;
    return [name, ...kept];
  } catch (error) {
    return (error as Error).message.replace("left.json: ", "");
  }
}
const ten = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1];
const twelve = [...ten, 1.1, 1.2];

test.each<[string | undefined, readonly number[] | undefined, unknown]>([
  [undefined, undefined, ["none"]],
  ["plumb_bob", [], ["none"]],
  ["equidistant", undefined, ["equidistant", 0, 0, 0, 0]],
  [undefined, [1, 2, 3, 4], ["plumb_bob", 1, 2, 3, 4, 0]],
  ["radtan", [1, 2, 3, 4], ["plumb_bob", 1, 2, 3, 4, 0]],
  ["radial-tangential", [1, 2, 3, 4, 5], ["plumb_bob", 1, 2, 3, 4, 5]],
  // The count says which of OpenCV's models it is.
  ["plumb_bob", ten.slice(0, 8), ["rational_polynomial", ...ten.slice(0, 8)]],
  ["rational", twelve, ["thin_prism", ...twelve]],
  ["thin_prism", [1, 2, 3, 4, 5], ["plumb_bob", 1, 2, 3, 4, 5]],
  ["rational_polynomial", [...twelve, 0, 0], ["thin_prism", ...twelve]],
  // A camera model, which says nothing of the lens.
  ["Pinhole", ten.slice(0, 5), ["plumb_bob", ...ten.slice(0, 5)]],
  [" FISHEYE ", [1, 2, 3, 4], ["equidistant", 1, 2, 3, 4]],
  ["equi", [1, 2, 3, 4], ["equidistant", 1, 2, 3, 4]],
  ["kannala_brandt", [1, 2, 3, 4], ["equidistant", 1, 2, 3, 4]],
  ["fisheye", [1, 2, 3, 4, 0], "D: expected 4 coefficients for equidistant, found 5."],
  ["none", [0, 0, 0, 0], "D: expected 0 coefficients for none, found 4."],
  [
    "omni",
    [1, 2, 3, 4],
    "model: expected plumb_bob, radtan, rational_polynomial, thin_prism or equidistant, found 'omni'.",
  ],
  [undefined, [...twelve, 0.5, 0], "D[12..13]: expected no sensor tilt, found 0.5."],
  [undefined, [...twelve, 0, -0.5], "D[12..13]: expected no sensor tilt, found -0.5."],
  ...[1, 2, 3, 6, 7, 9, 10, 11, 13].map(
    (count) =>
      [
        undefined,
        Array<number>(count).fill(0),
        `D: expected 0, 4, 5, 8, 12 or 14 coefficients, found ${count}.`,
      ] as const,
  ),
] as [string | undefined, readonly number[] | undefined, unknown][])(
  "a lens that is called %s with the coefficients %j",
  (model, coefficients, expected) => expect(lens(model, coefficients)).toEqual(expected),
);

test.each<[index: number, value: number, expected: string]>([
  [0, 1, "ok"],
  [0, 1e7, "ok"],
  [4, 1, "ok"],
  [4, 1e7, "ok"],
  [0, 0, "fx above 0 pixels"],
  [0, -500, "fx above 0 pixels"],
  [4, 0, "fy above 0 pixels"],
  [4, -1, "fy above 0 pixels"],
  [0, 0.99, "a focal length of 1 to 10000000 pixels"],
  [0, 1.01e7, "a focal length of 1 to 10000000 pixels"],
  [4, 0.99, "a focal length of 1 to 10000000 pixels"],
  [4, 1.01e7, "a focal length of 1 to 10000000 pixels"],
  [1, 0.5, "0 (no skew)"],
  [3, 0.5, "0 (no skew)"],
  [6, -1, "0 (no skew)"],
  [7, 1, "0 (no skew)"],
  [8, 0.5, "1"],
])("a camera matrix whose element %i is %f", (index, value, expected) => {
  const K = [500, 0, 320, 0, 500, 240, 0, 0, 1].with(index, value);
  const refused = (key: string) => {
    const left = camera("left", { K: at(key, K, "left.json") });
    try {
      validate(draft({ left }), [], {});
      return { message: "ok" };
    } catch (error) {
      return error as { message: string; hint: string };
    }
  };
  const { message, hint } = refused("K") as { message: string; hint?: string };
  expect(message).toBe(
    expected === "ok" ? "ok" : `left.json: K[${index}]: expected ${expected}, found ${value}.`,
  );
  if (expected === "ok") return;
  expect(hint === "A camera matrix of zeros means that the camera is not calibrated.").toBe(
    index === 0 && value === 0,
  );
  // Kalibr's intrinsics have another order.
  expect(refused("cam0.intrinsics").message).toBe(
    `left.json: cam0.intrinsics: expected ${expected}, found ${value}.`,
  );
});
