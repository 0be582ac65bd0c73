// SPDX-License-Identifier: Apache-2.0
// Measures when two cameras really expose, from a screen that counts its refreshes in bars of Gray code.
//
// Each camera's rows are read as counts. A count is the screen's, so the difference between both images of a pair is the time
// between their exposures, in refreshes. The mean over many pairs is finer than a refresh if the cameras are not in step with it.
import { DepthwattError } from "../../core/index.js";
import type { RawImage } from "../frame.js";
import { toGrey } from "../recordings/still.js";
import type { ExposureSkew, Measured } from "./blink-phase.js";

const BITS = 8;
const WRAP = 2 ** BITS;
/** Bits of the bars from left to right. Slow bits are at both ends: they change even if the cameras are in step with fast ones. */
export const BAR_BITS: readonly number[] = [7, 0, 1, 2, 3, 4, 5, 6];

const FEWEST_FRAMES = 30;
/** Largest size of the grid that an image is reduced to. */
const [MAX_COLUMNS, MAX_ROWS] = [192, 48];
/** Smallest change of a bar, grey levels. */
const LEAST_CHANGE = 24;
/** Fewest rows of the grid with bars. */
const FEWEST_ROWS = 4;
/** Groups of frames that are left out in turn. */
const GROUPS = 8;
/** Reads further from the median than this many counts are errors. */
const MAX_FROM_MEDIAN = 3;

/** Distance from the line of even counting, counts, and the least share of frames within it. */
const [MAX_UNEVEN, MIN_EVEN] = [8, 0.8];

type Side = "left" | "right";

interface Grid {
  columns: number;
  rows: number;
  cells: Uint8Array;
}

/** Counts of one camera: rows of the grid that show bars, and the count of each in every frame. */
interface Counts {
  /** Rows of the image from its middle. */
  rows: number[];
  /** By frame, then by row. */
  counts: number[][];
}

/** Returns the value in [-WRAP / 2, WRAP / 2) that differs from the given one by whole wraps. */
const signed = (count: number): number => count - WRAP * Math.floor(count / WRAP + 0.5);

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!;

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

export class ScreenCounter {
  readonly #timesS: number[] = [];
  readonly #grids: Record<Side, Grid[]> = { left: [], right: [] };
  #firstNs: bigint | undefined;
  #height = 0;
  #statedUs = 0;

  add({ left, right }: { left: RawImage; right: RawImage }): void {
    this.#firstNs ??= left.timestampNs;
    this.#timesS.push(Number(left.timestampNs - this.#firstNs) / 1e9);
    this.#statedUs += Number(right.timestampNs - left.timestampNs) / 1000;
    this.#height = left.height;
    this.#grids.left.push(reduced(left));
    this.#grids.right.push(reduced(right));
  }

  /** @throws DepthwattError SYNC_UNMEASURED if the frames do not show the counter */
  result(): ExposureSkew {
    const frames = this.#timesS.length;
    if (frames < FEWEST_FRAMES) throw unmeasured(`at least ${FEWEST_FRAMES} pairs`, `${frames}`);
    const left = readCounts("left", this.#grids.left, this.#height);
    const right = readCounts("right", this.#grids.right, this.#height);
    const perSecond = this.#rate("left", left);
    this.#rate("right", right);
    const countUs = 1e6 / perSecond;
    const all = this.#timesS.map((_, k) => k);
    const whole = compare(left, right, all);
    const without = Array.from({ length: GROUPS }, (_, group) =>
      compare(
        left,
        right,
        all.filter((k) => Math.floor((k * GROUPS) / frames) !== group),
      ),
    );
    // Frames in step with the screen all have the same error of up to one refresh.
    const inStep = this.#shareInStep(perSecond);
    const measured = (value: (found: Comparison) => number, stepError: number): Measured => {
      const squares = without.map((found) => (value(found) - value(whole)) ** 2);
      const spread =
        2 * Math.sqrt(((GROUPS - 1) / GROUPS) * squares.reduce((sum, square) => sum + square, 0));
      return { value: value(whole) * countUs, uncertainty: Math.hypot(spread, inStep * stepError) * countUs };
    };
    const lineTime = (side: Side) => measured((found) => found[side].slope, 1 / this.#height);
    return {
      frames,
      offsetUs: measured((found) => found.right.middle - found.left.middle, 1),
      periodUs: WRAP * countUs,
      statedUs: this.#statedUs / frames,
      lineTimeUs: { left: lineTime("left"), right: lineTime("right") },
    };
  }

  /** Counts per second of one camera's middle row. */
  #rate(side: Side, { rows, counts }: Counts): number {
    const middle = counts.map((row) => row[Math.floor(rows.length / 2)]!);
    const times = this.#timesS;
    const steps = middle.slice(1).map((count, k) => (count - middle[k]! + WRAP) % WRAP);
    const rough = median(steps.map((step, k) => step / (times[k + 1]! - times[k]!)));
    const passed = [0];
    for (const [k, step] of steps.entries()) {
      const expected = rough * (times[k + 1]! - times[k]!);
      passed.push(passed[k]! + expected + signed(step - expected));
    }
    const { slope, at } = fitLine(times, passed);
    const even = passed.filter((value, k) => Math.abs(value - at(times[k]!)) <= MAX_UNEVEN).length;
    if (even < MIN_EVEN * passed.length) {
      throw unmeasured(
        `a screen counter that counts evenly in the ${side} image`,
        `${even} of ${passed.length} frames on one line`,
      );
    }
    const total = slope * times.at(-1)!;
    if (total >= WRAP) return slope;
    throw unmeasured(
      `a counter that goes once through its ${WRAP} counts`,
      `${Math.round(total)} counts: take more pairs`,
    );
  }

  /** Share of the frames' places between two refreshes that is one place: 1 if the cameras are in step with the screen. */
  #shareInStep(perSecond: number): number {
    const lastS = this.#timesS.at(-1)!;
    let largest = 0;
    // The rate is known to about one count of all.
    for (let part = -1; part <= 1; part += 0.1) {
      let [re, im] = [0, 0];
      for (const seconds of this.#timesS) {
        const angle = 2 * Math.PI * (perSecond + part / lastS) * seconds;
        re += Math.cos(angle);
        im += Math.sin(angle);
      }
      largest = Math.max(largest, Math.hypot(re, im) / this.#timesS.length);
    }
    return largest;
  }
}

/** Returns the means of the image's cells. */
function reduced(image: RawImage): Grid {
  const { data, width, height } = toGrey(image);
  const [columns, rows] = [Math.min(width, MAX_COLUMNS), Math.min(height, MAX_ROWS)];
  const cells = new Uint8Array(columns * rows);
  for (let row = 0; row < rows; row++) {
    const [top, bottom] = [Math.floor((row * height) / rows), Math.floor(((row + 1) * height) / rows)];
    for (let column = 0; column < columns; column++) {
      const from = Math.floor((column * width) / columns);
      const to = Math.floor(((column + 1) * width) / columns);
      let sum = 0;
      for (let y = top; y < bottom; y++) for (let x = from; x < to; x++) sum += data[y * width + x]!;
      cells[row * columns + column] = Math.round(sum / ((bottom - top) * (to - from)));
    }
  }
  return { columns, rows, cells };
}

/** Finds the bars by their changes, and reads each row's count in every frame. */
function readCounts(side: Side, grids: readonly Grid[], height: number): Counts {
  const { columns, rows } = grids[0]!;
  const low = new Uint8Array(columns * rows).fill(255);
  const high = new Uint8Array(columns * rows);
  for (const { cells } of grids) {
    for (const [at, value] of cells.entries()) {
      if (value < low[at]!) low[at] = value;
      if (value > high[at]!) high[at] = value;
    }
  }
  const changes = high.map((value, at) => value - low[at]!);
  const strong = [...changes].sort((a, b) => a - b)[Math.floor(0.95 * changes.length)]!;
  const found: Counts = { rows: [], counts: grids.map(() => []) };
  for (let row = 0; row < rows; row++) {
    const inRow = changes.subarray(row * columns, (row + 1) * columns);
    const isBar = (change: number) => change >= LEAST_CHANGE && 2 * change >= strong;
    const from = inRow.findIndex(isBar);
    const to = inRow.findLastIndex(isBar) + 1;
    if (to - from < 2 * BITS) continue;
    const bars = barValues(grids, row, from, to);
    found.rows.push(((row + 0.5) * height) / rows - height / 2);
    for (const [k, count] of rowCounts(bars).entries()) found.counts[k]!.push(count);
  }
  if (found.rows.length >= FEWEST_ROWS) return found;
  throw unmeasured(
    `a screen counter in the ${side} image`,
    `bars in ${found.rows.length} of ${rows} rows, and changes of ${strong} grey levels`,
  );
}

/** Returns the middle of each bar by frame. */
function barValues(grids: readonly Grid[], row: number, from: number, to: number): number[][] {
  const width = (to - from) / BITS;
  return grids.map(({ cells, columns }) =>
    BAR_BITS.map((_, bar) => {
      const first = Math.floor(from + (bar + 0.3) * width);
      const last = Math.max(first + 1, Math.ceil(from + (bar + 0.7) * width));
      return mean([...cells.subarray(row * columns + first, row * columns + last)]);
    }),
  );
}

/** Reads counts from one row's bars. A camera that is upside down sees them in reverse order. */
function rowCounts(bars: readonly number[][]): number[] {
  const lows = BAR_BITS.map((_, bar) => Math.min(...bars.map((values) => values[bar]!)));
  const highs = BAR_BITS.map((_, bar) => Math.max(...bars.map((values) => values[bar]!)));
  const [low, high] = [mean(lows), mean(highs)];
  const thresholds = BAR_BITS.map((_, bar) =>
    // A bar in step with the frames does not change, and has the threshold of the others.
    2 * (highs[bar]! - lows[bar]!) > high - low ? (lows[bar]! + highs[bar]!) / 2 : (low + high) / 2,
  );
  const read = (isReversed: boolean) =>
    bars.map((values) => {
      let gray = 0;
      for (const [bar, value] of values.entries())
        if (value > thresholds[bar]!) gray |= 1 << BAR_BITS[isReversed ? BITS - 1 - bar : bar]!;
      let count = gray;
      for (let shift = 1; shift < BITS; shift *= 2) count ^= count >> shift;
      return count;
    });
  const [forward, backward] = [read(false), read(true)];
  return unevenness(forward) <= unevenness(backward) ? forward : backward;
}

/** Returns how much the steps from frame to frame differ from each other. */
function unevenness(counts: readonly number[]): number {
  let sum = 0;
  for (let k = 2; k < counts.length; k++)
    sum += Math.abs(signed(counts[k]! - 2 * counts[k - 1]! + counts[k - 2]!));
  return sum;
}

interface Line {
  /** Counts of the image's middle row after the left image's middle row. */
  middle: number;
  /** Counts from one row to the next. */
  slope: number;
}
type Comparison = Record<Side, Line>;

/** Compares both cameras' rows with the left image's middle row, over some frames. */
function compare(left: Counts, right: Counts, frames: readonly number[]): Comparison {
  const reference = Math.floor(left.rows.length / 2);
  const line = ({ rows, counts }: Counts): Line => {
    const later = rows.map((_, row) =>
      meanNearMedian(frames.map((k) => signed(counts[k]![row]! - left.counts[k]![reference]!))),
    );
    const { slope, at } = fitLine(rows, later);
    return { middle: at(0), slope };
  };
  return { left: line(left), right: line(right) };
}

/** Fits a line to points by least squares. */
function fitLine(xs: readonly number[], ys: readonly number[]) {
  const [x, y] = [mean(xs), mean(ys)];
  const square = xs.reduce((sum, one) => sum + (one - x) ** 2, 0);
  const slope = xs.reduce((sum, one, k) => sum + (one - x) * (ys[k]! - y), 0) / square;
  return { slope, at: (one: number) => y + slope * (one - x) };
}

function meanNearMedian(values: readonly number[]): number {
  const middle = median(values);
  return mean(values.filter((value) => Math.abs(value - middle) <= MAX_FROM_MEDIAN));
}

function unmeasured(expected: string, found: string): DepthwattError {
  return new DepthwattError("SYNC_UNMEASURED", `expected ${expected}, got ${found}`, {
    hint: "docs/guides/synchronisation.md shows how to set up the screen.",
  });
}
