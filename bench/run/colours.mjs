// SPDX-License-Identifier: Apache-2.0
// Measures the cost of colours in the rectification of a VGA pair on this machine: nothing if the matcher does not read
// them.
//   node bench/run/colours.mjs [--rounds N]
// The same stage of three engines in turn, from the same images: sgm, which reads grey; esaw without and with the
// left-right check, which reads the left image's colours and both images'. The stage's own grey of both images is the
// cost without colours. On a machine with other work the least of many short runs counts.
import { median } from "../../dist/core/statistics.js";
import { createEngine } from "../../dist/cuda/index.js";
import { loadNative } from "../../dist/edge/contracts/native.js";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { engineCases } from "../../test/golden/engine-cases.mjs";
import { RESULT_OPTIONS, writeResult } from "../shared/result-file.mjs";

const { values } = scriptArguments({
  options: { rounds: { type: "string", default: "150" }, ...RESULT_OPTIONS },
});
const rounds = Number(values.rounds);
const [width, height] = [640, 480];

/** Maps a lens and a rotation of one degree. */
const map = new Int32Array(2 * width * height);
for (let y = 0, at = 0; y < height; y++) {
  for (let x = 0; x < width; x++) {
    const [dx, dy] = [x - width / 2, y - height / 2];
    const bend = 1 - 4e-7 * (dx * dx + dy * dy);
    map[at++] = Math.round(32 * (width / 2 + dx * bend - 0.0175 * dy));
    map[at++] = Math.round(32 * (height / 2 + dy * bend + 0.0175 * dx));
  }
}

const FORMATS = { YUYV: 2, NV12: 1, RGB8: 3, BAYER_RGGB8: 1, BAYER_RGGB12: 2 };
const native = loadNative();
const rows = [];

for (const threads of [1, 2]) {
  for (const [format, bytes] of Object.entries(FORMATS)) {
    const image = Uint8Array.from(
      { length: bytes * width * height * 1.5 },
      (_, i) => (i * 2654435761) >>> 24,
    );
    const openEngine = (algorithm, leftRight) => {
      const base = engineCases[algorithm === "sgm" ? "usual" : "esaw"].options;
      const parameters = algorithm === "sgm" ? base.match.parameters : { steps: 1 };
      return createEngine({
        ...base,
        inputWidth: width,
        inputHeight: height,
        width,
        height,
        leftFormat: format,
        rightFormat: format,
        leftStrideBytes: bytes * width,
        rightStrideBytes: bytes * width,
        leftMap: map,
        rightMap: map,
        threads,
        match: { ...base.match, algorithm, numDisparities: 8, parameters },
        refine: { ...base.refine, leftRight, speckleSize: 0, fill: "off" },
        backend: "cpu",
      });
    };
    const engines = {
      nobodyAsks: openEngine("sgm", false),
      leftImageAsked: openEngine("esaw", false),
      bothImagesAsked: openEngine("esaw", true),
    };
    const times = {
      greyOfBothImages: [],
      ...Object.fromEntries(Object.keys(engines).map((name) => [name, []])),
    };
    const grey = new Uint8Array(width * height);
    const size = { inputWidth: width, inputHeight: height, width, height, strideBytes: bytes * width };
    const variant = engines.nobodyAsks.info.instructionSet;
    for (let round = 0; round < rounds; round++) {
      if (threads === 1) {
        const begin = performance.now();
        for (let side = 0; side < 2; side++)
          native.stages.rectify({ variant, format, ...size, image, map, grey });
        times.greyOfBothImages.push(performance.now() - begin);
      }
      for (const [name, engine] of Object.entries(engines)) {
        await engine.compute(image, image);
        times[name].push(engine.stageMilliseconds[0]);
      }
    }
    const row = {
      kind: "measured",
      what: "rectify stage of a pair, through maps",
      format,
      width,
      height,
      threads,
      instructionSet: variant,
    };
    row.workspaceBytes = Object.fromEntries(
      Object.entries(engines).map(([name, engine]) => [name, engine.info.workspaceBytes]),
    );
    for (const [name, all] of Object.entries(times)) {
      if (all.length === 0) continue;
      row[name] = { medianMs: Number(median(all).toFixed(4)), leastMs: Number(Math.min(...all).toFixed(4)) };
    }
    rows.push(row);
    console.log(JSON.stringify(row));
    for (const engine of Object.values(engines)) engine.close();
  }
}

writeResult("colours", values, {
  what: "rectify stage of a pair, through maps, with and without colours",
  rows,
});
