// SPDX-License-Identifier: Apache-2.0
// The order and the back-pressure of the pipeline, with a source and an engine that the test plays by hand.
import { expect, test, vi } from "vitest";
import { DepthwattError } from "../../../core/index.js";
import type { ComputedFrame, FrameSink } from "../../../edge/contracts/computed-frame.js";
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
  pipeline.stop();
  await pipeline.run();
  expect(source.events).toBeUndefined();
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
