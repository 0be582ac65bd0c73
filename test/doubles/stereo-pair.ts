// SPDX-License-Identifier: Apache-2.0
// A small stereo pair made of whole numbers only, so that it is the same on every machine: textured layers of constant
// disparity, seen by two cameras, with a little noise.
import { Random } from "./stages.js";

export interface TestPair {
  width: number;
  height: number;
  left: Uint8Array;
  right: Uint8Array;
  /** Whole pixels, of the left image. */
  disparity: Uint8Array;
}

/** A background at disparity 5 and two rectangles in front of it. */
export function layeredPair(width: number, height: number, seed = 1): TestPair {
  const random = new Random(seed);
  const layers = [
    { disparity: 5, x0: 0, x1: width, y0: 0, y1: height },
    {
      disparity: 17,
      x0: Math.floor(width / 5),
      x1: Math.floor(width / 2),
      y0: Math.floor(height / 4),
      y1: height - 5,
    },
    { disparity: 29, x0: Math.floor(width / 2), x1: width - 30, y0: 3, y1: Math.floor((2 * height) / 3) },
  ].map((layer) => ({ ...layer, texture: random.fill(new Uint8Array(width * height), 0, 255) }));
  const left = new Uint8Array(width * height);
  const right = new Uint8Array(width * height);
  const disparity = new Uint8Array(width * height);
  for (const layer of layers) {
    for (let y = layer.y0; y < layer.y1; ++y) {
      for (let x = layer.x0; x < layer.x1; ++x) {
        const value = layer.texture[y * width + x] as number;
        left[y * width + x] = value;
        disparity[y * width + x] = layer.disparity;
        if (x >= layer.disparity) right[y * width + x - layer.disparity] = value;
      }
    }
  }
  const noisy = (image: Uint8Array) => {
    for (let i = 0; i < image.length; ++i)
      image[i] = Math.min(255, Math.max(0, (image[i] as number) + random.whole(-2, 2)));
  };
  noisy(left);
  noisy(right);
  return { width, height, left, right, disparity };
}
