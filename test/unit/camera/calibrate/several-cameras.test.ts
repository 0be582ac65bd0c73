// SPDX-License-Identifier: Apache-2.0
// The adjustment of three cameras together: another size, another lens model, and views that the left camera lacks.
import { expect, test } from "vitest";
import {
  multiply,
  rotationMatrix,
  rotationVector,
  transpose,
} from "../../../../camera/calibration/matrix.js";
import { type Board, LENS_MODELS } from "../../../../camera/index.js";
import { boardPoint } from "../../../../camera/rig/calibrate/board.js";
import type { NativeSolution, NativeSolveCall } from "../../../../camera/rig/calibrate/native.js";
import { loadNative } from "../../../../edge/contracts/native.js";
import { createPoses, createRig, seenPair, solveCall } from "../../../doubles/calibration-rig.js";
import { Random } from "../../../doubles/random.js";

const native = loadNative();
const board: Board = { pattern: "chessboard", columns: 9, rows: 6, squareMetres: 0.03 };
const VIEWS = 20;
const pair = createRig("radtan", { width: 640, height: 480 });
const wide = createRig("fisheye", { width: 320, height: 256 });
/** A fisheye camera of another size above the left one. */
const third = {
  ...pair,
  right: wide.right,
  R: rotationMatrix([0.05, -0.03, 0.02]),
  T: [0.01, 0.08, -0.02],
} as const;

interface Seen {
  readonly view: number;
  readonly camera: number;
  readonly points: Float64Array;
}

function observe(noisePixels: number): Seen[] {
  const random = new Random(17);
  return createPoses(pair, board, VIEWS, random).flatMap((pose, view) => {
    const two = seenPair("", pair, board, pose, random, noisePixels);
    const other = seenPair("", third, board, pose, random, noisePixels).right;
    return [two.left, two.right, other].map(({ points }, camera) => ({ view, camera, points }));
  });
}

/** Solves for the listed cameras; the first is the left one. */
function solve(
  seen: readonly Seen[],
  cameras: readonly number[],
  changes: Partial<NativeSolveCall> = {},
): Promise<NativeSolution> {
  const specs: [number, number, number][] = [
    [LENS_MODELS.indexOf("radtan"), 640, 480],
    [LENS_MODELS.indexOf("radtan"), 640, 480],
    [LENS_MODELS.indexOf("fisheye"), 320, 256],
  ];
  const chosen = seen.filter(({ camera }) => cameras.includes(camera));
  const corners = chosen.flatMap(({ view, camera, points }) =>
    Array.from({ length: points.length / 2 }, (_, id) => ({
      view,
      camera: cameras.indexOf(camera),
      object: boardPoint(board, id),
      pixel: [points[2 * id]!, points[2 * id + 1]!] as const,
    })),
  );
  const chosenSpecs = cameras.map((camera) => specs[camera]!);
  const depth = { depthCount: 1, depthPoints: Float64Array.of(0, 0, 1) };
  return native.solveCalibration(solveCall(chosenSpecs, VIEWS, corners, { ...depth, ...changes }));
}

function poseErrors({ rigs }: NativeSolution, at: number): { degrees: number; millimetres: number } {
  const { R, T } = [pair, third][at]!;
  const { rotation, translation } = rigs[at]!;
  return {
    degrees: (Math.hypot(...rotationVector(multiply([...rotation] as never, transpose(R)))) * 180) / Math.PI,
    millimetres: 1000 * Math.hypot(...T.map((value, axis) => value - translation[axis]!)),
  };
}

test("exact corners give the exact cameras, though one image in three is missing", async () => {
  // Every camera lacks other views; two of three cameras see each board.
  const seen = observe(0).filter(({ view, camera }) => view % 3 !== camera);
  const solution = await solve(seen, [0, 1, 2]);
  expect(solution.rmsPixels).toBeLessThan(1e-6);
  for (const [at, { K }] of [pair.left, pair.right, third.right].entries())
    for (const [i, index] of [0, 4, 2, 5].entries())
      expect(Math.abs(solution.lenses[at]![i]! / K[index]! - 1)).toBeLessThan(1e-5);
  for (const at of [0, 1]) {
    const { degrees, millimetres } = poseErrors(solution, at);
    expect(degrees).toBeLessThan(1e-4);
    expect(millimetres).toBeLessThan(1e-3);
  }
});

test("with noise, the joint solution is as near to the truth as each camera with the left one", async () => {
  const seen = observe(0.1);
  const [joint, both, other] = [
    await solve(seen, [0, 1, 2]),
    await solve(seen, [0, 1]),
    await solve(seen, [0, 2]),
  ];
  const errors = [0, 1].map((at) => poseErrors(joint, at));
  // `other` has the third camera alone next to the left one.
  const alone = [poseErrors(both, 0), poseErrors({ ...other, rigs: [both.rigs[0]!, other.rigs[0]!] }, 1)];
  const lenses = joint.lenses.map(({ length }) => length);
  for (const at of [0, 1]) {
    // Four standard deviations of the rotation vector and the translation, by the covariance.
    const first = at === 0 ? lenses[0]! + lenses[1]! : lenses[0]! + lenses[1]! + 6 + lenses[2]!;
    const deviation = (from: number) =>
      Math.sqrt(
        [0, 1, 2].reduce((sum, i) => sum + joint.covariance[(first + from + i) * (joint.parameters + 1)]!, 0),
      );
    expect(errors[at]!.degrees).toBeLessThan((4 * deviation(0) * 180) / Math.PI);
    expect(errors[at]!.millimetres).toBeLessThan(4000 * deviation(3));
  }
  const total = (all: readonly { degrees: number; millimetres: number }[]) =>
    Math.hypot(...all.map(({ millimetres }) => millimetres));
  expect(total(errors)).toBeLessThan(1.05 * total(alone));
  // A third camera makes the depth of the pair more certain.
  expect(joint.depthDeviations[0]).toBeLessThan(both.depthDeviations[0]!);
});

test("a camera that shares no view with the left one is refused", async () => {
  const seen = observe(0).filter(({ view, camera }) => camera !== 2 || view < 0);
  const apart = seen.filter(({ view, camera }) => (camera === 0 ? view < 10 : view >= 10));
  await expect(solve(apart, [0, 1])).rejects.toMatchObject({
    code: "ENGINE_FAILED",
    message: expect.stringContaining("No view shows the board to both cameras"),
  });
});

/** Every value counts with another weight. */
const sum = (values: Iterable<number>) =>
  [...values].reduce((total, value, at) => total + (Number.isNaN(value) ? 3 : value) * (1 + (at % 7)), 0);

/** Pixels of which every 40th is 5 px off in x. */
const wrongPixels = (count: number, pixels: Float64Array) =>
  pixels.map((value, at) => (at % 80 === 0 && at < 2 * count ? value + 5 : value));

// Root mean square; sums over lenses, rigs, poses, residuals, standard deviations, correlations, deviations of depth;
// iterations. Measured with the code that finds the cameras above. "-": rational coefficients are not determined.
const SOLUTIONS: [string, number[], number, Partial<NativeSolveCall> & { wrong?: boolean }, string][] = [
  [
    "three cameras",
    [0, 1, 2],
    8,
    {},
    "0.138074056 13146.9854 23.8477689 93.6486818 13.2338851 37.4699051 229.964513 0.117078760 8",
  ],
  [
    "robust",
    [0, 1],
    6,
    { robust: true, wrong: true },
    "0.682057392 10417.959 7.6444033 69.380910 236.051715 95.518468 84.90080 0.192415064 40",
  ],
  [
    "without k3",
    [0, 1],
    6,
    { withoutK3: true },
    "0.140073111 10413.5895 7.64726861 69.4347568 7.73238001 18.6678662 86.4051335 0.121363068 8",
  ],
  [
    "fisheye alone",
    [2],
    6,
    { robust: true },
    "0.137734524 1379.76380 0 69.2794990 2.66353126 29.6533938 8.45486739 30 27",
  ],
  [
    "rational",
    [0],
    8,
    { cameraSpecs: Int32Array.of(1, 640, 480) },
    "0.139134426 - 0 93.6884437 0.658688911 - - 30 16",
  ],
];

test.each(SOLUTIONS)(
  "the numbers of an adjustment are reproduced: %s",
  async (_, cameras, views, changes, expected) => {
    const { wrong = false, ...call } = changes;
    const chosen = observe(0.1).filter(({ view }) => view < views);
    const moved = chosen.map((one) => ({ ...one, points: wrong ? wrongPixels(9, one.points) : one.points }));
    const used = Uint8Array.from({ length: 54 * views * cameras.length }, (_, at) => (at % 11 === 5 ? 0 : 1));
    const depths = { depthCount: 2, depthPoints: Float64Array.of(0, 0, 1, 0.2, -0.1, 2.5) };
    const solution = await solve(moved, cameras, { views, used, ...depths, ...call });
    const { rmsPixels, iterations, lenses, rigs, poses, residuals, covariance, parameters } = solution;
    const deviations = Array.from({ length: parameters }, (_, i) => covariance[i * (parameters + 1)]! ** 0.5);
    const correlations = covariance.map((value, i) => {
      const both = deviations[i % parameters]! * deviations[Math.floor(i / parameters)]!;
      return both === 0 ? 0 : value / both;
    });
    const figures = [
      rmsPixels,
      sum(lenses.flatMap((lens) => [...lens])),
      sum(rigs.flatMap(({ rotation, translation }) => [...rotation, ...translation])),
      sum(poses),
      sum(residuals),
      sum(deviations),
      sum(correlations),
      sum(solution.depthDeviations),
      iterations,
    ];
    for (const [at, text] of expected.split(" ").entries())
      if (text !== "-")
        expect(Math.abs(figures[at]! - Number(text)), `figure ${at}`).toBeLessThan(
          at === 8 ? 1.5 : 1e-6 + 1e-5 * Math.abs(Number(text)),
        );
  },
);
