// SPDX-License-Identifier: Apache-2.0
// The front door of power/: edge imports from here and from nowhere deeper.
export {
  CLOCK_NAMES,
  type ClockDomain,
  type ClockName,
  type Clocks,
} from "./clocks/domains.js";
export {
  CLOCK_STATE,
  type ClockFiles,
  type ClockTargets,
  clockOwner,
  limitClocks,
  ownClocks,
  processName,
  restoreClocks,
} from "./clocks/limits.js";
export {
  type ContextOptions,
  type ContextSnapshot,
  modeIds,
  modeName,
  modeNames,
  readContext,
} from "./context.js";
export { contextChanges } from "./context-history.js";
export { ExternalSensor, type ExternalSensorOptions } from "./external.js";
export { withGpu } from "./gpu-context.js";
export { Meter, type MeterOptions, SHORTEST_WINDOW_SECONDS } from "./meter.js";
export type {
  NvmlBinding,
  NvmlDevice,
  NvmlSample,
  PowerExports,
  PowerNative,
  SamplerCost,
} from "./native.js";
export {
  type OpenSensorOptions,
  openBestSensor,
  openCandidates,
  SENSOR_CHOICES,
  type SensorCandidate,
  type SensorChoice,
} from "./open.js";
export type { Figure, PowerFigures, PowerReport, RailFigure, SamplingFigures } from "./report.js";
export type * from "./sensor.js";
export type { SensorDefinition, SensorOptions } from "./sensor-definition.js";
export { SENSORS } from "./sensors.js";
export type { RailEnergy } from "./series.js";
export { UDEV_RULE } from "./sysfs.js";
