// SPDX-License-Identifier: Apache-2.0
// One entry of the energy log: frame rate, power and energy per frame over some seconds, and the conditions.
import type { Unavailable } from "./availability.js";

export interface EnergyRecord {
  /** End of the window, ISO 8601 in UTC. */
  time: string;
  seconds: number;
  /** Seconds of the window in which power.dutyCycle had the cameras closed. */
  asleepSeconds: number;
  /** Frames computed in the window. */
  frames: number;
  fps: number;
  /** Such as "sgm, 4 paths, 128 disparities". */
  matcher: string;
  /** Mean of the total over the window, idle power included. */
  watts: number | Unavailable;
  /** Expanded uncertainty of `watts`, k = 2; the sensor's gain error is not in it. */
  wattsUncertainty: number | Unavailable;
  wattsIdle: number | Unavailable;
  joules: number | Unavailable;
  joulesPerFrame: number | Unavailable;
  fpsPerWatt: number | Unavailable;
  /** Watts by rail. */
  rails: Record<string, number | Unavailable>;
  /** Power mode of the board. */
  mode: string | Unavailable;
  /** Clocks at the end of the window; that of the CPU is its fastest core's. */
  gpuMegahertz: number | Unavailable;
  emcMegahertz: number | Unavailable;
  cpuMegahertz: number | Unavailable;
  /** The hottest thermal zone. */
  temperatureCelsius: number | Unavailable;
  /** True if a counter of power or heat limits rose within the window. */
  throttled: boolean | Unavailable;
}
