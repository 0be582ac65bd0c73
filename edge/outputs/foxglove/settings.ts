// SPDX-License-Identifier: Apache-2.0
// Settings of the output "foxglove": who may connect, and which channels the engine must compute for.
import { z } from "zod";
import { rateSetting } from "../../contracts/rate-setting.js";
import { type Exact, section, setting } from "../../contracts/setting.js";

const ORIGINS = /^https?:\/\/[a-z0-9.:[\]-]+(,https?:\/\/[a-z0-9.:[\]-]+)*$/;

export const foxgloveSettings = section(
  "A WebSocket for Foxglove at /foxglove of the HTTP server, with the channels of a recording.",
  {
    enabled: setting(z.boolean(), { default: false, description: "Serves it." }),
    origins: setting(z.string().regex(ORIGINS), {
      default: "https://app.foxglove.dev",
      expects: "origins in lower case joined by commas, such as https://app.foxglove.dev",
      description: "Web pages that may connect, in addition to programs without a page.",
    }),
    points: setting(z.boolean(), {
      default: false,
      description: "Offers points, in metres; needs a calibration, and points.element float32.",
    }),
    leftColours: setting(z.boolean(), {
      default: false,
      description: "Offers the left image in colours (rgb8) where the source has them.",
    }),
    right: setting(z.boolean(), {
      default: false,
      description: "Offers the rectified right image.",
    }),
    registered: setting(z.boolean(), {
      default: false,
      description: "Offers depth and confidence in the image of registration.camera, and its CameraInfo.",
    }),
    rateHz: rateSetting(),
  },
);

export type FoxgloveSettings = Exact<z.infer<typeof foxgloveSettings>>;
