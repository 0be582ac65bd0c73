// SPDX-License-Identifier: Apache-2.0
// Settings of the log.
import { z } from "zod";
import { section, setting } from "../contracts/setting.js";

export const logSection = section("The log on stderr.", {
  level: setting(z.enum(["fatal", "error", "warn", "info", "debug", "trace"]), {
    default: "info",
    takesEffect: "live",
    description: "The least severe line that is written.",
  }),
  energyIntervalSeconds: setting(z.union([z.literal(0), z.number().min(2).max(86_400)]), {
    default: 10,
    unit: "s",
    takesEffect: "restart",
    description:
      "Time between two entries of the energy log: in a service's journal and in outputs.energy.file. 0: none.",
  }),
});
