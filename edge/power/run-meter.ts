// SPDX-License-Identifier: Apache-2.0
// The meter as a run uses it: its own, or that of a board which several rigs share.
import type { Meter } from "../../power/index.js";

export type RunMeter = Pick<
  Meter,
  "sensor" | "start" | "measureIdle" | "restart" | "frame" | "sinceStart" | "recent" | "report" | "sample"
>;

/**
 * Returns a board's meter as one of its rigs uses it. Watts and joules are the board's; per frame they are divided among the
 * frames of all rigs, so that no joule counts twice. The owner of the meter starts it.
 */
export function shareMeter(meter: Meter): RunMeter {
  return {
    get sensor() {
      return meter.sensor;
    },
    start() {},
    restart() {},
    measureIdle: async () => meter.idleWatts,
    // Captures of several rigs come in no order; the moments at which frames are finished do.
    frame: () => meter.frame(process.hrtime.bigint()),
    // The frames of other rigs search other ranges.
    sinceStart: () => meter.sinceStart(),
    recent: (seconds) => meter.recent(seconds),
    report: ({ fromNs, toNs }) => meter.report({ ...(fromNs && { fromNs }), ...(toNs && { toNs }) }),
    sample: () => meter.sample(),
  };
}
