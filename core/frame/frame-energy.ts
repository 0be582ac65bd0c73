// SPDX-License-Identifier: Apache-2.0
// The energy that a frame carries, and its place in the header.
import type { FieldType } from "./frame-format.js";

/** Energy between the capture times of two successive frames, idle power of the board included. */
export interface FrameEnergy {
  available: true;
  joules: number;
  /** Expanded uncertainty of `joules`, k = 2; unavailable if the sensor's step is unknown. */
  joulesUncertainty: number | { available: false; reason: string };
  /** Length of the interval. */
  seconds: number;
  /** From the end of the interval to the capture of the frame that carries it, milliseconds. */
  ageMs: number;
}

/** Fields of a header that carries energy, behind those of every header. */
export const ENERGY_FIELDS = {
  energyJoules: [96, 4, "f32"],
  energySeconds: [100, 4, "f32"],
  energyUncertainty: [104, 2, "u16"],
  energyAgeMs: [106, 2, "u16"],
} as const satisfies Record<string, readonly [number, number, FieldType]>;

/** Bytes of a header that carries energy. */
export const ENERGY_HEADER_BYTES = 108;

/** energyUncertainty: thousandths of the joules, or this value. */
const UNKNOWN_UNCERTAINTY = 0xffff;
/** The largest value that is one. */
const MAX_THOUSANDTHS = 0xfffe;
const MAX_AGE_MS = 0xffff;

const at = (field: keyof typeof ENERGY_FIELDS): number => ENERGY_FIELDS[field][0];

export function writeEnergy(view: DataView, energy: FrameEnergy): void {
  const { joules, joulesUncertainty, seconds, ageMs } = energy;
  const thousandths =
    typeof joulesUncertainty === "number"
      ? Math.min(MAX_THOUSANDTHS, Math.ceil((1000 * joulesUncertainty) / joules))
      : UNKNOWN_UNCERTAINTY;
  view.setFloat32(at("energyJoules"), joules, true);
  view.setFloat32(at("energySeconds"), seconds, true);
  view.setUint16(at("energyUncertainty"), thousandths, true);
  view.setUint16(at("energyAgeMs"), Math.min(MAX_AGE_MS, Math.max(0, Math.round(ageMs))), true);
}

/** Returns undefined for values that are no energy. */
export function readEnergy(view: DataView): FrameEnergy | undefined {
  const joules = view.getFloat32(at("energyJoules"), true);
  const seconds = view.getFloat32(at("energySeconds"), true);
  if (!(joules > 0 && joules < Infinity && seconds > 0 && seconds < Infinity)) return undefined;
  const thousandths = view.getUint16(at("energyUncertainty"), true);
  const joulesUncertainty =
    thousandths === UNKNOWN_UNCERTAINTY
      ? ({ available: false, reason: "the step of the publisher's sensor is unknown" } as const)
      : (joules * thousandths) / 1000;
  const ageMs = view.getUint16(at("energyAgeMs"), true);
  return { available: true, joules, joulesUncertainty, seconds, ageMs };
}
