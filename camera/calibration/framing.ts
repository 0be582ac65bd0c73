// SPDX-License-Identifier: Apache-2.0
// Chooses the common new camera matrix: which part of the turned images the rectified ones show, and how large.
import type { CameraCalibration, ImageSize, Matrix34 } from "./calibration.js";
import { isBeyondFlat, undistort } from "./distortion.js";
import { apply, type Matrix3, type Vector3 } from "./matrix.js";

export interface Views {
  readonly left: Omit<CameraCalibration, "name">;
  readonly right: Omit<CameraCalibration, "name">;
  readonly imageSize: ImageSize;
}

export interface Point {
  x: number;
  y: number;
}

/** Whole pixels: [x, x + width) by [y, y + height). Empty when width or height is 0. */
export interface Rectangle {
  x: number;
  y: number;
  width: number;
  height: number;
}

interface FramingRequest {
  views: Views;
  R1: Matrix3;
  R2: Matrix3;
  crop: number;
  outputSize: ImageSize;
  commonPrincipalPoint: boolean;
}

interface Framing {
  focal: number;
  centres: [Point, Point];
}

interface Bounds {
  x0: number;
  x1: number;
  y0: number;
  y1: number;
}

type Lens = Views["left"];

/**
 * Returns whether a fisheye lens sees the pixel at 90 degrees off its axis or more; such a pixel does not bound a flat
 * image.
 */
const isOutside = ({ K, distortion }: Lens, px: number, py: number): boolean =>
  isBeyondFlat(distortion, (px - K[2]) / K[0], (py - K[5]) / K[4]);

/** The direction of a captured pixel, turned by R. */
function turnedDirection({ K, distortion }: Lens, R: Matrix3, px: number, py: number): Vector3 {
  const [x, y] = undistort(distortion, (px - K[2]) / K[0], (py - K[5]) / K[4]);
  return apply(R, [x, y, 1]);
}

/** The ray through a captured pixel, turned by R, on the plane z = 1. */
function turnedRay(lens: Lens, R: Matrix3, px: number, py: number): Point {
  const [x, y, z] = turnedDirection(lens, R, px, py);
  return { x: x / z, y: y / z };
}

function average(points: readonly Point[]): Point {
  const sum = points.reduce((total, { x, y }) => ({ x: total.x + x, y: total.y + y }), { x: 0, y: 0 });
  return { x: sum.x / points.length, y: sum.y / points.length };
}

function share(centres: [Point, Point], both: boolean): [Point, Point] {
  const [a, b] = centres;
  const middle = average(centres);
  return both
    ? [middle, middle]
    : [
        { x: a.x, y: middle.y },
        { x: b.x, y: middle.y },
      ];
}

const GRID = 9;

/**
 * Where a 9 x 9 grid over the captured image lands in the plane z = 1: `outer` holds all of it, `inner` is inside its
 * four outer lines (which a barrel or pincushion border bends). What a fisheye lens sees behind itself is left out.
 */
function gridBounds(lens: Lens, R: Matrix3, size: ImageSize): { inner: Bounds; outer: Bounds } {
  const inner: Bounds = { x0: -Infinity, x1: Infinity, y0: -Infinity, y1: Infinity };
  const outer: Bounds = { x0: Infinity, x1: -Infinity, y0: Infinity, y1: -Infinity };
  for (let row = 0; row < GRID; row++) {
    for (let column = 0; column < GRID; column++) {
      const px = (column * size.width) / (GRID - 1);
      const py = (row * size.height) / (GRID - 1);
      if (isOutside(lens, px, py)) continue;
      const [dx, dy, dz] = turnedDirection(lens, R, px, py);
      if (!(dz > 0)) continue;
      const [x, y] = [dx / dz, dy / dz];
      outer.x0 = Math.min(outer.x0, x);
      outer.x1 = Math.max(outer.x1, x);
      outer.y0 = Math.min(outer.y0, y);
      outer.y1 = Math.max(outer.y1, y);
      if (column === 0) inner.x0 = Math.max(inner.x0, x);
      if (column === GRID - 1) inner.x1 = Math.min(inner.x1, x);
      if (row === 0) inner.y0 = Math.max(inner.y0, y);
      if (row === GRID - 1) inner.y1 = Math.min(inner.y1, y);
    }
  }
  return { inner, outer };
}

/** The focal lengths at which each side of `bounds` meets the side of the output image, principal point at `centre`. */
function fittingFocals(bounds: Bounds, centre: Point, size: ImageSize): number[] {
  return [
    centre.x / -bounds.x0,
    centre.y / -bounds.y0,
    (size.width - centre.x) / bounds.x1,
    (size.height - centre.y) / bounds.y1,
  ];
}

/**
 * OpenCV's stereoRectify for perspective lenses: the mean vertical focal length, each principal point such that the
 * four corners' mean lands in the middle, then a focal length between "no empty pixel" (crop 0) and "no pixel lost" (1).
 */
export function framePinhole(request: FramingRequest): Framing {
  const { views, R1, R2, crop, outputSize, commonPrincipalPoint } = request;
  const { width, height } = views.imageSize;
  const start = ((views.left.K[4] + views.right.K[4]) / 2) * (outputSize.height / height);
  const cameras = [
    { lens: views.left, R: R1 },
    { lens: views.right, R: R2 },
  ] as const;
  const viewCentre = ({ lens, R }: (typeof cameras)[number]): Point => {
    const corners = [0, width - 1].flatMap((x) => [0, height - 1].map((y) => turnedRay(lens, R, x, y)));
    const mean = average(corners);
    return { x: (width - 1) / 2 - start * mean.x, y: (height - 1) / 2 - start * mean.y };
  };
  const shared = share([viewCentre(cameras[0]), viewCentre(cameras[1])], commonPrincipalPoint);
  const centres = shared.map(({ x, y }) => ({
    x: (x * outputSize.width) / width,
    y: (y * outputSize.height) / height,
  })) as [Point, Point];
  const bounds = cameras.map(({ lens, R }) => gridBounds(lens, R, views.imageSize));
  const fits = (which: "inner" | "outer"): number[] =>
    bounds.flatMap((bound, index) => fittingFocals(bound[which], centres[index]!, outputSize));
  const focal = Math.max(...fits("inner")) * (1 - crop) + Math.min(...fits("outer")) * crop;
  return { focal, centres };
}

/** OpenCV's fisheye::estimateNewCameraMatrixForUndistortRectify of one camera, from the middles of its four sides. */
function equidistantFraming(
  lens: Lens,
  R: Matrix3,
  size: ImageSize,
  out: ImageSize,
  crop: number,
): [number, Point] {
  const { width, height } = size;
  const middleX = Math.trunc(width / 2);
  const middleY = Math.trunc(height / 2);
  const aspect = lens.K[0] / lens.K[4];
  const sides = [
    turnedRay(lens, R, middleX, 0),
    turnedRay(lens, R, width, middleY),
    turnedRay(lens, R, middleX, height),
    turnedRay(lens, R, 0, middleY),
  ];
  // OpenCV brings y to square pixels but the mean's x, not its y. It only moves the frame, by a fraction of a pixel where
  // fx and fy differ by 1 %, and camera matrices that agree are worth more than the better centring.
  const middle = average(sides);
  const mean = { x: middle.x * aspect, y: middle.y };
  const xs = sides.map(({ x }) => x);
  const ys = sides.map(({ y }) => y * aspect);
  const fits = [
    (width * 0.5) / (mean.x - Math.min(...xs)),
    (width * 0.5) / (Math.max(...xs) - mean.x),
    (height * 0.5 * aspect) / (mean.y - Math.min(...ys)),
    (height * 0.5 * aspect) / (Math.max(...ys) - mean.y),
  ];
  const focal = crop * Math.min(...fits) + (1 - crop) * Math.max(...fits);
  const centre = {
    x: (width * 0.5 - mean.x * focal) * (out.width / width),
    y: ((height * aspect * 0.5 - mean.y * focal) / aspect) * (out.height / height),
  };
  return [(focal / aspect) * (out.height / height), centre];
}

/** OpenCV's fisheye::stereoRectify: crop is its `balance`. */
export function frameEquidistant(request: FramingRequest): Framing {
  const { views, R1, R2, crop, outputSize, commonPrincipalPoint } = request;
  const [focalLeft, centreLeft] = equidistantFraming(views.left, R1, views.imageSize, outputSize, crop);
  const [focalRight, centreRight] = equidistantFraming(views.right, R2, views.imageSize, outputSize, crop);
  return {
    focal: Math.min(focalLeft, focalRight),
    centres: share([centreLeft, centreRight], commonPrincipalPoint),
  };
}

/** Returns the whole pixels of the rectified image that are inside the captured one, as sampled by the 9 x 9 grid. */
export function innerRectangle(
  lens: Lens,
  R: Matrix3,
  P: Matrix34,
  imageSize: ImageSize,
  size: ImageSize,
): Rectangle {
  const { inner } = gridBounds(lens, R, imageSize);
  const x0 = Math.max(0, Math.ceil(inner.x0 * P[0]! + P[2]!));
  const y0 = Math.max(0, Math.ceil(inner.y0 * P[5]! + P[6]!));
  const x1 = Math.min(size.width - 1, Math.floor(inner.x1 * P[0]! + P[2]!));
  const y1 = Math.min(size.height - 1, Math.floor(inner.y1 * P[5]! + P[6]!));
  return { x: x0, y: y0, width: Math.max(0, x1 - x0 + 1), height: Math.max(0, y1 - y0 + 1) };
}
