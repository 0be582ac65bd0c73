// SPDX-License-Identifier: Apache-2.0
// What every folder may import: the coded errors. base/ imports nothing of depthwatt.
export { ERROR_CATALOGUE } from "./error-catalogue.js";
export { DepthwattError, type ErrorCode, type ErrorDetails, hasCode, isDepthwattError } from "./errors.js";
