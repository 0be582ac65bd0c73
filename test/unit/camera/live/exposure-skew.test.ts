// SPDX-License-Identifier: Apache-2.0
// Measures the exposure skew of rendered pairs: a blinking light, a known skew, a rolling shutter and noise.
import { describe, expect, test } from "vitest";
import type { PairSource, RawImage } from "../../../../camera/index.js";
import { BlinkPhase, type ExposureSkew } from "../../../../camera/live/blink-phase.js";
import type { DepthwattError } from "../../../../core/index.js";
import { measureSync } from "../../../../edge/commands/capture/sync-test.js";
import { Random } from "../../../doubles/random.js";

const [WIDTH, HEIGHT] = [16, 60];

interface Rig {
  blinkHz: number;
  /** How much later the right camera exposes, and what its stamps say, microseconds. */
  skewUs: number;
  statedUs: number;
  lineUs: number;
  exposureUs: number;
  rateHz: number;
  noise: number;
  frames: number;
  /** Rows that the light reaches. */
  lit: readonly [from: number, to: number];
}

const RIG: Rig = {
  blinkHz: 173,
  skewUs: 1234,
  statedUs: 0,
  lineUs: 0,
  exposureUs: 2000,
  rateHz: 30,
  noise: 3,
  frames: 64,
  lit: [0, HEIGHT],
};

/** Seconds in [0, at] during which a light is on that is lit for the first half of each period. */
function litUntil(at: number, periodS: number): number {
  const periods = Math.floor(at / periodS);
  return (periods * periodS) / 2 + Math.min(at - periods * periodS, periodS / 2);
}

function render(rig: Rig, startS: number, random: Random): Uint8Array {
  const data = new Uint8Array(WIDTH * HEIGHT);
  const exposureS = rig.exposureUs / 1e6;
  for (let y = 0; y < HEIGHT; y++) {
    const from = startS + (y * rig.lineUs) / 1e6;
    const on = litUntil(from + exposureS, 1 / rig.blinkHz) - litUntil(from, 1 / rig.blinkHz);
    const light = y >= rig.lit[0] && y < rig.lit[1] ? (100 * on) / exposureS : 0;
    for (let x = 0; x < WIDTH; x++) {
      const noise = ((random.whole(0, 2000) + random.whole(0, 2000)) / 1000 - 2) * 2 * rig.noise;
      data[y * WIDTH + x] = Math.round(40 + (y % 30) + light + noise);
    }
  }
  return data;
}

function rendered(changes: Partial<Rig>): { left: RawImage; right: RawImage }[] {
  const rig = { ...RIG, ...changes };
  const random = new Random(46);
  const firstNs = 5_000_000_000_000;
  return Array.from({ length: rig.frames }, (_, k) => {
    // The exposure of a free-running camera moves a little against its nominal rate.
    const startS = 1 + (k * 1.0003) / rig.rateHz;
    const image = (startsAt: number, statedUs: number): RawImage => ({
      data: render(rig, startsAt, random),
      width: WIDTH,
      height: HEIGHT,
      strideBytes: WIDTH,
      format: "GREY",
      timestampNs: BigInt(Math.round(firstNs + startS * 1e9 + statedUs * 1000)),
      sequence: k,
    });
    return { left: image(startS, 0), right: image(startS + rig.skewUs / 1e6, rig.statedUs) };
  });
}

function measure(changes: Partial<Rig>): ExposureSkew {
  const phase = new BlinkPhase(changes.blinkHz ?? RIG.blinkHz);
  for (const pair of rendered(changes)) phase.add(pair);
  return phase.result();
}

describe("the skew of rendered exposures", () => {
  // Values and uncertainties of the offset, the left and the right line time, microseconds.
  const cases: [string, Partial<Rig>, string][] = [
    ["global shutter", {}, "1236.916 11.214 0.015 0.056 -0.025 0.078"],
    ["the right camera first", { skewUs: -800 }, "-801.034 20.916 0.015 0.056 0.014 0.084"],
    [
      "stamps that are wrong by the whole skew",
      { skewUs: 900, statedUs: 5000 },
      "901.556 20.650 0.015 0.056 -0.026 0.078",
    ],
    ["rolling shutter of 29 us a row", { lineUs: 29 }, "1235.351 2.643 29.027 0.252 29.029 0.284"],
    [
      "rolling shutter from the last row to the first",
      { lineUs: -17.5 },
      "1233.461 5.079 -17.547 0.520 -17.654 0.600",
    ],
    [
      "a light that reaches some rows",
      { lineUs: 29, lit: [15, 38] },
      "1232.031 12.933 29.360 1.589 29.010 1.507",
    ],
    ["hardware synchronisation", { skewUs: 0 }, "-0.291 2.027 0.015 0.056 -0.009 0.083"],
    [
      "a fast light and short exposure",
      { blinkHz: 997, exposureUs: 200, skewUs: 310, lineUs: 14 },
      "309.854 2.044 13.996 0.069 14.015 0.059",
    ],
  ];
  test.each(cases)("%s", (_, changes, expected) => {
    const { skewUs, lineUs, statedUs, blinkHz, frames } = { ...RIG, ...changes };
    const found = measure(changes);

    expect(found).toMatchObject({ frames, periodUs: 1e6 / blinkHz });
    expect(found.statedUs).toBeCloseTo(statedUs, 3);
    expect(Math.abs(found.offsetUs.value - skewUs)).toBeLessThan(found.offsetUs.uncertainty);
    expect(found.offsetUs.uncertainty).toBeLessThan(30);
    for (const { value, uncertainty } of Object.values(found.lineTimeUs)) {
      expect(Math.abs(value - lineUs)).toBeLessThan(uncertainty);
      expect(uncertainty).toBeLessThan(2);
    }
    const measured = [found.offsetUs, found.lineTimeUs.left, found.lineTimeUs.right];
    const figures = measured.flatMap(({ value, uncertainty }) => [value, uncertainty]);
    expect(figures.map((figure) => figure.toFixed(3)).join(" ")).toBe(expected);
  });

  test("a skew beyond half a period of the light comes without whole periods", () => {
    const { offsetUs, periodUs } = measure({ skewUs: 1000 + 1e6 / 173 });
    expect(periodUs).toBeCloseTo(5780, 0);
    expect(Math.abs(offsetUs.value - 1000)).toBeLessThan(offsetUs.uncertainty);
  });

  test("capture skips the first pairs, gives every pair back, and measures the pairs that came before an end", async () => {
    let released = 0;
    const images = rendered({ frames: 50 });
    const source: Pick<PairSource, "start"> = {
      start: ({ onPair, onEnd }) => {
        for (const pair of images) onPair({ ...pair, clock: "monotonic", release: () => released++ });
        onEnd();
      },
    };
    const found = await measureSync(source, { frames: 90, skip: 10 }, RIG.blinkHz);
    expect(found.frames).toBe(40);
    expect(Math.abs(found.offsetUs.value - RIG.skewUs)).toBeLessThan(found.offsetUs.uncertainty);
    expect(released).toBe(50);
  });

  test.each<[string, Partial<Rig>, RegExp]>([
    ["no light", { lit: [0, 0] }, /a light of 173 Hz that lights the left image/],
    ["a light in step with the frames", { blinkHz: 180 / 1.0003 }, /blink in step with the frames/],
    ["too few frames", { frames: 29 }, /at least 30 pairs, got 29/],
  ])("%s is an error", (_, changes, text) => {
    let caught: DepthwattError | undefined;
    try {
      measure(changes);
    } catch (error) {
      caught = error as DepthwattError;
    }
    expect([caught?.code, caught?.message]).toEqual(["SYNC_UNMEASURED", expect.stringMatching(text)]);
  });
});
