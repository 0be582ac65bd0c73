// SPDX-License-Identifier: Apache-2.0
// Free-running cameras expose out of step: when that is worth a restart of the right stream, and at what moment. Pure.

/** Pairs looked at before each decision. */
const PAIRS_PER_DECISION = 30;
/** A skew below both is left alone: an attempt costs half a second of pairs. */
const WORTH_NS = 1_500_000;
const WORTH_OF_PERIOD = 0.08;
const MAX_ATTEMPTS = 4;
/** The restart must lie this far ahead, so that the command reaches the camera's thread in time. */
const LEAD_NS = 30_000_000;

export type RephaseDecision =
  | { kind: "wait" }
  | { kind: "good"; skewNs: number }
  /** Switch the right stream on at this time, CLOCK_MONOTONIC. */
  | { kind: "restart"; atNs: number }
  | { kind: "givenUp"; skewNs: number };

/** Skew of two periodic streams at its shortest: in (-period / 2, period / 2]. */
export function wrapPhase(skewNs: number, periodNs: number): number {
  const wrapped = skewNs - periodNs * Math.round(skewNs / periodNs);
  return wrapped <= -periodNs / 2 ? wrapped + periodNs : wrapped;
}

export class Rephaser {
  readonly #skewsNs = new Float64Array(PAIRS_PER_DECISION);
  #count = 0;
  #attempts = 0;
  #done = false;
  /** Where the first image really stood, against where it was aimed at: learned from the last attempt. */
  #aimErrorNs = 0;

  /**
   * @param skewNs right minus left of the newest pair
   * @param leftNs capture time of its left image
   * @param nowNs CLOCK_MONOTONIC
   * @param startLatencyNs from switching the right stream on to the capture time of its first image, as last seen
   */
  add(
    skewNs: number,
    leftNs: number,
    nowNs: number,
    periodNs: number,
    startLatencyNs: number,
  ): RephaseDecision {
    if (this.#done) return { kind: "wait" };
    this.#skewsNs[this.#count++ % PAIRS_PER_DECISION] = wrapPhase(skewNs, periodNs);
    if (this.#count < PAIRS_PER_DECISION) return { kind: "wait" };
    this.#count = 0;
    const sorted = this.#skewsNs.slice().sort();
    const medianNs = sorted[PAIRS_PER_DECISION >> 1]!;
    if (Math.abs(medianNs) < Math.max(WORTH_NS, WORTH_OF_PERIOD * periodNs)) {
      this.#done = true;
      return { kind: "good", skewNs: medianNs };
    }
    if (this.#attempts === MAX_ATTEMPTS) {
      this.#done = true;
      return { kind: "givenUp", skewNs: medianNs };
    }
    if (this.#attempts++ > 0) this.#aimErrorNs = wrapPhase(this.#aimErrorNs + medianNs, periodNs);
    const earliestNs = nowNs + LEAD_NS;
    const aimNs = leftNs - startLatencyNs - this.#aimErrorNs;
    return { kind: "restart", atNs: aimNs + periodNs * Math.ceil((earliestNs - aimNs) / periodNs) };
  }
}
