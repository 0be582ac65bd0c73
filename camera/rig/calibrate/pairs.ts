// SPDX-License-Identifier: Apache-2.0
// Defines a pair in which the board was searched, and checks it before the computation.
import { mean } from "../../../core/index.js";
import { type Board, boardCorners, boardGrid } from "./board.js";
import type { Detection } from "./native.js";

export interface SeenPair {
  /** Name in messages: a file's name or the place in a recording. */
  readonly name: string;
  readonly left: Detection;
  readonly right: Detection;
  /** By camera of CalibrateOptions.others; undefined where it has no image of this pair. */
  readonly others?: readonly (Detection | undefined)[];
}

export type RejectionCause =
  | "noBoard"
  | "incomplete"
  | "outOfOrder"
  | "blur"
  | "duplicate"
  | "motion"
  | "misfit";

export interface PairVerdict {
  readonly name: string;
  readonly used: boolean;
  /** Absent where the pair is used. */
  readonly cause?: RejectionCause;
  readonly reason?: string;
  /** Corners of both cameras that were left out as wrong. */
  readonly cornersLeftOut: number;
  /** Root of the mean squared distance between seen and projected corners, pixels. Undefined: never computed. */
  readonly leftRmsPixels?: number;
  readonly rightRmsPixels?: number;
  /** Root of the mean squared difference of rows after rectification, pixels. */
  readonly epipolarRmsPixels?: number;
}

export interface Rejection {
  readonly cause: RejectionCause;
  readonly reason: string;
}

/** Fewer common points say too little of a pose. */
export const LEAST_POINTS = 8;
const CAMERAS = ["left", "right"] as const;

export function whyAbsent(pair: SeenPair, board: Board): Rejection | undefined {
  for (const camera of CAMERAS) {
    const { absence, missing } = pair[camera];
    if (absence === "none") continue;
    if (absence === "incomplete" || absence === "otherSize") {
      return {
        cause: "incomplete",
        reason: `${missing} of ${boardCorners(board)} corners were not found in the ${camera} image`,
      };
    }
    if (absence === "outOfOrder")
      return { cause: "outOfOrder", reason: `the ${camera} image's corners are out of order` };
    return { cause: "noBoard", reason: `no board was found in the ${camera} image` };
  }
  for (const camera of CAMERAS) {
    const count = pair[camera].ids.length;
    if (count < LEAST_POINTS)
      return { cause: "incomplete", reason: `only ${count} corners were found in the ${camera} image` };
  }
  return undefined;
}

/** Two cameras never see a board in the same place to the last digit: one file was named twice. */
export function whySamePicture({ left, right }: SeenPair): Rejection | undefined {
  const same =
    left.points.length === right.points.length && left.points.every((v, at) => v === right.points[at]);
  return same ? { cause: "duplicate", reason: "both images are the same picture" } : undefined;
}

/** Position of each id; NaN where it was not seen. */
export function pointsById({ ids, points }: Detection, count: number): Float64Array {
  const out = new Float64Array(2 * count).fill(Number.NaN);
  ids.forEach((id, at) => {
    out[2 * id] = points[2 * at]!;
    out[2 * id + 1] = points[2 * at + 1]!;
  });
  return out;
}

/** Mean distance between the same points of two pictures; infinite where they share too few. */
export function meanShift(a: Detection, b: Detection, count: number): number {
  const [p, q] = [pointsById(a, count), pointsById(b, count)];
  let sum = 0;
  let shared = 0;
  for (let i = 0; i < count; i++) {
    const distance = Math.hypot(p[2 * i]! - q[2 * i]!, p[2 * i + 1]! - q[2 * i + 1]!);
    if (Number.isNaN(distance)) continue;
    sum += distance;
    shared++;
  }
  return shared < LEAST_POINTS ? Number.POSITIVE_INFINITY : sum / shared;
}

/** The same points under the numbers that they have when the board is read from its other end. */
export function readFromOtherEnd(detection: Detection, board: Board): Detection {
  const { columns, rows } = boardGrid(board);
  return { ...detection, ids: detection.ids.map((id) => columns * rows - 1 - id) };
}

/** Root mean squared distance between both images' points after their means and scales are made equal. */
function shapeDistance(left: Detection, right: Detection, count: number): number {
  const [p, q] = [pointsById(left, count), pointsById(right, count)];
  const shared: number[] = [];
  for (let i = 0; i < count; i++) if (!Number.isNaN(p[2 * i]!) && !Number.isNaN(q[2 * i]!)) shared.push(i);
  const normal = (points: Float64Array) => {
    const axisMean = (axis: 0 | 1) => mean(shared.map((i) => points[2 * i + axis]!));
    const [mx, my] = [axisMean(0), axisMean(1)];
    const moved = shared.map((i) => [points[2 * i]! - mx, points[2 * i + 1]! - my] as const);
    const spread = Math.sqrt(moved.reduce((sum, [x, y]) => sum + x * x + y * y, 0) / shared.length);
    return moved.map(([x, y]) => [x / spread, y / spread] as const);
  };
  const [a, b] = [normal(p), normal(q)];
  return Math.sqrt(
    a.reduce((sum, [x, y], i) => sum + (x - b[i]![0]) ** 2 + (y - b[i]![1]) ** 2, 0) / a.length,
  );
}

/**
 * Makes both images' points carry the same numbers. A board whose fields look the same from both ends is turned as the left
 * image shows it; one that does not and still disagrees was read wrongly.
 */
export function sameOrder(pair: SeenPair, board: Board): SeenPair | Rejection {
  if (board.pattern === "charuco") return pair;
  const count = boardCorners(board);
  const { columns, rows } = boardGrid(board);
  const turned = readFromOtherEnd(pair.right, board);
  if (shapeDistance(pair.left, turned, count) >= shapeDistance(pair.left, pair.right, count)) return pair;
  const sameFromBothEnds = board.pattern === "chessboard" ? (columns + rows) % 2 === 0 : rows % 2 === 0;
  if (sameFromBothEnds) return { ...pair, right: turned };
  return {
    cause: "outOfOrder",
    reason: "the corners of both images are not in the same order: one shows the board turned by half a turn",
  };
}

/** Larger of both directions. */
export const estimateBlur = ({ blurAlongRows, blurAlongColumns }: Detection): number =>
  Math.max(blurAlongRows, blurAlongColumns);

/** Beyond twice the usual blur of the camera, and a pixel more than it. */
export function whyBlurred(
  pair: SeenPair,
  usual: Readonly<Record<"left" | "right", number>>,
): Rejection | undefined {
  for (const camera of CAMERAS) {
    const blur = estimateBlur(pair[camera]);
    if (blur <= Math.max(2 * usual[camera], usual[camera] + 1)) continue;
    return {
      cause: "blur",
      reason: `the ${camera} image is blurred: ${blur.toFixed(1)} px, ${usual[camera].toFixed(1)} px is usual`,
    };
  }
  return undefined;
}
