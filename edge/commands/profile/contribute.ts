// SPDX-License-Identifier: Apache-2.0
// The file that a board owner sends in: only measured rows, without host names or anything else about the owner.
import { z } from "zod";
import { DepthwattError } from "../../../core/index.js";
import type { ContextSnapshot, Unavailable } from "../../../power/index.js";
import { type KernelTimes, kernelTimesSchema } from "../../profile/kernel-times.js";
import { isWhole, type Profile } from "../../profile/types.js";

const positive = z.number().positive();

export const contributionSchema = z.strictObject({
  format: z.literal("depthwatt-contribution/1"),
  date: z.iso.datetime(),
  version: z.string().min(1),
  board: z.string().min(1),
  l4t: z.string().nullable(),
  processor: z.string().min(1),
  gpu: z.string().nullable(),
  sensor: z.strictObject({
    name: z.string().min(1),
    /** The scope of the watts. */
    total: z.string().min(1),
    rails: z.array(z.string().min(1)).min(1),
  }),
  secondsPerPoint: z.number().min(10),
  idleWatts: z.number().nonnegative().nullable(),
  rows: z
    .array(
      z.strictObject({
        kind: z.literal("measured"),
        id: z.string().min(1),
        powerMode: z.string().nullable(),
        /** null: the kernel does not show it; absent from older contributions. */
        clocksLocked: z.boolean().nullable().optional(),
        tpcMask: z.int().nonnegative().nullable().optional(),
        emcCapMegahertz: positive.nullable().optional(),
        algorithm: z.string().min(1),
        width: z.int().positive(),
        height: z.int().positive(),
        numDisparities: z.int().positive(),
        halfResolution: z.boolean(),
        /** Absent from older contributions: full. */
        search: z.enum(["full", "coarseToFine"]).optional(),
        paths: z.literal([2, 4, 8]),
        rateHz: z.union([positive, z.literal("max")]),
        backend: z.enum(["cpu", "cuda"]),
        /** Milliseconds of each stage that ran. */
        stages: z.record(
          z.string(),
          z.strictObject({
            p50Ms: z.number().nonnegative(),
            p95Ms: z.number().nonnegative(),
            p99Ms: z.number().nonnegative(),
          }),
        ),
        fps: positive,
        watts: positive,
        /** Null: the step of the sensor is unknown. */
        wattsUncertainty: z.number().nonnegative().nullable(),
        joulesPerFrame: positive,
        /** Clocks, mode or throttle counters moved during the run. */
        conditionsChanged: z.boolean(),
        hottestCelsius: z.number().nullable(),
      }),
    )
    .min(1),
  /** Where the GPU check ran on this board: with them the model of boards (bench/model) is tested. */
  kernels: kernelTimesSchema.nullable(),
});

export type Contribution = z.infer<typeof contributionSchema>;

/** Returns a condition of a run; null where it could not be read. */
function knownValue<Key extends "clocksLocked" | "tpcMask" | "emcCapMegahertz">(
  context: ContextSnapshot | Unavailable,
  key: Key,
): Exclude<ContextSnapshot[Key], Unavailable> | null {
  const value = key in context ? (context as ContextSnapshot)[key] : null;
  return typeof value === "object" ? null : (value as Exclude<ContextSnapshot[Key], Unavailable>);
}

/**
 * @throws DepthwattError SENSOR_UNAVAILABLE when nothing was measured, CONFIG_INVALID when the runs are too short to be
 * compared with others
 */
export function createContribution(profile: Profile, kernels: KernelTimes | null = null): Contribution {
  const { provenance } = profile;
  const { sensor } = provenance;
  if ("available" in sensor) {
    throw new DepthwattError("SENSOR_UNAVAILABLE", `This profile holds no watts: ${sensor.reason}`);
  }
  const rows = profile.results.flatMap((result): Contribution["rows"] => {
    const { point, power, temperature } = result;
    const isOwnClock = point.clockHertz === undefined;
    if (!power.available || typeof power.joulesPerFrame !== "number" || !isWhole(point) || !isOwnClock)
      return [];
    const { context } = power;
    const mode = "powerMode" in context && typeof context.powerMode === "string" ? context.powerMode : null;
    return [
      {
        kind: "measured",
        id: result.id,
        powerMode: mode,
        clocksLocked: knownValue(context, "clocksLocked"),
        tpcMask: knownValue(context, "tpcMask"),
        emcCapMegahertz: knownValue(context, "emcCapMegahertz"),
        algorithm: point.algorithm,
        width: point.width,
        height: point.height,
        numDisparities: point.numDisparities,
        halfResolution: point.halfResolution ?? false,
        search: point.search ?? "full",
        paths: point.paths,
        rateHz: point.rateHz,
        backend: result.backend,
        stages: result.stages,
        fps: result.fps,
        watts: power.watts,
        wattsUncertainty: typeof power.wattsUncertainty === "number" ? power.wattsUncertainty : null,
        joulesPerFrame: power.joulesPerFrame,
        conditionsChanged: power.changed.length > 0,
        hottestCelsius: typeof temperature.endCelsius === "number" ? temperature.endCelsius : null,
      },
    ];
  });
  const parsed = contributionSchema.safeParse({
    format: "depthwatt-contribution/1",
    date: profile.date,
    version: provenance.version,
    board: provenance.board.name ?? provenance.board.title,
    l4t: provenance.l4t,
    processor: provenance.processor,
    gpu: provenance.gpu,
    sensor: { name: sensor.name, total: sensor.total, rails: sensor.rails.map((rail) => rail.label) },
    secondsPerPoint: profile.seconds,
    idleWatts: typeof profile.idleBefore === "number" ? profile.idleBefore : null,
    rows,
    kernels,
  });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new DepthwattError(
    "CONFIG_INVALID",
    `This profile cannot be sent in: ${issue!.path.join(".")}: ${issue!.message}`,
    {
      hint: "Measure at least 10 s per point, with a sensor that gives a total.",
    },
  );
}
