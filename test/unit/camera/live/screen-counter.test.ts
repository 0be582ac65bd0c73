// SPDX-License-Identifier: Apache-2.0
// Measures the exposure skew of rendered pairs of the screen counter, whose page runs with a document in memory: a known skew, a
// screen that is drawn from top to bottom, rolling shutters, tilted and reversed cameras, noise.
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { BAR_BITS, type RawImage } from "../../../../camera/index.js";
import { ScreenCounter } from "../../../../camera/live/screen-counter.js";
import { screenPage } from "../../../../edge/commands/capture/screen-page.js";
import { measureSync } from "../../../../edge/commands/capture/sync-test.js";
import { Random } from "../../../doubles/random.js";

const [WIDTH, HEIGHT] = [96, 60];

/** The bars of `count` refreshes, as the page draws them: 1 is white. */
function drawnBars(count: number): number[][] {
  const script = /<script>([\s\S]*)<\/script>/.exec(screenPage())![1]!;
  const bars = screenPage()
    .match(/<i><\/i>/g)!
    .map(() => ({ style: { background: "" } }));
  const drawn: number[][] = [];
  let next: (() => void) | undefined;
  runInNewContext(script, {
    document: { querySelectorAll: () => bars },
    requestAnimationFrame: (draw: () => void) => {
      next = draw;
    },
  });
  for (;;) {
    drawn.push(bars.map(({ style }) => (style.background === "#fff" ? 1 : 0)));
    if (drawn.length === count) return drawn;
    next!();
  }
}

const BARS = drawnBars(2000);

const random = new Random(46);
/** Noise: values of a triangle from -4 to 4. */
const NOISE = Array.from({ length: 10_007 }, () => (random.whole(0, 2000) + random.whole(0, 2000)) / 500 - 4);

interface Rig {
  screenHz: number;
  rateHz: number;
  skewUs: number;
  lineUs: number;
  exposureUs: number;
  noise: number;
  frames: number;
  /** Share of a refresh that the screen takes from its first to its last row. */
  scan: number;
  isReversed: boolean;
  /** Columns that the screen's edge moves from the first to the last row. */
  tilt: number;
  /** Brightness of white, and of the right camera's. */
  white: number;
  rightWhite?: number;
}

const RIG: Rig = {
  screenHz: 59.94,
  rateHz: 25.007,
  skewUs: 1234,
  lineUs: 0,
  exposureUs: 4000,
  noise: 3,
  frames: 130,
  scan: 0,
  isReversed: false,
  tilt: 0,
  white: 160,
};

/** Mean brightness of a bar from 0 to 1 over an exposure that begins at `from` refreshes. */
function exposed(bar: number, from: number, to: number): number {
  let sum = 0;
  for (let refresh = Math.floor(from); refresh < to; refresh++)
    sum += BARS[refresh]![bar]! * (Math.min(to, refresh + 1) - Math.max(from, refresh));
  return sum / (to - from);
}

function render({ rightWhite: _, ...rig }: Rig, startS: number, first: number): Uint8Array {
  const data = new Uint8Array(WIDTH * HEIGHT);
  const lightFrom = (from: number) => {
    const to = from + (rig.exposureUs / 1e6) * rig.screenHz;
    const light = BAR_BITS.map((_, bar) => 30 + rig.white * exposed(bar, from, to));
    return rig.isReversed ? light.reverse() : light;
  };
  let [exposedFrom, light] = [Number.NaN, [] as number[]];
  for (let y = 0; y < HEIGHT; y++) {
    // The screen's row is as far down as the image's.
    const from = (startS + (y * rig.lineUs) / 1e6) * rig.screenHz - (rig.scan * y) / HEIGHT;
    if (from !== exposedFrom) [exposedFrom, light] = [from, lightFrom(from)];
    const edge = 8 + (rig.tilt * y) / HEIGHT;
    let noise = (first + y * WIDTH) % NOISE.length;
    for (let x = 0; x < WIDTH; x++) {
      const bar = Math.floor(((x - edge) / (WIDTH - 24)) * BAR_BITS.length);
      const grey = bar >= 0 && bar < light.length ? light[bar]! : 30;
      data[y * WIDTH + x] = Math.round(grey + rig.noise * NOISE[noise]!);
      noise = noise + 1 < NOISE.length ? noise + 1 : 0;
    }
  }
  return data;
}

function rendered(changes: Partial<Rig>): { left: RawImage; right: RawImage }[] {
  const rig = { ...RIG, ...changes };
  return Array.from({ length: rig.frames }, (_, k) => {
    const startS = 0.2 + k / rig.rateHz;
    const image = (startsAt: number, white = rig.white): RawImage => ({
      data: render({ ...rig, white }, startsAt, random.whole(0, NOISE.length)),
      width: WIDTH,
      height: HEIGHT,
      strideBytes: WIDTH,
      format: "GREY",
      timestampNs: BigInt(Math.round(5e12 + startS * 1e9)),
      sequence: k,
    });
    return { left: image(startS), right: image(startS + rig.skewUs / 1e6, rig.rightWhite) };
  });
}

function measure(changes: Partial<Rig>) {
  const counter = new ScreenCounter();
  for (const pair of rendered(changes)) counter.add(pair);
  return counter.result();
}

describe("the skew of rendered exposures of a screen", () => {
  test.each<[string, Partial<Rig>]>([
    ["global shutter", {}],
    ["the right camera first, by more than a frame", { skewUs: -47_000 }],
    ["hardware synchronisation", { skewUs: 0 }],
    ["a screen drawn from top to bottom", { scan: 0.95 }],
    ["rolling shutter of 150 us a row", { lineUs: 150 }],
    ["rolling shutter, a screen drawn from top to bottom", { lineUs: 150, scan: 0.95, skewUs: 9000 }],
    ["cameras upside down", { isReversed: true }],
    ["tilted cameras", { tilt: 9, skewUs: 21_000 }],
    ["an exposure longer than a refresh", { exposureUs: 20_000, skewUs: 12_000 }],
    ["a dim screen", { white: 60, skewUs: 33_000 }],
    ["a screen of 144 Hz", { screenHz: 143.97, skewUs: 5000 }],
  ])("%s", (_, changes) => {
    const rig = { ...RIG, ...changes };
    const { offsetUs, lineTimeUs, periodUs, frames, statedUs } = measure(changes);
    const refreshUs = 1e6 / rig.screenHz;

    expect([frames, statedUs]).toEqual([rig.frames, 0]);
    expect(Math.abs(periodUs / (256 * refreshUs) - 1)).toBeLessThan(0.005);
    expect(Math.abs(offsetUs.value - rig.skewUs)).toBeLessThan(offsetUs.uncertainty);
    expect(offsetUs.uncertainty).toBeLessThan(refreshUs / 3);
    const lineUs = rig.lineUs - (rig.scan * refreshUs) / HEIGHT;
    for (const { value, uncertainty } of Object.values(lineTimeUs))
      expect(Math.abs(value - lineUs)).toBeLessThan(Math.max(uncertainty, (0.1 * refreshUs) / HEIGHT));
  });

  // Values and uncertainties of the offset, the left and the right line time, microseconds, without noise.
  test.each<[string, Partial<Rig>, string]>([
    [
      "a rolling shutter",
      { lineUs: 150, scan: 0.95, skewUs: 9000, frames: 200 },
      "4271362.958 9013.382 104.645 -115.893 7.086 -113.691 7.543",
    ],
    [
      "tilted and reversed, a dim right image",
      { tilt: 9, isReversed: true, skewUs: -47_000, rightWhite: 70, frames: 200 },
      "4271362.958 -47051.733 367.410 0.000 1.465 0.000 1.465",
    ],
    [
      "long exposures",
      { exposureUs: 20_000, screenHz: 143.97 },
      "1778109.082 1228.861 402.383 0.000 1.312 0.000 1.312",
    ],
    [
      "in step",
      { screenHz: 60, rateHz: 30, skewUs: 5000, frames: 200 },
      "4266666.667 0.000 16666.667 0.000 277.778 0.000 277.778",
    ],
  ])("the numbers are reproduced: %s", (_, changes, expected) => {
    const { offsetUs, lineTimeUs, periodUs } = measure({ ...changes, noise: 0 });
    const measured = [offsetUs, lineTimeUs.left, lineTimeUs.right];
    const figures = [periodUs, ...measured.flatMap(({ value, uncertainty }) => [value, uncertainty])];
    expect(figures.map((figure) => figure.toFixed(3)).join(" ")).toBe(expected);
  });

  test("in step with the screen, the uncertainty is a refresh", () => {
    const { offsetUs } = measure({ screenHz: 60, rateHz: 30, skewUs: 5000 });
    expect(Math.abs(offsetUs.value - 5000)).toBeLessThan(offsetUs.uncertainty);
    expect(offsetUs.uncertainty).toBeGreaterThan(15_000);
    expect(offsetUs.uncertainty).toBeLessThan(20_000);
  });

  test("capture measures the pairs that it was asked for", async () => {
    let released = 0;
    const images = rendered({});
    const found = await measureSync(
      {
        start: ({ onPair, onEnd }) => {
          for (const pair of images) onPair({ ...pair, clock: "monotonic", release: () => released++ });
          onEnd();
        },
      },
      { frames: 200, skip: 10 },
      "screen",
    );
    expect([found.frames, released]).toEqual([RIG.frames - 10, RIG.frames]);
    expect(Math.abs(found.offsetUs.value - RIG.skewUs)).toBeLessThan(found.offsetUs.uncertainty);
  });

  test.each<[string, Partial<Rig>, RegExp]>([
    ["too few frames", { frames: 29 }, /at least 30 pairs, got 29/],
    [
      "frames of less than one round",
      { frames: 60 },
      /once through its 256 counts, got \d+ counts: take more pairs/,
    ],
    ["no screen", { white: 0, noise: 0 }, /a screen counter in the left image, got bars in 0 of 48 rows/],
    ["noise", { white: 0, noise: 6 }, /counts evenly in the left image, got \d+ of 130 frames on one line/],
    [
      "no screen in the right image",
      { rightWhite: 0, noise: 6 },
      /counter that counts evenly in the right image/,
    ],
  ])("%s is an error", (_, changes, message) => {
    expect(() => measure(changes)).toThrow(
      expect.objectContaining({ code: "SYNC_UNMEASURED", message: expect.stringMatching(message) }),
    );
  });
});
