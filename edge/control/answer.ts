// SPDX-License-Identifier: Apache-2.0
// What a request is answered with: what holds now, or an error of the catalogue. The same over MQTT and on the live page.
import { type DepthwattError, redactUrl } from "../../core/index.js";

export type ControlAnswer = ControlResult | ControlRefusal;

export interface ControlResult {
  ok: true;
  /** get and set: by dotted key, what holds now; null where a setting has no value. */
  values?: Record<string, unknown>;
  [field: string]: unknown;
}

export interface ControlRefusal {
  ok: false;
  /** Of core/error-catalogue.ts. */
  code: string;
  message: string;
  hint: string;
}

/** Passwords that stand in URLs do not go out with an error. */
export function refusalOf({ code, message, hint }: DepthwattError): ControlRefusal {
  return { ok: false, code, message: redactUrl(message), hint: redactUrl(hint) };
}
