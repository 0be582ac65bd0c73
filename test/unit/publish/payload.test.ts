// SPDX-License-Identifier: Apache-2.0
// The frame header byte by byte, against the document and against a message put together without the writer.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32 as zlibCrc32 } from "node:zlib";
import { describe, expect, onTestFinished, test } from "vitest";
import { localClockDomain } from "../../../core/frame/clock-domain.js";
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
  isPicture,
  isRegistered,
  QUANTITY_CODES,
  STREAM_CODES,
  type StreamName,
  valueMeaning,
} from "../../../core/frame/frame-format.js";
import { parseFrame, writeFrame, writeHeaderWithoutCrc } from "../../../core/frame/payload.js";
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

describe("what the page says of values", () => {
  const depth = { quantity: "depthMetres", valueOffset: 0 };
  const points = { quantity: "pointMetres", valueOffset: 0 };
  const plain = { invalidRule: "none", unitScale: 1, valueOffset: 0 };
  test.each([
    ["depth", "u16", { ...depth, unitScale: 0.001, invalidRule: "zero" }],
    ["depth", "f32", { ...depth, unitScale: 1, invalidRule: "nan" }],
    [
      "disparity",
      "u16",
      { quantity: "disparityPixels", unitScale: 1 / 16, valueOffset: -1 / 16, invalidRule: "zero" },
    ],
    ["disparity", "f32", { quantity: "disparityPixels", unitScale: 1, valueOffset: 0, invalidRule: "nan" }],
    ["confidence", "u8", { ...plain, quantity: "confidence" }],
    ["left", "u8", { ...plain, quantity: "greyValue" }],
    ["left", "rgb8", { ...plain, quantity: "colourValue" }],
    ["right", "u8", { ...plain, quantity: "greyValue" }],
    ["registered", "u16", { ...depth, unitScale: 0.001, invalidRule: "zero" }],
    ["registered", "rgb8", { ...plain, quantity: "colourValue" }],
    ["registeredConfidence", "u8", { ...plain, quantity: "confidence" }],
    ["points", "f32", { ...points, unitScale: 1, invalidRule: "nan" }],
    ["points", "i16", { ...points, unitScale: 0.001, invalidRule: "lowest" }],
  ] as const)("%s of %s", (stream, element, expected) => {
    expect(valueMeaning(stream, element)).toEqual(expected);
  });

  test("the page shows four streams; two are of another camera", () => {
    const names = Object.keys(STREAM_CODES) as StreamName[];
    expect(names.filter(isPicture)).toEqual(["depth", "disparity", "confidence", "left"]);
    expect(names.filter(isRegistered)).toEqual(["registered", "registeredConfidence"]);
  });
});

describe("every byte of a header", () => {
  type Field = readonly [bytes: 1 | 2 | 4 | 8, value: number | bigint, kind?: "float"];
  function packed(fields: readonly Field[]): Uint8Array {
    const view = new DataView(new ArrayBuffer(fields.reduce((sum, [bytes]) => sum + bytes, 0)));
    let at = 0;
    for (const [bytes, value, kind] of fields) {
      if (kind === "float" && bytes === 4) view.setFloat32(at, Number(value), true);
      else if (kind === "float") view.setFloat64(at, Number(value), true);
      else if (bytes === 8) view.setBigUint64(at, BigInt.asUintN(64, BigInt(value)), true);
      else if (bytes === 4) view.setUint32(at, Number(value), true);
      else if (bytes === 2) view.setUint16(at, Number(value), true);
      else view.setUint8(at, Number(value));
      at += bytes;
    }
    return new Uint8Array(view.buffer);
  }
  const voxels = {
    stream: "points",
    encoding: "voxels",
    element: "i16",
    width: 3,
    height: 2,
    leftTimestampNs: 11n,
    rightTimestampNs: 12n,
    clock: "realtime",
    timestampPoint: "endOfFrame",
    realtimeOffsetNs: -13n,
    leftSequence: 14,
    rightSequence: 15,
    points: { frame: "robot", colour: "none", voxelMetres: 0.25 },
    reduction: 4,
    energy: { available: true, joules: 2, joulesUncertainty: 0.5, seconds: 0.5, ageMs: 9.5 },
  } as const;
  /** A field a line, in the order of the page. */
  const fields = (crc: number): Field[] => [
    [4, 0x52465744],
    [2, 1],
    [2, 108],
    [1, 5],
    [1, 6],
    [1, 5],
    [1, 2],
    // The offset is known, the end of the frame, and 2 as the exponent of the reduction.
    [2, 1 + 4 + (2 << 3)],
    [1, 6],
    [1, 0],
    [4, 3],
    [4, 2],
    [4, 8],
    [4, 7],
    [8, 11n],
    [8, 12n],
    [8, -13n],
    [4, 14],
    [4, 15],
    [8, 0.25, "float"],
    [8, 0, "float"],
    [4, 0xdeadbeef],
    [4, 0x01020304],
    [2, 0],
    [1, 2],
    [1, 0],
    [4, crc],
    [4, 2, "float"],
    [4, 0.5, "float"],
    [2, 250],
    [2, 10],
  ];

  test("of voxels with energy, in a buffer that was full of other bytes", () => {
    const buffer = new Uint8Array(108 + 8).fill(0xee);
    buffer.set([1, 2, 3, 4, 5, 6, 7, 8], 108);
    const message = writeFrame(buffer, 108, 8, voxels, identity);
    const expected = new Uint8Array(116);
    expected.set(packed(fields(0)));
    expected.set([1, 2, 3, 4, 5, 6, 7, 8], 108);
    const crc = zlibCrc32(expected.subarray(96), zlibCrc32(expected.subarray(0, 92)));
    expected.set(packed(fields(crc)));
    expect(message).toEqual(expected);
    const { header, body } = parseFrame(message);
    expect(header).toEqual({
      ...voxels,
      ...identity,
      energy: { ...voxels.energy, ageMs: 10 },
      headerBytes: 108,
      bodyBytes: 8,
      quantity: "pointMetres",
      invalidRule: "none",
      unitScale: 0.25,
      valueOffset: 0,
    });
    expect([...body]).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  test("in shared memory: the same without a CRC, at the beginning of the buffer", () => {
    const buffer = new Uint8Array(120).fill(0xee);
    const header = writeHeaderWithoutCrc(buffer, 8, voxels, identity);
    expect(header).toEqual(packed(fields(0)));
    expect(header.buffer).toBe(buffer.buffer);
    expect(buffer.subarray(108)).toEqual(new Uint8Array(12).fill(0xee));
    expect(parseFrame(buffer.subarray(0, 116), "sequence").header).toMatchObject(identity);
    expect(() => parseFrame(buffer.subarray(0, 116))).toThrow(/\(crc32\)/);
  });

  test("of the ROS header of compressed depth, over other bytes", () => {
    const buffer = new Uint8Array(120).fill(0xee);
    const { frame } = makeFrame(1, { encoding: "compressedDepth" }, [5, 3]);
    const message = writeFrame(buffer, 116, 4, frame, identity);
    expect([...message.subarray(96)]).toEqual([
      ...Array(12).fill(0),
      5,
      0,
      0,
      0,
      3,
      0,
      0,
      0,
      ...Array(4).fill(0xee),
    ]);
    expect(parseFrame(message).header).toMatchObject({ bodyBytes: 24, reduction: 1 });
  });
});

describe("limits of a frame", () => {
  const sized = (width: number, height: number) => {
    const { frame } = makeFrame(1, { encoding: "png" }, [1, 1]);
    return writeFrame(new Uint8Array(96), 96, 0, { ...frame, width, height }, identity);
  };
  const refused = (message: Uint8Array, field: string) =>
    expect(() => parseFrame(message)).toThrow(
      expect.objectContaining({ code: "PAYLOAD_INVALID", context: expect.objectContaining({ field }) }),
    );

  test("an image of 1 to 16384 pixels a side, and a body of no bytes", () => {
    for (const [width, height] of [
      [1, 16384],
      [16384, 1],
    ] as const)
      expect(parseFrame(sized(width, height))).toMatchObject({
        header: { width, height, headerBytes: 96 },
        body: {},
      });
    refused(sized(0, 5), "width");
    refused(sized(16385, 5), "width");
    refused(sized(5, 0), "height");
    refused(sized(5, 16385), "height");
    refused(sized(5, 5).subarray(0, 95), "magic");
  });

  test("a body that does not end in its buffer is a bug, said as one", () => {
    const { frame } = makeFrame(1, {}, [1, 1]);
    const write = (bytes: number, bodyOffset: number) => () =>
      writeFrame(new Uint8Array(bytes), bodyOffset, 4, frame, identity);
    expect(write(100, 96)()).toHaveLength(100);
    expect(write(99, 96)).toThrow(
      expect.objectContaining({
        code: "INTERNAL",
        message: "expected 96 free bytes before a body of 4, got a buffer of 99 with 96",
      }),
    );
    expect(write(100, 95)).toThrow(expect.objectContaining({ code: "INTERNAL" }));
  });

  test("scales above 0 that are finite", () => {
    const scaled = (scale: number) => resealed(sized(3, 2), (view) => view.setFloat64(64, scale, true));
    expect(parseFrame(scaled(5e-324)).header.unitScale).toBe(5e-324);
    for (const scale of [0, -1, Infinity, Number.NaN]) refused(scaled(scale), "unitScale");
  });

  test("energy above 0 in a time above 0, both finite, at an age of 0 or more", () => {
    const energy: FrameEnergy = { available: true, joules: 1, joulesUncertainty: 0, seconds: 1, ageMs: -3 };
    const carrying = written({ energy });
    expect(parseFrame(carrying).header.energy).toEqual({ ...energy, ageMs: 0 });
    for (const at of [96, 100])
      for (const value of [0, -1, Infinity, Number.NaN]) {
        const changed = resealed(carrying, (view) => view.setFloat32(at, value, true));
        expect(parseFrame(changed).header, `${value} at ${at}`).toHaveProperty("energy", undefined);
      }
  });

  test.each([1, 2, 4, 8] as const)("a reduction of %i", (reduction) => {
    expect(parseFrame(written({ reduction })).header).toMatchObject({
      reduction,
      timestampPoint: undefined,
      realtimeOffsetNs: 1_700_000_000_000_000_000n,
    });
  });

  test("numbers with a sign belong to points, and colours to few streams", () => {
    const changed = (stream: number, element: number) =>
      resealed(sized(3, 2), (view) => {
        view.setUint8(8, stream);
        view.setUint8(10, element);
      });
    refused(changed(STREAM_CODES.depth, ELEMENT_CODES.i16), "element");
    refused(changed(STREAM_CODES.right, ELEMENT_CODES.rgb8), "element");
    expect(parseFrame(changed(STREAM_CODES.left, ELEMENT_CODES.rgb8)).header.element).toBe("rgb8");
    expect(parseFrame(written()).header).toHaveProperty("points", undefined);
  });
});

test("the clock's domain is the CRC of the boot's name; 0 where there is none", () => {
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-boot-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "boot_id"), "123456789\n");
  expect(localClockDomain(join(folder, "boot_id"))).toBe(0xcbf43926);
  expect(localClockDomain(join(folder, "missing"))).toBe(0);
});
