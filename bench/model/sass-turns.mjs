// SPDX-License-Identifier: Apache-2.0
// One turn of the loops of SGM's kernels, the way of inner pixels: its instructions by mnemonic, and the cells that a thread updates in
// it. All take a function's instructions, what numbers of disparities are rounded up to, what an instruction costs, and lanes.
import { findIteration, findLoops } from "./sass-loops.mjs";

/**
 * @typedef {(
 *   code: import("./sass-loops.mjs").Instruction[],
 *   padded: number,
 *   cost: (name: string) => number,
 *   lanes: number,
 * ) => { counts: Record<string, number>, cells: number }} Turn
 */

/** Pixels of both halves of a tile that is selected from, and of one. */
const TILE = 32;
const HALF_TILE = 16;

/** Counts by mnemonic, added with a weight. */
function added(counts, others, weight) {
  const sum = { ...counts };
  for (const [name, n] of Object.entries(others)) sum[name] = (sum[name] ?? 0) + weight * n;
  return sum;
}

const has = (code, [a, b], pattern) => code.slice(a, b + 1).some((one) => pattern.test(one.name));
const counted = (counts, pattern) =>
  Object.entries(counts).reduce((sum, [name, n]) => sum + (pattern.test(name) ? n : 0), 0);

// A step asks the lane before and the lane behind for one register each.
const shuffleSteps = (counts) => counted(counts, /^SHFL\.IDX/) / 2;

/**
 * One warp walks, another selects from the tile that it fills: both of them, for one tile.
 * @type {Turn}
 */
export function tileTurn(code, padded, cost, lanes) {
  const loops = findLoops(code);
  const inside = ([a, b], [c, d]) => a < c && d < b;
  const costOfTurn = (counts) => Object.entries(counts).reduce((sum, [name, n]) => sum + n * cost(name), 0);
  const walks = loops.filter((loop) => has(code, loop, /^SHFL\.IDX/) && has(code, loop, /^STS/));
  const inner = walks.filter((loop) => !walks.some((other) => inside(loop, other)));
  const outer = walks.find((loop) => walks.some((other) => inside(loop, other)));
  // Inner pixels take the cheaper of the loops that go through the steps of a batch.
  const steps = inner
    .map((loop) => findIteration(code, loop, [/^SHFL/], cost))
    .sort((a, b) => costOfTurn(a) - costOfTurn(b))[0];
  const selects = loops
    .filter(
      (loop) =>
        has(code, loop, /^SHFL\.(UP|DOWN)/) &&
        has(code, loop, /^SHFL\.BFLY/) &&
        has(code, loop, /^STG|^ST\./),
    )
    .sort((a, b) => b[1] - b[0] - (a[1] - a[0]))[0];
  if (steps === undefined || outer === undefined || selects === undefined) {
    throw new Error("no loops walk and select in this disassembly");
  }
  const around = findIteration(code, outer, [/^SHFL\.IDX/, /^LDGSTS/], cost);
  const once = shuffleSteps(around) / shuffleSteps(steps);
  let counts = added(around, steps, TILE / shuffleSteps(steps) - once);
  // The work once a pixel follows only one of two halves of a tile.
  for (const preferred of [[/^SHFL\.(UP|DOWN)/], [/^SHFL\.(UP|DOWN)/, /^STG|^ST\./]]) {
    counts = added(counts, findIteration(code, selects, preferred, cost), TILE / HALF_TILE / 2);
  }
  return { counts, cells: (TILE * padded) / lanes };
}

/** A pair of cells costs two population counts; nothing loops. */
export function costsTurn(code, _padded, cost) {
  const end = code.findLastIndex((one) => /^EXIT/.test(one.name));
  const counts = findIteration(code, [0, end], [/^POPC/], cost);
  return { counts, cells: counted(counts, /^POPC/) };
}

/** The smallest loop that holds all of these, and nothing of `without`. */
const smallestLoop = (code, patterns, without) => {
  const found = findLoops(code)
    .filter((loop) => patterns.every((pattern) => has(code, loop, pattern)))
    .filter((loop) => without === undefined || !has(code, loop, without))
    .sort((a, b) => a[1] - a[0] - (b[1] - b[0]))[0];
  if (found === undefined) throw new Error(`no loop of this disassembly holds ${patterns.join(" and ")}`);
  return found;
};
const STORES = /^STG|^ST\./;

/** @type {Turn} */
export function lineTurn(code, padded, cost, lanes) {
  // The warp next to it that computes costs stores them too, and may ask another lane.
  const loop = smallestLoop(code, [/^SHFL\.IDX/, STORES], /^POPC/);
  const counts = findIteration(code, loop, [/^SHFL/, /^LDGSTS/, /^LDS/], cost);
  return { counts, cells: (shuffleSteps(counts) * padded) / lanes };
}

/**
 * Costs by one warp, a walk by another.
 * @type {Turn}
 */
export function firstTurn(code, padded, cost, lanes) {
  const costs = findIteration(code, smallestLoop(code, [/^POPC/]), [/^POPC/], cost);
  const walk = lineTurn(code, padded, cost, lanes);
  const cells = counted(costs, /^POPC/);
  return { counts: added(costs, walk.counts, cells / walk.cells), cells };
}

/** One warp walks and selects from a tile when it is full, in two scans of 32 cells a turn. */
export function selectingTurn(code, padded, cost, lanes) {
  const walk = smallestLoop(code, [/^SHFL\.IDX/, STORES]);
  const without = findIteration(code, walk, [/^SHFL/, /^LDGSTS/], cost);
  let selecting = added(findIteration(code, walk, [/^SHFL/, /^LDGSTS/, /^LDS/], cost), without, -1);
  for (const scan of findLoops(code).filter(
    ([a, b]) => a > walk[0] && b < walk[1] && has(code, [a, b], /^LDS/),
  )) {
    selecting = added(selecting, findIteration(code, scan, [/^LDS/], cost), padded / 32 - 1);
  }
  const steps = shuffleSteps(without);
  return { counts: added(without, selecting, steps / TILE), cells: (steps * padded) / lanes };
}
