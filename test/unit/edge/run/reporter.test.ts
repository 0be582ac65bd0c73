// SPDX-License-Identifier: Apache-2.0
// The figures of a run in its border cases: before the first frame, next to a further camera, with an unmeasured search.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { STAGE_NAMES } from "../../../../cuda/index.js";
import { Reporter, type ReporterOptions } from "../../../../edge/run/reporter.js";
import { ENGINE_INFO } from "../../../doubles/figures.js";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const NO_BUCKETS = { buckets: { bounds: [1, 2], perUnit: 1 }, cumulative: [3, 4], count: 5, sum: 6 };
const TIMES = { p50: 1.23456, p95: 2.0004, p99: 3.0005 };

/** A reporter over plain counts. */
function bench() {
  const asked: unknown[] = [];
  const counts = { snapshot: () => NO_BUCKETS, counts: () => NO_BUCKETS };
  const times = (count: number) => ({
    count,
    percentiles: () => (count > 0 ? { ...TIMES } : undefined),
    counts: () => ({ ...NO_BUCKETS, count }),
  });
  const pipeline = {
    frames: 0,
    askedPixels: 0,
    validPixels: 0,
    matchedPixels: 0,
    droppedPixels: { filled: 0, lowConfidence: 0, tooNear: 0, tooFar: 0 },
    stageTimes: [times(0), times(1), times(2)],
    latency: { ...counts, percentiles: () => TIMES },
    energy: counts,
    skew: counts,
    rate: { perSecond: () => 12.34567 },
    drops: { snapshot: () => ({ engineBusy: 1 }) },
  };
  const source: Record<string, unknown> = { pairs: 0, dropsLeft: {}, dropsRight: {} };
  const engineOptions = {
    width: 100,
    height: 20,
    match: { algorithm: "sgm", halfResolution: false, numDisparities: 64 },
    region: undefined as { width: number; height: number } | undefined,
  };
  const latency: { current: unknown } = { current: "none" };
  const changed = { search: false };
  const duty: { figures: object } = { figures: { available: false, reason: "no cycle" } };
  const governor: { figures: object | undefined } = { figures: undefined };
  const reporter = new Reporter({
    pipeline,
    source: { counters: () => source },
    outputs: {
      figures: () => ({ outputs: {}, drops: { "mqtt.late": 2 } }),
      totals: () => ({ outputs: {}, drops: { "mqtt.late": 2 } }),
      latency: () => latency.current,
    },
    meter: {
      sinceStart: (perFrame: number | undefined) => asked.push(["run", perFrame]),
      recent: (seconds: number, perFrame: number | undefined) => asked.push([seconds, perFrame]),
    },
    engine: { info: ENGINE_INFO },
    governor: () => (governor.figures === undefined ? undefined : { figures: governor.figures }),
    duty,
    health: () => ({ available: false, reason: "off" }),
    matching: { atRangeEndPercent: 7 },
    options: () => engineOptions,
    searchChanged: () => changed.search,
  } as unknown as ReporterOptions);
  return { reporter, pipeline, source, engineOptions, latency, changed, duty, governor, asked };
}

const none = (reason: string) => ({ available: false, reason });

test("before the first frame shares are unavailable, not 0", () => {
  const { reporter, latency } = bench();
  latency.current = undefined;
  vi.advanceTimersByTime(500);
  reporter.begin();
  vi.advanceTimersByTime(2000);
  const figures = reporter.figures("run");
  const noFrame = none("no frame has been computed yet");
  expect(figures).toMatchObject({
    frames: 0,
    seconds: 2,
    fps: 0,
    validPercent: noFrame,
    matchedPercent: noFrame,
    droppedPercent: noFrame,
    atRangeEndPercent: 7,
    latencyMs: none("no frame has left yet"),
    governor: none("neither power.budgetWatts nor power.minFps is set"),
    dutyCycle: none("no cycle"),
  });
  expect(figures.pairing).toEqual({
    skewMsMean: none("no pair has arrived yet"),
    skewMsP99: none("no pair has arrived yet"),
    skewMsHistogram: { upToMs: [1, 2], pairs: [3, 4], allPairs: 5 },
    driftPpm: none("needs two free-running cameras and some seconds of frames"),
    unmatchedLeft: 0,
    unmatchedRight: 0,
    other: none("the source has no further camera"),
  });
});

test("shares of the first frame, rounded to three decimals; stages that ran", () => {
  const { reporter, pipeline, governor, duty } = bench();
  vi.advanceTimersByTime(3000);
  Object.assign(pipeline, { frames: 1, askedPixels: 3000, validPixels: 2000, matchedPixels: 1000 });
  pipeline.droppedPixels = { filled: 100, lowConfidence: 0, tooNear: 3000, tooFar: 1 };
  governor.figures = { available: true, level: 1 };
  duty.figures = { available: true, asleepSeconds: 1.23456, state: "awake" };
  const run = reporter.figures("run");
  const rounded = { p50: 1.235, p95: 2, p99: 3.001 };
  const stage = { p50Ms: 1.235, p95Ms: 2, p99Ms: 3.001 };
  expect(run).toMatchObject({
    frames: 1,
    seconds: 3,
    fps: 0.333,
    validPercent: 66.667,
    matchedPercent: 33.333,
    droppedPercent: { filled: 3.333, lowConfidence: 0, tooNear: 100, tooFar: 0.033 },
    latencyMs: rounded,
    governor: { available: true, level: 1 },
    dutyCycle: { available: true, asleepSeconds: 1.235, state: "awake" },
  });
  expect(run.stages).toEqual({ [STAGE_NAMES[1]!]: stage, [STAGE_NAMES[2]!]: stage });
  expect(reporter.figures("recent").fps).toBe(12.346);
  expect(Object.entries(reporter.totals().stages).map(([name, { count }]) => [name, count])).toEqual([
    [STAGE_NAMES[1], 1],
    [STAGE_NAMES[2], 2],
  ]);
  // The original of the pipeline stays as it is.
  expect(TIMES.p50).toBe(1.23456);
});

test("losses by camera, and the further camera's", () => {
  const { reporter, source } = bench();
  Object.assign(source, {
    dropsLeft: { unmatched: 2, driver: 1 },
    dropsRight: { unmatched: 3 },
    other: { pairs: 9, missed: { late: 1 }, offsetNs: undefined, drops: { driver: 4 } },
  });
  const drops = {
    engineBusy: 1,
    "left.unmatched": 2,
    "left.driver": 1,
    "right.unmatched": 3,
    "other.driver": 4,
    "mqtt.late": 2,
  };
  const figures = reporter.figures("run");
  expect([figures.drops, reporter.totals().drops]).toEqual([drops, drops]);
  expect(figures.pairing).toMatchObject({ unmatchedLeft: 2, unmatchedRight: 3 });
  expect(figures.pairing.other).toEqual({
    pairs: 9,
    missed: { late: 1 },
    offsetNs: none("no pair has had its image yet"),
    problem: null,
  });
  const problem = { code: "DEVICE_UNAVAILABLE", reason: "unplugged" };
  Object.assign(source, { other: { pairs: 0, missed: {}, offsetNs: 0, problem } });
  expect(reporter.figures("run").pairing.other).toEqual({ pairs: 0, missed: {}, offsetNs: 0, problem });
});

test("the meter is given a frame's work: of the region, and none once the search has changed", () => {
  const { reporter, engineOptions, changed, asked } = bench();
  reporter.figures("run");
  reporter.figures("recent");
  engineOptions.region = { width: 50, height: 10 };
  reporter.totals();
  changed.search = true;
  reporter.figures("recent");
  expect(asked).toEqual([
    ["run", 0.128],
    [5, 0.128],
    ["run", 0.032],
    [5, undefined],
  ]);
});

test("a run that is over keeps its figures but for the newest accounts of its frames", () => {
  const { reporter, latency, pipeline } = bench();
  const before = { ...reporter.figures("run"), seconds: 77 };
  latency.current = { p50: 4, p95: 5, p99: 6.00049 };
  pipeline.drops = { snapshot: () => ({ engineBusy: 2 }) };
  expect(reporter.settled(before)).toEqual({
    ...before,
    latencyMs: { p50: 4, p95: 5, p99: 6 },
    drops: { engineBusy: 2, "mqtt.late": 2 },
  });
});
