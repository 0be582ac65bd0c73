// SPDX-License-Identifier: Apache-2.0
// The order and the back-pressure of the pipeline, with a source and an engine that the test plays by hand.
import { expect, test, vi } from "vitest";
import { DepthwattError } from "../../../core/index.js";
import type { ComputedFrame, FrameSink } from "../../../edge/contracts/computed-frame.js";
import { CountsByCause } from "../../../edge/contracts/statistics.js";
import { Pipeline } from "../../../edge/pipeline/pipeline.js";
import { HandEngine, HandSource } from "../../doubles/pipeline.js";

function start(options: { slots?: number; frames?: number; sinks?: FrameSink[] } = {}) {
  const source = new HandSource();
  const engine = new HandEngine(options.slots ?? 3);
  const computed: number[] = [];
  const pipeline = new Pipeline({
    source,
    engine,
    width: 4,
    height: 2,
    sinks: options.sinks ?? [],
    ...(options.frames === undefined ? {} : { frames: options.frames }),
    onFrame: (frame) => computed.push(frame.leftSequence),
  });
  const ended = pipeline.run();
  ended.catch(() => {});
  return { source, engine, computed, pipeline, ended };
}

test("the newest pair wins while the engine is busy, and each pair that lost is counted", () => {
  const { source, engine, computed, pipeline } = start();
  for (let i = 0; i < 4; ++i) source.deliver();
  expect(engine.pending).toHaveLength(1);
  expect(source.released).toEqual([1, 2]);
  engine.finish();
  engine.finish();
  expect(computed).toEqual([0, 3]);
  expect(source.released).toEqual([1, 2, 0, 3]);
  expect(pipeline.drops.snapshot()).toEqual({ engineBusy: 2 });
});

test("a pair goes back to its source exactly once, in every outcome", async () => {
  const { source, engine, pipeline, ended } = start();
  for (let i = 0; i < 5; ++i) source.deliver();
  pipeline.stop();
  source.deliver();
  while (engine.pending.length > 0) engine.finish();
  await ended;
  expect([...source.released].sort()).toEqual([0, 1, 2, 3, 4, 5]);
  expect(source.stopped).toBe(true);
});

test("stopped before it runs, it ends at once and never starts its source", async () => {
  const source = new HandSource();
  const pipeline = new Pipeline({ source, engine: new HandEngine(3), width: 4, height: 2, sinks: [] });
  vi.useFakeTimers();
  try {
    pipeline.stop();
    await pipeline.run();
    expect([source.events, vi.getTimerCount()]).toEqual([undefined, 0]);
  } finally {
    vi.useRealTimers();
  }
});

test("a slot that a sink holds is not computed into; the frame waits and a newer one replaces it", () => {
  const held: (() => void)[] = [];
  const { source, engine, computed, pipeline } = start({
    slots: 2,
    sinks: [(_, release) => held.push(release)],
  });
  source.deliver();
  engine.finish();
  source.deliver();
  engine.finish();
  source.deliver();
  source.deliver();
  expect(engine.pending).toHaveLength(0);
  expect(pipeline.drops.snapshot()).toEqual({ engineBusy: 1 });
  held.shift()?.();
  expect(engine.pending).toHaveLength(1);
  engine.finish();
  expect(computed).toEqual([0, 1, 3]);
});

test("every sink gets every frame, and the slot is free when the last has released it", () => {
  const releases: (() => void)[] = [];
  const seen: number[][] = [[], []];
  const sink =
    (which: number): FrameSink =>
    (frame: ComputedFrame, release) => {
      seen[which]?.push(frame.leftSequence);
      releases.push(release);
    };
  const { source, engine } = start({ slots: 2, sinks: [sink(0), sink(1)] });
  for (let i = 0; i < 2; ++i) {
    source.deliver();
    engine.finish();
  }
  expect(seen).toEqual([
    [0, 1],
    [0, 1],
  ]);
  source.deliver();
  expect(engine.pending).toHaveLength(0);
  releases[0]?.();
  expect(engine.pending).toHaveLength(0);
  releases[1]?.();
  expect(engine.pending).toHaveLength(1);
});

test("nothing is submitted before every sink has been offered the frame, even where one frees a slot meanwhile", () => {
  const held: (() => void)[] = [];
  const pendingAtSecond: number[] = [];
  const { source, engine } = start({
    slots: 2,
    sinks: [
      (_, release) => {
        held.push(release);
        if (held.length > 1) held.shift()!();
      },
      (_, release) => {
        pendingAtSecond.push(engine.pending.length);
        release();
      },
    ],
  });
  source.deliver();
  engine.finish();
  source.deliver();
  source.deliver();
  engine.finish();
  expect(pendingAtSecond).toEqual([0, 0]);
  expect(engine.pending).toHaveLength(1);
});

test("the frame limit ends the run after exactly that many frames", async () => {
  const { source, engine, computed, ended } = start({ frames: 2 });
  source.deliver();
  source.deliver();
  engine.finish();
  source.deliver();
  engine.finish();
  await ended;
  expect(computed).toEqual([0, 1]);
  expect([...source.released].sort()).toEqual([0, 1, 2]);
});

test("the source is stopped when no frame is in work or waits any more", async () => {
  const { source, engine, pipeline, ended } = start();
  source.deliver();
  source.deliver();
  pipeline.stop();
  const stopped = [source.stopped];
  for (let i = 0; i < 2; i++) {
    engine.finish();
    stopped.push(source.stopped);
  }
  expect(stopped).toEqual([false, false, true]);
  await ended;
});

test("the end of the source lets the last pair through", async () => {
  const { source, engine, computed, ended } = start();
  source.deliver();
  source.deliver();
  source.events?.onEnd();
  engine.finish();
  engine.finish();
  await ended;
  expect(computed).toEqual([0, 1]);
});

test("a sink that never lets go holds up the end by two seconds at most", async () => {
  vi.useFakeTimers();
  try {
    const { source, engine, pipeline, ended } = start({ slots: 2, sinks: [() => {}] });
    for (let i = 0; i < 3; ++i) {
      source.deliver();
      if (engine.pending.length > 0) engine.finish();
    }
    let over = false;
    ended.then(() => {
      over = true;
    });
    pipeline.stop();
    await vi.advanceTimersByTimeAsync(1900);
    expect(over).toBe(false);
    await vi.advanceTimersByTimeAsync(200);
    expect(over).toBe(true);
    expect(pipeline.drops.snapshot()).toEqual({ notSent: 1 });
    expect([...source.released].sort()).toEqual([0, 1, 2]);
  } finally {
    vi.useRealTimers();
  }
});

test("a failing engine ends the run with its error, and the source is stopped", async () => {
  const { source, engine, ended, pipeline } = start();
  source.deliver();
  source.deliver();
  engine.finish(new DepthwattError("ENGINE_FAILED", "the device was lost"));
  await expect(ended).rejects.toMatchObject({ code: "ENGINE_FAILED" });
  expect(source.stopped).toBe(true);
  expect(pipeline.drops.snapshot()).toEqual({ engineFailed: 1, notSent: 1 });
  expect([...source.released].sort()).toEqual([0, 1]);
});

test("a pair that the engine refuses is counted, and ends the run", async () => {
  const { source, engine, ended, pipeline } = start();
  engine.submit = () => {
    throw new DepthwattError("ENGINE_FAILED", "the engine is closed");
  };
  source.deliver();
  await expect(ended).rejects.toMatchObject({ code: "ENGINE_FAILED" });
  expect(pipeline.drops.snapshot()).toEqual({ engineFailed: 1 });
  expect(source.released).toHaveLength(1);
  expect(pipeline.inWork).toBe(0);
});

test("a failing source ends the run with its error", async () => {
  const { source, ended } = start();
  source.events?.onError(new DepthwattError("SOURCE_UNREADABLE", "the folder is gone"));
  await expect(ended).rejects.toMatchObject({ code: "SOURCE_UNREADABLE" });
  expect(source.stopped).toBe(true);
});

test("an engine that takes two frames gets the second when one is there, and the newest waits behind both", () => {
  const { source, engine, computed, pipeline } = start({ slots: 4 });
  engine.framesInFlight = 2;
  source.deliver();
  expect(engine.pending).toHaveLength(1);
  for (let i = 0; i < 4; ++i) source.deliver();
  expect(engine.pending).toHaveLength(2);
  expect(source.released).toEqual([2, 3]);
  for (let i = 0; i < 3; ++i) engine.finish();
  expect(computed).toEqual([0, 1, 4]);
  expect(pipeline.drops.snapshot()).toEqual({ engineBusy: 2 });
});

test("two frames in work do not pass the frame limit", async () => {
  const { source, engine, computed, ended } = start({ slots: 4, frames: 3 });
  engine.framesInFlight = 2;
  for (let i = 0; i < 3; ++i) source.deliver();
  engine.finish();
  expect(engine.pending).toHaveLength(2);
  source.deliver();
  expect(engine.pending).toHaveLength(2);
  engine.finish();
  engine.finish();
  await ended;
  expect(computed).toEqual([0, 1, 2]);
  expect([...source.released].sort()).toEqual([0, 1, 2, 3]);
});

test("a frame that is lost with its backend is counted and replaced, and the run continues with the others", async () => {
  const reasons: string[] = [];
  const source = new HandSource();
  const engine = new HandEngine(4);
  engine.framesInFlight = 2;
  const computed: number[] = [];
  const pipeline = new Pipeline({
    source,
    engine,
    width: 4,
    height: 2,
    sinks: [],
    frames: 3,
    onFrame: (frame) => computed.push(frame.leftSequence),
    onBackendLost: (reason) => reasons.push(reason),
  });
  const ended = pipeline.run();
  for (let i = 0; i < 3; ++i) source.deliver();
  engine.framesInFlight = 1; // the CPU, from now on
  engine.finish(new DepthwattError("FRAME_LOST", "CUDA failed: a test"));
  expect(engine.pending).toHaveLength(1);
  engine.finish(new DepthwattError("FRAME_LOST", "CUDA failed: a test"));
  expect(engine.pending).toHaveLength(1);
  engine.finish();
  for (let i = 0; i < 2; ++i) {
    source.deliver();
    engine.finish();
  }
  await ended;
  expect(computed).toEqual([2, 3, 4]);
  expect(reasons).toEqual(["CUDA failed: a test", "CUDA failed: a test"]);
  expect(pipeline.drops.snapshot()).toEqual({ backendLost: 2 });
  expect([...source.released].sort()).toEqual([0, 1, 2, 3, 4]);
});

test("a pair follows the one before unless time goes back, pauses for more than a second, or the source changes", () => {
  const { source, engine, pipeline } = start();
  const second = 1_000_000_000n;
  const deliver = (timestampNs: bigint) => {
    source.deliver(timestampNs);
    engine.finish();
  };
  for (const at of [
    5n * second,
    5n * second + 1n,
    6n * second + 1n,
    7n * second + 2n,
    2n * second,
    2n * second,
  ])
    deliver(at);
  expect(engine.follows).toEqual([false, true, true, false, false, false]);
  source.deliver(2n * second + 5n);
  source.deliver(2n * second + 6n);
  pipeline.discardWaiting();
  engine.finish();
  deliver(2n * second + 7n);
  expect(engine.follows.slice(6)).toEqual([true, false]);
});

test("a frame is handed on with all that is known of it, and every figure of a run is the sum over its frames", async () => {
  const source = new HandSource();
  const engine = new HandEngine(3);
  engine.stageMilliseconds.fill(Number.NaN);
  engine.stageMilliseconds[1] = 5;
  const [frames, offered, notes]: [ComputedFrame[], ComputedFrame[], unknown[]] = [[], [], []];
  const encodings = { leftRgb: true } as never;
  const pipeline = new Pipeline({
    source,
    engine,
    width: 4,
    height: 2,
    sinks: [
      (frame, release) => {
        offered.push({ ...frame });
        release();
      },
    ],
    computed: () => ({ encodings, width: 3, height: 1, askedPixels: 5 }),
    onFrame: (frame) => {
      frame.energy = { available: true, joules: 0.25, joulesUncertainty: 0.01, seconds: 1, ageMs: 1 };
      frames.push(frame);
    },
    onDegraded: (...words) => notes.push(words),
    onWarning: (...words) => notes.push(words),
  });
  void pipeline.run();
  source.events!.onWarning!("dark");
  source.events!.onDegraded("left is away", "DEVICE_UNAVAILABLE");
  source.events!.onDegraded(undefined);
  expect(notes).toEqual([["dark"], ["left is away", "DEVICE_UNAVAILABLE"], [undefined, undefined]]);
  const began = process.hrtime.bigint();
  const image = { data: new Uint8Array(8), width: 4, height: 2, strideBytes: 4, format: "GREY" } as const;
  const pairs = [0, 1].map((number) => ({
    // Captured 3 ms and 5 ms apart, the right image first in the second pair.
    left: { ...image, timestampNs: BigInt(1000 + number), sequence: 10 + number },
    right: { ...image, timestampNs: number === 0 ? 3_001_000n : -4_998_999n, sequence: 20 + number },
    other: { ...image, timestampNs: 7n, sequence: 30 + number },
    clock: "file" as const,
    timestampPoint: "exposureStart" as never,
    release: () => void source.released.push(number),
  }));
  for (const pair of pairs) {
    source.events!.onPair(pair);
    engine.finish();
  }
  const { arrivedNs } = offered[0]!;
  expect(arrivedNs >= began && arrivedNs <= process.hrtime.bigint()).toBe(true);
  expect(offered[0]).toEqual({
    slot: engine.slots[0],
    result: {
      slot: 0,
      encodedDepthBytes: 0,
      encodedDisparityBytes: 0,
      validPixels: 8,
      matchedPixels: 6,
      droppedPixels: { filled: 1, lowConfidence: 0, tooNear: 0, tooFar: 0 },
    },
    encodings,
    width: 3,
    height: 1,
    clock: "file",
    timestampPoint: "exposureStart",
    leftTimestampNs: 1000n,
    rightTimestampNs: 3_001_000n,
    leftSequence: 10,
    rightSequence: 20,
    other: { timestampNs: 7n, sequence: 30 },
    images: pairs[0],
    arrivedNs,
    energy: { available: true, joules: 0.25, joulesUncertainty: 0.01, seconds: 1, ageMs: 1 },
  });
  expect([source.stopped, pipeline.inWork]).toEqual([false, 0]);
  // The images are their source's again.
  expect([frames.map(({ images }) => images), source.released]).toEqual([
    [undefined, undefined],
    [0, 1],
  ]);
  const { validPixels, matchedPixels, droppedPixels, askedPixels } = pipeline;
  expect({ frames: pipeline.frames, validPixels, matchedPixels, droppedPixels, askedPixels }).toEqual({
    frames: 2,
    validPixels: 16,
    matchedPixels: 12,
    droppedPixels: { filled: 2, lowConfidence: 0, tooNear: 0, tooFar: 0 },
    askedPixels: 10,
  });
  // Only the second stage has run.
  expect(pipeline.stageTimes.map(({ count }) => count)).toEqual(
    pipeline.stageTimes.map((_, i) => (i === 1 ? 2 : 0)),
  );
  expect(pipeline.latency.count).toBe(2);
  expect(pipeline.rate.perSecond(performance.now())).toBeGreaterThan(0);
  expect(pipeline.energy.snapshot()).toMatchObject({ count: 2, sum: 0.5 });
  expect(pipeline.skew.snapshot()).toMatchObject({ count: 2, sum: 3 + 5 });
});

test("without more said, frames are whole images without encodings", () => {
  const { source, engine, pipeline } = start();
  source.deliver();
  engine.finish();
  expect([pipeline.askedPixels, pipeline.drops.snapshot()]).toEqual([8, {}]);
});

test("a change may be made where no frame is in work, a pair waits, and it can be computed", () => {
  const source = new HandSource();
  const engine = new HandEngine(4);
  engine.framesInFlight = 2;
  const rests: number[] = [];
  const drops = new CountsByCause();
  const pipeline: Pipeline = new Pipeline({
    source,
    engine,
    width: 4,
    height: 2,
    sinks: [],
    frames: 3,
    drops,
    onRest: () => rests.push(pipeline.inWork),
  });
  void pipeline.run();
  expect([rests, pipeline.inWork]).toEqual([[], 0]);
  source.deliver();
  expect([rests, pipeline.inWork]).toEqual([[1], 1]);
  for (let i = 0; i < 3; i++) source.deliver();
  expect([rests, pipeline.inWork, engine.pending.length]).toEqual([[1], 3, 2]);
  engine.finish();
  engine.finish();
  expect([rests, pipeline.inWork, engine.pending.length]).toEqual([[1], 1, 1]);
  source.deliver();
  pipeline.discardWaiting("dutyCycle");
  expect([drops.snapshot(), pipeline.inWork]).toEqual([{ engineBusy: 1, dutyCycle: 1 }, 1]);
  pipeline.discardWaiting();
  engine.finish();
  // The limit of three frames is reached.
  source.deliver();
  expect([rests, drops.snapshot(), pipeline.frames]).toEqual([[1], { engineBusy: 1, dutyCycle: 1 }, 3]);
});
