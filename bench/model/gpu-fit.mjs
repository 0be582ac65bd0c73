// SPDX-License-Identifier: Apache-2.0
// Fits the model of gpu-model.mjs on some rows of a GPU check (bench_model.h) and tests it on all others.
import { frameMs, PARAMETERS, PIXELWISE, pixelMs, WALKS, walkMs } from "./gpu-model.mjs";

/**
 * @typedef {{
 *   what: string,
 *   width: number,
 *   multiprocessors: number,
 *   streamGigabytesPerSecond: number,
 *   medianMs: number,
 * }} Row
 */

/** Shorter times are differences of two that are no steadier than this. */
const LEAST_MS = 0.002;
/** Largest relative error of a row. */
export const LIMIT = 0.25;

/**
 * A row as a job, or undefined where the model does not speak of it.
 * @param {any} row
 * @returns {any}
 */
export function modelJob(row) {
  const { width, height, numDisparities, lanes } = row;
  if (row.what === "frame" || row.what === "frame at half resolution") {
    return { family: "frames", width, height, numDisparities, half: row.what !== "frame" };
  }
  const kernel = row.what?.match(/^kernel (\w+)$/)?.[1];
  if (kernel in PIXELWISE) return { family: "pixels", kernel, width, height };
  if (!(kernel in WALKS)) return undefined;
  const walk = WALKS[kernel];
  if (walk.lanes.length === 1 && lanes !== walk.lanes[0]) return undefined; // the same kernel once more
  return { family: "walks", kernel, width, height, numDisparities, lanes };
}

/** Sizes by width, and the partitions, that the model is fitted on; it is tested on the other sizes and on the partition of 16. */
export const FITTED_WIDTHS = [320, 640, 1920];
export const FITTED_PARTITIONS = [132, 8];
/** @param {Row} row */
export const isFitted = (row) =>
  FITTED_PARTITIONS.includes(row.multiprocessors) &&
  FITTED_WIDTHS.includes(row.width) &&
  !row.what.startsWith("frame");

const instructionCounts = (sass, architecture, cells) => {
  const rows = new Map(
    sass.rows
      .filter((row) => row.architecture === architecture && row.cells === cells)
      .map((row) => [`${row.shape} ${row.numDisparities}`, row]),
  );
  return (shape, padded) => rows.get(`${shape} ${padded}`);
};

export { instructionCounts };

/** Every row of the result files with its job and the machine it ran on. */
export function measurements(files, sass) {
  return files.flatMap((file) => {
    const place = (row) => `${row.multiprocessors} ${row.streamGigabytesPerSecond > 0}`;
    const copies = new Map();
    const starts = new Map();
    for (const row of file.rows) {
      if (row.what === "copy") copies.set(place(row), row.gigabytesPerSecond);
      if (row.what?.startsWith("graph of one kernel") && row.width === 640)
        starts.set(place(row), row.medianMs);
    }
    const whole = Math.max(...[...copies].filter(([key]) => key.endsWith("false")).map(([, rate]) => rate));
    return file.rows.flatMap((row) => {
      const job = modelJob(row);
      if (job === undefined || !(row.medianMs > LEAST_MS)) return [];
      const streaming = row.streamGigabytesPerSecond > 0;
      const copyGigabytesPerSecond = copies.get(place(row));
      const machine = {
        multiprocessors: row.multiprocessors,
        megahertz: row.megahertz,
        streaming,
        cacheBytes: file.cacheBytes,
        copyGigabytesPerSecond,
        memoryGigabytesPerSecond: streaming ? copyGigabytesPerSecond : whole,
        startMs: starts.get(place(row)),
        counts: instructionCounts(sass, 90, row.cells),
      };
      return [{ row, job, machine }];
    });
  });
}

const TIMES = { walks: walkMs, pixels: pixelMs };
const BOUNDS = { memory: 1, issue: 1, cache: 1, exponent: 8 };

/** Least squares of the logarithms, by a search along one parameter after the other. */
export function searchParameters(used, begin, time) {
  const squaredError = (parameters) =>
    used.reduce(
      (sum, { row, job, machine }) =>
        sum + Math.log(time(job, machine, parameters).total / row.medianMs) ** 2,
      0,
    ) / used.length;
  let parameters = { ...begin };
  let error = squaredError(parameters);
  for (let factor = 1.5; factor > 1.002; factor = 1 + (factor - 1) * 0.8) {
    for (let round = 0; round < 12; round++) {
      let improved = false;
      for (const key of Object.keys(parameters)) {
        for (const by of [factor, 1 / factor]) {
          const tried = { ...parameters, [key]: parameters[key] * by };
          if (tried[key] > (BOUNDS[key] ?? Number.POSITIVE_INFINITY) || tried.exponent < 1) continue;
          const e = squaredError(tried);
          if (e < error) [parameters, error, improved] = [tried, e, true];
        }
      }
      if (!improved) break;
    }
  }
  return { parameters, rootMeanSquare: Math.exp(Math.sqrt(error)) - 1 };
}

/**
 * fitted: which rows may be looked at.
 * @returns {{parameters: import("./gpu-model.mjs").Parameters, rows: number}}
 */
export function fitModel(measured, fitted = isFitted) {
  const of = (family) => measured.filter((one) => one.job.family === family && fitted(one.row));
  /** @type {any} */
  const parameters = {};
  let rows = 0;
  for (const [family, begin] of Object.entries(PARAMETERS)) {
    parameters[family] = searchParameters(of(family), begin, TIMES[family]).parameters;
    rows += of(family).length;
  }
  return { parameters, rows };
}

/** Returns the model's error for each measurement: error > 0 if the model is too slow. */
export function judge(measured, parameters, fitted = isFitted) {
  return measured.map(({ row, job, machine }) => {
    const predictedMs =
      job.family === "frames"
        ? frameMs(job, machine, parameters)
        : TIMES[job.family](job, machine, parameters[job.family]).total;
    return { row, job, machine, predictedMs, fitted: fitted(row), error: predictedMs / row.medianMs - 1 };
  });
}
