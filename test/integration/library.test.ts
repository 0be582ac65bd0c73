// SPDX-License-Identifier: Apache-2.0
// The package as others import it: by its name, from what the build made.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { isDeepStrictEqual } from "node:util";
import sharp from "sharp";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readGreyImage, writeScene } from "../../camera/index.js";
import { loadNative } from "../../edge/contracts/native.js";
import { expectIs } from "../doubles/stages.js";

// A name that the compiler does not resolve: dist need not be there when types are checked.
const PACKAGE: string = "depthwatt";
type Library = typeof import("../../edge/index.js");

const WIDTH = 160;
const HEIGHT = 120;
const options = { numDisparities: 32, onWarning: (text: string) => expect.fail(text) };
const SMALL = {
  "source.synthetic.width": 96,
  "source.synthetic.height": 64,
  "match.numDisparities": 16,
} as const;

let library: Library;
let folder: string;
let calibration: string;
const file = { left: "", right: "" };
beforeAll(async () => {
  library = (await import(/* @vite-ignore */ PACKAGE)) as Library;
  folder = mkdtempSync(join(tmpdir(), "depthwatt-library-"));
  await writeScene(loadNative(), {
    width: WIDTH,
    height: HEIGHT,
    folder,
    frames: 1,
    view: "rectified",
    truth: "left",
  });
  for (const side of ["left", "right"] as const)
    file[side] = join(folder, side, readdirSync(join(folder, side))[0]!);
  calibration = join(folder, "calibration.json");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("the exports are few", () => {
  expect(Object.keys(library).sort()).toEqual(
    [
      "DepthwattError",
      "VERSION",
      "isDepthwattError",
      "match",
      "openEngine",
      "openPair",
      "readSharedFrames",
      "run",
    ].sort(),
  );
});

test("two files: disparity in pixels, and metres by focal length and baseline over it", async () => {
  const map = await library.match(file.left, file.right, { ...options, calibration });
  expect(map).toMatchObject({ width: WIDTH, height: HEIGHT });
  for (const plane of [map.disparity, map.depth!, map.confidence, map.left])
    expect(plane.length).toBe(WIDTH * HEIGHT);
  const { left, translationMetres } = JSON.parse(readFileSync(calibration, "utf8"));
  const focalTimesBaseline = left.cameraMatrix[0] * Math.hypot(...translationMetres);
  let [valid, matched] = [0, 0];
  for (const [i, pixels] of map.disparity.entries()) {
    if (Number.isNaN(pixels)) {
      expectIs(map.depth![i], Number.NaN, `depth of pixel ${i}`);
      continue;
    }
    valid++;
    if (map.confidence[i]! > 0) matched++;
    const isClose = Math.abs(map.depth![i]! * pixels - focalTimesBaseline) < 0.0005;
    expectIs(isClose, true, `${map.depth![i]} m of ${pixels} pixels`);
  }
  expect(map.validPercent).toBeCloseTo((100 * valid) / (WIDTH * HEIGHT), 9);
  expect(map.matchedPercent).toBeCloseTo((100 * matched) / (WIDTH * HEIGHT), 9);
});

test("without a calibration there is no depth", async () => {
  expect((await library.match(file.left, file.right, options)).depth).toBeUndefined();
});

test("files, addresses, bytes, samples and instances of sharp give one result", async () => {
  const expected = await library.match(file.left, file.right, options);
  const grey = await Promise.all([file.left, file.right].map(readGreyImage));
  const forms = [
    [pathToFileURL(file.left), pathToFileURL(file.right)],
    [readFileSync(file.left), readFileSync(file.right)],
    grey as { data: Uint8Array; width: number; height: number }[],
    [sharp(file.left), sharp(file.right)],
  ];
  for (const [left, right] of forms)
    expect((await library.match(left!, right!, options)).disparity).toEqual(expected.disparity);
});

test("an engine computes many pairs, overlapping calls in order, until it is closed", async () => {
  const { left, right } = await library.openPair(file.left, file.right, options);
  const { width, height, format } = left;
  const engine = await library.openEngine({ ...options, calibration, width, height, format });
  const expected = await library.match(file.left, file.right, { ...options, calibration });
  const maps = await Promise.all([1, 2, 3].map(() => engine.match(left.data, right.data)));
  for (const map of maps) expect(isDeepStrictEqual(map, expected)).toBe(true);
  await expect(engine.match(left.data.subarray(1), right.data)).rejects.toMatchObject({
    code: "IMAGE_SIZE_MISMATCH",
    message: `left image: expected ${WIDTH * HEIGHT} bytes (${WIDTH} x ${HEIGHT}, GREY), got ${WIDTH * HEIGHT - 1}`,
  });
  await expect(
    engine.match(new Float32Array(left.data.length / 4) as never, right.data),
  ).rejects.toMatchObject({
    code: "IMAGE_SIZE_MISMATCH",
  });
  const last = engine.match(left.data, right.data);
  await engine[Symbol.asyncDispose]();
  expect(await last).toEqual(expected);
  await expect(engine.match(left.data, right.data)).rejects.toMatchObject({ code: "ENGINE_FAILED" });
});

test("images and settings that cannot be matched are errors with a code", async () => {
  const { match } = library;
  const small = { data: new Uint8Array(64 * 48), width: 64, height: 48 };
  const text = join(folder, "text.png");
  writeFileSync(text, "no picture");
  for (const [left, right, more, code] of [
    [file.left, join(folder, "missing.png"), {}, "SOURCE_UNREADABLE"],
    [file.left, text, {}, "IMAGE_UNSUPPORTED"],
    [file.left, small, {}, "IMAGE_SIZE_MISMATCH"],
    [{ ...small, width: 65 }, small, {}, "IMAGE_SIZE_MISMATCH"],
    [{ ...small, width: -64 }, small, {}, "IMAGE_UNSUPPORTED"],
    [file.left, 5 as never, {}, "IMAGE_UNSUPPORTED"],
    [file.left, file.right, { numDisparities: 1 }, "CONFIG_INVALID"],
    [file.left, file.right, { settings: { "match.sgm.p3": 1 } as never }, "CONFIG_UNKNOWN_KEY"],
    [file.left, file.right, { preset: "no-such-preset" }, "USAGE"],
    [file.left, file.right, { calibration: join(folder, "none.json") }, "CALIBRATION_UNREADABLE"],
  ] as const)
    await expect(match(left, right, { ...options, ...more }), code).rejects.toMatchObject({ code });
});

test("a signal gives a match up with its reason", async () => {
  const reason = new Error("not needed any more");
  const signal = AbortSignal.abort(reason);
  await expect(library.match(file.left, file.right, { ...options, signal })).rejects.toBe(reason);
  const later = new AbortController();
  const matching = library.match(file.left, file.right, { ...options, signal: later.signal });
  later.abort(reason);
  await expect(matching).rejects.toBe(reason);
});

test("a run hands every frame to a function, and its figures at the end", async () => {
  const sequences: number[] = [];
  const running = library.run(
    { settings: SMALL, frames: 3 },
    {
      onFrame: ({ sequence, skipped, disparity, depth }) => {
        sequences.push(sequence);
        expect([skipped, disparity.length, depth!.length]).toEqual([0, 96 * 64, 96 * 64]);
      },
    },
  );
  expect(await running.finished).toMatchObject({ frames: 3, width: 96, height: 64, algorithm: "sgm" });
  expect(sequences).toHaveLength(3);
});

test("a run is iterated: the newest frame, changes while it runs, and the end of the loop ends it", async () => {
  const running = library.run({ settings: SMALL });
  let seen = -1;
  let sum = 0;
  for await (const { sequence, skipped } of running) {
    expect(sequence).toBeGreaterThan(seen);
    sum += 1 + skipped;
    if (seen === -1) expect(await running.apply({ "match.sgm.paths": 8 })).toEqual({ "match.sgm.paths": 8 });
    seen = sequence;
    if (sum > 5) break;
  }
  expect((await running.finished).frames).toBeGreaterThanOrEqual(sum);
  await expect(running.apply({ "match.sgm.paths": 4 })).rejects.toMatchObject({ code: "RUN_ENDED" });
});

test("a run that cannot begin, or is given up, rejects", async () => {
  expect(() => library.run({ frames: -1 })).toThrow("expected frames to be a whole number from 1, got -1");
  const missing = library.run({ settings: { "source.kind": "mcap", "source.mcap.file": "/none.mcap" } });
  await expect(missing.finished).rejects.toThrow(library.DepthwattError);
  const reason = new Error("enough");
  const stop = new AbortController();
  const running = library.run(
    { settings: SMALL, signal: stop.signal },
    { onFrame: () => stop.abort(reason) },
  );
  await expect(running.finished).rejects.toBe(reason);
  const failing = library.run({ settings: SMALL }, { onFrame: () => expect.fail("of the function") });
  await expect(failing.finished).rejects.toThrow("of the function");
  const iterated = async () => {
    for await (const _frame of library.run({ settings: { "match.numDisparities": 3 } })) expect.fail();
  };
  await expect(iterated()).rejects.toMatchObject({ code: "CONFIG_INVALID" });
});
