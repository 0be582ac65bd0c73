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
});
