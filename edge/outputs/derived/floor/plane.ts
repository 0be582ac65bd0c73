// SPDX-License-Identifier: Apache-2.0
// Converts between the plane of the stage "floor" and the camera's height, pitch and roll (cuda/output/floor/README.md).

/** a x + b y + c = 65536 * disparityQ4, from the pixel (width / 2, height / 2) rounded down. */
export interface FloorPlane {
  a: number;
  b: number;
  c: number;
}

export interface FloorGeometry {
  width: number;
  height: number;
  focalPixels: number;
  baselineMetres: number;
  disparityOffsetPixels: number;
  cx: number;
  cy: number;
}

export interface FloorFigures {
  /** Height of the left camera above the floor. */
  heightMetres: number;
  /** Positive where the cameras look down. */
  pitchDegrees: number;
  /** Positive where their right side is lower. */
  rollDegrees: number;
}

const SCALE = 16 * 65_536;
const DEGREES = 180 / Math.PI;
const origin = ({ width, height, cx, cy }: FloorGeometry) => [
  cx - Math.floor(width / 2),
  cy - Math.floor(height / 2),
];

/** The plane's unit normal, down in the axes of the left camera, and that camera's height. */
export function floorPose({ a, b, c }: FloorPlane, geometry: FloorGeometry) {
  const [x, y] = origin(geometry);
  const ahead = (c + a * x! + b * y!) / SCALE + geometry.disparityOffsetPixels;
  const normal = [a / SCALE, b / SCALE, ahead / geometry.focalPixels] as const;
  const length = Math.hypot(...normal);
  const { baselineMetres } = geometry;
  const down = normal.map((value) => value / length) as [number, number, number];
  return { down, heightMetres: baselineMetres / length, baselineMetres };
}

export function floorFigures(plane: FloorPlane, geometry: FloorGeometry): FloorFigures {
  const { down, heightMetres } = floorPose(plane, geometry);
  return {
    heightMetres,
    pitchDegrees: DEGREES * Math.atan2(down[2], Math.hypot(down[0], down[1])),
    rollDegrees: DEGREES * Math.atan2(down[0], down[1]),
  };
}

export function planeOf(figures: FloorFigures, geometry: FloorGeometry): FloorPlane {
  const [pitch, roll] = [figures.pitchDegrees / DEGREES, figures.rollDegrees / DEGREES];
  const scale = (SCALE * geometry.baselineMetres) / figures.heightMetres;
  const a = scale * Math.sin(roll) * Math.cos(pitch);
  const b = scale * Math.cos(roll) * Math.cos(pitch);
  const [x, y] = origin(geometry);
  const ahead = scale * Math.sin(pitch) * geometry.focalPixels - SCALE * geometry.disparityOffsetPixels;
  return { a: Math.round(a), b: Math.round(b), c: Math.round(ahead - a * x! - b * y!) };
}
