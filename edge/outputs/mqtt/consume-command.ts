// SPDX-License-Identifier: Apache-2.0
// The command that reads a stream: `run` prints it.
import { STREAM_CODES } from "../../../core/frame/frame-format.js";
import { quoteShellWord } from "../../../core/index.js";
import { brokerName } from "../../../core/mqtt/broker-errors.js";
import { CONSUME_FLAGS } from "../../mqtt/consume-flags.js";
import type { MqttSettings } from "./settings.js";

/**
 * The command that reads this stream from the same account: base, device, stream and credentials where they are not
 * consume's defaults. Undefined where nothing is published that consume reads.
 */
export function consumeCommand(
  { base, device, settings }: { base: string; device: string; settings: MqttSettings },
  { brokerUrl, embedded, streams }: { brokerUrl: string; embedded: boolean; streams: readonly string[] },
): string | undefined {
  const stream = streams.find((name) => Object.hasOwn(STREAM_CODES, name));
  if (stream === undefined) return undefined;
  const words = ["npx", "depthwatt", "consume", brokerName(brokerUrl), "--device", device];
  if (base !== "depthwatt") words.push("--base", base);
  if (stream !== "depth") words.push("--stream", stream);
  if (!embedded) {
    const { username, password } = new URL(brokerUrl);
    const given = { ...(username !== "" && { username: decodeURIComponent(username) }), ...settings };
    for (const [setting, flag] of Object.entries(CONSUME_FLAGS)) {
      const value = given[setting as keyof typeof CONSUME_FLAGS];
      if (value !== undefined) words.push(flag, value);
      // A password of the URL is not shown; consume takes it from a file.
      else if (flag === "--password-file" && password !== "") words.push(flag, "FILE");
    }
  }
  return words.map(quoteShellWord).join(" ");
}
