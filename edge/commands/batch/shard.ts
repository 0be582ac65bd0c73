// SPDX-License-Identifier: Apache-2.0
// Which part of an archive this process works on: said on the command line, or by the scheduler that started it.
import { DepthwattError } from "../../../core/index.js";

export interface Shard {
  /** 1 to `of`. */
  index: number;
  of: number;
}

const MAX_INDEX = 1_000_000;

const wrong = (expected: string, found: string) =>
  new DepthwattError("USAGE", `expected --shard ${expected}, got ${found}`, {
    hint: "Such as --shard 2/8, or --shard 8 in an array job of 8 tasks.",
  });

function whole(text: string | undefined, least: number): number | undefined {
  const value = /^\d{1,7}$/.test(text ?? "") ? Number(text) : Number.NaN;
  return value >= least && value <= MAX_INDEX ? value : undefined;
}

/**
 * @param flag "i/n", or "n" where a scheduler says which one: Kubernetes' JOB_COMPLETION_INDEX (from 0), Slurm's
 *   SLURM_ARRAY_TASK_ID (from SLURM_ARRAY_TASK_MIN), which also knows how many there are
 * @returns undefined: the whole archive
 * @throws DepthwattError USAGE
 */
export function parseShard(flag: string | undefined, environment: NodeJS.ProcessEnv): Shard | undefined {
  const [first, second, ...rest] = flag?.split("/") ?? [];
  if (second !== undefined) {
    const [index, of] = [whole(first, 1), whole(second, 1)];
    if (index === undefined || of === undefined || index > of || rest.length > 0)
      throw wrong("to be i/n with 1 <= i <= n", `"${flag}"`);
    return { index, of };
  }
  const place = placeIn(environment);
  const count = flag === undefined ? environment.SLURM_ARRAY_TASK_COUNT : flag;
  if (flag === undefined && place === undefined) return undefined;
  const of = whole(count, 1);
  if (place === undefined) throw wrong("to be i/n, since no scheduler says which one this is", `"${flag}"`);
  if (of === undefined)
    throw wrong(
      `to say how many there are, since ${place.variable} says only which one this is`,
      flag === undefined ? "nothing" : `"${flag}"`,
    );
  if (place.index >= of)
    throw wrong(`to be more than ${place.variable} (${place.index}, counted from 0)`, `${of}`);
  return { index: place.index + 1, of };
}

/** Counted from 0. */
function placeIn(environment: NodeJS.ProcessEnv): { variable: string; index: number } | undefined {
  const { JOB_COMPLETION_INDEX, SLURM_ARRAY_TASK_ID, SLURM_ARRAY_TASK_MIN } = environment;
  const [variable, text] = JOB_COMPLETION_INDEX
    ? ["JOB_COMPLETION_INDEX", JOB_COMPLETION_INDEX]
    : ["SLURM_ARRAY_TASK_ID", SLURM_ARRAY_TASK_ID];
  if (!text) return undefined;
  const index = whole(text, 0);
  const from = variable === "SLURM_ARRAY_TASK_ID" ? (whole(SLURM_ARRAY_TASK_MIN, 0) ?? 0) : 0;
  if (index === undefined || index < from) throw wrong(`with a numeric ${variable}`, `"${text}"`);
  return { variable, index: index - from };
}

/** The pairs of one part: every n-th, so that parts are alike where pairs grow. */
export const shardItems = <T>(items: readonly T[], shard: Shard | undefined): T[] =>
  shard === undefined ? [...items] : items.filter((_, index) => index % shard.of === shard.index - 1);
