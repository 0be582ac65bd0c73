// SPDX-License-Identifier: Apache-2.0
// Draws the pictures that a profile computes on before anything is measured, so that drawing is in no figure.
import { type StereoCalibration, SyntheticSource } from "../../../camera/index.js";
import type { NativeAddon } from "../../contracts/native.js";

export interface DrawnPair {
  left: Uint8Array;
  right: Uint8Array;
}

export interface DrawnScene {
  pairs: DrawnPair[];
  calibration: StereoCalibration;
}

/** Draws `count` pairs of the built-in scene, rectified, grey. */
export async function drawPairs(
  native: NativeAddon,
  size: { width: number; height: number },
  count: number,
): Promise<DrawnScene> {
  const pairs: DrawnPair[] = [];
  const source = new SyntheticSource(native, {
    ...size,
    view: "ideal",
    noiseGrey: 1.2,
    rateHz: "max",
    frames: count,
  });
  await new Promise<void>((resolve, reject) => {
    source.start({
      onPair: (pair) => {
        pairs.push({ left: Uint8Array.from(pair.left.data), right: Uint8Array.from(pair.right.data) });
        pair.release();
      },
      onDegraded: () => {},
      onEnd: resolve,
      onError: reject,
    });
  });
  await source.stop();
  return { pairs, calibration: source.calibration };
}

/** Keeps the pictures of the newest size: a sweep stays at one size for long, and drawing takes seconds. */
export class SceneCache {
  #key = "";
  #scene: Promise<DrawnScene> | undefined;
  readonly #native: NativeAddon;
  readonly #count: number;

  constructor(native: NativeAddon, count: number) {
    this.#native = native;
    this.#count = count;
  }

  get(size: { width: number; height: number }): Promise<DrawnScene> {
    const key = `${size.width}x${size.height}`;
    if (this.#scene === undefined || key !== this.#key) {
      this.#key = key;
      this.#scene = drawPairs(this.#native, { width: size.width, height: size.height }, this.#count);
    }
    return this.#scene;
  }
}
