// SPDX-License-Identifier: Apache-2.0
// Makes a service wait for what may appear automatically: a camera that is not plugged in yet, a port that is still in
// use.
import { setTimeout as rest } from "node:timers/promises";
import { type DepthwattError, type ErrorCode, isDepthwattError } from "../../core/index.js";
import type { ServiceNotifier } from "./notify.js";

const AWAITED: ReadonlySet<ErrorCode> = new Set([
  "DEVICE_UNAVAILABLE",
  "DEVICE_PERMISSION",
  "DEVICE_BUSY",
  "HTTP_UNAVAILABLE",
]);
const RETRY_MS = 2000;

export interface WaitOptions {
  /** Called once for each new reason. */
  onWait(problem: DepthwattError): void;
  retryMs?: number;
}

/**
 * Tries until it works. The unit counts as started meanwhile, so that a boot does not wait with it; its status names
 * the missing part.
 * @throws errors that do not fix themselves, or only in a new process (context.newProcessAfterMs); without a service
 *   manager all errors
 */
export async function whenThere<Result>(
  attempt: () => Promise<Result>,
  notifier: ServiceNotifier,
  { onWait, retryMs = RETRY_MS }: WaitOptions,
): Promise<Result> {
  const startedMs = performance.now();
  let reported: string | undefined;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!notifier.active || !isDepthwattError(error) || !AWAITED.has(error.code)) throw error;
      const { newProcessAfterMs = Number.POSITIVE_INFINITY } = error.context;
      if (performance.now() - startedMs >= Number(newProcessAfterMs)) throw error;
      if (error.message !== reported) onWait(error);
      reported = error.message;
      notifier.waiting(error.message);
    }
    await rest(retryMs);
  }
}
