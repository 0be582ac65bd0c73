// SPDX-License-Identifier: Apache-2.0
// Runs a noisy, low-contrast sequence with one moving object through an engine that averages over time. Plain JavaScript, because the
// GPU check imports it too.
import { createHash } from "node:crypto";
import { smallEngine } from "./small-engine.mjs";

const [WIDTH, HEIGHT, DISPARITY, FRAMES] = [160, 96, 5, 16];
/** The frame before which everything is forgotten. */
export const FORGOTTEN_BEFORE = 9;

function generator(seed) {
  let state = seed;
  return (count) => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return (state >> 8) % count;
  };
}

/** Creates pairs of a sequence with independent noise in both images. */
export function steadyPairs() {
  const random = generator(11);
  const [wide, high] = [WIDTH + 20, HEIGHT];
  const picture = new Uint8Array(wide * high);
  for (let i = 0; i < picture.length; ++i)
    picture[i] = i < wide ? random(256) : (picture[i - 1] + picture[i - wide] + 2 * random(256)) >> 2;
  const cut = (shift, frame) =>
    new Uint8Array(WIDTH * HEIGHT).map((_, i) => {
      const [x, y] = [i % WIDTH, Math.floor(i / WIDTH)];
      const moves = y >= 40 && y < 60 && x >= 4 * frame + 30 && x < 4 * frame + 50;
      const value = moves
        ? 7 * ((x - 4 * frame) % 5) + 11 * (y % 7)
        : 90 + (picture[y * wide + x + shift] >> 3);
      return Math.max(0, Math.min(255, value + random(5) - 2));
    });
  return Array.from({ length: FRAMES }, (_, frame) => ({
    width: WIDTH,
    height: HEIGHT,
    left: cut(0, frame),
    right: cut(DISPARITY, frame),
  }));
}

/**
 * Disparities and their hashes, frame by frame, two frames at a time where the backend takes two.
 * @param {typeof import("../../cuda/index.js").createEngine} open
 * @param {{ match?: object, refine?: object, [name: string]: unknown }} changes of the engine's options
 */
export async function steadyFrames(open, changes, pairs = steadyPairs()) {
  const base = smallEngine(WIDTH, HEIGHT, { slots: 4, threads: 1 });
  const engine = open({
    ...base,
    ...changes,
    match: { ...base.match, ...changes.match },
    refine: { ...base.refine, temporal: true, ...changes.refine },
  });
  const disparities = [];
  const hashes = [];
  try {
    for (let first = 0; first < FRAMES; first += 4) {
      await Promise.all(
        [0, 1, 2, 3].map(
          (slot) =>
            new Promise((resolve, reject) => {
              const { left, right } = pairs[first + slot];
              const follows = first + slot !== FORGOTTEN_BEFORE;
              engine.submit(
                slot,
                left,
                right,
                (error) => (error ? reject(error) : resolve(undefined)),
                follows,
              );
            }),
        ),
      );
      for (const { disparityQ4, confidence } of engine.slots) {
        disparities.push(disparityQ4.slice());
        hashes.push(createHash("sha256").update(disparityQ4).update(confidence).digest("hex").slice(0, 8));
      }
    }
  } finally {
    engine.close();
  }
  return { disparities, hashes };
}
