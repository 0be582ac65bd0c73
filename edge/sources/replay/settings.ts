// SPDX-License-Identifier: Apache-2.0
// Settings of recordings: images on disk.
import { z } from "zod";
import { section, setting } from "../../contracts/setting.js";

export const replaySettings = section(
  "Images on disk, as depthwatt capture or other programs wrote them.",
  {
    left: setting(z.string().min(1).optional(), {
      isPath: true,
      description: "Left images: a folder, a name with *, a list file or one image.",
    }),
    right: setting(z.string().min(1).optional(), {
      isPath: true,
      description: "Right images: a folder, a name with *, a list file or one image.",
    }),
    sideBySide: setting(z.string().min(1).optional(), {
      isPath: true,
      description: "Images that hold the left and the right image side by side, in place of left and right.",
    }),
    rateHz: setting(z.union([z.literal("max"), z.number().min(0.01).max(1000)]), {
      default: 30,
      unit: "Hz",
      description:
        "Pairs played per second. A slow engine slows the recording down and loses no pair; max does not wait.",
    }),
    loop: setting(z.boolean(), {
      default: false,
      description: "Starts the recording again at its end.",
    }),
    timestamps: setting(z.enum(["auto", "names", "rate"]), {
      default: "auto",
      description: "Capture times: from file names in ns, or counted from rateHz; auto tries names first.",
    }),
  },
  "live",
);
