// SPDX-License-Identifier: Apache-2.0
// Measures on the depth picture: statistics of a rectangle, and the distance between two points.
import { type DepthSample, fitPlane, type PlaneFit } from "../../../core/plane.js";
import type { Camera } from "../documents.js";
import type { FrameSet, Picture } from "../frame-set.js";
import { meant } from "./colourise.js";
import type { DrawnRegion } from "./region.js";
import type { Point } from "./zones.js";

export interface AreaFacts {
  pixels: number;
  /** Shares of the pixels, 0 to 1; matched is undefined if no confidence is sent. */
  valid: number;
  matched: number | undefined;
  medianMetres: number;
  /** Between the quantiles of 16 and 84 %, halved: one standard deviation of a normal distribution. */
  spreadMetres: number;
  /** Undefined without a calibration, or if the pixels lie on one line. */
  plane: PlaneFit | undefined;
}

/** A plane is fitted to at most about this many pixels. */
const MAX_SAMPLES = 40_000;
/** A ruler takes the median depth of so many pixels to each side, because single pixels are noisy. */
const RULER_PX = 2;

function depthAt(
  { header, counts }: Picture,
  confidence: Picture | undefined,
  i: number,
  least: number,
): number {
  if (confidence !== undefined && confidence.counts[i]! < least) return Number.NaN;
  return meant(header, counts[i]!);
}

function sortedDepths(depths: number[]): Float64Array {
  return Float64Array.from(depths).sort();
}

const at = (sorted: Float64Array, share: number) => sorted[Math.floor(share * (sorted.length - 1))]!;

function fitting({ pictures }: FrameSet): { depth: Picture; confidence: Picture | undefined } | undefined {
  const { depth, confidence } = pictures;
  if (depth === undefined) return undefined;
  return { depth, confidence: confidence?.counts.length === depth.counts.length ? confidence : undefined };
}

const pixelRay = (x: number, y: number, { centreX, centreY, focalX, focalY }: Camera) => ({
  u: (x - centreX) / focalX,
  v: (y - centreY) / focalY,
});

/**
 * Returns the statistics of a rectangle; undefined if no depth is sent.
 * @param least pixels with a lower confidence do not count
 */
export function areaFacts(
  set: FrameSet,
  { x: left, y: top, width, height }: DrawnRegion,
  camera: Camera | undefined,
  least: number,
): AreaFacts | undefined {
  const found = fitting(set);
  if (found === undefined) return undefined;
  const { depth, confidence } = found;
  const columns = depth.header.width;
  const every = Math.max(1, Math.ceil(Math.sqrt((width * height) / MAX_SAMPLES)));
  const depths: number[] = [];
  const samples: DepthSample[] = [];
  let [pixels, matched] = [0, 0];
  for (let y = top; y < Math.min(top + height, depth.header.height); y += every) {
    for (let x = left; x < Math.min(left + width, columns); x += every) {
      const i = y * columns + x;
      pixels++;
      const depthMetres = depthAt(depth, confidence, i, least);
      if (Number.isNaN(depthMetres)) continue;
      depths.push(depthMetres);
      if (confidence !== undefined && confidence.counts[i] === 0) continue;
      matched++;
      if (camera !== undefined) samples.push({ ...pixelRay(x, y, camera), depthMetres });
    }
  }
  const sorted = sortedDepths(depths);
  return {
    pixels: width * height,
    valid: depths.length / pixels,
    matched: confidence && matched / pixels,
    medianMetres: depths.length === 0 ? Number.NaN : at(sorted, 0.5),
    spreadMetres: depths.length === 0 ? Number.NaN : (at(sorted, 0.84) - at(sorted, 0.16)) / 2,
    plane: fitPlane(samples),
  };
}

/** Returns the distance between two points in space, metres; NaN where one has no depth, undefined without depth or calibration. */
export function distanceBetween(
  set: FrameSet,
  points: readonly [Point, Point],
  camera: Camera | undefined,
  least: number,
): number | undefined {
  const found = fitting(set);
  if (found === undefined || camera === undefined) return undefined;
  const { width, height } = found.depth.header;
  const [one, other] = points.map((point) => {
    const depths: number[] = [];
    for (let y = Math.max(0, point.y - RULER_PX); y <= Math.min(height - 1, point.y + RULER_PX); y++) {
      for (let x = Math.max(0, point.x - RULER_PX); x <= Math.min(width - 1, point.x + RULER_PX); x++) {
        const metres = depthAt(found.depth, found.confidence, y * width + x, least);
        if (!Number.isNaN(metres)) depths.push(metres);
      }
    }
    const z = depths.length === 0 ? Number.NaN : at(sortedDepths(depths), 0.5);
    const { u, v } = pixelRay(point.x, point.y, camera);
    return [u * z, v * z, z] as const;
  });
  return Math.hypot(one![0] - other![0], one![1] - other![1], one![2] - other![2]);
}
