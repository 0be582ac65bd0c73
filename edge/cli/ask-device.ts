// SPDX-License-Identifier: Apache-2.0
// Shares between get and set the flags that choose the device, and one request to it over its broker.
import { hostname, userInfo } from "node:os";
import type { Command } from "commander";
import {
  DepthwattError,
  ERROR_CATALOGUE,
  type ErrorCode,
  isDepthwattError,
  printable,
} from "../../core/index.js";
import type { ControlResult } from "../contracts/control.js";
import { askDevice } from "../control/client.js";
import { readControlSecret } from "../control/secret.js";
import { checkBrokerUrl } from "../mqtt/credentials.js";
import { type BrokerOptions, credentialsFrom, withBrokerAccess, withFlagsInHint } from "./broker-flags.js";
import { secondsUpTo } from "./numbers.js";
import { withJson } from "./options.js";
import { columns, printJson, printLine } from "./output.js";

export interface ControlOptions extends BrokerOptions {
  device: string;
  broker: string;
  secretFile?: string;
  client?: string;
  timeout: number;
  json?: boolean;
}

/** @throws DepthwattError of the device's refusal, or of the way to it */
export async function ask(options: ControlOptions, command: string, body: unknown): Promise<ControlResult> {
  const { base, device, broker, secretFile, timeout } = options;
  checkBrokerUrl(broker, "--broker");
  const answer = await askDevice(
    {
      broker,
      base,
      device,
      timeoutMs: timeout * 1000,
      secret: secretFile === undefined ? undefined : readControlSecret(secretFile, "--secret-file"),
      client: (options.client ?? `${userInfo().username}@${hostname()}`).slice(0, 64),
      credentials: credentialsFrom(options),
    },
    command,
    body,
  ).catch((error: unknown) => {
    throw isDepthwattError(error) ? withFlagsInHint(error) : error;
  });
  if (answer.ok) return answer;
  const { code, message, hint } = answer;
  const known = Object.hasOwn(ERROR_CATALOGUE, code) && code !== "INTERNAL";
  // A bug on the device is no bug of this program.
  throw new DepthwattError(known ? (code as ErrorCode) : "CONTROL_UNSUPPORTED", `${device}: ${message}`, {
    hint,
  });
}

export const printableText = (value: unknown) =>
  value === null || value === undefined ? "-" : printable(String(value));

export function show({ values = {} }: ControlResult, options: ControlOptions): void {
  if (options.json) {
    printJson(values);
    return;
  }
  const rows = Object.entries(values).map(([key, value]) => [printable(key), printableText(value)]);
  for (const line of columns(rows)) printLine(line);
}

/** The flags of a request to a device, except its name. */
export function withControl(command: Command): Command {
  command
    .option("--broker <url>", "mqtt://, mqtts://, ws:// or wss:// URL", "mqtt://127.0.0.1:1883")
    .option("--secret-file <file>", "file whose first line is the device's control secret")
    .option("--client <name>", "your name in the device's log (default: user@host)")
    .option("--timeout <seconds>", "seconds to wait for the device's answer", secondsUpTo(3600), 20);
  return withBrokerAccess(command);
}

export function withAccess(command: Command): Command {
  command.requiredOption("--device <name>", "device to ask");
  return withJson(withControl(command), "print the values as one line of JSON");
}
