// SPDX-License-Identifier: Apache-2.0
// The one error class: a code from the catalogue, a message with what was expected and what came, a hint.
import { ERROR_CATALOGUE, type ErrorCode } from "./error-catalogue.js";

export type { ErrorCode } from "./error-catalogue.js";

/** Describes an error, in words and in data. Nothing in depthwatt decides by message text: decide by `code`. */
export interface ErrorDetails {
  /** The advice, in one sentence. Defaults to the catalogue's hint. */
  hint?: string;
  cause?: unknown;
  /** Machine-readable facts: file, key, expected, found. */
  context?: Record<string, unknown>;
}

/**
 * Every error that depthwatt raises on purpose. `message` says what was expected and what came; `hint` says what to do;
 * `exitCode` is what the command line exits with; `retryable` says whether trying again can help.
 */
export class DepthwattError extends Error {
  readonly code: ErrorCode;
  readonly hint: string;
  readonly context: Record<string, unknown>;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = "DepthwattError";
    this.code = code;
    this.hint = details.hint ?? ERROR_CATALOGUE[code].hint;
    this.context = details.context ?? {};
  }

  get exitCode(): number {
    return ERROR_CATALOGUE[this.code].exitCode;
  }

  get retryable(): boolean {
    return ERROR_CATALOGUE[this.code].retryable;
  }
}

export function isDepthwattError(error: unknown): error is DepthwattError {
  return error instanceof DepthwattError;
}

/** True when `error` carries this code, whether it was made here or came from Node (`ENOENT`) or the addon. */
export function hasCode(error: unknown, code: string): boolean {
  return typeof error === "object" && error !== null && (error as { code?: unknown }).code === code;
}
