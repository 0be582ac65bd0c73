// SPDX-License-Identifier: Apache-2.0
// Seeded pictures and hostile bodies for the RVL tests, so that a failure names the seed that shows it again.

/** A small generator (xorshift32): the same numbers on every host. */
export function seededRandom(seed: number): () => number {
  let state = (seed * 0x9e3779b1) >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 2 ** 32;
  };
}

/** Holes, plateaus, slopes, noise and full-range jumps in a random mixture, 1 to about 3000 pixels. */
export function depthLikePicture(seed: number): Uint16Array {
  const random = seededRandom(seed);
  const pixels = new Uint16Array(1 + Math.floor(random() * 3000));
  let index = 0;
  while (index < pixels.length) {
    const run = 1 + Math.floor(random() ** 3 * 200);
    const kind = Math.floor(random() * 5);
    const start = 1 + Math.floor(random() * 65535);
    const slope = Math.floor((random() - 0.5) * 20);
    for (let step = 0; step < run && index < pixels.length; step++, index++) {
      if (kind === 0) pixels[index] = 0;
      else if (kind === 1) pixels[index] = start;
      else if (kind === 2) pixels[index] = start + slope * step;
      else if (kind === 3) pixels[index] = Math.min(65535, start + Math.floor(random() * 12));
      else pixels[index] = Math.floor(random() * 65536);
    }
  }
  return pixels;
}

/** 0 to 40 bytes; a third of them with few "more follows" bits, so that decoding gets further than the first number. */
export function randomBytes(seed: number): Uint8Array {
  const random = seededRandom(seed);
  const mask = seed % 3 === 0 ? 0x33 : 0xff;
  return Uint8Array.from({ length: Math.floor(random() * 41) }, () => Math.floor(random() * 256) & mask);
}
