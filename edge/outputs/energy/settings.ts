// SPDX-License-Identifier: Apache-2.0
// Settings of the energy log's file.
import { z } from "zod";
import type { BrokenSetting } from "../../contracts/broken-setting.js";
import { type Exact, section, setting } from "../../contracts/setting.js";

export const ENERGY_ENDINGS = [".jsonl", ".csv"] as const;

export const energySettings = section(
  "The energy log as a file: one line for each log.energyIntervalSeconds. A service also writes it to the journal.",
  {
    file: setting(z.string().min(1).optional(), {
      isPath: true,
      description: "File that lines are added to, NAME.jsonl or NAME.csv. Without it this output is off.",
    }),
    rotateMegabytes: setting(z.int().min(0).max(100_000), {
      default: 10,
      unit: "MB",
      description: "Moves the file aside when it is so large, and begins a new one; 0: never.",
    }),
    rotateHours: setting(z.int().min(0).max(87_600), {
      default: 0,
      unit: "h",
      description: "Moves the file aside when its first line is so old; 0: never.",
    }),
    keepFiles: setting(z.int().min(1).max(10_000), {
      default: 10,
      description: "Number of older files that are kept; the oldest are deleted.",
    }),
    compress: setting(z.boolean(), {
      default: true,
      description: "Compresses older files with gzip; 'depthwatt energy' reads them all the same.",
    }),
  },
);

export type EnergySettings = Exact<z.infer<typeof energySettings>>;

export function brokenEnergy({ file }: EnergySettings): BrokenSetting[] {
  if (file === undefined || ENERGY_ENDINGS.some((ending) => file.endsWith(ending))) return [];
  return [
    { keys: ["file"], text: `expected a name that ends in ${ENERGY_ENDINGS.join(" or ")}, got ${file}` },
  ];
}
