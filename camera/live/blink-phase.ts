// SPDX-License-Identifier: Apache-2.0
// Measures when two cameras really expose, from a light that blinks steadily and lights both images.
//
// A row r of frame k begins its exposure at t(k) + offset + r line. Its brightness has the light's frequency f there:
//   b(k, r) = a(r) + Re(C(r) e^(2 pi i f t(k))),   arg C(r) = 2 pi f (offset + r line) + a constant of the light
// C(r) is fitted over the frames, then offset and line over the rows. Both cameras use the left image's stated times, so the
// difference of their offsets is the real time between the exposures, to whole periods of the light.
import { DepthwattError } from "../../core/index.js";
import type { RawImage } from "../frame.js";
import { toGrey } from "../recordings/still.js";

const SIDES = ["left", "right"] as const;
type Side = (typeof SIDES)[number];

/** A value and twice its standard deviation. */
export interface Measured {
  value: number;
  uncertainty: number;
}

export interface ExposureSkew {
  frames: number;
  /** How much later the right image's middle row begins its exposure than the left one's, microseconds. */
  offsetUs: Measured;
  /** The offset is known to whole multiples of this, microseconds. */
  periodUs: number;
  /** The mean of what the time stamps say, microseconds. */
  statedUs: number;
  /** Time between the beginnings of two rows: 0 for a global shutter. */
  lineTimeUs: Record<Side, Measured>;
}

const FEWEST_FRAMES = 30;
/** Columns of a row that are read. */
const COLUMNS = 64;
/** Largest share of one direction among the light's phases: above it, frames see too few of them. */
const MAX_IN_STEP = 0.5;
/** Smallest amplitude of the light, as a multiple of its uncertainty. */
const MIN_SIGNAL = 8;

/** Groups of frames that are left out in turn. */
const GROUPS = 8;

interface LineFit {
  /** Phase of the light at the middle row in radians, and twice its standard deviation. */
  phase: number;
  phaseError: number;
  lineTimeUs: Measured;
}

type Fit = Record<Side, LineFit>;

const nearestTurn = (turns: number): number => turns - Math.round(turns);
const turnsBetween = ({ left, right }: Fit): number =>
  nearestTurn((right.phase - left.phase) / (2 * Math.PI));

interface Complex {
  re: number;
  im: number;
}

/** Means of rows, over columns spread across the image. */
function rowMeans(image: RawImage): Float64Array {
  const { data, width, height } = toGrey(image);
  const step = Math.max(1, Math.floor(width / COLUMNS));
  const means = new Float64Array(height);
  for (let y = 0; y < height; y++) {
    let sum = 0;
    let count = 0;
    for (let x = 0; x < width; x += step, count++) sum += data[y * width + x]!;
    means[y] = sum / count;
  }
  return means;
}

export class BlinkPhase {
  readonly #hz: number;
  readonly #timesS: number[] = [];
  readonly #rows: Record<Side, Float64Array[]> = { left: [], right: [] };
  #firstNs: bigint | undefined;
  #statedUs = 0;

  /** @param blinkHz frequency of the light, better than 0.1 divided by the seconds that are measured */
  constructor(blinkHz: number) {
    this.#hz = blinkHz;
  }

  add({ left, right }: { left: RawImage; right: RawImage }): void {
    this.#firstNs ??= left.timestampNs;
    this.#timesS.push(Number(left.timestampNs - this.#firstNs) / 1e9);
    this.#statedUs += Number(right.timestampNs - left.timestampNs) / 1000;
    this.#rows.left.push(rowMeans(left));
    this.#rows.right.push(rowMeans(right));
  }

  /** @throws DepthwattError SYNC_UNMEASURED if the frames do not show the light's phase */
  result(): ExposureSkew {
    const frames = this.#timesS.length;
    if (frames < FEWEST_FRAMES) throw unmeasured(`at least ${FEWEST_FRAMES} pairs`, `${frames}`);
    this.#requireOutOfStep();
    const whole = this.#fit(-1);
    const periodUs = 1e6 / this.#hz;
    // The light's harmonics err alike in all rows, so the spread over frames counts too: a jackknife of groups of frames.
    const without = Array.from({ length: GROUPS }, (_, group) => this.#fit(group));
    const spread = (value: (fit: Fit) => number) => {
      const squares = without.map((fit) => value(fit) ** 2);
      return 2 * Math.sqrt(((GROUPS - 1) / GROUPS) * squares.reduce((sum, square) => sum + square, 0));
    };
    const lineTime = (side: Side): Measured => {
      const { value, uncertainty } = whole[side].lineTimeUs;
      return {
        value,
        uncertainty: Math.hypot(
          uncertainty,
          spread((fit) => fit[side].lineTimeUs.value - value),
        ),
      };
    };
    const error = Math.hypot(whole.left.phaseError, whole.right.phaseError) / (2 * Math.PI);
    return {
      frames,
      offsetUs: {
        value: turnsBetween(whole) * periodUs,
        uncertainty:
          periodUs *
          Math.hypot(
            error,
            spread((fit) => nearestTurn(turnsBetween(fit) - turnsBetween(whole))),
          ),
      },
      periodUs,
      statedUs: this.#statedUs / frames,
      lineTimeUs: { left: lineTime("left"), right: lineTime("right") },
    };
  }

  /** Fits both cameras' frames, all but one of the groups. */
  #fit(without: number): Fit {
    const frames = this.#timesS.length;
    const kept = this.#timesS.flatMap((_, k) => (Math.floor((k * GROUPS) / frames) === without ? [] : [k]));
    return { left: this.#fitLine("left", kept), right: this.#fitLine("right", kept) };
  }

  /** The light and its harmonics must not look steady to the frames. */
  #requireOutOfStep(): void {
    for (const multiple of [1, 2, 4]) {
      const sum = { re: 0, im: 0 };
      for (const seconds of this.#timesS) addTurned(sum, 1, -2 * Math.PI * multiple * this.#hz * seconds);
      const share = Math.hypot(sum.re, sum.im) / this.#timesS.length;
      if (share < MAX_IN_STEP) continue;
      throw unmeasured(
        "a light that does not blink in step with the frames",
        `${this.#hz} Hz, of which a small multiple is a multiple of the frame rate`,
      );
    }
  }

  /** Fits the phase of the middle row and the time between rows. */
  #fitLine(side: Side, kept: readonly number[]): LineFit {
    const { fitted, noise } = this.#fitRows(side, kept);
    const weights = fitted.map(({ re, im }) => re * re + im * im);
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    const amplitude = Math.sqrt(total / fitted.length);
    if (!(amplitude > MIN_SIGNAL * noise)) {
      throw unmeasured(
        `a light of ${this.#hz} Hz that lights the ${side} image`,
        `changes of ${amplitude.toFixed(2)} grey levels`,
      );
    }
    // The mean turn from one row to the next, then the remaining angles.
    const step = { re: 0, im: 0 };
    for (let row = 1; row < fitted.length; row++) {
      const [a, b] = [fitted[row - 1]!, fitted[row]!];
      step.re += b.re * a.re + b.im * a.im;
      step.im += b.im * a.re - b.re * a.im;
    }
    const turn = Math.atan2(step.im, step.re);
    const middle = (fitted.length - 1) / 2;
    const mean = { re: 0, im: 0 };
    const rest = fitted.map((value, row) => turned(value, -turn * (row - middle)));
    for (const { re, im } of rest) {
      mean.re += re * Math.hypot(re, im);
      mean.im += im * Math.hypot(re, im);
    }
    const phase = Math.atan2(mean.im, mean.re);
    const angles = rest.map((value) => {
      const { re, im } = turned(value, -phase);
      return Math.atan2(im, re);
    });
    const line = weightedLine(angles, weights, middle);
    const perRow = 1e6 / (2 * Math.PI * this.#hz);
    return {
      phase: phase + line.at0,
      phaseError: 2 * line.at0Error,
      lineTimeUs: { value: (turn + line.slope) * perRow, uncertainty: 2 * line.slopeError * perRow },
    };
  }

  /** Fits each row's steady part, cosine and sine over the frames. */
  #fitRows(side: Side, kept: readonly number[]): { fitted: Complex[]; noise: number } {
    const rows = kept.map((k) => this.#rows[side][k]!);
    const height = rows[0]!.length;
    const angles = kept.map((k) => 2 * Math.PI * this.#hz * this.#timesS[k]!);
    const [cosines, sines] = [angles.map(Math.cos), angles.map(Math.sin)];
    const solve = leastSquares(cosines, sines);
    const fitted: Complex[] = [];
    let squares = 0;
    for (let row = 0; row < height; row++) {
      const values = rows.map((means) => means[row]!);
      const [steady, cosine, sine] = solve(values);
      fitted.push({ re: cosine, im: -sine });
      for (const [k, value] of values.entries())
        squares += (value - steady - cosine * cosines[k]! - sine * sines[k]!) ** 2;
    }
    return { fitted, noise: Math.sqrt((2 * squares) / (height * rows.length * rows.length)) };
  }
}

function addTurned(sum: Complex, length: number, angle: number): void {
  sum.re += length * Math.cos(angle);
  sum.im += length * Math.sin(angle);
}

const turned = ({ re, im }: Complex, angle: number): Complex => ({
  re: re * Math.cos(angle) - im * Math.sin(angle),
  im: re * Math.sin(angle) + im * Math.cos(angle),
});

/** Returns the least squares solution for 1, cosine and sine, by the inverse of the 3 x 3 normal matrix. */
function leastSquares(cosines: readonly number[], sines: readonly number[]) {
  const basis = [cosines.map(() => 1), cosines, sines];
  const dot = (a: readonly number[], b: readonly number[]) =>
    a.reduce((sum, value, k) => sum + value * b[k]!, 0);
  const [a, b, c, , d, e, , , f] = basis.flatMap((one) => basis.map((other) => dot(one, other))) as number[];
  const determinant = a! * (d! * f! - e! * e!) - b! * (b! * f! - c! * e!) + c! * (b! * e! - c! * d!);
  const inverse = [
    [d! * f! - e! * e!, c! * e! - b! * f!, b! * e! - c! * d!],
    [c! * e! - b! * f!, a! * f! - c! * c!, b! * c! - a! * e!],
    [b! * e! - c! * d!, b! * c! - a! * e!, a! * d! - b! * b!],
  ];
  return (values: readonly number[]): [steady: number, cosine: number, sine: number] => {
    const right = basis.map((one) => dot(one, values));
    const [x, y, z] = inverse.map((row) => dot(row, right) / determinant);
    return [x!, y!, z!];
  };
}

/** Fits angle = at0 + slope (row - middle). */
function weightedLine(angles: readonly number[], weights: readonly number[], middle: number) {
  let [s, sx, sy, sxx, sxy] = [0, 0, 0, 0, 0];
  for (const [row, angle] of angles.entries()) {
    const [w, x] = [weights[row]!, row - middle];
    s += w;
    sx += w * x;
    sy += w * angle;
    sxx += w * x * x;
    sxy += w * x * angle;
  }
  const determinant = s * sxx - sx * sx;
  const slope = (s * sxy - sx * sy) / determinant;
  const at0 = (sy - slope * sx) / s;
  let [squares, weightSquares] = [0, 0];
  for (const [row, angle] of angles.entries()) {
    squares += weights[row]! * (angle - at0 - slope * (row - middle)) ** 2;
    weightSquares += weights[row]! ** 2;
  }
  // Rows without light have no weight, so fewer than all rows count.
  const rows = (s * s) / weightSquares;
  const variance = squares / Math.max(1, rows - 2);
  return {
    slope,
    at0,
    slopeError: Math.sqrt((variance * s) / (determinant * 1)),
    at0Error: Math.sqrt((variance * sxx) / determinant),
  };
}

function unmeasured(expected: string, found: string): DepthwattError {
  return new DepthwattError("SYNC_UNMEASURED", `expected ${expected}, got ${found}`, {
    hint: "docs/guides/synchronisation.md shows how to set up the light.",
  });
}
