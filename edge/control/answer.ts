// SPDX-License-Identifier: Apache-2.0
// An error of the catalogue as the answer to a request.
import { type DepthwattError, redactUrl } from "../../core/index.js";
import type { ControlRefusal } from "../contracts/control.js";

/** Removes passwords in URLs from an error before it leaves the device. */
export function refusalFrom({ code, message, hint }: DepthwattError): ControlRefusal {
  return { ok: false, code, message: redactUrl(message), hint: redactUrl(hint) };
}
