// SPDX-License-Identifier: Apache-2.0
// How the cameras of a pair lie to each other, as camera/rig/alignment measures it: options, numbers, and the native class.
import type { SourceDescription } from "../../frame.js";

type InputLayout = Pick<
  SourceDescription,
  "leftFormat" | "rightFormat" | "leftStrideBytes" | "rightStrideBytes"
>;

export interface PairAlignerOptions extends InputLayout {
  inputWidth: number;
  inputHeight: number;
  /** Size of the rectified images. */
  width: number;
  height: number;
  /** Rectification maps, Int32Array [height][width][2], 1/32 px; absent: the images are rectified already. */
  leftMap?: Int32Array;
  rightMap?: Int32Array;
  /** Focal length of the rectified right image, pixels. */
  focalPixels: number;
  cx: number;
  cy: number;
  /** Wider images are looked at at a half, a third, ... of their size; 0: never. */
  maxWidth: number;
  /** Rows that features are searched in, above and below their own. */
  rows: number;
  minDisparity: number;
  maxDisparity: number;
}

/** Terms of the fit, in the order of camera/rig/alignment/fit.h. */
export const ALIGNMENT_TERMS = ["pitch", "roll", "scale", "yaw", "baselineRoll", "baselineYaw"] as const;
export type AlignmentTerm = (typeof ALIGNMENT_TERMS)[number];

/** One look at a pair. Lengths in pixels of the rectified images. */
export interface AlignmentLook {
  /** CPU time of the look, milliseconds, with the copy of the pair where there was one. */
  cpuMs: number;
  leftCorners: number;
  rightCorners: number;
  /** Corners that were found in both images. */
  features: number;
  /** Features that the fit kept. */
  kept: number;
  /** 1: edges are one pixel wide; 2 / w: they are w pixels wide; 0: too few edges. */
  leftSharpness: number;
  rightSharpness: number;
  /** Standard deviation of the grey values. */
  leftContrast: number;
  rightContrast: number;
  /** Median of the kept features. */
  medianDisparity: number;
  smallestDisparity: number;
  /** Rows by which these lie lower in the right image, as the fit has them: mean, and 95th percentile without the sign. */
  meanRows: number;
  p95Rows: number;
  /**
   * Sums of the fit: weights, weighted squares of the residuals (radians), products of terms (upper half), terms with
   * rows.
   */
  weight: number;
  squares: number;
  products: readonly number[];
  targets: readonly number[];
}

/** A right map as it is for a camera that has turned; camera/rig/alignment/correction.h has the equation. */
export interface MapTurn {
  /** [height][width][2]. */
  map: Int32Array;
  width: number;
  height: number;
  /** Width of the captured image. */
  inputWidth: number;
  inputHeight: number;
  focalPixels: number;
  cx: number;
  cy: number;
  /** Row-major 3x3: x_now = rotation x_calibrated. */
  rotation: Float64Array;
}

/** The addon's own class. */
export interface NativePairAligner {
  look(left: Uint8Array, right: Uint8Array, numbers: Float64Array): void;
  begin(left: Uint8Array, right: Uint8Array): boolean;
  take(numbers: Float64Array): boolean;
  close(): void;
}

/** Types what camera/rig/alignment registers on the native addon. */
export interface AlignmentExports {
  PairAligner: new (options: PairAlignerOptions) => NativePairAligner;
  /** On another thread. */
  turnMap(turn: MapTurn): Promise<Int32Array>;
}
