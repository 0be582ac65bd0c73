// SPDX-License-Identifier: Apache-2.0
// Checks the clocks: the wall clock, and the CPU's counter that a Tegra's cameras stamp images with.
import { hostClocks, loadVideo, measureCounter } from "../../../camera/index.js";
import { readWallClock, wallClockWords } from "../../clock/index.js";
import type { NativeAddon } from "../../contracts/native.js";
import type { Finding } from "./finding.js";

type Counters = Parameters<typeof hostClocks>[0];

/** @param root what "/" means; another folder in tests */
export function lookAtClocks(
  native: Pick<NativeAddon, "wallClock">,
  video: Counters = loadVideo(),
  root = "/",
): Finding {
  const wallClock = readWallClock(native, root);
  const { text, doubt } = wallClockWords(wallClock);
  const counter = measureCounter(hostClocks(video, root));
  const facts = {
    wallClock,
    counter:
      "unavailable" in counter
        ? { available: false, reason: counter.unavailable }
        : {
            source: counter.source,
            offsetMs: Number(counter.offsetNs) / 1e6,
            uncertaintyMs: counter.uncertaintyNs / 1e6,
          },
  };
  const details = [
    "unavailable" in counter
      ? `capture counter: unavailable, ${counter.unavailable}`
      : `capture counter: ${(-Number(counter.offsetNs) / 1e9).toFixed(6)} s ahead of CLOCK_MONOTONIC by ${counter.source}, known to ${(counter.uncertaintyNs / 1e3).toFixed(1)} us; captureClocks in info says which cameras use it`,
    ...wallClock.ptpClocks.map((clock) => `PTP hardware clock: ${clock}`),
  ];
  if (doubt === undefined) return { name: "clocks", state: "ok", text, details, facts };
  return { name: "clocks", state: "absent", text, hint: doubt, details, facts };
}
