// SPDX-License-Identifier: Apache-2.0
// Settings of the built-in scene.
import { z } from "zod";
import { section, setting } from "../../contracts/setting.js";

export const syntheticSettings = section(
  "The built-in moving scene, which brings its own calibration.",
  {
    width: setting(z.int().min(16).max(16384), {
      default: 640,
      unit: "px",
      description: "Width of each camera's image.",
    }),
    height: setting(z.int().min(16).max(16384), {
      default: 480,
      unit: "px",
      description: "Height of each camera's image.",
    }),
    rateHz: setting(z.union([z.literal("max"), z.number().min(0.01).max(1000)]), {
      default: 30,
      unit: "Hz",
      description: "Pairs drawn per second; max is as fast as the engine takes them.",
    }),
    other: setting(z.boolean(), {
      default: false,
      description: "Draws a third camera too: rgb, for registration.camera and points.colour.",
    }),
  },
  "live",
);
