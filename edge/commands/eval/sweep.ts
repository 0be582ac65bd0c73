// SPDX-License-Identifier: Apache-2.0
// One parameter over a range: how the command line says it, and the table that comes of it.
import { DepthwattError } from "../../../core/index.js";
import { ALGORITHMS } from "../../../cuda/index.js";
import { nearestName, SETTING_BY_KEY } from "../../config/index.js";
import type { Evaluation } from "../../eval/evaluate.js";

export interface Sweep {
  /** Dotted setting, such as "match.sgm.p2". */
  key: string;
  values: number[];
}

const GROUPS = ["match", ...ALGORITHMS.map((name) => `match.${name}`), "refine"];
const LARGEST_SWEEP = 1000;
const FORM = "--sweep PARAM=FIRST:LAST:STEP or PARAM=VALUE,VALUE,..., such as --sweep match.sgm.p2=40:120:20";

/** A name without a group is looked for in match, in its matchers and in refine. */
function resolveKey(name: string): string {
  const key = [name, ...GROUPS.map((group) => `${group}.${name}`)].find((candidate) =>
    SETTING_BY_KEY.has(candidate),
  );
  if (key === undefined) {
    const near = nearestName(name, SETTING_BY_KEY.keys());
    throw new DepthwattError("CONFIG_UNKNOWN_KEY", `no setting is called "${name}"`, {
      ...(near === undefined ? {} : { hint: `Did you mean "${near}"?` }),
      context: { key: name },
    });
  }
  return key;
}

function listedValues(list: string, text: string): number[] {
  const values = list.split(",").map((word) => (word.trim() === "" ? Number.NaN : Number(word)));
  if (values.every(Number.isFinite)) return values;
  throw new DepthwattError("USAGE", `expected ${FORM}, got "${text}"`);
}

/**
 * Parses "param=a:b:step", whose last value is b where the steps meet it, or "param=a,b,c". A name without a group is looked for in match, in
 * its matchers and in refine: p2 is match.sgm.p2.
 * @throws DepthwattError USAGE (the form), CONFIG_UNKNOWN_KEY
 */
export function parseSweep(text: string): Sweep {
  const listed = /^([^=]+)=([^=:]+)$/.exec(text);
  if (listed !== null) return { key: resolveKey(listed[1]!.trim()), values: listedValues(listed[2]!, text) };
  const match = /^([^=]+)=([^:]+):([^:]+):([^:]+)$/.exec(text);
  const [first, last, step] = (match?.slice(2) ?? []).map((word) =>
    word.trim() === "" ? Number.NaN : Number(word),
  );
  if (!match || ![first, last, step].every(Number.isFinite) || step! <= 0 || last! < first!) {
    throw new DepthwattError("USAGE", `expected ${FORM} with LAST >= FIRST and STEP > 0, got "${text}"`);
  }
  const count = Math.floor((last! - first!) / step! + 1e-9) + 1;
  if (count > LARGEST_SWEEP) {
    throw new DepthwattError("USAGE", `expected a sweep of at most ${LARGEST_SWEEP} values, got ${count}`);
  }
  // Rounded, so that 0:1:0.1 gives 0.3 and not 0.30000000000000004.
  return {
    key: resolveKey(match[1]!.trim()),
    values: Array.from({ length: count }, (_, i) => Number((first! + i * step!).toPrecision(12))),
  };
}

export interface SweepRow {
  value: number;
  evaluation: Evaluation;
}

/** The columns of a sweep: mask by mask and scene by scene, then the means. */
export function sweepColumns({ scenes, mean }: Evaluation): [string, number | null][] {
  const ofScenes = scenes.flatMap(({ name, masks }) =>
    Object.entries(masks).map(([mask, { badPercent }]): [string, number | null] => [
      `${name} ${mask}`,
      badPercent,
    ]),
  );
  const ofMeans = Object.entries(mean.masks).map(([mask, { badPercent }]): [string, number | null] => [
    `mean ${mask}`,
    badPercent,
  ]);
  return [...ofScenes, ...ofMeans, ["milliseconds", mean.milliseconds]];
}

export const csvCell = (text: string) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** Comma-separated, RFC 4180: the parameter, then % bad of every scene and mask, the means, and the mean time. */
export function sweepCsv(key: string, rows: readonly SweepRow[]): string {
  const header = [key, ...sweepColumns(rows[0]!.evaluation).map(([name]) => name)];
  const lines = rows.map(({ value, evaluation }) => [
    String(value),
    ...sweepColumns(evaluation).map(([, number]) => (number === null ? "" : number.toFixed(4))),
  ]);
  return [header, ...lines].map((line) => line.map(csvCell).join(",")).join("\n");
}
