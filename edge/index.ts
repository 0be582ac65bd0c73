// SPDX-License-Identifier: Apache-2.0
// depthwatt as a library: settings, a runtime that runs them and takes changes, coded errors. The other end is depthwatt/consumer.
export { DepthwattError, type ErrorCode, isDepthwattError } from "../core/index.js";
export {
  type Config,
  type ConfigRequest,
  type LoadedConfig,
  loadConfig,
  type SettingsChange,
} from "./config/index.js";
export { VERSION } from "./contracts/version.js";
export type { RunFigures } from "./run/figures.js";
export { openRuntime } from "./run/main.js";
export type { Runtime, RuntimeEvents } from "./run/runtime.js";
