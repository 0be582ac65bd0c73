// SPDX-License-Identifier: Apache-2.0
// The meter on a clock and a sensor of the test's own: integrals with known answers, and windows it must refuse.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ContextHistory } from "../../../power/context-history.js";
import { FrameTimes } from "../../../power/frame-times.js";
import type {
  ContextSnapshot,
  PowerReport,
  PowerSensor,
  RailDescription,
  RailReading,
} from "../../../power/index.js";
import { contextChanges, Meter, readContext } from "../../../power/index.js";
import type { PowerNative, SampleSource } from "../../../power/native.js";
import type { Unavailable } from "../../../power/sensor.js";
import { RailSeries, sumOfRails } from "../../../power/series.js";
import { SysfsTree } from "../../doubles/sysfs-tree.js";

const SECOND = 1_000_000_000n;

/** A sensor whose power is a function of time in seconds, on a clock that only the test moves. */
class Bench implements PowerSensor {
  readonly name = "bench";
  readonly total: PowerSensor["total"];
  readonly rails: RailDescription[];
  nowNs = 1_000_000n * SECOND;
  readonly startNs = this.nowNs;
  failing = new Map<string, string>();
  closed = false;
  readonly #watts: Record<string, (seconds: number) => number>;

  constructor(
    watts: Record<string, (seconds: number) => number>,
    options: {
      total?: PowerSensor["total"];
      step?: number;
      updateIntervalMs?: number;
      kind?: "power" | "energy";
    } = {},
  ) {
    this.#watts = watts;
    this.rails = Object.keys(watts).map((label) => ({
      label,
      sourcePath: label,
      kind: options.kind ?? "power",
      updateIntervalMs: options.updateIntervalMs,
      step: options.step,
    }));
    this.total = options.total ?? { rails: [this.rails[0]!.label], reason: "the first rail" };
  }

  get seconds(): number {
    return Number(this.nowNs - this.startNs) / 1e9;
  }

  read(): RailReading[] {
    return this.rails.map(({ label, kind }): RailReading => {
      const reason = this.failing.get(label);
      if (reason !== undefined) return { available: false, reason };
      const watts = this.#watts[label]!(this.seconds);
      // For counters the function gives joules since the start.
      if (kind === "energy") {
        return {
          available: true,
          timestampNs: this.nowNs,
          energyMicrojoules: BigInt(Math.round(watts * 1e6)),
        };
      }
      return { available: true, timestampNs: this.nowNs, powerMilliwatts: watts * 1000 };
    });
  }

  close(): void {
    this.closed = true;
  }

  /** Samples `meter` every `periodMs` for `seconds`. */
  run(meter: Meter, seconds: number, periodMs = 10, each: () => void = () => {}): void {
    const end = this.nowNs + BigInt(Math.round(seconds * 1e9));
    meter.sample();
    while (this.nowNs < end) {
      this.nowNs += BigInt(Math.round(periodMs * 1e6));
      meter.sample();
      each();
    }
  }

  at(seconds: number): bigint {
    return this.startNs + BigInt(Math.round(seconds * 1e9));
  }
}

function createTestMeter(
  bench: Bench,
  options: { capacity?: number; readContext?: () => ContextSnapshot } = {},
): Meter {
  return new Meter({ sensor: bench, clock: () => bench.nowNs, rateHz: 100, ...options });
}

function available(report: ReturnType<Meter["report"]>): PowerReport {
  if (!report.available) throw new Error(`expected figures: ${report.reason}`);
  return report;
}

describe("energy of a frame", () => {
  /** Captures a frame every `periodMs` for a minute, on a clock that sensor and frames share. */
  function playMinute(bench: Bench, periodMs: number, readingMs: number, rateHz?: number) {
    const meter = new Meter({ sensor: bench, clock: () => bench.nowNs, rateHz: rateHz ?? 1000 / readingMs });
    const carried: ReturnType<Meter["frame"]>[] = [];
    let nextReading = 0;
    // Frames and readings meet at no multiple of each other.
    for (let ms = 0; ms <= 60_000; ms++) {
      bench.nowNs = bench.at(ms / 1000);
      if (ms >= nextReading) {
        meter.sample();
        nextReading += readingMs;
      }
      if (ms % periodMs === 3) carried.push(meter.frame(bench.nowNs));
    }
    const known = carried.filter((energy) => energy.available);
    return { meter, carried, known, sum: known.reduce((joules, energy) => joules + energy.joules, 0) };
  }

  const load = (t: number) => 8 + 3 * Math.sin(3 * t) + (t % 1 < 0.2 ? 4 : 0);
  const loadJoules = (t: number) =>
    8 * t + 1 - Math.cos(3 * t) + 4 * (0.2 * Math.floor(t) + Math.min(t % 1, 0.2));
  /** As NVML's counter does: the value is renewed every 100 ms, and read more often. */
  const slowCounter = (t: number) => loadJoules(Math.floor(t * 10 + 1e-9) / 10);

  test.each([
    ["readings of power", { main: load }, { step: 40 }, 33, 20],
    ["a counter that is renewed every 100 ms", { main: slowCounter }, { kind: "energy", step: 1000 }, 33, 20],
    [
      "two rails",
      { a: load, b: () => 2 },
      { step: 40, total: { rails: ["a", "b"], reason: "both" } },
      41,
      10,
    ],
    ["a plug that reports every second", { main: () => 60 }, {}, 33, 1000],
    ["one frame in two seconds", { main: load }, { step: 40 }, 2000, 20],
  ] as const)(
    "of %s: a minute of frames adds up to the meter's integral",
    (_, watts, options, periodMs, readingMs) => {
      const bench = new Bench(watts, options as ConstructorParameters<typeof Bench>[1]);
      const { meter, carried, known, sum } = playMinute(bench, periodMs, readingMs);
      const fromNs = bench.at(0.003);
      const toNs = fromNs + BigInt(known.length * periodMs * 1_000_000);
      const integral = available(meter.report({ fromNs, toNs })).joules;
      // A counter's last reading is interpolated to the window's end in another way.
      expect(sum / integral).toBeCloseTo(1, 4);
      // All but the first frame, and those that wait for the next reading.
      expect(known.length).toBeGreaterThanOrEqual(
        carried.length - 2 - Math.ceil((2 * Math.max(readingMs, 100)) / periodMs),
      );
      const whole = available(meter.report({}));
      const share = (known.length * periodMs) / 60_000;
      expect(Math.abs(sum / share / whole.joules - 1)).toBeLessThan(0.02);
      for (const { joules, seconds } of known) {
        expect(joules).toBeGreaterThan(0);
        expect(seconds).toBeCloseTo(periodMs / 1000, 9);
      }
    },
  );

  test("the energy of a frame is that of an interval which ended as long ago as it says", () => {
    const bench = new Bench({ main: (t) => 5 + 2 * t }, { step: 40 });
    const meter = createTestMeter(bench);
    const carried: [number, ReturnType<Meter["frame"]>][] = [];
    bench.run(meter, 1, 100, () => {
      const captured = bench.seconds - 0.04;
      carried.push([captured, meter.frame(bench.at(captured))]);
    });
    expect(carried.shift()![1]).toMatchObject({ reason: "the first frame has no frame before it" });
    for (const [captured, energy] of carried) {
      if (!energy.available) throw new Error(energy.reason);
      const to = captured - energy.ageMs / 1000;
      const from = to - energy.seconds;
      expect(energy.joules).toBeCloseTo(5 * (to - from) + to ** 2 - from ** 2, 9);
      // The step of 40 mW, and half of what neighbouring readings differ by: 0.2 W each.
      const variance = 0.04 ** 2 / 12 + (2 * 0.2 ** 2) / (2 * 2 ** 2);
      expect(energy.joulesUncertainty).toBeCloseTo(2 * energy.seconds * Math.sqrt(variance), 9);
    }
  });

  test("a counter's reading that a frame shares with its neighbours may be any frame's", () => {
    const bench = new Bench(
      { main: (t) => 10 * (Math.floor(t * 10 + 1e-9) / 10) },
      { kind: "energy", step: 1000 },
    );
    const { known } = playMinute(bench, 33, 20);
    const { joules, joulesUncertainty } = known[100]!;
    expect(joules).toBeCloseTo(0.33, 6);
    expect(joulesUncertainty).toBeCloseTo(2 * Math.sqrt((2 * 1 ** 2 + 2 * 0.001 ** 2) / 12), 6);
  });

  test("a sensor of unknown step: the joules are known, their uncertainty is not", () => {
    const { known } = playMinute(new Bench({ plug: () => 60 }), 33, 1000);
    expect(known[0]).toMatchObject({ joulesUncertainty: { reason: "the step of the sensor is unknown" } });
  });

  test("a rail that vanishes and a counter that repeats are named, never 0, and frames after them are whole", () => {
    const total = { rails: ["in", "out"], reason: "both" };
    const rails = new Bench({ in: () => 5, out: () => 2 }, { step: 1, total });
    const stuck = new Bench(
      { pkg: (t) => 12 * (t < 2 ? t : t < 4 ? 2 : t - 2) },
      { kind: "energy", step: 61, updateIntervalMs: 1 },
    );
    for (const [bench, words, watts] of [
      [rails, /^out: EIO$/, 7],
      [stuck, /^pkg: the counter did not change for \d\.\d s$/, 12],
    ] as const) {
      const meter = createTestMeter(bench);
      const during: ReturnType<Meter["frame"]>[] = [];
      const after: ReturnType<Meter["frame"]>[] = [];
      bench.run(meter, 2, 10);
      if (bench === rails) bench.failing.set("out", "EIO");
      bench.run(meter, 2, 10, () => during.push(meter.frame(bench.nowNs)));
      bench.failing.clear();
      bench.run(meter, 2, 10, () => after.push(meter.frame(bench.nowNs)));
      for (const energy of during.slice(60)) expect(energy).toMatchObject({ available: false });
      expect((during.at(-1) as { reason: string }).reason).toMatch(words);
      const last = after.at(-1)!;
      expect(last).toMatchObject({ joules: expect.closeTo(watts * 0.01, 6), ageMs: expect.closeTo(0, 6) });
      for (const energy of [...during, ...after])
        if (energy.available) expect(energy.joules).toBeGreaterThan(0);
    }
  });

  test("a capture clock that jumps back begins again", () => {
    const bench = new Bench({ main: () => 5 }, { step: 1 });
    const meter = createTestMeter(bench);
    bench.run(meter, 3);
    meter.frame(bench.at(2));
    expect(meter.frame(bench.at(1))).toMatchObject({ reason: "the first frame has no frame before it" });
    expect(meter.frame(bench.at(1.5))).toMatchObject({
      joules: expect.closeTo(2.5, 9),
      seconds: 0.5,
      ageMs: 0,
    });
  });

  test("without a sensor or a total, its reason", () => {
    const reason = "no power sensor here";
    expect(new Meter({ sensor: { available: false, reason } }).frame(1n)).toEqual({
      available: false,
      reason,
    });
  });
});

describe("energy", () => {
  test("the trapezoid is exact for a ramp, at the samples and between them", () => {
    const bench = new Bench({ main: (t) => 5 + 2 * t });
    const meter = createTestMeter(bench);
    bench.run(meter, 4, 100);
    // integral of 5 + 2t from 1.234 to 3.071
    const joules = 5 * (3.071 - 1.234) + (3.071 ** 2 - 1.234 ** 2);
    expect(meter.railEnergy("main", bench.at(1.234), bench.at(3.071))).toMatchObject({
      joules: expect.closeTo(joules, 9),
    });
  });

  test("a counter is differenced and interpolated, and a pause in reading it loses nothing", () => {
    const bench = new Bench({ pkg: (t) => 12 * t }, { kind: "energy", step: 61, updateIntervalMs: 1 });
    const meter = createTestMeter(bench);
    bench.run(meter, 2, 100);
    bench.nowNs += 8n * SECOND;
    bench.run(meter, 2, 100);
    const figures = available(meter.report({ fromNs: bench.at(0.55), toNs: bench.at(11.55) }));
    expect(figures.watts).toBeCloseTo(12, 6);
    expect(figures.joules).toBeCloseTo(132, 5);
    // One interval of 1 ms at 12 W and one step of 61 uJ at both ends of 11 s, k = 2.
    expect(figures.wattsUncertainty).toBeCloseTo((2 * Math.sqrt((0.012 ** 2 + 61e-6 ** 2) / 6)) / 11, 9);
  });

  test("a counter that repeats its value has stopped: it is named, never 0 joules", () => {
    const bench = new Bench({ pkg: (t) => 12 * Math.min(t, 2) }, { kind: "energy", step: 61 });
    const meter = createTestMeter(bench);
    bench.run(meter, 5, 100);
    expect(available(meter.report({ toNs: bench.at(3) })).joules).toBeCloseTo(24, 6);
    const reason = "pkg: the counter did not change for 2.0 s";
    expect(meter.report({ fromNs: bench.at(3) })).toMatchObject({ available: false, reason });
  });

  test("the total is the sum of its rails, in every window", () => {
    const one = new Bench({ main: (t) => 5 + Math.sin(9 * t) });
    const both = { rails: ["a", "b"], reason: "both" };
    const two = new Bench({ a: (t) => 3 + Math.sin(7 * t), b: (t) => 2 + t }, { total: both });
    for (const bench of [one, two]) {
      const meter = createTestMeter(bench);
      bench.run(meter, 3.03, 70);
      const windows = [{}, { fromNs: bench.at(0.4) }, { fromNs: bench.at(0.4), toNs: bench.at(2.77) }];
      for (const window of windows) {
        const { joules, watts, rails } = available(meter.report(window));
        const figures = Object.values(rails).map((rail) => (rail.available ? rail : undefined));
        expect(figures.reduce((sum, rail) => sum + rail!.joules, 0)).toBe(joules);
        expect(figures.reduce((sum, rail) => sum + rail!.watts, 0)).toBe(watts);
      }
    }
  });

  test("uncertainty: the step alone for a steady load, more where the load moves between samples", () => {
    const steady = new Bench({ main: () => 5 }, { step: 152 });
    const meter = createTestMeter(steady);
    steady.run(meter, 2);
    const figures = available(meter.report({}));
    expect(figures.watts).toBeCloseTo(5, 9);
    expect(figures.wattsUncertainty).toBeCloseTo((2 * 0.152) / Math.sqrt(12), 6);
    let seed = 7;
    const noise = () => {
      seed = (seed * 1103515245 + 12345) % 2147483648;
      return seed / 2147483648 - 0.5;
    };
    // White noise of +-1 W: one sigma of the mean of n samples is 2 / sqrt(12 n).
    const moving = new Bench({ main: () => 5 + 2 * noise() }, { step: 0.001 });
    const other = createTestMeter(moving);
    moving.run(other, 20);
    const wide = available(other.report({}));
    expect(wide.wattsUncertainty).toBeGreaterThan(0.9 * 2 * (2 / Math.sqrt(12 * 2000)));
    expect(wide.wattsUncertainty).toBeLessThan(1.1 * 2 * (2 / Math.sqrt(12 * 2000)));
    expect(Math.abs(wide.watts - 5)).toBeLessThan(2 * (wide.wattsUncertainty as number));
    // A smart plug does not say in which steps it reports.
    const plug = new Bench({ supply: () => 5 });
    const unknown = createTestMeter(plug);
    plug.run(unknown, 2);
    const reason = "supply: the step of the sensor is unknown";
    expect(available(unknown.report({}))).toMatchObject({
      wattsUncertainty: { available: false, reason },
      rails: { supply: { wattsUncertainty: { available: false, reason } } },
    });
  });

  test("the total is the rule's sum and nothing else", () => {
    const total = { rails: ["gpu", "cpu"], reason: "two of three" };
    const bench = new Bench({ gpu: () => 3, cpu: () => 2, nested: () => 1 }, { total });
    const meter = createTestMeter(bench);
    bench.run(meter, 2);
    const figures = available(meter.report({}));
    expect(figures.watts).toBeCloseTo(5, 9);
    expect(figures.rails.nested).toMatchObject({ watts: expect.closeTo(1, 9) });
    expect(figures.reason).toBe("two of three");
  });
});

describe("windows that are refused", () => {
  test("shorter than a second", () => {
    const bench = new Bench({ main: () => 5 });
    const meter = createTestMeter(bench);
    bench.run(meter, 0.9);
    expect(meter.report({})).toMatchObject({
      available: false,
      reason: expect.stringContaining("at least 1 s"),
    });
    bench.run(meter, 0.2);
    expect(meter.report({}).available).toBe(true);
  });

  test("a rail of the total that is lost midway, with its reason, and its way back", () => {
    const bench = new Bench({ main: () => 5, other: () => 1 });
    const meter = createTestMeter(bench);
    bench.run(meter, 2);
    bench.failing.set("main", "main: the device was removed");
    bench.run(meter, 3);
    const lost = meter.recent(2);
    expect(lost).toMatchObject({
      available: false,
      reason: expect.stringContaining("the device was removed"),
    });
    expect("rails" in lost && lost.rails!.other).toMatchObject({ available: true });
    bench.failing.clear();
    bench.run(meter, 2);
    expect(available(meter.recent(1.5)).watts).toBeCloseTo(5, 9);
    // The run has three seconds without samples: no honest mean.
    expect(meter.sinceStart()).toMatchObject({
      available: false,
      reason: expect.stringContaining("were not sampled"),
    });
  });

  test("no total: the rule's own sentence, with the rails that can be read", () => {
    const total = { available: false, reason: "SOC was not found" } as const;
    const bench = new Bench({ gpu: () => 3 }, { total });
    const meter = createTestMeter(bench);
    bench.run(meter, 2);
    expect(meter.report({})).toMatchObject({
      available: false,
      reason: "SOC was not found",
      rails: { gpu: { watts: 3 } },
    });
  });

  test("no sensor: its reason, through every door", () => {
    const meter = new Meter({ sensor: { available: false, reason: "no power sensor" } });
    meter.start();
    meter.frame(1n);
    for (const result of [meter.recent(), meter.sinceStart(), meter.railEnergy("x", 0n, 1n)])
      expect(result).toEqual({ available: false, reason: "no power sensor" });
    meter.close();
  });

  test("a window that begins before the kept samples; the sums since the start stay whole", () => {
    const bench = new Bench({ main: (t) => 5 + t });
    const meter = createTestMeter(bench, { capacity: 100 });
    bench.run(meter, 10);
    const from = bench.at(2);
    expect(meter.report({ fromNs: from })).toMatchObject({
      available: false,
      reason: expect.stringContaining("kept"),
    });
    expect(available(meter.sinceStart()).joules).toBeCloseTo(5 * 10 + 50, 6);
  });
});

describe("frames", () => {
  test("gross and net joules per frame, fps per watt, disparities per joule, joined by capture time", async () => {
    // Idle 4 W for 5 s, then 10 W with 30 frames a second.
    const bench = new Bench({ main: (t) => (t < 5 ? 4 : 10) });
    const meter = createTestMeter(bench);
    bench.run(meter, 5);
    expect(meter.setIdleBaseline(bench.at(0.5), bench.at(4.5))).toBeCloseTo(4, 9);
    for (let i = 0; i < 300; i++) meter.frame(bench.at(6 + i / 30));
    bench.run(meter, 11);
    const figures = available(
      meter.report({ fromNs: bench.at(6), toNs: bench.at(16), megaDisparitiesPerFrame: 39.3216 }),
    );
    expect(figures.frames).toBe(300);
    expect(figures.watts).toBeCloseTo(10, 9);
    expect(figures.idleWatts).toBeCloseTo(4, 9);
    expect(figures.joulesPerFrame).toBeCloseTo(10 / 30, 9);
    expect(figures.joulesPerFrameNet).toBeCloseTo(6 / 30, 9);
    expect(figures.fpsPerWatt).toBeCloseTo(3, 9);
    expect(figures.mdePerJoule).toBeCloseTo((39.3216 * 30) / 10, 6);
  });

  test("a restart leaves the idle time out of the run and keeps the baseline", () => {
    const bench = new Bench({ main: (t) => (t < 5 ? 4 : 10) });
    const meter = createTestMeter(bench);
    bench.run(meter, 4.9);
    meter.frame(bench.nowNs);
    meter.setIdleBaseline(bench.at(0.5), bench.at(4.5));
    bench.nowNs = bench.at(5);
    meter.restart();
    bench.run(meter, 2);
    expect(available(meter.sinceStart())).toMatchObject({
      watts: expect.closeTo(10, 9),
      idleWatts: expect.closeTo(4, 9),
      frames: 0,
      windowSeconds: expect.closeTo(2, 6),
    });
  });

  test("what cannot be known says why and is never zero", () => {
    const bench = new Bench({ main: () => 5 });
    const meter = createTestMeter(bench);
    bench.run(meter, 2);
    const none = { available: false, reason: "no frame was captured in the window" };
    expect(available(meter.report({}))).toMatchObject({
      joulesPerFrame: none,
      fpsPerWatt: none,
      idleWatts: { available: false, reason: "no idle baseline was measured" },
    });
  });

  test("frames are counted by time, also after the ring went round", () => {
    const frames = new FrameTimes(8);
    for (const time of [1, 2, 3, 3, 4, 5, 6, 7, 8, 9]) frames.add(time);
    expect(frames.between(4, 9)).toBe(5);
    expect(frames.between(9, 100)).toBe(1);
    expect(frames.total).toBe(10);
  });

  test("a frame that was captured before its predecessor counts with it", () => {
    const frames = new FrameTimes(64);
    for (const time of [10, 20, 30, 40, 5, 50, 60, 70]) frames.add(time);
    expect([15, 25, 35, 41, 55, 100].map((to) => frames.between(0, to))).toEqual([1, 2, 3, 5, 6, 8]);
  });
});

describe("one rail by hand", () => {
  const S = 1e9;
  const ORIGIN = 7_000_000_000n;
  /** Takes readings (seconds, milliwatts or microjoules); the longest pause that is sampling is a second. */
  function series(kind: "power" | "energy", readings: [seconds: number, value: number][], capacity = 200) {
    const rail = { label: "r", sourcePath: "r", kind, step: kind === "power" ? 40 : 61, updateIntervalMs: 1 };
    const made = new RailSeries(rail, ORIGIN, S, capacity);
    for (const [seconds, value] of readings) {
      const reading = kind === "power" ? { powerMilliwatts: value } : { energyMicrojoules: BigInt(value) };
      const timestampNs = ORIGIN + BigInt(seconds * S);
      made.add({ available: true, timestampNs, ...reading }, timestampNs);
    }
    return made;
  }
  const fail = (rail: RailSeries, seconds: number) =>
    rail.add({ available: false, reason: "unplugged" }, ORIGIN + BigInt(seconds * S));
  const RISING: [number, number][] = [[0, 1000], [1, 3000], [2, 3000]]; // biome-ignore format: three readings
  const refused = (reason: string) => ({ available: false, reason });

  test("power between readings is a straight line; uncertainty is the step's and the load's", () => {
    expect(series("power", RISING).between(0, 2 * S)).toEqual({
      available: true,
      joules: 5,
      watts: 2.5,
      wattsStandardUncertainty: expect.closeTo(Math.sqrt(0.04 ** 2 / 12 + 2 ** 2 / 2 / 2 ** 2), 9),
      samples: 2,
    });
    expect(series("power", RISING).between(0.5 * S, 1.5 * S)).toMatchObject({ joules: 2.75, samples: 1 });
  });

  test("a counter's energy is the rise; uncertainty is a step and an update at either end", () => {
    const counter = series("energy", [[0, 1_000_000], [1, 3_000_000], [2, 3_000_000]]); // biome-ignore format: three readings
    expect(counter.between(0, S)).toEqual({
      available: true,
      joules: 2,
      watts: 2,
      wattsStandardUncertainty: expect.closeTo(Math.sqrt((0.002 ** 2 + 0.000061 ** 2) / 6), 12),
      samples: 1,
    });
    expect(counter.between(0.5 * S, S)).toMatchObject({ joules: 1 });
    expect(counter.between(S, 2 * S)).toEqual(refused("r: the counter did not change for 1.0 s"));
    expect([counter.firstNs, counter.lastNs, counter.knownNs]).toEqual([0, 2 * S, S]);
    expect(counter.waitsFor(2 * S)).toBe("r: no reading for 1.0 s");
    const stopped = series("energy", [[0, 1_000_000], [1, 3_000_000], [2.1, 3_000_000]]); // biome-ignore format: three readings
    expect(stopped.waitsFor(2.1 * S)).toBe("r: the counter did not change for 1.1 s");
  });

  test("a window may end a second after the last reading", () => {
    const rail = series("power", RISING);
    expect(rail.between(0, 3 * S)).toMatchObject({ joules: 5 });
    const silent = "r: no reading for the last 1.0 s of the window";
    expect(rail.between(0, 3 * S + 1)).toEqual(refused(silent));
    fail(rail, 2.5);
    expect(rail.between(0, 3 * S + 1)).toEqual(refused(`${silent}: unplugged`));
    expect(rail.waitsFor(3 * S)).toBe("r: unplugged");
    expect(rail.between(S, S)).toEqual(refused("r: fewer than two readings in the window"));
  });

  test("a longer pause than a second is a gap, which may be a hundredth of the window", () => {
    expect(series("power", [[0, 1000], [1, 1000]]).between(0, S)).toMatchObject({ joules: 1 }); // biome-ignore format: two readings
    const paused = series("power", [[0, 1000], [1.5, 1000], [2, 1000]]); // biome-ignore format: three readings
    expect(paused.between(0, 2 * S)).toEqual(refused("r: 1.5 s of 2.0 s were not sampled"));
    expect(paused.between(1.5 * S, 2 * S)).toMatchObject({ joules: 0.5 });
    const pausedLater = series("power", [[0, 1000], [1, 1000], [3, 1000]]); // biome-ignore format: three readings
    expect(pausedLater.between(0, S)).toMatchObject({ joules: 1 });
    const sum = { joules: 0, variance: 0 };
    expect(paused.addEnergy(0, S, sum)).toBe("r: not sampled for 1.5 s");
    const long: [number, number][] = Array.from({ length: 150 }, (_, second) => [second, 1000]);
    const later = (seconds: number) =>
      series("power", [...long, [149 + seconds, 1000]]).sinceStart((149 + seconds) * S);
    expect(later(1.5)).toMatchObject({ joules: expect.closeTo(150.5, 9) });
    expect(later(1.51)).toEqual(refused("r: 1.5 s of 150.5 s were not sampled"));
    const hundredth = series("power", [...long.slice(0, 149), [148.5, 1000], [150, 1000]]);
    expect(hundredth.between(0, 150 * S)).toMatchObject({ joules: 150 });
  });

  test("without a reading nothing is known; the reason is the failure's, if there was one", () => {
    const rail = series("power", []);
    const sum = { joules: 0, variance: 0 };
    expect([rail.taken, rail.firstNs, rail.lastNs, rail.knownNs]).toEqual([
      0,
      Number.NaN,
      Number.NaN,
      -Infinity,
    ]);
    expect(rail.between(0, S)).toEqual(refused("r: no reading yet"));
    expect(rail.sinceStart(S)).toEqual(refused("r: no reading yet"));
    expect(rail.waitsFor(S)).toBe("r: no reading yet");
    expect(rail.addEnergy(0, S, sum)).toBe("r: no reading before the frame");
    fail(rail, 1);
    expect(rail.between(0, S)).toEqual(refused("unplugged"));
    expect(rail.sinceStart(S)).toEqual(refused("unplugged"));
    expect(rail.waitsFor(S)).toBe("r: unplugged");
    expect(sum).toEqual({ joules: 0, variance: 0 });
  });

  test("one reading has a time and no energy; a failure up to its time is past", () => {
    const rail = series("power", [[5, 1000]]);
    fail(rail, 5);
    expect([rail.taken, rail.firstNs, rail.lastNs, rail.knownNs]).toEqual([1, 5 * S, 5 * S, 5 * S]);
    expect(rail.between(5 * S, 5 * S + 1)).toEqual(refused("r: fewer than two readings in the window"));
    expect(rail.between(5 * S, 6.5 * S)).toEqual(refused("r: no reading for the last 1.5 s of the window"));
    expect(rail.sinceStart(5 * S)).toEqual(refused("r: fewer than two readings in the window"));
    expect(rail.waitsFor(7 * S)).toBe("r: no reading for 2.0 s");
    fail(rail, 5.5);
    expect(rail.waitsFor(7 * S)).toBe("r: unplugged");
  });

  test("a reading of the same moment changes nothing", () => {
    const twice = series("power", [[0, 1000], [0, 9000], [1, 1000], [1, 9000], [0.5, 9000], [2, 1000]]); // biome-ignore format: six readings
    expect(twice.taken).toBe(3);
    expect(twice.between(0, 2 * S)).toMatchObject({ joules: 2, samples: 2 });
  });

  // 1, 3, 7 and 5 W at 5, 6, 7 and 8 s: the steps are 2, 4 and -2 W. The step of a reading is 40 mW.
  test.each<[from: number, to: number, joules: number, squaredSteps: number, samples: number]>([
    [5, 8, 2 + 5 + 6, 4 + 16 + 4, 3],
    [4.5, 8.5, 2 + 5 + 6, 4 + 16 + 4, 3],
    [5, 5.5, 0.5 * 1.5, 4, 0],
    [5.5, 5.75, 0.25 * 2.25, 4, 0],
    [6.5, 7.5, 0.5 * 6 + 0.5 * 6.5, 16 + 4, 1],
    [7, 8, 6, 4, 1],
    // The step after a window that ends at a reading is not its own.
    [5, 7, 2 + 5, 4 + 16, 2],
  ])("power from %d to %d s", (from, to, joules, squaredSteps, samples) => {
    const rail = series("power", [[5, 1000], [6, 3000], [7, 7000], [8, 5000]]); // biome-ignore format: four readings
    const seconds = Math.min(to, 8) - Math.max(from, 5);
    const variance = 0.04 ** 2 / 12 + squaredSteps / 2 / Math.max(1, samples) ** 2;
    expect(rail.between(from * S, to * S)).toEqual({
      available: true,
      joules: expect.closeTo(joules, 9),
      watts: expect.closeTo(joules / seconds, 9),
      wattsStandardUncertainty: expect.closeTo(Math.sqrt(variance), 9),
      samples,
    });
  });

  test("a counter that rises by 2, 6 and 4 J is a straight line between each two readings", () => {
    const counter = series("energy", [[5, 1e6], [6, 3e6], [7, 9e6], [8, 13e6]]); // biome-ignore format: four readings
    const joules = (from: number, to: number) => {
      const energy = counter.between(from * S, to * S);
      return energy.available && energy.joules;
    };
    expect(joules(5, 8)).toBe(12);
    expect(joules(4.5, 8.5)).toBe(12);
    expect(joules(5.5, 6.5)).toBe(1 + 3);
    expect(joules(6.25, 7.5)).toBe(4.5 + 2);
    // A window that begins and ends at readings splits none: its variance is that of a step at either end.
    const step = 0.000061;
    for (const [from, to, expected, split] of [
      [6, 7, 6, 0],
      [5.5, 7, 7, 2 ** 2],
      [6, 7.5, 8, 4 ** 2],
    ] as const) {
      const sum = { joules: 0, variance: 0 };
      expect(counter.addEnergy(from * S, to * S, sum)).toBeUndefined();
      expect(sum.joules).toBe(expected);
      expect(sum.variance * 1e9).toBeCloseTo(((split + 2 * step ** 2) / 12) * 1e9, 6);
    }
  });

  test("of a ring of four readings the oldest is known, and a second before it", () => {
    const ring = series("power", [[0, 1000], [1, 1000], [2, 1000], [3, 1000], [4, 1000]], 4); // biome-ignore format: five readings
    const forgotten = refused("r: the window begins before the samples that are still kept");
    for (const from of [0.5, 0]) expect(ring.between(from * S, 4 * S)).toMatchObject({ joules: 3 });
    expect(ring.between(-1, 4 * S)).toEqual(forgotten);
    expect(ring.sinceStart(4 * S)).toMatchObject({ joules: 4, samples: 4 });
    const sum = { joules: 0, variance: 0 };
    expect(ring.addEnergy(S - 1, 2 * S, sum)).toBe("r: no reading before the frame");
    expect(ring.addEnergy(S, 2 * S, sum)).toBeUndefined();
    expect(sum.joules).toBe(1);
  });

  test("a frame's energy and variance", () => {
    const sum = { joules: 1, variance: 1 };
    expect(series("power", RISING).addEnergy(0.5 * S, 1.5 * S, sum)).toBeUndefined();
    expect(sum).toEqual({
      joules: 3.75,
      variance: expect.closeTo(1 + 0.04 ** 2 / 12 + 2 ** 2 / 2 / 2 ** 2, 9),
    });
    const counted = { joules: 0, variance: 0 };
    const counter = series("energy", [[0, 1_000_000], [1, 3_000_000], [2, 3_000_000], [3, 4_000_000]]); // biome-ignore format: four readings
    expect(counter.addEnergy(0.25 * S, 0.75 * S, counted)).toBeUndefined();
    expect(counted).toEqual({
      joules: 1,
      variance: expect.closeTo((2 * 2 ** 2 + 2 * 0.000061 ** 2) / 12, 12),
    });
    // A reading that repeats is no reading: the rise of 1 J is spread over two seconds.
    expect(counter.addEnergy(S, 2 * S, counted)).toBe("r: not sampled for 2.0 s");
    expect(series("power", [[0, 0], [1, 0]]).addEnergy(0, S, counted)).toBe("r: the sensor shows no energy"); // biome-ignore format: two readings
  });

  test("a total adds independent uncertainties, and needs all its rails", () => {
    const part = (watts: number, wattsStandardUncertainty: number | Unavailable, samples: number) => ({
      available: true as const,
      joules: 2 * watts,
      watts,
      wattsStandardUncertainty,
      samples,
    });
    const sum = {
      available: true,
      joules: 6,
      watts: 3,
      wattsStandardUncertainty: expect.closeTo(0.5, 12),
      samples: 4,
    };
    expect(sumOfRails([part(1, 0.3, 9), part(2, 0.4, 4)])).toEqual(sum);
    const unknown = { available: false as const, reason: "no step" };
    const wattsStandardUncertainty = unknown;
    expect(sumOfRails([part(1, unknown, 9), part(2, 0.4, 4)])).toEqual({ ...sum, wattsStandardUncertainty });
    expect(sumOfRails([part(1, 0.3, 9), unknown])).toEqual(unknown);
    expect(sumOfRails([undefined])).toEqual(refused("a rail of the total does not exist"));
  });
});

describe("conditions", () => {
  const steady: ContextSnapshot = {
    powerMode: "15W",
    onlineCores: 6,
    cpuKilohertz: { policy0: 1_510_400 },
    gpuMegahertz: 624,
    emcMegahertz: { available: false, reason: "not shown" },
    clocksLocked: true,
    tpcMask: 0,
    emcCapMegahertz: 2133,
    temperaturesCelsius: { cpu: 50 },
    fans: {},
    throttle: { "ina3221/oc3_event_cnt": 0 },
  };

  test("a window in which mode, clocks or throttle counters changed is marked, a steady one is not", () => {
    const bench = new Bench({ main: () => 5 });
    let now = steady;
    const meter = createTestMeter(bench, { readContext: () => now });
    bench.run(meter, 3);
    expect(available(meter.recent(2)).changed).toEqual([]);
    now = { ...steady, powerMode: "7W", gpuMegahertz: 408, throttle: { "ina3221/oc3_event_cnt": 2 } };
    bench.run(meter, 3);
    expect(available(meter.report({ fromNs: bench.at(0) })).changed).toEqual([
      "powerMode: 15W -> 7W",
      "gpuMegahertz: 624 -> 408",
      "throttle ina3221/oc3_event_cnt: 0 -> 2",
    ]);
    expect(available(meter.recent(1.5))).toMatchObject({ changed: [], context: { powerMode: "7W" } });
  });

  const none = { available: false, reason: "not shown" } as const;
  test.each<[part: Partial<ContextSnapshot>, before: unknown, same: unknown[], other: unknown]>([
    [{ powerMode: "15W" }, "powerMode", [none], "7W"],
    [{ onlineCores: 6 }, "onlineCores", [none, "6"], 5],
    [{ clocksLocked: true }, "clocksLocked", [none], false],
    [{ tpcMask: 4 }, "tpcMask", [none], 5],
    [{ emcCapMegahertz: 2133 }, "emcCapMegahertz", [none], 2134],
    [{ gpuMegahertz: 600 }, "gpuMegahertz", [none, 588, 612], 587],
    [{ emcMegahertz: 2000 }, "emcMegahertz", [none, 1960, 2040], 2041],
    [{ fans: { pwm: 1 } }, "fans", [{ pwm: 2 }], undefined],
    [{ temperaturesCelsius: { cpu: 50 } }, "temperaturesCelsius", [{ cpu: 90 }], undefined],
  ])(
    "%j is another condition only beyond its tolerance, and where both are known",
    (part, name, same, other) => {
      const key = name as keyof ContextSnapshot;
      const changes = (after: unknown) => contextChanges({ ...steady, ...part }, { ...steady, [key]: after });
      for (const after of same) expect(changes(after)).toEqual([]);
      const expected = other === undefined ? [] : [{ name, before: part[key], after: other }];
      expect(changes(other ?? part[key])).toEqual(expected);
    },
  );

  test("clocks of the cores may differ by a twentieth, throttle counters by nothing", () => {
    const before = { ...steady, cpuKilohertz: { policy0: 1_000_000, policy4: 500_000 }, throttle: { oc: 0 } };
    const changes = (policy0: number, oc: number) =>
      contextChanges(before, { ...before, cpuKilohertz: { policy0, policy4: 500_000 }, throttle: { oc } });
    expect([changes(1_050_000, 0), changes(950_000, 0)]).toEqual([[], []]);
    expect(changes(1_050_001, 1)).toEqual([
      { name: "cpuKilohertz policy0", before: 1_000_000, after: 1_050_001 },
      { name: "throttle oc", before: 0, after: 1 },
    ]);
  });

  test("are read once a second, and kept for ten minutes", () => {
    let rises = 0;
    const history = new ContextHistory(() => ({ ...steady, throttle: { oc: rises++ } }));
    const second = 1e9;
    for (const atNs of [0, second - 1, second, 2 * second]) history.sample(atNs);
    expect(rises).toBe(3);
    const missing = { available: false, reason: "the conditions were not recorded in this window" };
    const within = (from: number, to: number) => history.within(from * second, to * second);
    // The snapshot of the second before the window counts, an older one does not.
    expect(within(1, 1)).toMatchObject({ context: { throttle: { oc: 1 } }, changed: [] });
    expect(within(0.9, 1).changed).toEqual(["throttle oc: 0 -> 1"]);
    expect(within(0, 2)).toMatchObject({
      context: { throttle: { oc: 2 } },
      changed: ["throttle oc: 0 -> 2"],
    });
    expect(within(3, 4)).toEqual({ context: missing, changed: [] });
    for (let atSecond = 3; atSecond <= 700; atSecond++) history.sample(atSecond * second);
    expect(within(0, 101)).toMatchObject({ context: { throttle: { oc: 101 } } });
    expect(within(0, 100).context).toEqual(missing);
  });
});

describe("sampling", () => {
  test("the sensor's own interval bounds the rate", () => {
    const sensor = new Bench({ main: () => 5 }, { updateIntervalMs: 140 });
    expect(new Meter({ sensor, rateHz: 100 }).rateHz).toBeCloseTo(1000 / 140, 9);
    expect(new Meter({ sensor: new Bench({ main: () => 5 }), rateHz: 100 }).rateHz).toBe(100);
  });

  test("readings that are not newer are left out", () => {
    const bench = new Bench({ main: (t) => t });
    const meter = createTestMeter(bench);
    bench.run(meter, 2, 500);
    for (let i = 0; i < 10; i++) meter.sample();
    expect(meter.railEnergy("main", bench.at(0), bench.at(2))).toMatchObject({
      joules: expect.closeTo(2, 9),
    });
  });

  test.each([
    // Half a second, ten periods of reading, or three intervals of the sensor, whichever is longest.
    [100, [undefined, undefined], 100, [500, 500]],
    [10, [undefined], 10, [1000]],
    [100, [20, 300], 50, [500, 900]],
    [undefined, [undefined, 100], 50, [500, 500]],
  ])(
    "at %s Hz with intervals of %j ms it reads at %d Hz, and a reading holds for %j ms",
    (rateHz, intervals, rate, limits) => {
      const bench = new Bench(Object.fromEntries(intervals.map((_, i) => [`r${i}`, () => 5])));
      for (const [i, updateIntervalMs] of intervals.entries())
        bench.rails[i] = { ...bench.rails[i]!, updateIntervalMs };
      const meter = new Meter({ sensor: bench, clock: () => bench.nowNs, ...(rateHz && { rateHz }) });
      expect(meter.rateHz).toBe(rate);
      bench.run(meter, 1, 500);
      for (const [i, limit] of limits.entries()) {
        const last = bench.nowNs + BigInt(limit) * 1_000_000n;
        expect(meter.railEnergy(`r${i}`, bench.at(0), last)).toMatchObject({ joules: expect.closeTo(5, 9) });
        expect(meter.railEnergy(`r${i}`, bench.at(0), last + 1n)).toEqual({
          available: false,
          reason: `r${i}: no reading for the last ${(limit / 1000).toFixed(1)} s of the window`,
        });
      }
    },
  );

  test("ten minutes of readings are kept", () => {
    const bench = new Bench({ main: () => 5 });
    const meter = new Meter({ sensor: bench, clock: () => bench.nowNs, rateHz: 1 });
    bench.run(meter, 600, 1000);
    // 601 readings: the one of second 0 is gone, and that of second 1 holds for ten seconds before it.
    expect(meter.railEnergy("main", bench.at(-9), bench.at(600))).toMatchObject({
      joules: expect.closeTo(5 * 599, 6),
    });
    expect(meter.railEnergy("main", bench.at(-9) - 1n, bench.at(600))).toEqual({
      available: false,
      reason: "main: the window begins before the samples that are still kept",
    });
  });

  test("a window without times is five seconds long, needs one, and ends with a fresh reading", () => {
    const bench = new Bench({ main: () => 5 });
    const meter = createTestMeter(bench);
    expect(meter.report({ toNs: bench.at(3) })).toMatchObject({
      available: false,
      reason: "main: no reading yet",
    });
    bench.run(meter, 0.5);
    expect(meter.sinceStart()).toMatchObject({ reason: "needs a window of at least 1 s, has 0.50 s" });
    expect(meter.report({ fromNs: bench.at(0.4), toNs: bench.at(0.2) })).toMatchObject({
      reason: "needs a window of at least 1 s, has 0.00 s",
    });
    // Captured before the first reading, inside the last five seconds, and after the window's end.
    for (const second of [-1, 3, 5, 7.9, 8.2]) meter.frame(bench.at(second));
    bench.run(meter, 7.5);
    const { windowSeconds, frames, joules } = available(meter.recent());
    expect([windowSeconds, frames]).toEqual([5, 3]);
    expect(joules).toBeCloseTo(25, 9);
    const since = meter.sinceStart();
    expect(since).toMatchObject({ windowSeconds: 8, frames: 5, joules: expect.closeTo(40, 9) });
    expect(meter.report({ toNs: bench.at(1) })).toMatchObject({ available: true, windowSeconds: 1 });
    expect(meter.report({ toNs: bench.at(1) - 1n })).toMatchObject({ available: false });
    // 0.25 s after the last reading each of the two takes another one.
    const taken = () => (available(meter.report({})).rails.main as { samples: number }).samples;
    const before = taken();
    bench.nowNs += SECOND / 4n;
    meter.recent();
    expect(taken()).toBe(before + 1);
    bench.nowNs += SECOND / 4n;
    meter.sinceStart();
    expect(taken()).toBe(before + 2);
  });

  test("the whole report of a window of two rails", () => {
    const bench = new Bench(
      { a: () => 6, b: () => 2 },
      { total: { rails: ["a", "b"], reason: "both" }, step: 40 },
    );
    const meter = createTestMeter(bench);
    bench.run(meter, 4);
    for (let i = 0; i < 8; i++) meter.frame(bench.at(2 + i / 4));
    const why = {
      available: false,
      reason: "readings are taken on the JavaScript thread, whose time is shared with everything else",
    };
    const none = (reason: string) => ({ available: false, reason });
    // A step of 40 mW is an even spread of 40 / sqrt(12) mW; twice that for each rail, sqrt(2) of it for both.
    const [one, both] = [0.08 / Math.sqrt(12), (0.08 * Math.SQRT2) / Math.sqrt(12)];
    const rail = (watts: number) => ({
      available: true,
      watts: expect.closeTo(watts, 9),
      joules: expect.closeTo(2 * watts, 9),
      wattsUncertainty: expect.closeTo(one, 9),
      samples: 200,
    });
    expect(meter.report({ fromNs: bench.at(2) })).toEqual({
      available: true,
      reason: "both",
      sensor: "bench",
      watts: expect.closeTo(8, 9),
      wattsUncertainty: expect.closeTo(both, 9),
      idleWatts: none("no idle baseline was measured"),
      joules: expect.closeTo(16, 9),
      joulesPerFrame: expect.closeTo(2, 9),
      joulesPerFrameNet: none("no idle baseline was measured"),
      fpsPerWatt: expect.closeTo(0.5, 9),
      mdePerJoule: none("the number of disparities per frame was not given"),
      rails: { a: rail(6), b: rail(2) },
      windowSeconds: 2,
      frames: 8,
      sampling: { rateHz: 100, by: "timer", userPercent: why, busReadPercent: why, timerPercent: why },
      context: none("the conditions were not asked for"),
      changed: [],
    });
  });

  test("the idle power is measured while nothing runs, by a timer that is stopped if it was not on before", async () => {
    const bench = new Bench({ main: (t) => (t < 3 ? 4 : 10) });
    const read = vi.spyOn(bench, "read");
    const meter = createTestMeter(bench);
    const intervals = vi.spyOn(globalThis, "setInterval");
    const clears = vi.spyOn(globalThis, "clearInterval");
    const started = () => [intervals.mock.calls.length, clears.mock.calls.filter(([timer]) => timer).length];
    const aborted = new AbortController();
    const given = meter.measureIdle(60, aborted.signal);
    aborted.abort();
    expect(await given).toEqual({ available: false, reason: "no idle baseline was measured" });
    expect(started()).toEqual([1, 1]);
    const measured = meter.measureIdle(0.001);
    bench.run(meter, 2);
    const before = read.mock.calls.length;
    expect(await measured).toBeCloseTo(4, 9);
    expect([meter.idleWatts, started()]).toEqual([await measured, [2, 2]]);
    // A last reading is taken at the end.
    expect(read.mock.calls.length).toBeGreaterThan(before);
    bench.nowNs = bench.at(3);
    meter.start();
    const again = meter.measureIdle(0.001);
    bench.run(meter, 2);
    expect(await again).toBeCloseTo(10, 9);
    expect(started()).toEqual([3, 2]);
    const short = meter.measureIdle(0.001);
    expect(await short).toEqual({
      available: false,
      reason: "no idle baseline: needs a window of at least 1 s, has 0.00 s",
    });
    meter.close();
    const none = new Meter({ sensor: { available: false, reason: "no sensor" }, rateHz: 20 });
    expect(await none.measureIdle(60)).toEqual({ available: false, reason: "no idle baseline was measured" });
    expect(none.rateHz).toBe(20);
    // None of the timers keeps a process alive.
    expect(intervals.mock.results.map(({ value }) => (value as NodeJS.Timeout).hasRef())).toEqual([
      false,
      false,
      false,
    ]);
    for (const spy of [intervals, clears]) spy.mockRestore();
  });

  test("a restart forgets the frame before it", () => {
    const bench = new Bench({ main: () => 5 });
    const meter = createTestMeter(bench);
    bench.run(meter, 2);
    meter.frame(bench.at(0.5));
    expect(meter.frame(bench.at(1))).toMatchObject({
      joules: expect.closeTo(2.5, 9),
      seconds: 0.5,
      ageMs: 0,
    });
    meter.restart();
    bench.run(meter, 2);
    expect(meter.frame(bench.at(3))).toEqual({
      available: false,
      reason: "the first frame has no frame before it",
    });
    expect(meter.frame(bench.at(3.5))).toMatchObject({ joules: expect.closeTo(2.5, 9) });
  });

  test("on the real clock: a timer reads, and closing closes the sensor", async () => {
    const sensor = new Bench({ main: () => 5 });
    sensor.read = () => [{ available: true, timestampNs: process.hrtime.bigint(), powerMilliwatts: 5000 }];
    const meter = new Meter({ sensor, rateHz: 100 });
    const idle = await meter.measureIdle(1.2);
    expect(idle).toBeCloseTo(5, 6);
    meter.close();
    expect(sensor.closed).toBe(true);
  });
});

describe("who reads", () => {
  beforeEach(
    () => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] }),
  );
  afterEach(() => void vi.useRealTimers());

  /** A bench of one rail that a native thread could read. */
  function sampledBench() {
    const bench = new Bench({ main: () => 5 });
    const sources: SampleSource[] = [{ file: "power1_input" }];
    bench.rails[0] = Object.assign(bench.rails[0]!, {
      sources,
      decode: ([powerMilliwatts]: number[], timestampNs: bigint) => ({
        available: true,
        timestampNs,
        powerMilliwatts,
      }),
    });
    const read = vi.spyOn(bench, "read");
    return { bench, read };
  }

  test("a timer, one at a time, and none after stop()", () => {
    const { bench, read } = sampledBench();
    const meter = new Meter({ sensor: bench, clock: () => bench.nowNs, rateHz: 100 });
    const reads = (ms: number) => {
      read.mockClear();
      vi.advanceTimersByTime(ms);
      return read.mock.calls.length;
    };
    expect(reads(100)).toBe(0);
    meter.start();
    expect(read).toHaveBeenCalledTimes(1);
    expect(reads(1000)).toBe(100);
    meter.start();
    expect(reads(1000)).toBe(100);
    meter.stop();
    expect(reads(1000)).toBe(0);
    meter.start();
    expect(reads(1000)).toBe(100);
    meter.close();
    expect([reads(1000), bench.closed]).toEqual([0, true]);
  });

  test("the native thread where there is one, emptied five times a second and at the end", () => {
    const { bench, read } = sampledBench();
    const calls: unknown[] = [];
    let drains = 0;
    /** Each emptying finds one reading of 7 W, half a second after the last one. */
    const native = {
      createSampler: (options: object) => {
        calls.push(options);
        return {
          available: true,
          originNs: bench.at(0),
          drain: (rows: Float64Array) => {
            rows.set([drains * 0.5e9 - 10, drains * 0.5e9 + 10, 7000, 0]);
            drains++;
            return 1;
          },
          cost: () => ({ wallSeconds: 20, ownSeconds: 0.2, readSeconds: 0.6, timerSeconds: 0.1 }),
          stop: () => calls.push("stop"),
        };
      },
    } as unknown as PowerNative;
    const meter = new Meter({ sensor: bench, clock: () => bench.nowNs, rateHz: 100, native });
    meter.start();
    expect(calls.splice(0)).toEqual([
      { sources: [{ file: "power1_input" }], periodNs: 10_000_000, capacityRows: 4096 },
    ]);
    expect(drains).toBe(1);
    vi.advanceTimersByTime(199);
    expect(drains).toBe(1);
    vi.advanceTimersByTime(801);
    expect(drains).toBe(6);
    bench.nowNs = bench.at(2.5);
    expect(meter.report({})).toMatchObject({
      watts: 7,
      joules: 17.5,
      windowSeconds: 2.5,
      sampling: { rateHz: 100, by: "native thread", userPercent: 1, busReadPercent: 3, timerPercent: 0.5 },
    });
    expect([drains, calls]).toEqual([6, []]);
    meter.stop();
    expect([drains, calls]).toEqual([7, ["stop"]]);
    expect(meter.railEnergy("main", bench.at(0), bench.at(3))).toMatchObject({ joules: 21 });
    vi.advanceTimersByTime(1000);
    meter.stop();
    expect([drains, calls.length, read.mock.calls.length]).toEqual([7, 1, 0]);
    meter.close();
  });

  test.each([
    ["refuses", true, 1],
    ["cannot read this sensor", false, 0],
  ])("a timer where the native thread %s", (_, isSampled, asked) => {
    const { bench, read } = isSampled
      ? sampledBench()
      : { bench: new Bench({ main: () => 5 }), read: undefined };
    const reads = read ?? vi.spyOn(bench, "read");
    const createSampler = vi.fn(() => ({ available: false, reason: "no thread" }));
    const native = { createSampler } as unknown as PowerNative;
    const meter = new Meter({ sensor: bench, clock: () => bench.nowNs, rateHz: 100, native });
    meter.start();
    vi.advanceTimersByTime(100);
    expect([createSampler.mock.calls.length, reads.mock.calls.length]).toEqual([asked, 11]);
    meter.close();
  });
});

describe("a sensor that appears late", () => {
  beforeEach(
    () => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] }),
  );
  afterEach(() => void vi.useRealTimers());

  test("is found by looking again, and measured from then on", () => {
    const bench = new Bench({ main: () => 5 });
    const none = { available: false as const, reason: "no INA3221 yet" };
    let tries = 0;
    const reopen = () => (++tries < 3 ? none : bench);
    const meter = new Meter({ sensor: none, reopen, clock: () => bench.nowNs, rateHz: 100 });
    meter.start();
    vi.advanceTimersByTime(10_000);
    expect(meter.recent()).toEqual(none);
    vi.advanceTimersByTime(5000);
    expect(meter.sensor).toBe(bench);
    bench.run(meter, 3);
    expect(available(meter.recent(2)).watts).toBeCloseTo(5, 6);
    vi.advanceTimersByTime(600_000);
    expect(tries).toBe(3);
    meter.close();
    expect(bench.closed).toBe(true);
  });

  test("replaces one without a total; a sensor that is no better is closed", () => {
    const total = { available: false as const, reason: "VDD_SOC was not found" };
    const part = new Bench({ main: () => 1 }, { total, updateIntervalMs: 140 });
    const same = new Bench({ main: () => 1 }, { total });
    const whole = new Bench({ main: () => 5 });
    const found = [same, whole];
    const meter = new Meter({ sensor: part, reopen: () => found.shift()!, clock: () => whole.nowNs });
    meter.start();
    vi.advanceTimersByTime(5000);
    expect([meter.sensor === part, same.closed]).toEqual([true, true]);
    vi.advanceTimersByTime(5000);
    expect([meter.sensor === whole, part.closed]).toEqual([true, true]);
    // The new sensor is read at its own rate, and the old one no more.
    const [reads, olds] = [vi.spyOn(whole, "read"), vi.spyOn(part, "read")];
    vi.advanceTimersByTime(1000);
    expect([reads.mock.calls.length, olds.mock.calls.length]).toEqual([50, 0]);
    meter.close();
  });

  test("is looked for once a minute in the end, and not after close()", () => {
    let tries = 0;
    const none = { available: false as const, reason: "none" };
    const reopen = () => {
      tries++;
      return none;
    };
    const meter = new Meter({ sensor: none, reopen });
    meter.start();
    vi.advanceTimersByTime(60_000);
    expect(tries).toBe(12);
    vi.advanceTimersByTime(59_999);
    expect(tries).toBe(12);
    vi.advanceTimersByTime(540_001);
    expect(tries).toBe(22);
    meter.stop();
    vi.advanceTimersByTime(600_000);
    expect(tries).toBe(22);
    // It looks quickly again after another start.
    meter.start();
    vi.advanceTimersByTime(10_000);
    expect(tries).toBe(24);
    meter.close();
    vi.advanceTimersByTime(600_000);
    expect(tries).toBe(24);
  });
});

describe("clocks of a board", () => {
  const GPU = "sys/devices/platform/17000000.gpu/devfreq_dev";

  test("are locked where devfreq's minimum is its maximum; the mode's mask and cap are read", () => {
    using tree = new SysfsTree();
    expect(readContext({ root: tree.root })).toMatchObject({
      clocksLocked: { available: false },
      tpcMask: { available: false },
      emcCapMegahertz: { available: false },
    });
    tree.write({
      [`${GPU}/min_freq`]: "306000000\n",
      [`${GPU}/max_freq`]: "624750000\n",
      [`${GPU}/cur_freq`]: "306000000\n",
      "sys/devices/platform/gpu.0/tpc_pg_mask": "252\n",
      "sys/kernel/nvpmodel_clk_cap/emc": "2133000000\n",
    });
    const before = readContext({ root: tree.root });
    expect(before).toMatchObject({
      clocksLocked: false,
      tpcMask: 252,
      emcCapMegahertz: 2133,
      gpuMegahertz: 306,
    });
    tree.write({ [`${GPU}/min_freq`]: "624750000\n", "sys/kernel/nvpmodel_clk_cap/emc": "0\n" });
    const after = readContext({ root: tree.root });
    expect(after).toMatchObject({ clocksLocked: true, emcCapMegahertz: { available: false } });
    expect(contextChanges(before, after)).toEqual([{ name: "clocksLocked", before: false, after: true }]);
  });

  test("the power mode of a board is known once nvpmodel has written its files", () => {
    using tree = new SysfsTree();
    expect(readContext({ root: tree.root }).powerMode).toMatchObject({ available: false });
    tree.write({
      "etc/nvpmodel.conf": "< POWER_MODEL ID=2 NAME=25W >\n",
      "var/lib/nvpmodel/status": "pmode:0002\n",
    });
    expect(readContext({ root: tree.root }).powerMode).toBe("25W");
  });
});
