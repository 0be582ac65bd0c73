// SPDX-License-Identifier: Apache-2.0
// Images whose rows are not where the driver says.
import { expect, test } from "vitest";
import { RowCheck, rowShift } from "../../../../camera/live/row-check.js";
import { sampleLayout } from "../../../../camera/live/sample-layout.js";
import type { PixelFormat } from "../../../../core/index.js";
import { Random } from "../../../doubles/random.js";
import { createTexture } from "../../../doubles/texture.js";

/** An image whose rows are `realBytes` apart; the driver reports `reportedBytes`. */
function image(format: PixelFormat, realBytes: number, reportedBytes: number, bytesPerPixel: number) {
  const [width, height] = [320, 120];
  const grey = createTexture(width, height);
  const data = new Uint8Array(realBytes * height + 1024);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) data[y * realBytes + x * bytesPerPixel + bytesPerPixel - 1] = grey(x, y);
  return { data, width, height: 100, strideBytes: reportedBytes, format, timestampNs: 0n, sequence: 0 };
}

test.each([
  ["GREY", 1, 336, 320, 16],
  ["GREY", 1, 320, 336, -16],
  ["UYVY", 2, 704, 640, 32],
  ["Y16", 2, 704, 640, 32],
  ["BAYER_RGGB16", 2, 704, 640, 32],
] as const)(
  "%s: rows of %d bytes a pixel, %d bytes apart, reported as %d: a shift of %d",
  (format, bytes, real, reported, shift) => {
    expect(rowShift(image(format, real, reported, bytes))).toBe(shift);
  },
);

test("rows in place, rows without texture and images that are too small are no shift", () => {
  expect(rowShift(image("GREY", 320, 320, 1))).toBeUndefined();
  expect(
    rowShift({ ...image("GREY", 336, 320, 1), data: new Uint8Array(320 * 120).fill(90) }),
  ).toBeUndefined();
  expect(rowShift({ ...image("GREY", 336, 320, 1), width: 100 })).toBeUndefined();
});

test("two images in turn make one warning with both row lengths", () => {
  const sheared = image("Y16", 1728, 1696, 2);
  const check = new RowCheck("/dev/video0");
  const warnings = Array.from({ length: 200 }, () => check.add(sheared)).filter((text) => text !== undefined);
  expect(warnings).toEqual([
    expect.stringMatching(/^\/dev\/video0: the image is sheared: .*1696 bytes and seems to write 1728\./),
  ]);
  const straight = new RowCheck("/dev/video0");
  const inPlace = image("GREY", 320, 320, 1);
  expect(Array.from({ length: 200 }, () => straight.add(inPlace)).every((text) => text === undefined)).toBe(
    true,
  );
});

test.each([
  [323, undefined],
  [324, 4],
  [317, undefined],
  [316, -4],
])("rows that are %i bytes long in memory and 320 by the driver: a shift of %s", (real, shift) => {
  expect(rowShift(image("GREY", real, 320, 1))).toBe(shift);
});

test("noise is no shift, 127 columns or 31 rows are too few, and faint texture is none", () => {
  const sheared = image("GREY", 336, 320, 1);
  const random = new Random(3);
  expect(rowShift({ ...sheared, data: sheared.data.map(() => random.whole(0, 255)) })).toBeUndefined();
  expect([128, 127].map((width) => rowShift({ ...sheared, width }))).toEqual([16, undefined]);
  expect([32, 31].map((height) => rowShift({ ...sheared, height }))).toEqual([16, undefined]);
  const faint = (part: number) => sheared.data.map((value) => 100 + value / part);
  expect([2, 40].map((part) => rowShift({ ...sheared, data: faint(part) }))).toEqual([16, undefined]);
});

test.each([
  // 32 bytes are 16 samples of two bytes; 20 bytes hold 16 samples of 10 bits, and 24 bytes 16 of 12 bits.
  ["Y16", 640, 672],
  ["GREY", 336, 320],
  ["BAYER_RGGB10P", 400, 420],
  ["BAYER_RGGB12P", 480, 504],
] as const)("%s: the warning about rows of %i bytes names %i bytes", (format, reported, real) => {
  const [width, height] = [320, 100];
  const layout = sampleLayout(format);
  const grey = createTexture(width, 120);
  const data = new Uint8Array(504 * 120 + 1024);
  for (let y = 0; y < 120; y++)
    for (let x = 0; x < width; x++) {
      const at = y * real + layout.offset + x * layout.bytes + (x >> layout.groupLog2);
      data[at + layout.bytes - 1] = grey(x, y);
    }
  const check = new RowCheck("/dev/video2");
  const sheared = { data, width, height, strideBytes: reported, format, timestampNs: 0n, sequence: 0 };
  const warnings = Array.from({ length: 16 }, () => check.add(sheared));
  expect(warnings.at(-1)).toBe(
    `/dev/video2: the image is sheared: the driver reports rows of ${reported} bytes and seems to write ${real}. ` +
      "Choose another width, such as a multiple of 64 pixels, and report the driver's error.",
  );
});

test("the first image, the 16th and the 61st are looked at", () => {
  const [sheared, straight] = [image("GREY", 336, 320, 1), image("GREY", 320, 320, 1)];
  const warnedAt = (isStraight: (number: number) => boolean) => {
    const check = new RowCheck("/dev/video0");
    return Array.from({ length: 70 }, (_, number) =>
      check.add(isStraight(number) ? straight : sheared) === undefined ? [] : [number],
    ).flat();
  };
  expect(warnedAt(() => false)).toEqual([15]);
  expect(warnedAt((number) => number === 0)).toEqual([60]);
  expect(warnedAt((number) => number === 15)).toEqual([]);
  expect(warnedAt((number) => ![0, 15].includes(number))).toEqual([15]);
});
