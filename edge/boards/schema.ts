// SPDX-License-Identifier: Apache-2.0
// Defines the schema of board-configs/*.json. Every fact names its source and whether somebody read it on a board; an
// unknown value gives the reason.
import { z } from "zod";
import { ALGORITHMS } from "../../cuda/index.js";

/**
 * read: read in the named source; excerpt: seen quoted from it; derived: computed from such values, the note says how;
 * memory: written from memory and to be checked. Only what was read counts as verified.
 */
const evidence = z.enum(["read", "excerpt", "derived", "memory"]);

const unknownValue = z.strictObject({ unknown: z.string().min(10) });

function fact<Value extends z.ZodType>(value: Value) {
  const known = z
    .strictObject({
      value,
      source: z.url(),
      evidence,
      verified: z.boolean(),
      note: z.string().min(1).optional(),
    })
    .refine((item) => item.verified === (item.evidence === "read"), {
      message: 'verified is true exactly where evidence is "read"',
    });
  return z.union([known, unknownValue]);
}

const positive = z.number().positive();
const count = z.int().positive();

const gpu = z.strictObject({
  computeCapability: fact(z.string().regex(/^\d+\.\d$/)),
  /** nvcc's architecture numbers, such as 87; "native" where the card is not known beforehand. */
  nvccArchitectures: fact(z.array(z.union([count, z.literal("native")])).min(1)),
  multiprocessors: fact(count),
  coresPerMultiprocessor: fact(count),
  maxMegahertz: fact(positive),
  l2Kilobytes: fact(count),
  sharedKilobytesPerBlock: fact(positive),
  /** True if the CPU caches pinned host memory, so that both may use it at once. */
  ioCoherent: fact(z.boolean()),
});

const memory = z.strictObject({
  busBits: fact(count),
  gigabytesPerSecond: fact(positive),
});

const software = z.strictObject({
  /** JetPack majors that support the board. */
  jetpack: fact(z.array(count).min(1)),
  cuda: fact(z.array(z.string().regex(/^\d+\.\d$/)).min(1)),
});

const rail = z.strictObject({
  label: z.string().min(1),
  /** Chip and I2C address, for people; rails are found by label. */
  device: z.string().min(1),
  measures: z.string().min(1),
});

const power = z.strictObject({
  rails: fact(z.array(rail).min(1)),
  total: fact(z.strictObject({ rails: z.array(z.string()).min(1), reason: z.string().min(1) })),
  shuntMilliohms: fact(positive),
  moduleLimitWatts: fact(positive),
});

const mode = z.strictObject({
  /** nvpmodel's name; modes are chosen by name because numbers differ between modules. */
  name: z.string().min(1),
  id: z.union([z.int().nonnegative(), unknownValue]),
  isDefault: z.boolean(),
  onlineCores: z.union([count, unknownValue]),
  gpuMegahertz: z.union([positive, unknownValue]),
  multiprocessors: z.union([count, unknownValue]),
  emcMegahertz: z.union([positive, unknownValue]),
});

const recommendation = z.strictObject({
  mode: z.string().min(1),
  /** The mode's name as a budget; the power that is really drawn must be measured. */
  budgetWatts: z.union([positive, unknownValue]),
  algorithm: z.enum(ALGORITHMS),
  width: count,
  height: count,
  numDisparities: count,
  paths: z.literal([2, 4, 8]),
  framesPerSecond: positive,
  kind: z.enum(["measured", "predicted", "published"]),
  source: z.string().min(10),
});

const text = z.string().min(1);

export const boardFileSchema = z.strictObject({
  name: z.string().regex(/^[a-z0-9][a-z0-9-]*$/),
  title: text,
  /** Entries of /proc/device-tree/compatible that name this board and no other. */
  compatible: z.array(text),
  /** How the board is distinguished from others when a carrier board brings its own compatible strings. */
  identity: z.strictObject({
    /** Module part numbers as they stand inside compatible strings, such as "p3767-0003". */
    modules: z.array(z.string().regex(/^p\d{4}(-\d{4})?(-super)?$/)),
    /** Compatible strings of the system on chip. */
    soc: z.array(text),
    /** Parts of /proc/device-tree/model. */
    models: z.array(text),
    source: z.url(),
    evidence,
    verified: z.boolean(),
  }),
  /** Settings that suit the board, below the user's own; groups and keys as in a configuration file. */
  settings: z.record(text, z.unknown()),
  gpu,
  memory,
  software,
  power,
  modes: fact(z.array(mode)),
  recommended: z.union([z.array(recommendation).min(1), unknownValue]),
});

export type BoardFile = z.infer<typeof boardFileSchema>;
export type BoardMode = z.infer<typeof mode>;
export type Recommendation = z.infer<typeof recommendation>;
export type Fact<T> =
  | {
      value: T;
      source: string;
      evidence: z.infer<typeof evidence>;
      verified: boolean;
      note?: string | undefined;
    }
  | { unknown: string };

/** The value of a fact, or undefined where it is not known. */
export function known<T>(item: Fact<T>): T | undefined {
  return "value" in item ? item.value : undefined;
}

/** A value that may be marked as unknown in place. */
export function knownNumber(item: number | { unknown: string }): number | undefined {
  return typeof item === "number" ? item : undefined;
}
