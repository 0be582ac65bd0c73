// SPDX-License-Identifier: Apache-2.0
// Clocks that cameras of a board share, against a simulated machine: a counter that leads, drifts and wraps, slews of
// CLOCK_MONOTONIC, steps of CLOCK_REALTIME.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { needs } from "../../../test/doubles/needs.js";
import { Random } from "../../../test/doubles/random.js";
import { BusClocks, type HostClocks, hostClocks } from "../src/pair/bus-clock.js";
import { DeviceClock } from "../src/pair/device-clock.js";
import { video } from "./fake-video/helpers.js";

const MS = 1e6;
const SECOND = 1e9;
const BUS = "platform:tegra-capture-vi";
const START = 500 * SECOND;

/** A machine whose clocks are functions of CLOCK_MONOTONIC, in numbers: exact below 104 days. */
interface Machine {
  nowNs: number;
  /** The counter that stamps images. */
  tscNs(monotonicNs: number): number;
  rawNs(monotonicNs: number): number;
  realtimeNs(monotonicNs: number): number;
}

const machine = (changes: Partial<Machine> = {}): Machine => ({
  nowNs: START,
  tscNs: (ns) => ns + 29 * SECOND,
  rawNs: (ns) => ns,
  realtimeNs: (ns) => ns + 1_790_000 * SECOND,
  ...changes,
});

/** Numbers from 0 to 1. */
function uniform(seed: number): () => number {
  const generator = new Random(seed);
  return () => generator.whole(0, 1e6) / 1e6;
}

const big = (ns: number) => BigInt(Math.round(ns));

/** @param known how the machine's counter can be read */
function simulatedHost(simulated: Machine, known: "counter" | "offset_ns" | "nothing"): HostClocks {
  const { nowNs, tscNs, rawNs } = simulated;
  return {
    clocks: () => ({
      monotonicNs: big(simulated.nowNs),
      realtimeNs: big(simulated.realtimeNs(simulated.nowNs)),
    }),
    counter: () => ({
      monotonicNs: big(simulated.nowNs),
      rawNs: big(rawNs(simulated.nowNs)),
      bracketNs: 100,
      ...(known === "counter" ? { counterNs: big(tscNs(simulated.nowNs)) } : { unavailable: "not readable" }),
    }),
    ...(known === "offset_ns" && { kernelLeadNs: big(tscNs(nowNs) - rawNs(nowNs)) }),
  };
}

/** A camera that stamps with `stampNs`, flagged CLOCK_MONOTONIC unless it says otherwise. */
class Camera {
  readonly clock: DeviceClock;
  readonly #words = new Uint32Array(4);
  readonly #times = new BigInt64Array(this.#words.buffer);

  constructor(
    readonly simulated: Machine,
    readonly stampNs: (monotonicNs: number) => number,
    host: HostClocks,
    buses: BusClocks,
    bus: string,
    readonly monotonic = true,
  ) {
    this.clock = new DeviceClock(host, buses.forBus(bus));
  }

  /** An image of `capturedNs` arrives. @returns error of its capture time, ns */
  errorNs(capturedNs: number, arrivalNs: number): number {
    this.simulated.nowNs = arrivalNs;
    this.#times[0] = big(this.stampNs(capturedNs));
    this.#times[1] = big(arrivalNs);
    const ageNs = this.clock.follow(this.#words, 0, this.monotonic);
    return arrivalNs - ageNs - capturedNs;
  }
}

function openPair(simulated: Machine, known: "counter" | "offset_ns" | "nothing", stampNs = simulated.tscNs) {
  const host = simulatedHost(simulated, known);
  const buses = new BusClocks(host);
  const left = new Camera(simulated, stampNs, host, buses, `${BUS}:0`);
  const right = new Camera(simulated, stampNs, host, buses, `${BUS}:2`);
  return { left, right };
}

describe("stamps of the CPU's counter that are flagged CLOCK_MONOTONIC", () => {
  test.each([
    ["counter", 29],
    ["counter", 3],
    ["counter", 0.2],
    ["offset_ns", 29],
    ["offset_ns", 400],
  ] as const)("%s known, %i s ahead: recognised at the first image, exact", (known, aheadSeconds) => {
    const { left, right } = openPair(machine({ tscNs: (ns) => ns + aheadSeconds * SECOND }), known);
    for (let i = 0; i < 100; i++) {
      const at = START + i * 33 * MS;
      expect(Math.abs(left.errorNs(at, at + 21 * MS))).toBeLessThanOrEqual(1);
      expect(Math.abs(right.errorNs(at, at + 24 * MS))).toBeLessThanOrEqual(1);
    }
    expect(left.clock.report).toMatchObject({
      origin: "tsc",
      bus: BUS,
      source: known,
      offsetMs: -aheadSeconds * 1e3,
      uncertaintyMs: 50e-6,
      jumps: 0,
    });
  });

  test("stamps that are CLOCK_MONOTONIC stay untouched next to a counter", () => {
    const simulated = machine();
    const { left } = openPair(simulated, "counter", (ns) => ns);
    // 34 ms in the future, as drivers stamp that predict the end of an image.
    expect(left.errorNs(START, START - 34 * MS)).toBe(0);
    expect(left.clock.report).toMatchObject({ origin: "monotonic", offsetMs: 0 });
  });

  test("a USB camera never stamps with the CPU's counter", () => {
    const simulated = machine();
    const host = simulatedHost(simulated, "counter");
    const usb = new Camera(simulated, simulated.tscNs, host, new BusClocks(host), "usb-0000:00:14.0-1");
    usb.errorNs(START, START + 20 * MS);
    expect(usb.clock.origin).toBe("device");
  });

  test.each([
    ["counter", 0.2],
    ["offset_ns", 0.2],
    ["nothing", 10],
  ] as const)(
    "%s known: a camera opened before a slew of NTP and one after it stay in step",
    (known, limitMs) => {
      // 500 ppm for 100 s, 50 ms in all: CLOCK_MONOTONIC is steered, the counter and CLOCK_MONOTONIC_RAW are not.
      const lag = (ns: number) => 500e-6 * Math.min(Math.max(ns - START - 10 * SECOND, 0), 100 * SECOND);
      const simulated = machine({ tscNs: (ns) => ns + 29 * SECOND - lag(ns), rawNs: (ns) => ns - lag(ns) });
      const { left, right } = openPair(simulated, known);
      const random = uniform(3);
      let [apart, worst] = [0, 0];
      for (let i = 0; i < 9000; i++) {
        const at = START + i * 33 * MS;
        const leftError = left.errorNs(at, at + (2 + 10 * random()) * MS);
        if (i < 4000) continue;
        const rightError = right.errorNs(at, at + (12 + 5 * random()) * MS);
        apart = Math.max(apart, Math.abs(rightError - leftError));
        worst = Math.max(worst, Math.abs(leftError));
      }
      expect(apart).toBeLessThan(1);
      expect(worst).toBeLessThan(limitMs * MS);
    },
  );
});

describe("a clock of the device about which nothing is known", () => {
  test("29 s ahead and 50 ppm fast over 24 hours: follows the shortest delays, both cameras in step", () => {
    const simulated = machine({ tscNs: (ns) => ns + 29 * SECOND + 50e-6 * (ns - START) });
    const { left, right } = openPair(simulated, "nothing");
    const random = uniform(7);
    let worst = 0;
    let apart = 0;
    let lastNs = 0;
    for (let i = 0; i < 24 * 3600 * 2; i++) {
      const at = START + i * 500 * MS;
      // At least 2 ms, seldom 300.
      const delay = () => (2 + 8 * random() + (random() < 0.01 ? 300 : 0)) * MS;
      const leftError = left.errorNs(at, at + delay());
      const rightError = right.errorNs(at, at + delay());
      apart = Math.max(apart, Math.abs(rightError - leftError));
      if (i > 400) worst = Math.max(worst, Math.abs(leftError - 2 * MS));
      if (at + leftError <= lastNs) throw new Error(`image ${i}: capture times fall`);
      lastNs = at + leftError;
    }
    expect(apart).toBeLessThan(1);
    expect(worst).toBeLessThan(0.6 * MS);
    const { origin, source, driftPpm, jumps } = left.clock.report!;
    expect({ origin, source, jumps }).toEqual({ origin: "device", source: "arrival", jumps: 0 });
    expect(driftPpm).toBeCloseTo(-50, 0);
  });

  test.each([0, 29])(
    "32 bits of microseconds, %i s ahead, wrap every 71 minutes: in step",
    (aheadSeconds) => {
      const wrap = (ns: number) => (Math.round((ns + aheadSeconds * SECOND) / 1e3) % 2 ** 32) * 1e3;
      const { left, right } = openPair(machine(), "nothing", wrap);
      const random = uniform(5);
      let [apart, worst] = [0, 0];
      for (let i = 0; i < 3 * 4300 * 10; i++) {
        const at = START + i * 100 * MS;
        const leftError = left.errorNs(at, at + (2 + 8 * random()) * MS);
        const rightError = right.errorNs(at, at + (2 + 8 * random()) * MS);
        apart = Math.max(apart, Math.abs(rightError - leftError));
        worst = Math.max(worst, Math.abs(leftError));
      }
      expect(apart).toBeLessThan(2);
      expect(worst).toBeLessThan(40 * MS);
      expect(left.clock.jumps).toBe(3);
    },
  );
});

test.each([37, -0.3, 0.004])(
  "CLOCK_REALTIME is set %i s ahead by PTP: capture times do not notice",
  (bySeconds) => {
    const setAt = START + 5 * SECOND + 10 * MS;
    const realtime = (ns: number) => ns + 1_790_000 * SECOND + (ns < setAt ? 0 : bySeconds * SECOND);
    const simulated = machine({ realtimeNs: realtime });
    const host = simulatedHost(simulated, "nothing");
    const camera = new Camera(simulated, realtime, host, new BusClocks(host), "usb-1", false);
    for (let i = 0; i < 300; i++) {
      const at = START + i * 33 * MS;
      // Images from before the step arrive after it too.
      expect(Math.abs(camera.errorNs(at, at + 25 * MS)), `image ${i}`).toBeLessThan(2 * MS);
    }
    expect(camera.clock.report).toMatchObject({ origin: "realtime", source: "clocks" });
  },
);

test("the kernel's file names the lead of the counter; a machine without it has none", () => {
  const root = mkdtempSync(join(tmpdir(), "clocksource-"));
  try {
    expect(hostClocks(video, root).kernelLeadNs).toBeUndefined();
    const folder = join(root, "sys/devices/system/clocksource/clocksource0");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "offset_ns"), "29000000123\n");
    expect(hostClocks(video, root).kernelLeadNs).toBe(29_000_000_123n);
  } finally {
    rmSync(root, { recursive: true });
  }
});

test("the addon's counter: what this CPU has, or why it has none", () => {
  const times = [process.hrtime.bigint(), video.clocks().monotonicNs];
  const { monotonicNs, bracketNs, counterNs, unavailable } = video.counter();
  times.push(monotonicNs, process.hrtime.bigint());
  expect(times.toSorted((a, b) => (a < b ? -1 : 1))).toEqual(times);
  const dates = [Date.now(), Number(video.clocks().realtimeNs) / MS, Date.now() + 1];
  expect(dates.toSorted((a, b) => a - b)).toEqual(dates);
  expect(bracketNs).toBeGreaterThanOrEqual(0);
  if (process.arch === "arm64") expect(counterNs).toBeGreaterThan(0n);
  else expect(unavailable).toContain("arm64");
});

needs("aarch64").suite("cntvct_el0, under emulation", () => {
  test("runs as fast as CLOCK_MONOTONIC_RAW and converts ticks without overflow", () => {
    const folder = mkdtempSync(join(tmpdir(), "counter-"));
    try {
      const native = new URL("../native", import.meta.url).pathname;
      const program = join(folder, "counter");
      const words = ["-std=c++17", "-O1", "-static", `-I${native}`, `${native}/counter.cc`];
      const main = new URL("counter_main.cc", import.meta.url).pathname;
      const built = spawnSync("aarch64-linux-gnu-g++", [...words, main, "-o", program], { encoding: "utf8" });
      expect(built.stderr).toBe("");
      const ran = spawnSync("qemu-aarch64-static", [program], { encoding: "utf8", timeout: 20_000 });
      expect(ran.stdout).toBe("ok\n");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe("the numbers of a trace are reproduced", () => {
  const step = (ns: number) =>
    (ns - START > 100 * SECOND ? (ns - START > 200 * SECOND ? -40 : 0.05) : 3) * SECOND;
  const REALTIME = { realtimeNs: (ns: number) => ns + 1_790_000 * SECOND + step(ns) };
  const hour = 3600 * SECOND;
  const traces: [
    string,
    Partial<Machine>,
    "counter" | "nothing",
    (ns: number) => number,
    string,
    boolean,
    string,
  ][] = [
    [
      "a counter that drifts",
      { tscNs: (ns) => 1.00004 * ns + SECOND },
      "counter",
      (ns) => 1.00004 * ns + SECOND,
      BUS,
      true,
      "57649722 57649722 10528 10528 0 -1035.9968 counter 0.00005 0",
    ],
    [
      "a device that drifts",
      {},
      "nothing",
      (ns) => 1.00003 * ns + 7 * SECOND,
      "usb-1",
      false,
      "240041488483 240041488483 20518840 20518840 0 -7006.996042 arrival 0.00142771039439 -29.9999923075 0",
    ],
    [
      "a device that falls behind",
      {},
      "nothing",
      (ns) => 0.99997 * ns + hour,
      "usb-1",
      true,
      "239231070431 239231070431 20514840 20514840 0 -3599953.004 arrival 0.00142126836104 29.9999999999 0",
    ],
    [
      "a device that begins again twice",
      {},
      "nothing",
      (ns) =>
        ns - START > 100 * SECOND ? ns - (ns - START > 140 * SECOND ? 5 * hour : hour) : ns + 9 * SECOND,
      "usb-1",
      false,
      "198114289152 198130599390 29758757 29758757 2 -8996.311238 arrival 0.655081466667 0 2",
    ],
    [
      "CLOCK_REALTIME, set twice",
      REALTIME,
      "nothing",
      REALTIME.realtimeNs,
      "usb-1",
      false,
      "0 0 0 0 0 -1789960000 clocks 0.001 1",
    ],
  ];
  test.each(traces)("%s", (_, changes, known, stampNs, bus, monotonic, expected) => {
    const simulated = machine(changes);
    const host = simulatedHost(simulated, known);
    const buses = new BusClocks(host);
    const cameras = [0, 1].map(
      (at) => new Camera(simulated, stampNs, host, buses, bus === BUS ? `${bus}:${at}` : bus, monotonic),
    );
    const next = uniform(99);
    const sums = [0, 0, 0, 0];
    for (let image = 0; image < 12_000; image++) {
      const capturedNs = START + Math.round((image * SECOND) / 30);
      for (const [at, camera] of cameras.entries()) {
        const error = camera.errorNs(
          capturedNs + 1000 * at,
          capturedNs + 20 * MS + Math.round(30 * MS * next() ** 4),
        );
        sums[at]! += error;
        sums[at + 2] = Math.max(sums[at + 2]!, Math.abs(error));
      }
    }
    const report = Object.values(cameras[1]!.clock.report!).slice(2);
    const figures = [...sums.map(Math.round), cameras[0]!.clock.jumps, ...report].map((figure) =>
      typeof figure === "number" ? Number(figure.toPrecision(12)) : figure,
    );
    expect(figures.join(" ")).toBe(expected);
  });
});
