// SPDX-License-Identifier: Apache-2.0
// From a profile to what the governor wants to know of each level: watts at the source's rate, and speed.
import type { Profile } from "../profile/types.js";
import type { LevelFigures } from "./knowledge.js";
import type { QualityLevel } from "./ladder.js";

/**
 * A profile measures at full speed; at a rate the machine rests between frames. Net energy per frame and idle power give
 * the watts there: idle + net joules per frame x frames per second. Levels the profile did not visit stay unknown.
 */
export function tableOf(
  profile: Profile,
  levels: readonly QualityLevel[],
  camera: { width: number; height: number; rateHz: number | undefined },
): LevelFigures[] {
  return levels.map((level) => {
    const width = Math.round(camera.width * level.scale);
    const height = Math.round(camera.height * level.scale);
    const found = profile.results.find(({ point }) => {
      const same = point.width === width && point.height === height && point.paths === level.paths;
      const whole = point.rateHz === "max" && point.without === undefined && point.mode === undefined;
      return same && whole && point.numDisparities === level.numDisparities;
    });
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
