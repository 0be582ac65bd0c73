// SPDX-License-Identifier: Apache-2.0
// Describes to a PairAligner the images and how they are rectified.
import type { PairAlignerOptions } from "../../../camera/index.js";
import type { InputLayout } from "../../contracts/rig.js";
import type { PipelineGeometry } from "../../pipeline/geometry.js";
import type { AlignmentView } from "./estimate.js";

export interface LookGeometry {
  view: AlignmentView;
  /** True if the focal length is known. */
  calibrated: boolean;
  disparityOffset: number;
  maps: PipelineGeometry["maps"];
}

/** Without a calibration the lens is assumed to have 64 degrees; nothing that depends on it is reported. */
const FOCAL_PER_WIDTH = 0.8;

export function lookGeometryFrom({ width, height, maps, rig }: PipelineGeometry): LookGeometry {
  if (rig === undefined) {
    const view = {
      width,
      height,
      focalPixels: FOCAL_PER_WIDTH * width,
      cx: (width - 1) / 2,
      cy: (height - 1) / 2,
    };
    return { view, calibrated: false, disparityOffset: 0, maps };
  }
  const { focalPixels, cx, cy, disparityOffsetPixels } = rig.rectification;
  const view = { width, height, focalPixels, cx: cx + disparityOffsetPixels, cy };
  return { view, calibrated: true, disparityOffset: disparityOffsetPixels, maps };
}

export interface LookReach {
  /** Wider images are looked at at a half, a third, ... of their size. */
  maxWidth: number;
  rows: number;
  minDisparity: number;
  maxDisparity: number;
}

export function lookOptions(
  layout: InputLayout,
  geometry: LookGeometry,
  reach: LookReach,
): PairAlignerOptions {
  const { view, maps } = geometry;
  const { width: inputWidth, height: inputHeight, leftFormat, rightFormat } = layout;
  const { leftStrideBytes, rightStrideBytes } = layout;
  return {
    inputWidth,
    inputHeight,
    leftFormat,
    rightFormat,
    leftStrideBytes,
    rightStrideBytes,
    ...maps,
    ...view,
    ...reach,
  };
}
