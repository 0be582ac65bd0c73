// SPDX-License-Identifier: Apache-2.0
// The quality ladder: what the governor may give up, best first. The matcher's own steps before half resolution before
// disparities, because range that is lost is lost for near objects; then frames; the power mode last, because it is the whole
// machine's.
import { findMatcher, type MatchParameters, matcherParameters } from "../../cuda/index.js";
import type { ClockTargets } from "../../power/index.js";
import { clockWords } from "../profile/clock-limits.js";

export interface QualityLevel {
  /** Names the level in metrics and logs. */
  name: string;
  /** Parameters of the matcher that the ladder changes. */
  parameters: Readonly<Record<string, number | string>>;
  /** In cells and paths of sgm. */
  workPerCell: number;
  /** Disparities of the full image, also at half resolution. */
  numDisparities: number;
  /** Matched at half the width and height; results keep their size. */
  halfResolution: boolean;
  /** Frames per second taken in at most; undefined = every frame. */
  rateHz: number | undefined;
  /** nvpmodel's mode by name; undefined = the mode at the start. */
  mode: string | undefined;
  /** Upper limits of clocks, hertz; {} = those at the start. */
  clocks: ClockTargets;
}

export interface LadderOptions {
  /** The configured matching: the best level. */
  match: Pick<MatchParameters, "algorithm" | "parameters" | "numDisparities" | "halfResolution">;
  /** Frames per second of the source; undefined = as many as can be computed. */
  sourceHz: number | undefined;
  /** True if half resolution can be computed. */
  half: boolean;
  /** Returns whether `search: auto` takes coarse-to-fine search with these parameters; undefined = never. */
  takesCoarseToFine?: (parameters: QualityLevel["parameters"]) => boolean;
  /** Levels that take in fewer frames than this are left out; undefined = none is. */
  minFps?: number;
  /** Power modes to step down to, best first. */
  modes?: readonly string[];
}

const FEWEST_DISPARITIES = 32;
const SLOWEST_HZ = 1;
/**
 * Cost of every matched pixel in addition to its cells, in cells and paths: the stages that do not depend on the
 * search.
 */
const WORK_PER_PIXEL = 256;
/** `search: auto` takes coarse-to-fine search only where it is measured to be this much faster. */
export const LEAST_SEARCH_GAIN = 1.25;

export function levelName(level: Omit<QualityLevel, "name">): string {
  return [
    ...Object.entries(level.parameters).map(([key, value]) =>
      typeof value === "number" ? `${value} ${key}` : `${key} ${value}`,
    ),
    `${level.numDisparities} disparities`,
    ...(level.halfResolution ? ["half resolution"] : []),
    ...(level.rateHz === undefined ? [] : [`at most ${level.rateHz} fps`]),
    ...(level.mode === undefined ? [] : [`power mode ${level.mode}`]),
    ...(Object.keys(level.clocks).length === 0 ? [] : [clockWords(level.clocks)]),
  ].join(", ");
}

/** A level as the governor sees it: of one ladder, or of several that are walked together. */
export type GovernorLevel = Pick<QualityLevel, "name" | "rateHz" | "mode"> &
  (Pick<QualityLevel, "halfResolution" | "numDisparities" | "workPerCell"> | { work: number });

/** Work of a frame in relation to other levels: that of its cells, and what every pixel costs without them. */
export function relativeWork(level: GovernorLevel): number {
  if ("work" in level) return level.work;
  const { halfResolution, numDisparities, workPerCell } = level;
  return halfResolution
    ? (numDisparities * workPerCell * 0.5 + WORK_PER_PIXEL) / 4
    : numDisparities * workPerCell + WORK_PER_PIXEL;
}

/** Best first; up to the power modes every level costs less per second than the one before. */
export function qualityLadder(options: LadderOptions): QualityLevel[] {
  const { algorithm, numDisparities, halfResolution } = options.match;
  const { ladder } = findMatcher(algorithm);
  const values = matcherParameters(options.match);
  const configured = Object.fromEntries(ladder.steps.map(({ key }) => [key, Number(values[key])]));
  const levels: QualityLevel[] = [];
  let last: Omit<QualityLevel, "name" | "workPerCell"> = {
    parameters: configured,
    numDisparities,
    halfResolution,
    rateHz: undefined,
    mode: undefined,
    clocks: {},
  };
  const add = (change: Partial<typeof last>, gain = 1): void => {
    last = { ...last, ...change };
    const work = ladder.workPerCell;
    const workPerCell = typeof work === "number" ? work : Number(last.parameters[work] ?? values[work]);
    const level = { ...last, workPerCell: workPerCell / gain };
    levels.push({ ...level, name: levelName(level) });
  };
  let search: { search?: string } = {};
  /** The configured values with the first steps of the ladder taken. */
  const lowered = (steps: number): QualityLevel["parameters"] => {
    const parameters = { ...configured };
    for (const { key, value } of ladder.steps.slice(0, steps))
      parameters[key] = Math.min(parameters[key]!, value);
    return { ...parameters, ...search };
  };
  const addSearch = (): void => {
    if (values.search !== "full" || search.search !== undefined) return;
    if (options.takesCoarseToFine?.(last.parameters) !== true) return;
    search = { search: "auto" };
    add({ parameters: { ...last.parameters, ...search } }, LEAST_SEARCH_GAIN);
  };
  add({});
  addSearch();
  for (const [taken, { key, value }] of ladder.steps.entries()) {
    if (value >= Number(last.parameters[key])) continue;
    add({ parameters: lowered(taken + 1) });
    addSearch();
  }
  if (options.half && !halfResolution) add({ halfResolution: true, parameters: lowered(ladder.atHalf) });
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
