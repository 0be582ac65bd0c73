// SPDX-License-Identifier: Apache-2.0
// What every folder may import: coded errors, the addon's loader, the names of pixel formats. core/ imports nothing of depthwatt.
export { addonCommand, loadAddon, packageRoot } from "./addon.js";
export { ERROR_CATALOGUE } from "./error-catalogue.js";
export { DepthwattError, type ErrorCode, type ErrorDetails, hasCode, isDepthwattError } from "./errors.js";
export { forEachLimited } from "./for-each-limited.js";
export { allocate } from "./memory.js";
export { type SystemExports, systemAddon } from "./native.js";
export { hasColours, type PixelFormat } from "./pixel-format.js";
export { Histogram, type Percentiles } from "./histogram.js";
export { isSameFile, writeBeside } from "./write-beside.js";
export { yaml } from "./yaml.js";
