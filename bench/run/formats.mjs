// SPDX-License-Identifier: Apache-2.0
// Measures the rectification of a VGA pair for each pixel format that cameras deliver, for each orientation and with a black
// level, and the replacement of defective pixels.
//   node bench/run/formats.mjs [--rounds N] [--backend cpu|cuda]
// Formats and orientations take turns. On a machine with other work the least of many short runs counts.
import { ORIENTATIONS, orientedMap, orientedSize } from "../../dist/camera/index.js";
import { DefectRepair, MAX_DEFECTS } from "../../dist/camera/live/defects.js";
import { median } from "../../dist/core/statistics.js";
import { createEngine } from "../../dist/cuda/index.js";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { engineCases } from "../../test/golden/engine-cases.mjs";
import { RESULT_OPTIONS, writeResult } from "../shared/result-file.mjs";

const { values } = scriptArguments({
  options: {
    rounds: { type: "string", default: "200" },
    backend: { type: "string", default: "cpu" },
    ...RESULT_OPTIONS,
  },
});
const UPRIGHT = { width: 640, height: 480 };

/** Maps a lens and a rotation of one degree. */
const map = new Int32Array(2 * UPRIGHT.width * UPRIGHT.height);
for (let y = 0, at = 0; y < UPRIGHT.height; y++) {
  for (let x = 0; x < UPRIGHT.width; x++) {
    const [dx, dy] = [x - UPRIGHT.width / 2, y - UPRIGHT.height / 2];
    const bend = 1 - 4e-7 * (dx * dx + dy * dy);
    map[at++] = Math.round(32 * (UPRIGHT.width / 2 + dx * bend - 0.0175 * dy));
    map[at++] = Math.round(32 * (UPRIGHT.height / 2 + dy * bend + 0.0175 * dx));
  }
}

/** Left format, right format, bytes of a pixel. */
const FORMATS = [
  ["GREY", "GREY", 1],
  ["YUYV", "YUYV", 2],
  ["Y8I_LEFT", "Y8I_RIGHT", 2],
  ["Y12I_LEFT", "Y12I_RIGHT", 3],
  ["Y10", "Y10", 2],
  ["Y10P", "Y10P", 1.25],
  ["Y12P", "Y12P", 1.5],
  ["BAYER_RGGB8", "BAYER_RGGB8", 1],
  ["BAYER_RGGB10", "BAYER_RGGB10", 2],
  ["BAYER_RGGB10P", "BAYER_RGGB10P", 1.25],
  ["BAYER_RGGB12P", "BAYER_RGGB12P", 1.5],
];

/** Formats that are also measured with a black level. */
const BLACK_LEVEL_FORMATS = ["GREY", "Y10P", "BAYER_RGGB10P"];

function open(orientation, [leftFormat, rightFormat, bytes], blackLevel = 0) {
  const captured = orientedSize(UPRIGHT, orientation);
  const oriented = orientedMap(orientation, captured, map);
  const base = engineCases.usual.options;
  const strideBytes = bytes * captured.width;
  const engine = createEngine({
    ...base,
    ...UPRIGHT,
    inputWidth: captured.width,
    inputHeight: captured.height,
    leftFormat,
    rightFormat,
    leftStrideBytes: strideBytes,
    rightStrideBytes: strideBytes,
    leftMap: oriented,
    rightMap: oriented,
    threads: 1,
    blackLevel,
    match: { ...base.match, algorithm: "sgm", numDisparities: 8 },
    refine: { ...base.refine, leftRight: false, speckleSize: 0, fill: "off" },
    backend: values.backend,
  });
  const image = Uint8Array.from({ length: strideBytes * captured.height }, (_, i) => (i * 2654435761) >>> 24);
  return {
    orientation,
    blackLevel,
    format: leftFormat.replace("_LEFT", ""),
    bytes,
    engine,
    image,
    times: [],
  };
}

const cases = [
  ...FORMATS.map((format) => open("none", format)),
  ...ORIENTATIONS.slice(1).map((orientation) => open(orientation, FORMATS[0])),
  ...BLACK_LEVEL_FORMATS.map((name) =>
    open(
      "none",
      FORMATS.find(([format]) => format === name),
      16,
    ),
  ),
];

/** Defects spread over the image, at most every eighth pixel of a row. */
function defects(count) {
  const { width, height } = UPRIGHT;
  const pixels = Array.from({ length: count }, (_, i) => {
    const at = Math.floor(((i + 0.5) * width * height) / count);
    return [at % width, Math.floor(at / width)];
  });
  const image = new Uint8Array(2 * width * height);
  const repair = new DefectRepair(pixels, { ...UPRIGHT, strideBytes: 2 * width, format: "BAYER_RGGB10" });
  return { count, image, repair, times: [] };
}

const repairs = [100, MAX_DEFECTS].map(defects);
for (let round = 0; round < Number(values.rounds); round++) {
  for (const { engine, image, times } of cases) {
    await engine.compute(image, image);
    // A GPU has no time of a frame whose events are not there yet.
    const [milliseconds] = engine.stageMilliseconds;
    if (Number.isFinite(milliseconds)) times.push(milliseconds);
  }
  for (const { image, repair, times } of repairs) {
    const before = performance.now();
    repair.apply(image);
    repair.apply(image);
    times.push(performance.now() - before);
  }
}
const rectified = cases.map(({ orientation, blackLevel, format, bytes, engine, times }) => ({
  kind: "measured",
  what: "rectify stage of a pair, through maps",
  format,
  bytesPerPixel: bytes,
  orientation,
  blackLevel,
  ...UPRIGHT,
  backend: engine.info.backend,
  instructionSet: engine.info.instructionSet,
  threads: 1,
  medianMs: Number(median(times).toFixed(4)),
  leastMs: Number(Math.min(...times).toFixed(4)),
}));
const repaired = repairs.map(({ count, times }) => ({
  kind: "measured",
  what: "replacement of the defective pixels of a pair, in place",
  format: "BAYER_RGGB10",
  defectsPerImage: count,
  ...UPRIGHT,
  medianMs: Number(median(times).toFixed(4)),
  leastMs: Number(Math.min(...times).toFixed(4)),
}));
const rows = [...rectified, ...repaired];
for (const row of rows) console.log(JSON.stringify(row));
for (const { engine } of cases) engine.close();

writeResult("formats", values, {
  what: "rectify stage of a pair by format, orientation and black level, through maps; replacement of defective pixels",
  rows,
});
