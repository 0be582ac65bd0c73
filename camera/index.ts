// SPDX-License-Identifier: Apache-2.0
// The front door of camera/: edge imports from here and from nowhere deeper.

export { CAPTURE_FORMATS, type CaptureFormat, captureFormatFrom, controlName } from "v4l2-camera";
export type { ListedDevice, NativeControl, NativeDescription } from "v4l2-camera/parts";
export { hostClocks, measureCounter, Pairer, pairWindowNs, SkewStatistics } from "v4l2-camera/parts";
export * from "./calibration/index.js";
export { STREAM_FORMATS, type StreamFormat } from "./command/layout.js";
export {
  type CommandSettings,
  type ForeignSettings,
  openCommandSource,
  openForeignSource,
} from "./command/open-source.js";
export { type CommandEnd, CommandProcess } from "./command/process.js";
export { commandWords, splitCommand } from "./command/words.js";
export type * from "./frame.js";
export { greyPairLayout, rgbPairLayout } from "./grey-pair.js";
export { BlinkPhase, type ExposureSkew } from "./live/blink-phase.js";
export type { DecodingCosts, MeasureDecoding } from "./live/decoding-costs.js";
export { DefectFinder } from "./live/defect-finder.js";
export { type DefectivePixels, parseDefects } from "./live/defects.js";
export { listDevices, loadVideo } from "./live/devices.js";
export { sampleGreys } from "./live/histogram.js";
export type { V4l2Settings, V4l2Surroundings } from "./live/open-camera.js";
export { openV4l2Source } from "./live/open-source.js";
export { PAIR_LAYOUTS } from "./live/pair-layout.js";
export { SAMPLE_SIZE, sampleJpeg, sampleRaw } from "./live/sample-images.js";
export { BAR_BITS, ScreenCounter } from "./live/screen-counter.js";
export {
  checkCalibratedSize,
  identityMap,
  ORIENTATIONS,
  orientedMap,
  orientedSize,
  orientPair,
  PAIR_ORIENTATION,
  type PairOrientation,
  parseOrientation,
  reverseOrientation,
} from "./orientation.js";
export { loadImageLibrary } from "./recordings/images/image-library.js";
export * from "./recordings/images/index.js";
export { leftRightIn } from "./recordings/left-right.js";
export { type ReplayOptions, ReplaySource } from "./recordings/replay.js";
export { listImages, settleTimes, type TimestampSource } from "./recordings/replay-listing.js";
export { openReplaySource } from "./recordings/replay-open.js";
export { medianPeriodNs, planSteps } from "./recordings/replay-plan.js";
export { allocateSamples, copySamples, toGrey } from "./recordings/still.js";
export { toRgb } from "./recordings/still-colours.js";
export * from "./rig/alignment/index.js";
export * from "./rig/calibrate/index.js";
export { type BoardPicture, readFrameIndex } from "./scene/frame-index.js";
export type { SceneExports } from "./scene/native.js";
export {
  DEFAULT_POSE,
  SCENE_BASELINE_METRES,
  SCENE_ROOMS,
  type SceneOptions,
  type ScenePose,
  type SceneRoom,
  type SceneView,
  sceneCalibration,
  sceneSetup,
  sceneView,
} from "./scene/scene-cameras.js";
export { SceneRenderer, type SceneTruth } from "./scene/scene-renderer.js";
export { type SyntheticOptions, SyntheticSource } from "./scene/synthetic.js";
export { truthView, type WriteSceneOptions, writeScene } from "./scene/write-scene.js";
