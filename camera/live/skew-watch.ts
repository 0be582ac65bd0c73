// SPDX-License-Identifier: Apache-2.0
// Notices when the left and the right image are of different moments for long, and says in one sentence what to do. Pure.

/** Pairs and losses looked at together. */
const LOOKED_AT = 150;
const HIGH_PART_OF_PERIOD = 0.25;
const HIGH_PART_UNMATCHED = 0.2;

export interface SkewPolicy {
  /** The strict mode's limit; undefined where half a period is the window. */
  maxSkewMs: number | undefined;
  rephase: boolean;
}

export class SkewWatch {
  readonly #policy: SkewPolicy;
  #pairs = 0;
  #sumNs = 0;
  #unmatched = 0;
  #warned = false;

  constructor(policy: SkewPolicy) {
    this.#policy = policy;
  }

  addPair(skewNs: number, periodNs: number): string | undefined {
    this.#pairs++;
    this.#sumNs += Math.abs(skewNs);
    return this.#warning(periodNs);
  }

  addUnmatched(periodNs: number): string | undefined {
    this.#unmatched++;
    return this.#warning(periodNs);
  }

  /** The warning, once per stay in trouble. */
  #warning(periodNs: number): string | undefined {
    if (this.#pairs + this.#unmatched < LOOKED_AT) return undefined;
    const meanNs = this.#pairs === 0 ? 0 : this.#sumNs / this.#pairs;
    const high = meanNs > HIGH_PART_OF_PERIOD * periodNs;
    const lossy = this.#unmatched > HIGH_PART_UNMATCHED * (this.#pairs + this.#unmatched);
    const unmatchedPercent = Math.round((100 * this.#unmatched) / (this.#pairs + this.#unmatched));
    this.#pairs = this.#sumNs = this.#unmatched = 0;
    if (!high && !lossy) {
      this.#warned = false;
      return undefined;
    }
    if (this.#warned) return undefined;
    this.#warned = true;
    if (high) {
      const ms = (meanNs / 1e6).toFixed(1);
      const remedy = this.#policy.rephase
        ? "connect the cameras' trigger lines"
        : "connect the cameras' trigger lines, or set source.v4l2.rephase to true";
      return `The two images are ${ms} ms apart on average: moving objects get a wrong depth. To fix it, ${remedy}.`;
    }
    const limit =
      this.#policy.maxSkewMs === undefined
        ? ""
        : ` within source.v4l2.maxSkewMs (${this.#policy.maxSkewMs} ms)`;
    return `${unmatchedPercent} % of the images find no partner${limit}. Check that both cameras run at one rate and are triggered together.`;
  }
}
