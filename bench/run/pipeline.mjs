// SPDX-License-Identifier: Apache-2.0
// `npm run bench:pipeline`: times `depthwatt run` on the synthetic scene, as fast as it goes, and writes a result file.
//   npm run bench:pipeline -- [--frames N] [--set key=value]...
import { scriptArguments } from "../../scripts/arguments.mjs";
import { runDepthwatt } from "../shared/depthwatt.mjs";
import { RESULT_OPTIONS, writeResult } from "../shared/result-file.mjs";

const { values } = scriptArguments({
  options: {
    frames: { type: "string", default: "100" },
    set: { type: "string", multiple: true, default: [] },
    ...RESULT_OPTIONS,
  },
});

const POINTS = [
  { width: 640, height: 480, numDisparities: 64, paths: 4 },
  { width: 640, height: 480, numDisparities: 128, paths: 4 },
  { width: 640, height: 480, numDisparities: 128, paths: 8 },
  { width: 1280, height: 720, numDisparities: 128, paths: 4 },
];

function run(point) {
  const settings = {
    "source.synthetic.width": point.width,
    "source.synthetic.height": point.height,
    "match.numDisparities": point.numDisparities,
    "match.sgm.paths": point.paths,
  };
  const set = [...Object.entries(settings).map(([key, value]) => `${key}=${value}`), ...values.set];
  return runDepthwatt(["run", "--rate", "max", "--frames", values.frames, "--broker", "none"], set);
}

const rows = [];
for (const point of POINTS) {
  const { fps, stages, backend, instructionSet, algorithm, frames, validPercent, power } = run(point);
  const engineMs = Object.values(stages).reduce((sum, stage) => sum + stage.p50Ms, 0);
  const megaDisparities = (point.width * point.height * point.numDisparities) / 1e6;
  const row = {
    ...point,
    algorithm,
    backend,
    instructionSet,
    frames,
    fps,
    engineMs,
    stages,
    validPercent,
    power,
  };
  rows.push({ ...row, megaDisparitiesPerSecond: (megaDisparities * 1000) / engineMs, evidence: "measured" });
  const name = `${point.width}x${point.height}, ${point.numDisparities} disparities, ${point.paths} paths`;
  console.log(
    `${name}: ${engineMs.toFixed(2)} ms in the engine, ${fps.toFixed(1)} fps while the same cores render the scene`,
  );
}

writeResult("pipeline", values, {
  what: "depthwatt run --rate max on the synthetic scene; engineMs is the sum of the stages' medians, fps includes rendering",
  rows,
});
