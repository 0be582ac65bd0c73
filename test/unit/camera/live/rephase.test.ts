// SPDX-License-Identifier: Apache-2.0
// Tests the restart of free-running cameras into phase, strictly: the driver in memory stamps each image by the moment
// at which its stream really began, so that the delay of a busy machine is known to the nanosecond and can be
// subtracted.
import type { NativeOpenOptions } from "v4l2-camera/parts";
import { wrapPhase } from "v4l2-camera/parts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openV4l2Source } from "../../../../camera/index.js";
import { type FakeVideo, fakeVideo } from "../../../../camera/v4l2/test/fake-video/fake-video.js";
import { clocks, counted, now, recording, until, video } from "../../../doubles/cameras.js";
import { needs } from "../../../doubles/needs.js";

const [LEFT, RIGHT] = ["/dev/fake0", "/dev/fake1"] as const;
const PERIOD_NS = 1e9 / 30;
/** From STREAMON to the first image of the left camera. */
const LEFT_LATENCY_NS = 40e6;

let fake: FakeVideo;
let cleanups: (() => unknown)[] = [];

/** Exposes every period, counted from its own STREAMON plus what this start takes; late images keep their time. */
function freeRun(path: string, latencyNs: (start: number) => number): void {
  let starts = 0;
  let next = 0;
  const timer = setInterval(() => {
    const { streamOns, streamOnNs } = fake.state(path);
    if (streamOns !== starts) next = 0;
    starts = streamOns;
    if (starts === 0 || fake.state(LEFT).streamOns === 0) return;
    for (;;) {
      const at = BigInt(Math.round(streamOnNs + latencyNs(starts) + next * PERIOD_NS));
      if (now() < at) return;
      fake.deliver(path, { timestampNs: at, sequence: next, bytes: counted(next) });
      next++;
    }
  }, 1);
  cleanups.push(() => clearInterval(timer));
}

/** A latency of the right camera's first start that puts it so far behind the left, whenever its thread really ran. */
function latencyFor(skewNs: number): number {
  const { streamOnNs: leftOnNs } = fake.state(LEFT);
  const { streamOnNs: rightOnNs } = fake.state(RIGHT);
  const latencyNs = leftOnNs + LEFT_LATENCY_NS + skewNs - rightOnNs;
  return latencyNs + PERIOD_NS * Math.ceil((40e6 - latencyNs) / PERIOD_NS);
}

/** The requested delay of the right camera at each restart, and the start of its stream by the program's own clock. */
interface Restart {
  askedNs: number;
  /** STREAMON of the stream that is ended, as the program saw it return and as the driver was called. */
  seenOnNs: number;
  calledOnNs: number;
}

async function start(rightLatencyNs: (start: number) => number) {
  for (const path of [LEFT, RIGHT]) fake.plugIn({ path });
  const restarts: Restart[] = [];
  const listening = {
    ...video,
    open: async (options: NativeOpenOptions) => {
      const camera = await video.open(options);
      if (options.path !== RIGHT) return camera;
      const restartAt = camera.restartAt;
      camera.restartAt = (askedNs) => {
        const { streamOnNs: seenOnNs } = camera.statistics();
        restarts.push({ askedNs, seenOnNs, calledOnNs: fake.state(RIGHT).streamOnNs });
        restartAt(askedNs);
      };
      return camera;
    },
  };
  const source = await openV4l2Source(
    { left: LEFT, right: RIGHT, width: 64, height: 48, rephase: true },
    { video: listening, clocks, system: fake.system, folders: { sysfs: "/nowhere" } },
  );
  cleanups.push(() => source.stop());
  const record = recording();
  source.start(record.events);
  freeRun(LEFT, () => LEFT_LATENCY_NS);
  freeRun(RIGHT, rightLatencyNs);
  return { ...record, restarts };
}

needs("toolchain").suite("re-phasing", () => {
  beforeEach(() => {
    fake = fakeVideo();
    cleanups = [];
  });
  afterEach(async () => {
    for (const cleanup of cleanups.reverse()) await cleanup();
  });

  test("the right stream is begun where its first image meets a left one, no earlier, and then left alone", async () => {
    let latencyNs = 0;
    const { seen, warnings, restarts } = await start(() => {
      latencyNs ||= latencyFor(11e6);
      return latencyNs;
    });
    await until(() => restarts.length > 0, "a restart", 20_000);
    const { askedNs, seenOnNs, calledOnNs } = restarts[0]!;
    const leftPhaseNs = fake.state(LEFT).streamOnNs + LEFT_LATENCY_NS;
    // The program knows the start's latency by the time at which STREAMON returned to it.
    const knownLatencyNs = calledOnNs + latencyNs - seenOnNs;
    expect(Math.abs(wrapPhase(askedNs + knownLatencyNs - leftPhaseNs, PERIOD_NS))).toBeLessThan(1000);
    await until(() => fake.state(RIGHT).streamOns > 1, "the restart done", 20_000);
    expect(fake.state(RIGHT).streamOnNs).toBeGreaterThanOrEqual(askedNs);
    const goodNs = 0.08 * PERIOD_NS;
    const skewNs = () => wrapPhase(fake.state(RIGHT).streamOnNs + latencyNs - leftPhaseNs, PERIOD_NS);
    // A machine that wakes the thread late gets another attempt, at most four; one that is given up is reported.
    const settled = () => Math.abs(skewNs()) < goodNs || warnings.some((text) => /out of step/.test(text));
    await until(settled, "in phase", 30_000);
    const { streamOns, streamOnNs } = fake.state(RIGHT);
    const lateNs = streamOnNs - restarts.at(-1)!.askedNs + seenOnNs - calledOnNs;
    if (restarts.length === 1) {
      // The remainder is only the machine's delay.
      expect(Math.abs(skewNs() - lateNs)).toBeLessThan(1000);
      // On a busy machine pairs of the stream that ended may still arrive.
      const ofStream = () => seen.filter(({ rightNs }) => Number(rightNs) >= streamOnNs);
      await until(() => ofStream().length > 40, "pairs in phase", 20_000);
      for (const { leftNs, rightNs } of ofStream())
        expect(Math.abs(Number(rightNs - leftNs) - skewNs())).toBeLessThan(1000);
      expect(fake.state(RIGHT).streamOns).toBe(streamOns);
    }
    expect(fake.state(LEFT).streamOns).toBe(1);
  }, 90_000);

  test("cameras that start at another moment each time are given up after four restarts, with a warning", async () => {
    // The aim is corrected by the last miss: latencies of +0, +12, +12, +24, +24 ms miss by 12 ms every time.
    let firstNs = 0;
    const { seen, warnings, restarts } = await start((starts) => {
      firstNs ||= latencyFor(11e6);
      return firstNs + 12e6 * Math.floor(starts / 2);
    });
    const givenUp = () =>
      warnings.filter((text) => /ms out of step after several restarts.*trigger line/.test(text));
    await until(() => givenUp().length > 0, "given up", 60_000);
    expect(restarts).toHaveLength(4);
    const count = seen.length;
    await until(() => seen.length > count + 60, "pairs go on", 20_000);
    expect(restarts).toHaveLength(4);
    expect(givenUp()).toHaveLength(1);
    expect(fake.state(RIGHT).streamOns).toBe(5);
  }, 90_000);
});
