// SPDX-License-Identifier: Apache-2.0
// Corners of many pairs to the native adjustment and back: its lenses and pose as a calibration, its residuals as distances.
import { DepthwattError, hasCode } from "../../../core/index.js";
import {
  type CameraCalibration,
  type DistortionModel,
  type StereoCalibration,
  withHash,
} from "../../calibration/index.js";
import type { Matrix3, Vector3 } from "../../calibration/matrix.js";
import { nearestRotation } from "../../calibration/matrix.js";
import { boardPoint } from "./board.js";
import {
  type CalibrateExports,
  type Detection,
  LENS_MODELS,
  type LensModel,
  type NativeSolution,
} from "./native.js";
import type { SeenPair } from "./pairs.js";
import type { CalibrateOptions, CameraSpec } from "./result.js";

/** The names of camera/calibration for the lens models. */
const MODEL_NAMES: Record<LensModel, DistortionModel> = {
  radtan: "plumb_bob",
  rational: "rational_polynomial",
  fisheye: "equidistant",
};

export interface Corner {
  readonly view: number;
  /** 0 left, 1 right, then the other cameras. */
  readonly camera: number;
  readonly id: number;
  readonly x: number;
  readonly y: number;
  used: boolean;
}

/** The corners of one image. */
export function cornersOf({ ids, points }: Detection, view: number, camera: number): Corner[] {
  return Array.from(ids, (id, at) => ({
    view,
    camera,
    id,
    x: points[2 * at]!,
    y: points[2 * at + 1]!,
    used: true,
  }));
}

export function listCorners(pairs: readonly SeenPair[]): Corner[] {
  return pairs.flatMap(({ left, right }, view) => [
    ...cornersOf(left, view, 0),
    ...cornersOf(right, view, 1),
  ]);
}

export const pairSpecs = ({ lens, imageSize }: CameraSpec): CameraSpec[] => [
  { lens, imageSize },
  { lens, imageSize },
];

export async function solve(
  native: CalibrateExports,
  corners: readonly Corner[],
  views: number,
  { board, matchingErrorPixels = 0.25, withoutK3 = false }: CalibrateOptions,
  how: { robust: boolean; cameras: readonly CameraSpec[]; depths?: readonly Vector3[] },
): Promise<NativeSolution> {
  const objects = new Float64Array(3 * corners.length);
  const pixels = new Float64Array(2 * corners.length);
  corners.forEach(({ id, x, y }, at) => {
    objects.set([...boardPoint(board, id), 0], 3 * at);
    pixels.set([x, y], 2 * at);
  });
  const depths = how.depths ?? [];
  try {
    return await native.solveCalibration({
      cameras: how.cameras.length,
      cameraSpecs: Int32Array.from(
        how.cameras.flatMap(({ lens, imageSize: { width, height } }) => [
          LENS_MODELS.indexOf(lens),
          width,
          height,
        ]),
      ),
      views,
      robust: how.robust,
      withoutK3,
      count: corners.length,
      viewIndex: Int32Array.from(corners, ({ view }) => view),
      cameraIndex: Uint8Array.from(corners, ({ camera }) => camera),
      used: Uint8Array.from(corners, ({ used }) => (used ? 1 : 0)),
      objects,
      pixels,
      depthCount: depths.length,
      depthPoints: Float64Array.from(depths.flat()),
      disparityPixels: matchingErrorPixels,
    });
  } catch (cause) {
    if (!hasCode(cause, "ENGINE_FAILED")) throw cause;
    throw new DepthwattError(
      "CALIBRATION_DOUBTFUL",
      `expected corners of one rig: ${(cause as Error).message}`,
      {
        cause,
        hint:
          "Check the size of the board (--board) and that it is flat, and take more pairs with the board tilted; a lens " +
          "of more than 100 degrees may need --lens fisheye.",
      },
    );
  }
}

export const rms = (values: readonly number[]): number =>
  Math.sqrt(values.reduce((sum, value) => sum + value * value, 0) / Math.max(values.length, 1));

/** Distance of each corner from where it should be; NaN where it cannot be projected. */
export const boardDistances = ({ residuals }: NativeSolution): number[] =>
  Array.from({ length: residuals.length / 2 }, (_, i) =>
    Math.hypot(residuals[2 * i]!, residuals[2 * i + 1]!),
  );

function buildCamera(name: string, lens: LensModel, numbers: Float64Array): CameraCalibration {
  const [fx, fy, cx, cy, ...coefficients] = numbers as unknown as [
    number,
    number,
    number,
    number,
    ...number[],
  ];
  return {
    name,
    K: [fx, 0, cx, 0, fy, cy, 0, 0, 1],
    distortion: { model: MODEL_NAMES[lens], coefficients },
  };
}

export function buildCalibration(
  solution: NativeSolution,
  { lens, imageSize, others = [] }: CalibrateOptions,
): StereoCalibration {
  const pose = (camera: number) => {
    const { rotation, translation } = solution.rigs[camera - 1]!;
    return {
      R: nearestRotation([...rotation] as unknown as Matrix3),
      T: [...translation] as unknown as Vector3,
    };
  };
  return withHash({
    imageSize,
    left: buildCamera("left", lens, solution.lenses[0]!),
    right: buildCamera("right", lens, solution.lenses[1]!),
    ...pose(1),
    files: [],
    ...(others.length > 0 && {
      others: others.map((other, at) => ({
        ...buildCamera(other.name, other.lens, solution.lenses[2 + at]!),
        imageSize: other.imageSize,
        ...pose(2 + at),
      })),
    }),
  });
}
