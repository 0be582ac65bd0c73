// SPDX-License-Identifier: Apache-2.0
// Defines the cost of making grey values or colours of a camera's bytes, by which the format "auto" chooses.
import type { CaptureFormat } from "v4l2-camera";

/** Costs of the formats that were measured on this machine. */
export interface DecodingCosts {
  /** Nanoseconds of one core for a pixel of an image. */
  nsPerPixel: ReadonlyMap<CaptureFormat, number>;
  /** Cores that may decode at the same time. */
  cores: number;
}

/** Measures formats on this machine; one that it cannot measure is missing in the result. */
export type MeasureDecoding = (formats: readonly CaptureFormat[], colours: boolean) => Promise<DecodingCosts>;

/** Costs within this factor of the least one count as equal, so that the choice does not change from run to run. */
const NEAR = 1.2;

/** Returns the first in the given order whose cost is about the least; the first one if a cost is not known. */
export function cheapest<One extends { costMs: number | undefined }>(
  ordered: readonly One[],
): One | undefined {
  const least = Math.min(...ordered.map(({ costMs }) => costMs ?? Number.NaN));
  return ordered.find(({ costMs }) => Number.isNaN(least) || costMs! <= NEAR * least);
}
