// SPDX-License-Identifier: Apache-2.0
// The shape of power figures in metrics and summaries: a number, or the reason why there is none.
import type { ContextSnapshot } from "./context.js";
import type { SamplerCost } from "./native.js";
import type { Unavailable } from "./sensor.js";
import type { RailEnergy } from "./series.js";

export type Figure = number | Unavailable;

export interface RailFigure {
  available: true;
  watts: number;
  joules: number;
  /** Expanded uncertainty of `watts`, k = 2, without the sensor's gain error; unavailable if its step is unknown. */
  wattsUncertainty: Figure;
  samples: number;
}

export interface PowerReport {
  available: true;
  /** Describes the total and why it is the total, in one sentence. */
  reason: string;
  sensor: string;
  /** Mean power of the total over the window, idle included. */
  watts: number;
  /**
   * Expanded uncertainty of `watts`, k = 2 (about 95 %): step size and sampling, not the sensor's gain error. Unavailable
   * if the sensor's step is unknown.
   */
  wattsUncertainty: Figure;
  /** Idle power, measured before on request; never subtracted from `watts`. */
  idleWatts: Figure;
  joules: number;
  /** Gross: total energy over frames captured in the window. */
  joulesPerFrame: Figure;
  /** Net: as above without the idle power. */
  joulesPerFrameNet: Figure;
  fpsPerWatt: Figure;
  /** Millions of disparity evaluations (width x height x disparities) per joule. */
  mdePerJoule: Figure;
  rails: Record<string, RailFigure | Unavailable>;
  windowSeconds: number;
  frames: number;
  sampling: SamplingFigures;
  context: ContextSnapshot | Unavailable;
  /** Changes inside the window (power mode, clocks, cores), so that it is not one operating point; empty = steady. */
  changed: string[];
}

export interface SamplingFigures {
  /** Readings per second asked for, and how many the sensor can renew. */
  rateHz: number;
  /** The reader: the native thread or a JavaScript timer. */
  by: "native thread" | "timer";
  /** CPU time of the reading thread in percent of one core: its own code, */
  userPercent: Figure;
  /** the kernel and the bus drivers (or NVML) while they read, */
  busReadPercent: Figure;
  /** and the kernel's timer and scheduler, which wake it up. */
  timerPercent: Figure;
}

/** As PowerReport, or why there is no total; rails that could be read are shown all the same. */
export type PowerFigures = PowerReport | (Unavailable & { rails?: Record<string, RailFigure | Unavailable> });

/** Rail energy as people read it: expanded uncertainty instead of one sigma. */
export function railFigure(energy: RailEnergy | Unavailable): RailFigure | Unavailable {
  if (!energy.available) return energy;
  const { watts, joules, samples } = energy;
  return { available: true, watts, joules, wattsUncertainty: expandedUncertainty(energy), samples };
}

/** Returns the uncertainty of a window's watts with k = 2. */
export function expandedUncertainty({ wattsStandardUncertainty }: RailEnergy): Figure {
  return typeof wattsStandardUncertainty === "number"
    ? 2 * wattsStandardUncertainty
    : wattsStandardUncertainty;
}

const missing = (reason: string): Unavailable => ({ available: false, reason });

/** The figures of one frame, gross and net, or why there are none. */
export function perFrame(window: {
  frames: number;
  seconds: number;
  watts: number;
  idleWatts: Figure;
  megaDisparities: number | undefined;
}): Pick<PowerReport, "joulesPerFrame" | "joulesPerFrameNet" | "fpsPerWatt" | "mdePerJoule"> {
  const { frames, seconds, watts, idleWatts, megaDisparities } = window;
  if (frames === 0) {
    const none = missing("no frame was captured in the window");
    return { joulesPerFrame: none, joulesPerFrameNet: none, fpsPerWatt: none, mdePerJoule: none };
  }
  const fps = frames / seconds;
  const perWatt = (perSecond: number): Figure =>
    watts > 0 ? perSecond / watts : missing("the power of the window is not above zero");
  return {
    joulesPerFrame: watts / fps,
    joulesPerFrameNet: typeof idleWatts === "number" ? (watts - idleWatts) / fps : idleWatts,
    fpsPerWatt: perWatt(fps),
    mdePerJoule:
      megaDisparities === undefined
        ? missing("the number of disparities per frame was not given")
        : perWatt(megaDisparities * fps),
  };
}

/** Returns the cost of reading; `cost` is the native thread's, undefined if a timer reads. */
export function samplingFigures(rateHz: number, cost: SamplerCost | undefined): SamplingFigures {
  if (cost === undefined) {
    const why = missing(
      "readings are taken on the JavaScript thread, whose time is shared with everything else",
    );
    return { rateHz, by: "timer", userPercent: why, busReadPercent: why, timerPercent: why };
  }
  const percent = (seconds: number): number => (100 * seconds) / cost.wallSeconds;
  return {
    rateHz,
    by: "native thread",
    userPercent: percent(cost.ownSeconds),
    busReadPercent: percent(cost.readSeconds),
    timerPercent: percent(cost.timerSeconds),
  };
}
