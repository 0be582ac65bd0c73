// SPDX-License-Identifier: Apache-2.0
// A calibration as a reader returns it, before it is checked: numbers, each with the file and the key it was read from.
import { DepthwattError, type ErrorCode } from "../../core/index.js";
import type { CalibrationCorrection } from "./calibration.js";

/** Where a value stands. */
export interface Place {
  file: string;
  /** As the file writes it, such as "cam1.intrinsics" or "M1.data". */
  key: string;
}

export interface Located<T> extends Place {
  value: T;
}

export interface CameraDraft {
  name: string;
  file: string;
  /** 9 numbers, row-major. */
  K: Located<number[]>;
  /** The file's word for the lens model; undefined where the format does not say (then by the coefficients' count). */
  model: Located<string> | undefined;
  /** Absent = no distortion. */
  coefficients: Located<number[]> | undefined;
  size: Located<[number, number]> | undefined;
}

export type FormatName =
  | "OpenCV FileStorage"
  | "ROS camera_info"
  | "Kalibr camchain"
  | "Middlebury calib.txt"
  | "KITTI calibration"
  | "depthwatt JSON";

export interface OtherDraft {
  camera: CameraDraft;
  R: Located<number[]>;
  T: Located<number[]>;
}

export interface CalibrationDraft {
  format: FormatName;
  left: CameraDraft;
  right: CameraDraft;
  R: Located<number[]>;
  T: Located<number[]>;
  given:
    | { R1: Located<number[]>; R2: Located<number[]>; P1: Located<number[]>; P2: Located<number[]> }
    | undefined;
  /** Cameras next to the pair: x_camera = R x_left + T. */
  others?: readonly OtherDraft[] | undefined;
  corrections?: readonly CalibrationCorrection[] | undefined;
  /** Hint for the user when left and right are swapped in this format. */
  swapHint: string;
}

/** One file, parsed into plain objects by its syntax (YAML, XML or JSON), before its format is known. */
export interface ParsedFile {
  file: string;
  root: Record<string, unknown>;
}

interface Refusal extends Place {
  expected: string;
  found: string;
  code?: ErrorCode;
  hint?: string;
}

/** The one way a calibration is refused: file, key, expected, found. */
export function refusal({
  file,
  key,
  expected,
  found,
  code = "CALIBRATION_INVALID",
  hint,
}: Refusal): DepthwattError {
  return new DepthwattError(code, `${file}: ${key}: expected ${expected}, found ${found}.`, {
    ...(hint === undefined ? {} : { hint }),
    context: { file, key, expected, found },
  });
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Describes a value for an error message. */
export function describe(value: unknown): string {
  if (value === undefined || value === null) return "nothing";
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (isRecord(value)) return "a mapping";
  return typeof value === "string" ? `'${value.slice(0, 40)}'` : String(value);
}

const NOT_FINITE = /^([-+]?)\.?(nan|inf|infinity)$/i;

/** A number of a file. OpenCV writes ".Nan", which the YAML parser hands over as text; it stays a NaN for the check. */
export function readNumber(value: unknown, place: Place): number {
  if (typeof value === "number") return value;
  if (typeof value === "string") {
    const special = NOT_FINITE.exec(value.trim());
    if (special) return special[2]!.toLowerCase() === "nan" ? NaN : special[1] === "-" ? -Infinity : Infinity;
    if (value.trim() !== "" && Number.isFinite(Number(value))) return Number(value);
  }
  throw refusal({ ...place, expected: "a number", found: describe(value) });
}

/**
 * A matrix or list: {rows, cols, data}, nested lists, or one flat list. `counts` are the sizes that make sense.
 * @throws DepthwattError CALIBRATION_INVALID for a wrong size or a value that is not a finite number
 */
export function readNumbers(value: unknown, place: Place, counts: readonly number[]): Located<number[]> {
  let key = place.key;
  let list = value;
  if (isRecord(value)) {
    key = `${place.key}.data`;
    list = value.data;
    const { rows, cols } = value;
    if (
      Array.isArray(list) &&
      typeof rows === "number" &&
      typeof cols === "number" &&
      rows * cols !== list.length
    ) {
      const expected = `${rows * cols} numbers (${rows} rows of ${cols})`;
      throw refusal({ file: place.file, key, expected, found: `${list.length}` });
    }
  }
  const wanted = `${counts.join(" or ")} numbers`;
  if (!Array.isArray(list)) {
    throw refusal({ file: place.file, key: place.key, expected: wanted, found: describe(value) });
  }
  const flat = list.flat(3);
  const numbers = flat.map((entry, index) => {
    const here = { file: place.file, key: `${key}[${index}]` };
    const number = readNumber(entry, here);
    if (!Number.isFinite(number))
      throw refusal({ ...here, expected: "a finite number", found: String(number) });
    return number;
  });
  if (!counts.includes(numbers.length)) {
    throw refusal({ file: place.file, key, expected: wanted, found: `${numbers.length}` });
  }
  return { value: numbers, file: place.file, key };
}

/** An image size under two keys of one mapping. Undefined where neither is there. */
export function readSize(
  mapping: Record<string, unknown>,
  keys: readonly [string, string],
  file: string,
): Located<[number, number]> | undefined {
  const [widthKey, heightKey] = keys;
  if (mapping[widthKey] === undefined && mapping[heightKey] === undefined) return undefined;
  const read = (key: string): number => {
    const value = readNumber(mapping[key], { file, key });
    if (!Number.isInteger(value) || value < 1) {
      throw refusal({ file, key, expected: "a whole number of pixels", found: String(value) });
    }
    return value;
  };
  return { value: [read(widthKey), read(heightKey)], file, key: `${widthKey} x ${heightKey}` };
}
