// SPDX-License-Identifier: Apache-2.0
// Compares an image with the one before, on a sparse grid of samples.
import { type RawImage, sampleGreys } from "../../camera/index.js";
import { mean } from "../../core/index.js";

/** A sample that differs by more has changed, grey levels: far above a sensor's noise. */
const CHANGED_GREY = 16;
/** Share of the samples that must have changed. */
const CHANGED_SHARE = 0.005;

export class Motion {
  #before: Uint8Array | undefined;

  /** Returns whether the image differs from the one of the previous call; true for the first one and for another size. */
  changed(image: RawImage): boolean {
    const before = this.#before;
    const now = sampleGreys(image);
    this.#before = now;
    if (before === undefined || before.length !== now.length) return true;
    // Another exposure changes all samples alike.
    const shift = mean([...now]) - mean([...before]);
    const changed = now.filter((sample, i) => Math.abs(sample - before[i]! - shift) > CHANGED_GREY);
    return changed.length > CHANGED_SHARE * now.length;
  }
}
