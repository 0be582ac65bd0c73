// SPDX-License-Identifier: Apache-2.0
// Reads the documents that the page shows. They may come from another program, so each figure is checked first.

export type Unknown = { available: false; reason: string };

export interface Stage {
  p50Ms: number;
  p95Ms: number;
  p99Ms: number;
}

export interface Metrics {
  frames?: unknown;
  fps?: unknown;
  backend?: unknown;
  backendReason?: unknown;
  instructionSet?: unknown;
  algorithm?: unknown;
  validPercent?: unknown;
  matchedPercent?: unknown;
  stages?: unknown;
  latencyMs?: unknown;
  drops?: unknown;
  power?: unknown;
  governor?: unknown;
  outputs?: unknown;
  health?: unknown;
}

export interface Info {
  version?: unknown;
  board?: unknown;
  source?: unknown;
  backend?: unknown;
  backendReason?: unknown;
  instructionSet?: unknown;
  algorithm?: unknown;
  region?: unknown;
  control?: unknown;
  width?: unknown;
  height?: unknown;
}

export interface CameraInfo {
  K?: unknown;
  focalPixels?: unknown;
  baselineMetres?: unknown;
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A finite number, or undefined. */
export const finiteNumber = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isFinite(value) ? value : undefined;

/** A member of an object that may be none. */
export const member = (value: unknown, name: string): unknown =>
  isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;

export const nonEmptyText = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;

/** Why something is not there, where a document reports it. */
export const unavailableReason = (value: unknown): string | undefined =>
  member(value, "available") === false ? nonEmptyText(member(value, "reason")) : undefined;

/** Members that are numbers, at most `max` of them. */
export function numericEntries(value: unknown, max = 64): [string, number][] {
  if (!isRecord(value)) return [];
  const found: [string, number][] = [];
  for (const [name, one] of Object.entries(value)) {
    const number = finiteNumber(one);
    if (number !== undefined) found.push([name, number]);
    if (found.length === max) break;
  }
  return found;
}

export function listStages(metrics: Metrics | undefined): [string, Stage][] {
  const stages = metrics?.stages;
  if (!isRecord(stages)) return [];
  return Object.entries(stages)
    .slice(0, 32)
    .flatMap(([name, stage]): [string, Stage][] => {
      const [p50Ms, p95Ms, p99Ms] = ["p50Ms", "p95Ms", "p99Ms"].map((key) =>
        finiteNumber(member(stage, key)),
      );
      return p50Ms === undefined ? [] : [[name, { p50Ms, p95Ms: p95Ms ?? p50Ms, p99Ms: p99Ms ?? p50Ms }]];
    });
}

export interface Camera {
  focalX: number;
  focalY: number;
  centreX: number;
  centreY: number;
}

/** The left camera's matrix; undefined where no calibration is known. */
export function parseCamera(info: CameraInfo | undefined): Camera | undefined {
  const K = info?.K;
  if (!Array.isArray(K)) return undefined;
  const [focalX, , centreX, , focalY, centreY] = K.map(finiteNumber);
  if (!focalX || !focalY || centreX === undefined || centreY === undefined) return undefined;
  return { focalX, focalY, centreX, centreY };
}
