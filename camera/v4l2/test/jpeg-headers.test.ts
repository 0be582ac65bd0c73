// SPDX-License-Identifier: Apache-2.0
// The decoder accepts some segments before the pixels of a JPEG and refuses others; decoding is timed for some sizes alone.
import { beforeAll, expect, test } from "vitest";
import { needs } from "../../../test/doubles/needs.js";
import { video } from "./fake-video/helpers.js";
import { motionJpeg } from "./motion-jpeg.js";

needs("turbojpeg").suite("the header of a JPEG", () => {
  const [width, height] = [24, 16];
  let jpeg: Buffer;
  beforeAll(async () => {
    const pixel = (x: number, y: number): [number, number, number] => [40 + 5 * x + y, 120, 130];
    jpeg = await motionJpeg({ width, height, pixel, restartInterval: 1 });
  });

  const decodes = (bytes: Uint8Array, size = { width, height }) => {
    try {
      return video.timeDecoding({ jpeg: bytes, ...size, decode: "rgb" }) > 0;
    } catch (error) {
      expect(error).toMatchObject({ code: "INVALID_ARGUMENT" });
      return false;
    }
  };
  /** Offset of the first segment with this marker. */
  const find = (marker: number) => {
    let at = 2;
    while (jpeg[at + 1] !== marker) at += 2 + jpeg.readUInt16BE(at + 2);
    return at;
  };
  const inserted = (at: number, ...bytes: number[]) =>
    Buffer.concat([jpeg.subarray(0, at), Buffer.from(bytes), jpeg.subarray(at)]);
  const changed = (at: number, ...bytes: number[]) => {
    const copy = Buffer.from(jpeg);
    copy.set(bytes, at);
    return copy;
  };

  test("is whole, with fill bytes, empty segments and padding after the end", () => {
    expect(decodes(jpeg)).toBe(true);
    for (const marker of [0xdb, 0xc0, 0xda])
      expect(decodes(inserted(find(marker), 0xff, 0xff, 0xff))).toBe(true);
    expect(decodes(inserted(find(0xc0), 0xff, 0xfe, 0, 2))).toBe(true);
    expect(decodes(inserted(find(0xda), 0xff, 0xfe, 0, 5, 0xff, 0xd9, 0xff))).toBe(true);
    // A length of two bytes, with what looks like a frame of another size inside.
    const frame = [0xff, 0xc0, 0, 17, 8, 0, 1, 0, 1];
    expect(decodes(inserted(find(0xda), 0xff, 0xfe, 1, 44, ...frame, ...new Array(289).fill(0)))).toBe(true);
    expect(decodes(inserted(jpeg.length, 0, 0, 0xff, 0xd8))).toBe(true);
    expect(decodes(inserted(jpeg.length - 2, 0xff, 0xff))).toBe(true);
    // An extended frame of 8 bits is decoded like a baseline frame.
    expect(decodes(changed(find(0xc0) + 1, 0xc1))).toBe(true);
  });

  test("is refused where a byte of its structure is another", () => {
    const frame = find(0xc0);
    const broken: [string, Uint8Array][] = [
      ["nothing", new Uint8Array(0)],
      ["three bytes", jpeg.subarray(0, 3)],
      ["no first byte of a start", changed(0, 0xfe)],
      ["no second byte of a start", changed(1, 0xd9)],
      ["a byte between segments", inserted(frame, 0)],
      ["a frame with arithmetic coding", changed(frame + 1, 0xc9)],
      ["a progressive frame", changed(frame + 1, 0xc2)],
      ["a segment of one byte", inserted(frame, 0xff, 0xfe, 0, 1)],
      ["a frame of seven bytes", inserted(frame, 0xff, 0xc0, 0, 7, 8, 0, height, 0, width)],
      ["a segment beyond the end", changed(find(0xdb) + 2, 0xff, 0xff)],
      ["no frame before the pixels", changed(frame + 1, 0xfe)],
      ["no end", jpeg.subarray(0, jpeg.length - 2)],
      ["half an end", jpeg.subarray(0, jpeg.length - 1)],
      ["another marker at the end", changed(jpeg.length - 1, 0xd8)],
      ["another marker before the end", inserted(jpeg.length - 2, 0xff, 0xc0)],
      ["the header alone", jpeg.subarray(0, find(0xda))],
      ["the header and the scan's marker", jpeg.subarray(0, find(0xda) + 4)],
    ];
    expect(broken.filter(([, bytes]) => decodes(bytes)).map(([name]) => name)).toEqual([]);
  });

  test("has the size that was expected, of two bytes a side", async () => {
    for (const size of [
      { width: width - 1, height },
      { width: width + 1, height },
      { width, height: height - 1 },
      { width, height: height + 1 },
    ])
      expect(decodes(jpeg, size)).toBe(false);
    const pixel = (): [number, number, number] => [90, 128, 128];
    const wide = { width: 16 * 17, height: 8 };
    const tall = { width: 16, height: 257 };
    for (const size of [wide, tall]) expect(decodes(await motionJpeg({ ...size, pixel }), size)).toBe(true);
  });

  test("times images of 1 to 2048 pixels a side", () => {
    for (const size of [{ width: 0 }, { width: 2049 }, { height: 0 }, { height: 2049 }])
      expect(() => video.timeDecoding({ jpeg, width, height, decode: "grey", ...size })).toThrow(
        /from 1 to 2048 for/,
      );
    for (const size of [{ width: 1 }, { width: 2048 }, { height: 1 }, { height: 2048 }])
      expect(() => video.timeDecoding({ jpeg, width, height, decode: "grey", ...size })).toThrow(/a JPEG of/);
    expect(() => video.timeDecoding({ jpeg: "x" as never, width, height, decode: "grey" })).toThrow(
      /Uint8Array for jpeg/,
    );
  });
});
