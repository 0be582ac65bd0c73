// SPDX-License-Identifier: Apache-2.0
// Parses numbers on the command line, and reports words that are not numbers.
import { InvalidArgumentError } from "commander";
import { DepthwattError } from "../../core/index.js";

/** Returns a parser of an option's argument: a whole number of `min` or more. */
export function wholeNumberFrom(min: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== "" && Number.isSafeInteger(value) && value >= min) return value;
    throw new InvalidArgumentError(`expected a whole number of ${min} or more`);
  };
}

/** Returns a parser of an option's argument: seconds above 0. */
export function secondsUpTo(max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (value > 0 && value <= max) return value;
    throw new InvalidArgumentError(`expected seconds, above 0 and up to ${max}`);
  };
}

/** @throws DepthwattError USAGE */
export function wholeNumber(flag: string, text: string, min: number, max: number): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new DepthwattError(
    "USAGE",
    `expected ${flag} to be a whole number from ${min} to ${max}, got "${text}"`,
  );
}

/** @throws DepthwattError USAGE */
export function numberBetween(flag: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (text.trim() !== "" && value >= min && value <= max) return value;
  throw new DepthwattError("USAGE", `expected ${flag} to be a number from ${min} to ${max}, got "${text}"`);
}

/** @throws DepthwattError USAGE */
export function positiveNumber(flag: string, text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value) && value > 0) return value;
  throw new DepthwattError("USAGE", `expected a number above 0 for ${flag}, got "${text}"`);
}
