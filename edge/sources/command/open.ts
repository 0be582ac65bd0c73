// SPDX-License-Identifier: Apache-2.0
// The source "command": any program as a camera.
import { openCommandSource, splitCommand } from "../../../camera/index.js";
import { isDepthwattError, printable, redactUrl } from "../../../core/index.js";
import { brokenPlaces, pickPlaces } from "../../contracts/image-places.js";
import { type BrokenSetting, defineSource } from "../../contracts/source.js";
import { argusProblem, argusWatch, checkArgus, usesArgus } from "./argus.js";
import { commandSettings } from "./settings.js";

/** Messages of a camera's program may hold the password of its URL. */
const clean = (line: string) => redactUrl(printable(line));

export const command = defineSource({
  summary: "programs such as ffmpeg and GStreamer",
  settings: commandSettings,
  broken(settings, section): BrokenSetting | undefined {
    const { format, width, height, rateHz, shell } = settings;
    const broken = brokenPlaces(settings, section);
    if (broken) return broken;
    const given = Object.entries({ width, height, rateHz }).filter(([, value]) => value !== undefined);
    const keys = given.map(([name]) => `${section}.${name}`);
    if (format === "y4m" && keys.length > 0)
      return { keys, text: `expected no ${keys[0]} with y4m, which brings its own, got ${given[0]![1]}` };
    if (format !== "y4m" && (width === undefined || height === undefined)) {
      const text = `expected ${section}.width and ${section}.height with ${format}, got ${keys.join(" and ") || "neither"}`;
      return { keys: [`${section}.format`], text };
    }
    for (const [name, line] of Object.entries(pickPlaces(settings))) {
      try {
        if (!shell) splitCommand(line);
      } catch (error) {
        if (!isDepthwattError(error)) throw error;
        return { keys: [`${section}.${name}`], text: `${section}.${name}: ${error.message}` };
      }
    }
    return undefined;
  },
  open: async (settings, { colours }) => {
    const all = { ...settings, colours, clean };
    if (!settings.live || !Object.values(pickPlaces(settings)).some(usesArgus))
      return { source: await openCommandSource(all) };
    checkArgus();
    try {
      return { source: await openCommandSource({ ...all, giveUp: argusWatch() }) };
    } catch (error) {
      throw (await argusProblem()) ?? error;
    }
  },
});
