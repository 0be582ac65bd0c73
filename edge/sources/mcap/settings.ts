// SPDX-License-Identifier: Apache-2.0
// Settings of recordings in MCAP.
import { z } from "zod";
import { section, setting } from "../../contracts/setting.js";

const topic = (side: string) =>
  setting(z.string().min(1).optional(), {
    description: `Topic of the ${side} images. Default: the topic whose name ends in ${side}/image_raw.`,
  });

export const mcapSettings = section(
  "Recordings in MCAP, by depthwatt record or by ROS 2.",
  {
    file: setting(z.string().min(1).optional(), {
      isPath: true,
      description: "The recording; it needs both captured images (record --inputs).",
    }),
    leftTopic: topic("left"),
    rightTopic: topic("right"),
    startSeconds: setting(z.number().min(0).max(1e9), {
      default: 0,
      unit: "s",
      description: "Where in the recording to begin.",
    }),
    speed: setting(z.union([z.literal("max"), z.number().min(0.01).max(100)]), {
      default: 1,
      description:
        "How many times as fast as it was recorded. A slow engine slows it down and loses no pair; max does not wait.",
    }),
    loop: setting(z.boolean(), { default: false, description: "Starts again at its end." }),
  },
  "live",
);
