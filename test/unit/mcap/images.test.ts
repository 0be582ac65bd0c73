// SPDX-License-Identifier: Apache-2.0
// Image messages of other programs, written field by field: which are images, which sizes they may have, and every pixel of them.
import { CdrWriter } from "@foxglove/cdr";
import { describe, expect, test } from "vitest";
import { encodePng } from "../../../camera/index.js";
import { encodeRvl, rvlMaxBytes } from "../../../core/frame/rvl.js";
import {
  decodeDepth,
  decodeDisparity,
  decodeImage,
  imageKind,
  parseCameraMatrix,
  parseCaptureTime,
  parseCompressedImage,
  parseImage,
} from "../../../edge/mcap/images.js";
import { compressedMessage } from "../../doubles/recordings.js";

/** 3 s and 7 ns. */
const STAMP_NS = 3_000_000_007n;
const header = () => new CdrWriter().int32(3).uint32(7).string("side");

function image(
  fields: Partial<{
    width: number;
    height: number;
    encoding: string;
    isBigEndian: number;
    step: number;
    data: readonly number[];
  }> = {},
): Uint8Array {
  const { width = 2, height = 1, encoding = "mono8", isBigEndian = 0 } = fields;
  const { step = width, data = Array<number>(step * height).fill(0) } = fields;
  const writer = header().uint32(height).uint32(width).string(encoding).uint8(isBigEndian).uint32(step);
  return writer.uint8Array([...data], true).data;
}

const channel = (metadata: Record<string, string> = {}) =>
  ({ topic: "/left", metadata: new Map(Object.entries(metadata)) }) as never;

test.each<[string, string, string, string | undefined]>([
  ["cdr", "ros2msg", "sensor_msgs/msg/Image", "Image"],
  ["cdr", "ros2msg", "sensor_msgs/msg/CompressedImage", "CompressedImage"],
  ["cdr", "ros2msg", "sensor_msgs/msg/CameraInfo", undefined],
  ["cdr", "ros2idl", "sensor_msgs/msg/Image", undefined],
  ["ros1", "ros2msg", "sensor_msgs/msg/Image", undefined],
])("messages of %s by a schema of %s called %s: %s", (messageEncoding, encoding, name, kind) => {
  expect(imageKind({ messageEncoding } as never, { encoding, name } as never)).toBe(kind);
});

test("an image has every field of its message; bytes behind its rows stay", () => {
  const message = image({
    height: 2,
    step: 3,
    encoding: "mono8",
    isBigEndian: 1,
    data: [1, 2, 9, 3, 4, 9, 8, 8],
  });
  expect(parseImage(message)).toEqual({
    stampNs: STAMP_NS,
    frameId: "side",
    width: 2,
    height: 2,
    encoding: "mono8",
    bigEndian: true,
    strideBytes: 3,
    data: Uint8Array.of(1, 2, 9, 3, 4, 9, 8, 8),
  });
  expect(parseImage(image()).bigEndian).toBe(false);
  expect(parseCompressedImage(compressedMessage(STAMP_NS, Uint8Array.of(5, 6)))).toEqual({
    stampNs: STAMP_NS,
    frameId: "side",
    format: "png",
    data: Uint8Array.of(5, 6),
  });
});

describe("sizes", () => {
  test.each([
    [1, 1, true],
    [16_384, 1, true],
    [1, 16_384, true],
    [16_385, 1, false],
    [1, 16_385, false],
    [0, 1, false],
    [1, 0, false],
  ])("%i x %i: %s, of an image and of compressed depth", (width, height, isAllowed) => {
    const refusal = { code: "SOURCE_UNREADABLE", message: `a message with a size of ${width}x${height}` };
    const plain = () => parseImage(image({ width, height }));
    const packed = new Uint8Array(20 + rvlMaxBytes(width * height));
    new DataView(packed.buffer).setUint32(12, width, true);
    new DataView(packed.buffer).setUint32(16, height, true);
    const bytes = encodeRvl(new Uint16Array(width * height), packed.subarray(20));
    const message = header()
      .string("16UC1; compressedDepth rvl")
      .uint8Array(packed.subarray(0, 20 + bytes), true).data;
    const compressed = () => decodeDepth("CompressedImage", message, "/d");
    for (const parse of [plain, compressed]) {
      if (isAllowed) expect(parse()).toMatchObject({ width, height });
      else expect(parse).toThrow(expect.objectContaining(refusal));
    }
  });

  test("rows that are missing are damage, and so is a message that ends early", () => {
    expect(() => parseImage(image({ height: 3, step: 4, data: Array(11).fill(0) }))).toThrow(
      "a message with 11 bytes for 3 rows of 4",
    );
    expect(parseImage(image({ height: 3, step: 4, data: Array(12).fill(0) })).data).toHaveLength(12);
    expect(() => parseImage(image().subarray(0, 20))).toThrow(/^a message with damage: /);
  });

  test.each([
    [3, 5, 8],
    [4, 4, 6],
  ])("NV12 of %i x %i needs %i rows of bytes", async (width, height, rows) => {
    const nv12 = (bytes: number) =>
      decodeImage(
        "Image",
        image({ width, height, encoding: "nv12", step: 4, data: Array(bytes).fill(1) }),
        channel(),
      );
    expect(await nv12(4 * rows)).toMatchObject({ format: "NV12", width, height, strideBytes: 4 });
    await expect(nv12(4 * rows - 1)).rejects.toMatchObject({
      code: "SOURCE_UNREADABLE",
      message: `a message with ${4 * rows - 1} bytes for ${rows} rows of 4`,
    });
  });
});

test("a message without a capture time has the time of recording", () => {
  const stamped = image();
  expect(parseCaptureTime({ data: stamped, logTime: 5n } as never)).toEqual({
    timeNs: STAMP_NS,
    isLogTime: false,
  });
  // Behind the four bytes of the encapsulation.
  const unstamped = stamped.slice().fill(0, 4, 12);
  expect(parseCaptureTime({ data: unstamped, logTime: 5n } as never)).toEqual({
    timeNs: 5n,
    isLogTime: true,
  });
});

test("the camera matrix is the one behind the distortion, of any length", () => {
  for (const distortion of [[], [0.5, 0.25, 0, 0, 0.125]]) {
    const writer = header().uint32(48).uint32(64).string("plumb_bob").float64Array(distortion, true);
    for (const [matrix, length] of [9, 9, 12].entries())
      for (let i = 1; i <= length; i++) writer.float64(100 * matrix + i);
    expect(parseCameraMatrix(writer.data)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(() => parseCameraMatrix(writer.data.subarray(0, 40))).toThrow("a message with damage");
  }
});

describe("pixels", () => {
  test.each([
    ["mono16", 1, [2, 1, 4, 3]],
    ["mono16", 0, [1, 2, 3, 4]],
    ["bayer_rggb16", 1, [2, 1, 4, 3]],
    ["yuyv", 1, [1, 2, 3, 4]],
  ] as const)("%s, big-endian %i, has the bytes %j", async (encoding, isBigEndian, expected) => {
    const message = image({ encoding, isBigEndian, step: 4, data: [1, 2, 3, 4] });
    expect([...(await decodeImage("Image", message, channel())).data]).toEqual(expected);
  });

  test("are new memory", async () => {
    const message = image({ data: [1, 2] });
    const { data } = await decodeImage("Image", message, channel());
    message.fill(0xee);
    expect([...data]).toEqual([1, 2]);
  });

  test.each([
    ["mono16", "Y10", "Y10"],
    ["mono16", "Y12", "Y12"],
    ["bayer_gbrg16", "BAYER_GBRG10", "BAYER_GBRG10"],
    // A format of 16 bits is what ROS calls it, and 10 bits do not fit into an image of 8.
    ["mono16", "Y16", "Y16"],
    ["mono8", "Y10", "GREY"],
    ["mono16", undefined, "Y16"],
  ])("%s that was recorded from %s is %s", async (encoding, pixelFormat, format) => {
    const metadata: Record<string, string> = pixelFormat === undefined ? {} : { pixelFormat };
    const decoded = await decodeImage("Image", image({ encoding, step: 4 }), channel(metadata));
    expect(decoded).toMatchObject({ format, width: 2, height: 1, strideBytes: 4 });
  });

  test("colours in other orders, in rows with gaps, keep their places", async () => {
    // Two rows of two pixels: 1 to 12 in the order of the encoding; 99 is what no pixel holds.
    const three = [1, 2, 3, 4, 5, 6, 99, 7, 8, 9, 10, 11, 12, 99];
    const four = [1, 2, 3, 99, 4, 5, 6, 99, 99, 7, 8, 9, 99, 10, 11, 12, 99, 99];
    const rgb = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
    const bgr = [3, 2, 1, 6, 5, 4, 9, 8, 7, 12, 11, 10];
    for (const [encoding, step, data, expected] of [
      ["rgb8", 7, three, rgb],
      ["8UC3", 7, three, rgb],
      ["bgr8", 7, three, bgr],
      ["rgba8", 9, four, rgb],
      ["bgra8", 9, four, bgr],
    ] as const) {
      const decoded = await decodeImage("Image", image({ height: 2, encoding, step, data }), channel());
      expect(decoded, encoding).toEqual({
        stampNs: STAMP_NS,
        width: 2,
        height: 2,
        strideBytes: 6,
        format: "RGB8",
        data: Uint8Array.from(expected),
      });
    }
    // Without gaps they are copied as they are.
    const whole = await decodeImage(
      "Image",
      image({ encoding: "rgb8", step: 6, data: [1, 2, 3, 4, 5, 6] }),
      channel(),
    );
    expect(whole).toMatchObject({ strideBytes: 6, data: Uint8Array.of(1, 2, 3, 4, 5, 6) });
  });

  test("a PNG is grey of 8 or of 16 bits", async () => {
    const [width, height] = [3, 2];
    for (const [data, format, bytes] of [
      [Uint8Array.of(1, 2, 3, 4, 5, 6), "GREY", 1],
      [Uint16Array.of(1, 258, 3, 4, 5, 60_000), "Y16", 2],
    ] as const) {
      const message = compressedMessage(STAMP_NS, await encodePng({ data, width, height }));
      expect(await decodeImage("CompressedImage", message, channel())).toEqual({
        stampNs: STAMP_NS,
        width,
        height,
        strideBytes: width * bytes,
        format,
        data: new Uint8Array(data.buffer),
      });
    }
  });

  test("an encoding that is unknown is refused by name, also one that every object has", async () => {
    for (const encoding of ["32FC1", "constructor"])
      await expect(decodeImage("Image", image({ encoding }), channel())).rejects.toMatchObject({
        code: "IMAGE_UNSUPPORTED",
        message: expect.stringMatching(`^/left: expected one of mono8, .*, found "${encoding}"$`) as string,
      });
  });
});

describe("maps", () => {
  test.each([
    [0, [0x0201, 0x0403, 0x0605, 0x0807]],
    [1, [0x0102, 0x0304, 0x0506, 0x0708]],
  ])("depth, big-endian %i, is read row by row", (isBigEndian, millimetres) => {
    const data = [1, 2, 3, 4, 99, 99, 5, 6, 7, 8, 99, 99];
    const message = image({ height: 2, encoding: "16UC1", step: 6, isBigEndian, data });
    expect(decodeDepth("Image", message, "/d")).toEqual({
      stampNs: STAMP_NS,
      frameId: "side",
      width: 2,
      height: 2,
      millimetres: Uint16Array.from(millimetres),
    });
  });

  test.each([
    ["16UC1; compressedDepth png", 20],
    ["16UC1; compressedDepth rvl", 19],
  ])("compressed depth as %s of %i bytes is refused", (format, bytes) => {
    const message = header().string(format).uint8Array(new Uint8Array(bytes), true).data;
    expect(() => decodeDepth("CompressedImage", message, "/d")).toThrow(
      expect.objectContaining({
        code: "IMAGE_UNSUPPORTED",
        message: `/d: expected compressedDepth rvl, found "${format}"`,
      }),
    );
  });

  test("disparities are signed, in rows without gaps", () => {
    // -32768 (no value), -1, 16, 256.
    const data = [0, 128, 255, 255, 16, 0, 0, 1];
    const message = (encoding: string, step: number) =>
      image({ height: 2, encoding, step, data: [...data, 7, 7, 7, 7] });
    expect(decodeDisparity(message("16SC1", 4), "/d")).toEqual({
      width: 2,
      height: 2,
      q4: Int16Array.of(-32768, -1, 16, 256),
    });
    for (const [encoding, step] of [
      ["16UC1", 4],
      ["16SC1", 6],
      ["16SC1", 2],
    ] as const)
      expect(() => decodeDisparity(message(encoding, step), "/d")).toThrow(
        `/d: expected 16SC1 in rows of 4 bytes, found "${encoding}" in rows of ${step}`,
      );
  });
});
