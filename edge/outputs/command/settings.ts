// SPDX-License-Identifier: Apache-2.0
// Settings of the output "command": the program, and the pictures that it reads.
import { z } from "zod";
import { commandWords } from "../../../camera/index.js";
import { isDepthwattError } from "../../../core/index.js";
import type { BrokenSetting } from "../../contracts/broken-setting.js";
import { rateSetting } from "../../contracts/rate-setting.js";
import { type Exact, section, setting } from "../../contracts/setting.js";

export const commandOutputSettings = section(
  "Pictures for a program's standard input, such as ffmpeg or gst-launch-1.0.",
  {
    command: setting(z.string().min(1).optional(), {
      description:
        "The program, such as ffmpeg -i - -f rtsp rtsp://127.0.0.1:8554/left; switches this output on.",
    }),
    shell: setting(z.boolean(), {
      default: false,
      description: "Hands the command to /bin/sh; else it is split at blanks, and quotes group.",
    }),
    picture: setting(z.enum(["left", "depth", "colours"]), {
      default: "left",
      description: "left is the left image, depth is in millimetres, colours is the coloured disparity.",
    }),
    format: setting(z.enum(["y4m", "raw"]), {
      default: "y4m",
      description:
        "y4m has size and rate in a header (depth: mono16); raw has pixels only: gray, gray16le for depth, rgb24 for colours.",
    }),
    timeoutMs: setting(z.int().min(100).max(600_000), {
      default: 10_000,
      unit: "ms",
      description: "A program that reads nothing for so long is ended and started again.",
    }),
    rateHz: rateSetting(),
  },
);

export type CommandOutputSettings = Exact<z.infer<typeof commandOutputSettings>>;

export function brokenCommand({ command, shell }: CommandOutputSettings): BrokenSetting[] {
  if (command === undefined) return [];
  try {
    commandWords(command, shell);
    return [];
  } catch (error) {
    if (!isDepthwattError(error)) throw error;
    return [{ keys: ["command"], text: error.message }];
  }
}
