// SPDX-License-Identifier: Apache-2.0
// Tables that pages show of the newest result files in bench/results/; each stands between two marks of its page, and the rest of
// the page is written by hand.
import { posix } from "node:path";
import { filesBelow, readText } from "../../scripts/checks/tree.mjs";

const cell = (text) => String(text).replaceAll("|", "\\|");
const row = (cells) => `| ${cells.map(cell).join(" | ")} |`;
export const table = (heads, rows) => [row(heads), row(heads.map(() => "---")), ...rows.map(row)].join("\n");

/** The newest result of each machine among the files of this kind, such as "pipeline". */
function newestResults(root, kind) {
  const newest = new Map();
  for (const path of filesBelow(root, "bench/results").filter((file) => file.endsWith(`-${kind}.json`))) {
    const result = JSON.parse(readText(root, path));
    const machine = path.split("/").at(-2);
    const before = newest.get(machine);
    if (!before || before.result.date <= result.date) newest.set(machine, { path, result });
  }
  return [...newest.values()];
}

function speeds(root, linkTo) {
  const heads = ["size", "disparities", "paths", "engine, ms", "frames a second", "frames a second and watt"];
  return newestResults(root, "pipeline")
    .map(({ path, result: { machine, load, date, commit, rows } }) => {
      const measured = rows.some(({ power }) => power.available);
      const cells = rows.map((row) => [
        `${row.width}x${row.height}`,
        row.numDisparities,
        row.paths,
        row.engineMs.toFixed(1),
        row.fps.toFixed(1),
        row.power.available ? (row.fps / row.power.watts).toFixed(2) : "unavailable",
      ]);
      const what = `${machine.processor}, ${machine.cores} cores, ${rows[0].instructionSet}`;
      const shown = measured ? cells : cells.map((row) => row.slice(0, -1));
      return (
        `${what}: measured ${date} at [${commit}](${linkTo(path)}), load ${load.before.toFixed(1)} before.` +
        `${measured ? "" : "\nWatts cannot be measured there."}\n\n` +
        table(measured ? heads : heads.slice(0, -1), shown)
      );
    })
    .join("\n\n");
}

/** Accuracy is the same bits on every machine: the newest file of all speaks for it. */
function newestAccuracy(root) {
  const results = newestResults(root, "accuracy");
  return results.sort((a, b) => (a.result.date < b.result.date ? 1 : -1))[0];
}

const percent = (value) => (value === undefined ? "-" : value.toFixed(2));

function accuracy(root, linkTo) {
  const { path, result } = newestAccuracy(root);
  const formatKept = (score) =>
    score?.unfilled
      ? `${percent(score.unfilled.badPercentOfKept)} of ${score.unfilled.density.toFixed(1)}`
      : "-";
  const rows = result.rows.map(({ scene, thresholdPx, depthwatt, openCvSgbmHH }) => [
    scene,
    thresholdPx,
    percent(depthwatt.badPercent),
    percent(openCvSgbmHH?.badPercent),
    formatKept(depthwatt),
    formatKept(openCvSgbmHH),
  ]);
  const heads = [
    "scene",
    "px",
    "depthwatt, % bad",
    "OpenCV StereoSGBM HH, padded and filled, % bad",
    "depthwatt unfilled: % bad of the kept pixels, of % area",
    "OpenCV unfilled",
  ];
  return `Measured ${result.date} at [${result.commit}](${linkTo(path)}):\n\n${table(heads, rows)}`;
}

function perturbations(root) {
  const { perturbed } = newestAccuracy(root).result;
  if (perturbed === undefined) return "";
  const sets = Object.keys(perturbed["as it is"]);
  const rows = Object.entries(perturbed).map(([name, bySet]) => [
    name,
    ...sets.map((set) => percent(bySet[set])),
  ]);
  return table(["pairs", ...sets], rows);
}

/** Both searches of sgm, on the sets whose ranges exceed 64 disparities. */
function searches(root, linkTo) {
  const [{ path, result }] = newestResults(root, "search-errors");
  const isMeasured = ({ badPercent, settings }) => badPercent !== undefined && !settings.includes("half");
  const measured = result.rows.filter(isMeasured);
  const settings = [...new Set(measured.map((row) => row.settings))];
  const find = (set, setting) => measured.find((row) => row.data === set && row.settings === setting);
  const sets = [...new Set(measured.map(({ data }) => data))].filter(
    (set) => Math.min(...settings.map((setting) => find(set, setting).cells)) < 1,
  );
  const line = (name, value) => [
    name,
    ...sets.map((set) => settings.map((setting) => percent(value(find(set, setting)))).join(", ")),
  ];
  const rows = [
    ...Object.keys(measured[0].badPercent).map((pair) => line(pair, (found) => found.badPercent[pair])),
    line("thin foreground", (found) => found.thinBadPercent),
    line("area under sparsification", (found) => found.sparsificationAreaPercent),
    line("cells, share", (found) => found.cells),
  ];
  return `[Result](${linkTo(path)}):\n\n${table(["% bad", ...sets], rows)}`;
}

const TABLES = { speeds, accuracy, perturbations, searches };

/** The page with each of its marked tables recreated. */
export function withResultTables(root, page) {
  const linkTo = (path) => posix.relative(posix.dirname(page), path);
  return readText(root, page).replace(
    /(<!-- (\w+) -->\n)[\s\S]*?(<!-- \/\2 -->)/g,
    (_, open, name, close) => `${open}${TABLES[name](root, linkTo)}\n${close}`,
  );
}
