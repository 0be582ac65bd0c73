// SPDX-License-Identifier: Apache-2.0
// The trial broker on its way: its thread loads its libraries while the source and the engine are opened.
import type { DepthwattError } from "../../core/index.js";
import type { Prepared } from "../contracts/output.js";
import { startTrialBroker, type TrialBroker } from "./trial-broker.js";

export interface PreparedBroker extends Prepared {
  /** Rejects where it could not be started, as startTrialBroker does. */
  readonly started: Promise<TrialBroker>;
  /** Resolves when its thread has ended without being asked to. */
  readonly failed: Promise<DepthwattError>;
}

export function prepareBroker(): PreparedBroker {
  let fail: (error: DepthwattError) => void;
  const failed = new Promise<DepthwattError>((resolve) => (fail = resolve));
  // Starts at once, without waiting: opening the rest blocks this thread until then.
  const started = startTrialBroker({ onFailed: (error) => fail(error) });
  // Awaiting the broker reports the failure; a run that ends before has another reason.
  started.catch(() => {});
  return {
    started,
    failed,
    close: async () => {
      const broker = await started.catch(() => undefined);
      await broker?.close();
    },
  };
}
