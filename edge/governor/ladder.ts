// SPDX-License-Identifier: Apache-2.0
// The quality ladder: what the governor may give up, best first. Paths before disparities, because range that is lost is
// lost for near objects; frames last.

export interface QualityLevel {
  /** Names the level in metrics and logs. */
  name: string;
  paths: 2 | 4 | 8;
  numDisparities: number;
  /** Share of the width and height that is matched. */
  scale: 1 | 0.5;
  /** Frames per second taken in at most; undefined = every frame. */
  rateHz: number | undefined;
}

export interface LadderOptions {
  /** What the configuration asks for: the best level. */
  paths: 2 | 4 | 8;
  numDisparities: number;
  /** Frames per second of the source; undefined = as many as can be computed. */
  sourceHz: number | undefined;
  /** Whether half resolution can be computed. */
  half: boolean;
  /** Levels that take in fewer frames than this are left out; undefined = none is. */
  minFps?: number;
}

const FEWEST_DISPARITIES = 32;
const SLOWEST_HZ = 1;

const nameOf = (level: Omit<QualityLevel, "name">): string =>
  [
    `${level.paths} paths`,
    `${level.numDisparities} disparities`,
    ...(level.scale === 1 ? [] : ["half resolution"]),
    ...(level.rateHz === undefined ? [] : [`at most ${level.rateHz} fps`]),
  ].join(", ");

/** Work of a frame in relation to other levels: cells times paths, and what every pixel costs without them. */
export function relativeWork(level: QualityLevel): number {
  return level.scale ** 2 * (level.numDisparities * level.paths + 32);
}

/** Best first; every level costs less per second than the one before. */
export function qualityLadder(options: LadderOptions): QualityLevel[] {
  const levels: QualityLevel[] = [];
  const add = (change: Partial<Omit<QualityLevel, "name">>): void => {
    const last = levels.at(-1);
    const base = last ?? {
      paths: options.paths,
      numDisparities: options.numDisparities,
      scale: 1,
      rateHz: undefined,
    };
    const { name: _name, ...level } = { name: "", ...base, ...change };
    levels.push({ ...level, name: nameOf(level) });
  };
  add({});
  for (const paths of [4, 2] as const) if (paths < options.paths) add({ paths });
  // Half the width needs half the disparities for the same nearest distance.
  if (options.half)
    add({ scale: 0.5, numDisparities: Math.max(8, Math.floor(levels.at(-1)!.numDisparities / 2)) });
  const fewest = options.half ? FEWEST_DISPARITIES / 2 : FEWEST_DISPARITIES;
  while (levels.at(-1)!.numDisparities / 2 >= fewest) {
    add({ numDisparities: Math.floor(levels.at(-1)!.numDisparities / 2) });
  }
  let rate = (options.sourceHz ?? 60) / 2;
  while (rate >= Math.max(SLOWEST_HZ, options.minFps ?? 0)) {
    add({ rateHz: Number(rate.toFixed(2)) });
    rate /= 2;
  }
  return levels;
}
