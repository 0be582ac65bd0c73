// SPDX-License-Identifier: Apache-2.0
// Exports what every folder may import: coded errors, the addon's loader, the names of pixel formats. core/ imports
// nothing of depthwatt. The wire format (core/frame/) and the broker's connection (core/mqtt/) are imported by their
// own modules, so that code without a broker does not load the MQTT client.
export { addonCommand, addonPath, loadAddon, packageRoot } from "./addon.js";
export { colourTable } from "./colour-maps.js";
export { trackConnections } from "./connections.js";
export { ERROR_CATALOGUE } from "./error-catalogue.js";
export { DepthwattError, type ErrorCode, type ErrorDetails, hasCode, isDepthwattError } from "./errors.js";
export { forEachLimited } from "./for-each-limited.js";
export type { FrameEnergy } from "./frame/frame-energy.js";
export { Histogram, type Percentiles } from "./histogram.js";
export { allocate } from "./memory.js";
export { type SystemExports, systemAddon } from "./native.js";
export { hasColours, type PixelFormat } from "./pixel-format.js";
export { type DepthSample, fitPlane, type PlaneFit } from "./plane.js";
export {
  MAX_TEXT_BYTES,
  openRegularFile,
  readRegularFile,
  readRegularFileAsync,
  withFileTimeout,
} from "./read-file.js";
export { HIDDEN, printable, redactBrokenUrl, redactUrl } from "./redact.js";
export {
  type RingExports,
  type RingFrame,
  type RingReader,
  type RingWriter,
  ringAddon,
} from "./ring/ring.js";
export { quoteShellWord } from "./shell.js";
export { mean, median, quantile } from "./statistics.js";
export { isSameFile, writeBeside } from "./write-beside.js";
export { parseYamlDocument, yaml } from "./yaml.js";
