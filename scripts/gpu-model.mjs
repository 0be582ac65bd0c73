// SPDX-License-Identifier: Apache-2.0
// A small model of SGM's kernels: what a kernel costs follows from the instructions it issues, the bytes it moves, and the steps
// that depend on each other. Fitted on some rows of a GPU check, tested on all others. predictions.mjs applies it to boards.

/** Of one kernel, by what it does to a cell or a line; bytes are those through the second-level cache and to memory. */
const KERNELS = {
  costs: { bytes: 1, volumes: 1, visits: 1, steps: () => 0 },
  rows: { bytes: 2, volumes: 2, visits: 1, lines: (one) => one.height, steps: (one) => one.width / 2 },
  columns: { bytes: 6, volumes: 2, visits: 2, lines: (one) => one.width, steps: (one) => one.height },
  selection: { bytes: 2, volumes: 2, visits: 1, lines: (one) => one.height, steps: (one) => one.width / 2 },
};
export const MODELLED = Object.keys(KERNELS);

const padded = (num) => (num <= 64 ? 64 : num <= 128 ? 128 : num <= 256 ? 256 : 512);

/** The kernel that `slots` names: selection always takes 32 lanes. */
const shapeOf = (kernel, lanes) =>
  kernel === "costs" ? "costs" : `${kernel === "selection" ? "selection32" : `walk${lanes}`}`;

/**
 * What a kernel needs of a machine. slots: scheduler clocks by shape and cell visited (sass-cells.mjs).
 * @param job {kernel, width, height, numDisparities, lanes}
 */
export function needsOf(job, slots) {
  const kernel = KERNELS[job.kernel];
  const cells = job.width * job.height * padded(job.numDisparities);
  const shape = shapeOf(job.kernel, job.lanes);
  return {
    shape,
    bytes: cells * kernel.bytes,
    volumeBytes: cells * kernel.volumes,
    laneSlots: cells * kernel.visits * slots[shape],
    steps: kernel.steps(job),
  };
}

/**
 * Milliseconds. machine: {multiprocessors, megahertz, dramGigabytesPerSecond, cacheBytes}; parameters: see PARAMETERS. Work that overlaps
 * well costs what the longest of the three takes, and badly their sum: the exponent lies between.
 */
export function millisecondsOf(job, slots, machine, parameters) {
  const needs = needsOf(job, slots);
  const clocks = machine.megahertz * 1e3; // a millisecond
  const issue = needs.laneSlots / (128 * machine.multiprocessors * clocks * parameters.issue);
  // What the second-level cache still holds of the volumes need not come from memory.
  const held = Math.min(1, (machine.cacheBytes * parameters.cache) / needs.volumeBytes);
  const bytes = ((1 - held) * needs.bytes) / (machine.dramGigabytesPerSecond * 1e6 * parameters.dram);
  const chain = (needs.steps * (parameters[`chain_${needs.shape}`] ?? 0)) / clocks;
  const p = parameters.exponent;
  return {
    total: parameters.launch + (issue ** p + bytes ** p + chain ** p) ** (1 / p),
    issue,
    bytes,
    chain,
  };
}

/**
 * Where the search begins, and what each is: shares of a limit (issue: of the slots added up over pipes that work beside each
 * other, so it may exceed 1), clocks a step, milliseconds.
 */
export const PARAMETERS = {
  issue: 0.6,
  dram: 0.9,
  cache: 0.5,
  chain_walk32: 150,
  chain_walk8: 250,
  chain_selection32: 200,
  exponent: 2,
  launch: 0.002,
};

/** A row of bench_main as a job, or undefined where the model does not speak of it. */
export function jobOf(row) {
  const kernel = row.what?.match(/^kernel (\w+)$/)?.[1];
  if (kernel === undefined || !MODELLED.includes(kernel)) return undefined;
  if ((kernel === "selection" || kernel === "costs") && row.lanes !== 32) return undefined; // the same kernel again
  const { width, height, numDisparities, lanes } = row;
  return { kernel, width, height, numDisparities, lanes };
}

/** The part of the card that a row ran on. What streams beside it takes its share of the memory. */
export function machineOf(row, card) {
  return {
    multiprocessors: row.multiprocessors,
    megahertz: card.megahertz,
    cacheBytes: card.cacheBytes,
    dramGigabytesPerSecond: card.dramGigabytesPerSecond - row.streamGigabytesPerSecond,
  };
}

/** Fitted on these; what is predicted are other sizes, another partition, and all that runs beside a stream. */
export const isFitted = (row) =>
  row.streamGigabytesPerSecond === 0 &&
  row.multiprocessors !== 16 &&
  (row.width === 640 || row.width === 1920 || row.width === 320);

const errorOf = (rows, slots, card, parameters) => {
  let sum = 0;
  for (const row of rows) {
    const ms = millisecondsOf(jobOf(row), slots, machineOf(row, card), parameters).total;
    sum += Math.log(ms / row.medianMs) ** 2;
  }
  return sum / rows.length;
};

/** Least squares of the logarithms, by a search along one parameter after the other. */
export function fitModel(rows, slots, card) {
  const used = rows.filter((row) => jobOf(row) !== undefined && isFitted(row) && row.medianMs > 0.002);
  let parameters = { ...PARAMETERS };
  let error = errorOf(used, slots, card, parameters);
  for (let factor = 1.5; factor > 1.001; factor = 1 + (factor - 1) * 0.8) {
    for (let round = 0; round < 12; round++) {
      let improved = false;
      for (const key of Object.keys(parameters)) {
        for (const by of [factor, 1 / factor]) {
          const tried = { ...parameters, [key]: parameters[key] * by };
          if (tried.dram > 1 || tried.cache > 1 || tried.exponent < 1) continue;
          const e = errorOf(used, slots, card, tried);
          if (e < error) [parameters, error, improved] = [tried, e, true];
        }
      }
      if (!improved) break;
    }
  }
  return { parameters, rows: used.length, rootMeanSquare: Math.exp(Math.sqrt(error)) - 1 };
}

/** Every modelled row with what the model says of it: relative error > 0 where it is too slow. */
export function judge(rows, slots, card, parameters) {
  return rows.flatMap((row) => {
    const job = jobOf(row);
    if (job === undefined || !(row.medianMs > 0.002)) return [];
    const said = millisecondsOf(job, slots, machineOf(row, card), parameters);
    return [
      {
        row,
        job,
        fitted: isFitted(row),
        predictedMs: said.total,
        said,
        error: said.total / row.medianMs - 1,
      },
    ];
  });
}
