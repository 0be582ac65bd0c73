// SPDX-License-Identifier: Apache-2.0
// How good the depth is, without ground truth: the residual of a plane, and how much pixels change while nothing moves. Both in
// pixels of disparity, where a plane in space is a plane and noise does not depend on the distance.
import { median } from "../../../core/index.js";

/** Disparity in 1/16 px (-32768 = none) and confidence (0 = not matched), [height][width]. */
export interface DisparityPicture {
  width: number;
  height: number;
  disparityQ4: Int16Array;
  confidence: Uint8Array;
}

export interface PlaneFit {
  /** Root of the mean square of the residuals of the inliers, pixels of disparity. */
  rmsPixels: number;
  /** Share of the matched pixels that lie within three times the first fit's residual. */
  inlierShare: number;
  /** Disparity of the plane in the middle of the window. */
  disparityPixels: number;
}

/** Pixels of the grid along each side of the window. */
const GRID = 64;
const MIN_POINTS = 50;

interface Grid {
  /** Places in the maps. */
  places: Int32Array;
  xs: Float64Array;
  ys: Float64Array;
}

/** A regular grid over the middle `share` of the picture. */
export function gridOver(width: number, height: number, share: number): Grid {
  const [columns, rows] = [
    Math.min(GRID, Math.ceil(width * share)),
    Math.min(GRID, Math.ceil(height * share)),
  ];
  const grid = {
    places: new Int32Array(columns * rows),
    xs: new Float64Array(columns * rows),
    ys: new Float64Array(columns * rows),
  };
  const at = (index: number, count: number, size: number) =>
    Math.floor(size * (0.5 - share / 2) + ((index + 0.5) * size * share) / count);
  for (let row = 0, place = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++, place++) {
      const [x, y] = [at(column, columns, width), at(row, rows, height)];
      grid.places[place] = y * width + x;
      grid.xs[place] = x - width / 2;
      grid.ys[place] = y - height / 2;
    }
  }
  return grid;
}

type Plane = [a: number, b: number, c: number];

/** Least squares of d = a x + b y + c; undefined where the points lie on a line. */
function leastSquares(points: readonly number[], { xs, ys }: Grid, d: Float64Array): Plane | undefined {
  let [n, sx, sy, sd, sxx, sxy, syy, sxd, syd] = [0, 0, 0, 0, 0, 0, 0, 0, 0];
  for (const i of points) {
    const [x, y, value] = [xs[i]!, ys[i]!, d[i]!];
    n++;
    sx += x;
    sy += y;
    sd += value;
    sxx += x * x;
    sxy += x * y;
    syy += y * y;
    sxd += x * value;
    syd += y * value;
  }
  const [cxx, cxy, cyy] = [sxx - (sx * sx) / n, sxy - (sx * sy) / n, syy - (sy * sy) / n];
  const [cxd, cyd] = [sxd - (sx * sd) / n, syd - (sy * sd) / n];
  const determinant = cxx * cyy - cxy * cxy;
  if (!(determinant > 1e-9 * cxx * cyy)) return undefined;
  const a = (cxd * cyy - cyd * cxy) / determinant;
  const b = (cyd * cxx - cxd * cxy) / determinant;
  return [a, b, (sd - a * sx - b * sy) / n];
}

function planeRms(points: readonly number[], { xs, ys }: Grid, d: Float64Array, [a, b, c]: Plane): number {
  let sum = 0;
  for (const i of points) sum += (d[i]! - a * xs[i]! - b * ys[i]! - c) ** 2;
  return Math.sqrt(sum / points.length);
}

/** Fits a plane twice: the second time without points three residuals off. Undefined: too few matched pixels. */
export function planeFit({ disparityQ4, confidence }: DisparityPicture, grid: Grid): PlaneFit | undefined {
  const d = Float64Array.from(grid.places, (place) => disparityQ4[place]! / 16);
  const matched = [...grid.places.keys()].filter((i) => {
    const place = grid.places[i]!;
    return confidence[place] !== 0 && disparityQ4[place] !== -32768;
  });
  if (matched.length < MIN_POINTS) return undefined;
  const first = leastSquares(matched, grid, d);
  if (first === undefined) return undefined;
  const limit = 3 * planeRms(matched, grid, d, first);
  const [a, b, c] = first;
  const inliers = matched.filter((i) => Math.abs(d[i]! - a * grid.xs[i]! - b * grid.ys[i]! - c) <= limit);
  const plane = leastSquares(inliers, grid, d);
  if (plane === undefined) return undefined;
  return {
    rmsPixels: planeRms(inliers, grid, d, plane),
    inlierShare: inliers.length / matched.length,
    disparityPixels: plane[2],
  };
}

/** Standard deviation of each grid pixel over a number of frames; of the ones that were matched in all of them the median. */
export class TemporalNoise {
  readonly #grid: Grid;
  readonly #frames: number;
  readonly #sums: Float64Array;
  readonly #squares: Float64Array;
  readonly #present: Int32Array;
  #seen = 0;

  constructor(grid: Grid, frames: number) {
    this.#grid = grid;
    this.#frames = frames;
    this.#sums = new Float64Array(grid.places.length);
    this.#squares = new Float64Array(grid.places.length);
    this.#present = new Int32Array(grid.places.length);
  }

  /** @returns pixels of disparity, each time the frames are full; NaN where no pixel was matched in all of them */
  add({ disparityQ4, confidence }: DisparityPicture): number | undefined {
    const { places } = this.#grid;
    for (let i = 0; i < places.length; i++) {
      const place = places[i]!;
      const value = disparityQ4[place]!;
      if (confidence[place] === 0 || value === -32768) continue;
      this.#sums[i] = this.#sums[i]! + value;
      this.#squares[i] = this.#squares[i]! + value * value;
      this.#present[i] = this.#present[i]! + 1;
    }
    if (++this.#seen < this.#frames) return undefined;
    const n = this.#frames;
    const deviations: number[] = [];
    for (let i = 0; i < places.length; i++) {
      if (this.#present[i] !== n) continue;
      // Sums of integers below 2^53: nothing is lost before the subtraction.
      const variance = (n * this.#squares[i]! - this.#sums[i]! ** 2) / (n * (n - 1));
      deviations.push(Math.sqrt(Math.max(0, variance)) / 16);
    }
    this.#seen = 0;
    for (const array of [this.#sums, this.#squares, this.#present]) array.fill(0);
    return median(deviations);
  }
}
