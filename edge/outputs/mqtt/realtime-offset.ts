// SPDX-License-Identifier: Apache-2.0
// From the clock of a capture time to the time since 1970.
import type { ComputedFrame } from "../../contracts/computed-frame.js";
import { loadNative } from "../../contracts/native.js";

/** Add to CLOCK_MONOTONIC to get nanoseconds since 1970; renewed once a second, since the realtime clock is steered. */
export class RealtimeOffset {
  #offsetNs = 0n;
  #readAtMs = Number.NEGATIVE_INFINITY;

  get monotonicToRealtimeNs(): bigint {
    const now = performance.now();
    if (now - this.#readAtMs > 1000) {
      const { monotonicNs, realtimeNs } = loadNative().clocks();
      this.#offsetNs = realtimeNs - monotonicNs;
      this.#readAtMs = now;
    }
    return this.#offsetNs;
  }

  /** undefined for recordings, whose times belong to no clock here. */
  of(clock: ComputedFrame["clock"]): bigint | undefined {
    if (clock === "file") return undefined;
    return clock === "realtime" ? 0n : this.monotonicToRealtimeNs;
  }
}
