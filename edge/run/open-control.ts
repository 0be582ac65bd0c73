// SPDX-License-Identifier: Apache-2.0
// The control of one run: what its settings allow, and what it acts upon.
import type { Config } from "../config/index.js";
import { Control } from "../control/control.js";
import { readControlSecret } from "../control/secret.js";
import type { Snapshots } from "../control/snapshot.js";
import { isLoopback } from "../http/index.js";
import { calibrationBefore, keepCorrection } from "../rig/health/index.js";
import type { Runtime, RuntimeHost } from "./runtime.js";

/** Returns whether no other machine reaches this run, and its user has set no proof of permission. */
function isUnreachable({ control, http, outputs }: Config): boolean {
  return (
    !control.enabled &&
    control.secretFile === undefined &&
    outputs.mqtt.broker === "embedded" &&
    isLoopback(http.address) &&
    http.passwordFile === undefined &&
    http.clientCaFile === undefined
  );
}

/** @throws DepthwattError CONFIG_UNREADABLE, CONFIG_INVALID of control.secretFile */
export function openControl(
  runtime: Runtime,
  snapshots: Snapshots,
  { restart, save, trial = false }: RuntimeHost,
): Control {
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
      wake: () => runtime.parts.duty.request(),
      otherCalibration: (undo) => {
        const { health, input } = runtime.parts;
        const { rig } = input.geometry;
        return undo
          ? calibrationBefore(rig)
          : keepCorrection(runtime.config.calibration, rig, health.correction);
      },
      restart,
      save,
    },
    {
      trial: trial && isUnreachable(runtime.config),
      off: enabled ? undefined : "control.enabled is false.",
      secret,
      brokerAuthenticates: authentication === "broker",
    },
  );
}
