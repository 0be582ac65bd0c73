// SPDX-License-Identifier: Apache-2.0
// The library on small pairs: every form of an image, results as numbers, engines of many pairs, refusals.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { encodePng } from "../../../../camera/index.js";
import { copyDepthMap } from "../../../../edge/library/depth-map.js";
import { match, openEngine } from "../../../../edge/library/engine.js";
import { configFrom } from "../../../../edge/library/options.js";
import { type ImageInput, openPair } from "../../../../edge/library/pictures.js";
import { seededRandom } from "../../../doubles/rvl-pictures.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-library-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("a result", () => {
  const slot = {
    left: Uint8Array.of(1, 2, 3, 4),
    disparityQ4: Int16Array.of(-32_768, 0, 24, -40),
    confidence: Uint8Array.of(0, 9, 255, 1),
  };
  const computed = { validPixels: 3, matchedPixels: 2 };
  const copy = (geometry?: object) =>
    copyDepthMap(slot as never, computed as never, { width: 2, height: 2 }, geometry as never);

  test("has pixels and percent, and no depth without a calibration", () => {
    const map = copy();
    expect(map).toEqual({
      width: 2,
      height: 2,
      disparity: Float32Array.of(Number.NaN, 0, 1.5, -2.5),
      depth: undefined,
      confidence: slot.confidence,
      left: slot.left,
      validPercent: 75,
      matchedPercent: 50,
    });
    expect([map.left === slot.left, map.confidence === slot.confidence]).toEqual([false, false]);
  });

  test("has metres by the offset of the principal points; points at infinity or behind have none", () => {
    const geometry = { focalPixels: 300, baselineMetres: 0.1, disparityOffsetPixels: 2.5 };
    // 30 / (0 + 2.5), 30 / (1.5 + 2.5), and 0 for the last.
    expect(copy(geometry).depth).toEqual(Float32Array.of(Number.NaN, 12, 7.5, Number.NaN));
  });
});

test("options are settings: the values of settings come last, and variables are not read", () => {
  const before = process.env.DEPTHWATT_CONFIG;
  process.env.DEPTHWATT_CONFIG = "/no/such/file.yaml";
  try {
    const config = configFrom(
      { algorithm: "cbca", minDisparity: 3, numDisparities: 40, settings: { "match.numDisparities": 48 } },
      { device: "below", "match.minDisparity": 9 },
    );
    expect([config.match.algorithm, config.match.minDisparity, config.match.numDisparities]).toEqual([
      "cbca",
      3,
      48,
    ]);
    expect([config.device, config.base]).toEqual(["below", "depthwatt"]);
  } finally {
    if (before === undefined) delete process.env.DEPTHWATT_CONFIG;
    else process.env.DEPTHWATT_CONFIG = before;
  }
});

describe("images", () => {
  const grey = { data: Uint8Array.of(1, 2, 3, 4, 5, 6), width: 3, height: 2 };
  const read = async (input: ImageInput, algorithm: "sgm" | "esaw" = "sgm") =>
    (await openPair(input, input, { algorithm, onWarning: () => {} })).left;

  test("may be samples, a file, a URL, bytes or an instance of sharp", async () => {
    const png = await encodePng(grey);
    const file = join(folder, "grey.png");
    writeFileSync(file, png);
    const sharp = {
      clone: () => sharp,
      raw: () => sharp,
      toBuffer: async () => ({ data: grey.data, info: { width: 3, height: 2, channels: 1 } }),
    };
    const clamped = { ...grey, data: Uint8ClampedArray.from(grey.data) };
    // Samples may lie anywhere in their memory.
    const part = { ...grey, data: Uint8Array.of(9, 9, ...grey.data, 9).subarray(2, 8) };
    for (const input of [
      grey,
      clamped,
      part,
      file,
      pathToFileURL(file),
      new Uint8Array(png),
      sharp as never,
    ]) {
      const { data, width, height, format } = await read(input);
      expect({ data: [...data], width, height, format }).toEqual({
        data: [1, 2, 3, 4, 5, 6],
        width: 3,
        height: 2,
        format: "GREY",
      });
    }
  });

  test("of 16 bits and in colours keep them where they count", async () => {
    const deep = { data: Uint16Array.of(1, 60_000), width: 2, height: 1 };
    expect(await read(deep)).toMatchObject({ format: "Y16", data: deep.data });
    const rgb = { data: Uint8Array.of(10, 20, 30, 90, 90, 90), width: 2, height: 1, channels: 3 as const };
    expect(await read(rgb, "esaw")).toMatchObject({ format: "RGB8", data: rgb.data });
    const { format, data } = await read(rgb);
    expect([format, data[1]]).toEqual(["GREY", 90]);
  });

  test("one of which has no colours are both grey, and a matcher that reads colours is noted", async () => {
    const rgb = { data: new Uint8Array(18).fill(7), width: 3, height: 2, channels: 3 as const };
    const warnings: string[] = [];
    const options = { algorithm: "esaw" as const, onWarning: (text: string) => warnings.push(text) };
    const { left, right } = await openPair(rgb, grey, options);
    expect([left.format, right.format]).toEqual(["GREY", "GREY"]);
    expect(warnings).toEqual([expect.stringContaining("the pictures have")]);
    await openPair(rgb, rgb, options);
    await openPair(grey, grey, { onWarning: options.onWarning });
    expect(warnings).toHaveLength(1);
  });

  test.each<[string, unknown, string, string]>([
    [
      "a number",
      5,
      "IMAGE_UNSUPPORTED",
      "left image: expected a file, bytes, { data, width, height } or an instance of sharp, got number",
    ],
    [
      "null",
      null,
      "IMAGE_UNSUPPORTED",
      "left image: expected a file, bytes, { data, width, height } or an instance of sharp, got null",
    ],
    [
      "an object without samples",
      {},
      "IMAGE_UNSUPPORTED",
      "left image: expected a file, bytes, { data, width, height } or an instance of sharp, got object",
    ],
    [
      "no width",
      { ...grey, width: 0 },
      "IMAGE_UNSUPPORTED",
      "left image: expected a size in pixels, got 0x2",
    ],
    [
      "no height",
      { ...grey, height: 0 },
      "IMAGE_UNSUPPORTED",
      "left image: expected a size in pixels, got 3x0",
    ],
    [
      "half a pixel",
      { ...grey, width: 1.5 },
      "IMAGE_UNSUPPORTED",
      "left image: expected a size in pixels, got 1.5x2",
    ],
    [
      "half a row",
      { ...grey, height: 1.5 },
      "IMAGE_UNSUPPORTED",
      "left image: expected a size in pixels, got 3x1.5",
    ],
    [
      "too few samples",
      { ...grey, channels: 3 },
      "IMAGE_SIZE_MISMATCH",
      "left image: expected 18 samples (3 x 2 x 3), got 6",
    ],
    [
      "another size",
      { ...grey, width: 2, height: 3 },
      "IMAGE_SIZE_MISMATCH",
      "Expected two images of one size, got 2x3 in left image and 3x2 in right image.",
    ],
    [
      "another depth",
      { ...grey, data: Uint16Array.from(grey.data) },
      "IMAGE_UNSUPPORTED",
      "Expected two images of one depth, got 16 bit in left image and 8 bit in right image.",
    ],
    [
      "16 bits from sharp",
      {
        clone: () => ({
          raw: () => ({
            toBuffer: async () => ({ data: new Uint8Array(12), info: { width: 3, height: 2, channels: 1 } }),
          }),
        }),
        toBuffer: 1,
      },
      "IMAGE_UNSUPPORTED",
      "left image: expected samples of 8 bits from sharp, got 16 bits",
    ],
  ])("%s are refused", async (_, input, code, message) => {
    await expect(openPair(input as ImageInput, grey)).rejects.toMatchObject({ code, message });
  });
});

describe("engines", () => {
  const [width, height, disparity] = [64, 32, 5];
  const random = seededRandom(3);
  const left = Uint8Array.from({ length: width * height }, () => 255 * random());
  /** The left image, moved: a plane at one disparity. */
  const right = left.map((_, i) => left[i - (i % width) + Math.min(width - 1, (i % width) + disparity)]!);
  const settings = {
    numDisparities: 16,
    settings: { "engine.backend": "cpu", "engine.threads": 1 },
  } as const;
  const mostly = (values: Float32Array) =>
    [...values].filter((value) => Math.abs(value - disparity) < 0.5).length;

  test("match a pair of samples at its disparity", async () => {
    const image = (data: Uint8Array) => ({ data, width, height });
    const map = await match(image(left), image(right), settings);
    expect([map.width, map.height, map.depth]).toEqual([width, height, undefined]);
    expect(mostly(map.disparity)).toBeGreaterThan(0.7 * width * height);
    expect(map.left).toEqual(left);
  });

  test("take pairs of their size and format alone, in order, until they are closed", async () => {
    const engine = await openEngine({ width, height, ...settings });
    expect([engine.width, engine.height, engine.info.backend]).toEqual([width, height, "cpu"]);
    const [first, second] = await Promise.all([engine.match(left, right), engine.match(left, left)]);
    expect(mostly(first.disparity)).toBeGreaterThan(0.7 * width * height);
    expect(mostly(second.disparity)).toBeLessThan(0.1 * width * height);
    for (const [side, data, found] of [
      ["left", left.subarray(1), "2047"],
      ["right", new Uint16Array(width * height), "4096"],
      ["right", Array(4), "[object Array]"],
    ] as const)
      await expect(
        side === "left" ? engine.match(data as never, right) : engine.match(left, data as never),
      ).rejects.toMatchObject({
        code: "IMAGE_SIZE_MISMATCH",
        message: `${side} image: expected 2048 bytes (64 x 32, GREY), got ${found}`,
      });
    const last = engine.match(left, right);
    const closed = engine.close();
    await expect(engine.match(left, right)).rejects.toMatchObject({ code: "ENGINE_FAILED" });
    expect((await last).validPercent).toBeGreaterThan(0);
    await closed;
    await engine[Symbol.asyncDispose]();
  });

  test.each([
    ["Y16", 2],
    ["RGB8", 3],
  ] as const)("of %s take %i bytes a pixel", async (format, bytes) => {
    await using engine = await openEngine({ width, height, format, ...settings });
    const image = (of: Uint8Array) =>
      Uint8Array.from({ length: bytes * width * height }, (_, i) =>
        // The lower byte of a 16-bit value says nothing.
        format === "Y16" && i % 2 === 0 ? 0 : of[Math.floor(i / bytes)]!,
      );
    const map = await engine.match(image(left), image(right));
    expect(mostly(map.disparity)).toBeGreaterThan(0.7 * width * height);
    await expect(engine.match(left, right)).rejects.toMatchObject({
      message: `left image: expected ${2048 * bytes} bytes (64 x 32, ${format}), got 2048`,
    });
  });

  test("give up with the reason of a signal, before a pair and while it waits, and continue with others", async () => {
    await using engine = await openEngine({ width, height, ...settings });
    const [before, during] = [new AbortController(), new AbortController()];
    before.abort(new Error("too late"));
    await expect(engine.match(left, right, before)).rejects.toThrow("too late");
    await expect(match("none.png", "none.png", before)).rejects.toThrow("too late");
    const given = engine.match(left, right, during);
    during.abort(new Error("given up"));
    await expect(given).rejects.toThrow("given up");
    const { signal } = new AbortController();
    expect((await engine.match(left, right, { signal })).width).toBe(width);
  });
});
