// SPDX-License-Identifier: Apache-2.0
// Memory whose size comes from settings or from a picture's header: that there is none is an error in words.
import { DepthwattError } from "./errors.js";

/**
 * `bytes` zeros.
 * @param what the memory is for, as messages name it: "the results of a frame"
 * @throws DepthwattError MEMORY_EXHAUSTED
 */
export function allocate(bytes: number, what: string): ArrayBuffer {
  try {
    return new ArrayBuffer(bytes);
  } catch (cause) {
    throw new DepthwattError(
      "MEMORY_EXHAUSTED",
      `Expected ${Math.ceil(bytes / 1e6)} MB of memory for ${what}, the system gave none.`,
      { cause },
    );
  }
}
