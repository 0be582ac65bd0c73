// SPDX-License-Identifier: Apache-2.0
// Calibrates a stereo rig from detected boards: rejects bad pairs with a reason, adjusts, and estimates the quality.
import { median } from "../../../core/index.js";
import { boardCorners } from "./board.js";
import { cornerLimit, fitAlone, LEAST_PAIRS, misfits, sortPairs, tooFew } from "./choose.js";
import { measureCoverage } from "./coverage.js";
import { checkMirrors } from "./mirror.js";
import type { CalibrateExports } from "./native.js";
import { cornersOfOthers, resultsOfOthers } from "./others.js";
import { estimateBlur, type PairVerdict, type SeenPair } from "./pairs.js";
import { checkCameras, checkFocus } from "./plausibility.js";
import {
  betterLens,
  calibrationWarnings,
  DEPTH_POINTS,
  estimateDepthErrors,
  rowDifferences,
  standardDeviations,
  tryRectify,
  whyRowsApart,
  whyWithoutRay,
} from "./quality.js";
import type { CalibrateOptions, CalibrationResult } from "./result.js";
import {
  boardDistances,
  buildCalibration,
  type Corner,
  listCorners,
  pairSpecs,
  rms,
  solve,
} from "./solve.js";

/**
 * Calibrates a stereo rig from boards that were detected in its pairs.
 * @throws DepthwattError BOARD_NOT_FOUND, CALIBRATION_TOO_FEW; CALIBRATION_DOUBTFUL if the pairs contradict a rig of
 * two cameras side by side, with the probable cause in the message
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
    left: median(kept.map(({ pair }) => estimateBlur(pair.left))),
    right: median(kept.map(({ pair }) => estimateBlur(pair.right))),
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
    const corners = listCorners(seen);
    const rough = await solve(native, corners, seen.length, options, {
      robust: true,
      cameras: pairSpecs(options),
    });
    const middle = median(boardDistances(rough));
    const expected = Math.max(...alone.medians);
    if (round === 0 && middle > Math.max(4 * expected, expected + 0.5)) {
      await checkMirrors(native, seen, options, middle);
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
  const corners = listCorners(seen);
  const rough = await solve(native, corners, seen.length, options, {
    robust: true,
    cameras: pairSpecs(options),
  });
  const first = boardDistances(rough);
  const limit = cornerLimit(first);
  corners.forEach((corner, at) => {
    corner.used = first[at]! <= limit;
  });
  // The pair's corners come first.
  const all = [...corners, ...(await cornersOfOthers(native, seen, options))];
  const solution = await solve(native, all, seen.length, options, {
    robust: false,
    cameras: [...pairSpecs(options), ...(options.others ?? [])],
    depths: DEPTH_POINTS,
  });
  const calibration = buildCalibration(solution, options);
  checkCameras(calibration, options);

  const distances = boardDistances(solution).slice(0, corners.length);
  const count = boardCorners(board);
  const chosen = (test: (corner: Corner) => boolean) =>
    distances.filter((_, at) => corners[at]!.used && test(corners[at]!));
  const rectification = tryRectify(calibration);
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
  const deviations = standardDeviations(solution);
  const coverage = {
    left: measureCoverage(
      seen.map(({ left }) => left),
      imageSize.width,
      imageSize.height,
    ),
    right: measureCoverage(
      seen.map(({ right }) => right),
      imageSize.width,
      imageSize.height,
    ),
  };
  const rmsPixels = all.length === corners.length ? solution.rmsPixels : rms(chosen(() => true));
  const epipolarRmsPixels = rectification === undefined ? undefined : rms(rows.flat());
  const apart = whyRowsApart(epipolarRmsPixels, rmsPixels) ?? whyWithoutRay(seen, calibration, lens);
  return {
    calibration,
    lens,
    board,
    rmsPixels,
    leftRmsPixels: rms(chosen(({ camera }) => camera === 0)),
    rightRmsPixels: rms(chosen(({ camera }) => camera === 1)),
    epipolarRmsPixels,
    pairs: verdicts,
    pairsUsed: seen.length,
    baselineMetres: Math.hypot(...calibration.T),
    deviations,
    depthErrors: estimateDepthErrors(solution),
    matchingErrorPixels: options.matchingErrorPixels ?? 0.25,
    others: resultsOfOthers(solution, all, options),
    coverage,
    blurPixels,
    warnings: [
      ...calibrationWarnings(seen.length, coverage, deviations, calibration),
      ...(await betterLens(native, corners, seen.length, options, rmsPixels)),
      ...(apart === undefined ? [] : [apart]),
      ...(rectification === undefined
        ? ["the lenses see too wide for one flat image: rectification will refuse this calibration"]
        : []),
    ],
  };
}
