// SPDX-License-Identifier: Apache-2.0
// depthwatt as a library: settings, a station that runs them, coded errors. The other end is depthwatt/consumer.
export { DepthwattError, type ErrorCode, isDepthwattError } from "../core/index.js";
export { type Config, type ConfigRequest, type LoadedConfig, loadConfig } from "./config/index.js";
export { openStation } from "./main.js";
export type { RunFigures } from "./pipeline/figures.js";
export type { Station, StationEvents } from "./pipeline/station.js";
export { VERSION } from "./version.js";
