// SPDX-License-Identifier: Apache-2.0
// The process's HTTP server, shared by every output that needs one.
export { createGate } from "./access.js";
export { isFromThisMachine, isLoopback } from "./guard.js";
export { PasswordGate } from "./password.js";
export { RoutesBelow } from "./routes-below.js";
export {
  DEFAULT_PORT,
  type HttpOptions,
  HttpServer,
  MAX_STRANGERS,
  sendText,
} from "./server.js";
export { SharedHttp } from "./shared.js";
