// SPDX-License-Identifier: Apache-2.0
// Parses the requested camera controls, for one camera or both, and copies the left camera's values to the right one.
import { controlName } from "v4l2-camera";
import type { AppliedControl, CameraControls, Side } from "v4l2-camera/parts";
import { DepthwattError } from "../../core/index.js";

/** One request such as exposure_time_absolute=100; without a side it is for both cameras. */
export interface RequestedControl {
  side: Side | undefined;
  name: string;
  /** A number, true or false, or the name of a menu's entry. */
  value: string;
}

/** Reads "auto_exposure=1, left.gain=20". @throws DepthwattError CONFIG_INVALID */
export function parseControls(text: string): RequestedControl[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "")
    .map((part) => {
      const match = /^(?:(left|right)\.)?([^=]+)=(.+)$/.exec(part);
      if (!match) {
        throw new DepthwattError(
          "CONFIG_INVALID",
          `Expected NAME=VALUE pairs separated by commas for source.v4l2.controls, got "${part}".`,
          { hint: "For example: auto_exposure=1,exposure_time_absolute=100,right.gain=20" },
        );
      }
      return { side: match[1] as Side | undefined, name: controlName(match[2]!), value: match[3]!.trim() };
    });
}

/** Controls that make one camera brighter or of another colour than the other, under the names that drivers use. */
export const LOCKED_CONTROLS = [
  "exposure_time_absolute",
  "exposure_absolute",
  "exposure",
  "gain",
  "analogue_gain",
  "digital_gain",
  "white_balance_temperature",
  "red_balance",
  "blue_balance",
  "brightness",
  "contrast",
  "gamma",
];

/**
 * Gives the right camera the left one's value of every locked control that both have, that differs, that is in effect
 * and that is not requested for a single camera.
 */
export function lockRightToLeft(
  left: CameraControls,
  right: CameraControls,
  requested: readonly RequestedControl[],
): AppliedControl[] {
  const single = new Set(requested.filter(({ side }) => side !== undefined).map(({ name }) => name));
  return LOCKED_CONTROLS.flatMap((name) => {
    const control = right.find(name);
    const wanted = left.read(name);
    if (single.has(name) || !control?.writable || control.inactive || wanted === undefined) return [];
    return right.read(name) === wanted ? [] : [right.apply(name, wanted)];
  });
}
