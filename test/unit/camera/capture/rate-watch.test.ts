// SPDX-License-Identifier: Apache-2.0
// A camera whose frames arrive at another rate than its driver reports.
import { expect, test } from "vitest";
import { RateWatch } from "../../../../camera/live/rate-watch.js";

/** Feeds frames at a rate and returns the warnings. */
function feed(watch: RateWatch, rateHz: number, frames: number, fromNs = 0, lostBefore = 0): string[] {
  const warnings: string[] = [];
  for (let i = 0; i < frames; i++) {
    const warning = watch.add(fromNs + (i * 1e9) / rateHz, i === 0 ? 0 : lostBefore);
    if (warning !== undefined) warnings.push(warning);
  }
  return warnings;
}

test("half the reported rate is reported once, with both figures", () => {
  expect(feed(new RateWatch("/dev/video0", 30), 15, 1000)).toEqual([
    "/dev/video0: the driver reports 30 Hz, frames arrive at 15 Hz. If they are slow, shorten the exposure time or forbid automatic exposure to lower the rate. A triggered sensor also halves the rate if pulses are too short or too close (on a Jetson: corr_err in dmesg).",
  ]);
});

test("frames that the driver counted and lost do not lower the rate", () => {
  expect(feed(new RateWatch("/dev/video0", 30), 15, 1000, 0, 1)).toEqual([]);
});

test("5 % off is no deviation, a pause is none after reset(), and 0 Hz is no report", () => {
  const watch = new RateWatch("/dev/video0", 30);
  expect(feed(watch, 28.5, 500)).toEqual([]);
  watch.reset();
  expect(feed(watch, 30, 500, 3600e9)).toEqual([]);
  expect(feed(new RateWatch("/dev/video0", 0), 15, 500)).toEqual([]);
});

test("a deviation that returns is reported again", () => {
  const watch = new RateWatch("/dev/video0", 30);
  const times = [0, 100e9, 200e9];
  expect(feed(watch, 10, 300, times[0])).toHaveLength(1);
  watch.reset();
  expect(feed(watch, 30, 300, times[1])).toHaveLength(0);
  watch.reset();
  expect(feed(watch, 60, 300, times[2])).toHaveLength(1);
});

test("120 steps make a measurement, and 10 % off is the limit in both directions", () => {
  expect(feed(new RateWatch("c", 30), 20, 120)).toEqual([]);
  expect(feed(new RateWatch("c", 30), 20, 121)).toHaveLength(1);
  const warned = [26.9, 27.1, 32.9, 33.1].map((hz) => feed(new RateWatch("c", 30), hz, 130).length);
  expect(warned).toEqual([1, 0, 0, 1]);
  const halved = [13.4, 13.6, 16.4, 16.6].map((hz) =>
    /pulses/.test(feed(new RateWatch("c", 30), hz, 130)[0]!),
  );
  expect(halved).toEqual([false, true, true, false]);
  // A step that goes back counts nothing.
  const watch = new RateWatch("c", 30);
  expect(feed(watch, 20, 120)).toEqual([]);
  expect([watch.add(0, 0), watch.add(0.05e9, 0)]).toEqual([undefined, expect.stringContaining("20 Hz")]);
});

test("lost frames count as steps, and measurements follow each other without a frame between them", () => {
  // 10 Hz with a lost frame in front of each are 20 Hz.
  expect(feed(new RateWatch("c", 30), 10, 61, 0, 1)).toEqual([
    expect.stringContaining("frames arrive at 20 Hz"),
  ]);
  const watch = new RateWatch("c", 30);
  const warnedAt: number[] = [];
  let timeNs = 5e9;
  for (let frame = 0; frame <= 400; frame++) {
    if (watch.add(timeNs, 0) !== undefined) warnedAt.push(frame);
    timeNs += 1e9 / (frame < 120 ? 30 : 20);
  }
  expect(warnedAt).toEqual([240]);
});
