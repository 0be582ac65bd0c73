// SPDX-License-Identifier: Apache-2.0
// From a profile to what the governor wants to know of each level: watts at the source's rate, and speed.

import type { Algorithm } from "../../cuda/index.js";
import { CLOCK_NAMES, type ClockTargets } from "../../power/index.js";
import { isWhole, type Profile } from "../profile/types.js";
import type { LevelFigures } from "./knowledge.js";
import type { QualityLevel } from "./ladder.js";

export interface Camera {
  width: number;
  height: number;
  /** Undefined: as many frames as can be computed. */
  rateHz: number | undefined;
  /** Default: any. */
  algorithm?: Algorithm;
  /** match.sgm.search; default: the faster one, as auto. */
  search?: string;
}

export const sameClocks = (a: ClockTargets, b: ClockTargets): boolean =>
  CLOCK_NAMES.every((name) => a[name] === b[name]);

/**
 * A profile measures at full speed; at a rate the machine rests between frames. Net energy per frame and idle power give
 * the watts there: idle + net joules per frame x frames per second. Levels the profile did not visit stay unknown.
 */
export function buildTable(
  profile: Profile,
  levels: readonly QualityLevel[],
  camera: Camera,
): LevelFigures[] {
  return levels.map((level) => {
    const matches = profile.results.filter(({ point }) => {
      const sameImage = point.width === camera.width && point.height === camera.height;
      const sameHalf = (point.halfResolution ?? false) === level.halfResolution;
      const samePaths = (level.parameters.paths ?? point.paths) === point.paths;
      const sameMatcher = (camera.algorithm ?? point.algorithm) === point.algorithm;
      const search = level.parameters.search ?? camera.search ?? "auto";
      const sameSearch = (search === "auto" || (point.search ?? "full") === search) && sameMatcher;
      const sameWork = sameSearch && samePaths && point.numDisparities === level.numDisparities;
      const sameMode = point.mode === level.mode && sameClocks(point.clockHertz ?? {}, level.clocks);
      const whole = point.rateHz === "max" && isWhole(point);
      return sameImage && sameHalf && sameWork && sameMode && whole;
    });
    const found = matches.toSorted((a, b) => b.fps - a.fps)[0];
    if (found === undefined) return {};
    const { power, fps: capacityFps } = found;
    if (
      !power.available ||
      typeof power.joulesPerFrameNet !== "number" ||
      typeof power.idleWatts !== "number"
    ) {
      return { capacityFps };
    }
    const fps = Math.min(capacityFps, camera.rateHz ?? capacityFps, level.rateHz ?? capacityFps);
    return { capacityFps, watts: power.idleWatts + power.joulesPerFrameNet * fps };
  });
}
