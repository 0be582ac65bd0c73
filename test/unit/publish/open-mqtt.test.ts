// SPDX-License-Identifier: Apache-2.0
// Tests an MQTT output that cannot be opened completely: no part of it continues.
import { beforeEach, expect, test, vi } from "vitest";
import { DepthwattError } from "../../../core/index.js";
import { loadConfig } from "../../../edge/config/index.js";
import { openMqtt } from "../../../edge/outputs/mqtt/open-mqtt.js";
import type { Publisher } from "../../../edge/outputs/mqtt/publisher-types.js";

const seen = vi.hoisted(() => ({ reads: 0, publishers: [] as Publisher[], versions: [] as unknown[] }));
beforeEach(() => {
  Object.assign(seen, { reads: 0, publishers: [], versions: [] });
});
vi.mock("../../../edge/mqtt/credentials.js", async (original) => ({
  ...(await original<object>()),
  readCredentials: () => {
    if (seen.reads++ > 0) throw new DepthwattError("CONFIG_UNREADABLE", "the file does not exist any more");
    return {};
  },
}));
vi.mock("../../../edge/outputs/mqtt/publisher.js", async (original) => {
  type Options = { protocolVersion?: unknown };
  const { createPublisher } = await original<{ createPublisher: (options: Options) => Publisher }>();
  return {
    createPublisher: (options: Options) => {
      const made = createPublisher(options);
      seen.versions.push(options.protocolVersion);
      seen.publishers.push(made);
      return made;
    },
  };
});

test("credentials that vanish after the first connection has read them leave no publisher behind", async () => {
  // No server listens there: an unclosed client tries again and again.
  const set = ["board=none", "outputs.mqtt.broker=mqtt://127.0.0.1:9"];
  const { config } = loadConfig({ set, environment: {} });
  const context = { settings: config.outputs.mqtt, base: "depthwatt", device: "test", notice: () => {} };
  await expect(openMqtt(context as never)).rejects.toMatchObject({ code: "CONFIG_UNREADABLE" });
  expect(seen.publishers.map((made) => made.counters().reason)).toEqual(["closed"]);
});

test("the embedded broker is spoken to in its MQTT 3.1.1, without a try in MQTT 5", async () => {
  const set = ["board=none", "outputs.mqtt.broker=embedded"];
  const { config } = loadConfig({ set, environment: {} });
  const context = { settings: config.outputs.mqtt, base: "depthwatt", device: "test", notice: () => {} };
  // The credentials "vanish" once the publisher is made, so the output closes everything.
  await expect(openMqtt(context as never)).rejects.toMatchObject({ code: "CONFIG_UNREADABLE" });
  expect(seen.versions).toEqual([4]);
});
