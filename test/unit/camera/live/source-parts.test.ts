// SPDX-License-Identifier: Apache-2.0
// The pair source over cameras that the test plays by hand: pairs, counts, warnings, states and restarts, to the value.
import { FramePeriod } from "v4l2-camera/parts";
import { describe, expect, test, vi } from "vitest";
import { OtherCamera } from "../../../../camera/live/other-camera.js";
import { V4l2Source } from "../../../../camera/live/source.js";

const LAYOUT = { width: 8, height: 4, strideBytes: 8, format: "GREY" as const, offsetBytes: 0 };
const MS = 1_000_000;

/** A supervised camera that delivers what the test gives it. */
class HandCamera {
  readonly released: number[] = [];
  readonly restarts: number[] = [];
  readonly camera;
  readonly period: FramePeriod;
  readonly clock = { report: undefined as object | undefined };
  inputMemory: unknown[] | undefined;
  away = false;
  startLatencyNs: number | undefined;
  lost = {};
  stopped = false;
  events!: {
    onFrame(camera: unknown, frame: unknown): void;
    onLost(reason: string): void;
    onBack(): void;
    onError(error: Error): void;
  };
  #sequence = 0;

  constructor(path: string, periodMs: number | undefined, threadNs = 0) {
    this.period = new FramePeriod(periodMs === undefined ? undefined : periodMs * MS);
    this.camera = {
      path,
      native: { statistics: () => ({ threadNs }) },
      release: ({ sequence }: { sequence: number }) => this.released.push(sequence),
    };
  }
  drops = () => ({ ...this.lost });
  start(events: HandCamera["events"]): void {
    this.events = events;
  }
  async stop(): Promise<void> {
    this.stopped = true;
  }
  restartAt(ns: number): void {
    this.restarts.push(ns);
  }
  deliver(timeMs: number, lostBefore = 0): void {
    const sequence = this.#sequence++;
    const ns = Math.round(timeMs * MS);
    const image = sequence % 64;
    this.events.onFrame(this.camera, {
      image,
      data: this.#views[image]!,
      sequence,
      timestampNs: BigInt(ns),
      dequeuedNumberNs: ns + 5 * MS,
      ageNs: 5 * MS,
      lostBefore,
      point: "endOfFrame",
    });
  }
  readonly #views = Array.from({ length: 64 }, () => new Uint8Array(64));
}

function bench({
  two = true,
  maxSkewMs = undefined as number | undefined,
  rephase = false,
  other = false,
} = {}) {
  const left = new HandCamera("/dev/left", 100, 3);
  const right = new HandCamera("/dev/right", 100, 4);
  const third = new HandCamera("/dev/third", 100);
  const looks = { made: 0, images: 0 };
  const source = new V4l2Source({
    description: { title: "hand" },
    cameras: { left, right: two ? right : undefined },
    other: other ? new OtherCamera(third as never, LAYOUT, 0) : undefined,
    reportedHz: { left: 10, right: 0 },
    layouts: { left: LAYOUT, right: { ...LAYOUT, offsetBytes: 32 } },
    defects: undefined,
    maxSkewMs,
    rephase,
    makeExposure: () => {
      looks.made++;
      return { look: () => looks.images++ };
    },
    monotonicNs: () => 1_000_000_000n,
  } as never);
  const log: string[] = [];
  const held: (() => void)[] = [];
  const start = () =>
    source.start({
      onPair: (pair) => {
        log.push(
          `pair ${pair.left.sequence} ${pair.right.sequence}${pair.other ? ` ${pair.other.sequence}` : ""}`,
        );
        held.push(() => pair.release());
      },
      onDegraded: (reason, code) => log.push(`degraded ${reason} ${code}`),
      onWarning: (message) => log.push(`warning ${message}`),
      onEnd: () => log.push("end"),
      onError: (error) => log.push(`error ${(error as { code?: string }).code}`),
    });
  const give = () => {
    for (const one of held.splice(0)) one();
  };
  /** @returns what was reported since the last call */
  const taken = () => log.splice(0);
  return { source, left, right, third, looks, start, give, taken };
}

describe("pairs", () => {
  test("of two cameras are the nearest images within half a period; counts are by camera and cause", async () => {
    const { source, left, right, looks, start, give, taken } = bench();
    expect(source.windowNs).toBe(50 * MS);
    start();
    expect(() => start()).toThrow(/started twice/);
    left.deliver(1000);
    right.deliver(1010);
    right.deliver(1100);
    left.deliver(1150.001);
    left.lost = { driver: 2 };
    right.lost = { errorFlag: 1 };
    expect(taken()).toEqual(["pair 0 0"]);
    expect([left.released, right.released]).toEqual([[], [1]]);
    give();
    expect([left.released, right.released, looks]).toEqual([[0], [1, 0], { made: 1, images: 2 }]);
    const counters = { pairs: 1, skewMsMean: 10, skewMsP99: 10, driftPpm: undefined };
    expect(source.counters()).toEqual({
      ...counters,
      dropsLeft: { driver: 2 },
      dropsRight: { errorFlag: 1, unmatched: 1 },
    });
    expect([source.threadNs(), source.isAway()]).toEqual([7, false]);
    // An image that waits is given up at the end.
    await source.stop();
    expect([left.stopped, right.stopped, left.released]).toEqual([true, true, [0, 1]]);
    expect(source.counters().dropsLeft).toEqual({ driver: 2, alone: 1 });
  });

  test("the end waits for a pair that is held, and is one end", async () => {
    const { source, left, right, start, give } = bench();
    start();
    left.deliver(1000);
    right.deliver(1000);
    const ended = vi.fn();
    const first = source.stop();
    expect(source.stop()).toBe(first);
    void first.then(ended);
    await new Promise((resolve) => setImmediate(resolve));
    expect(ended).not.toHaveBeenCalled();
    give();
    await first;
  });

  test("with a strict limit are closer", () => {
    const { source, left, right, start, taken } = bench({ maxSkewMs: 2.5 });
    start();
    expect(source.windowNs).toBe(2.5 * MS);
    left.deliver(1000);
    right.deliver(1002.5);
    left.deliver(1100);
    right.deliver(1102.6);
    expect(taken()).toEqual(["pair 0 0"]);
  });

  test("of one camera are the two parts of its image", () => {
    const { source, left, start, give, taken, looks } = bench({ two: false });
    Object.assign(left, { inputMemory: [new Uint8Array(1)], away: true });
    start();
    left.deliver(1000);
    give();
    expect([taken(), left.released, looks.images]).toEqual([["pair 0 0"], [0], 1]);
    left.lost = { driver: 5 };
    expect(source.counters()).toMatchObject({ dropsLeft: { driver: 5 }, dropsRight: { driver: 5 } });
    expect([source.threadNs(), source.isAway()]).toEqual([3, true]);
    expect(source.captureMemory()).toEqual({ left: "userptr" });
    expect(source.inputMemory).toEqual(left.inputMemory);
  });

  test("take the further camera's image, and an image belongs to the source until its last pair is back", () => {
    const { source, left, right, third, start, give, taken } = bench({ other: true });
    start();
    third.deliver(1001);
    for (const at of [1000, 1100]) {
      left.deliver(at);
      right.deliver(at);
    }
    third.deliver(1150);
    third.deliver(1250);
    expect(taken()).toEqual(["pair 0 0 0", "pair 1 1 0"]);
    expect(third.released).toEqual([]);
    give();
    expect(third.released).toEqual([0]);
    third.deliver(1350);
    expect(third.released).toEqual([0, 1]);
    left.deliver(1200);
    right.deliver(1200);
    // Equally near: the newer one. A period away at most.
    expect(taken()).toEqual(["pair 2 2 2"]);
    left.deliver(1149);
    right.deliver(1149);
    expect(taken()).toEqual(["pair 3 3"]);
    expect(source.counters().other).toEqual({
      pairs: 3,
      missed: { late: 1 },
      drops: { unused: 1 },
      offsetNs: 50 * MS,
      problem: undefined,
    });
  });
});

test("memory and clocks are named by side", () => {
  const { source, left, right, third } = bench({ other: true });
  expect([source.inputMemory, source.captureClocks()]).toEqual([undefined, {}]);
  const [mine, theirs] = [new Uint8Array(1), { bytes: new Uint8Array(2), dmaBuffer: 3 }];
  right.inputMemory = [theirs];
  expect(source.inputMemory).toEqual([theirs]);
  left.inputMemory = [mine];
  expect(source.inputMemory).toEqual([mine, theirs]);
  expect(source.captureMemory()).toEqual({ left: "userptr", right: "dmabuf", other: "mmap" });
  third.clock.report = { origin: "tsc" };
  right.clock.report = { origin: "device" };
  expect(source.captureClocks()).toEqual({ right: { origin: "device" }, other: { origin: "tsc" } });
  right.away = true;
  expect(source.isAway()).toBe(true);
});

describe("states", () => {
  test("a loss is reported with every camera's reason, and ends with the next pair", () => {
    const { source, left, right, looks, start, taken } = bench();
    start();
    left.deliver(1000);
    left.events.onLost("left is gone.");
    expect(left.released).toEqual([0]);
    right.events.onLost("right is gone.");
    expect(taken()).toEqual([
      "degraded left is gone. undefined",
      "degraded left is gone. right is gone. undefined",
    ]);
    left.events.onBack();
    right.events.onLost("right is still gone.");
    expect(taken()).toEqual(["degraded right is still gone. undefined"]);
    right.events.onBack();
    expect([taken(), looks.made]).toEqual([[], 3]);
    left.deliver(2000);
    right.deliver(2000);
    left.deliver(2100);
    right.deliver(2100);
    expect(taken()).toEqual(["degraded undefined undefined", "pair 1 0", "pair 2 1"]);
    left.events.onError(Object.assign(new Error("no"), { code: "DEVICE_UNSUITABLE" }));
    expect(taken()).toEqual([expect.stringMatching(/^error /)]);
    expect(source.counters().dropsLeft).toEqual({ alone: 1 });
  });

  test("the further camera's problem is reported behind those of the pair", () => {
    const { left, right, third, start, taken } = bench({ other: true });
    start();
    third.events.onLost("third is gone.");
    const reason = "third is gone. Pairs continue without the images of /dev/third (source.v4l2.other).";
    expect(taken()).toEqual([`degraded ${reason} DEVICE_UNAVAILABLE`]);
    left.events.onLost("left is gone.");
    left.events.onBack();
    // Until pairs come again the last reason holds.
    third.events.onBack();
    third.events.onError(new Error("broken."));
    expect(taken()).toEqual(["degraded left is gone. undefined"]);
    left.deliver(1000);
    right.deliver(1000);
    expect(taken()).toEqual([
      expect.stringMatching(/^degraded broken\. Pairs continue .* DEVICE_UNAVAILABLE$/),
      "pair 0 0",
    ]);
    third.events.onBack();
    expect(taken()).toEqual(["degraded undefined undefined"]);
  });
});

test("a rate that is not the reported one is a warning; a loss begins the measurement again", () => {
  const { left, start, taken } = bench({ two: false });
  start();
  for (let i = 0; i < 100; i++) left.deliver(1000 + 200 * i);
  left.events.onLost("gone.");
  for (let i = 0; i < 120; i++) left.deliver(90_000 + 200 * i);
  expect(taken().filter((entry) => entry.startsWith("warning"))).toEqual([]);
  left.deliver(90_000 + 200 * 120);
  expect(taken().filter((entry) => entry.startsWith("warning"))).toEqual([
    expect.stringMatching(/^warning \/dev\/left: the driver reports 10 Hz, frames arrive at 5 Hz/),
  ]);
});

test("images without a partner are a warning", () => {
  const { left, right, start, taken } = bench();
  start();
  for (let i = 0; i < 150; i++) {
    left.deliver(1000 + 100 * i);
    right.deliver(1060 + 100 * i);
  }
  expect(taken().filter((entry) => entry.startsWith("warning"))[0]).toMatch(
    /find no partner|apart on average/,
  );
});

describe("cameras out of step", () => {
  const out = (more = {}) => {
    const parts = bench({ rephase: true, ...more });
    parts.start();
    let at = 1000;
    const thirty = () => {
      for (let i = 0; i < 30; i++, at += 100) {
        parts.left.deliver(at);
        parts.right.deliver(at + 20);
      }
      parts.give();
    };
    return { ...parts, thirty };
  };

  test("the right one is restarted; after four attempts that is given up with a warning", () => {
    const { right, thirty, taken } = out();
    thirty();
    expect(right.restarts).toEqual([]);
    right.startLatencyNs = 10 * MS;
    for (let attempt = 0; attempt < 5; attempt++) thirty();
    expect(right.restarts).toHaveLength(4);
    // After now and its lead of 30 ms, at a whole number of periods from the aim: 90 ms behind each second.
    expect(right.restarts[0]).toBe(1_090 * MS);
    expect(taken().filter((entry) => entry.includes("out of step"))).toEqual([
      "warning The cameras stay 20.0 ms out of step after several restarts: they need a common trigger line.",
    ]);
  });

  test("one camera is not restarted, and neither are two without source.v4l2.rephase", () => {
    const parts = out({ rephase: false });
    parts.right.startLatencyNs = 10 * MS;
    parts.thirty();
    parts.thirty();
    expect(parts.right.restarts).toEqual([]);
  });
});
