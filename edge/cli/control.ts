// SPDX-License-Identifier: Apache-2.0
// depthwatt get, set: settings of a running depthwatt, read and changed over its broker.
import { hostname, userInfo } from "node:os";
import { type Command, InvalidArgumentError } from "commander";
import { DepthwattError, ERROR_CATALOGUE, type ErrorCode } from "../../core/index.js";
import { askDevice } from "../control/client.js";
import type { ControlResult } from "../control/answer.js";
import { readControlSecret } from "../control/open-control.js";
import { SETTING_BY_KEY, type SettingValue } from "../config/index.js";
import { valueOfText } from "../config/layers.js";
import { checkBrokerUrl, readCredentials } from "../mqtt/credentials.js";
import { printable } from "../redact.js";
import { CONSUME_FLAGS } from "./consume-flags.js";
import { withExamples, withJson } from "./options.js";
import { columns, note, printJson, printLine } from "./output.js";

interface ControlOptions {
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
  save?: boolean;
}

function seconds(text: string): number {
  const value = Number(text);
  if (!(value > 0 && value <= 3600))
    throw new InvalidArgumentError("Expected a number of seconds, up to 3600.");
  return value;
}

/** @throws DepthwattError of the device's refusal, or of the way to it */
async function ask(options: ControlOptions, command: string, body: unknown): Promise<ControlResult> {
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

const textOf = (value: unknown) => (value === null || value === undefined ? "-" : printable(String(value)));

function show({ values = {} }: ControlResult, options: ControlOptions): void {
  if (options.json) {
    printJson(values);
    return;
  }
  const rows = Object.entries(values).map(([key, value]) => [printable(key), textOf(value)]);
  for (const line of columns(rows)) printLine(line);
}

async function get(keys: string[], options: ControlOptions): Promise<void> {
  const answer = await ask(options, "get", keys.length === 0 ? {} : { keys });
  const only = keys.length === 1 && !options.json ? answer.values?.[keys[0]!] : undefined;
  if (only === undefined) show(answer, options);
  else printLine(textOf(only));
}

/** KEY=VALUE by this program's own schema; a key that only the device knows is read as YAML would. */
function assignment(word: string): [key: string, value: SettingValue | null] {
  const equals = word.indexOf("=");
  if (equals < 1)
    throw new DepthwattError("USAGE", `expected KEY=VALUE, got ${JSON.stringify(word.slice(0, 100))}`, {
      hint: "For example: depthwatt set match.sgm.paths=8 --device robot-1",
    });
  const key = word.slice(0, equals).trim();
  const text = word.slice(equals + 1).trim();
  const setting = SETTING_BY_KEY.get(key);
  return [key, setting === undefined ? text : (valueOfText(setting, text) ?? null)];
}

async function set(words: string[], options: ControlOptions): Promise<void> {
  const { preset, ...values } = Object.fromEntries(words.map(assignment));
  const answer = await ask(options, "set", {
    ...(preset !== undefined && { preset }),
    values,
    ...(options.save && { save: true }),
  });
  show(answer, options);
  const { file, overridden = [] } = (answer.saved ?? {}) as { file?: string; overridden?: string[] };
  if (file === undefined) return;
  note(printable(`saved to ${file} on ${options.device}`));
  if (overridden.length > 0)
    note(printable(`at the next start a flag or a variable still sets: ${overridden.join(", ")}`));
}

function withAccess(command: Command): Command {
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

export function defineGet(command: Command): void {
  command.argument("[key...]", "such as match.numDisparities").action(get);
  withExamples(
    withAccess(command),
    "depthwatt get match.numDisparities --device robot-1 --secret-file control.secret",
    "depthwatt get --device robot-1 --broker mqtts://broker.local --username anna --password-file p --json",
  );
}

export function defineSet(command: Command): void {
  command
    .argument(
      "<key=value...>",
      "nothing behind = unsets a setting that may have no value; preset=NAME sets many, and others here win",
    )
    .option("--save", "write them into the device's configuration file too; its comments stay")
    .action(set);
  withExamples(
    withAccess(command),
    "depthwatt set match.algorithm=cbca refine.median=false --device robot-1 --secret-file control.secret",
    "depthwatt set preset=esaw-9 refine.fill=off --device robot-1 --secret-file control.secret",
    "depthwatt set power.budgetWatts=10 --device robot-1 --secret-file control.secret --save",
  );
}
