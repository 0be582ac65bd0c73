// SPDX-License-Identifier: Apache-2.0
// What get and set share: the flags that say which device, and one request to it over its broker.
import { hostname, userInfo } from "node:os";
import { type Command, InvalidArgumentError } from "commander";
import { DepthwattError, ERROR_CATALOGUE, type ErrorCode, printable } from "../../core/index.js";
import type { ControlResult } from "../control/answer.js";
import { askDevice } from "../control/client.js";
import { readControlSecret } from "../control/open-control.js";
import { checkBrokerUrl, readCredentials } from "../mqtt/credentials.js";
import { CONSUME_FLAGS } from "./consume-flags.js";
import { withJson } from "./options.js";
import { columns, printJson, printLine } from "./output.js";

export interface ControlOptions {
  device: string;
  broker: string;
  base: string;
  secretFile?: string;
  client?: string;
  timeout: number;
  username?: string;
  passwordFile?: string;
  caFile?: string;
  certFile?: string;
  keyFile?: string;
  json?: boolean;
}

function seconds(text: string): number {
  const value = Number(text);
  if (!(value > 0 && value <= 3600))
    throw new InvalidArgumentError("Expected a number of seconds, up to 3600.");
  return value;
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
      credentials: readCredentials(options, (field) => CONSUME_FLAGS[field]),
    },
    command,
    body,
  );
  if (answer.ok) return answer;
  const { code, message, hint } = answer;
  const known = Object.hasOwn(ERROR_CATALOGUE, code) && code !== "INTERNAL";
  // What a bug on the device is, is none here.
  throw new DepthwattError(known ? (code as ErrorCode) : "CONTROL_UNSUPPORTED", `${device}: ${message}`, {
    hint,
  });
}

export const textOf = (value: unknown) =>
  value === null || value === undefined ? "-" : printable(String(value));

export function show({ values = {} }: ControlResult, options: ControlOptions): void {
  if (options.json) {
    printJson(values);
    return;
  }
  const rows = Object.entries(values).map(([key, value]) => [printable(key), textOf(value)]);
  for (const line of columns(rows)) printLine(line);
}

export function withAccess(command: Command): Command {
  return withJson(command, "print the values as one line of JSON")
    .requiredOption("--device <name>", "the device")
    .option("--broker <url>", "mqtt://, mqtts://, ws:// or wss:// URL", "mqtt://127.0.0.1:1883")
    .option("--base <topic>", "what the topics begin with", "depthwatt")
    .option("--secret-file <file>", "file whose first line is the device's control secret")
    .option("--client <name>", "who asks, for the device's log (default: user@host)")
    .option("--timeout <seconds>", "how long the device may take", seconds, 20)
    .option("--username <name>", "user name at the broker")
    .option("--password-file <file>", "file whose first line is the password")
    .option("--ca-file <file>", "PEM file of the authority that signed the broker's certificate")
    .option("--cert-file <file>", "PEM file of this client's certificate")
    .option("--key-file <file>", "PEM file of its private key");
}
