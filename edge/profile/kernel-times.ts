// SPDX-License-Identifier: Apache-2.0
// Reads the times of kernels that the GPU check writes.
import { z } from "zod";
import { DepthwattError, MAX_TEXT_BYTES, readRegularFile } from "../../core/index.js";

/** Describes a result file of `bash cuda/check/check.sh`: kernels, each alone on the GPU. */
export const kernelTimesSchema = z.object({
  machine: z.string().min(1),
  commit: z.string().min(1),
  date: z.string().min(1),
  toolchain: z.string().min(1),
  rows: z
    .array(
      z.looseObject({
        kind: z.literal("measured"),
        what: z.string().min(1),
        multiprocessors: z.int().positive(),
        medianMs: z.number().positive(),
      }),
    )
    .min(1),
});
export type KernelTimes = z.infer<typeof kernelTimesSchema>;

/**
 * @param hint how to make such a file
 * @throws DepthwattError CONFIG_INVALID: not what check.sh writes
 */
export function parseKernelTimes(text: string, file: string, hint: string): KernelTimes {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new DepthwattError("CONFIG_INVALID", `${file} is no JSON: ${(error as Error).message}`, { hint });
  }
  const parsed = kernelTimesSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new DepthwattError(
    "CONFIG_INVALID",
    `${file} holds no times of kernels: ${issue!.path.join(".")}: ${issue!.message}`,
    { hint },
  );
}

/** Reads the file of a flag --kernels. @throws DepthwattError USAGE: it cannot be read; CONFIG_INVALID as above */
export function readKernelTimes(file: string, hint: string): KernelTimes {
  let text: string;
  try {
    text = readRegularFile(file, MAX_TEXT_BYTES).toString();
  } catch (error) {
    throw new DepthwattError(
      "USAGE",
      `expected --kernels to be a file that can be read: ${(error as Error).message}`,
    );
  }
  return parseKernelTimes(text, file, hint);
}
