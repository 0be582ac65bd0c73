// SPDX-License-Identifier: Apache-2.0
// Measures the cost of points on the CPU: the stage "encode" of an engine that encodes nothing else, 640x480, by form
// and threads: `node bench/run/points.mjs`. Forms take turns, so that other load meets them all alike.
import { setTimeout } from "node:timers/promises";
import { rgbPairLayout } from "../../dist/camera/index.js";
import { quantile } from "../../dist/core/statistics.js";
import { createEngine, STAGE_NAMES } from "../../dist/cuda/index.js";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { RESULT_OPTIONS, writeResult } from "../shared/result-file.mjs";
import { UNREFINED } from "../shared/unrefined.mjs";

const { values } = scriptArguments({ options: RESULT_OPTIONS });
const [width, height] = [640, 480];
const ENCODE = STAGE_NAMES.indexOf("encode");
const ROUNDS = 40;
const FRAMES = 10;

/** Noise that is the same in both images, 12 px apart: every pixel has a disparity. */
function picture(shift) {
  const image = new Uint8Array(3 * width * height);
  for (let y = 0; y < height; ++y) {
    for (let x = 0; x < width; ++x) {
      const value = (Math.imul(x + shift, 2_654_435_761) ^ Math.imul(y, 40_503)) >>> 24;
      image.fill(value, 3 * (y * width + x), 3 * (y * width + x) + 3);
    }
  }
  return image;
}
const [left, right] = [picture(0), picture(12)];

const cases = ["float32", "int16"].flatMap((element) =>
  [false, true].flatMap((colours) =>
    [1, 2].map((threads) => {
      const points = { frame: "robot", element, colours, cx: 319.5, cy: 239.5 };
      const engine = createEngine({
        inputWidth: width,
        inputHeight: height,
        width,
        height,
        ...rgbPairLayout(width, height),
        match: {
          algorithm: "sgm",
          halfResolution: true,
          minDisparity: 0,
          numDisparities: 16,
          parameters: {},
        },
        refine: UNREFINED,
        geometry: { focalPixels: 500, baselineMetres: 0.1, disparityOffsetPixels: 0 },
        points,
        backend: "cpu",
        threads,
        slots: 2,
      });
      return { element, colour: colours ? "rgb" : "grey", threads, engine, times: [] };
    }),
  ),
);
for (let round = 0; round < ROUNDS; ++round) {
  for (const { engine, times } of cases) {
    // With real-time priority (chrt) no other process would run otherwise.
    await setTimeout(20);
    for (let frame = 0; frame < FRAMES; ++frame) {
      await engine.compute(left, right);
      if (frame > 0) times.push(engine.stageMilliseconds[ENCODE]);
    }
  }
}
const round4 = (value) => Math.round(value * 1e4) / 1e4;
const rows = cases.map(({ element, colour, threads, engine, times }) => {
  const at = (share) => round4(quantile(times, share));
  const { instructionSet } = engine.info;
  engine.close();
  return {
    kind: "measured",
    what: "points of 640x480, robot's frame",
    element,
    colour,
    threads,
    instructionSet,
    frames: times.length,
    medianMs: at(0.5),
    p10Ms: at(0.1),
    leastMs: at(0),
  };
});
console.table(rows.map(({ kind: _, what: __, ...row }) => row));
writeResult("points", values, { what: "the stage encode of an engine that encodes points only", rows });
