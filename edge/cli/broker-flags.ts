// SPDX-License-Identifier: Apache-2.0
// Flags of the commands that connect to a broker as a client: the topics, and the credentials.
import type { Command } from "commander";
import { DepthwattError } from "../../core/index.js";
import { CONSUME_FLAGS } from "../mqtt/consume-flags.js";
import { type CredentialFiles, type Credentials, readCredentials } from "../mqtt/credentials.js";

export interface BrokerOptions extends CredentialFiles {
  base: string;
}

/** Describes the argument <url> of such a command. */
export const URL_ARGUMENT = { url: "the broker: mqtt://, mqtts://, ws:// or wss://" };

export function withBrokerAccess(command: Command): Command {
  return command
    .option("--base <topic>", "first levels of every topic", "depthwatt")
    .option(`${CONSUME_FLAGS.username} <name>`, "user name at the broker")
    .option(`${CONSUME_FLAGS.passwordFile} <file>`, "file whose first line is the broker's password")
    .option(
      `${CONSUME_FLAGS.caFile} <file>`,
      "PEM file of the authority that signed the broker's certificate",
    )
    .option(`${CONSUME_FLAGS.certFile} <file>`, "PEM file of this client's certificate")
    .option(`${CONSUME_FLAGS.keyFile} <file>`, "PEM file of its private key");
}

/** Reads the files that the flags name. @throws DepthwattError CONFIG_UNREADABLE, CONFIG_INVALID naming the flag */
export const credentialsFrom = (options: BrokerOptions): Credentials =>
  readCredentials(options, (field) => CONSUME_FLAGS[field]);

/** Returns the error with a hint that names these flags in place of the settings of a run. */
export function withFlagsInHint({ code, message, context, cause, hint }: DepthwattError): DepthwattError {
  const named = hint.replace(
    /outputs\.mqtt\.(username|passwordFile|caFile|certFile|keyFile)/g,
    (_, setting: keyof typeof CONSUME_FLAGS) => CONSUME_FLAGS[setting],
  );
  return new DepthwattError(code, message, { hint: named, context, cause });
}
