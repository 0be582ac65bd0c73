// SPDX-License-Identifier: Apache-2.0
// The source "v4l2": two cameras, or one that has both images side by side.
import type { z } from "zod";
import { loadVideo, openV4l2Source } from "../../../camera/index.js";
import { brokenPlaces } from "../../contracts/image-places.js";
import type { Exact } from "../../contracts/setting.js";
import { type BrokenSetting, defineSource } from "../../contracts/source.js";
import { measureDecoding } from "./measure-decoding.js";
import { v4l2Settings } from "./settings.js";

/** Expects another device than the pair's. */
function brokenOther(
  { left, right, sideBySide, other: { device } }: Exact<z.infer<typeof v4l2Settings>>,
  section: string,
): BrokenSetting | undefined {
  const places = { left, right, sideBySide };
  const name = (Object.keys(places) as (keyof typeof places)[]).find((one) => places[one] === device);
  if (device === undefined || name === undefined) return undefined;
  return {
    keys: [`${section}.other.device`, `${section}.${name}`],
    text: `expected another device than ${section}.${name}, got ${device}`,
  };
}

export const v4l2 = defineSource({
  summary: "cameras",
  settings: v4l2Settings,
  takesPath: (path) => path.startsWith("/dev/"),
  broken: (settings, section) => brokenPlaces(settings, section) ?? brokenOther(settings, section),
  async open({ rateHz, other: { device, rateHz: otherHz, ...other }, ...settings }, { colours }) {
    const video = loadVideo();
    const warnings: string[] = [];
    const source = await openV4l2Source(
      {
        ...settings,
        colours,
        ...(rateHz !== "max" && { rateHz }),
        ...(device !== undefined && {
          other: { device, ...other, ...(otherHz !== "max" && { rateHz: otherHz }) },
        }),
      },
      { video, clocks: () => video.clocks(), measureDecoding, onNote: (note) => warnings.push(note) },
    );
    return { source, warnings };
  },
});
