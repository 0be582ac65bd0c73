// SPDX-License-Identifier: Apache-2.0
// Measures sad and pyramid on this machine at 640x480: the engine's match stage next to OpenCV's StereoBM in the same
// run.
//   node bench/run/window.mjs [--rounds N]     (needs python3-opencv)
// Forms take turns, a few frames each: other load on the machine hits all of them. A separate program computes
// StereoBM, which gets the two threads while nothing is matched here.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { encodePng, rgbPairLayout } from "../../dist/camera/index.js";
import { quantile } from "../../dist/core/statistics.js";
import { createEngine, STAGE_NAMES } from "../../dist/cuda/index.js";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { RESULT_OPTIONS, root, writeResult } from "../shared/result-file.mjs";
import { UNREFINED } from "../shared/unrefined.mjs";

const { values } = scriptArguments({
  options: { rounds: { type: "string", default: "12" }, ...RESULT_OPTIONS },
});
const [width, height, numDisparities] = [640, 480, 128];
const FRAMES = 6;
const MATCH = STAGE_NAMES.indexOf("match");

/** A smooth texture that is the same in both images, 20 px apart. */
function picture(shift) {
  const image = new Uint8Array(3 * width * height);
  for (let y = 0; y < height; ++y) {
    for (let x = 0; x < width; ++x) {
      const [u, v] = [x + shift, y];
      const grain = (Math.imul(u, 2_654_435_761) ^ Math.imul(v, 40_503)) >>> 27;
      const wave = (channel) => 110 + 60 * Math.sin(u / (5 + channel)) * Math.cos(v / (9 - channel));
      for (let c = 0; c < 3; ++c) image[3 * (y * width + x) + c] = Math.round(wave(c)) + grain;
    }
  }
  return image;
}
const greenChannel = (rgb) => rgb.filter((_, i) => i % 3 === 1);
const [left, right] = [picture(0), picture(20)];

function openEngine(algorithm, parameters, threads, instructionSet) {
  return createEngine({
    inputWidth: width,
    inputHeight: height,
    width,
    height,
    ...rgbPairLayout(width, height),
    match: { algorithm, halfResolution: false, minDisparity: 0, numDisparities, parameters },
    refine: UNREFINED,
    backend: "cpu",
    ...(instructionSet && { instructionSet }),
    threads,
    slots: 2,
  });
}

const side = (pixels) => ({
  windowWidth: pixels,
  windowHeight: pixels,
  hueWeight: 20,
  saturationWeight: 30,
  valueWeight: 50,
});
const cases = [1, 2].flatMap((threads) => [
  { what: "sad 9x9", threads, engine: openEngine("sad", side(9), threads), times: [] },
  { what: "sad 9x9, AVX2", threads, engine: openEngine("sad", side(9), threads, "avx2"), times: [] },
  { what: "pyramid 7x7", threads, engine: openEngine("pyramid", side(7), threads), times: [] },
  { what: "pyramid 7x7, AVX2", threads, engine: openEngine("pyramid", side(7), threads, "avx2"), times: [] },
  { what: "StereoBM 9x9", threads, times: [] },
]);

const folder = mkdtempSync(join(tmpdir(), "depthwatt-bench-window-"));
const files = ["left", "right"].map((name) => join(folder, `${name}.png`));
writeFileSync(files[0], await encodePng({ data: greenChannel(left), width, height }));
writeFileSync(files[1], await encodePng({ data: greenChannel(right), width, height }));
const peer = join(root, "bench/run/opencv_bm.py");
let opencv = "";
for (let round = 0; round < Number(values.rounds); ++round) {
  for (const one of cases) {
    // With real-time priority (chrt) no other process would run otherwise.
    await setTimeout(300);
    if (one.engine === undefined) {
      const words = [peer, ...files, numDisparities, 9, one.threads, FRAMES].map(String);
      const reported = JSON.parse(execFileSync("/usr/bin/python3", words, { encoding: "utf8" }));
      one.times.push(...reported.times);
      opencv = reported.opencv;
      continue;
    }
    for (let frame = 0; frame < FRAMES + 2; ++frame) {
      await one.engine.compute(left, right);
      if (frame >= 2) one.times.push(one.engine.stageMilliseconds[MATCH]);
    }
  }
}
rmSync(folder, { recursive: true, force: true });

const rows = cases.map(({ what, threads, engine, times }) => {
  const at = (share) => Number(quantile(times, share).toFixed(3));
  const instructionSet = engine?.info.instructionSet ?? `OpenCV ${opencv}`;
  engine?.close();
  return {
    kind: "measured",
    what,
    width,
    height,
    numDisparities,
    threads,
    instructionSet,
    frames: times.length,
    medianMs: at(0.5),
    p10Ms: at(0.1),
    leastMs: at(0),
  };
});
console.table(rows.map(({ kind: _, width: __, height: ___, numDisparities: ____, ...row }) => row));
writeResult("window-speed", values, {
  what: "the match stage of sad and pyramid, and OpenCV StereoBM, in turn",
  rows,
});
