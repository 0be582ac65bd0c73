// SPDX-License-Identifier: Apache-2.0
// When a meter reads its sensor, by a timer or by the native thread, and which windows its figures cover.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Meter, type PowerSensor, type RailReading } from "../../../power/index.js";
import type { PowerNative, SamplerCost } from "../../../power/native.js";
import { SampledReader, type SampledSensor } from "../../../power/sampled.js";

const NONE = { available: false as const, reason: "nothing measures here" };

/** A sensor of rails that have `watts(seconds)` each, on a clock that only the test moves. */
class Board implements PowerSensor {
  readonly name = "board";
  readonly rails: PowerSensor["rails"];
  readonly total: PowerSensor["total"];
  reads = 0;
  isClosed = false;
  nowNs = 5_000_000_000n;
  failure: string | undefined;
  readonly startNs = this.nowNs;
  readonly #watts: (seconds: number) => number;

  constructor(
    watts: (seconds: number) => number,
    intervalsMs: readonly (number | undefined)[] = [undefined],
    total?: PowerSensor["total"],
  ) {
    this.#watts = watts;
    this.rails = intervalsMs.map((updateIntervalMs, index) => ({
      label: `rail${index}`,
      sourcePath: `rail${index}`,
      kind: "power",
      step: 1,
      updateIntervalMs,
    }));
    this.total = total ?? { rails: ["rail0"], reason: "the first rail" };
  }

  at(seconds: number): bigint {
    return this.startNs + BigInt(Math.round(seconds * 1e9));
  }

  read(): RailReading[] {
    this.reads++;
    const { failure, nowNs } = this;
    const powerMilliwatts = 1000 * this.#watts(Number(nowNs - this.startNs) / 1e9);
    return this.rails.map(() =>
      failure === undefined
        ? { available: true, timestampNs: nowNs, powerMilliwatts }
        : { available: false, reason: failure },
    );
  }

  /** Has `meter` read at every `periodSeconds` from the clock's time to `toSeconds`. */
  play(meter: Meter, toSeconds: number, periodSeconds = 0.1): void {
    const periodNs = BigInt(periodSeconds * 1e9);
    for (meter.sample(); this.nowNs < this.at(toSeconds); meter.sample()) this.nowNs += periodNs;
  }

  close(): void {
    this.isClosed = true;
  }
}

const meterOf = (sensor: Board, options: { rateHz?: number } = { rateHz: 10 }) =>
  new Meter({ sensor, clock: () => sensor.nowNs, ...options });

describe("the timer", () => {
  beforeEach(
    () => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] }),
  );
  afterEach(() => void vi.useRealTimers());

  test("reads at once and then at the rate, until it is stopped", () => {
    const board = new Board(() => 5);
    const meter = meterOf(board, { rateHz: 100 });
    meter.start();
    expect(board.reads).toBe(1);
    meter.start();
    vi.advanceTimersByTime(100);
    expect(board.reads).toBe(11);
    meter.stop();
    expect(vi.getTimerCount()).toBe(0);
    meter.start();
    vi.advanceTimersByTime(20);
    expect(board.reads).toBe(14);
    expect(board.isClosed).toBe(false);
    meter.close();
    expect([vi.getTimerCount(), board.isClosed]).toEqual([0, true]);
  });

  test("is the only one where no better sensor can be found, and there is none without a sensor", () => {
    const reopen = vi.fn(() => NONE);
    const meters = [
      new Meter({ sensor: new Board(() => 5), reopen }),
      new Meter({ sensor: new Board(() => 5, [undefined], NONE) }),
      new Meter({ sensor: NONE }),
    ];
    const timers = meters.map((meter) => {
      meter.start();
      const count = vi.getTimerCount();
      meter.stop();
      return count;
    });
    expect(timers).toEqual([1, 1, 0]);
    expect(reopen).not.toHaveBeenCalled();
  });

  test("has the rate of the sensor that was found later", () => {
    const part = new Board(() => 1, [undefined], NONE);
    const whole = new Board(() => 5, [100]);
    const meter = new Meter({ sensor: part, reopen: () => whole, clock: () => whole.nowNs });
    meter.start();
    vi.advanceTimersByTime(4999);
    expect([meter.rateHz, whole.reads]).toEqual([50, 0]);
    vi.advanceTimersByTime(1);
    expect([meter.rateHz, whole.reads]).toEqual([10, 1]);
    const { reads } = part;
    vi.advanceTimersByTime(1000);
    expect([part.reads - reads, whole.reads]).toEqual([0, 11]);
    meter.close();
    expect([part.isClosed, whole.isClosed]).toEqual([true, true]);
  });
});

describe("the idle baseline", () => {
  test("is measured by a timer that ends with it, or by the timer that runs", async () => {
    for (const isStarted of [false, true]) {
      const board = new Board(() => 4);
      const meter = meterOf(board);
      if (isStarted) meter.start();
      const idle = meter.measureIdle(0.001);
      expect(board.reads).toBe(1);
      board.nowNs = board.at(0.4);
      meter.sample();
      // The last reading is taken after the wait.
      board.nowNs = board.at(1);
      expect(await idle).toBeCloseTo(4, 9);
      expect(board.reads).toBe(3);
      expect(meter.idleWatts).toBeCloseTo(4, 9);
      vi.useFakeTimers({ toFake: ["setInterval"] });
      try {
        meter.start();
        expect(vi.getTimerCount()).toBe(isStarted ? 0 : 1);
      } finally {
        vi.useRealTimers();
        meter.stop();
      }
    }
  });

  test("stays unknown when the wait is aborted or too short", async () => {
    const board = new Board(() => 4);
    const meter = meterOf(board);
    const none = { available: false, reason: "no idle baseline was measured" };
    expect(await meter.measureIdle(3600, AbortSignal.abort())).toEqual(none);
    const reason = "no idle baseline: needs a window of at least 1 s, has 0.00 s";
    expect(await meter.measureIdle(0.001)).toEqual({ available: false, reason });
  });
});

describe("windows", () => {
  test("of a second and more have figures, shorter ones have not", () => {
    const board = new Board(() => 4);
    const meter = meterOf(board);
    const needs = (seconds: string) => `needs a window of at least 1 s, has ${seconds} s`;
    expect(meter.report({})).toMatchObject({ available: false, reason: "rail0: no reading yet" });
    board.failure = "the bus is stuck";
    meter.sample();
    expect(meter.report({})).toEqual({
      available: false,
      reason: "the bus is stuck",
      rails: { rail0: { available: false, reason: "the bus is stuck" } },
    });
    board.failure = undefined;
    board.play(meter, 0.9);
    expect(meter.report({})).toMatchObject({ available: false, reason: needs("0.90") });
    expect(meter.report({ toNs: board.at(-1) })).toMatchObject({ available: false, reason: needs("0.00") });
    board.play(meter, 1);
    expect(meter.report({})).toMatchObject({ available: true, watts: 4, joules: 4, windowSeconds: 1 });
  });

  test("begin five seconds ago, or at the start, and end with a reading of now", () => {
    const board = new Board((seconds) => seconds);
    const meter = meterOf(board);
    board.play(meter, 10);
    expect(meter.recent()).toMatchObject({ windowSeconds: 5, watts: expect.closeTo(7.5, 9) });
    board.nowNs = board.at(10.3);
    const joules = (from: number, to: number) => expect.closeTo((to ** 2 - from ** 2) / 2, 9);
    expect(meter.recent(2)).toMatchObject({ windowSeconds: 2, joules: joules(8.3, 10.3) });
    board.nowNs = board.at(10.7);
    expect(meter.sinceStart()).toMatchObject({ windowSeconds: 10.7, joules: joules(0, 10.7) });
  });

  test("count the frames that were captured in them; the whole run counts all", () => {
    const board = new Board(() => 6);
    const meter = meterOf(board);
    for (const seconds of [-0.5, 0, 0.9, 1, 2.4, 2.5]) meter.frame(board.at(seconds));
    board.play(meter, 3);
    expect(meter.report({})).toMatchObject({ frames: 6, joulesPerFrame: expect.closeTo(18 / 6, 9) });
    const window = { fromNs: board.at(1), toNs: board.at(2.5), megaDisparitiesPerFrame: 3 };
    expect(meter.report(window)).toMatchObject({
      frames: 2,
      joulesPerFrame: expect.closeTo(9 / 2, 9),
      fpsPerWatt: expect.closeTo(2 / 1.5 / 6, 9),
      mdePerJoule: expect.closeTo((3 * 2) / 9, 9),
      joulesPerFrameNet: { available: false, reason: "no idle baseline was measured" },
      context: { available: false, reason: "the conditions were not asked for" },
      changed: [],
    });
  });

  test("of a drawing follow each other; those without a reading are NaN", () => {
    const board = new Board((seconds) => 1 + 2 * seconds);
    const meter = meterOf(board, { rateHz: 100 });
    board.play(meter, 5);
    const bins = (from: number, to: number, seconds: number) =>
      meter.timeline(board.at(from), board.at(to), seconds).map((watts) => Math.round(watts * 1e6) / 1e6);
    // Power rises evenly, so the mean is that of the middle. The last bin ends half a second after the last reading.
    expect(bins(0.5, 3.9, 1)).toEqual([3, 5, 7]);
    expect(bins(3.5, 7.5, 1)).toEqual([9, 10.5, Number.NaN, Number.NaN]);
    expect(bins(1, 2, 0.25)).toEqual([3.25, 3.75, 4.25, 4.75]);
    const partial = new Board(() => 1, [undefined], NONE);
    const other = meterOf(partial);
    partial.play(other, 2);
    expect(other.timeline(partial.at(0), partial.at(2), 1)).toEqual([]);
  });

  test("of a total with a rail that the sensor lacks have no figures; its frames neither", () => {
    const board = new Board(() => 6, [undefined], { rails: ["rail0", "gone"], reason: "both" });
    const meter = meterOf(board);
    board.play(meter, 2);
    const reason = "a rail of the total does not exist";
    expect(meter.report({})).toMatchObject({ available: false, reason, rails: { rail0: { watts: 6 } } });
    expect(meter.frame(board.at(1))).toEqual({ available: false, reason });
    expect(meter.railEnergy("gone", 0n, 1n)).toEqual({ available: false, reason: "there is no rail gone" });
  });

  test("of a restarted meter begin with its next frame", () => {
    const board = new Board(() => 6);
    const meter = meterOf(board);
    meter.sample();
    meter.frame(board.at(0));
    board.play(meter, 1);
    meter.restart();
    expect(meter.frame(board.at(1))).toMatchObject({ reason: "the first frame has no frame before it" });
  });

  // The longest pause that still is sampling: half a second, ten readings, or three updates of the rail.
  test.each<[rateHz: number, intervalsMs: (number | undefined)[], read: number, limitsMs: number[]]>([
    [100, [undefined], 100, [500]],
    [20, [undefined], 20, [500]],
    [8, [undefined], 8, [1250]],
    [100, [undefined, 400], 100, [500, 1200]],
    [100, [20, 200], 50, [500, 600]],
    [100, [200, 250], 5, [2000, 2000]],
  ])("at %d Hz with updates each %j ms: %d readings a second", (rateHz, intervalsMs, read, limitsMs) => {
    const board = new Board(() => 6, intervalsMs);
    const meter = meterOf(board, { rateHz });
    expect(meter.rateHz).toBeCloseTo(read, 9);
    board.play(meter, 0.2);
    for (const [rail, limitMs] of limitsMs.entries()) {
      const end = board.nowNs + BigInt(limitMs * 1e6);
      expect(meter.railEnergy(`rail${rail}`, board.startNs, end)).toMatchObject({
        joules: expect.closeTo(1.2, 9),
      });
      expect(meter.railEnergy(`rail${rail}`, board.startNs, end + 1n)).toMatchObject({ available: false });
    }
  });

  test("are read 50 times a second and known for ten minutes by default", () => {
    expect(meterOf(new Board(() => 6), {}).rateHz).toBe(50);
    expect(new Meter({ sensor: NONE }).rateHz).toBe(50);
    const board = new Board(() => 6);
    const meter = meterOf(board, { rateHz: 1 });
    board.play(meter, 700, 1);
    // 600 readings are those from 101 to 700 s; a window may begin ten readings before them.
    const from = (seconds: number) => meter.report({ fromNs: board.at(seconds) }).available;
    expect([from(91), from(90.9)]).toEqual([true, false]);
  });
});

describe("rows of the native thread", () => {
  const COST: SamplerCost = {
    wallSeconds: 20,
    ownSeconds: 0.2,
    readSeconds: 0.6,
    timerSeconds: 1,
    slowestReadSeconds: 0,
    ticks: 2000,
    missedTicks: 0,
    overruns: 0,
  };

  /** Native code that delivers these rows: before, after, value and status of each source. */
  function nativeOf(rows: number[][]) {
    const sampler = {
      available: true as const,
      originNs: 1000n,
      drain(buffer: Float64Array): number {
        const width = rows[0]?.length ?? 0;
        const taken = rows.splice(0, width === 0 ? 0 : buffer.length / width);
        for (const [index, row] of taken.entries()) buffer.set(row, index * width);
        return taken.length;
      },
      cost: () => COST,
      stop: vi.fn(),
    };
    const createSampler = vi.fn((_options: Parameters<PowerNative["createSampler"]>[0]) => sampler);
    const nvmlErrorText = (status: number) => `NVML ${status}`;
    return { native: { createSampler, nvmlErrorText } as unknown as PowerNative, createSampler, sampler };
  }

  const read = vi.fn(() => []);
  const sensor: SampledSensor = {
    name: "rows",
    total: { rails: ["a", "b"], reason: "both" },
    rails: (
      [
        ["a", [{ file: "/a" }]],
        ["b", [{ file: "/u" }, { nvml: 0, quantity: "power" }]],
      ] as const
    ).map(([label, sources]) => ({
      label,
      sourcePath: label,
      kind: "power",
      updateIntervalMs: undefined,
      step: 1,
      sources,
      decode: (values, timestampNs) => ({
        available: true,
        timestampNs,
        powerMilliwatts: values.reduce((product, value) => product * value, 1),
      }),
    })),
    read,
    close: () => {},
  };

  test("are readings of every rail, halfway between the first and the last moment of its sources", () => {
    const { native, createSampler, sampler } = nativeOf([
      [100, 200, 5, 0, 300, 400, 7, 0, 500, 701, 11, 0],
      [1100, 1200, 6, 0, 1300, 1400, 3, 0, 1500, 1700, 2, 0],
    ]);
    const reader = SampledReader.start(sensor, native, 3);
    if ("available" in reader) throw new Error(reader.reason);
    expect(createSampler.mock.calls[0]![0]).toMatchObject({
      sources: [{ file: "/a" }, { file: "/u" }, { nvml: 0, quantity: "power" }],
      periodNs: 333_333_333,
    });
    const taken: unknown[] = [];
    reader.drain((...reading) => taken.push(reading));
    expect(taken).toEqual([
      [0, { available: true, timestampNs: 1150n, powerMilliwatts: 5 }, 1150n],
      [1, { available: true, timestampNs: 1501n, powerMilliwatts: 77 }, 1501n],
      [0, { available: true, timestampNs: 2150n, powerMilliwatts: 6 }, 2150n],
      [1, { available: true, timestampNs: 2500n, powerMilliwatts: 6 }, 2500n],
    ]);
    reader.stop();
    expect(sampler.stop).toHaveBeenCalledOnce();
  });

  test("with a status have its reason: the first source's that failed", () => {
    const row = (...statuses: number[]) => statuses.flatMap((status) => [0, 0, 1, status]);
    const { native } = nativeOf([row(0, 0, 1000), row(-1, 1015, 2), row(2, 2, 1001), row(19, 0, -1)]);
    const reader = SampledReader.start(sensor, native, 100);
    if ("available" in reader) throw new Error(reader.reason);
    const reasons: (string | undefined)[] = [];
    reader.drain((_rail, reading) => reasons.push(reading.available ? undefined : reading.reason));
    expect(reasons).toEqual([
      undefined,
      "b: NVML 0",
      "a: /a: expected a whole number, got something else",
      "b: NVML 15",
      "a: /a does not exist",
      "b: /u does not exist",
      "a: /a: the device was removed",
      "b: NVML: expected a whole number, got something else",
    ]);
  });

  test("are all taken, however many wait", () => {
    for (const count of [255, 256, 257, 600]) {
      const { native } = nativeOf(
        Array.from({ length: count }, (_, at) => [at, at, at, 0, at, at, 1, 0, at, at, 1, 0]),
      );
      const reader = SampledReader.start(sensor, native, 100);
      if ("available" in reader) throw new Error(reader.reason);
      const values: unknown[] = [];
      reader.drain(
        (rail, reading) => rail === 0 && reading.available && values.push(reading.powerMilliwatts),
      );
      expect(values).toEqual(Array.from({ length: count }, (_, at) => at));
    }
  });

  test("are taken by a meter every 200 ms and once more at its end, and their cost is shown", () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    read.mockClear();
    try {
      const rows: number[][] = [];
      const { native, sampler } = nativeOf(rows);
      let nowNs = 1000n;
      const meter = new Meter({ sensor, native, rateHz: 100, clock: () => nowNs });
      const push = (ms: number, milliwatts: number) => {
        const at = ms * 1e6;
        rows.push([at, at, milliwatts, 0, at, at, milliwatts, 0, at, at, 2, 0]);
      };
      push(0, 1000);
      meter.start();
      expect(rows).toEqual([]);
      for (let ms = 10; ms <= 2000; ms += 10) push(ms, 1000);
      vi.advanceTimersByTime(199);
      expect(rows).toHaveLength(200);
      vi.advanceTimersByTime(1);
      expect(rows).toEqual([]);
      nowNs += 2_000_000_000n;
      expect(meter.report({})).toMatchObject({
        watts: expect.closeTo(1 + 2, 9),
        windowSeconds: 2,
        sampling: { rateHz: 100, by: "native thread", userPercent: 1, busReadPercent: 3, timerPercent: 5 },
      });
      push(2010, 1000);
      meter.stop();
      expect([rows.length, sampler.stop.mock.calls.length, read.mock.calls.length]).toEqual([0, 1, 0]);
      meter.sample();
      expect(read).toHaveBeenCalledOnce();
      expect(meter.report({})).toMatchObject({ sampling: { by: "timer" } });
    } finally {
      vi.useRealTimers();
    }
  });

  test("are left alone where the sensor has rails that only JavaScript reads", () => {
    const { native, createSampler } = nativeOf([]);
    const board = new Board(() => 5);
    const meter = new Meter({ sensor: board, native });
    meter.start();
    meter.stop();
    expect([createSampler.mock.calls.length, board.reads]).toEqual([0, 1]);
  });
});
