// SPDX-License-Identifier: Apache-2.0
// The output "mqtt": streams of frames, state, info and metrics as topics of a broker.
import { prepareBroker } from "../../broker/prepared-broker.js";
import type { RequestedEncodings } from "../../contracts/computed-frame.js";
import { defineOutput } from "../../contracts/output.js";
import { brokenMqtt, type MqttSettings, mqttSettings } from "./settings.js";
import { withStreams } from "./streams-on.js";

export const mqtt = defineOutput({
  settings: mqttSettings,
  broken: brokenMqtt,
  off: ({ broker }) => (broker === "none" ? "outputs.mqtt.broker is none" : undefined),
  encodings: mqttEncodings,
  // For each stream one frame is being sent and the newest one waits.
  framesHeld: 2,
  prepare: ({ broker }) => (broker === "embedded" ? prepareBroker() : undefined),
  open: async (context) => (await import("./open-mqtt.js")).openMqtt(context),
});

function mqttEncodings(settings: MqttSettings, hasDepth: boolean): RequestedEncodings {
  const { depth, disparity, left, right } = withStreams(settings, hasDepth);
  const rvlDepth = depth.encoding === "rvl" || depth.encoding === "compressedDepth";
  const native =
    disparity.encoding === "rvl" || disparity.encoding === "raw" ? disparity.encoding : undefined;
  return {
    ...(hasDepth && depth.enabled && rvlDepth && { encodeDepth: "rvl" }),
    ...(disparity.enabled && native && { encodeDisparity: native }),
    ...(left.enabled && left.colours && { leftRgb: true }),
    ...(right.enabled && { rightGrey: true }),
    ...(settings.registered.enabled && { registration: true }),
    ...(settings.points.enabled && { [settings.points.encoding === "voxels" ? "voxels" : "points"]: true }),
  };
}
