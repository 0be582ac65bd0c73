// SPDX-License-Identifier: Apache-2.0
// Time stamps of drivers brought to one clock, wraps and jumps included; sequence numbers.
import { describe, expect, test } from "vitest";
import { lostBetween } from "../src/camera.js";
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

describe("jumps", () => {
  test("back on the machine's clock, the stamp is taken as it is and not as its arrival would have it", () => {
    const clock = new DeviceClock(clocks);
    const at = (ms: bigint) => 500n * SECOND + ms * MS;
    clock.toMonotonic(at(0n), at(5n), true);
    clock.toMonotonic(at(40n) + 3_000_000n * SECOND, at(45n), true);
    // Arrived 17 ms late this time, on a busy machine.
    expect(clock.toMonotonic(at(80n), at(97n), true)).toBe(at(80n));
    expect(clock.toMonotonic(at(120n), at(125n), true)).toBe(at(120n));
  });

  test("a device's clock that meets the machine's by chance stays a device's clock", () => {
    const clock = new DeviceClock(clocks);
    const at = (ms: bigint) => 500n * SECOND + ms * MS;
    clock.toMonotonic(77n * SECOND, at(0n), false);
    // It jumps to the machine's time, 12 ms before the image arrives: still bridged by the arrival.
    expect(clock.toMonotonic(at(28n), at(40n), false)).toBe(at(40n));
    expect(clock.toMonotonic(at(68n), at(80n), false)).toBe(at(80n));
    expect(clock.jumps).toBe(1);
  });

  test("one of a few seconds is bridged; one within a second is the camera's pause", () => {
    const clock = new DeviceClock(clocks);
    const at = (ms: bigint) => 500n * SECOND + ms * MS;
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
