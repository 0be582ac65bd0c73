// SPDX-License-Identifier: Apache-2.0
// Which streams are on: without a calibration depth is unknown, and disparity takes its place.
import type { StreamName } from "../../../core/frame/frame-format.js";
import type { MqttSettings } from "./settings.js";

export function withStreams(settings: MqttSettings, hasDepth: boolean): MqttSettings {
  if (hasDepth || !settings.depth.enabled) return settings;
  return { ...settings, disparity: { ...settings.disparity, enabled: true } };
}

export type TopicName = Exclude<StreamName, "registeredConfidence"> | "preview";
const NAMES: readonly TopicName[] = [
  "depth",
  "disparity",
  "confidence",
  "left",
  "right",
  "points",
  "registered",
  "preview",
];

const NEED_DEPTH: ReadonlySet<TopicName> = new Set(["depth", "points", "registered"]);

export function streamsOn(settings: MqttSettings, hasDepth: boolean): TopicName[] {
  const streams = withStreams(settings, hasDepth);
  return NAMES.filter((name) => streams[name].enabled && (!NEED_DEPTH.has(name) || hasDepth));
}
