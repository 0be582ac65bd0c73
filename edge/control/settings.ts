// SPDX-License-Identifier: Apache-2.0
// Settings of control: whether a running depthwatt can be changed from outside, and what proves that somebody may.
import { z } from "zod";
import { type Exact, section, setting } from "../config/setting.js";

export const controlSection = section("Changing settings of a running depthwatt from outside.", {
  enabled: setting(z.boolean(), {
    default: false,
    description:
      "Lets the live page change settings that take effect live; asks for control.secretFile's secret or the page's password.",
  }),
  secretFile: setting(z.string().min(1).optional(), {
    isPath: true,
    description:
      "File whose first line is the secret that every change must carry; it must not be readable by others.",
  }),
});

export type ControlSettings = Exact<z.infer<typeof controlSection>>;
