// SPDX-License-Identifier: Apache-2.0
// Which pairs a calibration is made of: what each pair reports automatically, and what it reports next to the rig that the others form.
import { DepthwattError, median } from "../../../core/index.js";
import { type Board, boardCorners, boardWords } from "./board.js";
import type { CalibrateExports, NativeSolution } from "./native.js";
import {
  estimateBlur,
  meanShift,
  type Rejection,
  type SeenPair,
  sameOrder,
  whyAbsent,
  whyBlurred,
  whySamePicture,
} from "./pairs.js";
import type { CalibrateOptions } from "./result.js";
import { boardDistances, type Corner, listCorners, solve } from "./solve.js";

/** Fewer pairs leave lens and pose to each other. */
export const LEAST_PAIRS = 5;
/** Corners with larger residuals belong to something else: five deviations of the noise, estimated from its median. */
export function cornerLimit(distances: readonly number[]): number {
  return Math.max((5 * median(distances.filter((d) => !Number.isNaN(d)))) / 1.1774, 0.25);
}

/** Mean shift of the corners, in diagonals of the image, below which a pose says nothing new. */
const DUPLICATE_SHARE = 0.003;

export interface Sorted {
  readonly kept: { readonly pair: SeenPair; readonly index: number }[];
  readonly rejected: Map<number, Rejection>;
}

/** Sorts pairs as far as possible without a calibration. */
export function sortPairs(pairs: readonly SeenPair[], { board, imageSize }: CalibrateOptions): Sorted {
  const rejected = new Map<number, Rejection>();
  const kept: { pair: SeenPair; index: number }[] = [];
  pairs.forEach((seen, index) => {
    const absent = whyAbsent(seen, board) ?? whySamePicture(seen);
    const pair = absent ?? sameOrder(seen, board);
    if ("cause" in pair) rejected.set(index, pair);
    else kept.push({ pair, index });
  });
  const usual = {
    left: median(kept.map(({ pair }) => estimateBlur(pair.left))),
    right: median(kept.map(({ pair }) => estimateBlur(pair.right))),
  };
  const count = boardCorners(board);
  const nearest = DUPLICATE_SHARE * Math.hypot(imageSize.width, imageSize.height);
  const out: typeof kept = [];
  for (const { pair, index } of kept) {
    const blurred = whyBlurred(pair, usual);
    const twin = out.find(
      ({ pair: other }) =>
        meanShift(pair.left, other.left, count) < nearest &&
        meanShift(pair.right, other.right, count) < nearest,
    );
    if (blurred !== undefined) rejected.set(index, blurred);
    else if (twin !== undefined) {
      rejected.set(index, { cause: "duplicate", reason: `the board is where it was in ${twin.pair.name}` });
    } else out.push({ pair, index });
  }
  return { kept: out, rejected };
}

export function tooFew(
  usable: number,
  pairs: readonly SeenPair[],
  rejected: Map<number, Rejection>,
  board: Board,
): Error {
  const causes = new Map<string, number>();
  for (const { reason } of rejected.values()) {
    const text = reason.replace(/: .*/, "").replace(/where it was in .*/, "where it was in another pair");
    causes.set(text, (causes.get(text) ?? 0) + 1);
  }
  const turned = [...rejected.values()].filter(({ cause }) => cause === "outOfOrder").length;
  if (2 * turned > pairs.length) {
    return new DepthwattError(
      "CALIBRATION_DOUBTFUL",
      `one camera's images are upside down: in ${turned} of ${pairs.length} pairs one image shows the board turned by half a turn`,
      {
        hint: "Turn the images of that camera by 180 degrees, or switch off its vertical flip, and take the pairs again.",
      },
    );
  }
  const worst = [...causes].sort((a, b) => b[1] - a[1])[0];
  const why = worst === undefined ? "" : ` (most often: ${worst[0]}, ${worst[1]} of ${pairs.length})`;
  const none = usable === 0;
  return new DepthwattError(
    none ? "BOARD_NOT_FOUND" : "CALIBRATION_TOO_FEW",
    none
      ? `expected a board of ${boardWords(board)} in both images of a pair, found none in ${pairs.length} pairs${why}`
      : `expected at least ${LEAST_PAIRS} usable pairs, found ${usable} of ${pairs.length}${why}`,
    { context: { usable, pairs: pairs.length } },
  );
}

/**
 * Returns pairs whose corners do not fit the rig that the others form. Each camera alone distinguishes a moved board
 * from a bad one.
 */
export function misfits(
  pairs: readonly SeenPair[],
  corners: readonly Corner[],
  joint: NativeSolution,
  alone: readonly number[][],
): Map<number, Rejection> {
  const distances = boardDistances(joint);
  const ofImage = (view: number, camera: number) =>
    median(distances.filter((_, at) => corners[at]!.view === view && corners[at]!.camera === camera));
  // Where the board moved, the corners of one image fit exactly, and those of the other lie far away.
  const perPair = pairs.map((_, view) => Math.max(ofImage(view, 0), ofImage(view, 1)));
  const usual = median(perPair);
  const out = new Map<number, Rejection>();
  perPair.forEach((here, view) => {
    if (!Number.isNaN(here) && here <= Math.max(5 * usual, usual + 0.4)) return;
    const own = Math.max(alone[0]![view]!, alone[1]![view]!);
    const far = Number.isNaN(here) ? "out of the image" : `${here.toFixed(1)} px`;
    if (own < Math.max(here / 3, 2 * usual)) {
      out.set(view, {
        cause: "motion",
        reason: `the board moved between the cameras: each image fits alone, together they are ${far} apart`,
      });
    } else {
      out.set(view, { cause: "misfit", reason: `its corners lie ${far} from where the others put them` });
    }
  });
  return out;
}

/** Median distance of each pair's corners when one camera is fitted automatically. */
export async function fitAlone(
  native: CalibrateExports,
  pairs: readonly SeenPair[],
  options: CalibrateOptions,
): Promise<{ perPair: number[][]; medians: number[] }> {
  const perPair: number[][] = [];
  const medians: number[] = [];
  for (const camera of [0, 1] as const) {
    const own = listCorners(pairs)
      .filter((corner) => corner.camera === camera)
      .map((corner) => ({ ...corner, camera: 0 }));
    const solution = await solve(native, own, pairs.length, options, { robust: true, cameras: [options] });
    const distances = boardDistances(solution);
    perPair.push(pairs.map((_, view) => median(distances.filter((_, at) => own[at]!.view === view))));
    medians.push(median(distances));
  }
  return { perPair, medians };
}
