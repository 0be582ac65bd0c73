// SPDX-License-Identifier: Apache-2.0
// Measures the error of depth in another camera's image, against the rendered scene's exact depth there:
//   node bench/accuracy/registration.mjs [--out FILE]
// Once from exact disparities, rounded to 1/16 px, and once from those that the defaults match (without filled pixels).
import { createEngine } from "../../dist/cuda/index.js";
import { loadConfig } from "../../dist/edge/config/index.js";
import { engineOptionsFor } from "../../dist/edge/eval/engine-matcher.js";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { FISHEYE, RGB, registrationErrors } from "../../test/doubles/registration-errors.mjs";
import { RESULT_OPTIONS, writeResult } from "../shared/result-file.mjs";

const { values } = scriptArguments({ options: RESULT_OPTIONS });
async function matched({ left, right }) {
  const { config } = loadConfig({ set: [] });
  const engine = createEngine({ ...engineOptionsFor(config, 640, 480, 64), backend: "cpu" });
  try {
    await engine.compute(left, right);
    const { disparityQ4, confidence } = engine.slots[0];
    return {
      disparityQ4: disparityQ4.map((value, at) => (confidence[at] === 0 ? -32768 : value)),
      confidence: confidence.slice(),
    };
  } finally {
    engine.close();
  }
}

const rows = [];
for (const camera of [RGB, FISHEYE])
  for (const disparities of ["exact", "matched"]) {
    const { share, median, wrong } = await registrationErrors(
      camera,
      disparities === "exact" ? undefined : matched,
    );
    const percent = (value) => Math.round(1e5 * value) / 1e3;
    rows.push({
      kind: "measured",
      camera: camera.name,
      lens: camera.distortion.model,
      disparities,
      percentWithDepth: percent(share),
      medianErrorPercent: percent(median),
      percentOffBy5: percent(wrong),
    });
  }
console.table(rows.map(({ kind: _, ...row }) => row));
writeResult("registration", values, {
  what: "depth in the image of a camera next to the rendered pair, 640x480, against the exact depth there",
  rows,
});
