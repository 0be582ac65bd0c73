// SPDX-License-Identifier: Apache-2.0
// Represents unknown values as {available: false, reason}: never 0 and never missing.
import type { Unavailable } from "../../power/index.js";

export type { Unavailable } from "../../power/index.js";

/** `value`, or Unavailable with `reason` where it is undefined. */
export function orUnavailable<T>(value: T | undefined, reason: string): T | Unavailable {
  return value === undefined ? { available: false, reason } : value;
}
