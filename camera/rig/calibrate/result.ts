// SPDX-License-Identifier: Apache-2.0
// Defines the options and the result of a calibration.
import type { ImageSize, StereoCalibration } from "../../calibration/index.js";
import type { Board } from "./board.js";
import type { Coverage } from "./coverage.js";
import type { LensModel } from "./native.js";
import type { PairVerdict } from "./pairs.js";

/** A camera's lens model and the size of its images. */
export interface CameraSpec {
  readonly lens: LensModel;
  readonly imageSize: ImageSize;
}

/** A camera next to the pair. */
export interface OtherCameraOptions extends CameraSpec {
  readonly name: string;
}

export interface CalibrateOptions {
  readonly board: Board;
  readonly lens: LensModel;
  readonly imageSize: ImageSize;
  /** Radtan's k3 stays 0, which Kalibr's form needs. */
  readonly withoutK3?: boolean;
  /** Measured distance between the cameras: checks the size of the squares. */
  readonly baselineMetres?: number;
  /** Matching error that the expected depth error assumes, pixels. Default 0.25. */
  readonly matchingErrorPixels?: number;
  /** Cameras next to the pair; their boards are in SeenPair.others. */
  readonly others?: readonly OtherCameraOptions[];
  /** Also fits the other kind of lens, radtan or fisheye, and reports it where it suits the corners better. */
  readonly compareLenses?: boolean;
}

/** Standard deviations of depth at one distance, metres, on the axis of the left camera. */
export interface DepthError {
  readonly depthMetres: number;
  /** By the calibration's own uncertainty. */
  readonly calibrationMetres: number;
  /** By a matching error of matchingErrorPixels. */
  readonly matchingMetres: number;
  /** Both together. */
  readonly totalMetres: number;
}

/** The part of a camera next to the pair in the joint solution. */
export interface OtherCameraResult {
  readonly name: string;
  /** Used pairs in which it saw the board. */
  readonly images: number;
  /** Corners that were left out as wrong. */
  readonly cornersLeftOut: number;
  readonly rmsPixels: number;
  /** Standard deviations from the normal matrix, the position along its worst axis; undefined where it is singular. */
  readonly deviations:
    | {
        readonly focalPixels: number;
        readonly positionMetres: number;
        readonly rotationDegrees: number;
      }
    | undefined;
}

export interface CalibrationResult {
  readonly calibration: StereoCalibration;
  readonly lens: LensModel;
  readonly board: Board;
  /** Over all used corners of both cameras, as in OpenCV's stereoCalibrate. */
  readonly rmsPixels: number;
  readonly leftRmsPixels: number;
  readonly rightRmsPixels: number;
  /**
   * Difference of the rows of the same corner in both rectified images; undefined if the lenses cannot be rectified.
   */
  readonly epipolarRmsPixels: number | undefined;
  readonly pairs: readonly PairVerdict[];
  readonly pairsUsed: number;
  readonly baselineMetres: number;
  /** Standard deviations from the normal matrix; undefined where it is singular. */
  readonly deviations:
    | {
        readonly leftFocalPixels: number;
        readonly rightFocalPixels: number;
        readonly baselineMetres: number;
        readonly rotationDegrees: number;
      }
    | undefined;
  readonly depthErrors: readonly DepthError[];
  readonly matchingErrorPixels: number;
  /** In the order of CalibrateOptions.others. */
  readonly others: readonly OtherCameraResult[];
  readonly coverage: { readonly left: Coverage; readonly right: Coverage };
  /** Median blur of each camera, standard deviation in pixels. */
  readonly blurPixels: { readonly left: number; readonly right: number };
  readonly warnings: readonly string[];
}
