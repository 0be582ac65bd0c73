// SPDX-License-Identifier: Apache-2.0
// Errors of others that have a code of the catalogue.
import { DepthwattError, ERROR_CATALOGUE, type ErrorCode } from "../../core/index.js";

/**
 * Returns the error with its code: errors of the addon carry one without being of our class, as do those of Node that no code
 * of ours caught. Undefined: it is a bug.
 */
export function codedError(error: unknown): DepthwattError | undefined {
  if (error instanceof DepthwattError) return error;
  if (!(error instanceof Error)) return undefined;
  const { code } = error as { code?: unknown };
  if (code === "EMFILE" || code === "ENFILE")
    return new DepthwattError("FILES_EXHAUSTED", `cannot open another file: ${error.message}`, {
      cause: error,
    });
  if (typeof code !== "string" || !Object.hasOwn(ERROR_CATALOGUE, code)) return undefined;
  return new DepthwattError(code as ErrorCode, error.message, { cause: error });
}
