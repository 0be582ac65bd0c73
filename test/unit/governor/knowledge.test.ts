// SPDX-License-Identifier: Apache-2.0
// Tests the governor's knowledge of levels by hand (watts, speed, work, names), and which pairs its rate lets through.
import { afterEach, describe, expect, test, vi } from "vitest";
import type { FramePair, PairSource, SourceEvents } from "../../../camera/index.js";
import { Knowledge } from "../../../edge/governor/knowledge.js";
import { levelName, relativeWork } from "../../../edge/governor/ladder.js";
import { RateGate } from "../../../edge/governor/rate-gate.js";

afterEach(() => {
  vi.restoreAllMocks();
});

const LEVELS = [400, 200, 100].map((work) => ({ name: `${work}`, work, rateHz: undefined, mode: undefined }));

describe("watts", () => {
  test("of a table are differences, which a level learns when it is entered and all levels follow", () => {
    const known = new Knowledge(LEVELS, [{ watts: 10 }, { watts: 6 }]);
    expect([known.watts(0), known.watts(1), known.watts(2)]).toEqual([10, 6, undefined]);
    expect([known.predictWatts(0, 1, 12), known.predictWatts(1, 0, 7)]).toEqual([8, 11]);
    expect([known.predictWatts(0, 2, 12), known.predictWatts(2, 0, 12)]).toEqual([undefined, undefined]);
    // 1 W more than known: 0.3 of it is the level's, and 0.7 of the other 0.7 W is common.
    known.learn(0, 11, undefined);
    expect(known.watts(0)).toBeCloseTo(10.3 + 0.49, 12);
    expect(known.watts(1)).toBeCloseTo(6.49, 12);
    expect(known.predictWatts(0, 1, 11)).toBeCloseTo(11 + 6 - 10.3, 12);
    // While the level stays, only the common part follows: 0.49 + 0.7 (0.7 - 0.49).
    known.learn(0, 11, undefined);
    expect(known.watts(1)).toBeCloseTo(6.637, 12);
    // A level that was not known is without the common part what it draws.
    known.learn(2, 5, undefined);
    expect(known.watts(2)).toBeCloseTo(5, 12);
    expect(known.predictWatts(0, 2, 11)).toBeCloseTo(11 + (5 - 0.637) - 10.3, 12);
    // 0.363 W more than known: 6 + 0.1089, and 0.637 + 0.7 (0.363 - 0.1089).
    known.learn(1, 7, undefined);
    expect(known.watts(1)).toBeCloseTo(6.1089 + 0.81487, 12);
    known.learn(1, undefined, undefined);
    expect(known.watts(1)).toBeCloseTo(6.92377, 12);
  });

  test("without a table are what was seen", () => {
    const known = new Knowledge(LEVELS);
    known.learn(1, 9, undefined);
    expect([known.watts(0), known.watts(1), known.predictWatts(1, 1, 5)]).toEqual([undefined, 9, 5]);
  });
});

test("speed is that of both levels where they are known, else by their work", () => {
  const known = new Knowledge(LEVELS, [{}, { capacityFps: 90 }]);
  expect(known.predictCapacity(0, 1, 50)).toBe(100);
  known.learn(0, undefined, 50);
  expect(known.predictCapacity(0, 1, 25)).toBe(45);
  // 50 + 0.3 (60 - 50).
  known.learn(0, undefined, 60);
  expect(known.predictCapacity(0, 1, 53)).toBeCloseTo(90, 12);
  expect(known.predictCapacity(0, 2, 10)).toBe(40);
  expect(known.predictCapacity(2, 1, 10)).toBe(5);
});

test("work is that of the cells, and 256 for every pixel; half resolution has a quarter and half of the cells", () => {
  const level = { name: "", rateHz: undefined, mode: undefined, numDisparities: 128, workPerCell: 4 };
  expect(relativeWork({ ...level, halfResolution: false })).toBe(128 * 4 + 256);
  expect(relativeWork({ ...level, halfResolution: true })).toBe((64 * 4 + 256) / 4);
  expect(relativeWork(LEVELS[1]!)).toBe(200);
});

test.each([
  [{}, "4 paths, search auto, 64 disparities"],
  [{ halfResolution: true }, "4 paths, search auto, 64 disparities, half resolution"],
  [
    { rateHz: 7.5, mode: "15W", clocks: { gpu: 612e6 } },
    "4 paths, search auto, 64 disparities, at most 7.5 fps, power mode 15W, gpu 612 MHz",
  ],
])("a level with %j is named %s", (changes, name) => {
  const level = {
    parameters: { paths: 4, search: "auto" },
    workPerCell: 4,
    numDisparities: 64,
    halfResolution: false,
    rateHz: undefined,
    mode: undefined,
    clocks: {},
  };
  expect(levelName({ ...level, ...changes })).toBe(name);
});

describe("the gate of a rate", () => {
  function open(refuse?: (pair: FramePair) => string | undefined, more: Partial<PairSource> = {}) {
    let events: SourceEvents | undefined;
    const source = {
      description: { title: "a test" },
      start: (given: SourceEvents) => {
        events = given;
      },
      stop: async () => {},
      counters: () => ({ pairs: 5 }),
      ...more,
    } as unknown as PairSource;
    const drops: string[] = [];
    const taken: number[] = [];
    const gate = new RateGate(source, (cause) => drops.push(cause), refuse);
    const ended: string[] = [];
    gate.start({
      onPair: ({ left }) => taken.push(left.sequence),
      onEnd: () => ended.push("end"),
    } as Partial<SourceEvents> as SourceEvents);
    let released = 0;
    const now = vi.spyOn(performance, "now");
    const deliver = (...times: number[]) => {
      for (const ms of times) {
        now.mockReturnValue(ms);
        events!.onPair({ left: { sequence: ms }, release: () => released++ } as unknown as FramePair);
      }
      return { taken: taken.splice(0), drops: drops.splice(0), released };
    };
    return { gate, deliver, end: () => events!.onEnd(), ended };
  }

  test("lets through what comes at most a tenth of an interval early", () => {
    const { gate, deliver } = open();
    expect(deliver(0, 0, 1).taken).toEqual([0, 0, 1]);
    gate.limit(10);
    // From the pair at 1 ms on: 90 ms are enough, 89.9 are not. Those that are dropped count for nothing.
    expect(deliver(90.9, 91, 180.9, 181, 500, 589.5, 590)).toEqual({
      taken: [91, 181, 500, 590],
      drops: ["governor", "governor", "governor"],
      released: 3,
    });
    gate.limit(undefined);
    expect(deliver(590, 590).taken).toEqual([590, 590]);
  });

  test("asks first whether a pair is wanted; one that is not does not count for the rate", () => {
    const { gate, deliver } = open(({ left }) => (left.sequence % 2 === 1 ? "asleep" : undefined));
    gate.limit(10);
    expect(deliver(1, 2, 51, 92)).toEqual({ taken: [2, 92], drops: ["asleep", "asleep"], released: 2 });
  });

  test("is its source in all else", async () => {
    const { gate, end, ended } = open();
    expect([gate.description.title, gate.counters().pairs, gate.inputMemory]).toEqual([
      "a test",
      5,
      undefined,
    ]);
    expect([gate.isAway(), gate.captureMemory(), gate.captureClocks()]).toEqual([false, {}, {}]);
    end();
    await gate.stop();
    expect(ended).toEqual(["end"]);
    const clocks = { left: { origin: "boot" } };
    const more = { isAway: () => true, captureMemory: () => ({ left: "mmap" }), captureClocks: () => clocks };
    const { gate: other } = open(undefined, more as never);
    expect([other.isAway(), other.captureMemory(), other.captureClocks()]).toEqual([
      true,
      { left: "mmap" },
      clocks,
    ]);
  });
});
