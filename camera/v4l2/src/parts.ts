// SPDX-License-Identifier: Apache-2.0
// Exports the parts of index.ts, for programs that drive cameras with their own callbacks and buffers. They change more
// often than index.ts does.
export { loadAddon } from "./addon.js";
export {
  type CameraEvents,
  CameraFrame,
  lostBetween,
  type TimestampPoint,
  V4l2Camera,
} from "./camera.js";
export { type AppliedControl, CameraControls, formatControls, isFormatControl } from "./controls.js";
export {
  type DeviceFolders,
  findCamera,
  isSameCamera,
  isSameDevice,
  type ListedDevice,
  listDevices,
  videoNodes,
} from "./devices.js";
export { addDrops } from "./drops.js";
export { cameraError, findUser } from "./errors.js";
export type * from "./native.js";
export {
  BusClocks,
  type ClockReader,
  type HostClocks,
  hostClocks,
  type MeasuredOffset,
  measureCounter,
  type OffsetSource,
} from "./pair/bus-clock.js";
export { type ClockReport, DeviceClock, type StampOrigin } from "./pair/device-clock.js";
export { driftPpm, FramePeriod } from "./pair/frame-period.js";
export {
  Pairer,
  type PairerEvents,
  pairWindowNs,
  type Side,
  type Timed,
  type UnpairedCause,
} from "./pair/pair.js";
export { type RephaseDecision, Rephaser, wrapPhase } from "./pair/rephase.js";
export { SkewStatistics } from "./pair/skew.js";
export {
  delivered,
  FORMAT_TRAITS,
  type FormatTrait,
  formatTrait,
  isInterleaved,
  packedSamples,
  type RawAlignment,
} from "./pixel-formats.js";
export { SupervisedCamera, type SupervisorEvents, type SupervisorOptions } from "./supervised-camera.js";
