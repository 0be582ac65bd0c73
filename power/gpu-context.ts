// SPDX-License-Identifier: Apache-2.0
// The conditions of a GPU board next to those of the machine: what NVML says of clocks, heat and limits.
import type { ContextSnapshot } from "./context.js";
import type { NvmlBinding } from "./native.js";

/** nvmlClocksThrottleReason bits that mean a limit was met; idle (1) and clocks set by a user (2) do not. */
const LIMITED = 4 | 8 | 32 | 64 | 128;

/**
 * Adds a GPU to every snapshot: its clocks, temperature, and a count of the snapshots in which it was held back.
 * @param device NVML's index
 */
export function withGpu(
  read: () => ContextSnapshot,
  native: NvmlBinding,
  device: number,
): () => ContextSnapshot {
  let limited = 0;
  return () => {
    const snapshot = read();
    const gpu = native.nvmlRead(device);
    const name = `GPU${device}`;
    if (typeof gpu.smClockMegahertz === "number") snapshot.gpuMegahertz = gpu.smClockMegahertz;
    if (typeof gpu.memoryClockMegahertz === "number") snapshot.emcMegahertz = gpu.memoryClockMegahertz;
    if (typeof gpu.temperatureCelsius === "number")
      snapshot.temperaturesCelsius[name] = gpu.temperatureCelsius;
    if (typeof gpu.throttleReasons === "number") {
      if ((gpu.throttleReasons & LIMITED) !== 0) limited++;
      snapshot.throttle[`${name}/limited_snapshots`] = limited;
    }
    return snapshot;
  };
}
