// SPDX-License-Identifier: Apache-2.0
// The setting `rateHz` of an output: the highest rate at which frames are offered to it.
import { z } from "zod";
import { setting } from "./setting.js";

export function rateSetting(what: "output" | "topic" = "output") {
  return setting(z.union([z.literal("max"), z.number().min(0.01).max(1000)]), {
    default: "max",
    unit: "Hz",
    takesEffect: "live",
    description: `Frames a second that this ${what} gets at most; the others are its drops by rateLimit. max is all of them.`,
  });
}
