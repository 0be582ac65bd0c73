// SPDX-License-Identifier: Apache-2.0
// The model of coarse-to-fine search on CUDA, from the cells, bytes and dependent steps of its levels. Three parameters are fitted on
// the whole card and 8 multiprocessors, and tested on all others. The architecture changes the instructions of a cell as it
// changes those of the full search's walk.
import { searchParameters } from "./gpu-fit.mjs";
import { pixelMs } from "./gpu-model.mjs";

/** Bytes that the kernels of a level move for a cell: costs 1, lines 10, selection 3 (cuda/match/sgm/coarse-to-fine.md). */
const CELL_BYTES = 14;
/** Bytes of a pixel's volumes, which all levels share. */
const PIXEL_BYTES = 96;
const TILE_CELLS = 32;
const FULL_RANGE = 64;
/**
 * How far bytes pass next to instructions: 1 would add them up. Next to a stream that leaves 8 multiprocessors 216 GB/s, the
 * times of a prototype with the same bytes are met within 13 % by 1.3 and missed by 30 % by the full search's exponent.
 */
const EXPONENT = 1.3;
/** Kernels of a level that work on cells. */
const KERNELS = 4;
const SHAPE = ["walk8", 128];

export const FULL = "sgm, full search";
export const COARSE_TO_FINE = "sgm, coarse-to-fine search";
export const BEGIN = { slots: 12, chain: 150, start: 1 };
/** @param {{multiprocessors: number}} row */
export const isFitted = ({ multiprocessors }) => multiprocessors !== 16;

/** The levels of a frame, the finest first; a range of at most 64 disparities has one, which is searched completely. */
export function levelsOf({ width, height, numDisparities }) {
  const levels = [{ width, height, cells: numDisparities > FULL_RANGE ? TILE_CELLS : FULL_RANGE }];
  while (numDisparities > FULL_RANGE) {
    [width, height, numDisparities] = [width, height, numDisparities].map((value) => (value + 1) >> 1);
    levels.push({ width, height, cells: numDisparities > FULL_RANGE ? TILE_CELLS : FULL_RANGE });
  }
  return levels;
}

/** Milliseconds of the kernels that work on a level's cells. p: see BEGIN; walks: fitted for the full search. */
function levelMs({ width, height, cells }, machine, walks, p) {
  const clocks = machine.megahertz * 1e3;
  const all = width * height * cells;
  const issue =
    (all * p.slots * machine.counts(...SHAPE).boundSlotsPerCell) /
    (machine.cardSlots * 128 * machine.multiprocessors * clocks);
  const waiting = (Math.max(width, height) * p.chain) / clocks;
  const held = Math.min(1, (machine.cacheBytes * walks.cache) / (width * height * PIXEL_BYTES));
  const bytes = ((1 - held) * CELL_BYTES * all) / (machine.memoryGigabytesPerSecond * 1e6 * walks.memory);
  const q = EXPONENT;
  return KERNELS * p.start * machine.startMs + ((issue + waiting) ** q + bytes ** q) ** (1 / q);
}

/** The card's rows of sass-cells.mjs, which end at 128 disparities: a cell of a larger range costs the same. */
export const upTo128 = (counts) => (shape, padded) => counts(shape, Math.min(padded, 128));

/** Milliseconds of a frame, census to median. parameters: those of the full search, with `search` as fitted here. */
export function searchMs(frame, machine, parameters) {
  const levels = levelsOf(frame);
  const pixel = (kernel, level) => pixelMs({ ...level, kernel }, machine, parameters.pixels).total;
  let ms = pixel("median", frame);
  for (const [index, level] of levels.entries()) {
    ms += pixel("census", level) + levelMs(level, machine, parameters.walks, parameters.search);
    if (index > 0) ms += pixel("half", levels[index - 1]);
  }
  return ms;
}

/** Clocks and nominal memory rate of the card that the search was timed on. */
const CARD = { megahertz: 1980, gigabytesPerSecond: 3350 };

/**
 * Fits the search's parameters and judges all rows of a result of cuda/check/bench_search.cu.
 * @param {any} result
 * @param {any} parameters those of the full search
 * @param {{ share: number, startMs: number, counts: any }} machine share of the nominal rate that a copy reaches; counts of the card
 */
export function fitSearch({ rows, cacheBytes }, parameters, { share, startMs, counts }) {
  const rate = CARD.gigabytesPerSecond * share;
  const cardSlots = counts(...SHAPE).boundSlotsPerCell;
  const measured = rows
    .filter(({ what }) => what === COARSE_TO_FINE)
    .map((row) => ({
      row,
      job: row,
      machine: {
        multiprocessors: row.multiprocessors,
        megahertz: CARD.megahertz,
        copyGigabytesPerSecond: rate,
        memoryGigabytesPerSecond: rate,
        cacheBytes,
        streaming: false,
        startMs,
        counts,
        cardSlots,
      },
    }));
  const time = (job, machine, search) => ({ total: searchMs(job, machine, { ...parameters, search }) });
  const search = searchParameters(
    measured.filter(({ row }) => isFitted(row)),
    BEGIN,
    time,
  ).parameters;
  const judged = measured.map((one) => ({
    ...one,
    fitted: isFitted(one.row),
    error: time(one.job, one.machine, search).total / one.row.medianMs - 1,
  }));
  return { search, judged, cardSlots };
}
