// SPDX-License-Identifier: Apache-2.0
// A rectangle drawn on the picture, and the settings that it stands for.
import { changeSettings } from "../settings/changes.js";
import { change, pageState } from "../store.js";

export interface DrawnRegion {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Both corners belong to it. */
export function regionBetween(a: { x: number; y: number }, b: { x: number; y: number }): DrawnRegion {
  const [x, y] = [Math.min(a.x, b.x), Math.min(a.y, b.y)];
  return { x, y, width: Math.abs(a.x - b.x) + 1, height: Math.abs(a.y - b.y) + 1 };
}

/** A click without a drag means the whole picture again. */
export async function sendRegion(region: DrawnRegion): Promise<void> {
  const whole = region.width < 8 || region.height < 8;
  const { x, y, width, height } = whole ? { x: 0, y: 0, width: 0, height: 0 } : region;
  const values = { "region.x": x, "region.y": y, "region.width": width, "region.height": height };
  const answer = await changeSettings(values);
  if (answer.ok) return;
  const line = { timeMs: Date.now(), level: "warn", text: `${answer.message} ${answer.hint}` } as const;
  change({ log: [...pageState().log, line] });
}
