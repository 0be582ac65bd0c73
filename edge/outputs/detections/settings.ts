// SPDX-License-Identifier: Apache-2.0
// Defines the settings of the output "detections".
import { z } from "zod";
import type { BrokenSetting } from "../../contracts/broken-setting.js";
import { type Exact, section, setting } from "../../contracts/setting.js";

export const DETECTION_FORMATS = ["depthwatt", "frigate", "homeAssistant"] as const;
export type DetectionFormat = (typeof DETECTION_FORMATS)[number];

export const detectionsSettings = section(
  "Distances of what other programs detect, over the broker of outputs.mqtt.",
  {
    enabled: setting(z.boolean(), {
      default: false,
      description: "Receives boxes and polygons, and publishes the distance of each.",
    }),
    topic: setting(
      z
        .string()
        .max(500)
        .regex(/^[^+#\p{Cc}]+$/u)
        .optional(),
      {
        expects: "a topic without wildcards",
        description: "Topic that detections come from; unset: BASE/DEVICE/detections.",
      },
    ),
    format: setting(z.enum(DETECTION_FORMATS), {
      default: "depthwatt",
      description:
        "Shape of the messages: depthwatt's JSON, Frigate's events, or the attributes of a Home Assistant image processing entity.",
    }),
    camera: setting(z.string().max(200).optional(), {
      description: "Frigate's name of the left camera; messages of other cameras are ignored. Unset: all.",
    }),
    image: setting(z.enum(["rectified", "raw"]), {
      default: "rectified",
      description:
        "Left image that the detector uses, if a message does not name it: rectified, or as captured.",
    }),
    imageWidth: setting(z.int().min(1).max(65_535).optional(), {
      unit: "px",
      description: "Width of the detector's image, for boxes in pixels such as Frigate's.",
    }),
    imageHeight: setting(z.int().min(1).max(65_535).optional(), {
      unit: "px",
      description: "Height of the detector's image.",
    }),
    delayMs: setting(z.number().min(-10_000).max(10_000), {
      default: 0,
      unit: "ms",
      description: "Time from capture to the time stamp of the detector, subtracted from each time stamp.",
    }),
    toleranceMs: setting(z.number().min(1).max(10_000), {
      default: 100,
      unit: "ms",
      description: "Largest difference between the time of a detection and the frame it is measured in.",
    }),
    historyFrames: setting(z.int().min(1).max(200), {
      default: 20,
      description: "Frames kept for detections that come late, five bytes per pixel each.",
    }),
    rateHz: setting(z.union([z.literal("max"), z.number().min(0.01).max(1000)]), {
      default: 10,
      unit: "Hz",
      description: "Frames per second that are kept, at most; max is all of them.",
    }),
    minConfidence: setting(z.number().min(0).max(1), {
      default: 0.5,
      description: "Confidence that a matched pixel needs to count.",
    }),
    maxPerSecond: setting(z.int().min(1).max(10_000), {
      default: 200,
      description: "Detections per second that are measured; further ones are refused and counted.",
    }),
    keepSeconds: setting(z.number().min(0.1).max(3600), {
      default: 10,
      unit: "s",
      description: "Time after which an object that is no longer detected is forgotten.",
    }),
  },
);

export type DetectionsSettings = Exact<z.infer<typeof detectionsSettings>>;

export function brokenDetections({
  enabled,
  format,
  imageWidth,
  imageHeight,
}: DetectionsSettings): BrokenSetting[] {
  const hasSize = imageWidth !== undefined && imageHeight !== undefined;
  if ((imageWidth === undefined) !== (imageHeight === undefined))
    return [{ keys: ["imageWidth", "imageHeight"], text: "expected both or none, got one of them" }];
  if (enabled && format === "frigate" && !hasSize)
    return [
      {
        keys: ["imageWidth", "imageHeight"],
        text: "expected the width and height of detect in Frigate's configuration, got none",
      },
    ];
  return [];
}
