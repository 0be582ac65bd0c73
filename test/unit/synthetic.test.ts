// SPDX-License-Identifier: Apache-2.0
// Tests the synthetic source: pace, backpressure, counted drops, and that memory is allocated once.
import { readdirSync } from "node:fs";
import { afterEach, describe, expect, test, vi } from "vitest";
import {
  type FramePair,
  readFrameIndex,
  SceneRenderer,
  type SyntheticOptions,
  SyntheticSource,
  sceneView,
} from "../../camera/index.js";
import { loadNative } from "../../edge/contracts/native.js";

const SIZE = { width: 160, height: 120 };

function open(options: Partial<SyntheticOptions>): SyntheticSource {
  return new SyntheticSource(loadNative(), { ...SIZE, rateHz: "max", ...options });
}

/** Starts and resolves at the end; `onPair` owns each pair. */
function run(source: SyntheticSource, onPair: (pair: FramePair) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    source.start({ onPair, onDegraded() {}, onEnd: resolve, onError: reject });
  });
}

const rest = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe("as fast as pairs come back", () => {
  test("every frame in order, each with its number in its pixels, then the end", async () => {
    const source = open({ frames: 40, width: 320, height: 240 });
    const sequences: number[] = [];
    const stamps: bigint[] = [];
    await run(source, (pair) => {
      expect(readFrameIndex(pair.left)).toBe(pair.left.sequence);
      expect(readFrameIndex(pair.right)).toBe(pair.right.sequence);
      expect(pair.right.timestampNs).toBe(pair.left.timestampNs);
      sequences.push(pair.left.sequence);
      stamps.push(pair.left.timestampNs);
      pair.release();
    });
    expect(sequences).toEqual(Array.from({ length: 40 }, (_, i) => i));
    expect(stamps.every((stamp, i) => i === 0 || stamp > stamps[i - 1]!)).toBe(true);
    // CLOCK_MONOTONIC, now.
    const age = Number(loadNative().clocks().monotonicNs - stamps[39]!) / 1e9;
    expect(age).toBeGreaterThan(0);
    expect(age).toBeLessThan(120);
    expect(source.counters()).toMatchObject({ pairs: 40, dropsLeft: {}, dropsRight: {}, skewMsMean: 0 });
    await source.stop();
  });

  test("never more than two pairs out, nothing dropped, buffers used again", async () => {
    const source = open({ frames: 30 });
    const held: FramePair[] = [];
    const memory = new Set<ArrayBufferLike>();
    let max = 0;
    await run(source, (pair) => {
      memory.add(pair.left.data.buffer);
      held.push(pair);
      max = Math.max(max, held.length);
      // Until two are out none comes back, and then for a while nothing more may come.
      if (held.length === 2) setTimeout(() => held.shift()?.release(), 2);
    });
    for (const pair of held.splice(0)) pair.release();
    await source.stop();
    expect(max).toBe(2);
    expect(memory.size).toBe(3);
    expect(source.counters().dropsLeft).toEqual({});
  });

  test("a held pair is not drawn over", async () => {
    const source = open({ frames: 20 });
    let first: FramePair | undefined;
    let copy: Uint8Array | undefined;
    await run(source, (pair) => {
      if (first) return pair.release();
      first = pair;
      copy = pair.left.data.slice();
    });
    expect(Buffer.compare(first!.left.data, copy!)).toBe(0);
    first!.release();
    expect(() => first!.release()).toThrow(/released twice/);
    await source.stop();
  });
});

describe("at a rate", () => {
  test("pairs come at their moments", async () => {
    const source = open({ frames: 21, rateHz: 50 });
    const stamps: bigint[] = [];
    await run(source, (pair) => {
      stamps.push(pair.left.timestampNs);
      pair.release();
    });
    await source.stop();
    // 21 pairs are 20 intervals of 20 ms; a loaded machine may be late, never early.
    const seconds = Number(stamps[20]! - stamps[0]!) / 1e9;
    expect(seconds).toBeGreaterThan(0.395);
    expect(source.description).toMatchObject({ rateHz: 50, clock: "monotonic", leftStrideBytes: 160 });
  });

  test("a consumer whose hands are full loses frames: counted, and missing from the sequence", async () => {
    const source = open({ rateHz: 200, frames: 12 });
    const sequences: number[] = [];
    await run(source, (pair) => {
      sequences.push(pair.left.sequence);
      setTimeout(() => pair.release(), 60);
    });
    const { dropsLeft, dropsRight } = source.counters();
    await source.stop();
    expect(dropsLeft.noFreeBuffer).toBeGreaterThan(0);
    expect(dropsRight).toEqual(dropsLeft);
    const lost = sequences.at(-1)! + 1 - sequences.length;
    expect(Object.values(dropsLeft).reduce((a, b) => a + b, 0)).toBe(lost);
    expect(sequences.every((n, i) => i === 0 || n > sequences[i - 1]!)).toBe(true);
  });

  test("a rate that cannot be drawn: frames whose moment passed are counted as late", async () => {
    const source = open({ rateHz: 100_000, frames: 20, width: 320, height: 240 });
    const sequences: number[] = [];
    await run(source, (pair) => {
      sequences.push(pair.left.sequence);
      pair.release();
    });
    const { dropsLeft } = source.counters();
    await source.stop();
    expect(sequences.length).toBe(20);
    expect(dropsLeft.late).toBe(sequences.at(-1)! + 1 - 20);
    expect(dropsLeft.late).toBeGreaterThan(20);
  });
});

describe("when the next picture is drawn", () => {
  afterEach(() => void vi.useRealTimers());

  /** A scene that draws on request, and notes when it was asked. */
  function slowScene(options: Partial<SyntheticOptions>) {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    vi.advanceTimersByTime(1000);
    const asked: number[] = [];
    let drawn = () => {};
    class Scene {
      readonly buffers = Array.from({ length: 4 }, () => ({
        left: new Uint8Array(1),
        right: new Uint8Array(1),
      }));
      constructor(
        _: object,
        readonly tell: (error: Error | null, buffer: number) => void,
      ) {}
      render(buffer: number): void {
        asked.push(performance.now());
        drawn = () => this.tell(null, buffer);
      }
      close(): void {}
    }
    const source = new SyntheticSource({ Scene } as never, { ...SIZE, rateHz: 10, ...options });
    const pairs: FramePair[] = [];
    source.start({ onPair: (pair) => pairs.push(pair), onDegraded() {}, onEnd() {}, onError() {} });
    const begin = performance.now();
    return { source, pairs, asked: () => asked.map((at) => at - begin), draw: () => drawn() };
  }

  test("at a rate: as soon as the pair before has come back", () => {
    const { pairs, asked, draw } = slowScene({});
    draw();
    expect(pairs.length).toBe(1);
    vi.advanceTimersByTime(20);
    expect(asked()).toEqual([0]);
    pairs[0]!.release();
    expect(asked()).toEqual([0, 20]);
    draw();
    vi.advanceTimersByTime(79);
    expect(pairs.length).toBe(1);
    vi.advanceTimersByTime(1);
    expect(pairs.length).toBe(2);
  });

  test("at a rate: when half of the time to its moment has passed, though the pair is still out", () => {
    const { asked, draw } = slowScene({});
    draw();
    vi.advanceTimersByTime(49);
    expect(asked()).toEqual([0]);
    vi.advanceTimersByTime(1);
    expect(asked()).toEqual([0, 50]);
  });

  test("at a rate: so early that a picture as slow as the last one is there in time", () => {
    const { asked, draw } = slowScene({});
    draw();
    vi.advanceTimersByTime(50);
    vi.advanceTimersByTime(30);
    draw(); // it took 30 ms, so 60 are left for the next one
    vi.advanceTimersByTime(20);
    vi.advanceTimersByTime(39);
    expect(asked()).toEqual([0, 50]);
    vi.advanceTimersByTime(1);
    expect(asked()).toEqual([0, 50, 140]);
  });

  test("as fast as it goes: at once", () => {
    const { asked, draw } = slowScene({ rateHz: "max" });
    draw();
    expect(asked()).toEqual([0, 0]);
  });
});

describe("stopping", () => {
  test("before the start, and while the scene is being made", async () => {
    await open({}).stop();
    const source = open({ width: 640, height: 480 });
    let pairs = 0;
    source.start({ onPair: () => pairs++, onDegraded() {}, onEnd() {}, onError() {} });
    await source.stop();
    expect(pairs).toBe(0);
  });

  test("a closed scene answers with a reason, and gives its threads back", async () => {
    const threads = () => readdirSync("/proc/self/task");
    const before = threads();
    const scenes = Array.from({ length: 10 }, () => new SceneRenderer(loadNative(), SIZE));
    const started = threads().filter((id) => !before.includes(id));
    expect(started.length).toBeGreaterThanOrEqual(10);
    for (const scene of scenes) scene.close();
    // The kernel lists a thread for a moment after it was joined.
    await vi.waitFor(() => expect(threads().filter((id) => started.includes(id))).toEqual([]));
    for (const scene of scenes) scene.close();
    expect(() => scenes[0]!.truth(0, "left", sceneView(64, 48))).toThrow(/scene is closed/);
    await expect(scenes[0]!.frame(0)).rejects.toThrow(/scene is closed/);
  });

  test("waits for pairs that are out, and delivers none after it", async () => {
    const source = open({ rateHz: 500 });
    const held: FramePair[] = [];
    source.start({ onPair: (pair) => held.push(pair), onDegraded() {}, onEnd() {}, onError() {} });
    while (held.length < 3) await rest(5);
    let stopped = false;
    const stopping = source.stop().then(() => {
      stopped = true;
    });
    await rest(30);
    expect([stopped, held.length]).toEqual([false, 3]);
    for (const pair of held) pair.release();
    await stopping;
    expect(held.length).toBe(3);
  });

  test("refuses a rate that is none", () => {
    for (const rateHz of [0, -1, Number.NaN]) {
      expect(() => open({ rateHz })).toThrow(expect.objectContaining({ code: "CONFIG_INVALID" }));
    }
  });
});
