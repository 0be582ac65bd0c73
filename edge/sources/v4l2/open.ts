// SPDX-License-Identifier: Apache-2.0
// The source "v4l2": two cameras, or one that has both images side by side.
import { loadVideo, openV4l2Source } from "../../../camera/index.js";
import { brokenPlaces } from "../../contracts/image-places.js";
import { defineSource } from "../../contracts/source.js";
import { measureDecoding } from "./measure-decoding.js";
import { v4l2Settings } from "./settings.js";

export const v4l2 = defineSource({
  summary: "cameras",
  settings: v4l2Settings,
  takesPath: (path) => path.startsWith("/dev/"),
  broken: brokenPlaces,
  async open({ rateHz, ...settings }, { colours }) {
    const video = loadVideo();
    const warnings: string[] = [];
    const source = await openV4l2Source(
      { ...settings, colours, ...(rateHz !== "max" && { rateHz }) },
      { video, clocks: () => video.clocks(), measureDecoding, onNote: (note) => warnings.push(note) },
    );
    return { source, warnings };
  },
});
