// SPDX-License-Identifier: Apache-2.0
// The quality ladder: what the governor may give up, best first. Paths before half resolution before disparities, because
// range that is lost is lost for near objects; then frames; the power mode last, because it is the whole machine's.
import type { Algorithm, MatchParameters } from "../../cuda/index.js";

export interface QualityLevel {
  /** Names the level in metrics and logs. */
  name: string;
  paths: 2 | 4 | 8;
  /** Of the full image, also at half resolution. */
  numDisparities: number;
  /** Matched at half the width and height; results keep their size. */
  halfResolution: boolean;
  /** Frames per second taken in at most; undefined = every frame. */
  rateHz: number | undefined;
  /** nvpmodel's mode by name; undefined = the one that was on at the start. */
  mode: string | undefined;
}

export interface LadderOptions {
  /** What the configuration asks for: the best level. */
  match: Pick<MatchParameters, "algorithm" | "paths" | "numDisparities" | "halfResolution">;
  /** Frames per second of the source; undefined = as many as can be computed. */
  sourceHz: number | undefined;
  /** Whether half resolution can be computed. */
  half: boolean;
  /** Levels that take in fewer frames than this are left out; undefined = none is. */
  minFps?: number;
  /** Power modes to step down to, best first. */
  modes?: readonly string[];
}

const FEWEST_DISPARITIES = 32;
const SLOWEST_HZ = 1;
/** What every matched pixel costs beside its cells, in cells and paths: the stages that do not depend on the search. */
const WORK_PER_PIXEL = 256;

function nameOf(level: Omit<QualityLevel, "name">, algorithm: Algorithm): string {
  return [
    ...(algorithm === "sgm" ? [`${level.paths} paths`] : []),
    `${level.numDisparities} disparities`,
    ...(level.halfResolution ? ["half resolution"] : []),
    ...(level.rateHz === undefined ? [] : [`at most ${level.rateHz} fps`]),
    ...(level.mode === undefined ? [] : [`power mode ${level.mode}`]),
  ].join(", ");
}

/** Work of a frame in relation to other levels: cells times paths, and what every pixel costs without them. */
export function relativeWork({ halfResolution, numDisparities, paths }: QualityLevel): number {
  return halfResolution
    ? (numDisparities * paths * 0.5 + WORK_PER_PIXEL) / 4
    : numDisparities * paths + WORK_PER_PIXEL;
}

/** Best first; up to the power modes every level costs less per second than the one before. */
export function qualityLadder(options: LadderOptions): QualityLevel[] {
  const { algorithm, paths, numDisparities, halfResolution } = options.match;
  const levels: QualityLevel[] = [];
  let last: Omit<QualityLevel, "name"> = {
    ...{ paths, numDisparities, halfResolution },
    ...{ rateHz: undefined, mode: undefined },
  };
  const add = (change: Partial<Omit<QualityLevel, "name">>): void => {
    last = { ...last, ...change };
    levels.push({ ...last, name: nameOf(last, algorithm) });
  };
  add({});
  if (algorithm === "sgm") for (const fewer of [4, 2] as const) if (fewer < paths) add({ paths: fewer });
  // Half resolution with 4 paths costs less than the whole with 2, and is the better of the two on KITTI.
  if (options.half && !halfResolution) add({ halfResolution: true, paths: paths < 4 ? paths : 4 });
  while (last.numDisparities / 2 >= FEWEST_DISPARITIES) {
    add({ numDisparities: Math.floor(last.numDisparities / 2) });
  }
  let rate = (options.sourceHz ?? 60) / 2;
  while (rate >= Math.max(SLOWEST_HZ, options.minFps ?? 0)) {
    add({ rateHz: Number(rate.toFixed(2)) });
    rate /= 2;
  }
  for (const mode of options.modes ?? []) add({ mode });
  return levels;
}
