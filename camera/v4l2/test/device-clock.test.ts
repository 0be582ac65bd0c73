// SPDX-License-Identifier: Apache-2.0
// Time stamps of drivers brought to one clock, wraps and jumps included; sequence numbers.
import { describe, expect, test } from "vitest";
import { lostBetween } from "../src/camera.js";
import { BusClock, type HostClocks } from "../src/pair/bus-clock.js";
import { DeviceClock } from "../src/pair/device-clock.js";

const MS = 1_000_000n;
const SECOND = 1_000_000_000n;
const clocks = () => ({ monotonicNs: 500n * SECOND, realtimeNs: 1_790_000_000n * SECOND });

/** Feeds stamps 40 ms apart, arriving 5 ms after each; returns the times on CLOCK_MONOTONIC. */
function feed(clock: DeviceClock, stampAt: (i: number) => bigint, monotonic: boolean, count = 10, from = 0) {
  return Array.from({ length: count }, (_, i) => {
    const arrival = 500n * SECOND + BigInt(from + i) * 40n * MS;
    return clock.toMonotonic(stampAt(from + i), arrival, monotonic);
  });
}

const steps = (times: bigint[]) => times.slice(1).map((time, i) => time - times[i]!);

describe("time stamps of drivers", () => {
  test("CLOCK_MONOTONIC stays untouched, also when it is in the future", () => {
    const clock = new DeviceClock(clocks);
    const times = feed(clock, (i) => 500n * SECOND + BigInt(i) * 40n * MS + 34n * MS, true);
    expect(clock.origin).toBe("monotonic");
    expect(times[3]).toBe(500n * SECOND + 154n * MS);
  });

  test("CLOCK_REALTIME is shifted by the difference of the clocks", () => {
    const clock = new DeviceClock(clocks);
    const times = feed(clock, (i) => 1_790_000_000n * SECOND + BigInt(i) * 40n * MS - 5n * MS, false);
    expect(clock.origin).toBe("realtime");
    expect(times[0]).toBe(500n * SECOND - 5n * MS);
  });

  test("the device's own clock begins at its arrival and is never younger than it", () => {
    const clock = new DeviceClock(clocks);
    const times = feed(clock, (i) => 7n * SECOND + BigInt(i) * (40n * MS + 400n), false);
    expect(clock.origin).toBe("device");
    expect(times[0]).toBe(500n * SECOND);
    for (const step of steps(times)) expect(Math.abs(Number(step - 40n * MS))).toBeLessThanOrEqual(400);
  });

  test("no stamp at all: the arrival is in", () => {
    const clock = new DeviceClock(clocks);
    const times = feed(clock, () => 0n, false);
    expect(clock.origin).toBe("arrival");
    expect(times[0]).toBe(500n * SECOND);
    expect(steps(times)).toEqual(Array(9).fill(40n * MS));
  });

  test("a 64-bit counter wraps without a trace", () => {
    const clock = new DeviceClock(clocks);
    const top = 1n << 63n;
    const times = feed(clock, (i) => BigInt.asIntN(64, top - 200n * MS + BigInt(i) * 40n * MS), true);
    expect(clock.jumps).toBe(0);
    expect(steps(times)).toEqual(Array(9).fill(40n * MS));
  });

  test("a jump, such as the wrap of 32-bit seconds, is bridged by the arrival and counted", () => {
    const clock = new DeviceClock(clocks);
    const wrap = (stamp: bigint) => BigInt.asUintN(32, stamp / SECOND) * SECOND + (stamp % SECOND);
    const start = (1n << 32n) * SECOND - 200n * MS;
    const times = feed(clock, (i) => wrap(start + BigInt(i) * 40n * MS), true);
    expect(clock.jumps).toBe(1);
    expect(steps(times)).toEqual(Array(9).fill(40n * MS));
  });

  test("back on the machine's clock after a jump, stamps are taken as they are again", () => {
    const clock = new DeviceClock(clocks);
    const real = (i: number) => 500n * SECOND + BigInt(i) * 40n * MS - 5n * MS;
    feed(clock, real, true, 5);
    feed(clock, (i) => real(i) + 3_000_000n * SECOND, true, 5, 5);
    const times = feed(clock, real, true, 5, 10);
    expect(times[0]).toBe(real(10));
    expect(clock.jumps).toBe(2);
  });
});

/** A moment on CLOCK_MONOTONIC. */
const at = (ms: bigint) => 500n * SECOND + ms * MS;

describe("the clock of the first stamp", () => {
  // An image is older than 10 s, or comes more than 1 s before its capture time, only by another clock.
  test.each([
    [10n * SECOND - 1n, "monotonic"],
    [10n * SECOND, "device"],
    [1n - SECOND, "monotonic"],
    [-SECOND, "device"],
  ] as const)("CLOCK_MONOTONIC makes the image %i ns old: %s", (ageNs, origin) => {
    const clock = new DeviceClock(clocks);
    clock.toMonotonic(at(0n) - ageNs, at(0n), true);
    expect(clock.origin).toBe(origin);
  });

  test.each([
    [10n * SECOND - 1n, false, "realtime"],
    [10n * SECOND, false, "device"],
    [0n, true, "device"],
  ] as const)(
    "CLOCK_REALTIME makes the image %i ns old, CLOCK_MONOTONIC named: %s: %s",
    (ageNs, named, origin) => {
      const clock = new DeviceClock(clocks);
      clock.toMonotonic(1_790_000_000n * SECOND - ageNs, at(0n), named);
      expect(clock.origin).toBe(origin);
    },
  );

  // The counter's stamps are its lead larger, so they make the image older by the lead than CLOCK_MONOTONIC does.
  test.each([
    ["the counter is nearer", 29n * SECOND, -29n * SECOND + 5n * MS, "tsc"],
    ["CLOCK_MONOTONIC is nearer", 29n * SECOND, 5n * MS, "monotonic"],
    ["both are as near", SECOND, -SECOND / 2n, "monotonic"],
    ["neither is near", -50n * SECOND, 100n * SECOND, "device"],
  ] as const)("a board with a counter, where %s", (_, leadNs, ageNs, origin) => {
    const host: HostClocks = {
      clocks,
      counter: () => ({ monotonicNs: at(0n), rawNs: at(0n), counterNs: at(0n) + leadNs, bracketNs: 100 }),
    };
    const clock = new DeviceClock(host, new BusClock(host, "platform:vi"));
    clock.toMonotonic(at(0n) - ageNs, at(0n), true);
    expect(clock.origin).toBe(origin);
  });

  test("is reported with its bus and its offset", () => {
    const report = (stampNs: bigint, monotonic: boolean) => {
      const clock = new DeviceClock(clocks, new BusClock({ clocks }, "usb-1"));
      expect(clock.report).toBeUndefined();
      clock.toMonotonic(stampNs, at(5n), monotonic);
      return clock.report;
    };
    const bus = "usb-1";
    expect(report(at(0n), true)).toEqual({ origin: "monotonic", bus, offsetMs: 0, jumps: 0 });
    expect(report(0n, false)).toEqual({ origin: "arrival", bus, offsetMs: 0, jumps: 0 });
    expect(report(1_790_000_000n * SECOND, false)).toEqual({
      origin: "realtime",
      bus,
      offsetMs: 500_000 - 1_790_000_000_000,
      source: "clocks",
      uncertaintyMs: 0.001,
      jumps: 0,
    });
    // The image is taken to be new at its arrival, 5 ms after 500 s.
    expect(report(7n * SECOND, false)).toEqual({
      origin: "device",
      bus,
      offsetMs: 493_005,
      source: "arrival",
      jumps: 0,
    });
  });
});

describe("jumps", () => {
  test("an age that stays the same is none, and neither is one that grows by 1 s", () => {
    const clock = new DeviceClock(clocks);
    clock.toMonotonic(at(0n), at(600n), true);
    expect(clock.toMonotonic(at(40n), at(640n), true)).toBe(at(40n));
    expect(clock.toMonotonic(at(80n), at(1680n), true)).toBe(at(80n));
    expect(clock.jumps).toBe(0);
    clock.toMonotonic(at(120n), at(2720n) + 1n, true);
    expect(clock.jumps).toBe(1);
  });

  test("after a pause of the machine, its clocks are believed: the image really is old", () => {
    const monotonic = new DeviceClock(clocks);
    const realtime = new DeviceClock(clocks);
    for (const [stampMs, arrivalMs] of [
      [0n, 5n],
      [40n, 3045n],
      [3080n, 3085n],
    ] as const) {
      expect(monotonic.toMonotonic(at(stampMs), at(arrivalMs), true)).toBe(at(stampMs));
      const stampNs = 1_790_000_000n * SECOND + stampMs * MS;
      expect(realtime.toMonotonic(stampNs, at(arrivalMs), false)).toBe(at(stampMs));
    }
    expect([monotonic.origin, realtime.origin]).toEqual(["monotonic", "realtime"]);
  });

  test("CLOCK_REALTIME was set: it is read again, and the arrival is not needed", () => {
    let setNs = 0n;
    const clock = new DeviceClock(() => ({
      monotonicNs: at(0n),
      realtimeNs: 1_790_000_000n * SECOND + setNs,
    }));
    const stamp = (ms: bigint) => 1_790_000_000n * SECOND + ms * MS + setNs;
    clock.toMonotonic(stamp(0n), at(5n), false);
    setNs = 37n * SECOND;
    expect(clock.toMonotonic(stamp(40n), at(57n), false)).toBe(at(40n));
    expect(clock.toMonotonic(stamp(80n), at(85n), false)).toBe(at(80n));
    expect(clock.report).toMatchObject({ origin: "realtime", offsetMs: 500_000 - 1_790_000_037_000 });
  });

  test.each([
    ["the same", 50n * MS - 1n, at(40n) - 50n * MS + 1n],
    ["another", 50n * MS, at(40n)],
  ])("the other camera of a bus has %s offset where it jumps by %i ns more", (_, moreNs, expected) => {
    const bus = new BusClock({ clocks }, "usb-1");
    const [left, right] = [new DeviceClock(clocks, bus), new DeviceClock(clocks, bus)];
    left.toMonotonic(at(0n), at(5n), true);
    right.toMonotonic(at(0n), at(9n), true);
    // Both had CLOCK_MONOTONIC and begin again, the left one 100 s earlier.
    expect(left.toMonotonic(at(40n) - 100n * SECOND, at(45n), true)).toBe(at(40n));
    // By the left camera's offset, or as old as its own image before.
    expect(right.toMonotonic(at(40n) - 100n * SECOND - moreNs, at(49n), true)).toBe(expected);
    expect([left.origin, right.origin]).toEqual(["device", "device"]);
  });

  test("a device's clock falls back by 5 s: bridged, for the image cannot be so old", () => {
    const clock = new DeviceClock(clocks);
    clock.toMonotonic(77n * SECOND, at(0n), false);
    expect(clock.toMonotonic(72n * SECOND + 40n * MS, at(40n), false)).toBe(at(40n));
    expect(clock.toMonotonic(72n * SECOND + 80n * MS, at(90n), false)).toBe(at(80n));
  });

  test.each([
    [30n * MS, at(120n)],
    [50n * MS - 1n, at(120n)],
    [50n * MS, at(170n)],
  ])(
    "a device's clock jumps and returns, %i ns late: its first offset fits again below 50 ms",
    (lateNs, expected) => {
      const clock = new DeviceClock(clocks);
      clock.toMonotonic(77n * SECOND, at(0n), false);
      clock.toMonotonic(82n * SECOND + 40n * MS, at(40n), false);
      expect(clock.toMonotonic(77n * SECOND + 120n * MS, at(120n) + lateNs, false)).toBe(expected);
      expect(clock.jumps).toBe(2);
    },
  );

  test("the bus's other camera jumps too: the first one's bridge fits", () => {
    const bus = new BusClock({ clocks }, "usb-1");
    const [left, right] = [new DeviceClock(clocks, bus), new DeviceClock(clocks, bus)];
    for (const clock of [left, right]) clock.toMonotonic(77n * SECOND, at(0n), false);
    expect(left.toMonotonic(82n * SECOND + 40n * MS, at(40n), false)).toBe(at(40n));
    expect(right.toMonotonic(82n * SECOND + 40n * MS, at(70n), false)).toBe(at(40n));
  });

  test("back on the machine's clock, the stamp is taken as it is and not as its arrival would have it", () => {
    const clock = new DeviceClock(clocks);
    clock.toMonotonic(at(0n), at(5n), true);
    clock.toMonotonic(at(40n) + 3_000_000n * SECOND, at(45n), true);
    // Arrived 17 ms late this time, on a busy machine.
    expect(clock.toMonotonic(at(80n), at(97n), true)).toBe(at(80n));
    expect(clock.toMonotonic(at(120n), at(125n), true)).toBe(at(120n));
    expect(clock.report).toEqual({ origin: "monotonic", bus: "", offsetMs: 0, jumps: 2 });
  });

  test("a device's clock that meets the machine's by chance stays a device's clock", () => {
    const clock = new DeviceClock(clocks);
    clock.toMonotonic(77n * SECOND, at(0n), false);
    // It jumps to the machine's time, 12 ms before the image arrives: still bridged by the arrival.
    expect(clock.toMonotonic(at(28n), at(40n), false)).toBe(at(40n));
    expect(clock.toMonotonic(at(68n), at(80n), false)).toBe(at(80n));
    expect(clock.jumps).toBe(1);
  });

  test("one of a few seconds is bridged; one within a second is the camera's pause", () => {
    const clock = new DeviceClock(clocks);
    const device = (ms: bigint) => 77n * SECOND + ms * MS;
    clock.toMonotonic(device(0n), at(0n), false);
    expect(clock.toMonotonic(device(40n), at(40n), false)).toBe(at(40n));
    expect(clock.toMonotonic(device(80n) + 5n * SECOND, at(80n), false)).toBe(at(80n));
    expect(clock.jumps).toBe(1);
    expect(clock.toMonotonic(device(120n) + 5n * SECOND, at(420n), false)).toBe(at(120n));
    expect(clock.jumps).toBe(1);
  });
});

describe("sequence numbers", () => {
  test.each([
    [0, 1, 0],
    [5, 9, 3],
    [0xffffffff, 0, 0],
    [0xfffffffe, 1, 2],
    [100, 0, 0],
    [7, 7, 0],
  ])("from %i to %i: %i lost", (previous, next, lost) => {
    expect(lostBetween(previous, next)).toBe(lost);
  });
});
