// SPDX-License-Identifier: Apache-2.0
// The control of one run: what its settings allow, and what it acts upon.
import { DepthwattError } from "../../core/index.js";
import { readCredentials } from "../mqtt/credentials.js";
import type { Runtime, RuntimeHost } from "../runtime.js";
import { Control } from "./control.js";
import type { Snapshots } from "./snapshot.js";

const LEAST_SECRET = 16;

/** @throws DepthwattError CONFIG_UNREADABLE, CONFIG_INVALID of control.secretFile */
export function readControlSecret(file: string, key = "control.secretFile"): string {
  const { password = "" } = readCredentials({ passwordFile: file }, () => key);
  if (password.length >= LEAST_SECRET) return password;
  throw new DepthwattError(
    "CONFIG_INVALID",
    `${key}: expected a secret of ${LEAST_SECRET} characters or more in the first line of ${file}, got ${password.length}`,
    { hint: `Run 'umask 077; openssl rand -hex 32 > ${file}'.`, context: { key, file } },
  );
}

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
