// SPDX-License-Identifier: Apache-2.0
// The position of the cameras from the sums of looks: by its equations, with numbers that are worked out by hand.
import { describe, expect, test } from "vitest";
import { ALIGNMENT_TERMS, type AlignmentLook, type AlignmentTerm } from "../../../../camera/index.js";
import { estimateAlignment, rowsAt } from "../../../../edge/rig/health/estimate.js";
import { inWords, joined, typicalDisparity } from "../../../../edge/rig/health/figures.js";

const FOCAL = 500;
/** The least standard deviation of a feature: a twentieth of a row. */
const LEAST = 0.05 / FOCAL;
/** Errors that features of one frame share, radians. */
const SHARED = (0.005 * Math.PI) / 180;
/** Standard deviations before the first feature, as camera/rig/alignment/fit.h has them. */
const PRIORS = { pitch: 0.1, roll: 0.1, scale: 0.02, yaw: 0.02, baselineRoll: 0.01, baselineYaw: 0.01 };

const at = (term: AlignmentTerm) => ALIGNMENT_TERMS.indexOf(term);

/** A look whose sums are these: a symmetric matrix by its upper rows, and what it is multiplied to. */
function look(
  matrix: readonly (readonly number[])[],
  targets: readonly number[],
  more: Partial<AlignmentLook> = {},
): AlignmentLook {
  const products = matrix.flatMap((row, i) => row.slice(i));
  const usual = { kept: 80, weight: 80, squares: 0, medianDisparity: 20, meanRows: 0, p95Rows: 0 };
  return { ...usual, products, targets, ...more } as unknown as AlignmentLook;
}
const diagonal = (value: number) =>
  ALIGNMENT_TERMS.map((_, i) => ALIGNMENT_TERMS.map((_other, j) => (i === j ? value : 0)));
const zeros = () => ALIGNMENT_TERMS.map(() => 0);

describe("rows at a place", () => {
  const view = { width: 400, height: 200, focalPixels: 200, cx: 100, cy: 50 };
  // u = 0.5, v = 0.2 and the disparity is 0.2 focal lengths.
  const place = { x: 200, y: 90, disparity: 40 };
  test.each<[AlignmentTerm, number]>([
    ["pitch", -(1 + 0.2 ** 2)],
    ["roll", 0.5],
    ["scale", 0.2],
    ["yaw", 0.5 * 0.2],
    ["baselineRoll", 0.2],
    ["baselineYaw", 0.2 * 0.2],
  ])("a %s of 0.01 moves them by %d times two rows", (term, factor) => {
    const none = Object.fromEntries(ALIGNMENT_TERMS.map((name) => [name, { value: 0, deviation: 0 }]));
    const terms = { ...none, [term]: { value: 0.01, deviation: 0 } };
    expect(rowsAt({ terms } as never, view, place)).toBeCloseTo(2 * factor, 12);
  });
});

describe("an estimate", () => {
  test.each([
    [12, 7, true],
    [11, 80, false],
    [12, 6, false],
    [12, 6.1, true],
    [12, Number.NaN, false],
  ])("of %i features with a weight of %d is known: %s", (kept, weight, isKnown) => {
    const found = estimateAlignment([look(diagonal(1e4), zeros(), { kept, weight })], { focalPixels: FOCAL });
    expect(found !== undefined).toBe(isKnown);
  });

  test("solves the equations, with the priors added to the diagonal", () => {
    // Every product differs, so that none can stand for another; the matrix is diagonally dominant.
    const matrix = ALIGNMENT_TERMS.map((_, i) =>
      ALIGNMENT_TERMS.map((_other, j) => (i === j ? 100 + 7 * i : 1 + Math.min(i, j) + 0.5 * Math.max(i, j))),
    );
    const targets = [0.3, -0.2, 0.5, 0.1, -0.4, 0.25];
    const { terms, features, residualRows } = estimateAlignment(
      [look(matrix, targets, { squares: 80 * 0.0016, weight: 80 })],
      { focalPixels: FOCAL },
    )!;
    // The features are off by 0.04 focal lengths, which is 20 rows.
    expect([features, residualRows]).toEqual([80, expect.closeTo(20, 9)]);
    for (const [i, term] of ALIGNMENT_TERMS.entries()) {
      const row = matrix[i]!.map((value, j) => value + (i === j ? (0.04 / PRIORS[term]) ** 2 : 0));
      const product = row.reduce((sum, value, j) => sum + value * terms[ALIGNMENT_TERMS[j]!].value, 0);
      expect(product, term).toBeCloseTo(targets[i]!, 9);
    }
  });

  test("two terms that depend on each other are as unsure as the inverse of their matrix says", () => {
    const matrix = diagonal(1e6);
    const [a, b] = [at("pitch"), at("roll")];
    matrix[a]![b] = matrix[b]![a] = 6e5;
    const squares = 80 * 0.01 ** 2;
    const { terms } = estimateAlignment([look(matrix, zeros(), { squares })], { focalPixels: FOCAL })!;
    // The inverse of (1, 0.6; 0.6, 1) has 1 / 0.64 on its diagonal. Priors add 0.01 of a million.
    const together = 0.01 * Math.sqrt(1 / 0.64 / 1e6);
    expect(terms.pitch.deviation).toBeCloseTo(Math.hypot(together, SHARED), 9);
    expect(terms.yaw.deviation).toBeCloseTo(Math.hypot(0.01 / 1e3, SHARED), 9);
  });

  test("features are no surer than a twentieth of a row, and no sum is surer than 0.005 degrees", () => {
    const { terms, residualRows } = estimateAlignment([look(diagonal(1e4), zeros())], {
      focalPixels: FOCAL,
    })!;
    expect(residualRows).toBe(0);
    // The prior of 0.1 radians adds a millionth to ten thousand.
    expect(terms.roll.deviation).toBeCloseTo(Math.hypot(LEAST / 100, SHARED), 12);
  });

  test("without features of a term it is as sure as before", () => {
    const matrix = diagonal(1e4);
    matrix[at("yaw")]![at("yaw")] = 0;
    const { terms } = estimateAlignment([look(matrix, zeros())], { focalPixels: FOCAL })!;
    expect(terms.yaw.deviation).toBeCloseTo(Math.hypot(PRIORS.yaw, SHARED), 9);
  });

  test("looks are joined by their sums", () => {
    const targets = (value: number) => ALIGNMENT_TERMS.map((_, i) => value * (i + 1));
    const [first, second] = [
      look(diagonal(1e4), targets(2), { kept: 30, weight: 20, squares: 0.4 }),
      look(diagonal(3e4), targets(6), { kept: 50, weight: 60, squares: 1.6 }),
    ];
    const { terms, features, residualRows } = estimateAlignment([first, second], { focalPixels: FOCAL })!;
    // (0.4 + 1.6) / (20 + 60) is 0.025.
    expect([features, residualRows]).toEqual([80, expect.closeTo(FOCAL * Math.sqrt(0.025), 9)]);
    const prior = (term: AlignmentTerm) => 0.025 / PRIORS[term] ** 2;
    for (const [i, term] of ALIGNMENT_TERMS.entries())
      expect(terms[term].value, term).toBeCloseTo((8 * (i + 1)) / (4e4 + prior(term)), 12);
  });
});

test("the typical disparity is the lower middle of the looks' medians", () => {
  const of = (...medians: number[]) =>
    typicalDisparity(medians.map((medianDisparity) => ({ medianDisparity })) as AlignmentLook[]);
  expect([of(), of(7), of(9, 3), of(9, 3, 20), of(10, 9, 100, 8)]).toEqual([0, 7, 3, 9, 9]);
});

describe("figures", () => {
  const view = { width: 401, height: 201, focalPixels: FOCAL, cx: 200, cy: 100 };

  test("rows from border to border, by the typical disparity", () => {
    const targets = zeros();
    const weight = 1e6;
    // A roll of 0.01, a scale of 0.004 and a baseline turned by 0.02 about the y axis.
    for (const [term, value] of [
      ["roll", 0.01],
      ["scale", 0.004],
      ["baselineYaw", 0.02],
    ] as const)
      targets[at(term)] = value * weight;
    const looks = [
      look(diagonal(weight), targets, { meanRows: 0.1234, p95Rows: 1.5, medianDisparity: 50 }),
      look(diagonal(0), zeros(), { meanRows: 0.3, p95Rows: 2.5, medianDisparity: 900 }),
    ];
    const { figures } = joined(looks, view, true)!;
    expect(figures.rows).toEqual({
      // (0.1234 + 0.3) / 2, and (1.5 + 2.5) / 2.
      mean: 0.212,
      p95: 2,
      // 400 columns; 200 rows, with 0.004 and a tenth of 0.02.
      overWidth: expect.closeTo(4, 2),
      overHeight: expect.closeTo(1.2, 2),
    });
    expect([figures.scalePercent, figures.focalPixels]).toEqual([
      expect.closeTo(0.4, 2),
      expect.closeTo(2, 1),
    ]);
    expect(figures.features).toBe(160);
  });

  test("in words they are rows and degrees", () => {
    const figures = { rows: { p95: 0.849 }, rotationDegrees: { total: 0.1251 } };
    expect(inWords(figures as never)).toBe("0.8 rows, rotation 0.13 degrees");
  });
});
