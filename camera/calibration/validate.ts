// SPDX-License-Identifier: Apache-2.0
// Turns a draft into a StereoCalibration, or refuses it in a sentence that names file, key, expected and found.
import {
  type GivenRectification,
  type ImageSize,
  type OtherCamera,
  type StereoCalibration,
  withHash,
} from "./calibration.js";
import { type CalibrationDraft, type Located, refusal } from "./draft.js";
import {
  apply,
  determinant,
  length,
  type Matrix3,
  nearestRotation,
  orthonormalityError,
  scale,
  transpose,
  type Vector3,
} from "./matrix.js";
import { scaleCamera, validateCamera } from "./validate-camera.js";

/** Files round to six digits and more; a matrix further than this from a rotation is not a rounded one. */
const ROTATION_TOLERANCE = 1e-3;

/** In no unit of length is a rig longer: 1 m is 1e6 micrometres. Beyond it every depth is out of range. */
const LONGEST_BASELINE = 1e7;
/** The engine's limit. */
const LARGEST_SIDE = 16_384;

export interface ValidationOptions {
  imageSize?: ImageSize;
  allowScaling?: boolean;
  lengthUnitMetres?: number;
}

function checkRotation(R: Located<number[]>): Matrix3 {
  const matrix = R.value as unknown as Matrix3;
  const error = orthonormalityError(matrix);
  const det = determinant(matrix);
  if (error > ROTATION_TOLERANCE || det < 0) {
    const found = `det ${det.toPrecision(6)} and |R^T R - I| up to ${error.toPrecision(3)}`;
    throw refusal({ ...R, expected: "a rotation (det R = 1, R^T R = I)", found });
  }
  return nearestRotation(matrix);
}

function checkBaseline(draft: CalibrationDraft, R: Matrix3, T: Vector3): void {
  const { T: place, swapHint } = draft;
  if (length(T) < 1e-9) {
    throw refusal({
      ...place,
      expected: "a baseline longer than 0",
      found: "T = 0: both cameras in one place",
    });
  }
  if (length(T) > LONGEST_BASELINE) {
    const found = `${length(T).toPrecision(4)} m`;
    throw refusal({ ...place, expected: `a baseline of at most ${LONGEST_BASELINE} m`, found });
  }
  const centre = scale(apply(transpose(R), T), -1);
  const where = `(${centre.map((value) => value.toPrecision(4)).join(", ")})`;
  if (Math.abs(centre[0]) < Math.max(Math.abs(centre[1]), Math.abs(centre[2]))) {
    throw refusal({
      ...place,
      expected: "the right camera next to the left one (along x)",
      found: `it at ${where} in the left camera's frame`,
      hint: "depthwatt matches along rows: use a horizontal pair, or turn both images by 90 degrees and calibrate these.",
    });
  }
  if (centre[0] < 0) {
    throw refusal({
      ...place,
      expected: "the right camera to the right of the left one (x above 0)",
      found: `it at ${where} in the left camera's frame: left and right are swapped`,
      hint: swapHint,
    });
  }
}

function unitWarnings({ T: { file, key } }: CalibrationDraft, T: Vector3): string[] {
  const baseline = length(T);
  const hint = "Depth will be in that unit too: convert T to metres, or set calibration.lengthUnitMetres.";
  const text = `${file}: ${key}: the baseline reads ${baseline.toPrecision(4)} m`;
  if (baseline >= 10) return [`${text}; expected metres, this looks like millimetres. ${hint}`];
  if (baseline >= 1)
    return [`${text}; expected metres, this looks like chessboard squares or another unit. ${hint}`];
  if (baseline < 0.002) return [`${text}; expected metres, this looks like kilometres or squares. ${hint}`];
  return [];
}

function agreedImageSize(
  { left, right, format }: CalibrationDraft,
  wanted: ImageSize | undefined,
): Located<ImageSize> {
  const known = left.size ?? right.size;
  if (left.size && right.size && left.size.value.join() !== right.size.value.join()) {
    const expected = `${left.size.value.join(" x ")} as in ${left.size.file}`;
    throw refusal({ ...right.size, expected, found: right.size.value.join(" x ") });
  }
  if (known) return { ...known, value: { width: known.value[0], height: known.value[1] } };
  if (wanted) return { file: left.file, key: "image_width x image_height", value: wanted };
  const hint = `This ${format} file does not say for which image size it holds: give the size.`;
  throw refusal({
    file: left.file,
    key: "image_width",
    expected: "an image size",
    found: "no such key",
    hint,
  });
}

/** The scale from the calibrated to the wanted size: n or 1/n with a whole n, or a refusal. */
function scaleFactor(size: Located<ImageSize>, wanted: ImageSize | undefined, allowScaling: boolean): number {
  const { width, height } = size.value;
  if (!wanted || (wanted.width === width && wanted.height === height)) return 1;
  const up = wanted.width / width;
  const down = width / wanted.width;
  const whole = Number.isInteger(up)
    ? wanted.height === height * up
    : Number.isInteger(down) && height === wanted.height * down;
  if (allowScaling && whole) return up;
  throw refusal({
    ...size,
    code: "CALIBRATION_SIZE_MISMATCH",
    expected: `${wanted.width} x ${wanted.height}, the size of the images`,
    found: `${width} x ${height}`,
    ...(whole
      ? {
          hint: "One size is a whole multiple of the other: set calibration.allowScaling if the camera bins pixels.",
        }
      : {}),
  });
}

function checkGiven({ given }: CalibrationDraft): GivenRectification | undefined {
  if (!given) return undefined;
  for (const P of [given.P1, given.P2]) {
    if (!(P.value[0]! > 0 && P.value[5]! > 0)) {
      throw refusal({ ...P, expected: "focal lengths above 0", found: `${P.value[0]} and ${P.value[5]}` });
    }
  }
  // fx, fy and cy of both must agree, or rows of the left image are not rows of the right one.
  for (const index of [0, 5, 6]) {
    const [a, b] = [given.P1.value[index]!, given.P2.value[index]!];
    if (Math.abs(a - b) > 1e-3) {
      throw refusal({
        ...given.P2,
        key: `${given.P2.key}[${index}]`,
        expected: `${a} as in the left P`,
        found: `${b}`,
      });
    }
  }
  return {
    R1: checkRotation(given.R1),
    R2: checkRotation(given.R2),
    P1: given.P1.value,
    P2: given.P2.value,
  };
}

/** Checks the cameras next to the pair. Each keeps its own image size. */
function checkOthers({ others }: CalibrationDraft, lengthUnitMetres: number): OtherCamera[] {
  const names = new Set(["left", "right"]);
  return (others ?? []).map(({ camera, R, T }) => {
    const { name, file, K, size } = camera;
    if (!/^[A-Za-z][A-Za-z0-9_-]{0,63}$/.test(name) || names.has(name)) {
      const expected = "a name of letters, digits, - and _ that no other camera has";
      throw refusal({ file, key: K.key, expected, found: `'${name.slice(0, 40)}'` });
    }
    names.add(name);
    if (size === undefined) {
      throw refusal({ file, key: K.key, expected: "the image size of this camera", found: "none" });
    }
    const [width, height] = size.value;
    if (width > LARGEST_SIDE || height > LARGEST_SIDE) {
      const expected = `an image of at most ${LARGEST_SIDE} pixels a side`;
      throw refusal({ ...size, expected, found: `${width} x ${height}` });
    }
    return {
      ...validateCamera(camera),
      imageSize: { width, height },
      R: checkRotation(R),
      T: scale(T.value as unknown as Vector3, lengthUnitMetres),
    };
  });
}

/** @throws DepthwattError CALIBRATION_INVALID, CALIBRATION_SIZE_MISMATCH */
export function validate(
  draft: CalibrationDraft,
  files: readonly string[],
  options: ValidationOptions,
): { calibration: StereoCalibration; warnings: string[] } {
  const left = validateCamera(draft.left);
  const right = validateCamera(draft.right);
  const size = agreedImageSize(draft, options.imageSize);
  const R = checkRotation(draft.R);
  const T = scale(draft.T.value as unknown as Vector3, options.lengthUnitMetres ?? 1);
  checkBaseline(draft, R, T);
  const factor = scaleFactor(size, options.imageSize, options.allowScaling ?? false);
  // A given rectification belongs to the size and the unit it was computed for.
  const given = factor === 1 && (options.lengthUnitMetres ?? 1) === 1 ? checkGiven(draft) : undefined;
  const others = checkOthers(draft, options.lengthUnitMetres ?? 1);
  const calibration = withHash({
    imageSize: factor === 1 ? size.value : options.imageSize!,
    left: scaleCamera(left, factor),
    right: scaleCamera(right, factor),
    R,
    T,
    ...(given ? { given } : {}),
    ...(others.length > 0 ? { others } : {}),
    ...(draft.corrections ? { corrections: draft.corrections } : {}),
    files,
  });
  const warnings = unitWarnings(draft, T);
  for (const side of ["left", "right"] as const) {
    const [, , cx, , , cy] = calibration[side].K;
    const { width, height } = calibration.imageSize;
    if (cx < 0 || cx > width || cy < 0 || cy > height) {
      const { file, key } = draft[side].K;
      warnings.push(
        `${file}: ${key}: expected the principal point inside ${width} x ${height}, found (${cx}, ${cy}): was the ` +
          "camera calibrated at another image size?",
      );
    }
  }
  return { calibration, warnings };
}
