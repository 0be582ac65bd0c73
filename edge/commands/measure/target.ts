// SPDX-License-Identifier: Apache-2.0
// Depth quality of a flat target, with the figures of RealSense's Depth Quality Tool: fill rate, Z accuracy, spatial noise as the
// RMS of a plane fit, and temporal noise, in millimetres and in pixels of disparity.
import { type DepthSample, fitPlane, median, type PlaneFit } from "../../../core/index.js";
import type { DepthGeometry } from "../../../cuda/index.js";
import { orUnavailable, type Unavailable } from "../../contracts/availability.js";

const INVALID_Q4 = -32_768;
/** A pixel counts for temporal noise if it was matched in so many of the frames. */
const LEAST_SHARE = 0.5;

export interface Area {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Rays {
  focalPixels: number;
  cx: number;
  cy: number;
}

export interface TargetFigures {
  frames: number;
  /** Matched pixels of the area; filled pixels do not count. */
  fillRatePercent: number;
  /** Along the optical axis, at the centre of the area: median over the frames. */
  distanceMetres: number;
  /** Between the plane's normal and the optical axis. */
  angleDegrees: number;
  error: { millimetres: number; percent: number } | Unavailable;
  /** RMS of the pixels about the plane, median over the frames. */
  spatialNoise: { millimetres: number; percent: number; subpixels: number };
  /** Standard deviation of a pixel over the frames, median over the pixels. */
  temporalNoise: { millimetres: number; percent: number; subpixels: number } | Unavailable;
}

/** Collects frames, then computes the figures. */
export class Target {
  readonly #area: Area;
  readonly #geometry: DepthGeometry;
  readonly #rays: Rays;
  readonly #planes: PlaneFit[] = [];
  /** By pixel of the area: matched frames, sum and sum of squares of the disparity. */
  readonly #counts: Uint32Array;
  readonly #sums: Float64Array;
  readonly #squares: Float64Array;
  #frames = 0;
  #matched = 0;

  constructor(area: Area, geometry: DepthGeometry, rays: Rays) {
    const pixels = area.width * area.height;
    this.#area = area;
    this.#geometry = geometry;
    this.#rays = rays;
    this.#counts = new Uint32Array(pixels);
    this.#sums = new Float64Array(pixels);
    this.#squares = new Float64Array(pixels);
  }

  /** @param width pixels from one row to the next */
  add({ disparityQ4, confidence }: { disparityQ4: Int16Array; confidence: Uint8Array }, width: number): void {
    const { x: left, y: top, width: columns, height } = this.#area;
    const { disparityOffsetPixels } = this.#geometry;
    const { focalPixels, cx, cy } = this.#rays;
    const samples: DepthSample[] = [];
    this.#frames++;
    for (let row = 0, at = 0; row < height; row++) {
      for (let column = 0; column < columns; column++, at++) {
        const [x, y] = [left + column, top + row];
        const i = y * width + x;
        if (confidence[i] === 0 || disparityQ4[i] === INVALID_Q4) continue;
        const disparity = disparityQ4[i]! / 16 + disparityOffsetPixels;
        if (disparity <= 0) continue;
        this.#matched++;
        this.#counts[at]!++;
        this.#sums[at]! += disparity;
        this.#squares[at]! += disparity * disparity;
        samples.push({
          u: (x - cx) / focalPixels,
          v: (y - cy) / focalPixels,
          depthMetres: this.#metres(disparity),
        });
      }
    }
    const plane = fitPlane(samples);
    if (plane !== undefined) this.#planes.push(plane);
  }

  #metres(disparity: number): number {
    return (this.#geometry.focalPixels * this.#geometry.baselineMetres) / disparity;
  }

  /** Median over the pixels of the standard deviation of their disparity. */
  #temporalDeviation(): number | undefined {
    if (this.#frames < 2) return undefined;
    const least = Math.max(2, LEAST_SHARE * this.#frames);
    const deviations: number[] = [];
    for (const [at, count] of this.#counts.entries()) {
      if (count < least) continue;
      const mean = this.#sums[at]! / count;
      deviations.push(Math.sqrt(Math.max(0, (this.#squares[at]! - count * mean * mean) / (count - 1))));
    }
    return deviations.length === 0 ? undefined : median(deviations);
  }

  /** @returns undefined if no frame had enough matched pixels for a plane */
  figures(trueMetres: number | undefined): TargetFigures | undefined {
    if (this.#planes.length === 0) return undefined;
    const { focalPixels, baselineMetres } = this.#geometry;
    const distanceMetres = median(this.#planes.map((plane) => plane.distanceMetres));
    const rmsMetres = median(this.#planes.map((plane) => plane.rmsMetres));
    const subpixels = focalPixels * baselineMetres * median(this.#planes.map((plane) => plane.rmsInverse));
    const error = trueMetres === undefined ? undefined : distanceMetres - trueMetres;
    const temporal = this.#temporalDeviation();
    // A small change of the disparity d moves the depth Z by Z / d times as much.
    const metresPerPixel = distanceMetres ** 2 / (focalPixels * baselineMetres);
    const noise = (metres: number, pixels: number) => ({
      millimetres: rounded(1000 * metres),
      percent: rounded((100 * metres) / distanceMetres),
      subpixels: rounded(pixels),
    });
    return {
      frames: this.#frames,
      fillRatePercent: rounded((100 * this.#matched) / (this.#frames * this.#counts.length)),
      distanceMetres: rounded(distanceMetres, 5),
      angleDegrees: rounded(median(this.#planes.map((plane) => plane.angleDegrees))),
      error: orUnavailable(
        error === undefined
          ? undefined
          : { millimetres: rounded(1000 * error), percent: rounded((100 * error) / trueMetres!) },
        "--distance was not given",
      ),
      spatialNoise: noise(rmsMetres, subpixels),
      temporalNoise: orUnavailable(
        temporal === undefined ? undefined : noise(temporal * metresPerPixel, temporal),
        "it needs two frames or more with the same matched pixels",
      ),
    };
  }
}

const rounded = (value: number, digits = 3): number => Number(value.toFixed(digits));
