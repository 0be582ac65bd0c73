// SPDX-License-Identifier: Apache-2.0
// Control of a run as outputs offer it to others: requests, and what they are answered with over MQTT and on the live page.
import type { SettingDescription, SettingValue } from "./setting.js";

/** A preset as a list of choices shows it: named after a use, or with the settings of a paper. */
export interface PresetChoice {
  name: string;
  summary: string;
  group: "use" | "paper";
}

/** Requests to and changes of a run. The caller is responsible for authorizing its clients. */
export interface RunControl {
  /** Why nothing may be changed; undefined: it may. */
  readonly off: string | undefined;
  /** True if a page on this machine may change settings without proof, although `off` keeps all others out. */
  readonly trial: boolean;
  /** True if changes can be saved to a configuration file. */
  readonly canSave: boolean;
  /** The secret that signs each request, if there is one. */
  readonly secret: string | undefined;
  /** True if requests over MQTT need no secret, because the broker authorizes their publishers. */
  readonly brokerAuthenticates: boolean;
  /** Every live setting, and the values that hold now. */
  settings(): {
    settings: SettingDescription[];
    values: Record<string, SettingValue | undefined>;
    presets: readonly PresetChoice[];
  };
  /** Serves one request of docs/reference/requests.md, at most ten a second; never rejects. `from`: who asks, as it is reported. */
  perform(command: string, body: unknown, from: string): Promise<ControlAnswer>;
}

export type ControlAnswer = ControlResult | ControlRefusal;

export interface ControlResult {
  ok: true;
  /** get and set: by dotted key, what holds now; null where a setting has no value. */
  values?: Record<string, unknown>;
  [field: string]: unknown;
}

export interface ControlRefusal {
  ok: false;
  /** A code of core/error-catalogue.ts. */
  code: string;
  message: string;
  hint: string;
}
