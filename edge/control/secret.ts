// SPDX-License-Identifier: Apache-2.0
// The secret that requests are signed with.
import { DepthwattError } from "../../core/index.js";
import { readCredentials } from "../mqtt/credentials.js";

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
