// SPDX-License-Identifier: Apache-2.0
// One camera's part of the validation: its matrix, its lens model, and both at another image size.
import {
  type CameraCalibration,
  COEFFICIENT_COUNT,
  type Distortion,
  type DistortionModel,
} from "./calibration.js";
import { type CameraDraft, type Located, refusal } from "./draft.js";
import type { Matrix3 } from "./matrix.js";

const MODEL_NAMES: Record<string, DistortionModel> = {
  none: "none",
  plumb_bob: "plumb_bob",
  radtan: "plumb_bob",
  "radial-tangential": "plumb_bob",
  rational_polynomial: "rational_polynomial",
  rational: "rational_polynomial",
  thin_prism: "thin_prism",
  equidistant: "equidistant",
  equi: "equidistant",
  fisheye: "equidistant",
  kannala_brandt: "equidistant",
};

/** Numbers of coefficients of all models. 14 is OpenCV's with a sensor tilt, which must be 0. */
const COEFFICIENT_COUNTS = new Set([0, 4, 5, 8, 12, 14]);

/** Longer lenses than a thousand image widths, or shorter ones than a pixel, are a damaged file. */
const LONGEST_FOCAL_PIXELS = 1e7;

function checkDistortion({ model, coefficients }: CameraDraft): Distortion {
  const values = coefficients?.value ?? [];
  let name: DistortionModel | undefined;
  if (model) {
    name = MODEL_NAMES[model.value.toLowerCase().trim()];
    // calib_io and OpenCV samples write "pinhole" here: a camera model, which says nothing of the lens.
    if (!name && model.value.toLowerCase() !== "pinhole") {
      const expected = "plumb_bob, radtan, rational_polynomial, thin_prism or equidistant";
      throw refusal({ ...model, expected, found: `'${model.value}'` });
    }
  }
  if (coefficients && !COEFFICIENT_COUNTS.has(values.length)) {
    const expected = "0, 4, 5, 8, 12 or 14 coefficients";
    throw refusal({ ...coefficients, expected, found: `${values.length}` });
  }
  const tilt = values.slice(12).find((value) => value !== 0);
  if (coefficients && tilt !== undefined) {
    throw refusal({
      ...coefficients,
      key: `${coefficients.key}[12..13]`,
      expected: "no sensor tilt",
      found: `${tilt}`,
    });
  }
  const kept = values.slice(0, 12);
  // OpenCV's models contain each other: the count says which one it is.
  const byCount = kept.length > 8 ? "thin_prism" : kept.length > 5 ? "rational_polynomial" : "plumb_bob";
  if (kept.length === 0 && name !== "equidistant") name = "none";
  else if (name === undefined || (name !== "equidistant" && name !== "none")) name = byCount;
  const count = COEFFICIENT_COUNT[name];
  if (kept.length > count && coefficients) {
    throw refusal({
      ...coefficients,
      expected: `${count} coefficients for ${name}`,
      found: `${kept.length}`,
    });
  }
  return { model: name, coefficients: [...kept, ...new Array<number>(count - kept.length).fill(0)] };
}

function checkCameraMatrix(K: Located<number[]>): Matrix3 {
  const at = (index: number, expected: string): Error =>
    refusal({
      file: K.file,
      key: K.key.includes("intrinsics") ? K.key : `${K.key}[${index}]`,
      expected,
      found: `${K.value[index]}`,
      ...(K.value[0] === 0
        ? { hint: "A camera matrix of zeros means that the camera is not calibrated." }
        : {}),
    });
  if (!(K.value[0]! > 0)) throw at(0, "fx above 0 pixels");
  if (!(K.value[4]! > 0)) throw at(4, "fy above 0 pixels");
  for (const index of [0, 4]) {
    const focal = K.value[index]!;
    if (focal < 1 || focal > LONGEST_FOCAL_PIXELS)
      throw at(index, `a focal length of 1 to ${LONGEST_FOCAL_PIXELS} pixels`);
  }
  for (const index of [1, 3, 6, 7]) if (K.value[index] !== 0) throw at(index, "0 (no skew)");
  if (K.value[8] !== 1) throw at(8, "1");
  return K.value as unknown as Matrix3;
}

/** @throws DepthwattError CALIBRATION_INVALID */
export function validateCamera(draft: CameraDraft): CameraCalibration {
  return { name: draft.name, K: checkCameraMatrix(draft.K), distortion: checkDistortion(draft) };
}

/** Scales a camera matrix with pixel centres at whole numbers: x' = (x + 1/2) s - 1/2. */
export function scaleCamera(camera: CameraCalibration, factor: number): CameraCalibration {
  const [fx, , cx, , fy, cy] = camera.K;
  const shifted = (centre: number): number => (centre + 0.5) * factor - 0.5;
  return { ...camera, K: [fx * factor, 0, shifted(cx), 0, fy * factor, shifted(cy), 0, 0, 1] };
}
