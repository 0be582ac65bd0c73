// SPDX-License-Identifier: Apache-2.0
// Makes the engine's options from the configuration, the source's images and the calibration.
import { MAP_STEPS_PER_PIXEL, type PairSource, RIGHT_CAMERA, registrationView } from "../../camera/index.js";
import { DepthwattError, hasColours } from "../../core/index.js";
import type { EngineOptions } from "../../cuda/index.js";
import type { Config } from "../config/index.js";
import { adaptationOptions } from "./adaptation.js";
import type { PipelineGeometry } from "./geometry.js";
import { forcedInstructionSet, matchParameters, regionParameters } from "./parameters.js";

/** How the captured images are in memory. */
export type ImageLayout = Pick<
  PairSource["description"],
  "width" | "height" | "leftFormat" | "rightFormat" | "leftStrideBytes" | "rightStrideBytes" | "other"
>;

/** The engine's encodings in addition to the disparity, the floor, and its slots; default: two slots and nothing more. */
export type EngineWishes = Partial<
  Pick<
    EngineOptions,
    "encodeDepth" | "encodeDisparity" | "leftRgb" | "rightGrey" | "repeatStage" | "slots" | "floor" | "grid"
  >
> & { points?: true; voxels?: true; registration?: true };

/**
 * @throws DepthwattError CONFIG_INVALID: a region that begins outside, an instruction set that this CPU lacks, points in
 *   colours of a camera without; CALIBRATION_MISSING: points or depth limits without a calibration
 */
export function engineOptionsFrom(
  config: Config,
  source: { description: ImageLayout; inputMemory?: PairSource["inputMemory"] },
  geometry: Pick<PipelineGeometry, "width" | "height" | "depth" | "maps" | "rig">,
  { points, voxels, registration, leftRgb, slots = 2, ...encoded }: EngineWishes = {},
): EngineOptions {
  const { width: inputWidth, height: inputHeight } = source.description;
  const { leftFormat, rightFormat, leftStrideBytes, rightStrideBytes, other } = source.description;
  const { width, height, depth, maps } = geometry;
  const brings = rightFormat === "GREY_DISPARITY";
  if (brings) requireRectified(geometry);
  const match = matchParameters(config.match);
  const isRegistered = registration || (points && config.points.colour === "registered");
  // With a calibration the name is checked even if no output asks for that camera.
  const registered = isRegistered || geometry.rig ? registrationParameters(config, geometry, other) : {};
  return {
    inputWidth,
    inputHeight,
    width,
    height,
    ...(!brings && maps),
    leftFormat,
    rightFormat,
    leftStrideBytes,
    rightStrideBytes,
    match: brings ? { ...match, halfResolution: false } : match,
    refine: config.refine,
    depth: depthLimits(config.depth, depth),
    // Both settings prepare images for matching.
    ...(!brings && adaptationOptions(config)),
    ...regionParameters(config.region, geometry),
    ...(depth && { geometry: depth }),
    ...(points && pointsParameters(config.points, geometry, source.description)),
    ...(voxels && voxelsParameters(config, geometry)),
    ...(isRegistered && registered),
    slots,
    ...encoded,
    // Only a source that has colours can deliver them.
    ...(leftRgb && hasColours(leftFormat) && { leftRgb }),
    ...forcedInstructionSet(),
    ...(source.inputMemory && { inputMemory: source.inputMemory }),
    ...config.engine,
  };
}

/** Maps of images that are rectified already change nothing. @throws DepthwattError CALIBRATION_INVALID for others */
function requireRectified({
  width,
  height,
  maps,
}: Pick<PipelineGeometry, "width" | "height" | "maps">): void {
  if (maps === undefined) return;
  const isIdentity = (map: Int32Array) => {
    for (let y = 0, at = 0; y < height; y++)
      for (let x = 0; x < width; x++, at += 2)
        if (map[at] !== MAP_STEPS_PER_PIXEL * x || map[at + 1] !== MAP_STEPS_PER_PIXEL * y) return false;
    return true;
  };
  if (isIdentity(maps.leftMap) && isIdentity(maps.rightMap)) return;
  throw new DepthwattError(
    "CALIBRATION_INVALID",
    "expected a calibration whose images are rectified, because source.kind = foreign brings the disparity of rectified images; got lens distortion, rotation or another size",
    { hint: "Give the calibration of the helper's rectified images, and set calibration.crop to given." },
  );
}

function depthLimits(limits: Config["depth"], geometry: PipelineGeometry["depth"]): Config["depth"] {
  const key = (["minMetres", "maxMetres"] as const).find((name) => limits[name] > 0);
  if (key === undefined || geometry !== undefined) return limits;
  throw new DepthwattError(
    "CALIBRATION_MISSING",
    `depth.${key} = ${limits[key]} needs the focal length and the baseline of a calibration, and there is none`,
  );
}

/** @throws DepthwattError CALIBRATION_MISSING, CALIBRATION_INVALID, CALIBRATION_SIZE_MISMATCH, CONFIG_INVALID */
function registrationParameters(
  { registration: { camera, fill } }: Config,
  { rig }: Pick<PipelineGeometry, "rig">,
  other: ImageLayout["other"],
): Pick<EngineOptions, "registration"> {
  // Without a camera the outputs publish nothing.
  if (camera === undefined) return {};
  if (rig === undefined) {
    throw new DepthwattError(
      "CALIBRATION_MISSING",
      `registration.camera = ${camera} needs a calibration with that camera, and there is none`,
    );
  }
  const view = registrationView(rig.calibration, rig.rectification, camera);
  if (other === undefined || camera === RIGHT_CAMERA) return { registration: { ...view, fill } };
  const { format, strideBytes } = other;
  if (other.width !== view.width || other.height !== view.height) {
    throw new DepthwattError(
      "CALIBRATION_SIZE_MISMATCH",
      `expected images of ${view.width}x${view.height} of the camera ${camera}, as it was calibrated; the source delivers ${other.width}x${other.height}`,
      { hint: "Capture at the calibrated size, or calibrate again at this size." },
    );
  }
  return { registration: { ...view, fill, image: { format, strideBytes } } };
}

function voxelsParameters(
  { points: { frame }, voxels }: Config,
  { rig }: Pick<PipelineGeometry, "rig">,
): Pick<EngineOptions, "voxels"> {
  if (rig === undefined) throw pointsNeedCalibration();
  const { cx, cy } = rig.rectification;
  return { voxels: { ...voxels, frame, cx, cy } };
}

const pointsNeedCalibration = () =>
  new DepthwattError(
    "CALIBRATION_MISSING",
    "points need the focal length, the baseline and the principal point of a calibration, and there is none",
  );

function pointsParameters(
  { frame, element, colour }: Config["points"],
  { depth, rig }: Pick<PipelineGeometry, "depth" | "rig">,
  { leftFormat, other }: ImageLayout,
): Pick<EngineOptions, "points"> {
  if (depth === undefined || rig === undefined) throw pointsNeedCalibration();
  if (colour === "rgb" && !hasColours(leftFormat)) {
    throw new DepthwattError(
      "CONFIG_INVALID",
      `points.colour: expected grey, because the left image (${leftFormat}) has no colours, got rgb`,
      { context: { key: "points.colour", found: "rgb" } },
    );
  }
  if (colour === "registered" && other === undefined) {
    throw new DepthwattError(
      "CONFIG_INVALID",
      "points.colour: expected grey or rgb, because the source delivers no images of another camera, got registered",
      { context: { key: "points.colour", found: colour } },
    );
  }
  const { cx, cy } = rig.rectification;
  const colours = colour === "registered" ? colour : colour === "rgb";
  return { points: { frame, element, colours, cx, cy } };
}
