// SPDX-License-Identifier: Apache-2.0
// From boards seen by both cameras to a stereo calibration: what is left out and why, the adjustment, and what it is worth.
import { DepthwattError, hasCode } from "../../core/index.js";
import {
  type CameraCalibration,
  type DistortionModel,
  type ImageSize,
  type Rectification,
  rectify,
  type StereoCalibration,
  withHash,
} from "../calibration/index.js";
import { nearestRotation } from "../calibration/matrix.js";
import type { Matrix3, Vector3 } from "../calibration/matrix.js";
import { type Board, boardCorners, boardPoint, boardWords, gridOf } from "./board.js";
import { type Coverage, coverageOf } from "./coverage.js";
import { checkCameras, checkFocus } from "./doubts.js";
import {
  type CalibrateExports,
  type Detection,
  LENS_MODELS,
  type LensModel,
  type NativeSolution,
} from "./native.js";
import {
  blurOf,
  meanShift,
  median,
  type PairVerdict,
  pointsById,
  readFromOtherEnd,
  type Rejection,
  sameOrder,
  type SeenPair,
  whyAbsent,
  whyBlurred,
  whySamePicture,
} from "./pairs.js";
import { rectifiedPoint } from "./rays.js";

export interface CalibrateOptions {
  readonly board: Board;
  readonly lens: LensModel;
  readonly imageSize: ImageSize;
  /** Radtan's k3 stays 0, which Kalibr's form needs. */
  readonly withoutK3?: boolean;
  /** Distance between the cameras as somebody measured it: checks the size of the squares. */
  readonly baselineMetres?: number;
  /** Matching error that the expected depth error assumes, pixels. Default 0.25. */
  readonly matchingErrorPixels?: number;
}

/** Standard deviations of depth at one distance, metres, on the axis of the left camera. */
export interface DepthError {
  readonly depthMetres: number;
  /** By the calibration's own uncertainty. */
  readonly calibrationMetres: number;
  /** By a matching error of matchingErrorPixels. */
  readonly matchingMetres: number;
  /** Both together. */
  readonly totalMetres: number;
}

export interface CalibrationResult {
  readonly calibration: StereoCalibration;
  readonly lens: LensModel;
  readonly board: Board;
  /** Over all corners of both cameras that were used, as OpenCV's stereoCalibrate tells it. */
  readonly rmsPixels: number;
  readonly leftRmsPixels: number;
  readonly rightRmsPixels: number;
  /** Of the rows of the same corner in both rectified images; undefined where the lenses cannot be rectified. */
  readonly epipolarRmsPixels: number | undefined;
  readonly pairs: readonly PairVerdict[];
  readonly pairsUsed: number;
  readonly baselineMetres: number;
  /** Standard deviations from the normal matrix; undefined where it is singular. */
  readonly deviations:
    | {
        readonly leftFocalPixels: number;
        readonly rightFocalPixels: number;
        readonly baselineMetres: number;
        readonly rotationDegrees: number;
      }
    | undefined;
  readonly depthErrors: readonly DepthError[];
  readonly matchingErrorPixels: number;
  readonly coverage: { readonly left: Coverage; readonly right: Coverage };
  /** Median blur of each camera, standard deviation in pixels. */
  readonly blurPixels: { readonly left: number; readonly right: number };
  readonly warnings: readonly string[];
}

/** Fewer pairs leave lens and pose to each other. */
export const LEAST_PAIRS = 5;
/** Pairs below which a warning says that more would help. */
const WANTED_PAIRS = 10;
const DEPTHS_METRES = [1, 3, 10];
/** Mean shift of the corners, in diagonals of the image, below which a pose says nothing new. */
const DUPLICATE_SHARE = 0.003;

/** The names of camera/calibration for the lens models. */
const MODEL_NAMES: Record<LensModel, DistortionModel> = {
  radtan: "plumb_bob",
  rational: "rational_polynomial",
  fisheye: "equidistant",
};

interface Corner {
  readonly view: number;
  readonly camera: 0 | 1;
  readonly id: number;
  readonly x: number;
  readonly y: number;
  used: boolean;
}

function cornersOf(pairs: readonly SeenPair[]): Corner[] {
  return pairs.flatMap((pair, view) =>
    (["left", "right"] as const).flatMap((side, camera) =>
      Array.from(pair[side].ids, (id, at) => ({
        view,
        camera: camera as 0 | 1,
        id,
        x: pair[side].points[2 * at]!,
        y: pair[side].points[2 * at + 1]!,
        used: true,
      })),
    ),
  );
}

async function solve(
  native: CalibrateExports,
  corners: readonly Corner[],
  views: number,
  { board, lens, imageSize, matchingErrorPixels = 0.25, withoutK3 = false }: CalibrateOptions,
  how: { robust: boolean; cameras: 1 | 2; depths?: readonly Vector3[] },
): Promise<NativeSolution> {
  const objects = new Float64Array(3 * corners.length);
  const pixels = new Float64Array(2 * corners.length);
  corners.forEach(({ id, x, y }, at) => {
    objects.set([...boardPoint(board, id), 0], 3 * at);
    pixels.set([x, y], 2 * at);
  });
  const depths = how.depths ?? [];
  try {
    return await native.solveCalibration({
      model: LENS_MODELS.indexOf(lens),
      cameras: how.cameras,
      views,
      width: imageSize.width,
      height: imageSize.height,
      robust: how.robust,
      withoutK3,
      count: corners.length,
      viewOf: Int32Array.from(corners, ({ view }) => view),
      cameraOf: Uint8Array.from(corners, ({ camera }) => (how.cameras === 1 ? 0 : camera)),
      used: Uint8Array.from(corners, ({ used }) => (used ? 1 : 0)),
      objects,
      pixels,
      depthCount: depths.length,
      depthPoints: Float64Array.from(depths.flat()),
      disparityPixels: matchingErrorPixels,
    });
  } catch (cause) {
    if (!hasCode(cause, "ENGINE_FAILED")) throw cause;
    throw new DepthwattError(
      "CALIBRATION_DOUBTFUL",
      `expected corners of one rig: ${(cause as Error).message}`,
      {
        cause,
        hint: "Check the size of the board (--board) and that it is flat, and take more pairs with the board tilted.",
      },
    );
  }
}

const rms = (values: readonly number[]): number =>
  Math.sqrt(values.reduce((sum, value) => sum + value * value, 0) / Math.max(values.length, 1));

/** Distance of each corner from where it should be; NaN where it cannot be projected. */
const distancesOf = ({ residuals }: NativeSolution): number[] =>
  Array.from({ length: residuals.length / 2 }, (_, i) =>
    Math.hypot(residuals[2 * i]!, residuals[2 * i + 1]!),
  );

/** Corners further out than this belong to something else: five deviations of the noise as its median tells it. */
function cornerLimit(distances: readonly number[]): number {
  return Math.max((5 * median(distances.filter((d) => !Number.isNaN(d)))) / 1.1774, 0.25);
}

interface Sorted {
  readonly kept: { readonly pair: SeenPair; readonly index: number }[];
  readonly rejected: Map<number, Rejection>;
}

/** What can be told of pairs without a calibration. */
function sortPairs(pairs: readonly SeenPair[], { board, imageSize }: CalibrateOptions): Sorted {
  const rejected = new Map<number, Rejection>();
  const kept: { pair: SeenPair; index: number }[] = [];
  pairs.forEach((seen, index) => {
    const absent = whyAbsent(seen, board) ?? whySamePicture(seen);
    const pair = absent ?? sameOrder(seen, board);
    if ("cause" in pair) rejected.set(index, pair);
    else kept.push({ pair, index });
  });
  const usual = {
    left: median(kept.map(({ pair }) => blurOf(pair.left))),
    right: median(kept.map(({ pair }) => blurOf(pair.right))),
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

function tooFew(
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

function cameraOf(name: string, lens: LensModel, numbers: Float64Array): CameraCalibration {
  const [fx, fy, cx, cy, ...coefficients] = numbers as unknown as [
    number,
    number,
    number,
    number,
    ...number[],
  ];
  return {
    name,
    K: [fx, 0, cx, 0, fy, cy, 0, 0, 1],
    distortion: { model: MODEL_NAMES[lens], coefficients },
  };
}

function calibrationOf(solution: NativeSolution, { lens, imageSize }: CalibrateOptions): StereoCalibration {
  return withHash({
    imageSize,
    left: cameraOf("left", lens, solution.lenses[0]!),
    right: cameraOf("right", lens, solution.lenses[1]!),
    R: nearestRotation([...solution.rotation] as unknown as Matrix3),
    T: [...solution.translation] as unknown as Vector3,
    files: [],
  });
}

/** Root of v' C v over a block of the covariance. */
function deviationAlong(solution: NativeSolution, first: number, direction: readonly number[]): number {
  const n = solution.parameters;
  let sum = 0;
  direction.forEach((a, i) => {
    direction.forEach((b, j) => {
      sum += a * b * solution.covariance[(first + i) * n + first + j]!;
    });
  });
  return Math.sqrt(Math.max(sum, 0));
}

function deviationsOf(solution: NativeSolution): CalibrationResult["deviations"] {
  const { covariance, parameters, lenses, translation } = solution;
  if (covariance.length === 0) return undefined;
  const second = lenses[0]!.length;
  const rig = second + lenses[1]!.length;
  const variance = (at: number) => Math.max(covariance[at * parameters + at]!, 0);
  const length = Math.hypot(...translation);
  return {
    leftFocalPixels: Math.sqrt(variance(0)),
    rightFocalPixels: Math.sqrt(variance(second)),
    baselineMetres: deviationAlong(
      solution,
      rig + 3,
      [...translation].map((t) => t / length),
    ),
    rotationDegrees: (Math.sqrt(variance(rig) + variance(rig + 1) + variance(rig + 2)) * 180) / Math.PI,
  };
}

/** Rows of the same corner in both rectified images, left minus right, of one pair. */
function rowDifferences(
  pair: SeenPair,
  calibration: StereoCalibration,
  rectification: Rectification,
  count: number,
): number[] {
  const [left, right] = [pointsById(pair.left, count), pointsById(pair.right, count)];
  const out: number[] = [];
  for (let id = 0; id < count; id++) {
    const row = (side: "left" | "right", points: Float64Array) =>
      rectifiedPoint(calibration[side], rectification, side, points[2 * id]!, points[2 * id + 1]!)[1];
    const difference = row("left", left) - row("right", right);
    if (Number.isFinite(difference)) out.push(difference);
  }
  return out;
}

/** Undefined where a lens bends too far for one flat image. */
function rectificationOf(calibration: StereoCalibration): Rectification | undefined {
  try {
    return rectify(calibration);
  } catch (error) {
    if (!hasCode(error, "CALIBRATION_INVALID")) throw error;
    return undefined;
  }
}

/** A pair mirrored left to right, as a camera that mirrors would have seen it. */
function mirrored(detection: Detection, board: Board, width: number): Detection {
  const { columns } = gridOf(board);
  return {
    ...detection,
    ids: detection.ids.map((id) => Math.floor(id / columns) * columns + columns - 1 - (id % columns)),
    points: detection.points.map((value, at) => (at % 2 === 0 ? width - 1 - value : value)),
  };
}

/** Whether one camera's images are mirrored: then the rig fits when they are mirrored back. */
async function mirrorOf(
  native: CalibrateExports,
  pairs: readonly SeenPair[],
  options: CalibrateOptions,
  rmsPixels: number,
): Promise<"left" | "right" | undefined> {
  for (const side of ["right", "left"] as const) {
    for (const turned of [false, true]) {
      const tried = pairs.map((pair) => {
        const back = mirrored(pair[side], options.board, options.imageSize.width);
        return { ...pair, [side]: turned ? readFromOtherEnd(back, options.board) : back };
      });
      try {
        const solution = await solve(native, cornersOf(tried), tried.length, options, {
          robust: true,
          cameras: 2,
        });
        if (median(distancesOf(solution)) < rmsPixels / 4) return side;
      } catch (error) {
        if (!hasCode(error, "CALIBRATION_DOUBTFUL")) throw error;
      }
    }
  }
  return undefined;
}

/** Pairs whose corners do not fit the rig that the others form: each camera by itself tells a moved board from a bad one. */
function misfits(
  pairs: readonly SeenPair[],
  corners: readonly Corner[],
  joint: NativeSolution,
  alone: readonly number[][],
): Map<number, Rejection> {
  const distances = distancesOf(joint);
  const perPair = pairs.map((_, view) => median(distances.filter((_, at) => corners[at]!.view === view)));
  const usual = median(perPair);
  const out = new Map<number, Rejection>();
  perPair.forEach((here, view) => {
    if (!Number.isNaN(here) && here <= Math.max(5 * usual, usual + 0.4)) return;
    const own = Math.max(alone[0]![view]!, alone[1]![view]!);
    const far = Number.isNaN(here) ? "out of the image" : `${here.toFixed(1)} px`;
    if (own < Math.max(here / 3, 2 * usual)) {
      out.set(view, {
        cause: "motion",
        reason: `the board moved between the cameras: each image fits by itself, together they are ${far} apart`,
      });
    } else {
      out.set(view, { cause: "misfit", reason: `its corners lie ${far} from where the others put them` });
    }
  });
  return out;
}

/** Median distance of each pair's corners when one camera is fitted by itself. */
async function fitAlone(
  native: CalibrateExports,
  pairs: readonly SeenPair[],
  options: CalibrateOptions,
): Promise<{ perPair: number[][]; medians: number[] }> {
  const perPair: number[][] = [];
  const medians: number[] = [];
  for (const camera of [0, 1] as const) {
    const own = cornersOf(pairs).filter((corner) => corner.camera === camera);
    const solution = await solve(native, own, pairs.length, options, { robust: true, cameras: 1 });
    const distances = distancesOf(solution);
    perPair.push(pairs.map((_, view) => median(distances.filter((_, at) => own[at]!.view === view))));
    medians.push(median(distances));
  }
  return { perPair, medians };
}

function warningsOf(
  used: number,
  coverage: CalibrationResult["coverage"],
  deviations: CalibrationResult["deviations"],
  calibration: StereoCalibration,
): string[] {
  const warnings: string[] = [];
  if (used < WANTED_PAIRS)
    warnings.push(
      `only ${used} pairs were used: ${WANTED_PAIRS} to 30 in different places and tilts are better`,
    );
  for (const side of ["left", "right"] as const) {
    const { share } = coverage[side];
    if (share < 0.6) {
      warnings.push(
        `the board was seen in ${Math.round(share * 100)} % of the ${side} image only: hold it into the corners too`,
      );
    }
  }
  const focal = calibration.left.K[0];
  if (deviations === undefined) warnings.push("the pairs do not determine every number: tilt the board more");
  else if (deviations.leftFocalPixels > 0.005 * focal) {
    const percent = ((deviations.leftFocalPixels / focal) * 100).toFixed(2);
    warnings.push(
      `the focal length is known to ${percent} % only: tilt the board up to 45 degrees in both directions`,
    );
  }
  return warnings;
}

/**
 * Calibrates a stereo rig from boards that were seen in its pairs.
 * @throws DepthwattError BOARD_NOT_FOUND, CALIBRATION_TOO_FEW; CALIBRATION_DOUBTFUL where the pairs contradict a rig of two
 *   cameras side by side, and the message says what is probably wrong
 */
export async function calibratePairs(
  native: CalibrateExports,
  pairs: readonly SeenPair[],
  options: CalibrateOptions,
): Promise<CalibrationResult> {
  const { board, lens, imageSize } = options;
  const { kept, rejected } = sortPairs(pairs, options);
  if (kept.length < LEAST_PAIRS) throw tooFew(kept.length, pairs, rejected, board);
  const blurPixels = {
    left: median(kept.map(({ pair }) => blurOf(pair.left))),
    right: median(kept.map(({ pair }) => blurOf(pair.right))),
  };
  checkFocus(blurPixels);

  // A rough rig first: it says which pairs and corners are wrong.
  const good = () => kept.filter(({ index }) => !rejected.has(index));
  const alone = await fitAlone(
    native,
    kept.map(({ pair }) => pair),
    options,
  );
  for (let round = 0; round < 3; round++) {
    const now = good();
    const seen = now.map(({ pair }) => pair);
    const corners = cornersOf(seen);
    const rough = await solve(native, corners, seen.length, options, { robust: true, cameras: 2 });
    const middle = median(distancesOf(rough));
    const expected = Math.max(...alone.medians);
    if (round === 0 && middle > Math.max(4 * expected, expected + 0.5)) {
      const side = await mirrorOf(native, seen, options, middle);
      if (side !== undefined) {
        throw new DepthwattError(
          "CALIBRATION_DOUBTFUL",
          `the ${side} images are mirrored: expected both cameras to see the board the same way round`,
          {
            hint: "Switch off the mirroring (horizontal flip) of that camera, and take the pairs again.",
          },
        );
      }
    }
    const perView = alone.perPair.map((values) =>
      now.map(({ index }) => values[kept.findIndex((one) => one.index === index)]!),
    );
    const bad = misfits(seen, corners, rough, perView);
    for (const [view, why] of bad) rejected.set(now[view]!.index, why);
    if (bad.size === 0) break;
    if (good().length < LEAST_PAIRS) throw tooFew(good().length, pairs, rejected, board);
  }

  const final = good();
  const seen = final.map(({ pair }) => pair);
  const corners = cornersOf(seen);
  const rough = await solve(native, corners, seen.length, options, { robust: true, cameras: 2 });
  const first = distancesOf(rough);
  const limit = cornerLimit(first);
  corners.forEach((corner, at) => {
    corner.used = first[at]! <= limit;
  });
  const depths = DEPTHS_METRES.map((z): Vector3 => [0, 0, z]);
  const solution = await solve(native, corners, seen.length, options, { robust: false, cameras: 2, depths });
  const calibration = calibrationOf(solution, options);
  checkCameras(calibration, options);

  const distances = distancesOf(solution);
  const count = boardCorners(board);
  const chosen = (test: (corner: Corner) => boolean) =>
    distances.filter((_, at) => corners[at]!.used && test(corners[at]!));
  const rectification = rectificationOf(calibration);
  const rows = seen.map((pair) =>
    rectification === undefined ? [] : rowDifferences(pair, calibration, rectification, count),
  );
  const verdicts = pairs.map(({ name }, index): PairVerdict => {
    const view = final.findIndex((one) => one.index === index);
    const why = rejected.get(index);
    if (view < 0) return { name, used: false, cornersLeftOut: 0, ...why };
    return {
      name,
      used: true,
      cornersLeftOut: corners.filter((corner) => corner.view === view && !corner.used).length,
      leftRmsPixels: rms(chosen((corner) => corner.view === view && corner.camera === 0)),
      rightRmsPixels: rms(chosen((corner) => corner.view === view && corner.camera === 1)),
      ...(rows[view]!.length === 0 ? {} : { epipolarRmsPixels: rms(rows[view]!) }),
    };
  });
  const deviations = deviationsOf(solution);
  const coverage = {
    left: coverageOf(
      seen.map(({ left }) => left),
      imageSize.width,
      imageSize.height,
    ),
    right: coverageOf(
      seen.map(({ right }) => right),
      imageSize.width,
      imageSize.height,
    ),
  };
  return {
    calibration,
    lens,
    board,
    rmsPixels: solution.rmsPixels,
    leftRmsPixels: rms(chosen(({ camera }) => camera === 0)),
    rightRmsPixels: rms(chosen(({ camera }) => camera === 1)),
    epipolarRmsPixels: rectification === undefined ? undefined : rms(rows.flat()),
    pairs: verdicts,
    pairsUsed: seen.length,
    baselineMetres: Math.hypot(...calibration.T),
    deviations,
    depthErrors: DEPTHS_METRES.map((depthMetres, at) => {
      const calibrationMetres = solution.depthDeviations[2 * at]!;
      const matchingMetres = solution.depthDeviations[2 * at + 1]!;
      return {
        depthMetres,
        calibrationMetres,
        matchingMetres,
        totalMetres: Math.hypot(calibrationMetres, matchingMetres),
      };
    }),
    matchingErrorPixels: options.matchingErrorPixels ?? 0.25,
    coverage,
    blurPixels,
    warnings: [
      ...warningsOf(seen.length, coverage, deviations, calibration),
      ...(rectification === undefined
        ? ["the lenses see too wide for one flat image: rectification will refuse this calibration"]
        : []),
    ],
  };
}
