// SPDX-License-Identifier: Apache-2.0
// The lower envelope of delays: hulls and slopes drawn by hand, its windows of 10 s and its 30 windows.
import { describe, expect, test } from "vitest";
import { LowerEnvelope } from "../src/pair/lower-envelope.js";

const SECOND = 1e9;

/** Returns the envelope of delays in nanoseconds, each with its time in seconds. */
function envelopeOf(...delays: [seconds: number, delayNs: number][]): LowerEnvelope {
  const envelope = new LowerEnvelope();
  for (const [seconds, delayNs] of delays) envelope.add(seconds * SECOND, delayNs);
  return envelope;
}

test("an envelope without delays has no height, no slope and no spread", () => {
  const envelope = new LowerEnvelope();
  expect([envelope.at(0), envelope.driftPpm, envelope.spreadNs]).toEqual([Number.NaN, 0, undefined]);
});

test("within 10 s only the shortest delay counts", () => {
  const envelope = envelopeOf([0, 5000], [1, 3000], [2, 4000], [9.999, 3500]);
  expect([envelope.at(0), envelope.at(50 * SECOND)]).toEqual([3000, 3000]);
});

test("four windows have a spread, and a slope once the fifth begins", () => {
  // Without a slope the envelope is the lowest of 3000, 0, 1000 and 2000, which lie 1500 above it on average.
  const first: [number, number][] = [
    [100, 3000],
    [110, 0],
    [120, 1000],
    [130, 2000],
  ];
  expect(envelopeOf(...first.slice(0, 3)).spreadNs).toBeUndefined();
  const four = envelopeOf(...first, [139.999, 9000]);
  expect([four.spreadNs, four.driftPpm, four.at(200 * SECOND)]).toEqual([1500, 0, 0]);
  // 1000 ns in 10 s are 0.1 ppm. The first delay lies 4000 above that line and the last one 600.
  const five = envelopeOf(...first, [140, 3600]);
  expect(five.driftPpm).toBeCloseTo(0.1, 12);
  expect(five.spreadNs).toBeCloseTo(920, 6);
  expect(five.at(150 * SECOND)).toBeCloseTo(4000, 6);
  expect(five.at(90 * SECOND)).toBeCloseTo(-2000, 6);
});

test("a window has the time of its shortest delay", () => {
  // The line goes from 4 to 34 s, below the other two delays.
  const envelope = envelopeOf([0, 5000], [4, 1000], [14, 9000], [24, 9000], [34, 4000], [50, 9000]);
  expect(envelope.driftPpm).toBeCloseTo(0.1, 12);
});

describe("the slope is that of the lower hull's edge over the mean time", () => {
  test.each<[string, [number, number][], number]>([
    // The hull goes from 0 over 20 to 30 s, and the mean time is 15 s: 1000 ns in 20 s.
    [
      "its first edge, below a long delay",
      [
        [0, 0],
        [10, 3000],
        [20, 1000],
        [30, 2500],
      ],
      0.05,
    ],
    // From 100 over 120 to 160 s; the mean is 122.5 s: 5000 ns in 40 s.
    [
      "its last edge, where windows are far apart",
      [
        [100, 0],
        [110, 3000],
        [120, 1000],
        [160, 6000],
      ],
      0.125,
    ],
    // The mean is 15 s, in the second of three edges.
    [
      "its middle edge",
      [
        [0, 0],
        [10, -2000],
        [20, -1000],
        [30, 3000],
      ],
      0.1,
    ],
    [
      "falling delays",
      [
        [0, 9000],
        [10, 6000],
        [20, 3000],
        [30, 0],
      ],
      -0.3,
    ],
    // Crystals differ by less than 500 ppm, 5 ms in 10 s.
    [
      "just possible",
      [
        [0, 0],
        [10, 4.9e6],
        [20, 9.8e6],
        [30, 14.7e6],
      ],
      490,
    ],
    [
      "no crystal's",
      [
        [0, 0],
        [10, 10e6],
        [20, 20e6],
        [30, 30e6],
      ],
      500,
    ],
    [
      "no crystal's, falling",
      [
        [0, 0],
        [10, -10e6],
        [20, -20e6],
        [30, -30e6],
      ],
      -500,
    ],
  ])("%s", (_, delays, ppm) => {
    expect(envelopeOf(...delays, [200, 1e9]).driftPpm).toBeCloseTo(ppm, 9);
  });
});

test("the oldest of 30 windows makes room for a new one", () => {
  const flat: [number, number][] = Array.from({ length: 30 }, (_, i) => [10 * i, 0]);
  expect(envelopeOf(...flat.slice(1), [300, 3000]).spreadNs).toBe(100);
  expect(envelopeOf(...flat, [300, 3000]).spreadNs).toBe(100);
  // Only the first delay is shorter. It bends the line until the 32nd window begins.
  const bent = envelopeOf([0, -600], ...flat.slice(1), [300, 0]);
  expect(bent.driftPpm).toBeCloseTo(600 / 290e3, 12);
  bent.add(310 * SECOND, 0);
  expect(bent.driftPpm).toBe(0);
  expect([bent.at(310 * SECOND), bent.spreadNs]).toEqual([0, 0]);
  // The others keep their times and delays, here those of one line.
  const line = envelopeOf(...Array.from({ length: 33 }, (_, i): [number, number] => [10 * i, 1000 * i]));
  expect(line.spreadNs).toBeCloseTo(0, 6);
  expect(line.at(330 * SECOND)).toBeCloseTo(33_000, 6);
});
