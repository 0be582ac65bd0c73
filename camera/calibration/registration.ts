// SPDX-License-Identifier: Apache-2.0
// From a camera next to the pair to what the engine registers depth with: one matrix, and a grid of its lens.
import { DepthwattError } from "../../core/index.js";
import type { CameraCalibration, ImageSize, OtherCamera, StereoCalibration } from "./calibration.js";
import { type Distort, distortFunction, growsUpTo, isBeyondFlat, undistortExactly } from "./distortion.js";
import { apply, inverse, type Matrix3, multiply, transpose, type Vector3 } from "./matrix.js";
import type { Rectification } from "./rectification.js";

/** The name of the right camera of the pair, whose rectified image depth can be registered into without a calibration. */
export const RIGHT_CAMERA = "right";
/** A node of the lens grid that no ray reaches. */
const NO_NODE = -0x8000_0000;
const CELL_PIXELS = 8;
const STEPS_PER_PIXEL = 32;
/** tan(80 degrees): rays beyond have no place in a flat image that is worth a grid. */
const WIDEST = 5.67;

/** The projection into another camera; cuda/output/registration/registration.h has the equations. */
export interface RegistrationView {
  /** The camera's name. */
  camera: string;
  /** Size of its image, pixels. */
  width: number;
  height: number;
  /** Row-major 3x4: (x, y, 1, disparity) of the rectified left image to the camera's ideal image. */
  matrix: Float64Array;
  /** x, y of each node, 1/32 px; absent: no distortion. */
  grid?: Int32Array;
  gridX?: number;
  gridY?: number;
  gridWidth?: number;
  gridHeight?: number;
}

/** Returns the named camera; "right" is the rectified right one. @throws DepthwattError CALIBRATION_INVALID, CONFIG_INVALID */
export function registrationView(
  calibration: StereoCalibration,
  rectification: Rectification,
  name: string,
): RegistrationView {
  if (name === RIGHT_CAMERA) {
    const { width, height } = rectification;
    // biome-ignore format: one row of the matrix per line
    const matrix = Float64Array.of(
      1, 0, 0, -1,
      0, 1, 0, 0,
      0, 0, 1, 0,
    );
    return { camera: name, width, height, matrix };
  }
  const { others = [], files } = calibration;
  const camera = others.find((one) => one.name === name);
  if (camera === undefined) {
    const names = [RIGHT_CAMERA, ...others.map((one) => one.name)].join(", ");
    throw new DepthwattError(
      "CONFIG_INVALID",
      `registration.camera: expected a camera of ${files[0] ?? "the calibration"} (${names}), got "${name}"`,
      { hint: "Add the camera to otherCameras of the calibration file." },
    );
  }
  const view = {
    camera: name,
    ...camera.imageSize,
    matrix: projection(rectification, camera),
    ...lensGrid(camera, camera.imageSize),
  };
  requireOverlap(view, camera, rectification, files[0] ?? "the calibration");
  return view;
}

function projection(rectification: Rectification, { K, R, T }: OtherCamera): Float64Array {
  const { P1, R1, focalPixels, baselineMetres, disparityOffsetPixels } = rectification;
  const leftK: Matrix3 = [P1[0]!, P1[1]!, P1[2]!, P1[4]!, P1[5]!, P1[6]!, P1[8]!, P1[9]!, P1[10]!];
  const rays = multiply(K, multiply(multiply(R, transpose(R1)), inverse(leftK)));
  const moved = apply(K, T).map((value) => value / (focalPixels * baselineMetres));
  return Float64Array.from({ length: 12 }, (_, i) => {
    const [row, column] = [Math.floor(i / 4), i % 4];
    if (column === 3) return moved[row]!;
    return rays[3 * row + column]! + (column === 2 ? moved[row]! * disparityOffsetPixels : 0);
  });
}

/** Returns the point in the direction of (x, y) beyond which the lens folds back, to a thousandth, at most WIDEST. */
function lastBeforeFold(distort: Distort, x: number, y: number): [x: number, y: number] {
  const radius = Math.hypot(x, y);
  let [last, first] = [0, WIDEST / radius];
  while ((first - last) * radius > 1e-3) {
    const middle = (last + first) / 2;
    if (growsUpTo(distort, middle * x, middle * y)) last = middle;
    else first = middle;
  }
  return [last * x, last * y];
}

/** Returns the distorted positions of a grid of ideal pixels, as far as the image reaches. */
function lensGrid(
  camera: CameraCalibration,
  { width, height }: ImageSize,
): Pick<RegistrationView, "grid" | "gridX" | "gridY" | "gridWidth" | "gridHeight"> {
  const { K, distortion } = camera;
  if (distortion.coefficients.every((value) => value === 0) && distortion.model !== "equidistant") return {};
  const [fx, , cx, , fy, cy] = K;
  const distort = distortFunction(distortion);
  let [left, right, top, bottom] = [0, 0, 0, 0];
  const ray = ([px, py]: [number, number]) =>
    isBeyondFlat(distortion, (px - cx) / fx, (py - cy) / fy)
      ? [Math.sign(px - cx) * WIDEST, Math.sign(py - cy) * WIDEST]
      : undistortExactly(camera, px, py);
  const clipped = (value: number) => (Number.isNaN(value) ? 0 : Math.max(-WIDEST, Math.min(value, WIDEST)));
  const along = (length: number, pixel: (at: number) => [number, number]) =>
    Array.from({ length: 65 }, (_, step) => pixel(((length + 1) * step) / 64 - 1));
  for (const edge of [
    along(width, (px) => [px, -1]),
    along(width, (px) => [px, height]),
    along(height, (py) => [-1, py]),
    along(height, (py) => [width, py]),
  ]) {
    const rays = edge.map(ray);
    const beyond = rays.every(([x, y]) => Number.isNaN(x! + y!));
    // No ray reaches this edge: the lens shows less than the image.
    const reached = beyond
      ? edge.map(([px, py]) => lastBeforeFold(distort, (px - cx) / fx, (py - cy) / fy))
      : rays;
    for (const [x, y] of reached) {
      [left, right] = [Math.min(left, clipped(x!)), Math.max(right, clipped(x!))];
      [top, bottom] = [Math.min(top, clipped(y!)), Math.max(bottom, clipped(y!))];
    }
  }
  const first = (value: number) => Math.floor(value / CELL_PIXELS) - 1;
  const [column, row] = [first(fx * left + cx), first(fy * top + cy)];
  const gridWidth = first(fx * right + cx) + 4 - column;
  const gridHeight = first(fy * bottom + cy) + 4 - row;
  const grid = new Int32Array(2 * gridWidth * gridHeight);
  const [point, farther] = [new Float64Array(2), new Float64Array(2)];
  for (let j = 0, at = 0; j < gridHeight; j++)
    for (let i = 0; i < gridWidth; i++, at += 2) {
      const [x, y] = [(CELL_PIXELS * (column + i) - cx) / fx, (CELL_PIXELS * (row + j) - cy) / fy];
      distort(x, y, point);
      distort(1.0001 * x, 1.0001 * y, farther);
      const [u, v] = [fx * point[0]! + cx, fy * point[1]! + cy].map((value) =>
        Math.round(STEPS_PER_PIXEL * value),
      );
      // Beyond the angle that the coefficients hold for, the model folds back into the image.
      const folds =
        Math.hypot(farther[0]!, farther[1]!) < Math.hypot(point[0]!, point[1]!) ||
        point[0]! * x + point[1]! * y < 0;
      const far = !(Math.abs(u!) < 1 << 24 && Math.abs(v!) < 1 << 24);
      grid[at] = folds || far ? NO_NODE : u!;
      grid[at + 1] = folds || far ? 0 : v!;
    }
  const steps = STEPS_PER_PIXEL * CELL_PIXELS;
  return { grid, gridX: column * steps, gridY: row * steps, gridWidth, gridHeight };
}

/** A camera that sees nothing of the pair's view at any distance is turned away, or its pose is inverted. */
function requireOverlap(
  view: RegistrationView,
  { K, distortion }: OtherCamera,
  { width, height, focalPixels, baselineMetres, disparityOffsetPixels }: Rectification,
  file: string,
): void {
  const distort = distortFunction(distortion);
  const point = new Float64Array(2);
  const m = view.matrix;
  for (const metres of [0.2, 0.5, 1, 2, 5, 10, 30, 60])
    for (let j = 0; j <= 32; j++)
      for (let i = 0; i <= 32; i++) {
        const disparity = (focalPixels * baselineMetres) / metres - disparityOffsetPixels;
        const pixel = [((width - 1) * i) / 32, ((height - 1) * j) / 32, 1, disparity];
        const [u, v, w] = [0, 4, 8].map((row) =>
          pixel.reduce((sum, value, k) => sum + m[row + k]! * value, 0),
        ) as unknown as Vector3;
        if (w <= 0) continue;
        distort((u / w - K[2]) / K[0], (v / w - K[5]) / K[4], point);
        const [px, py] = [K[0] * point[0]! + K[2], K[4] * point[1]! + K[5]];
        if (px >= -0.5 && py >= -0.5 && px < view.width - 0.5 && py < view.height - 0.5) return;
      }
  throw new DepthwattError(
    "CALIBRATION_INVALID",
    `${file}: ${view.camera}: expected a camera that sees a part of the left image between 0.2 m and 60 m, found none`,
    { hint: "Check rotation and translationMetres: x_camera = rotation x_left + translationMetres." },
  );
}
