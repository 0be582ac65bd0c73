// SPDX-License-Identifier: Apache-2.0
// Implements depthwatt calibrate, without its command line.
export { captureLive, type LiveCapture, type LiveImages, type LiveLook } from "./live.js";
export { type Looked, lookForBoard, lookForOthers, type WantedBoard } from "./look.js";
export {
  inParallel,
  listPairs,
  type NamedPair,
  type OtherPlace,
  type PairPlaces,
  takePairs,
} from "./read-pairs.js";
export { lengthWords, reportPage } from "./report.js";
export { checkPlaces, type Outputs, writeOutputs } from "./write.js";
