// SPDX-License-Identifier: Apache-2.0
// A rig whose rows move while an engine runs: plain JavaScript, so that the check on a GPU machine reads it too.
import { createHash } from "node:crypto";
import { smallEngine } from "./small-engine.mjs";

const [WIDTH, HEIGHT, DISPARITY] = [160, 96, 3];

/** Random patches; what the left camera sees at row y, the right one sees `rows` lower. */
function shiftedPair(rows) {
  const [wide, high] = [WIDTH + 20, HEIGHT + 20];
  const picture = new Uint8Array(wide * high);
  let state = 5;
  for (let i = 0; i < picture.length; ++i) {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    picture[i] =
      i < wide ? state >> 16 : (picture[i - 1] + picture[i - wide] + 2 * ((state >> 16) & 255)) >> 2;
  }
  const cut = (dx, dy) =>
    new Uint8Array(WIDTH * HEIGHT).map(
      (_, i) => picture[(Math.floor(i / WIDTH) + 10 + dy) * wide + (i % WIDTH) + 10 + dx],
    );
  return { left: cut(0, 0), right: cut(DISPARITY, -rows) };
}

/**
 * Thirteen frames, two at a time where the backend takes two: four that say nothing of their rows, four with rows that are apart, then
 * aligned ones. The engine looks at every fourth frame, so that rows are moved from frame 8 to frame 11.
 * @param {typeof import("../../cuda/index.js").createEngine} open
 * @param {"cpu" | "cuda"} backend
 */
export async function framesOfMovingRows(open, backend) {
  const grey = new Uint8Array(WIDTH * HEIGHT).fill(100);
  const kinds = [{ left: grey, right: grey }, shiftedPair(2), shiftedPair(0)];
  const engine = open(smallEngine(WIDTH, HEIGHT, { backend, verticalOffset: "auto", slots: 4, threads: 1 }));
  const hashes = [];
  const appliedRows = [];
  try {
    for (let frame = 0; frame < 13; frame += 2) {
      const together = frame === 12 ? [12] : [frame, frame + 1];
      await Promise.all(
        together.map(
          (n) =>
            new Promise((resolve, reject) => {
              const { left, right } = kinds[Math.min(n >> 2, 2)];
              engine.submit(n % 4, left, right, (error) => (error ? reject(error) : resolve(undefined)));
            }),
        ),
      );
      for (const n of together) {
        const { left, disparityQ4, confidence } = engine.slots[n % 4];
        hashes.push(createHash("sha256").update(left).update(disparityQ4).update(confidence).digest("hex"));
        appliedRows.push(engine.info.verticalOffset.appliedRows);
      }
    }
    return { hashes, appliedRows };
  } finally {
    engine.close();
  }
}
