// SPDX-License-Identifier: Apache-2.0
// From a calibration to what the engine and the consumers need: maps, depth geometry, camera_info.
import {
  buildMaps,
  checkCalibratedSize,
  type ImageSize,
  orientedMap,
  orientedSize,
  parseOrientation,
  type RectificationMaps,
  rectify,
  type StereoCalibration,
} from "../../camera/index.js";
import type { DepthGeometry } from "../../cuda/index.js";
import type { Config } from "../config/index.js";
import type { Rig } from "../contracts/rig.js";

export interface PipelineGeometry {
  /** Size of the rectified images. */
  width: number;
  height: number;
  /** Absent where the images are taken as rectified. */
  maps: RectificationMaps | undefined;
  /** Absent where no calibration is known: disparity can be published, depth cannot. */
  depth: DepthGeometry | undefined;
  /** The retained camera_info topic; undefined without a calibration. */
  cameraInfo: object | undefined;
  /** Undefined without a calibration. */
  rig: Rig | undefined;
}

/** Images that are rectified already and of which nothing else is known. */
export function uncalibrated(width: number, height: number): PipelineGeometry {
  return { width, height, maps: undefined, depth: undefined, cameraInfo: undefined, rig: undefined };
}

/**
 * @param crop 0 keeps only what both cameras see, 1 every captured pixel; given: the rectification of the file
 * @throws DepthwattError CALIBRATION_INVALID
 */
export function rectifiedGeometry(calibration: StereoCalibration, crop: number | "given"): PipelineGeometry {
  const rectification = rectify(calibration, { crop });
  const { width, height, focalPixels, baselineMetres, disparityOffsetPixels, cx, cy } = rectification;
  return {
    width,
    height,
    maps: buildMaps(calibration, rectification),
    depth: { focalPixels, baselineMetres, disparityOffsetPixels },
    rig: { calibration, rectification },
    cameraInfo: {
      width,
      height,
      K: [focalPixels, 0, cx, 0, rectification.P1[5], cy, 0, 0, 1],
      P: rectification.P1,
      rightP: rectification.P2,
      Q: rectification.qMatrix,
      baselineMetres,
      focalPixels,
      disparityOffsetPixels,
      calibrationHash: calibration.hash,
    },
  };
}

/**
 * Returns what the configuration makes of captured images: rig.orientation is composed into the maps.
 * @param captured size of one captured image
 * @param calibration of the upright images; undefined: they are rectified
 * @throws DepthwattError CALIBRATION_INVALID, CALIBRATION_SIZE_MISMATCH
 */
export function configuredGeometry(
  { calibration: { crop }, rig }: Pick<Config, "calibration" | "rig">,
  captured: ImageSize,
  calibration: StereoCalibration | undefined,
): PipelineGeometry {
  const orientation = parseOrientation(rig.orientation);
  const { width, height } = orientedSize(captured, orientation.left);
  if (calibration) checkCalibratedSize(calibration.imageSize, captured, orientation);
  const upright = calibration ? rectifiedGeometry(calibration, crop) : uncalibrated(width, height);
  if (orientation.left === "none" && orientation.right === "none") return upright;
  const maps = {
    leftMap: orientedMap(orientation.left, captured, upright.maps?.leftMap),
    rightMap: orientedMap(orientation.right, captured, upright.maps?.rightMap),
  };
  return { ...upright, maps };
}
