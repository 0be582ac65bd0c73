// SPDX-License-Identifier: Apache-2.0
// The points that a profile measures, in order: power modes are the outermost loop, because changing one takes longest.
import { DepthwattError } from "../../../core/index.js";
import { ALGORITHMS, type Algorithm, engineAddon, findMatcher } from "../../../cuda/index.js";
import type { ClockName, ClockTargets } from "../../../power/index.js";
import type { ClockLimits } from "../../profile/clock-limits.js";
import { parseRepeatedStage } from "../../profile/repeated-stage.js";
import {
  type AddedWork,
  hasPaths,
  OPTIONAL_STAGES,
  type ProfilePoint,
  type RepeatedStage,
} from "../../profile/types.js";

/** The searches of sgm that a profile compares. */
export const SEARCHES = ["full", "coarseToFine"] as const;
export type Search = (typeof SEARCHES)[number];
const FULL_ONLY: readonly Search[] = ["full"];

export interface PlanOptions {
  /** Undefined = the mode the machine is in. */
  modes: readonly (string | undefined)[];
  /** Upper limits of clocks; {} = those that the machine has. */
  clocks: readonly ClockTargets[];
  algorithms: readonly Algorithm[];
  sizes: readonly { width: number; height: number }[];
  disparities: readonly number[];
  paths: readonly (2 | 4 | 8)[];
  rates: readonly (number | "max")[];
  /** Resolutions; true: half. */
  resolutions: readonly boolean[];
  /** Measures the helper's engine too, as fast as it is. */
  foreign?: boolean;
  searches: readonly Search[];
  /** Adds runs with each optional stage left out and each of `repeated` repeated, this many rounds of them; 0 = none. */
  stageRounds: number;
  repeated: readonly RepeatedStage[];
  /** Work that those rounds add, one run each. */
  added?: readonly AddedWork[];
}

function refuse(option: string, found: string, expected: string): never {
  throw new DepthwattError("USAGE", `${option}: expected ${expected}, got "${found}"`);
}

const parts = (text: string): string[] => text.split(",").filter((part) => part !== "");

function wholeNumbers(option: string, text: string, low: number, high: number): number[] {
  return parts(text).map((part) => {
    const value = Number(part);
    if (Number.isInteger(value) && value >= low && value <= high) return value;
    return refuse(option, part, `whole numbers from ${low} to ${high}`);
  });
}

export function parseSizes(text: string): { width: number; height: number }[] {
  return parts(text).map((part) => {
    const match = /^(\d{2,5})x(\d{2,5})$/.exec(part);
    if (match === null) return refuse("--sizes", part, "sizes such as 640x480");
    return { width: Number(match[1]), height: Number(match[2]) };
  });
}

export const parseDisparities = (text: string): number[] => wholeNumbers("--disparities", text, 8, 512);

export function parsePaths(text: string): (2 | 4 | 8)[] {
  return wholeNumbers("--paths", text, 2, 8).map((value) =>
    value === 2 || value === 4 || value === 8 ? value : refuse("--paths", String(value), "2, 4 or 8"),
  );
}

export function parseRates(text: string): (number | "max")[] {
  return parts(text).map((part) => {
    const value = Number(part);
    if (part === "max") return "max";
    return value > 0 && value <= 1000
      ? value
      : refuse("--rates", part, '"max" or frames per second up to 1000');
  });
}

export function parseAlgorithms(text: string): Algorithm[] {
  return parts(text).map((part) => {
    const known = ALGORITHMS.find((name) => name === part);
    return known ?? refuse("--algorithms", part, ALGORITHMS.join(" or "));
  });
}

/** @returns whether each is at half resolution */
export function parseResolutions(text: string): boolean[] {
  return parts(text).map((part) =>
    part === "full" || part === "half" ? part === "half" : refuse("--resolutions", part, "full or half"),
  );
}

export const parseSearches = (text: string): Search[] =>
  parts(text).map(
    (part) => SEARCHES.find((search) => search === part) ?? refuse("--searches", part, SEARCHES.join(" or ")),
  );

/** Returns whether coarse-to-fine search differs from the full one at this point. */
function hasSearches({
  algorithm,
  paths,
  numDisparities,
  ...point
}: ProfilePoint & { algorithm: Algorithm }) {
  if (!findMatcher(algorithm).parameters.some(({ key }) => key === "search")) return false;
  const { brokenRule, chooseSearch } = engineAddon();
  const parameters = { paths, search: "coarseToFine" };
  const halfResolution = point.halfResolution ?? false;
  const match = { algorithm, minDisparity: 0, numDisparities, halfResolution, parameters };
  const device = { instructionSet: "scalar", multiprocessors: 0 } as const;
  return brokenRule(match) === null && chooseSearch(match, point, device)?.chosen === "coarseToFine";
}

export const parseRepeatedStages = (text: string): RepeatedStage[] =>
  parts(text).map((part) => parseRepeatedStage("--repeat-stages", part));

const limited = (clocks: ClockTargets) => (Object.keys(clocks).length === 0 ? {} : { clockHertz: clocks });

/**
 * Parses limits such as "current,612,408/2133": megahertz of the GPU, and of the memory after a slash; "all" is every step of
 * the GPU.
 * @param limits undefined: the clocks of this machine are left alone
 */
export function parseClocks(text: string, limits: Pick<ClockLimits, "steps"> | undefined): ClockTargets[] {
  const stepOf = (name: ClockName, part: string): number => {
    const steps = limits?.steps(name) ?? [];
    const found = steps.find((step) => Math.abs(step - Number(part)) < 1);
    return found === undefined
      ? refuse("--clocks", part, `steps of the ${name} in MHz (${steps.join(", ") || "none"})`)
      : Math.round(found * 1e6);
  };
  const wanted =
    text === "all"
      ? ["current", ...(limits?.steps("gpu") ?? []).slice(0, -1).reverse().map(String)]
      : parts(text);
  return wanted.map((part) => {
    if (part === "current") return {};
    const [gpu = "", emc] = part.split("/");
    return {
      ...(gpu !== "" && { gpu: stepOf("gpu", gpu) }),
      ...(emc !== undefined && { emc: stepOf("emc", emc) }),
    };
  });
}

/** Every point once; rounds of left-out stages are interleaved so that a drift in temperature meets all alike. */
export function planPoints(options: PlanOptions): ProfilePoint[] {
  const points: ProfilePoint[] = [];
  for (const mode of options.modes) {
    for (const algorithm of options.algorithms) {
      for (const size of options.sizes) {
        for (const numDisparities of options.disparities) {
          for (const paths of options.paths) {
            // A matcher without paths is measured once.
            if (!hasPaths(algorithm) && paths !== options.paths[0]) continue;
            for (const half of options.resolutions) {
              const resolution = half ? { halfResolution: true as const } : {};
              const work = { algorithm, ...size, numDisparities, paths, ...resolution };
              for (const rateHz of options.rates) {
                const point = { mode, ...work, rateHz };
                const searches = hasSearches(point) ? options.searches : FULL_ONLY;
                for (const search of searches) {
                  const searched = search === "full" ? point : { ...point, search };
                  for (const clocks of options.clocks) points.push({ ...searched, ...limited(clocks) });
                }
              }
            }
          }
        }
      }
    }
  }
  const [base] = points;
  if (options.foreign) points.push(...foreignPoints(options));
  if (base === undefined) throw new DepthwattError("USAGE", "There is nothing to profile: a list is empty.");
  for (let round = 0; round < options.stageRounds; round++) {
    for (const without of OPTIONAL_STAGES) points.push({ ...base, without });
    for (const repeat of options.repeated) points.push({ ...base, repeat });
    for (const added of options.added ?? []) points.push({ ...base, added });
    points.push({ ...base });
  }
  return points;
}

function foreignPoints({ modes, sizes, disparities }: PlanOptions): ProfilePoint[] {
  const shared = { algorithm: "foreign", paths: 4, rateHz: "max" } as const;
  return modes.flatMap((mode) =>
    sizes.flatMap((size) =>
      disparities.map((numDisparities) => ({ ...shared, mode, ...size, numDisparities })),
    ),
  );
}
