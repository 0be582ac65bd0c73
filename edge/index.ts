// SPDX-License-Identifier: Apache-2.0
// depthwatt as a library: matching of images, and a run with its frames. The other end of a stream is depthwatt/consumer.
export { DepthwattError, type ErrorCode, isDepthwattError } from "../core/index.js";
export { VERSION } from "./contracts/version.js";
export type { DepthMap } from "./library/depth-map.js";
export { type Abortable, type DepthEngine, type EngineFormat, match, openEngine } from "./library/engine.js";
export type { DepthwattOptions } from "./library/options.js";
export {
  type ImageInput,
  type ImagePair,
  openPair,
  type RawImage,
  type SharpInstance,
} from "./library/pictures.js";
export { type Run, type RunFrame, type RunHandlers, type RunOptions, run } from "./library/run.js";
export type { SettingValues } from "./library/setting-values.js";
export { readSharedFrames, type SharedFrame, type SharedFrameOptions } from "./library/shared-frames.js";
export type { RunFigures } from "./run/figures.js";
