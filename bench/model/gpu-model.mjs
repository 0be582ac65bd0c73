// SPDX-License-Identifier: Apache-2.0
// A small model of SGM's kernels on CUDA: what one costs follows from the instructions it issues (read off its disassembly,
// sass-cells.mjs), the bytes it moves, and the steps that wait for each other. gpu-fit.mjs fits its few parameters on some rows of a
// GPU check and tests them on all others; predictions.mjs applies it to boards. What a change of the kernels changes here is the
// two tables below.

/**
 * @typedef {{
 *   architecture?: number,
 *   multiprocessors: number,
 *   megahertz: number,
 *   copyGigabytesPerSecond: number,
 *   memoryGigabytesPerSecond: number,
 *   cacheBytes: number,
 *   streaming: boolean,
 *   startMs: number,
 *   counts: (shape: string, padded: number) => Count | undefined,
 * }} Machine
 * @typedef {{
 *   boundSlotsPerCell: number,
 *   instructionsPerCell: number,
 *   residentWarps: number,
 *   warpsOfALine?: number,
 * }} Count
 * @typedef {Record<"walks" | "pixels", Record<string, number>>} Parameters
 * @typedef {{ width: number, height: number, numDisparities: number, half?: boolean }} Frame
 */

/**
 * The kernels that walk or fill volumes. Of a cell: bytes that it reads and writes, bytes of the volumes that it works on, visits.
 * planes: volumes that come through its ring; lanes: those that can walk a line, more than `many` warps a scheduler taking the
 * fewer (lanesFor in sgm.cu); steps: that wait for each other; across: neighbouring steps do not lie side by side in memory.
 * @type {Record<string, any>}
 */
export const WALKS = {
  costs: { bytes: 1, volumes: 1, visits: 1, planes: 0, lanes: [32], steps: () => 0, lines: () => 0 },
  // Costs and the first half of the rows in one kernel, where 4 paths allow it; the model's rows time them apart.
  first: {
    bytes: 2,
    volumes: 2,
    visits: 1,
    planes: 0,
    lanes: [32],
    lines: (job) => job.height,
    steps: (job) => job.width / 2,
  },
  rows: {
    bytes: 2,
    volumes: 2,
    visits: 1,
    planes: 2,
    lanes: [32, 8],
    many: 12,
    lines: (job) => job.height,
    steps: (job) => job.width / 2,
  },
  columns: {
    bytes: 6,
    volumes: 2,
    visits: 2,
    planes: 2,
    lanes: [32, 8],
    many: 6,
    across: true,
    lines: (job) => job.width,
    steps: (job) => job.height,
  },
  selection: {
    bytes: 2,
    volumes: 2,
    visits: 1,
    planes: 2,
    lanes: [32],
    checks: 640,
    lines: (job) => job.height,
    steps: (job) => job.width / 2,
  },
};

/** Work that is done once a pixel of the full image: bytes, and the instructions of a thread. */
export const PIXELWISE = {
  census: { bytes: 10, threads: 2 },
  half: { bytes: 2.5, threads: 0.5 },
  upscale: { bytes: 4.75, threads: 1 },
  median: { bytes: 4, threads: 1 },
};

const COPY_BYTES_IN_FLIGHT = 4 * 256 * 64; // of a multiprocessor: bench_stream.h
const LINE_BYTES = 128;
const THREADS = 2048;
const COST_PIXELS = (padded) => ((128 * 16) / padded) * 8; // of a block: sgm_costs.cuh
const COST_WARPS = 4;

const paddedDisparities = (num) => (num <= 64 ? 64 : num <= 128 ? 128 : num <= 256 ? 256 : 512);

/** The name that a kernel's count has. */
const countName = (kernel, lanes) =>
  kernel === "rows" || kernel === "columns"
    ? `walk${lanes}`
    : kernel === "selection"
      ? "selection32"
      : kernel;
/** The kernels that a frame with 4 paths takes. */
export const frameWalks = (machine, numDisparities) =>
  machine.counts("first", paddedDisparities(numDisparities)) === undefined
    ? ["costs", "rows", "columns", "selection"]
    : ["first", "columns", "selection"];

/** Steps of a line that are asked for before they are used: two batches of sgm_ring.cuh. */
function stepsAhead(padded, lanes, planes) {
  const bytes = (32 / lanes) * planes * padded;
  const least = Math.max(1, (16 * lanes) / padded);
  return 2 * ([8, 4, 2].find((one) => least > one / 2 || one * bytes <= 3072) ?? 1);
}

/** Lanes that sgm.cu lets walk a line on so many multiprocessors. */
export function lanesFor(kernel, job, multiprocessors) {
  const { lanes, many, lines } = WALKS[kernel];
  return lanes.length > 1 && (2 * lines(job)) / (4 * multiprocessors) > many ? lanes[1] : lanes[0];
}

/**
 * Describes a machine: the part of a card that rows were timed on, or a board. copyGigabytesPerSecond: rate of a large
 * copy there, with the other load; memoryGigabytesPerSecond: rate of memory for that part when all of it asks. startMs:
 * time of a graph of one kernel beyond the kernel. counts(shape, padded): a row of sass-cells.mjs.
 */
const machineRates = (machine) => ({
  clocks: machine.megahertz * 1e3, // a millisecond
  roundTrip: (COPY_BYTES_IN_FLIGHT * machine.multiprocessors) / (machine.copyGigabytesPerSecond * 1e6 * 0.5),
  memory: machine.memoryGigabytesPerSecond * 1e6,
});

/**
 * Milliseconds of a walk. p: see PARAMETERS. Instructions and waiting add up; bytes pass next to both, so that the longer of the two
 * counts, rounded off by an exponent.
 * @param {{kernel: string, width: number, height: number, numDisparities: number, lanes: number}} job
 * @param {Machine} machine
 * @param {Record<string, number>} p
 */
export function walkMs(job, machine, p) {
  const kernel = WALKS[job.kernel];
  const lanes = kernel.lanes.length === 1 ? kernel.lanes[0] : job.lanes;
  const padded = paddedDisparities(job.numDisparities);
  const cells = job.width * job.height * padded;
  const shape = countName(job.kernel, lanes);
  const count = machine.counts(shape, padded);
  if (count === undefined) throw new Error(`nothing counts ${shape} of ${padded} disparities`);
  const { clocks, roundTrip, memory } = machineRates(machine);
  const issue =
    (cells * kernel.visits * count.boundSlotsPerCell) / (128 * machine.multiprocessors * clocks * p.issue);
  // Volumes that the second-level cache still holds need not come from memory; a stream leaves nothing there, nor the
  // other half of a line.
  const held = machine.streaming ? 0 : Math.min(1, (machine.cacheBytes * p.cache) / (cells * kernel.volumes));
  const fetched = machine.streaming && kernel.across ? Math.max(1, LINE_BYTES / ((padded * 32) / lanes)) : 1;
  const bytes = ((1 - held) * kernel.bytes * cells * fetched) / (memory * p.memory);
  const latency = roundTrip * p.latency;
  let waiting;
  if (job.kernel === "costs") {
    const blocks = Math.ceil(job.width / COST_PIXELS(padded)) * job.height;
    waiting = Math.ceil(blocks / ((count.residentWarps / COST_WARPS) * machine.multiprocessors)) * latency;
  } else {
    const warps = (kernel.lines(job) * (count.warpsOfALine ?? 2) * lanes) / 32;
    const rounds = Math.ceil(warps / (count.residentWarps * machine.multiprocessors));
    const own = ((p[`chain_${shape}`] ?? p.chain) * count.instructionsPerCell * padded) / lanes / clocks;
    const waits = kernel.planes > 0 ? latency / stepsAhead(padded, lanes, kernel.planes) : 0;
    waiting = kernel.steps(job) * rounds * (own + waits);
    // Two loads that wait for each other, for each so many pixels of the row.
    if (kernel.checks)
      waiting += 2 * rounds * Math.ceil(job.width / kernel.checks) * roundTrip * p.latency_check;
  }
  const q = p.exponent;
  return {
    total: p.start * machine.startMs + ((issue + waiting) ** q + bytes ** q) ** (1 / q),
    issue,
    bytes,
    waiting,
  };
}

/** Milliseconds of a kernel that does something once a pixel, in a row of kernels. job: of the full image. */
export function pixelMs(job, machine, p) {
  const kernel = PIXELWISE[job.kernel];
  const { clocks, roundTrip, memory } = machineRates(machine);
  const pixels = job.width * job.height;
  const issue = (pixels * p[`clocks_${job.kernel}`]) / (machine.multiprocessors * clocks);
  const held = machine.streaming ? 0 : Math.min(1, machine.cacheBytes / (pixels * kernel.bytes));
  const bytes = ((1 - held) * kernel.bytes * pixels) / memory;
  const rounds = Math.ceil((pixels * kernel.threads) / (THREADS * machine.multiprocessors));
  const waiting = (1 - held) * rounds * roundTrip * p[`waits_${job.kernel}`];
  return { total: p.start * machine.startMs + issue + waiting + bytes, issue, bytes, waiting };
}

/** Where the search for each begins: shares of a limit, clocks an instruction, shares of a copy's round trip, times startMs. */
export const PARAMETERS = {
  walks: {
    issue: 0.8,
    memory: 0.95,
    cache: 0.7,
    chain: 1,
    exponent: 3,
    start: 1.2,
    latency: 0.2,
    latency_check: 0.2,
  },
  pixels: {
    clocks_census: 3,
    clocks_half: 0.5,
    clocks_upscale: 1,
    clocks_median: 2,
    waits_census: 0.4,
    waits_half: 0.4,
    waits_upscale: 0.4,
    waits_median: 0.2,
    start: 0.5,
  },
};

/**
 * Milliseconds of a frame with 4 paths, census to median; with half resolution from halving to upscaling.
 * @param {Frame} frame
 * @param {Machine} machine
 * @param {Parameters} parameters
 */
export function frameMs({ width, height, numDisparities, half }, machine, parameters) {
  const full = { width, height };
  const matched = half
    ? { width: (width + 1) >> 1, height: (height + 1) >> 1, numDisparities: (numDisparities + 1) >> 1 }
    : { ...full, numDisparities };
  const pixel = (kernel, job) => pixelMs({ ...job, kernel }, machine, parameters.pixels).total;
  let ms = pixel("census", matched) + pixel("median", matched);
  if (half) ms += pixel("half", full) + pixel("upscale", full);
  for (const kernel of frameWalks(machine, matched.numDisparities)) {
    const lanes = lanesFor(kernel, matched, machine.multiprocessors);
    ms += walkMs({ ...matched, kernel, lanes }, machine, parameters.walks).total;
  }
  return ms;
}
