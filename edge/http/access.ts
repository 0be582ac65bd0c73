// SPDX-License-Identifier: Apache-2.0
// Controls who may see the page: all users of this machine, and others only with a password.
import { DepthwattError } from "../../core/index.js";
import { readCredentials } from "../mqtt/credentials.js";
import { isLoopback } from "./guard.js";
import { PasswordGate } from "./password.js";

export interface AccessNames {
  /** Names of the address and the file in messages: settings or flags. */
  address: string;
  passwordFile: string;
}

/**
 * The gate in front of the page; undefined where none is asked for.
 * @throws DepthwattError CONFIG_INVALID where the page would be open to a network without a password, or with an empty one
 */
export function createGate(
  address: string,
  passwordFile: string | undefined,
  names: AccessNames,
): PasswordGate | undefined {
  if (passwordFile === undefined) {
    if (isLoopback(address)) return undefined;
    throw new DepthwattError(
      "CONFIG_INVALID",
      `${names.address}: expected 127.0.0.1 or ${names.passwordFile}, got ${address} and no password`,
      {
        hint: `Write a password into a file of mode 600 and name it with ${names.passwordFile}.`,
        context: { key: names.address },
      },
    );
  }
  const { password = "" } = readCredentials({ passwordFile }, () => names.passwordFile);
  if (password.length < 8) {
    throw new DepthwattError(
      "CONFIG_INVALID",
      `${names.passwordFile}: expected a password of 8 characters or more, got ${password.length}`,
      { hint: "Put it into the file's first line.", context: { key: names.passwordFile } },
    );
  }
  return new PasswordGate(password);
}
