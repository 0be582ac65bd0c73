// SPDX-License-Identifier: Apache-2.0
// Settings of a helper that delivers pairs with their disparity.
import { z } from "zod";
import { section, setting } from "../../contracts/setting.js";

export const foreignSettings = section(
  "A helper that delivers rectified pairs with disparity and confidence.",
  {
    command: setting(z.string().min(1).optional(), {
      description: "Command of the helper, such as python3 sgbm.py left.mp4 right.mp4.",
    }),
    shell: setting(z.boolean(), {
      default: false,
      description: "Hands the command to /bin/sh; else it is split at blanks, and quotes group.",
    }),
    live: setting(z.boolean(), {
      default: true,
      description:
        "true: read as pairs come, and the helper is started again when it ends; false: a recording, which waits for the engine and ends.",
    }),
    timeoutMs: setting(z.int().min(100).max(600_000), {
      default: 10_000,
      unit: "ms",
      description: "Longest time without a whole pair; then the helper is ended as if it had failed.",
    }),
  },
);
