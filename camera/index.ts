// SPDX-License-Identifier: Apache-2.0
// The front door of camera/: edge imports from here and from nowhere deeper.
export type * from "./capture/frame.js";
export { greyPairLayout } from "./capture/grey-pair.js";
export * from "./capture/images/index.js";
export { type ReplayOptions, ReplaySource } from "./capture/replay.js";
export type { TimestampSource } from "./capture/replay-listing.js";
export { openReplaySource } from "./capture/replay-open.js";
export * from "./calibration/index.js";
export { controlName } from "./capture/controls.js";
export { CAPTURE_FORMATS, type CaptureFormat, captureFormatOf } from "./capture/pixel-formats.js";
export { greyOf } from "./capture/still.js";
export { type BoardPicture, readFrameIndex } from "./capture/scene/frame-index.js";
export {
  SCENE_BASELINE_METRES,
  type SceneOptions,
  type SceneView,
  sceneCalibration,
  sceneSetup,
  sceneView,
} from "./capture/scene/scene-cameras.js";
export { SceneRenderer, type SceneTruth } from "./capture/scene/scene-renderer.js";
export { truthView, type WriteSceneOptions, writeScene } from "./capture/scene/write-scene.js";
export { type SyntheticOptions, SyntheticSource } from "./capture/synthetic.js";
export { listDevices, type ListedDevice } from "./capture/v4l2/devices.js";
export type { NativeControl, NativeDescription, NativeVideo } from "./capture/v4l2/native.js";
export { openV4l2Source, type V4l2Settings, type V4l2Surroundings } from "./capture/v4l2/open-source.js";
