// SPDX-License-Identifier: Apache-2.0
// Every kind of source, one line each: the name it is exported by is the value of `source.kind` and the name of its section.
export { command } from "./command/open.js";
export { foreign } from "./foreign/open.js";
export { mcap } from "./mcap/open.js";
export { replay } from "./replay/open.js";
export { synthetic } from "./synthetic/open.js";
export { v4l2 } from "./v4l2/open.js";
