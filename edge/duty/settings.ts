// SPDX-License-Identifier: Apache-2.0
// Settings of the duty cycle.
import { z } from "zod";
import { type Exact, section, setting } from "../contracts/setting.js";

export const WAKES = ["interval", "motion", "request"] as const;

export const dutyCycleSection = section(
  "Sleeps between groups of frames: the cameras are closed, and the GPU has no work.",
  {
    frames: setting(z.int().min(1).max(100_000).optional(), {
      description: "Frames computed after each wake; unset: never sleeps.",
    }),
    everySeconds: setting(z.number().min(0.1).max(86_400), {
      default: 10,
      unit: "s",
      description: "Time from one wake to the next.",
    }),
    wake: setting(z.enum(WAKES), {
      default: "interval",
      description:
        "interval computes frames every everySeconds; motion looks every everySeconds and computes only if the image changed; request waits for the request wake, which ends every sleep.",
    }),
    settleSeconds: setting(z.number().min(0).max(10), {
      default: 1,
      unit: "s",
      description: "Discards frames after a wake until the brightness is steady, at most this long.",
    }),
  },
  "live",
);

export type DutyCycleSettings = Exact<z.infer<typeof dutyCycleSection>>;
