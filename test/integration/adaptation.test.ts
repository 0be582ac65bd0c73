// SPDX-License-Identifier: Apache-2.0
// Tests how the engine adjusts to its pairs: it corrects row offsets, denoises noisy pairs, and keeps both while the
// rig does not change.
import { describe, expect, test } from "vitest";
import { createEngine, type EngineInfo, type EngineOptions } from "../../cuda/index.js";
import { engineOptions } from "../doubles/engine-call.js";
import { expectSameImage, Random, variants } from "../doubles/stages.js";

const [WIDTH, HEIGHT, DISPARITY] = [240, 120, 9];

/** Creates an image of random patches, larger than the crops. */
function texture(random: Random): Uint8Array {
  const [width, height] = [WIDTH + 40, HEIGHT + 40];
  const image = new Uint8Array(width * height);
  for (let y = 0; y < height; ++y) {
    for (let x = 0; x < width; ++x) {
      const fresh = random.whole(20, 235);
      const before = x > 0 ? image[y * width + x - 1]! : fresh;
      const above = y > 0 ? image[(y - 1) * width + x]! : fresh;
      image[y * width + x] = (before + above + 2 * fresh) >> 2;
    }
  }
  return image;
}

interface Pair {
  left: Uint8Array;
  right: Uint8Array;
}

/** Creates a pair: the left camera's row y is the right one's row y + `rows`. */
function shiftedPair(
  picture: Uint8Array,
  rows: number,
  change: (value: number) => number = (value) => value,
): Pair {
  const cut = (dx: number, dy: number) =>
    Uint8Array.from({ length: WIDTH * HEIGHT }, (_, i) => {
      const x = (i % WIDTH) + 20 + dx;
      const y = Math.floor(i / WIDTH) + 20 + dy;
      return Math.min(255, Math.max(0, Math.round(change(picture[y * (WIDTH + 40) + x]!))));
    });
  return { left: cut(0, 0), right: cut(DISPARITY, -rows) };
}

function sized(width: number, height: number): EngineOptions {
  const images = { left: new Uint8Array(), right: new Uint8Array() };
  const options = engineOptions({ width, height, ...images }, { backend: "cpu" });
  return { ...options, match: { ...options.match, numDisparities: 24 } };
}

/** Disparities of every frame, and what the engine says after the last. */
async function run(pairs: Pair[], options: Partial<EngineOptions>) {
  const engine = createEngine({ ...sized(WIDTH, HEIGHT), ...options });
  try {
    const frames: Int16Array[] = [];
    const reported: EngineInfo[] = [];
    for (const { left, right } of pairs) {
      await new Promise<void>((resolve, reject) =>
        engine.submit(0, left, right, (error) => (error ? reject(error) : resolve())),
      );
      frames.push(engine.slots[0]!.disparityQ4.slice());
      reported.push(engine.info);
    }
    return { frames, reported, info: engine.info };
  } finally {
    engine.close();
  }
}

const errors = (disparityQ4: Int16Array) =>
  disparityQ4.filter((d, i) => i % WIDTH > 30 && Math.abs(d / 16 - DISPARITY) > 1).length /
  disparityQ4.length;

/** Mean distance to the true disparity, in pixels. */
function deviation(disparityQ4: Int16Array): number {
  const inside = disparityQ4.filter((_, i) => i % WIDTH > 30);
  return inside.reduce((sum, d) => sum + Math.abs(d / 16 - DISPARITY), 0) / inside.length;
}

describe("rows", () => {
  const random = new Random();
  const picture = texture(random);

  test.each([-2, -1, 1, 2])("%i rows are found on the first pair and corrected", async (rows) => {
    const pair = shiftedPair(picture, rows);
    const corrected = await run([pair], { verticalOffset: "auto" });
    expect(corrected.info.verticalOffset).toEqual({
      watched: true,
      known: true,
      atLimit: false,
      measuredRows: rows,
      appliedRows: rows,
      measuredRowsOverWidth: 0,
      appliedRowsOverWidth: 0,
    });
    expect(errors(corrected.frames[0]!), `seed ${random.seed}`).toBeLessThan(0.01);
    const reported = await run([pair], { verticalOffset: rows });
    expectSameImage(corrected.frames[0]!, reported.frames[0]!, WIDTH, "found and reported");
    const without = (await run([pair], {})).frames[0]!;
    // One row is within what matching bears on some textures (no pixel is a whole pixel off): its deviation still reports.
    expect(deviation(without), `without, seed ${random.seed}`).toBeGreaterThan(
      2 * deviation(reported.frames[0]!),
    );
  });

  test("an aligned pair is computed as without estimation", async () => {
    const pair = shiftedPair(picture, 0);
    const { frames, info } = await run([pair, pair], { verticalOffset: "auto" });
    const plain = await run([pair], {});
    for (const frame of frames) expectSameImage(frame, plain.frames[0]!, WIDTH, "aligned");
    expect(info.verticalOffset).toMatchObject({ known: true, appliedRows: 0 });
  });

  // A separate generator: the same bands for every seed of the others.
  const ownPicture = texture(new Random(31));

  /** The right camera sees what the left one sees at column x of the right image `rows` x / WIDTH lower, from the middle. */
  function turnedPair(rows: number): Pair {
    const { left, right } = shiftedPair(ownPicture, 0);
    const lower = (i: number) => {
      const x = i % WIDTH;
      const from = Math.floor(i / WIDTH) - rows * ((x + 0.5) / WIDTH - 0.5);
      const above = Math.floor(from);
      const at = (y: number) => ownPicture[(20 + y) * (WIDTH + 40) + x + 20 + DISPARITY]!;
      return Math.round(at(above) + (from - above) * (at(above + 1) - at(above)));
    };
    return { left, right: right.map((_, i) => lower(i)) };
  }

  test.each([-4, 4])(
    "a camera that is turned by %i rows over the width is read along a line",
    async (rows) => {
      const pair = turnedPair(rows);
      const { frames, reported } = await run([pair, pair], { verticalOffset: "auto" });
      const { measuredRowsOverWidth, appliedRowsOverWidth, appliedRows } = reported[0]!.verticalOffset;
      expect(appliedRowsOverWidth).toBe(measuredRowsOverWidth);
      expect(Math.abs(appliedRowsOverWidth - rows)).toBeLessThanOrEqual(1);
      expect(Math.abs(appliedRows)).toBeLessThanOrEqual(0.25);
      const straight = (await run([pair], { verticalOffset: 0 })).frames[0]!;
      for (const frame of frames) expect(3 * errors(frame)).toBeLessThan(errors(straight));
    },
  );

  test("a line is held while it wavers, and goes when the camera is put straight", async () => {
    const [turned, straight] = [turnedPair(3), shiftedPair(ownPicture, 0)];
    const frames = Array.from({ length: 13 + 16 * 12 }, (_, n) => (n < 13 ? turned : straight));
    const { reported } = await run(frames, { verticalOffset: "auto" });
    const applied = reported.map(({ verticalOffset }) => verticalOffset.appliedRowsOverWidth);
    expect(applied[0]).toBeGreaterThan(2);
    expect(applied.at(-1)).toBe(0);
    expect(
      applied.filter((rows, n) => n > 0 && rows !== applied[n - 1]),
      "one change",
    ).toHaveLength(1);
  }, 60_000);

  // With 10 and 13, 2.75 rows agree better than the others by chance, by more than a sixteenth.
  test.each([random.seed, 10, 13])("nine rows are not applied, seed %i", async (seed) => {
    const { info } = await run([shiftedPair(texture(new Random(seed)), 9)], { verticalOffset: "auto" });
    expect(info.verticalOffset).toMatchObject({ known: false, appliedRows: 0 });
  });

  test("one value or one row is no estimate", async () => {
    const grey = new Uint8Array(WIDTH * HEIGHT).fill(100);
    const flat = await run([{ left: grey, right: grey }], { verticalOffset: "auto", denoise: "auto" });
    expect(flat.info.verticalOffset).toMatchObject({ known: false, appliedRows: 0 });
    const { info } = await run([{ left: new Uint8Array(64), right: new Uint8Array(64) }], {
      ...sized(64, 1),
      verticalOffset: "auto",
      denoise: "auto",
    });
    expect(info.verticalOffset.known).toBe(false);
    expect(info.noise.sigma).toBe(0);
  });

  test("a rig that moves is followed at once when it moves far, and one odd pair changes nothing", async () => {
    const [here, there] = [shiftedPair(picture, 0), shiftedPair(picture, 2)];
    // Frames 0, 4, 8, 12 and every sixteenth from there are looked at: 0 0 2 0, then 2s until they are the median.
    const frames = Array.from({ length: 97 }, (_, n) => (n === 8 || n >= 16 ? there : here));
    const { reported } = await run(frames, { verticalOffset: "auto" });
    const applied = reported.map(({ verticalOffset }) => verticalOffset.appliedRows);
    expect(applied.slice(0, 16).every((rows) => rows === 0)).toBe(true);
    expect(applied.at(-1)).toBe(2);
    expect(
      applied.filter((rows, n) => n > 0 && rows !== applied[n - 1]),
      "one change",
    ).toHaveLength(1);
  }, 60_000);

  test.each(variants)("%s computes the same", async (instructionSet) => {
    const pair = shiftedPair(picture, 1, (value) => value + random.whole(-9, 9));
    const options = { verticalOffset: "auto", denoise: "auto" } as const;
    const scalar = await run([pair], { ...options, instructionSet: "scalar" });
    const got = await run([pair], { ...options, instructionSet });
    expectSameImage(got.frames[0]!, scalar.frames[0]!, WIDTH, instructionSet);
    expect(got.info.verticalOffset).toEqual(scalar.info.verticalOffset);
    expect(got.info.noise).toEqual(scalar.info.noise);
  });

  test.each([0.3, 17, Number.NaN])("%d rows are refused", (verticalOffset) => {
    expect(() => createEngine({ ...sized(64, 8), verticalOffset })).toThrow(
      expect.objectContaining({ message: expect.stringContaining("a multiple of 0.25 from -16 to 16") }),
    );
  });
});

describe("estimates from a pair", () => {
  // Two engines at once, each with frames in work on both places: their threads take looks at any time.
  test("holds for the same frames however busy the machine is", async () => {
    const random = new Random(5);
    const [here, there] = [
      shiftedPair(texture(random), 0),
      shiftedPair(texture(random), 2, (value) => value + random.whole(-9, 9)),
    ];
    const frames = Array.from({ length: 70 }, (_, n) => (n < 12 ? here : there));
    const options = { verticalOffset: "auto", denoise: "auto" } as const;
    const runs = await Promise.all([run(frames, options), run(frames, { ...options, threads: 2 })]);
    const [one, other] = runs.map(({ frames, reported }) => ({
      frames,
      adapted: reported.map(({ verticalOffset, noise }) => ({ verticalOffset, noise })),
    }));
    expect(other!.adapted).toEqual(one!.adapted);
    expect(one!.adapted.map(({ verticalOffset }) => verticalOffset.appliedRows).slice(63, 65)).toEqual([
      0, 2,
    ]);
    for (const [n, frame] of one!.frames.entries())
      expectSameImage(other!.frames[n]!, frame, WIDTH, `frame ${n}`);
  });
});

describe("noise", () => {
  const random = new Random(7);
  // Even noise in [-a, a] has a deviation of a / 1.73; on a smooth picture nothing else is counted.
  const picture = new Uint8Array((WIDTH + 40) * (HEIGHT + 40)).map((_, i) => 60 + ((i % (WIDTH + 40)) >> 1));
  const noisy = (amplitude: number) =>
    shiftedPair(picture, 0, (value) => value + random.whole(-amplitude, amplitude));
  const dimmed = (pair: Pair, share: number): Pair => ({
    left: pair.left.map((value) => Math.round(share * value)),
    right: pair.right.map((value) => Math.round(share * value)),
  });
  /** As many as there are from one look to the next among the first sixteen. */
  const untilLooked = (pair: Pair) => [pair, pair, pair, pair];

  test("a noisy pair is smoothed, and computed as with denoise on", async () => {
    const pair = noisy(12);
    const auto = await run([pair], { denoise: "auto" });
    expect(auto.info.noise).toMatchObject({ known: true, smoothed: true });
    expect(Math.abs(auto.info.noise.sigma - 7.2), `seed ${random.seed}`).toBeLessThan(0.7);
    const on = await run([pair], { denoise: "on" });
    expectSameImage(auto.frames[0]!, on.frames[0]!, WIDTH, "auto and on");
    const off = await run([pair], { denoise: "off" });
    expect(off.info.noise.smoothed).toBe(false);
    expect(Buffer.from(off.frames[0]!.buffer).equals(Buffer.from(on.frames[0]!.buffer))).toBe(false);
  });

  test("it begins above 2.75 grey values and ends below 2.5; a change of exposure between them turns nothing", async () => {
    const [quiet, loud] = [noisy(1), noisy(6)]; // 0.8 and 3.7
    // Frames 0, 4, 8, 12 and 16 are looked at; a result holds from the next one on.
    const pairs = [quiet, loud, dimmed(loud, 0.66), quiet].flatMap(untilLooked);
    const { reported } = await run([...pairs, quiet], { denoise: "auto" });
    const smoothed = reported.map(({ noise }) => noise.smoothed);
    expect(smoothed.slice(0, 8), "quiet").toEqual(Array(8).fill(false));
    expect(smoothed.slice(8, 12), "loud").toEqual([true, true, true, true]);
    expect(reported[12]!.noise.sigma).toBeGreaterThan(2.5);
    expect(reported[12]!.noise.sigma).toBeLessThan(2.75);
    expect(smoothed.slice(12, 16), "between").toEqual([true, true, true, true]);
    expect(smoothed.slice(16), "quiet again").toEqual([false]);
    const fromBetween = await run([dimmed(loud, 0.66)], { denoise: "auto" });
    expect(fromBetween.info.noise.smoothed, "between, from the start").toBe(false);
  });

  test("the filter's range follows the noise, stays while the estimate ripples, and is a third's at half resolution", async () => {
    const own = new Random(13);
    const loud = shiftedPair(picture, 0, (value) => value + own.whole(-12, 12)); // 7.2 grey values
    const shares = [1, 0.97, 1.02, 0.7, 0.7];
    const { reported } = await run(
      shares.flatMap((share) => untilLooked(dimmed(loud, share))),
      { denoise: "auto" },
    );
    // Results of frames 0, 4, 8 and 12 are reported from frames 0, 8, 12 and 16 on.
    const [first, less, more, settled] = [0, 8, 12, 16].map((frame) => reported[frame]!.noise);
    expect(Math.abs(first!.range - (14 * first!.sigma - 31) / 4)).toBeLessThanOrEqual(0.51);
    expect(less!.sigma).not.toBe(first!.sigma);
    expect([less!.range, more!.range]).toEqual([first!.range, first!.range]);
    expect(settled!.sigma).toBeLessThan(0.8 * first!.sigma);
    expect(settled!.range, "of the quieter pictures").toBeLessThan(first!.range - 4);
    const match = { ...sized(WIDTH, HEIGHT).match, halfResolution: true };
    const half = await run([loud], { match, denoise: "on" });
    expect(half.info.noise.range, "7.2 / 3 is quiet, and on is at least 3").toBe(3);
    const halfAuto = await run([loud], { match, denoise: "auto" });
    expect(halfAuto.info.noise).toMatchObject({ smoothed: false, range: 0 });
  });

  test("texture all over the picture is no noise: from a sigma of 16 on nothing begins, from 18 on it ends", async () => {
    const own = new Random(29);
    const loud = shiftedPair(picture, 0, (value) => value + own.whole(-36, 36)); // 21 grey values
    const shares = [1, 0.8, 0.6, 0.8, 1, 1, 1, 1, 1];
    const { reported } = await run(
      shares.flatMap((share) => untilLooked(dimmed(loud, share))),
      { denoise: "auto" },
    );
    const seen = [0, 8, 12, 16, 35].map((frame) => reported[frame]!.noise);
    const sigmas = seen.map(({ sigma }) => sigma);
    expect([sigmas[0]! > 18, sigmas[1]! > 16 && sigmas[1]! < 18, sigmas[2]! < 16], `${sigmas}`).toEqual([
      true,
      true,
      true,
    ]);
    expect(seen.map(({ smoothed }) => smoothed)).toEqual([false, false, true, true, false]);
    const always = await run([loud], { denoise: "on" });
    expect(always.info.noise.range).toBe(36);
  });

  test("an exposure that rolls up and down switches once each way, however it ripples", async () => {
    // A separate generator: the same noise after any other tests.
    const own = new Random(11);
    const loud = shiftedPair(picture, 0, (value) => value + own.whole(-6, 6));
    // A slow wave from 0.55 to 1 of the exposure, and on them a ripple from look to look, as of lamps on mains.
    const LOOKS = 48;
    const shareAt = (look: number) =>
      0.775 - 0.225 * Math.cos((2 * Math.PI * look) / LOOKS) + (look % 2 === 0 ? -0.035 : 0.035);
    const pairAt = (look: number) => dimmed(loud, shareAt(look));
    // Frames 0, 4, 8 and 12 are looked at, then every sixteenth.
    const lookIndex = (frame: number) => (frame <= 12 ? frame >> 2 : 3 + ((frame - 12) >> 4));
    const frames = 13 + 16 * (LOOKS - 4);
    const pairs = Array.from({ length: LOOKS }, (_, look) => pairAt(look));
    // Only the noise is of interest.
    const { match, refine } = sized(WIDTH, HEIGHT);
    const { reported } = await run(
      Array.from({ length: frames }, (_, frame) => pairs[lookIndex(frame)]!),
      {
        denoise: "auto",
        match: {
          ...match,
          algorithm: "sad",
          parameters: { windowWidth: 3, windowHeight: 3 },
          numDisparities: 8,
        },
        refine: { ...refine, leftRight: false, speckleSize: 0, fill: "off", boundary: false, median: false },
      },
    );
    const changes = (states: boolean[]) =>
      states.filter((state, n) => n > 0 && state !== states[n - 1]).length;
    const sigmas = reported.map(({ noise }) => noise.sigma);
    expect([Math.min(...sigmas) < 2.4, Math.max(...sigmas) > 3]).toEqual([true, true]);
    expect(changes(reported.map(({ noise }) => noise.smoothed)), "up, then down").toBe(2);
    expect(changes(sigmas.map((sigma) => sigma > 2.75)), "with one threshold").toBeGreaterThan(2);
  }, 60_000);
});
