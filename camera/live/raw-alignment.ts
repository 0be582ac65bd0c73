// SPDX-License-Identifier: Apache-2.0
// Which end of a 16-bit word this board's capture unit fills with a raw sensor's 10 or 12 bits. Untested on hardware.
import { readFileSync } from "node:fs";
import type { RawAlignment } from "v4l2-camera/parts";

/** NVIDIA's boards that fill raw words from the top: Xavier and later. Earlier ones keep V4L2's rule. */
const HIGH_ALIGNED_BOARDS = /nvidia,tegra(194|234|264)/;

/** @param compatible the device tree's list of names of this board */
export function rawAlignmentFrom(driver: string, compatible = "/proc/device-tree/compatible"): RawAlignment {
  if (!/tegra/.test(driver)) return "low";
  try {
    return HIGH_ALIGNED_BOARDS.test(readFileSync(compatible, "utf8")) ? "high" : "low";
  } catch {
    return "low";
  }
}
