// SPDX-License-Identifier: Apache-2.0
// Accuracy side by side with OpenCV's StereoSGBM on the research data, part of `npm run bench`; by itself `npm run
// bench:accuracy -- [--machine NAME] [--set key=value]...`. Writes bench/results/MACHINE/DATE-COMMIT-accuracy.json.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { confidenceFigures } from "./confidence.mjs";
import { errorRegions } from "./error-regions.mjs";
import { perturbedErrors } from "./perturbed.mjs";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const PYTHON = "/usr/bin/python3";
const { values } = scriptArguments({
  strict: false,
  options: { machine: { type: "string" }, set: { type: "string", multiple: true, default: [] } },
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

function json(program, words) {
  const result = spawnSync(program, words, { encoding: "utf8", maxBuffer: 1 << 26 });
  if (result.status !== 0) throw new Error(`${program}: ${result.stderr || result.error}`);
  return JSON.parse(result.stdout.trim().split("\n").at(-1));
}

const set = values.set.flatMap((item) => ["--set", item]);
const main = join(root, "dist/edge/cli/main.js");
const ours = json(process.execPath, [main, "eval", ...folders, "--frames", "1", "--json", ...set]);
const unfilled = ["--set", "refine.fill=off"];
const kept = json(process.execPath, [
  main,
  "eval",
  ...folders,
  "--frames",
  "1",
  "--json",
  ...set,
  ...unfilled,
]);
const hasOpenCv = spawnSync(PYTHON, ["-c", "import cv2"]).status === 0;
if (!hasOpenCv) console.log("OpenCV: skipped, needs python3-opencv (sudo apt-get install python3-opencv)");
const peer = hasOpenCv
  ? json(PYTHON, [join(root, "bench/accuracy/opencv_accuracy.py"), ...folders])
  : { scenes: [] };

const regions = await errorRegions(folders, values.set);
const { sparsified, reliability } = await confidenceFigures(folders, values.set);
const rows = ours.scenes.map(({ name, masks, thresholdPx }) => {
  const other = peer.scenes.find((scene) => scene.name === name);
  const { badPercent, density } = masks.valid;
  const unfilledScore = kept.scenes.find((scene) => scene.name === name).masks.valid;
  return {
    kind: "measured",
    what: "filled: percent bad of all valid ground truth; unfilled: of what is kept, and how much that is",
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

const git = (...words) => execFileSync("git", words, { cwd: root, encoding: "utf8" }).trim();
const cpu = cpus()[0]?.model.trim() ?? "unknown CPU";
const machine = values.machine ?? `${cpu} ${cpus().length} cores`.toLowerCase().replace(/[^a-z0-9]+/g, "-");
const commit = git("rev-parse", "--short", "HEAD");
const date = new Date().toISOString().slice(0, 10);
const folder = join(root, "bench/results", machine);
mkdirSync(folder, { recursive: true });
const file = join(folder, `${date}-${commit}-accuracy.json`);
const report = {
  machine,
  commit,
  date,
  toolchain: { openCv: peer.opencv ?? null, node: process.version },
  parameters: { depthwatt: ours.parameters, openCv: peer.parameters ?? null },
  middleburyV2BadPercent: twelve,
  perturbed,
  reliability,
  rows,
};
writeFileSync(file, `${JSON.stringify(report, null, 1)}\n`);
console.log(file);
