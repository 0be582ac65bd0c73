// SPDX-License-Identifier: Apache-2.0
// The synthetic pair of Yu et al. 2010, fig. 7: disparity grows from 0 at the left border to 64 at the right one.
import type { Scene } from "../../eval/index.js";

const LARGEST = 64;

/** Renders the right view of a left one, pixel by pixel: linear between two pixels, rounded. */
function renderRight(left: Uint8Array, width: number, height: number, channels: number): Uint8Array {
  const right = new Uint8Array(left.length);
  for (let x = 0; x < width; x++) {
    const at = Math.min(width - 1, x / (1 - LARGEST / (width - 1)));
    const whole = Math.min(width - 2, Math.floor(at));
    for (let y = 0; y < height; y++) {
      for (let c = 0; c < channels; c++) {
        const [a, b] = [0, 1].map((step) => left[channels * (y * width + whole + step) + c]!) as [
          number,
          number,
        ];
        right[channels * (y * width + x) + c] = Math.round(a + (b - a) * (at - whole));
      }
    }
  }
  return right;
}

/** Makes the ramp's pair from a scene's left image. */
export function rampScene(scene: Scene): Scene {
  const { left, format, width, height } = scene;
  const truth = Float32Array.from(
    { length: width * height },
    (_, i) => (LARGEST * (i % width)) / (width - 1),
  );
  return {
    ...scene,
    right: renderRight(left, width, height, format === "RGB8" ? 3 : 1),
    truth,
    masks: new Map(),
    numDisparities: LARGEST + 1,
    badThresholdPx: 1,
  };
}
