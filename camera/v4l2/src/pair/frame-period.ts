// SPDX-License-Identifier: Apache-2.0
// How long a camera's frame period really is: the median for pairing, a regression for the drift between two cameras.

const MEDIAN_OF = 9;
/** A nominal rate is believed unless the camera is faster than it by more than this. */
const FASTER = 0.8;
/** A pause longer than this many periods begins a new fit. */
const LONGEST_PAUSE = 50;
/** Fewer images than this say nothing about parts per million, and neither does a fit with a larger standard error. */
const FEWEST_FITTED = 60;
const LARGEST_ERROR_PPM = 50;

/** Line through (frame number, time since the fit's first frame): where we are, running means and centred sums. */
const FIT = {
  number: 0,
  timeNs: 1,
  meanNumber: 2,
  meanNs: 3,
  sumNumbers: 4,
  sumCross: 5,
  sumTimes: 6,
} as const;

/** Follows one camera's capture times; memory made once. */
export class FramePeriod {
  readonly #nominalNs: number | undefined;
  readonly #recentNs = new Float64Array(MEDIAN_OF);
  readonly #sortedNs = new Float64Array(MEDIAN_OF);
  #steps = 0;
  #lastNs: bigint | undefined;
  #periodNs: number | undefined;
  #fitted = 0;
  /** In an array because a field would allocate a number with each frame; FIT has the indices. */
  readonly #fit = new Float64Array(7);

  /** @param nominalNs what the camera says; undefined where it does not */
  constructor(nominalNs: number | undefined) {
    this.#nominalNs = nominalNs;
    this.#periodNs = nominalNs;
  }

  /** Frame period for pairing, ns; undefined until it can be known. */
  get periodNs(): number | undefined {
    return this.#periodNs;
  }

  /** Mean period since the fit began, ns; undefined before it is known to LARGEST_ERROR_PPM. */
  get fittedNs(): number | undefined {
    if (this.#fitted < FEWEST_FITTED) return undefined;
    const fit = this.#fit;
    const sumNumbers = fit[FIT.sumNumbers]!;
    const sumCross = fit[FIT.sumCross]!;
    const slopeNs = sumCross / sumNumbers;
    const residual = Math.max(0, fit[FIT.sumTimes]! - slopeNs * sumCross) / (this.#fitted - 2);
    const errorNs = Math.sqrt(residual / sumNumbers);
    return errorNs * 1e6 > LARGEST_ERROR_PPM * slopeNs ? undefined : slopeNs;
  }

  add(timestampNs: bigint): void {
    const lastNs = this.#lastNs;
    this.#lastNs = timestampNs;
    this.addStep(lastNs === undefined ? 0 : Number(timestampNs - lastNs));
  }

  /** @param stepNs capture time since the image before; 0 for the first */
  addStep(stepNs: number): void {
    if (stepNs > 0) this.#addToMedian(stepNs);
    this.#addToFit(stepNs);
  }

  #addToMedian(stepNs: number): void {
    this.#recentNs[this.#steps++ % MEDIAN_OF] = stepNs;
    const filled = Math.min(this.#steps, MEDIAN_OF);
    const sorted = filled === MEDIAN_OF ? this.#sortedNs : this.#sortedNs.subarray(0, filled);
    for (let i = 0; i < filled; i++) sorted[i] = this.#recentNs[i]!;
    sorted.sort();
    const medianNs = sorted[filled >> 1]!;
    const nominalNs = this.#nominalNs;
    this.#periodNs = nominalNs === undefined || medianNs < FASTER * nominalNs ? medianNs : nominalNs;
  }

  #addToFit(stepNs: number): void {
    const fit = this.#fit;
    const periodNs = this.#periodNs;
    if (stepNs <= 0 || periodNs === undefined || stepNs > LONGEST_PAUSE * periodNs) {
      this.#fitted = 0;
      fit.fill(0);
    } else {
      // By time and not by the driver's sequence number: some drivers do not count what they lose.
      fit[FIT.number] = fit[FIT.number]! + Math.max(1, Math.round(stepNs / periodNs));
      fit[FIT.timeNs] = fit[FIT.timeNs]! + stepNs;
    }
    this.#fitted++;
    const number = fit[FIT.number]!;
    const timeNs = fit[FIT.timeNs]!;
    const fromMean = number - fit[FIT.meanNumber]!;
    const meanNumber = fit[FIT.meanNumber]! + fromMean / this.#fitted;
    const fromMeanNs = timeNs - fit[FIT.meanNs]!;
    const meanNs = fit[FIT.meanNs]! + fromMeanNs / this.#fitted;
    fit[FIT.meanNumber] = meanNumber;
    fit[FIT.meanNs] = meanNs;
    fit[FIT.sumNumbers] = fit[FIT.sumNumbers]! + fromMean * (number - meanNumber);
    fit[FIT.sumCross] = fit[FIT.sumCross]! + fromMean * (timeNs - meanNs);
    fit[FIT.sumTimes] = fit[FIT.sumTimes]! + fromMeanNs * (timeNs - meanNs);
  }
}

/**
 * How much longer the right camera's period is than the left's, parts per million; undefined while it cannot be known
 * and for cameras whose rates differ on purpose.
 */
export function driftPpm(left: FramePeriod, right: FramePeriod): number | undefined {
  const leftNs = left.fittedNs;
  const rightNs = right.fittedNs;
  if (leftNs === undefined || rightNs === undefined) return undefined;
  const ratio = rightNs / leftNs;
  return Math.abs(ratio - 1) > 0.05 ? undefined : (ratio - 1) * 1e6;
}
