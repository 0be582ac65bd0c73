// SPDX-License-Identifier: Apache-2.0
// Automatic exposure for sensors that have none: one exposure time and one gain for both cameras, from the left image. Pure.

export interface ExposureLimits {
  /** Exposure time in the driver's steps; the unit does not matter to the control, only that light is proportional. */
  minExposure: number;
  maxExposure: number;
  /** Gain in the driver's steps. */
  minGain: number;
  maxGain: number;
  /** Factor of brightness that a gain gives, 1 at minGain. */
  gainFactor(gain: number): number;
}

export interface ExposureSetting {
  exposure: number;
  gain: number;
}

/** Mean grey aimed at, of 255: dark enough that highlights keep their texture. */
const TARGET = 105;
/** Nothing is changed while the mean lies within this factor of the target. */
const DEAD_BAND = 1.12;
/** Once it left the dead band, control continues until it is this near: without the gap it would flutter at the edge. */
const SETTLED = 1.04;
/** The brightest part of the image, and the grey it should stay at or below, at any mean. */
const BRIGHT_PART = 0.05;
const HIGHLIGHT = 240;
const CLIPPED = 250;
/** Part of the logarithmic distance made up in one step; the rest waits for the next look. */
const DAMPING = 0.7;
const LARGEST_STEP = 4;

/**
 * Exposure first, gain when exposure is at its end. After each change it ignores images until the sensor shows it:
 * acting on an old image is what makes such controls swing.
 */
export class ExposureController {
  readonly #limits: ExposureLimits;
  readonly #delayFrames: number;
  #setting: ExposureSetting;
  #ignore = 0;
  #adjusting = true;

  /** @param delayFrames images between writing a setting and seeing it, plus one; sensors take 2 to 4 */
  constructor(limits: ExposureLimits, start: ExposureSetting, delayFrames = 4) {
    this.#limits = limits;
    this.#setting = this.#clamp(start);
    this.#delayFrames = delayFrames;
  }

  get setting(): ExposureSetting {
    return this.#setting;
  }

  /** True for an image that does not show the last setting yet: leave it out. Call once per image. */
  waits(): boolean {
    if (this.#ignore === 0) return false;
    this.#ignore--;
    return true;
  }

  /**
   * @param histogram counts of grey 0 to 255, any number of samples
   * @returns what to set on both cameras, or undefined where all is well
   */
  update(histogram: ArrayLike<number>): ExposureSetting | undefined {
    const factor = wantedFactor(histogram);
    const distance = Math.max(factor, 1 / factor);
    if (distance > DEAD_BAND) this.#adjusting = true;
    if (!this.#adjusting) return undefined;
    if (distance < SETTLED) {
      this.#adjusting = false;
      return undefined;
    }
    const next = this.#scaled(Math.min(LARGEST_STEP, Math.max(1 / LARGEST_STEP, factor)) ** DAMPING);
    if (next.exposure === this.#setting.exposure && next.gain === this.#setting.gain) {
      this.#adjusting = false;
      return undefined;
    }
    this.#setting = next;
    this.#ignore = this.#delayFrames;
    return next;
  }

  /** The setting whose light is `factor` times the present one: least gain, then exposure to match. */
  #scaled(factor: number): ExposureSetting {
    const { maxExposure, minGain, maxGain, gainFactor } = this.#limits;
    const light = this.#setting.exposure * gainFactor(this.#setting.gain) * factor;
    let gain = minGain;
    if (light > maxExposure) {
      while (gain < maxGain && maxExposure * gainFactor(gain) < light) gain++;
    }
    return this.#clamp({ exposure: Math.round(light / gainFactor(gain)), gain });
  }

  #clamp({ exposure, gain }: ExposureSetting): ExposureSetting {
    const { minExposure, maxExposure, minGain, maxGain } = this.#limits;
    return {
      exposure: Math.min(maxExposure, Math.max(minExposure, exposure)),
      gain: Math.min(maxGain, Math.max(minGain, gain)),
    };
  }
}

/** By how much the light should change: the mean to its target, unless that would wash out the brightest part. */
function wantedFactor(histogram: ArrayLike<number>): number {
  let count = 0;
  let sum = 0;
  for (let grey = 0; grey < histogram.length; grey++) {
    count += histogram[grey]!;
    sum += histogram[grey]! * grey;
  }
  if (count === 0) return 1;
  let highlight = histogram.length - 1;
  for (let above = histogram[highlight]!; above <= BRIGHT_PART * count && highlight > 0; ) {
    above += histogram[--highlight]!;
  }
  const byMean = TARGET / Math.max(sum / count, 1);
  // A clipped highlight does not say how bright it is: step down and look again.
  const byHighlight = highlight >= CLIPPED ? 0.6 : HIGHLIGHT / Math.max(highlight, 1);
  return Math.min(byMean, byHighlight);
}
