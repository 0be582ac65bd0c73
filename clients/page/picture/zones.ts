// SPDX-License-Identifier: Apache-2.0
// The zones of the derived topics as the page draws them: polygons in shares of the picture, in the words of their setting.
import {
  type ControlAnswer,
  nearestIn,
  type Point,
  parseZones,
  polygonSpans,
  type Zone,
} from "../../../edge/outputs/viewer/protocol.js";
import type { FrameSet } from "../frame-set.js";
import { changeSettings } from "../settings/changes.js";
import { type Control, controlNow, pageState } from "../store.js";

import { meant } from "./colourise.js";

export type { Point, Zone };

const KEY = "outputs.derived.zones";
const ALARMS_KEY = "outputs.derived.alarms";
export const MIN_PIXELS_KEY = "outputs.derived.minPixels";

/**
 * Returns the distance of a zone as the device publishes it, metres; NaN: fewer than `minPixels` were matched; undefined:
 * depth or confidence is missing.
 */
export function nearestInZone(set: FrameSet, { corners }: Zone, minPixels: number): number | undefined {
  const { depth, confidence } = set.pictures;
  if (!depth || !confidence || confidence.counts.length !== depth.counts.length) return undefined;
  const { width, height } = depth.header;
  if (!(depth.counts instanceof Uint16Array && confidence.counts instanceof Uint8Array)) return undefined;
  const picture = { width, height, depthMillimetres: depth.counts, confidence: confidence.counts };
  const { nearestMillimetres } = nearestIn(picture, polygonSpans(corners, width, height), minPixels);
  return nearestMillimetres === undefined ? Number.NaN : meant(depth.header, nearestMillimetres);
}

/** Returns the current zones; undefined: this device has no such setting, or does not publish it. */
export function zonesFrom({ settings, values }: Control): readonly Zone[] | undefined {
  if (!settings.some(({ key }) => key === KEY)) return undefined;
  const text = values[KEY];
  const zones = typeof text === "string" ? parseZones(text) : [];
  return typeof zones === "string" ? [] : zones;
}

/** Returns whether the user has drawn the zones; the device's default zone needs no place in the picture. */
export function hasOwnZones({ settings, values }: Control): boolean {
  const setting = settings.find(({ key }) => key === KEY);
  return setting !== undefined && values[KEY] !== setting.default;
}

/** The first of zone-1, zone-2, ... that no zone has. */
export function freeName(zones: readonly Zone[]): string {
  for (let number = 1; ; number++) {
    const name = `zone-${number}`;
    if (zones.every((zone) => zone.name !== name)) return name;
  }
}

const share = (value: number) => Math.round(1e4 * Math.min(1, Math.max(0, value))) / 1e4;

export function zoneText({ name, corners }: Zone): string {
  return `${name} ${corners.map(({ x, y }) => `${share(x)},${share(y)}`).join(" ")}`;
}

/** Without zones the setting has no value. */
function send(zones: readonly Zone[], more: Record<string, string | null> = {}): Promise<ControlAnswer> {
  return changeSettings({ [KEY]: zones.length === 0 ? null : zones.map(zoneText).join("; "), ...more });
}

const held = () => zonesFrom(controlNow(pageState())) ?? [];

/** Adds a zone, or replaces the one of the same name. The device reports errors of a polygon. */
export const addZone = (zone: Zone): Promise<ControlAnswer> =>
  send([...held().filter(({ name }) => name !== zone.name), zone]);

/** Removes a zone and its alarm. */
export function removeZone(name: string): Promise<ControlAnswer> {
  const alarms = controlNow(pageState()).values[ALARMS_KEY];
  const parts = typeof alarms === "string" ? alarms.split(";") : [];
  const kept = parts.filter((part) => part.trim().split(/\s+/)[0] !== name);
  const zones = held().filter((zone) => zone.name !== name);
  return send(zones, kept.length < parts.length ? { [ALARMS_KEY]: kept.join(";").trim() || null } : {});
}
