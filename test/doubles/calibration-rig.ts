// SPDX-License-Identifier: Apache-2.0
// A rig of known numbers that looks at boards of known places: corners to the last digit, or whole pictures.
import { distortFunction } from "../../camera/calibration/distortion.js";
import { type CameraCalibration, type Distortion, withHash } from "../../camera/calibration/index.js";
import {
  apply,
  type Matrix3,
  multiply,
  rotationMatrix,
  type Vector3,
} from "../../camera/calibration/matrix.js";
import type {
  Board,
  Detection,
  ImageSize,
  LensModel,
  SeenPair,
  StereoCalibration,
} from "../../camera/index.js";
import { boardCorners, boardGrid, boardPoint } from "../../camera/rig/calibrate/board.js";
import type { NativeSolveCall } from "../../camera/rig/calibrate/native.js";
import { pixelRay } from "../../camera/rig/calibrate/rays.js";
import type { Random } from "./random.js";

const LENSES: Record<LensModel, readonly [Distortion, Distortion]> = {
  radtan: [
    { model: "plumb_bob", coefficients: [-0.29, 0.11, 0.0008, -0.0005, -0.02] },
    { model: "plumb_bob", coefficients: [-0.31, 0.12, -0.0004, 0.0007, -0.015] },
  ],
  rational: [
    { model: "rational_polynomial", coefficients: [0.4, 0.06, 0.0003, -0.0002, 0.002, 0.72, 0.13, 0.011] },
    { model: "rational_polynomial", coefficients: [0.38, 0.055, -0.0002, 0.0004, 0.003, 0.7, 0.12, 0.012] },
  ],
  fisheye: [
    { model: "equidistant", coefficients: [-0.02, 0.006, -0.002, 0.0003] },
    { model: "equidistant", coefficients: [-0.018, 0.004, -0.001, 0.0001] },
  ],
};

/** Focal length in widths of the image. */
const FOCAL: Record<LensModel, number> = { radtan: 0.85, rational: 0.75, fisheye: 0.42 };

/** A rig whose right camera is turned by `turn` radians, `baselineMetres` to the right. */
export function createRig(
  lens: LensModel,
  { width, height }: ImageSize,
  turn: Vector3 = [0.004, -0.006, 0.003],
  baselineMetres = 0.12,
): StereoCalibration {
  const camera = (name: string, at: 0 | 1): CameraCalibration => {
    const f = FOCAL[lens] * width * (at === 0 ? 1 : 1.006);
    const [cx, cy] = at === 0 ? [0.507, 0.49] : [0.492, 0.513];
    return { name, K: [f, 0, cx * width, 0, f * 0.998, cy * height, 0, 0, 1], distortion: LENSES[lens][at] };
  };
  const R = rotationMatrix(turn);
  const T = apply(R, [-baselineMetres, -0.0013, 0.0009]);
  return withHash({
    imageSize: { width, height },
    left: camera("left", 0),
    right: camera("right", 1),
    R,
    T,
    files: [],
  });
}

export interface BoardPose {
  readonly R: Matrix3;
  /** x_left = R x_board + t. */
  readonly t: Vector3;
}

/** Boards all over the image, tilted up to `tilt` radians, that both cameras see in full and not too small. */
export function createPoses(
  rig: StereoCalibration,
  board: Board,
  count: number,
  random: Random,
  tilt = 0.7,
): BoardPose[] {
  const { width, height } = rig.imageSize;
  const { columns, rows } = boardGrid(board);
  const [lastX, lastY] = boardPoint(board, boardCorners(board) - 1);
  const size = Math.max(lastX, board.squareMetres * columns);
  const middle: Vector3 = [lastX / 2, lastY / 2, 0];
  const out: BoardPose[] = [];
  for (let tries = 0; out.length < count; tries++) {
    if (tries > 5000) throw new Error(`only ${out.length} poses fit into ${width}x${height}, ${rows} rows`);
    const part = (low: number, high: number) => low + (random.whole(0, 10_000) / 10_000) * (high - low);
    const R = multiply(
      rotationMatrix([part(-tilt, tilt), part(-tilt, tilt), 0]),
      rotationMatrix([0, 0, part(-0.35, 0.35)]),
    );
    const z = (rig.left.K[0] * size) / (width * part(0.3, 0.7));
    const [x, y] = pixelRay(rig.left, part(0.15, 0.85) * width, part(0.15, 0.85) * height);
    const turned = apply(R, middle);
    const t: Vector3 = [x * z - turned[0], y * z - turned[1], z - turned[2]];
    const pose = { R, t };
    const margin = 0.03 * width;
    const inside = (["left", "right"] as const).every((side) =>
      projectCorners(rig, board, pose, side, 0.9).every(
        ([u, v]) => u > margin && v > margin && u < width - margin && v < height - margin,
      ),
    );
    const first = projectCorners(rig, board, pose, "left");
    const apart = Math.min(
      ...first.map(([u, v], at) =>
        Math.min(...first.map(([p, q], other) => (other === at ? 1e9 : Math.hypot(p - u, q - v)))),
      ),
    );
    if (inside && apart > 0.022 * width) out.push(pose);
  }
  return out;
}

/** Where the right or left camera sees a point of the left camera's space. */
function projectPixel(rig: StereoCalibration, side: "left" | "right", point: Vector3): [number, number] {
  const seen = side === "left" ? point : apply(rig.R, point).map((value, at) => value + rig.T[at]!);
  const { K, distortion } = rig[side];
  const out = new Float64Array(2);
  if (!(seen[2]! > 0)) return [Number.NaN, Number.NaN];
  distortFunction(distortion)(seen[0]! / seen[2]!, seen[1]! / seen[2]!, out);
  return [K[0] * out[0]! + K[2], K[4] * out[1]! + K[5]];
}

const placed = ({ R, t }: BoardPose, x: number, y: number): Vector3 => {
  const turned = apply(R, [x, y, 0]);
  return [turned[0] + t[0], turned[1] + t[1], turned[2] + t[2]];
};

/** Pixels of all corners; `frame` squares further out are added as four more. */
export function projectCorners(
  rig: StereoCalibration,
  board: Board,
  pose: BoardPose,
  side: "left" | "right",
  frame = 0,
): [number, number][] {
  const count = boardCorners(board);
  const points = Array.from({ length: count }, (_, id) => boardPoint(board, id));
  if (frame > 0) {
    const m = frame * board.squareMetres;
    const [x1, y1] = boardPoint(board, count - 1);
    points.push([-m, -m], [x1 + m, -m], [-m, y1 + m], [x1 + m, y1 + m]);
  }
  return points.map(([x, y]) => projectPixel(rig, side, placed(pose, x, y)));
}

/** Two numbers of a normal distribution of deviation 1 (Box and Muller). */
export function normalPair(random: Random): [number, number] {
  const radius = Math.sqrt(-2 * Math.log((random.whole(0, 999_999) + 1) / 1_000_001));
  const angle = (2 * Math.PI * random.whole(0, 999_999)) / 1_000_000;
  return [radius * Math.cos(angle), radius * Math.sin(angle)];
}

/** Corners as a detector with noise of `noisePixels` an axis would see them. */
export function seenPair(
  name: string,
  rig: StereoCalibration,
  board: Board,
  pose: BoardPose,
  random: Random,
  noisePixels: number,
): SeenPair {
  const side = (which: "left" | "right"): Detection => {
    const points = projectCorners(rig, board, pose, which).flatMap(([u, v]) => {
      const [a, b] = normalPair(random);
      return [u + noisePixels * a, v + noisePixels * b];
    });
    const { columns, rows } = boardGrid(board);
    return {
      absence: "none",
      columns,
      rows,
      missing: 0,
      ids: Int32Array.from({ length: columns * rows }, (_, id) => id),
      points: Float64Array.from(points),
      blurAlongRows: 1,
      blurAlongColumns: 1,
      contrast: 150,
    };
  };
  return { name, left: side("left"), right: side("right") };
}

/** A corner of the board, which is at `object` in the board's plane, in the image of a camera. */
export interface SeenCorner {
  readonly view: number;
  readonly camera: number;
  readonly object: readonly [number, number];
  readonly pixel: readonly [number, number];
}

/** The solver's call for corners that all count. @param specs lens model, width and height of each camera */
export function solveCall(
  specs: readonly (readonly [number, number, number])[],
  views: number,
  corners: readonly SeenCorner[],
  changes: Partial<NativeSolveCall> = {},
): NativeSolveCall {
  return {
    cameras: specs.length,
    cameraSpecs: Int32Array.from(specs.flat()),
    views,
    robust: false,
    withoutK3: false,
    count: corners.length,
    viewIndex: Int32Array.from(corners, ({ view }) => view),
    cameraIndex: Uint8Array.from(corners, ({ camera }) => camera),
    used: new Uint8Array(corners.length).fill(1),
    objects: Float64Array.from(corners.flatMap(({ object }) => [...object, 0])),
    pixels: Float64Array.from(corners.flatMap(({ pixel }) => pixel)),
    depthCount: 0,
    depthPoints: new Float64Array(),
    disparityPixels: 0.25,
    ...changes,
  };
}
