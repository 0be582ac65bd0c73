// SPDX-License-Identifier: Apache-2.0
// The control of one run: what its settings allow, and what it acts upon.
import { Control } from "../control/control.js";
import { readControlSecret } from "../control/secret.js";
import type { Snapshots } from "../control/snapshot.js";
import type { Runtime, RuntimeHost } from "./runtime.js";

/** @throws DepthwattError CONFIG_UNREADABLE, CONFIG_INVALID of control.secretFile */
export function openControl(runtime: Runtime, snapshots: Snapshots, { restart, save }: RuntimeHost): Control {
  const { enabled, authentication, secretFile } = runtime.config.control;
  const secret = enabled && secretFile !== undefined ? readControlSecret(secretFile) : undefined;
  return new Control(
    {
      begun: runtime.begun,
      get config() {
        return runtime.config;
      },
      apply: (change, from) => runtime.apply(change, from),
      notice: (text) => runtime.notice(text),
      snapshot: () => snapshots.take(),
      restart,
      save,
    },
    {
      off: enabled ? undefined : "control.enabled is false.",
      secret,
      brokerAuthenticates: authentication === "broker",
    },
  );
}
