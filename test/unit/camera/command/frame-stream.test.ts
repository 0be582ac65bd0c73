// SPDX-License-Identifier: Apache-2.0
// Tests bytes into frames: YUV4MPEG2 and raw, cut anywhere, and bytes that are no frame.
import { describe, expect, test } from "vitest";
import { FrameStream } from "../../../../camera/command/frame-stream.js";
import { type FrameLayout, rawLayout } from "../../../../camera/command/layout.js";
import { y4mLayout } from "../../../../camera/command/y4m.js";
import { DepthwattError } from "../../../../core/index.js";
import { Random } from "../../../doubles/random.js";

const WIDTH = 18;
const HEIGHT = 16;
const GREY = WIDTH * HEIGHT;

/** Frame `number`: its grey values, then chroma that must not be seen. */
function body(number: number, chroma: number): Buffer {
  const grey = Buffer.from(Array.from({ length: GREY }, (_, at) => (at + 31 * number) & 255));
  return Buffer.concat([grey, Buffer.alloc(chroma, 0xee)]);
}

const y4m = (frames: number, tags = "F25:1 Ip C420jpeg XYSCSS=420JPEG", chroma = 2 * 9 * 8) =>
  Buffer.concat([
    Buffer.from(`YUV4MPEG2 W${WIDTH} H${HEIGHT} ${tags}\n`),
    ...Array.from({ length: frames }, (_, number) =>
      Buffer.concat([Buffer.from(number % 2 ? "FRAME Ip\n" : "FRAME\n"), body(number, chroma)]),
    ),
  ]);

/** Reads pieces; every frame that came whole, as bytes. */
function read(pieces: readonly Buffer[], layout?: FrameLayout): { frames: Buffer[] } {
  const frames: Buffer[] = [];
  let bytes = layout?.imageBytes ?? 0;
  let place = new Uint8Array(0);
  const stream = new FrameStream(layout, {
    onLayout: (found) => {
      bytes = found.imageBytes;
    },
    begin: () => (place = new Uint8Array(bytes)),
    end: () => frames.push(Buffer.from(place)),
    shared: () => expect.unreachable("the stream names no memory"),
  });
  for (const piece of pieces) expect(stream.push(piece)).toBe(piece.length);
  return { frames };
}

describe("YUV4MPEG2", () => {
  test("the grey planes come, however the bytes are cut", () => {
    const bytes = y4m(3);
    const expected = [0, 1, 2].map((number) => body(number, 0));
    // As one buffer: comparing arrays element by element takes seconds.
    for (let at = 0; at <= bytes.length; at++) {
      const { frames } = read([bytes.subarray(0, at), bytes.subarray(at)]);
      expect(Buffer.concat(frames).equals(Buffer.concat(expected)), `cut at ${at}`).toBe(true);
    }
    expect(read([...bytes].map((byte) => Buffer.from([byte]))).frames).toEqual(expected);
  });

  test("a frame's line may state its capture time and number; a frame without them has none", () => {
    const head = `YUV4MPEG2 W${WIDTH} H${HEIGHT} Cmono\n`;
    const lines = [
      "FRAME XTIME=123456789012345678 XSEQ=41",
      "FRAME Ip XSEQ=4294967295",
      "FRAME",
      "FRAME XTIMES=x",
    ];
    const stamps: unknown[] = [];
    const stream = new FrameStream(undefined, {
      onLayout: () => {},
      begin: (stamp) => {
        stamps.push(stamp);
        return "drop";
      },
      end: () => {},
      shared: () => {},
    });
    stream.push(
      Buffer.concat([Buffer.from(head), ...lines.flatMap((line) => [Buffer.from(`${line}\n`), body(0, 0)])]),
    );
    expect(stamps).toEqual([
      { timestampNs: 123456789012345678n, sequence: 41 },
      { timestampNs: undefined, sequence: 4294967295 },
      { timestampNs: undefined, sequence: undefined },
      { timestampNs: undefined, sequence: undefined },
    ]);
  });

  test.each(["XTIME=", "XTIME=-5", "XTIME=1.5", "XTIME=1234567890123456789", "XSEQ=4294967296", "XSEQ=x"])(
    "%s is refused with the expected form",
    (word) => {
      const bytes = Buffer.from(`YUV4MPEG2 W${WIDTH} H${HEIGHT} Cmono\nFRAME ${word}\n`);
      expect(() => read([bytes])).toThrow(
        expect.objectContaining({
          code: "COMMAND_FAILED",
          message: expect.stringMatching(/^expected X(TIME|SEQ) .* in a FRAME line/),
          hint: expect.stringContaining("CLOCK_MONOTONIC"),
        }),
      );
    },
  );

  test.each([
    ["C422", 2 * 9 * 16],
    ["C444", 2 * GREY],
    ["C444alpha", 3 * GREY],
    ["C411", 2 * 5 * 16],
    ["Cmono", 0],
    ["", 2 * 9 * 8],
  ])("%s: chroma is passed over", (tag, chroma) => {
    expect(read([y4m(2, `F30:1 ${tag}`, chroma)]).frames).toEqual([body(0, 0), body(1, 0)]);
  });

  test.each([
    ["W640 H480 F30000:1001", { format: "GREY", strideBytes: 640, skipBytes: 153600, rateHz: 30000 / 1001 }],
    ["W640 H480 F0:0 C420p10", { format: "Y10", strideBytes: 1280, skipBytes: 307200, rateHz: undefined }],
    ["W640 H480 Cmono16", { format: "Y16", strideBytes: 1280, imageBytes: 614400, skipBytes: 0 }],
    ["W640 H480 C444p12 I?", { format: "Y12", skipBytes: 1228800 }],
  ])("%s", (tags, layout) => {
    expect(y4mLayout(`YUV4MPEG2 ${tags}`)).toMatchObject(layout);
  });

  test.each([
    ["W640 H480 It", "interlaced"],
    ["W640 H480 C420p14", "C420p14"],
    ["W640 H480 Crgb", "Crgb"],
    ["H480", "the size W (none)"],
    ["W640 H9999999", "the size H9999999"],
    ["W8 H480", "the size W8"],
    ["W-640 H480", "the size W-640"],
  ])("%s is refused", (tags, text) => {
    expect(() => y4mLayout(`YUV4MPEG2 ${tags}`)).toThrowError(
      expect.objectContaining({
        code: "DEVICE_UNSUITABLE",
        message: expect.stringContaining(text),
        hint: expect.stringContaining("ffmpeg"),
      }),
    );
  });

  test.each([
    ["at once", Buffer.from("ffmpeg version 5.1\n")],
    ["a PNG", Buffer.from([0x89, 0x50, 0x4e, 0x47])],
    ["a longer word", Buffer.from("YUV4MPEG23 W640\n")],
    ["between frames", Buffer.concat([y4m(1), Buffer.from("FRAM\n")])],
    ["a frame too long", Buffer.concat([y4m(1), Buffer.from([7]), Buffer.from("FRAME\n")])],
  ])("garbage: %s", (_, bytes) => {
    const error = (() => {
      try {
        read([bytes]);
      } catch (caught) {
        return caught;
      }
    })();
    expect(error).toBeInstanceOf(DepthwattError);
    expect((error as DepthwattError).code).toBe("COMMAND_FAILED");
    expect((error as DepthwattError).message).toMatch(/^expected "(YUV4MPEG2|FRAME)" .* YUV4MPEG2, got "/);
  });

  test.each(["YUV4MPEG2 ", "YUV4MPEG2 W16 H16\nFRAME "])("a line without end after %j", (begin) => {
    expect(() => read([Buffer.from(begin + "X".repeat(5000))])).toThrowError(
      expect.objectContaining({
        code: "COMMAND_FAILED",
        message: expect.stringMatching(
          /^expected a line of "\w+" that ends within 1024 bytes .* without an end$/,
        ),
      }),
    );
  });

  test("random damage is an error with a code or frames of the right size, never anything else", () => {
    const random = new Random();
    const seed = `seed ${random.seed}`;
    const whole = y4m(4);
    for (let round = 0; round < 3000; round++) {
      const bytes = Buffer.from(whole);
      for (let hit = 0; hit < 1 + (round % 4); hit++)
        bytes[random.whole(0, round % 2 ? 90 : bytes.length - 1)] = random.whole(0, 255);
      const cut = random.whole(0, bytes.length);
      try {
        const stream = new FrameStream(undefined, {
          onLayout: ({ width, height }) => expect(Math.max(width, height), seed).toBeLessThanOrEqual(32768),
          begin: () => "drop",
          end: () => expect.unreachable("a dropped frame has no end"),
          shared: () => {},
        });
        expect(stream.push(bytes.subarray(0, cut))).toBe(cut);
        expect(stream.push(bytes.subarray(cut))).toBe(bytes.length - cut);
      } catch (error) {
        expect(error, seed).toBeInstanceOf(DepthwattError);
        expect(["COMMAND_FAILED", "DEVICE_UNSUITABLE"]).toContain((error as DepthwattError).code);
      }
    }
  });
});

describe("raw frames", () => {
  test.each([
    ["GREY", { format: "GREY", strideBytes: 18, imageBytes: 288, skipBytes: 0 }],
    ["I420", { format: "GREY", strideBytes: 18, imageBytes: 288, skipBytes: 144 }],
    ["NV12", { format: "GREY", strideBytes: 18, imageBytes: 288, skipBytes: 144 }],
    ["YUYV", { format: "YUYV", strideBytes: 36, imageBytes: 576, skipBytes: 0 }],
    ["Y16", { format: "Y16", strideBytes: 36, imageBytes: 576, skipBytes: 0 }],
    ["BAYER_RGGB10", { format: "BAYER_RGGB10", strideBytes: 36, imageBytes: 576, skipBytes: 0 }],
  ] as const)("%s", (name, layout) => {
    expect(rawLayout(name, WIDTH, HEIGHT)).toMatchObject(layout);
  });

  test("come back to back, cut anywhere", () => {
    const bytes = Buffer.concat([body(0, 144), body(1, 144)]);
    const layout = rawLayout("I420", WIDTH, HEIGHT);
    for (let at = 0; at <= bytes.length; at += 7)
      expect(read([bytes.subarray(0, at), bytes.subarray(at)], layout).frames).toEqual([
        body(0, 0),
        body(1, 0),
      ]);
  });

  test("wait in front of a frame that has no place yet", () => {
    const layout = rawLayout("GREY", WIDTH, HEIGHT);
    const place = new Uint8Array(GREY);
    let room = 1;
    let whole = 0;
    const stream = new FrameStream(layout, {
      onLayout: () => {},
      begin: () => (room-- > 0 ? place : "wait"),
      end: () => whole++,
      shared: () => {},
    });
    const bytes = Buffer.concat([body(0, 0), body(1, 0)]);
    expect(stream.push(bytes)).toBe(GREY);
    expect(whole).toBe(1);
    room = 1;
    expect(stream.push(bytes, GREY)).toBe(2 * GREY);
    expect([whole, Buffer.from(place)]).toEqual([2, body(1, 0)]);
  });
});
