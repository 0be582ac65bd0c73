// SPDX-License-Identifier: Apache-2.0
// A disparity map as a matcher leaves it: planes, steps, noise, wrong winners and holes. For benchmarks of what comes after.
import { Random } from "./stages.js";

/** Whole disparities, their sixteenths (one hole in 20), the right camera's, and a confidence; [height][width], seeded. */
export function matchedDisparities(width: number, height: number) {
  const random = new Random(1);
  const disparity = Int16Array.from({ length: width * height }, (_, i) => {
    const [x, y] = [i % width, Math.floor(i / width)];
    const step = (x >> 6) % 2 === 0 ? 30 : 10;
    return random.whole(0, 30) === 0 ? random.whole(0, 100) : step + (y >> 5);
  });
  return {
    disparity,
    disparityQ4: disparity.map((d) => (random.whole(0, 20) === 0 ? -32768 : 16 * d + random.whole(-7, 7))),
    rightDisparity: disparity.map((d) => d + random.whole(-1, 1)),
    confidence: random.fill(new Uint8Array(width * height), 0, 255),
  };
}
