// SPDX-License-Identifier: Apache-2.0
// Settings of the output "sharedMemory": where readers connect, who may, and how many frames the ring holds.
import { z } from "zod";
import type { BrokenSetting } from "../../contracts/broken-setting.js";
import { rateSetting } from "../../contracts/rate-setting.js";
import { type Exact, section, setting } from "../../contracts/setting.js";

/** sun_path of sockaddr_un has 108 bytes, with the null. */
const MAX_PATH_BYTES = 107;

export const sharedMemorySettings = section(
  "Frames in shared memory for programs on this machine, which connect to a Unix socket.",
  {
    path: setting(z.string().min(1).optional(), {
      isPath: true,
      description: "The socket, such as /run/depthwatt/frames.sock; switches this output on.",
    }),
    group: setting(z.string().min(1).max(32).optional(), {
      description: "Group whose members may read too; without it only this user and root may.",
    }),
    slots: setting(z.int().min(2).max(64), {
      default: 4,
      description: "Frames that a stream's ring holds. A reader may use a frame until all others are newer.",
    }),
    points: setting(z.boolean(), {
      default: false,
      description: "Offers points too; needs a calibration.",
    }),
    leftColours: setting(z.boolean(), {
      default: false,
      description: "Offers the left image in colours where the source has them.",
    }),
    right: setting(z.boolean(), {
      default: false,
      description: "Offers the rectified right image too.",
    }),
    registered: setting(z.boolean(), {
      default: false,
      description: "Offers depth and confidence in the image of registration.camera.",
    }),
    rateHz: rateSetting(),
  },
);

export type SharedMemorySettings = Exact<z.infer<typeof sharedMemorySettings>>;

export function brokenSharedMemory({ path }: SharedMemorySettings): BrokenSetting[] {
  const bytes = path === undefined ? 0 : Buffer.byteLength(path);
  if (bytes <= MAX_PATH_BYTES) return [];
  return [{ keys: ["path"], text: `expected at most ${MAX_PATH_BYTES} bytes, got ${bytes}` }];
}
