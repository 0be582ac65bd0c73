// SPDX-License-Identifier: Apache-2.0
// Settings of the watch over how the cameras lie to each other.
import { z } from "zod";
import { type Exact, section, setting } from "../../contracts/setting.js";

export const healthSection = section(
  "Checks whether the cameras have moved relative to each other since the calibration.",
  {
    enabled: setting(z.boolean(), {
      default: true,
      description:
        "Compares features of some pairs while frames are computed, at under 1 % of one core; does not change frames.",
    }),
    maxRows: setting(z.number().min(0.05).max(100), {
      default: 0.75,
      unit: "rows",
      description: "Vertical offset between the images above which RIG_MOVED is reported.",
    }),
    maxDegrees: setting(z.number().min(0.02).max(10), {
      default: 0.08,
      unit: "degrees",
      description: "Rotation of a camera against its calibration above which RIG_MOVED is reported.",
    }),
    correct: setting(z.boolean(), {
      default: false,
      description:
        "Corrects the measured rotation by turning the right rectification map between frames; reported in state, metrics, info and log.",
    }),
    maxCorrectionDegrees: setting(z.number().min(0.05).max(5), {
      default: 1,
      unit: "degrees",
      description:
        "Largest rotation that is corrected. Larger ones are reported, not corrected: recalibrate.",
    }),
    driftFile: setting(z.string().min(1).optional(), {
      isPath: true,
      description:
        "File for the mean rotation of each day, which info and the live page show; written once an hour.",
    }),
  },
  "live",
);

export type HealthSettings = Exact<z.infer<typeof healthSection>>;
