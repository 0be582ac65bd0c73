// SPDX-License-Identifier: Apache-2.0
// Accuracy side by side with OpenCV's StereoSGBM on the research data, part of `npm run bench`; automatically `npm run
// bench:accuracy -- [--set key=value]...`.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { runDepthwatt, spawnJson } from "../shared/depthwatt.mjs";
import { RESULT_OPTIONS, root, writeResult } from "../shared/result-file.mjs";
import { confidenceFigures } from "./confidence.mjs";
import { errorRegions } from "./error-regions.mjs";
import { perturbedErrors } from "./perturbed.mjs";

const PYTHON = "/usr/bin/python3";
const { values } = scriptArguments({
  strict: false,
  options: { set: { type: "string", multiple: true, default: [] }, ...RESULT_OPTIONS },
});

const data = process.env.DEPTHWATT_DATA;
const folders =
  data && existsSync(data)
    ? readdirSync(data)
        .map((name) => join(data, name))
        .filter((folder) => existsSync(join(folder, "dataset.json")))
    : [];
if (folders.length === 0) {
  console.log("accuracy: skipped, needs research data (set DEPTHWATT_DATA to a folder of data sets)");
  process.exit(0);
}

const words = ["eval", ...folders, "--frames", "1"];
const ours = runDepthwatt(words, values.set);
const kept = runDepthwatt(words, [...values.set, "refine.fill=off"]);
const hasOpenCv = spawnSync(PYTHON, ["-c", "import cv2"]).status === 0;
if (!hasOpenCv) console.log("OpenCV: skipped, needs python3-opencv (sudo apt-get install python3-opencv)");
const peer = hasOpenCv
  ? spawnJson(PYTHON, [join(root, "bench/accuracy/opencv_accuracy.py"), ...folders])
  : { scenes: [] };

const regions = await errorRegions(folders, values.set);
const { sparsified, reliability } = await confidenceFigures(folders, values.set);
const rows = ours.scenes.map(({ name, masks, thresholdPx }) => {
  const other = peer.scenes.find((scene) => scene.name === name);
  const { badPercent, density } = masks.valid;
  const unfilledScore = kept.scenes.find((scene) => scene.name === name).masks.valid;
  return {
    kind: "measured",
    what: "filled: percent bad of all valid ground truth; unfilled: of the kept pixels, and their share",
    scene: name,
    thresholdPx,
    servedForChoosing: true,
    depthwatt: {
      badPercent,
      density,
      regions: regions[name],
      unfilled: { badPercentOfKept: unfilledScore.badPercentValidOnly, density: unfilledScore.density },
      sparsification: sparsified[name],
    },
    ...(other && {
      openCvSgbmHH: {
        badPercent: other.filledBadPercent,
        unfilled: { badPercentOfKept: other.badPercentValidOnly, density: other.density },
        sparsification: other.sparsification,
      },
    }),
  };
});
const shown = (score) =>
  score
    ? `${score.badPercent.toFixed(2).padStart(7)}  ${score.unfilled.badPercentOfKept.toFixed(2).padStart(6)} of ${score.unfilled.density.toFixed(1).padStart(5)}`
    : "      -";
console.log(
  "scene         px  depthwatt: filled, unfilled    OpenCV SGBM HH, padded: filled, unfilled  (% bad)",
);
for (const row of rows) {
  const where = `${row.scene.padEnd(12)} ${String(row.thresholdPx).padStart(3)}`;
  console.log(`${where}  ${shown(row.depthwatt).padStart(28)}   ${shown(row.openCvSgbmHH).padStart(28)}`);
}
console.log(
  "\nscene         area under the sparsification curve, %: depthwatt  random  best   OpenCV (its WLS filter's confidence)",
);
for (const { scene, depthwatt, openCvSgbmHH } of rows) {
  const { areaPercent, randomPercent, bestPercent } = depthwatt.sparsification;
  const cells = [areaPercent, randomPercent, bestPercent, openCvSgbmHH?.sparsification?.areaPercent];
  console.log(
    `${scene.padEnd(44)} ${cells.map((value) => (value?.toFixed(2) ?? "-").padStart(7)).join(" ")}`,
  );
}
const perturbed = await perturbedErrors(folders, values.set);
console.log(`\nfilled, mean of each set: ${folders.map((folder) => folder.split("/").at(-1)).join(", ")}`);
for (const [name, bySet] of Object.entries(perturbed)) {
  console.log(
    `${name.padEnd(22)} ${Object.values(bySet)
      .map((value) => value.toFixed(2).padStart(6))
      .join(" ")}`,
  );
}
console.log("\nscene         % bad: strip  holes   kept   in the winners too (area %: strip, holes)");
for (const { scene, depthwatt } of rows) {
  const { areaPercent, badPercent, badWithWinnersToo } = depthwatt.regions;
  const cells = [badPercent.strip, badPercent.holes, badPercent.kept, badWithWinnersToo]
    .map((value) => value.toFixed(2).padStart(6))
    .join(" ");
  const areas = `${areaPercent.strip.toFixed(1)}, ${areaPercent.holes.toFixed(1)}`;
  console.log(`${scene.padEnd(18)} ${cells} (${areas})`);
}
const twelve = ours.mean.middleburyV2BadPercent;
if (twelve !== null) console.log(`Middlebury v2, mean of nonocc, all and disc: ${twelve.toFixed(3)} %`);
const worse = rows.filter(
  (row) => row.openCvSgbmHH && row.depthwatt.badPercent >= row.openCvSgbmHH.badPercent,
);
if (hasOpenCv) console.log(`better than OpenCV on ${rows.length - worse.length} of ${rows.length} scenes`);

writeResult("accuracy", values, {
  what: "error of the default settings and of OpenCV StereoSGBM HH on the research data",
  openCv: peer.opencv ?? null,
  parameters: { depthwatt: ours.parameters, openCv: peer.parameters ?? null },
  middleburyV2BadPercent: twelve,
  perturbed,
  reliability,
  rows,
});
