// SPDX-License-Identifier: Apache-2.0
// Runs frames that bring the disparity of a floor with a box and a drop-off through an engine that finds the floor and its grid, or
// lists voxels. Plain JavaScript, because the GPU check and the benchmark import it too.
import { listedVoxels } from "../../dist/cuda/index.js";
import { smallEngine } from "./small-engine.mjs";

/** Metres: a camera 1 m above the floor that looks down by 15 degrees. */
const [HEIGHT_METRES, BASELINE_METRES, TILT] = [1, 0.12, (15 * Math.PI) / 180];

/**
 * A pair whose right image carries disparity and confidence.
 * @param {number} width
 * @param {number} height
 * @param {{heightMetres?: number, seed?: number, isSeen?: boolean}} [changes]
 */
export function floorPair(width, height, { heightMetres = HEIGHT_METRES, seed = 5, isSeen = true } = {}) {
  let state = seed;
  const random = (count) => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return (state >> 8) % count;
  };
  const pixels = width * height;
  const right = Buffer.alloc(4 * pixels);
  const focal = 0.7 * width;
  for (let i = 0; i < pixels; ++i) {
    const [x, y] = [i % width, Math.floor(i / width)];
    const level = (more) =>
      (16 * BASELINE_METRES * (Math.cos(TILT) * (y - height / 2) + Math.sin(TILT) * focal)) /
      (heightMetres + more);
    const isBox = x > 0.4 * width && x < 0.55 * width && y > 0.35 * height && y < 0.6 * height;
    const isDrop = x > 0.75 * width;
    const q4 = isBox ? level(0) + 0.1 * width : level(isDrop ? 0.3 : 0);
    const noisy = Math.max(16, Math.round(q4) + random(5) - 2);
    right.writeInt16LE(random(20) === 0 ? -32768 : noisy, pixels + 2 * i);
    right[3 * pixels + i] = isSeen && random(25) > 0 ? 200 : 0;
  }
  return { left: new Uint8Array(pixels), right: new Uint8Array(right) };
}

/**
 * Options of an engine for such pairs.
 * @param {number} width
 * @param {number} height
 * @param {object} [changes]
 */
export function floorEngine(width, height, changes = {}) {
  const [cx, cy] = [width / 2, height / 2];
  return {
    ...smallEngine(width, height, { slots: 4, threads: 2 }),
    rightFormat: "GREY_DISPARITY",
    geometry: { focalPixels: 0.7 * width, baselineMetres: BASELINE_METRES, disparityOffsetPixels: 0 },
    floor: { cx, cy },
    grid: {
      cellMetres: 0.05,
      aheadCells: 100,
      leftCells: 100,
      obstacleMetres: 0.05,
      tallMetres: 2,
      dropMetres: 0.08,
      errorPixels: 0.5,
      minPixels: 6,
      stepX: Math.max(1, Math.round(width / 320)),
    },
    ...changes,
  };
}

/** Numbers and cells of eight frames, four at a time: the floor rises, is lost, and is forgotten.
 * @param {typeof import("../../cuda/index.js").createEngine} open
 * @param {object} changes of the engine's options
 */
export async function floorFrames(open, changes) {
  const [width, height] = [320, 240];
  const engine = open(floorEngine(width, height, changes));
  const frames = [];
  try {
    const pairs = Array.from({ length: 8 }, (_, frame) =>
      floorPair(width, height, { heightMetres: 1 - 0.02 * frame, seed: frame + 1, isSeen: frame !== 3 }),
    );
    for (let first = 0; first < pairs.length; first += 4) {
      await Promise.all(
        [0, 1, 2, 3].map(
          (slot) =>
            new Promise((resolve, reject) => {
              const { left, right } = pairs[first + slot];
              const onDone = (error) => (error ? reject(error) : resolve(undefined));
              engine.submit(slot, left, right, onDone, first + slot !== 6);
            }),
        ),
      );
      for (const { floor, grid } of engine.slots) frames.push({ floor: [...floor], grid: [...grid] });
    }
  } finally {
    engine.close();
  }
  return frames;
}

/**
 * Lists the voxels of two frames in the axes of the camera, then in the robot's.
 * @param {typeof import("../../cuda/index.js").createEngine} open
 * @param {"cpu" | "cuda"} backend
 */
export async function voxelFrames(open, backend) {
  const [width, height] = [320, 240];
  const lists = [];
  for (const frame of /** @type {const} */ (["camera", "robot"])) {
    const voxels = { sizeMillimetres: 30, uncertaintyPixels: 0.5, frame, cx: width / 2, cy: height / 2 };
    const engine = open(floorEngine(width, height, { backend, floor: undefined, grid: undefined, voxels }));
    try {
      for (const seed of [1, 2]) {
        const { left, right } = floorPair(width, height, { seed });
        await engine.compute(left, right);
        lists.push(Array.from(listedVoxels(engine.slots[0])));
      }
    } finally {
      engine.close();
    }
  }
  return lists;
}
