// SPDX-License-Identifier: Apache-2.0
// Settings of recordings: which streams, how they are packed, when a file ends, how much of the disk they leave free.
import { z } from "zod";
import { rateSetting } from "../../contracts/rate-setting.js";
import { type Exact, section, setting } from "../../contracts/setting.js";

export const mcapSettings = section("The recording: an MCAP file that Foxglove, ROS 2 and depthwatt read.", {
  file: setting(z.string().min(1).optional(), {
    isPath: true,
    description:
      "Where to record; {time} in it becomes the time of its beginning. Without it this output is off.",
  }),
  recording: setting(z.boolean(), {
    default: true,
    takesEffect: "live",
    description: "Records; false ends the file, and true begins another one.",
  }),
  depth: setting(z.enum(["image", "compressedDepth", "off"]), {
    default: "image",
    description: "Depth in millimetres: an Image (16UC1), or a CompressedImage of RVL, a third of the size.",
  }),
  disparity: setting(z.boolean(), {
    default: false,
    description: "Records disparities as an Image (16SC1, 1/16 px); without a calibration they always are.",
  }),
  confidence: setting(z.boolean(), {
    default: false,
    description: "Records confidences as an Image (mono8).",
  }),
  left: setting(z.boolean(), {
    default: true,
    description: "Records the rectified left image as an Image (mono8).",
  }),
  leftColours: setting(z.boolean(), {
    default: false,
    description: "Records it in colours (rgb8) where the source has them, three times the bytes.",
  }),
  right: setting(z.boolean(), {
    default: false,
    description: "Records the rectified right image as an Image (mono8).",
  }),
  registered: setting(z.boolean(), {
    default: false,
    description: "Records depth and confidence in the image of registration.camera, and its CameraInfo.",
  }),
  points: setting(z.boolean(), {
    default: false,
    description:
      "Records points as a PointCloud2, in metres; needs a calibration, and points.element float32.",
  }),
  inputs: setting(z.boolean(), {
    default: false,
    description: "Records both captured images, so that the recording can be computed again.",
  }),
  compression: setting(z.enum(["zstd", "none"]), {
    default: "zstd",
    description: "How chunks are packed; none takes less of the CPU and more of the disk.",
  }),
  flushMs: setting(z.int().min(50).max(1000), {
    default: 250,
    unit: "ms",
    description: "Longest time that data wait before they are written: a power cut loses no more.",
  }),
  rotateMegabytes: setting(z.int().min(0).max(1_000_000), {
    default: 0,
    unit: "MB",
    description: "Begins another file when this one is so large; 0: never.",
  }),
  rotateSeconds: setting(z.int().min(0).max(604_800), {
    default: 0,
    unit: "s",
    description: "Begins another file when this one is so old; 0: never.",
  }),
  keepFreePercent: setting(z.number().min(0).max(99), {
    default: 5,
    unit: "%",
    description: "Share of the disk that recording leaves free; it continues when there is more.",
  }),
  maxPendingBytes: setting(z.int().min(1_048_576).max(2_147_483_648), {
    default: 67_108_864,
    unit: "bytes",
    description: "Bytes that may wait for the disk; frames beyond them are dropped and counted.",
  }),
  rateHz: rateSetting(),
});

export type McapSettings = Exact<z.infer<typeof mcapSettings>>;
