// SPDX-License-Identifier: Apache-2.0
// The frame header byte by byte, against the document and against a message put together without the writer.
import { readFileSync } from "node:fs";
import { crc32 as zlibCrc32 } from "node:zlib";
import { describe, expect, test } from "vitest";
import { crc32, crc32ByTables } from "../../../core/frame/crc32.js";
import { ENERGY_FIELDS, ENERGY_HEADER_BYTES, type FrameEnergy } from "../../../core/frame/frame-energy.js";
import {
  CLOCK_CODES,
  COMPRESSED_DEPTH_HEADER_BYTES,
  ELEMENT_CODES,
  ENCODING_CODES,
  FRAME_FIELDS,
  FRAME_HEADER_BYTES,
  FRAME_HEADROOM_BYTES,
  INVALID_CODES,
  QUANTITY_CODES,
  STREAM_CODES,
} from "../../../core/frame/frame-format.js";
import { parseFrame, writeFrame } from "../../../core/frame/payload.js";
import { ENCODED_HEADROOM_BYTES } from "../../../cuda/index.js";
import { makeFrame } from "../../doubles/frames.js";
import { seededRandom } from "../../doubles/rvl-pictures.js";

const identity = { frameNumber: 7, runId: 0xdeadbeef, clockDomain: 0x01020304 };

function written(changes: Parameters<typeof makeFrame>[1] = {}): Uint8Array {
  const { buffer, bodyBytes, frame } = makeFrame(3, changes);
  return writeFrame(buffer, FRAME_HEADROOM_BYTES, bodyBytes, frame, identity);
}

/** A copy with some bytes changed and the CRC made right again, so that the change itself must be noticed. */
function resealed(message: Uint8Array, change: (view: DataView) => void): Uint8Array {
  const copy = message.slice();
  const view = new DataView(copy.buffer);
  change(view);
  view.setUint32(92, zlibCrc32(copy.subarray(96), zlibCrc32(copy.subarray(0, 92))), true);
  return copy;
}

describe("frame header", () => {
  test("every field lies where the document says, in the type that it says", () => {
    const text = readFileSync(new URL("../../../docs/reference/frames.md", import.meta.url), "utf8");
    const rows = [...text.matchAll(/^\| (\d+) \| (\d+) \| (\w+) \| `(\w+)` \|/gm)].map(
      ([, offset, bytes, type, name]) => [name, [Number(offset), Number(bytes), type]],
    );
    expect(Object.fromEntries(rows)).toEqual({ ...FRAME_FIELDS, ...ENERGY_FIELDS });
    expect(text).toContain(`${FRAME_HEADER_BYTES} bytes`);
    expect(text).toContain(`${ENERGY_HEADER_BYTES} bytes`);
    for (const codes of [
      STREAM_CODES,
      ENCODING_CODES,
      ELEMENT_CODES,
      CLOCK_CODES,
      COMPRESSED_DEPTH_HEADER_BYTES,
      QUANTITY_CODES,
      INVALID_CODES,
    ]) {
      for (const [name, code] of Object.entries(codes)) expect(text).toContain(`${code} \`${name}\``);
    }
  });

  test("fields touch each other and fill the header", () => {
    let end = 0;
    for (const [offset, bytes] of Object.values(FRAME_FIELDS)) {
      expect(offset).toBe(end);
      end = offset + bytes;
    }
    expect(end).toBe(FRAME_HEADER_BYTES);
    for (const [offset, bytes] of Object.values(ENERGY_FIELDS)) {
      expect(offset).toBe(end);
      end = offset + bytes;
    }
    expect(end).toBe(ENERGY_HEADER_BYTES);
    expect(end + COMPRESSED_DEPTH_HEADER_BYTES).toBeLessThanOrEqual(FRAME_HEADROOM_BYTES);
    expect(FRAME_HEADROOM_BYTES).toBe(ENCODED_HEADROOM_BYTES);
  });

  test("the document's recorded example is what the code writes and reads", () => {
    const text = readFileSync(new URL("../../../docs/reference/frames.md", import.meta.url), "utf8");
    const dump = /```hexdump\n([\s\S]*?)```/.exec(text)?.[1] ?? "";
    const hex = [...dump.matchAll(/^[0-9a-f]{4}((?: [0-9a-f]{2})+)/gm)].map(([, bytes]) => bytes).join("");
    const recorded = Uint8Array.from(hex.trim().split(" "), (byte) => Number.parseInt(byte, 16));
    const { header, body } = parseFrame(recorded);
    const buffer = new Uint8Array(FRAME_HEADROOM_BYTES + body.length);
    buffer.set(body, FRAME_HEADROOM_BYTES);
    expect(writeFrame(buffer, FRAME_HEADROOM_BYTES, body.length, header, header)).toEqual(recorded);
    expect(header).toMatchObject({ stream: "depth", encoding: "rvl", width: 3, height: 2 });
  });

  test("is written in place, in front of the body", () => {
    const { buffer, bodyBytes, frame } = makeFrame(3);
    const body = buffer.slice(FRAME_HEADROOM_BYTES, FRAME_HEADROOM_BYTES + bodyBytes);
    const message = writeFrame(buffer, FRAME_HEADROOM_BYTES, bodyBytes, frame, identity);
    expect(message.buffer).toBe(buffer.buffer);
    expect(message.byteOffset).toBe(FRAME_HEADROOM_BYTES - FRAME_HEADER_BYTES);
    expect(message.subarray(FRAME_HEADER_BYTES)).toEqual(body);
    const { header } = parseFrame(message);
    expect(header).toMatchObject({ ...frame, ...identity, bodyBytes, unitScale: 0.001, valueOffset: 0 });
  });

  test("compressedDepth gets the 20 bytes that ROS puts before RVL words", () => {
    const { body } = parseFrame(written({ encoding: "compressedDepth" }));
    const plain = parseFrame(written()).body;
    const view = new DataView(body.buffer, body.byteOffset);
    expect([0, 4, 8, 12, 16].map((at) => view.getUint32(at, true))).toEqual([0, 0, 0, 64, 48]);
    expect(body.subarray(20)).toEqual(plain);
  });

  test("times keep every nanosecond, also before 1970 and beyond 2^53", () => {
    const times = {
      leftTimestampNs: 2n ** 64n - 1n,
      rightTimestampNs: 2n ** 53n + 1n,
      realtimeOffsetNs: -5n,
    };
    expect(parseFrame(written(times)).header).toMatchObject(times);
    const { header } = parseFrame(written({ realtimeOffsetNs: undefined, clock: "file" }));
    expect(header.realtimeOffsetNs).toBeUndefined();
  });

  test("disparity counts mean sixteenths of a pixel, one more than disparityQ4", () => {
    const { header } = parseFrame(written({ stream: "disparity" }));
    expect(100 * header.unitScale + header.valueOffset).toBe(99 / 16);
    expect(header).toMatchObject({ quantity: "disparityPixels", invalidRule: "zero" });
  });

  test.each([
    ["magic", (view: DataView) => view.setUint8(0, 0x45), /"DWFR" \(0x52465744\), found 0x52465745/],
    ["version", (view: DataView) => view.setUint16(4, 2, true), /version 1, found 2/],
    ["headerBytes", (view: DataView) => view.setUint16(6, 95, true), /expected 96 or more.*found 95/],
    ["headerBytes", (view: DataView) => view.setUint16(6, 60_000, true), /within the message, found 60000/],
    ["stream", (view: DataView) => view.setUint8(8, 9), /1 \(depth\), 2 \(disparity\).*found 9/],
    ["encoding", (view: DataView) => view.setUint8(9, 0), /2 \(rvl\).*found 0/],
    ["element", (view: DataView) => view.setUint8(10, 3), /the only element of rvl, found f32/],
    ["clock", (view: DataView) => view.setUint8(11, 4), /1 \(monotonic\).*found 4/],
    ["quantity", (view: DataView) => view.setUint8(14, 0), /1 \(depthMetres\).*found 0/],
    ["invalidRule", (view: DataView) => view.setUint8(15, 4), /3 \(lowest\), found 4/],
    ["width", (view: DataView) => view.setUint32(16, 0, true), /1 to 16384 pixels, found 0/],
    ["height", (view: DataView) => view.setUint32(20, 16385, true), /1 to 16384 pixels, found 16385/],
    ["bodyBytes", (view: DataView) => view.setUint32(24, 5, true), /as the message is long, found 5/],
    [
      "unitScale",
      (view: DataView) => view.setFloat64(64, Number.NaN, true),
      /a finite number above 0, found NaN/,
    ],
    [
      "valueOffset",
      (view: DataView) => view.setFloat64(72, -Infinity, true),
      /a finite number, found -Infinity/,
    ],
  ] as const)("a bad %s is refused with its offset", (field, change, message) => {
    const offset = FRAME_FIELDS[field][0];
    const bad = resealed(written(), change);
    expect(() => parseFrame(bad)).toThrow(
      expect.objectContaining({
        code: "PAYLOAD_INVALID",
        context: expect.objectContaining({ field, offset }),
      }),
    );
    expect(() => parseFrame(bad)).toThrow(message);
  });

  test("a JPEG has 8-bit elements", () => {
    const jpeg = resealed(written({ encoding: "raw" }), (view) => view.setUint8(9, ENCODING_CODES.jpeg));
    expect(() => parseFrame(jpeg)).toThrow(/u8 \(1\) for jpeg of depth, found u16/);
    const grey = resealed(jpeg, (view) => view.setUint8(10, ELEMENT_CODES.u8));
    expect(parseFrame(grey).header).toMatchObject({ encoding: "jpeg", element: "u8" });
  });

  test("a raw body must have the size that the header says", () => {
    const bad = resealed(written({ encoding: "raw" }), (view) => view.setUint32(16, 65, true));
    expect(() => parseFrame(bad)).toThrow(/6240 for raw 65 x 48 u16, found 6144/);
  });

  test("any single bit flipped is noticed", () => {
    const message = written();
    for (let bit = 0; bit < message.length * 8; bit += bit < 96 * 8 ? 1 : 61) {
      const flipped = message.slice();
      flipped[bit >> 3] = flipped[bit >> 3]! ^ (1 << (bit & 7));
      expect(() => parseFrame(flipped), `bit ${bit}`).toThrow(
        expect.objectContaining({ code: "PAYLOAD_INVALID" }),
      );
    }
  });

  test("every truncation is refused", () => {
    const message = written();
    for (let bytes = 0; bytes < message.length; bytes += bytes < 100 ? 1 : 97) {
      expect(() => parseFrame(message.subarray(0, bytes))).toThrow(
        expect.objectContaining({ code: "PAYLOAD_INVALID" }),
      );
    }
  });

  test.each(["startOfExposure", "endOfFrame", undefined] as const)(
    "the moment that capture times stand for travels in two flags: %s",
    (timestampPoint) => {
      const { buffer, bodyBytes, frame } = makeFrame(3, { timestampPoint });
      const message = writeFrame(buffer, FRAME_HEADROOM_BYTES, bodyBytes, frame, identity);
      expect(parseFrame(message).header.timestampPoint).toBe(timestampPoint);
      expect(parseFrame(message).header.realtimeOffsetNs).toBe(frame.realtimeOffsetNs);
    },
  );

  test.each([
    ["f32", "rgb", 16],
    ["f32", "grey", 16],
    ["i16", "rgb", 10],
    ["i16", "grey", 8],
  ] as const)("points of %s with %s travel with their form", (element, colour, bytes) => {
    const points = { frame: "robot", colour } as const;
    const buffer = new Uint8Array(FRAME_HEADROOM_BYTES + 6 * bytes).fill(1);
    const { frame } = makeFrame(1, { stream: "points", encoding: "raw", element, points }, [3, 2]);
    const message = writeFrame(buffer, FRAME_HEADROOM_BYTES, 6 * bytes, frame, identity);
    const { header, body } = parseFrame(message);
    expect(header).toMatchObject({ stream: "points", element, points, quantity: "pointMetres" });
    expect(header.unitScale).toBe(element === "f32" ? 1 : 0.001);
    expect(body.length).toBe(6 * bytes);
    const refused = (change: (view: DataView) => void) => () => parseFrame(resealed(message, change));
    expect(refused((view) => view.setUint16(88, bytes + 1, true))).toThrow(
      `byte 88 (pointBytes): expected ${bytes} for ${element} and ${colour}, found ${bytes + 1}`,
    );
    expect(refused((view) => view.setUint8(90, 3))).toThrow(/byte 90 \(pointFrame\).*2 \(robot\), found 3/);
    expect(refused((view) => view.setUint8(91, 0))).toThrow(/byte 91 \(pointColour\).*found 0/);
    expect(refused((view) => view.setUint8(9, 3))).toThrow(/expected raw or voxels for points, found png/);
    expect(refused((view) => view.setUint8(9, 6))).toThrow(
      element === "f32" ? /expected i16 for voxels, found f32/ : /expected 0 for voxels, 1 \(grey\)/,
    );
    expect(refused((view) => view.setUint8(10, 1))).toThrow(/expected f32 or i16 for points, found u8/);
    expect(refused((view) => view.setUint8(8, 1))).toThrow(
      expect.objectContaining({ code: "PAYLOAD_INVALID" }),
    );
  });

  test("voxels travel with the edge of the smallest, and only in points", () => {
    const points = { frame: "robot", colour: "none", voxelMetres: 0.05 } as const;
    const buffer = new Uint8Array(FRAME_HEADROOM_BYTES + 4);
    const { frame } = makeFrame(1, { stream: "points", encoding: "voxels", element: "i16", points }, [3, 2]);
    const message = writeFrame(buffer, FRAME_HEADROOM_BYTES, 4, frame, identity);
    const { header } = parseFrame(message);
    expect(header).toMatchObject({ points, unitScale: 0.05, valueOffset: 0, invalidRule: "none" });
    expect(() => parseFrame(resealed(message, (view) => view.setUint8(8, 1)))).toThrow(
      /expected voxels in the stream points alone/,
    );
  });

  test("what only points have and unknown flags are ignored elsewhere", () => {
    const later = resealed(written(), (view) => {
      view.setUint16(12, 0xffff, true);
      view.setUint32(88, 0xffffffff, true);
    });
    expect(parseFrame(later).header.frameNumber).toBe(7);
  });

  test("a headroom that is too small is a bug, said as one", () => {
    const { buffer, frame } = makeFrame(1);
    expect(() => writeFrame(buffer, 95, 4, frame, identity)).toThrow(
      expect.objectContaining({ code: "INTERNAL" }),
    );
  });
});

describe("crc32", () => {
  test("the check value of the polynomial, by zlib and by the tables for browsers", () => {
    const digits = new TextEncoder().encode("123456789");
    expect(crc32(digits)).toBe(0xcbf43926);
    expect(crc32ByTables(digits)).toBe(0xcbf43926);
  });

  test("continues over pieces alike in both forms", () => {
    const bytes = Uint8Array.from({ length: 1000 }, (_, i) => (i * 37) & 255);
    const pieces = [bytes.subarray(0, 1), bytes.subarray(1, 500), bytes.subarray(500)];
    for (const form of [crc32, crc32ByTables]) {
      expect(pieces.reduce((crc, piece) => form(piece, crc), 0)).toBe(zlibCrc32(bytes));
    }
  });

  test("of every length up to 64, from every address, after any remainder", () => {
    const random = seededRandom(32);
    const bytes = Uint8Array.from({ length: 80 }, () => Math.floor(random() * 256));
    for (let length = 0; length <= 64; length++)
      for (let at = 0; at < 9; at++) {
        const piece = bytes.subarray(at, at + length);
        const previous = Math.floor(random() * 2 ** 32);
        expect(crc32ByTables(piece, previous), `${length} bytes from ${at}`).toBe(zlibCrc32(piece, previous));
      }
  });
});

describe("energy in the header", () => {
  const energy: FrameEnergy = {
    available: true,
    joules: 0.5,
    joulesUncertainty: 0.0625,
    seconds: 0.25,
    ageMs: 12,
  };

  test.each([
    ["as it is", energy, energy],
    [
      "an uncertainty that is no whole thousandth, rounded up",
      { ...energy, joulesUncertainty: 0.0621 },
      { ...energy, joulesUncertainty: 0.0625 },
    ],
    [
      "beyond 65 times the joules and 65 seconds, the largest values",
      { ...energy, joulesUncertainty: 1e9, ageMs: 1e9 },
      { ...energy, joulesUncertainty: 32.767, ageMs: 65_535 },
    ],
    [
      "an unknown uncertainty",
      { ...energy, joulesUncertainty: { available: false, reason: "plug" } },
      {
        ...energy,
        joulesUncertainty: { available: false, reason: "the step of the publisher's sensor is unknown" },
      },
    ],
    [
      "a reason: the frame carries none, in a header of 96 bytes",
      { available: false, reason: "why" },
      undefined,
    ],
  ] as const)("%s", (_, given, read) => {
    const { header, body } = parseFrame(written({ energy: given as FrameEnergy }));
    expect(header.energy).toEqual(read);
    expect(header.headerBytes).toBe(read ? 108 : 96);
    expect(body).toEqual(parseFrame(written()).body);
  });

  test("a longer header of a newer publisher is skipped; values that are no energy are none", () => {
    const carrying = written({ energy });
    const longer = new Uint8Array(carrying.length + 4);
    longer.set(carrying.subarray(0, 108));
    longer.set(carrying.subarray(108), 112);
    expect(parseFrame(resealed(longer, (view) => view.setUint16(6, 112, true)))).toEqual({
      header: { ...parseFrame(carrying).header, headerBytes: 112 },
      body: parseFrame(carrying).body,
    });
    for (const joules of [0, -1, Number.NaN, Infinity])
      expect(
        parseFrame(resealed(carrying, (view) => view.setFloat32(96, joules, true))).header.energy,
      ).toBeUndefined();
  });
});

test("colours travel as three bytes a pixel, in the left image alone", () => {
  const [width, height] = [4, 2];
  const description = {
    ...makeFrame(1).frame,
    stream: "left",
    encoding: "raw",
    element: "rgb8",
    width,
    height,
  } as const;
  const buffer = new Uint8Array(FRAME_HEADROOM_BYTES + 24).map((_, i) => i);
  const message = writeFrame(buffer, FRAME_HEADROOM_BYTES, 24, description, identity).slice();
  const { header, body } = parseFrame(message);
  expect(header).toMatchObject({ element: "rgb8", quantity: "colourValue", unitScale: 1, bodyBytes: 24 });
  expect([...body]).toEqual([...buffer.subarray(FRAME_HEADROOM_BYTES)]);
  const short = writeFrame(buffer, FRAME_HEADROOM_BYTES, 8, description, identity).slice();
  expect(() => parseFrame(short)).toThrow(/expected 24 for raw 4 x 2 rgb8, found 8/);
  const depth = writeFrame(
    buffer,
    FRAME_HEADROOM_BYTES,
    24,
    { ...description, stream: "depth" },
    identity,
  ).slice();
  expect(() => parseFrame(depth)).toThrow(/depth has no colours/);
});

test.each([
  ["registered", "jpeg", true],
  ["registered", "raw", false],
  ["registered", "png", false],
  ["registeredConfidence", "jpeg", false],
  ["left", "jpeg", false],
  ["depth", "jpeg", false],
] as const)("colours of %s as %s are accepted: %s", (stream, encoding, accepted) => {
  const frame = { ...makeFrame(1).frame, stream, encoding, element: "rgb8", width: 4, height: 2 } as const;
  const message = writeFrame(
    new Uint8Array(FRAME_HEADROOM_BYTES + 24),
    FRAME_HEADROOM_BYTES,
    24,
    frame,
    identity,
  );
  if (accepted)
    expect(parseFrame(message).header).toMatchObject({
      quantity: "colourValue",
      invalidRule: "none",
      unitScale: 1,
      valueOffset: 0,
    });
  else expect(() => parseFrame(message)).toThrow(expect.objectContaining({ code: "PAYLOAD_INVALID" }));
});
