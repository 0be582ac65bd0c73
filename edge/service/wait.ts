// SPDX-License-Identifier: Apache-2.0
// A service waits for what may come automatically: a camera that is not plugged in yet, a port that somebody else still has.
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
 * Tries until it works. The unit counts as started meanwhile, so that a boot does not wait with it; its status says what for.
 * @throws whatever does not fix itself; without a service manager everything, for the person who sits there
 */
export async function whenThere<Result>(
  attempt: () => Promise<Result>,
  notifier: ServiceNotifier,
  { onWait, retryMs = RETRY_MS }: WaitOptions,
): Promise<Result> {
  let reported: string | undefined;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!notifier.active || !isDepthwattError(error) || !AWAITED.has(error.code)) throw error;
      if (error.message !== reported) onWait(error);
      reported = error.message;
      notifier.waiting(error.message);
    }
    await rest(retryMs);
  }
}
