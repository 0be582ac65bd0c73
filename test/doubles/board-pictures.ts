// SPDX-License-Identifier: Apache-2.0
// Pictures of boards of known places, as a rig of known numbers sees them: every pixel is the mean of n x n rays.
import { readFileSync } from "node:fs";
import type { CameraCalibration } from "../../camera/calibration/index.js";
import { apply, multiply, transpose } from "../../camera/calibration/matrix.js";
import type { Board, StereoCalibration } from "../../camera/index.js";
import { pixelRay } from "../../camera/rig/calibrate/rays.js";
import type { BoardPose } from "./calibration-rig.js";
import { normalPair } from "./calibration-rig.js";
import type { Random } from "./random.js";

/** Radius of a printed circle in distances of rows. */
const CIRCLE = 0.55;
/** Rays along each side of a pixel. */
const SUBSAMPLES = 4;

/** Markers as the addon's header has them, n x n bits each. */
export function boardMarkers(n: 4 | 5 | 6 | 7): bigint[] {
  const header = readFileSync("camera/rig/calibrate/dictionaries.h", "utf8");
  const table = new RegExp(`kMarkers${n}\\[[^{]*\\{([^}]*)\\}`).exec(header)![1]!;
  return table.match(/0x[0-9a-f]+/g)!.map((text) => BigInt(text));
}

/** 0 black, 1 white, undefined next to the board; x and y in metres from the first point. */
export function printedBoard(board: Board): (x: number, y: number) => number | undefined {
  const { columns, rows, squareMetres: s } = board;
  if (board.pattern === "circles") {
    return (xm, ym) => {
      const [x, y] = [xm / s, ym / s];
      if (x < -2 || y < -2 || x > 2 * columns + 1 || y > rows + 1) return undefined;
      for (const row of [Math.floor(y), Math.floor(y) + 1]) {
        if (row < 0 || row >= rows) continue;
        const column = Math.round((x - (((row % 2) + 2) % 2)) / 2);
        if (column < 0 || column >= columns) continue;
        if (Math.hypot(x - 2 * column - (row % 2), y - row) < CIRCLE) return 0;
      }
      return 1;
    };
  }
  if (board.pattern === "chessboard") {
    return (xm, ym) => {
      const [x, y] = [Math.floor(xm / s), Math.floor(ym / s)];
      if (x < -2 || y < -2 || x > columns || y > rows) return undefined;
      // The field between the first corners is dark; around the fields lies a white border.
      if (x < -1 || y < -1 || x >= columns || y >= rows) return 1;
      return (((x + y) % 2) + 2) % 2 === 0 ? 0 : 1;
    };
  }
  const n = ((board.dictionary ?? 0) + 4) as 4 | 5 | 6 | 7;
  const markers = boardMarkers(n);
  const share = board.markerMetres! / s;
  const markerIds = new Map<string, number>();
  for (let y = 0; y < rows; y++)
    for (let x = 0; x < columns; x++) if ((x + y) % 2 === 1) markerIds.set(`${x},${y}`, markerIds.size);
  return (xm, ym) => {
    // The first inner corner is one field in.
    const [u, v] = [xm / s + 1, ym / s + 1];
    const [x, y] = [Math.floor(u), Math.floor(v)];
    if (x < -1 || y < -1 || x > columns || y > rows) return undefined;
    const id = markerIds.get(`${x},${y}`);
    if (x < 0 || y < 0 || x >= columns || y >= rows) return 1;
    if (id === undefined) return 0;
    const [mu, mv] = [(u - x - 0.5) / share + 0.5, (v - y - 0.5) / share + 0.5];
    if (mu < 0 || mv < 0 || mu >= 1 || mv >= 1) return 1;
    const [column, row] = [Math.floor(mu * (n + 2)) - 1, Math.floor(mv * (n + 2)) - 1];
    if (column < 0 || row < 0 || column >= n || row >= n) return 0;
    return Number((markers[id]! >> BigInt(n * n - 1 - (row * n + column))) & 1n);
  };
}

const rayCache = new WeakMap<CameraCalibration, Float64Array>();

/** Rays of all corners of pixels. */
function cachedRays(rig: StereoCalibration, side: "left" | "right"): Float64Array {
  const { width, height } = rig.imageSize;
  const known = rayCache.get(rig[side]);
  if (known !== undefined) return known;
  const rays = new Float64Array(2 * (width + 1) * (height + 1));
  for (let y = 0; y <= height; y++)
    for (let x = 0; x <= width; x++)
      rays.set(pixelRay(rig[side], x - 0.5, y - 0.5), 2 * (y * (width + 1) + x));
  rayCache.set(rig[side], rays);
  return rays;
}

export interface PictureOptions {
  /** Deviation of the noise, grey levels. */
  readonly noise: number;
  readonly random: Random;
  /** Rays along each side of a pixel that has an edge in it; default 4, which moves an edge by 0.04 px. */
  readonly subsamples?: number;
}

/** Renders one camera's image: 8 bit grey, board of 30 to 220 on a background of waves. */
export function boardPicture(
  rig: StereoCalibration,
  board: Board,
  pose: BoardPose,
  side: "left" | "right",
  { noise, random, subsamples = SUBSAMPLES }: PictureOptions,
): { data: Uint8Array; width: number; height: number } {
  const { width, height } = rig.imageSize;
  const rays = cachedRays(rig, side);
  const printed = printedBoard(board);
  // Ray and camera centre in the board's coordinates.
  const toBoard = transpose(pose.R);
  const R = side === "left" ? undefined : transpose(rig.R);
  const centre = side === "left" ? ([0, 0, 0] as const) : apply(R!, [-rig.T[0], -rig.T[1], -rig.T[2]]);
  const origin = apply(toBoard, [centre[0] - pose.t[0], centre[1] - pose.t[1], centre[2] - pose.t[2]]);
  // From the left or right camera's ray (x, y, 1) to a direction on the board.
  const m = R === undefined ? toBoard : multiply(toBoard, R);
  const [ox, oy, oz] = origin;
  const valueAt = (rx: number, ry: number): number => {
    const dz = m[6] * rx + m[7] * ry + m[8];
    const t = -oz / dz;
    const value =
      t > 0
        ? printed(ox + t * (m[0] * rx + m[1] * ry + m[2]), oy + t * (m[3] * rx + m[4] * ry + m[5]))
        : undefined;
    return value === undefined ? 110 + 30 * Math.sin(9 * rx + 4 * ry) * Math.cos(7 * ry) : 30 + 190 * value;
  };
  const data = new Uint8Array(width * height);
  const line = width + 1;
  const corners = new Float64Array(line * (height + 1));
  for (let at = 0; at < corners.length; at++) corners[at] = valueAt(rays[2 * at]!, rays[2 * at + 1]!);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const first = y * line + x;
      const at = 2 * first;
      const [a, b, c, d] = [
        corners[first]!,
        corners[first + 1]!,
        corners[first + line]!,
        corners[first + line + 1]!,
      ];
      let mean = (a + b + c + d) / 4;
      // Where the corners of a pixel agree, so does what lies between them.
      if (Math.max(a, b, c, d) - Math.min(a, b, c, d) > 5) {
        let sum = 0;
        for (let j = 0; j < subsamples; j++) {
          const fy = (j + 0.5) / subsamples;
          for (let i = 0; i < subsamples; i++) {
            const fx = (i + 0.5) / subsamples;
            const mix = (k: number) =>
              (rays[at + k]! * (1 - fx) + rays[at + 2 + k]! * fx) * (1 - fy) +
              (rays[at + 2 * line + k]! * (1 - fx) + rays[at + 2 * line + 2 + k]! * fx) * fy;
            sum += valueAt(mix(0), mix(1));
          }
        }
        mean = sum / subsamples ** 2;
      }
      const dirt = noise > 0 ? normalPair(random)[0] : 0;
      const grey = mean + noise * dirt;
      data[y * width + x] = Number.isNaN(grey) ? 110 : Math.max(0, Math.min(255, Math.round(grey)));
    }
  }
  return { data, width, height };
}
