// SPDX-License-Identifier: Apache-2.0
// Settings of programs that write images to their standard output.
import { z } from "zod";
import { STREAM_FORMATS } from "../../../camera/index.js";
import { section, setting } from "../../contracts/setting.js";

export const commandSettings = section("Programs that write images to their standard output.", {
  left: setting(z.string().min(1).optional(), {
    description: "Command of the left camera, such as ffmpeg -i rtsp://left/stream -f yuv4mpegpipe -.",
  }),
  right: setting(z.string().min(1).optional(), {
    description: "Command of the right camera.",
  }),
  sideBySide: setting(z.string().min(1).optional(), {
    description: "One command whose frames hold both images side by side, in place of left and right.",
  }),
  shell: setting(z.boolean(), {
    default: false,
    description:
      "Hands the commands to /bin/sh, for pipes and variables; else they are split at blanks, and quotes group.",
  }),
  format: setting(z.enum(STREAM_FORMATS), {
    default: "y4m",
    description:
      "Format that they write: y4m is YUV4MPEG2, which contains size and rate; all others are frames without headers.",
  }),
  width: setting(z.int().min(16).max(16384).optional(), {
    unit: "px",
    description: "Width of each camera's image in frames without headers.",
  }),
  height: setting(z.int().min(16).max(16384).optional(), {
    unit: "px",
    description: "Height of each camera's image in frames without headers.",
  }),
  rateHz: setting(z.number().min(0.01).max(1000).optional(), {
    unit: "Hz",
    description: "Rate of frames without headers, where it is known.",
  }),
  live: setting(z.boolean(), {
    default: true,
    description:
      "true: cameras, read as they come and started again when they end; false: recordings, which wait for the engine and end.",
  }),
  timeoutMs: setting(z.int().min(100).max(600_000), {
    default: 10_000,
    unit: "ms",
    description: "Longest time without a whole frame; then the command is ended as if it had failed.",
  }),
  maxSkewMs: setting(z.number().min(0.01).max(1000).optional(), {
    unit: "ms",
    description:
      "Largest time between the arrivals of the two images of a live pair; without it half a frame period.",
  }),
});
