// SPDX-License-Identifier: Apache-2.0
// Estimates each level's watts and speed: from a profile, from observation, or only from its work. Watts are kept as
// differences between levels, because heat and other programs move all levels together.
import { type GovernorLevel, relativeWork } from "./ladder.js";

/** Watts and frames per second of a level, as a profile gives them; undefined = not in the profile. */
export interface LevelFigures {
  watts?: number;
  capacityFps?: number;
}

/** How much of a surprise on arriving at a level is held against what was known of it. */
const LEARNING = 0.3;
/** How fast the common part follows: two observations take in nine tenths of a change. */
const FOLLOWING = 0.7;

export class Knowledge {
  readonly #levels: readonly GovernorLevel[];
  readonly #watts: (number | undefined)[];
  readonly #capacity: (number | undefined)[];
  /** Watts drawn now beyond the known ones, at any level. */
  #common = 0;
  #lastLevel: number | undefined;

  constructor(levels: readonly GovernorLevel[], table: readonly LevelFigures[] = []) {
    this.#levels = levels;
    this.#watts = levels.map((_, i) => table[i]?.watts);
    this.#capacity = levels.map((_, i) => table[i]?.capacityFps);
  }

  /** Learns from a settled observation at `level`. */
  learn(level: number, watts: number | undefined, capacityFps: number | undefined): void {
    if (watts !== undefined) {
      const before = this.#watts[level];
      if (before === undefined) {
        this.#watts[level] = watts - this.#common;
      } else {
        const surprise = watts - before - this.#common;
        if (this.#lastLevel !== level) this.#watts[level] = before + LEARNING * surprise;
        this.#common += FOLLOWING * (watts - this.#watts[level]! - this.#common);
      }
      this.#lastLevel = level;
    }
    if (capacityFps !== undefined) {
      const before = this.#capacity[level];
      this.#capacity[level] = before === undefined ? capacityFps : before + LEARNING * (capacityFps - before);
    }
  }

  /** Watts that `level` would draw now; undefined where it was never seen and no profile knows it. */
  watts(level: number): number | undefined {
    const known = this.#watts[level];
    return known === undefined ? undefined : known + this.#common;
  }

  /** Watts that `target` would draw now, while `level` draws `watts`. Undefined while one of them is unknown. */
  predictWatts(level: number, target: number, watts: number): number | undefined {
    const [here, there] = [this.#watts[level], this.#watts[target]];
    return here === undefined || there === undefined ? undefined : watts + (there - here);
  }

  /** Frames per second that `target` could compute now; by the work of both where it was never seen. */
  predictCapacity(level: number, target: number, capacityFps: number): number {
    const [here, there] = [this.#capacity[level], this.#capacity[target]];
    if (here !== undefined && there !== undefined) return (capacityFps * there) / here;
    return (capacityFps * relativeWork(this.#levels[level]!)) / relativeWork(this.#levels[target]!);
  }
}
