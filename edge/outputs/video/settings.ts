// SPDX-License-Identifier: Apache-2.0
// Settings of the output "video".
import { z } from "zod";
import { rateSetting } from "../../contracts/rate-setting.js";
import { type Exact, section, setting } from "../../contracts/setting.js";

export const videoSettings = section(
  "Motion JPEG at /video/left.mjpeg and /video/depth.mjpeg of the HTTP server; the newest picture at .jpg.",
  {
    enabled: setting(z.boolean(), { default: false, description: "Serves them." }),
    leftColours: setting(z.boolean(), {
      default: false,
      description: "Shows the left image in colours where the source has them.",
    }),
    rateHz: rateSetting(),
  },
);

export type VideoSettings = Exact<z.infer<typeof videoSettings>>;
