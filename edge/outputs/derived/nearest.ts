// SPDX-License-Identifier: Apache-2.0
// The nearest distance in a zone, and by angle. Only pixels that were matched count: what was filled in is a guess, and a guess
// must not stop a robot or let it go.
import type { Span } from "./polygon.js";

/**
 * The parts of a frame that are read: depth in millimetres (0 = none) and confidence (0 = not matched),
 * [height][width].
 */
export interface DepthPicture {
  width: number;
  height: number;
  depthMillimetres: Uint16Array;
  confidence: Uint8Array;
}

export interface ZoneDistance {
  /** The smallest depth that `minPixels` pixels of the zone have or are nearer than; undefined: fewer were matched. */
  nearestMillimetres: number | undefined;
  /** Pixels that were looked at, and those of them that were matched. */
  pixels: number;
  matched: number;
}

/** Counts by millimetre, cleared after each use. */
const counts = new Uint32Array(65_536);

export function nearestIn(picture: DepthPicture, spans: readonly Span[], minPixels: number): ZoneDistance {
  const { width, depthMillimetres, confidence } = picture;
  let [pixels, matched, nearest, farthest] = [0, 0, 65_536, -1];
  for (const { y, from, to } of spans) {
    pixels += to - from;
    for (let at = y * width + from, end = y * width + to; at < end; at++) {
      const depth = depthMillimetres[at]!;
      if (depth === 0 || confidence[at] === 0) continue;
      counts[depth] = counts[depth]! + 1;
      matched++;
      if (depth < nearest) nearest = depth;
      if (depth > farthest) farthest = depth;
    }
  }
  let nearestMillimetres: number | undefined;
  for (let depth = nearest, sum = 0; depth <= farthest; depth++) {
    sum += counts[depth]!;
    if (sum < minPixels) continue;
    nearestMillimetres = depth;
    break;
  }
  if (farthest >= 0) counts.fill(0, nearest, farthest + 1);
  return { nearestMillimetres, pixels, matched };
}

export interface ScanGeometry {
  focalPixels: number;
  /** Column of the optical axis, pixels. */
  centreX: number;
}

export interface ScanBand {
  /** Shares of the height. */
  top: number;
  bottom: number;
  rays: number;
  minPixels: number;
}

export interface Scan {
  /** Radians about the vertical axis, 0 straight ahead, positive to the left; of the first and the last ray. */
  angleMin: number;
  angleMax: number;
  angleIncrement: number;
  /** Metres in the horizontal plane from the camera; undefined where fewer than minPixels were matched. From angleMin on. */
  ranges: (number | undefined)[];
}

/** Angle of a column's centre. */
const columnAngle = (x: number, { focalPixels, centreX }: ScanGeometry) =>
  Math.atan((centreX - x) / focalPixels);

/**
 * As a laser scanner at the camera's place would see the band of rows. Each ray has the columns that are nearest to its angle; its
 * range is the minPixels-th smallest of their pixels.
 */
export function nearestScan(picture: DepthPicture, geometry: ScanGeometry, band: ScanBand): Scan {
  const { width, height, depthMillimetres, confidence } = picture;
  const { rays, minPixels } = band;
  const [angleMin, angleMax] = [columnAngle(width - 1, geometry), columnAngle(0, geometry)];
  const angleIncrement = rays > 1 ? (angleMax - angleMin) / (rays - 1) : 0;
  const [from, to] = [
    Math.floor(band.top * height),
    Math.max(Math.floor(band.top * height) + 1, Math.ceil(band.bottom * height)),
  ];
  // The smallest ranges of each ray so far, in order.
  const smallest = new Float64Array(rays * minPixels).fill(Number.POSITIVE_INFINITY);
  for (let x = 0; x < width; x++) {
    const angle = columnAngle(x, geometry);
    const ray = rays > 1 ? Math.round((angle - angleMin) / angleIncrement) : 0;
    const perMillimetre = 0.001 / Math.cos(angle);
    const first = ray * minPixels;
    const last = first + minPixels - 1;
    for (let y = from; y < Math.min(to, height); y++) {
      const at = y * width + x;
      const depth = depthMillimetres[at]!;
      if (depth === 0 || confidence[at] === 0) continue;
      const range = depth * perMillimetre;
      if (range >= smallest[last]!) continue;
      let place = last;
      while (place > first && smallest[place - 1]! > range) {
        smallest[place] = smallest[place - 1]!;
        place--;
      }
      smallest[place] = range;
    }
  }
  const ranges = Array.from({ length: rays }, (_, ray) => {
    const range = smallest[(ray + 1) * minPixels - 1]!;
    return Number.isFinite(range) ? range : undefined;
  });
  return { angleMin, angleMax, angleIncrement, ranges };
}
