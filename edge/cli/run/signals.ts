// SPDX-License-Identifier: Apache-2.0
// Signals that end a run, and SIGHUP, which makes a service read its configuration again.
import { constants } from "node:os";
import type { ServiceNotifier } from "../../service/notify.js";
import { END_SIGNALS } from "../output.js";
import { hasTerminal, leaveTerminal, terminalDescriptors } from "./reload.js";

/**
 * Makes the first signal end the run in order; a second one of any kind ends the process. Without a terminal, SIGHUP
 * calls `onHangup` instead.
 */
export function stopOnSignals(
  run: { stop(): void },
  notifier: ServiceNotifier,
  onHangup: () => void,
): { received: boolean; forget(): void } {
  const reloads = !hasTerminal();
  const terminals = terminalDescriptors();
  const ending = END_SIGNALS.filter((name) => name !== "SIGHUP" || !reloads);
  const stop = (signal: NodeJS.Signals) => {
    if (signals.received) process.exit(128 + constants.signals[signal]);
    signals.received = true;
    if (signal === "SIGHUP") leaveTerminal(terminals);
    notifier.stopping();
    run.stop();
  };
  const signals = {
    received: false,
    forget() {
      for (const name of ending) process.off(name, stop);
      process.off("SIGHUP", onHangup);
    },
  };
  for (const name of ending) process.on(name, stop);
  if (reloads) process.on("SIGHUP", onHangup);
  return signals;
}
