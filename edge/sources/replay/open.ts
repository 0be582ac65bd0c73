// SPDX-License-Identifier: Apache-2.0
// The source "replay": images on disk, played at a rate or as fast as they are taken.
import { openReplaySource } from "../../../camera/index.js";
import { brokenPlaces, pickPlaces } from "../../contracts/image-places.js";
import { defineSource } from "../../contracts/source.js";
import { replaySettings } from "./settings.js";

export const replay = defineSource({
  summary: "images on disk",
  settings: replaySettings,
  isRecording: true,
  broken: brokenPlaces,
  async open(settings, { colours }) {
    const { rateHz, loop, timestamps } = settings;
    return { source: await openReplaySource({ ...pickPlaces(settings), rateHz, loop, timestamps, colours }) };
  },
});
