// SPDX-License-Identifier: Apache-2.0
// What outputs may change of a run: its live settings, where control is enabled.
import { describedSettings } from "../config/index.js";
import { readCredentials } from "../mqtt/credentials.js";
import type { RunControl } from "../outputs/output.js";
import type { Runtime } from "../runtime.js";

/** @throws DepthwattError CONFIG_UNREADABLE, CONFIG_INVALID of control.secretFile */
export function runControl(runtime: Runtime): RunControl {
  const { enabled, secretFile } = runtime.config.control;
  const { password: secret } = readCredentials(
    enabled && secretFile !== undefined ? { passwordFile: secretFile } : {},
    () => "control.secretFile",
  );
  return {
    off: enabled ? undefined : "control.enabled is false.",
    secret,
    settings: () => describedSettings(runtime.config),
    apply: (change, from) => runtime.apply(change, from),
  };
}
