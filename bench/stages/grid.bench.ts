// SPDX-License-Identifier: Apache-2.0
// The grid of a VGA frame, every second column: the definition, one and two threads.
import { bench, describe } from "vitest";
import { native, variants } from "../../test/doubles/stages.js";

const [width, height] = [640, 480];
const rig = { focalPixels: 520, baselineMetres: 0.12, disparityOffsetPixels: 0, cx: 319.5, cy: 239.5 };
/** A floor 1.3 m below, and a wall. */
const disparityQ4 = Int16Array.from({ length: width * height }, (_, i) =>
  Math.max(160, Math.round(1.477 * (Math.floor(i / width) - 140)) + ((i * 7919) % 5)),
);
const confidence = new Uint8Array(width * height).fill(200);
const floor = Float64Array.of(0, 96_798, 96_798 * 100);
const form = { cellMetres: 0.05, aheadCells: 120, leftCells: 120, minPixels: 6, stepX: 2 };
const heights = { obstacleMetres: 0.05, tallMetres: 2, dropMetres: 0.08, errorPixels: 0.5 };
const cells = new Uint8Array(120 * 120);
const stage = native.stages.grid as unknown as (call: object) => string;

describe("grid, 640x480", () => {
  for (const [name, variant, threads] of [
    ["reference", "reference", 1],
    ["one thread", variants[0]!, 1],
    ["two threads", variants[0]!, 2],
  ] as const) {
    const call = {
      variant,
      threads,
      width,
      height,
      ...rig,
      ...form,
      ...heights,
      disparityQ4,
      confidence,
      floor,
      cells,
    };
    bench(name, () => void stage(call), { time: 300, warmupTime: 100 });
  }
});
