// SPDX-License-Identifier: Apache-2.0
// How the engine is adjusted to what the pairs look like: what it is asked to watch, and what it reports.
import type { EngineInfo, EngineOptions } from "../../cuda/index.js";
import type { Unavailable } from "../../power/index.js";
import type { Config } from "../config/index.js";

export interface VerticalOffsetFigures {
  /** Rows by which the right image lies lower: the median of the newest estimates. */
  measuredRows: number | Unavailable;
  /** Rows that rectification corrects. */
  appliedRows: number;
  /** By how many rows the offset rises from the left border to the right one, where that is a row or more: a camera is turned. */
  measuredRowsOverWidth: number | Unavailable;
  appliedRowsOverWidth: number;
}

export interface NoiseFigures {
  /** Standard deviation in grey values, of the newest pair that was looked at. */
  sigma: number | Unavailable;
  /** True if pairs are denoised before matching. */
  smoothed: boolean;
}

export interface AdaptationFigures {
  verticalOffset: VerticalOffsetFigures;
  noise: NoiseFigures;
}

export const adaptationOptions = ({
  rectify,
  match,
}: Pick<Config, "rectify" | "match">): Pick<
  EngineOptions,
  "verticalOffset" | "blackLevel" | "denoise" | "average"
> => ({
  verticalOffset: rectify.verticalOffset,
  blackLevel: rectify.blackLevel,
  denoise: match.denoise,
  average: match.average,
});

/** Returns the message for a rig whose vertical offset exceeds the search; undefined otherwise. */
export function rowsTooFarApart({ verticalOffset }: Pick<EngineInfo, "verticalOffset">): string | undefined {
  if (!verticalOffset.atLimit) return undefined;
  return (
    "the right image lies 4 rows or more above or below the left one, which 'auto' does not correct: " +
    "calibrate the cameras, or set rectify.verticalOffset to the rows (-16 to 16)"
  );
}

const unavailable = (reason: string): Unavailable => ({ available: false, reason });
const rounded = (value: number) => Math.round(value * 100) / 100;

export function adaptationFigures(info: Pick<EngineInfo, "verticalOffset" | "noise">): AdaptationFigures {
  const { verticalOffset: rows, noise } = info;
  const tooFar = rowsTooFarApart(info);
  const unknown = rows.watched
    ? (tooFar ?? "no pair had enough texture to compare rows")
    : "rectify.verticalOffset is not auto";
  const known = rows.known && tooFar === undefined;
  return {
    verticalOffset: {
      measuredRows: known ? rows.measuredRows : unavailable(unknown),
      appliedRows: rows.appliedRows,
      measuredRowsOverWidth: known ? rows.measuredRowsOverWidth : unavailable(unknown),
      appliedRowsOverWidth: rows.appliedRowsOverWidth,
    },
    noise: {
      sigma: noise.known
        ? rounded(noise.sigma)
        : unavailable(noise.watched ? "no pair has been looked at yet" : "match.denoise is off"),
      smoothed: noise.smoothed,
    },
  };
}
