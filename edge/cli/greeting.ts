// SPDX-License-Identifier: Apache-2.0
// What run prints first: what computes, where the stream is, and the command that reads it.
import type { Config } from "../config/index.js";
import type { Publishing } from "../outputs/mqtt/publishing.js";
import type { Station } from "../pipeline/station.js";
import { brokerName } from "../mqtt/broker-errors.js";
import { STREAM_CODES } from "../frame/frame-format.js";
import { CONSUME_FLAGS } from "./consume-flags.js";
import { printLine } from "./output.js";

/** As a shell takes it for one word. */
const quoted = (word: string) =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

/**
 * The command that reads this stream from the same account: base, device, stream and credentials where they are not
 * consume's defaults. Undefined where nothing is published that consume reads.
 */
export function consumeCommand(
  config: Pick<Config, "base" | "device" | "publish">,
  { brokerUrl, broker, streams }: Pick<Publishing, "brokerUrl" | "broker" | "streams">,
): string | undefined {
  const stream = streams.find((name) => Object.hasOwn(STREAM_CODES, name));
  if (brokerUrl === undefined || stream === undefined) return undefined;
  const words = ["npx", "depthwatt", "consume", brokerName(brokerUrl), "--device", config.device];
  if (config.base !== "depthwatt") words.push("--base", config.base);
  if (stream !== "depth") words.push("--stream", stream);
  if (broker === undefined) {
    const { username } = new URL(brokerUrl);
    const given = { ...(username !== "" && { username: decodeURIComponent(username) }), ...config.publish };
    for (const [setting, flag] of Object.entries(CONSUME_FLAGS)) {
      const value = given[setting as keyof typeof CONSUME_FLAGS];
      if (value !== undefined) words.push(flag, value);
      // A password of the URL is not shown; consume takes it from a file.
      else if (flag === "--password-file" && new URL(brokerUrl).password !== "") words.push(flag, "FILE");
    }
  }
  return words.map(quoted).join(" ");
}

/** Where to look, for a person who has just started it. */
export function greet(station: Station): void {
  const { config, source, engine, meter, publishing } = station.parts;
  const { backend, backendReason, instructionSet, threads } = engine.info;
  const { match } = config;
  printLine(`source    ${source.description.title}`);
  printLine(
    `engine    ${match.algorithm}, ${match.paths} paths, ${match.numDisparities} disparities ` +
      `on ${backend} (${instructionSet}, ${threads} threads)`,
  );
  printLine(`          ${backendReason.replace(/\.$/, "")}`);
  const { sensor } = meter;
  if ("rails" in sensor)
    printLine(`power     ${sensor.name}: ${sensor.rails.map((rail) => rail.label).join(", ")}`);
  else printLine("power     unavailable ('depthwatt doctor' says why)");
  if (publishing.brokerUrl === undefined) {
    printLine("broker    none: nothing is published");
    return;
  }
  const prefix = `${config.base}/${config.device}`;
  const kind = publishing.broker ? " (embedded, for trying out: loopback only, MQTT 3.1.1)" : "";
  printLine(`broker    ${brokerName(publishing.brokerUrl)}${kind}`);
  printLine(
    `topics    ${prefix}/{${[...publishing.streams, "metrics", "state", "info", "camera_info"].join(",")}}`,
  );
  const command = consumeCommand(config, publishing);
  if (command !== undefined) printLine(`consume   ${command}`);
}
