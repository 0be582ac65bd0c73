// SPDX-License-Identifier: Apache-2.0
// The consumer's parts: gaps, latency, statistics, every encoding unpacked, damaged bodies refused.
import { EventEmitter } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { MqttClient } from "mqtt";
import { describe, expect, test, vi } from "vitest";
import { encodePng } from "../../../camera/index.js";
import { connectConsumer, type ReceivedFrame } from "../../../clients/javascript/src/consumer.js";
import { Continuity, ContinuityByStream } from "../../../clients/javascript/src/continuity.js";
import { decodeBody, decodePoints, toValues } from "../../../clients/javascript/src/decode.js";
import { frameLatencyMs } from "../../../clients/javascript/src/latency.js";
import { StreamStatistics } from "../../../clients/javascript/src/statistics.js";
import { localClockDomain } from "../../../core/frame/clock-domain.js";
import { FRAME_HEADROOM_BYTES } from "../../../core/frame/frame-format.js";
import {
  type FrameDescription,
  type FrameHeader,
  parseFrame,
  writeFrame,
} from "../../../core/frame/payload.js";
import { plyOfPoints, plyOfVoxels } from "../../../core/frame/ply.js";
import { DepthwattError } from "../../../core/index.js";
import { FrameSaver } from "../../../edge/commands/consume/frame-saver.js";
import { makeFrame } from "../../doubles/frames.js";

const identity = { frameNumber: 1, runId: 2, clockDomain: 3 };

function message(changes: Partial<FrameDescription>, body: Uint8Array, size: [number, number]) {
  const { frame } = makeFrame(1, changes, size);
  const buffer = new Uint8Array(FRAME_HEADROOM_BYTES + body.length);
  buffer.set(body, FRAME_HEADROOM_BYTES);
  // One byte further on: a message that arrives at an odd address must be read all the same.
  const whole = writeFrame(buffer, FRAME_HEADROOM_BYTES, body.length, frame, identity);
  const odd = new Uint8Array(whole.length + 1);
  odd.set(whole, 1);
  return parseFrame(odd.subarray(1));
}

describe("saving", () => {
  test("a device's name of any length and alphabet fits into the names of files, and two stay two", async () => {
    const folder = mkdtempSync(join(tmpdir(), "depthwatt-save-"));
    try {
      const saver = new FrameSaver(folder, "auto");
      const { header, body } = message({ encoding: "raw", element: "f32" }, new Uint8Array(16), [2, 2]);
      const values = () => new Float32Array(4);
      const rest = { stream: header.stream, messageBytes: 0, latencyMs: undefined, missingBefore: 0 };
      const devices = ["short", "\u6df1".repeat(66), `${"a".repeat(5000)}1`, `${"a".repeat(5000)}2`];
      for (const device of devices)
        saver.save({ ...rest, device, header, body, values, counts: values } as unknown as ReceivedFrame);
      await saver.finish();
      const documents = readdirSync(folder).filter((name) => name.endsWith(".json"));
      const reported = documents.map((name) => JSON.parse(readFileSync(join(folder, name), "utf8")).device);
      expect(reported.sort()).toEqual(devices.sort());
      expect(documents).toContain("short-depth-00000002-000001.json");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe("the file and the meaning of each kind of frame", () => {
  const kinds = {
    millimetres: [
      { stream: "depth", quantity: "depth", element: "u16", unitScale: 0.001, valueOffset: 0 },
      new Uint16Array(4),
    ],
    metres: [{ stream: "depth", quantity: "depth", element: "f32" }, Float32Array.of(1, Number.NaN, 2, 3)],
    disparity: [{ stream: "disparity", quantity: "disparity", element: "i16" }, Float32Array.of(1, 2, 3, 4)],
    grey: [
      { stream: "left", quantity: "image", element: "u8", unitScale: 1, valueOffset: 0 },
      new Uint8Array(4),
    ],
    colours: [
      { stream: "left", quantity: "image", element: "rgb8", unitScale: 1, valueOffset: 0 },
      new Uint8Array(12),
    ],
    jpeg: [{ stream: "left", encoding: "jpeg", element: "rgb8" }, new Uint8Array(4)],
    greyJpeg: [{ stream: "left", encoding: "jpeg", element: "u8" }, new Uint8Array(4)],
    points: [
      { stream: "points", element: "i16", points: { frame: "camera", colour: "grey" } },
      new Uint8Array(32),
    ],
    floatPoints: [
      { stream: "points", element: "f32", points: { frame: "ros", colour: "grey" } },
      new Uint8Array(64),
    ],
  } as const;
  const MILLIMETRES = "depth = count * 0.001 + 0";
  test.each([
    ["millimetres", "auto", "png", MILLIMETRES],
    ["millimetres", "pfm", "pfm", "depth, +inf = none"],
    ["millimetres", "raw", "raw", `u16 little-endian, [height][width], ${MILLIMETRES}`],
    ["metres", "auto", "pfm", "depth, +inf = none"],
    ["metres", "png", undefined, "expected 8 or 16 bit counts for a PNG, depth is f32"],
    ["disparity", "auto", "pfm", "disparity, +inf = none"],
    ["grey", "auto", "png", "image = count * 1 + 0"],
    ["colours", "raw", "raw", "rgb8 little-endian, [height][width], image = count * 1 + 0"],
    ["colours", "pfm", undefined, "expected one number a pixel for a PFM, left has colours"],
    ["jpeg", "pfm", "jpg", "colours"],
    ["greyJpeg", "auto", "jpg", "grey values"],
    ["points", "auto", "ply", "millimetres, camera frame"],
    ["floatPoints", "auto", "ply", "metres, ros frame"],
    ["floatPoints", "raw", "raw", "points as in docs/reference/frames.md, metres, ros frame"],
    ["points", "png", undefined, "expected pictures for png, points are none"],
  ] as const)("%s as %s", async (kind, format, ending, meaning) => {
    const folder = mkdtempSync(join(tmpdir(), "depthwatt-save-"));
    try {
      const [header, data] = kinds[kind];
      const saver = new FrameSaver(folder, format);
      const runId = 0xabc;
      const whole = { width: 2, height: 2, encoding: "raw", runId, frameNumber: 7, captureNs: 5n, ...header };
      const values = () => Float32Array.from(data);
      const body = new Uint8Array(data.buffer);
      const frame = { device: "d", stream: header.stream, header: whole, body, values, counts: () => data };
      saver.save(frame as unknown as ReceivedFrame);
      if (ending === undefined) return await expect(saver.finish()).rejects.toThrow(meaning);
      await saver.finish();
      const name = `d-${header.stream}-00000abc-000007`;
      expect(readdirSync(folder)).toEqual([`${name}.json`, `${name}.${ending}`].sort());
      const document = JSON.parse(readFileSync(join(folder, `${name}.json`), "utf8"));
      expect(document).toMatchObject({
        meaning,
        captureNs: "5",
        device: "d",
        file: join(folder, `${name}.${ending}`),
      });
      expect([saver.saved, saver.skipped, saver.undecodable, saver.failed]).toEqual([1, 0, 0, false]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("frames that come while 64 MiB are being written are skipped, a larger one alone is not", async () => {
    const folder = mkdtempSync(join(tmpdir(), "depthwatt-save-"));
    try {
      const saver = new FrameSaver(folder, "raw");
      const frameOf = (frameNumber: number, width: number, height: number) => {
        const header = { width, height, element: "u8", encoding: "jpeg", runId: 1, frameNumber };
        return { device: "d", stream: "left", header, body: new Uint8Array(1) } as unknown as ReceivedFrame;
      };
      saver.save(frameOf(1, 1 << 14, 1 << 13));
      saver.save(frameOf(2, 1, 1));
      await saver.finish();
      saver.save(frameOf(3, 1 << 13, 1 << 12));
      saver.save(frameOf(4, 1 << 13, 1 << 12));
      saver.save(frameOf(5, 1, 1));
      await saver.finish();
      expect([saver.saved, saver.skipped]).toEqual([3, 2]);
      const numbers = readdirSync(folder).flatMap((name) => name.match(/(\d+)\.jpg/)?.[1] ?? []);
      expect(numbers.map(Number)).toEqual([1, 3, 4]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

test("points as a PLY file: those with a place, red first; and the middles of voxels", () => {
  const head = (count: number, comments: string[], properties: string[]) =>
    [
      ...["ply", "format binary_little_endian 1.0", ...comments.map((text) => `comment ${text}`)],
      ...[`element vertex ${count}`, ...properties.map((one) => `property ${one}`), "end_header", ""],
    ].join("\n");
  const file = (bytes: Uint8Array, length: number) => [
    Buffer.from(bytes.subarray(0, bytes.length - length)).toString(),
    [...bytes.subarray(bytes.length - length)],
  ];
  const colours = ["uchar red", "uchar green", "uchar blue"];
  const shorts = ["short x", "short y", "short z", ...colours];
  const [camera, robot] = [
    "x right, y down, z ahead; origin in the left camera",
    "x ahead, y left, z up; origin in the middle of the baseline",
  ];
  // x, y, z, then blue, green, red and 255; or the grey and 0.
  const none = [0, 128, 0, 128, 0, 128];
  const rgb = Uint8Array.of(...[...none, 9, 9, 9, 255], ...[1, 2, 3, 4, 5, 6, 7, 8, 9, 255]);
  const form = { frame: "camera", colour: "rgb", element: "int16" } as const;
  expect(file(plyOfPoints(rgb, 2, form), 9)).toEqual([
    head(1, ["depthwatt, millimetres", camera], shorts),
    [1, 2, 3, 4, 5, 6, 9, 8, 7],
  ]);
  const two = Uint8Array.of(...rgb, ...[11, 12, 13, 14, 15, 16, 17, 18, 19, 255]);
  expect(file(plyOfPoints(two, 3, form), 18)).toEqual([
    head(2, ["depthwatt, millimetres", camera], shorts),
    [...[1, 2, 3, 4, 5, 6, 9, 8, 7], ...[11, 12, 13, 14, 15, 16, 19, 18, 17]],
  ]);
  const grey = Uint8Array.of(...[1, 2, 3, 4, 5, 6, 7, 0], ...[...none, 9, 0]);
  expect(file(plyOfPoints(grey, 2, { ...form, colour: "grey", frame: "robot" }), 9)).toEqual([
    head(1, ["depthwatt, millimetres", robot], shorts),
    [1, 2, 3, 4, 5, 6, 7, 7, 7],
  ]);
  const float = new Uint8Array(Float32Array.of(1, -2, 3, 0, Number.NaN, 0, 0, 0).buffer);
  float.set([7, 8, 9, 255], 12);
  expect(file(plyOfPoints(float, 2, { ...form, element: "float32" }), 15)).toEqual([
    head(1, ["depthwatt, metres", camera], ["float x", "float y", "float z", ...colours]),
    [...float.subarray(0, 12), 9, 8, 7],
  ]);
  const middles = Float32Array.of(1, 2, 3, 4, 5, 6);
  expect(file(plyOfVoxels(middles, "robot"), 24)).toEqual([
    head(2, ["depthwatt, metres", robot], ["float x", "float y", "float z"]),
    [...new Uint8Array(middles.buffer)],
  ]);
});

describe("unpacking", () => {
  test("raw, rvl, compressedDepth and png all give the same counts", async () => {
    const { pixels, buffer, bodyBytes } = makeFrame(4);
    const rvl = buffer.slice(FRAME_HEADROOM_BYTES, FRAME_HEADROOM_BYTES + bodyBytes);
    const raw = new Uint8Array(pixels.buffer);
    const png = await encodePng({ data: pixels, width: 64, height: 48 });
    for (const [encoding, body] of Object.entries({ raw, rvl, png })) {
      const parsed = message({ encoding: encoding as "raw" }, body, [64, 48]);
      expect(decodeBody(parsed.header, parsed.body), encoding).toEqual(pixels);
    }
    const compressed = makeFrame(4, { encoding: "compressedDepth" });
    const whole = writeFrame(compressed.buffer, FRAME_HEADROOM_BYTES, bodyBytes, compressed.frame, identity);
    const parsed = parseFrame(whole);
    expect(decodeBody(parsed.header, parsed.body)).toEqual(pixels);
  });

  test("8-bit and float pictures", async () => {
    const grey = Uint8Array.from({ length: 12 }, (_, i) => i * 20);
    const png = await encodePng({ data: grey, width: 4, height: 3 });
    for (const [encoding, body] of Object.entries({ raw: grey, png })) {
      const parsed = message({ encoding: encoding as "raw", stream: "left", element: "u8" }, body, [4, 3]);
      expect(decodeBody(parsed.header, parsed.body)).toEqual(grey);
    }
    const metres = Float32Array.of(1.5, Number.NaN, 0.25, 7);
    const parsed = message({ encoding: "raw", element: "f32" }, new Uint8Array(metres.buffer), [2, 2]);
    expect(decodeBody(parsed.header, parsed.body)).toEqual(metres);
    expect(toValues(parsed.header, metres)).toEqual(metres);
  });

  test("counts become metres and pixels, NaN where there is no value", () => {
    const depth = message({ encoding: "raw" }, new Uint8Array(Uint16Array.of(0, 1234).buffer), [2, 1]);
    expect([...toValues(depth.header, decodeBody(depth.header, depth.body))]).toEqual([
      Number.NaN,
      Math.fround(1.234),
    ]);
    const body = new Uint8Array(Uint16Array.of(0, 1, 17).buffer);
    const disparity = message({ encoding: "raw", stream: "disparity" }, body, [3, 1]);
    expect([...toValues(disparity.header, decodeBody(disparity.header, disparity.body))]).toEqual([
      Number.NaN,
      0,
      1,
    ]);
  });

  test("a count of 0 is a value in streams without an invalid count", () => {
    const body = Uint8Array.of(0, 255);
    for (const stream of ["left", "confidence"] as const) {
      const { header, body: counts } = message({ encoding: "raw", stream, element: "u8" }, body, [2, 1]);
      expect([...toValues(header, decodeBody(header, counts))], stream).toEqual([
        header.valueOffset,
        header.valueOffset + 255 * header.unitScale,
      ]);
    }
  });

  test("points are little-endian, their colours the other way round; a count of -32768 is no point", () => {
    const int16 = [1, 2, -2, -1, 0, 128, 0, 128, 0, 128];
    const float32 = [0, 0, 128, 63, 0, 0, 0, 192, 0, 0, 192, 127];
    const read = (element: "i16" | "f32", colour: "rgb" | "grey", ...body: number[]) => {
      const bytes = element === "f32" ? 16 : colour === "rgb" ? 10 : 8;
      const header = {
        points: { colour },
        element,
        width: body.length / bytes,
        height: 1,
        unitScale: 0.5,
      };
      const { positions, colours } = decodePoints(header as never, Uint8Array.from(body));
      return [[...positions], [...colours]];
    };
    expect(read("i16", "rgb", ...int16.slice(0, 6), 7, 8, 9, 255)).toEqual([
      [256.5, -1, Number.NaN],
      [9, 8, 7],
    ]);
    expect(read("i16", "grey", ...int16.slice(0, 6), 7, 0, ...int16.slice(4, 10), 6, 0)).toEqual([
      [256.5, -1, Number.NaN, Number.NaN, Number.NaN, Number.NaN],
      [7, 7, 7, 6, 6, 6],
    ]);
    expect(read("f32", "rgb", ...float32, 7, 8, 9, 255)).toEqual([
      [0.5, -1, Number.NaN],
      [9, 8, 7],
    ]);
  });

  test("bodies that contradict the header are refused", async () => {
    const png = await encodePng({ data: new Uint16Array(12), width: 4, height: 3 });
    const claimsGigabytes = new Uint8Array(png);
    new DataView(claimsGigabytes.buffer).setUint32(16, 60_000);
    new DataView(claimsGigabytes.buffer).setUint32(20, 60_000);
    const cases: [Partial<FrameDescription>, Uint8Array, [number, number], RegExp][] = [
      [{ encoding: "png" }, png, [3, 4], /PNG of 3 x 4, 16 bit, found 4 x 3/],
      [{ encoding: "png", element: "u8", stream: "left" }, png, [4, 3], /8 bit, found 4 x 3, 16 bit/],
      [{ encoding: "png" }, new Uint8Array(20), [4, 3], /PNG of 4 x 3, 16 bit, found no PNG signature/],
      [{ encoding: "png" }, claimsGigabytes, [4, 3], /PNG of 4 x 3, 16 bit, found 60000 x 60000/],
      [{ encoding: "png" }, png.slice(0, 50), [4, 3], /PNG of 4 x 3, 16 bit, found .*cut off|inside a chunk/],
      [
        { encoding: "jpeg", element: "u8", stream: "left" },
        new Uint8Array(9),
        [4, 3],
        /use the body as an image/,
      ],
    ];
    for (const [changes, body, size, expected] of cases) {
      const parsed = message(changes, body, size);
      expect(() => decodeBody(parsed.header, parsed.body)).toThrow(
        expect.objectContaining({ code: "PAYLOAD_INVALID", message: expect.stringMatching(expected) }),
      );
    }
    const short = { ...message({ encoding: "raw" }, new Uint8Array(24), [4, 3]).header };
    const compressed: FrameHeader = { ...short, encoding: "compressedDepth" };
    expect(() => decodeBody(compressed, new Uint8Array(19))).toThrow(
      /20 bytes of compressedDepth header, found 19/,
    );
    expect(() => decodeBody(compressed, new Uint8Array(24))).toThrow(/4 x 3 as in the header, found 0 x 0/);
  });
});

describe("bodies and headers of one frame", () => {
  const headerOf = (changes: Partial<FrameHeader>) =>
    ({
      stream: "depth",
      encoding: "raw",
      element: "u16",
      width: 3,
      height: 2,
      unitScale: 1,
      ...changes,
    }) as FrameHeader;
  const refusal = (expected: string, found: string) =>
    expect.objectContaining({
      code: "PAYLOAD_INVALID",
      message: `frame body: expected ${expected}, found ${found}`,
      context: { field: "body", expected, found },
    });

  test("raw counts have as many elements as pixels, colours three times as many", () => {
    const body = Uint8Array.from({ length: 24 }, (_, i) => i + 1);
    const decoded = (element: FrameHeader["element"], bytes: number) =>
      decodeBody(headerOf({ element }), body.subarray(0, bytes));
    expect(decoded("u8", 6)).toEqual(Uint8Array.of(1, 2, 3, 4, 5, 6));
    expect(decoded("rgb8", 18)).toEqual(body.subarray(0, 18));
    expect(decoded("u16", 12)).toEqual(Uint16Array.of(0x0201, 0x0403, 0x0605, 0x0807, 0x0a09, 0x0c0b));
    const floats = Float32Array.of(1, -2, 0.5, 0, 3, 4);
    expect(decodeBody(headerOf({ element: "f32" }), new Uint8Array(floats.buffer))).toEqual(floats);
    const points = headerOf({ stream: "points", element: "i16" });
    expect(() => decodeBody(points, body)).toThrow(refusal("a picture", "points: use points()"));
    expect(() => decodeBody(headerOf({ element: "f32", encoding: "rvl" }), body)).toThrow(
      refusal("16-bit counts", "f32"),
    );
  });

  test("a PNG has the depth and the colours of its header", async () => {
    const colours = Uint8Array.from({ length: 18 }, (_, i) => 13 * i);
    const png = await encodePng({ data: colours, width: 3, height: 2 });
    expect(decodeBody(headerOf({ element: "rgb8", encoding: "png" }), png)).toEqual(colours);
    const asked = (changes: Partial<FrameHeader>, body = png) =>
      expect(() => decodeBody(headerOf({ encoding: "png", ...changes }), body));
    asked({}).toThrow(refusal("a grey PNG of 3 x 2, 16 bit", "3 x 2, 8 bit, colour type 2"));
    asked({ element: "u8" }).toThrow(refusal("a grey PNG of 3 x 2, 8 bit", "3 x 2, 8 bit, colour type 2"));
    asked({ element: "rgb8", width: 2 }).toThrow(
      refusal("a colour PNG of 2 x 2, 8 bit", "3 x 2, 8 bit, colour type 2"),
    );
    asked({ element: "f32" }).toThrow(refusal("8 or 16 bit counts in a PNG", "f32"));
    // Rows of 100 for a header of 2: their bytes are more than its rows have.
    const high = new Uint8Array(await encodePng({ data: new Uint8Array(300), width: 3, height: 100 }));
    new DataView(high.buffer).setUint32(20, 2);
    asked({ element: "u8" }, high).toThrow(
      refusal("a grey PNG of 3 x 2, 8 bit", "more bytes than its rows have"),
    );
  });

  test("compressedDepth has the size of its header: 12 bytes, columns and rows, then RVL", () => {
    const { pixels, buffer, bodyBytes } = makeFrame(4, {}, [3, 2]);
    const compressed = (columns: number, rows: number) => {
      const body = new Uint8Array(20 + bodyBytes);
      new DataView(body.buffer).setUint32(12, columns, true);
      new DataView(body.buffer).setUint32(16, rows, true);
      body.set(buffer.subarray(FRAME_HEADROOM_BYTES, FRAME_HEADROOM_BYTES + bodyBytes), 20);
      return body;
    };
    const header = headerOf({ encoding: "compressedDepth" });
    expect(decodeBody(header, compressed(3, 2))).toEqual(pixels);
    for (const [columns, rows] of [[2, 2], [3, 3], [2, 3]] as const) // biome-ignore format: three pairs
      expect(() => decodeBody(header, compressed(columns, rows))).toThrow(
        refusal("3 x 2 as in the header", `${columns} x ${rows}`),
      );
    expect(() => decodeBody(header, new Uint8Array(19))).toThrow(
      refusal("20 bytes of compressedDepth header", "19 bytes"),
    );
    expect(() => decodeBody(header, new Uint8Array(20))).toThrow(refusal("3 x 2 as in the header", "0 x 0"));
  });

  test("points of several rows, and at most as many as are allowed", () => {
    const points = { frame: "camera", colour: "grey" } as const;
    const header = headerOf({ stream: "points", element: "i16", points, width: 2, height: 3 });
    const body = new Uint8Array(48);
    const view = new DataView(body.buffer);
    for (let i = 0; i < 6; i++) {
      for (let axis = 0; axis < 3; axis++) view.setInt16(8 * i + 2 * axis, 10 * i + axis, true);
      body[8 * i + 6] = 100 + i;
    }
    expect(decodePoints(header, body, { maxPixels: 6 })).toEqual({
      positions: Float32Array.from({ length: 18 }, (_, i) => 10 * Math.floor(i / 3) + (i % 3)),
      colours: Uint8Array.from({ length: 18 }, (_, i) => 100 + Math.floor(i / 3)),
    });
    expect(() => decodePoints(header, body, { maxPixels: 5 })).toThrow("at most 5 pixels, found 2 x 3");
    expect(() => decodePoints(headerOf({}), body)).toThrow(refusal("points", "depth"));
  });
});

test("a picture that claims more pixels than are allowed is refused before anything is allocated", () => {
  const { frame } = makeFrame(1);
  const buffer = new Uint8Array(FRAME_HEADROOM_BYTES + 8);
  const huge = { ...frame, width: 16384, height: 16384 };
  const parsed = parseFrame(writeFrame(buffer, FRAME_HEADROOM_BYTES, 8, huge, identity));
  const refusal = expect.objectContaining({
    code: "PAYLOAD_INVALID",
    message: "frame header: expected at most 16777216 pixels, found 16384 x 16384",
    hint: expect.stringContaining("--max-pixels"),
  });
  expect(() => decodeBody(parsed.header, parsed.body)).toThrow(refusal);
  const small = makeFrame(4);
  const whole = writeFrame(small.buffer, FRAME_HEADROOM_BYTES, small.bodyBytes, small.frame, identity);
  const { header, body } = parseFrame(whole);
  expect(decodeBody(header, body, { maxPixels: 64 * 48 })).toEqual(small.pixels);
  expect(() => decodeBody(header, body, { maxPixels: 64 * 48 - 1 })).toThrow(/at most 3071 pixels/);
});

describe("continuity", () => {
  const run = (numbers: [number, number][]) => {
    const continuity = new Continuity();
    return numbers.map(([runId, frameNumber]) =>
      continuity.missingBefore({ runId, frameNumber } as unknown as FrameHeader),
    );
  };

  test("counts missing frames within a run, over the wrap of the counter too", () => {
    expect(
      run([
        [1, 5],
        [1, 6],
        [1, 9],
        [1, 10],
      ]),
    ).toEqual([0, 0, 2, 0]);
    expect(
      run([
        [1, 2 ** 32 - 2],
        [1, 1],
      ]),
    ).toEqual([0, 2]);
  });

  test("counts losses of each run automatically, and reports two publishers from restarts", () => {
    const continuity = new Continuity();
    const take = (runId: number, frameNumber: number) => continuity.missingBefore({ runId, frameNumber });
    for (let i = 0; i < 3; i++) expect([take(1, i), take(2, 100 + i)]).toEqual([0, 0]);
    expect([...continuity.concurrentRuns].sort()).toEqual([1, 2]);
    expect([take(1, 9), take(2, 103)]).toEqual([6, 0]);
    // Twenty restarts, and one message of the run before that was late.
    const restarted = new Continuity();
    for (let run = 1; run <= 20; run++) {
      for (const frameNumber of [0, 1, 2]) restarted.missingBefore({ runId: run, frameNumber });
      if (run > 1) restarted.missingBefore({ runId: run - 1, frameNumber: 3 });
    }
    expect(restarted.concurrentRuns).toEqual([]);
  });

  test("a new run is a restart; a frame twice or late is no loss and moves nothing", () => {
    expect(
      run([
        [1, 50],
        [2, 3],
        [2, 4],
      ]),
    ).toEqual([0, 0, 0]);
    expect(
      run([
        [1, 5],
        [1, 5],
        [1, 4],
        [1, 6],
      ]),
    ).toEqual([0, 0, 0, 0]);
  });
});

describe("the limits of continuity", () => {
  test.each([
    [2 ** 31, 2 ** 31 - 1],
    [2 ** 31 + 1, 0],
    [0, 0],
  ])("a step of %d is a loss of %d", (frameNumber, missing) => {
    const continuity = new Continuity();
    expect(continuity.missingBefore({ runId: 1, frameNumber: 0 })).toBe(0);
    expect(continuity.missingBefore({ runId: 1, frameNumber })).toBe(missing);
  });

  test("a run that returns twice is a publisher, two are concurrent, and eight runs are remembered", () => {
    const runsAfter = (...runIds: number[]) => {
      const continuity = new Continuity();
      for (const [frameNumber, runId] of runIds.entries()) continuity.missingBefore({ runId, frameNumber });
      return continuity.concurrentRuns.sort();
    };
    expect(runsAfter(1, 2, 1, 2)).toEqual([]);
    expect(runsAfter(1, 2, 1, 2, 1)).toEqual([]);
    expect(runsAfter(1, 2, 1, 2, 1, 2)).toEqual([1, 2]);
    expect(runsAfter(1, 2, 1, 3, 1, 4, 1)).toEqual([]);
    const eight = [1, 2, 3, 4, 5, 6, 7, 8];
    expect(runsAfter(...eight, ...eight, ...eight)).toEqual(eight);
    const nine = [...eight, 9];
    expect(runsAfter(...nine, ...nine, ...nine)).toEqual([]);
  });
});

describe("continuity of many streams", () => {
  const frame = (frameNumber: number) => ({ runId: 1, frameNumber }) as unknown as FrameHeader;

  test("each stream has its own, and names without end cost no memory without end", () => {
    const streams = new ContinuityByStream();
    streams.of("kept/depth").missingBefore(frame(1));
    streams.of("silent/depth").missingBefore(frame(1));
    expect(streams.of("kept/left").missingBefore(frame(9))).toBe(0);
    for (let i = 0; i < 20_000; i++) {
      streams.of(`hostile-${i}/depth`).missingBefore(frame(1));
      if (i % 1000 === 0)
        expect(streams.of("kept/depth").missingBefore(frame(3 + i / 1000))).toBe(i === 0 ? 1 : 0);
    }
    expect(streams.size).toBe(4096);
    // A forgotten stream restarts instead of reporting a loss that cannot be known.
    expect(streams.of("silent/depth").missingBefore(frame(50))).toBe(0);
  });
});

describe("latency", () => {
  const header = (changes: Partial<FrameHeader>) => changes as FrameHeader;

  test("is exact on the monotonic clock of the same boot", () => {
    const leftTimestampNs = process.hrtime.bigint() - 25_000_000n;
    const clockDomain = localClockDomain();
    expect(clockDomain).not.toBe(0);
    // An offset that is wrong by a year shows that it is not used.
    const latency = frameLatencyMs(
      header({ clock: "monotonic", leftTimestampNs, clockDomain, realtimeOffsetNs: 0n }),
    );
    expect(latency).toBeGreaterThanOrEqual(25);
    expect(latency).toBeLessThan(25 + 10_000);
  });

  test("goes by UNIX time between hosts, and is unknown for recordings", () => {
    const realtimeOffsetNs = BigInt(Date.now()) * 1_000_000n - 5_000_000_000n;
    const other = { clock: "monotonic", leftTimestampNs: 4_960_000_000n, clockDomain: 1 } as const;
    const latency = frameLatencyMs(header({ ...other, realtimeOffsetNs }));
    expect(latency).toBeGreaterThan(35);
    expect(latency).toBeLessThan(40 + 10_000);
    expect(frameLatencyMs(header({ ...other, realtimeOffsetNs: undefined }))).toBeUndefined();
    expect(frameLatencyMs(header({ ...other, clock: "file", realtimeOffsetNs }))).toBeUndefined();
  });

  test("follows a clock that is set while the consumer runs", () => {
    const set = vi.spyOn(Date, "now");
    try {
      for (const ms of [1_900_000_000_000, 1_900_000_000_250, 1_500_000_000_000]) {
        set.mockReturnValue(ms);
        const captured = { leftTimestampNs: 7_000_000_000n, clock: "monotonic", clockDomain: 1 } as const;
        const realtimeOffsetNs = BigInt(ms - 40) * 1_000_000n - captured.leftTimestampNs;
        expect(frameLatencyMs(header({ ...captured, realtimeOffsetNs }))).toBeCloseTo(40, 6);
      }
    } finally {
      set.mockRestore();
    }
  });
});

describe("statistics", () => {
  /** Counts in intervals of 1 %. */
  const near = (value: number) => {
    const closeTo = (found: number) => Math.abs(found - value) <= 0.006 * value;
    return { asymmetricMatch: closeTo, toString: () => `near ${value}` };
  };
  const frame = (latencyMs: number | undefined, missingBefore = 0) =>
    ({ latencyMs, missingBefore, messageBytes: 100, header: {} }) as never;

  test("rate from the first frame to the last, percentiles, losses", () => {
    const statistics = new StreamStatistics();
    for (let i = 0; i <= 100; i++) statistics.add(frame(i, i === 7 ? 3 : 0), 1000 + i * 20);
    expect(statistics.summary()).toEqual({
      frames: 101,
      seconds: 2,
      fps: 50,
      latencyMs: { p50: near(50), p95: near(95), p99: near(99) },
      gaps: 3,
      crcErrors: 0,
      invalid: 0,
      publishers: 1,
      bytes: 10100,
      energy: {
        available: false,
        reason: "no frame carried energy: the publisher's metrics say why",
      },
    });
  });

  test("without a frame, with broken ones, with two publishers, and rounded", () => {
    const statistics = new StreamStatistics();
    const none = { available: false, reason: "no frame came" };
    const fps = { available: false, reason: "a rate needs two frames" };
    const nothing = { frames: 0, seconds: 0, gaps: 0, crcErrors: 0, invalid: 0, publishers: 0, bytes: 0 };
    expect(statistics.summary()).toEqual({ ...nothing, fps, latencyMs: none, energy: none });
    Object.assign(statistics, { crcErrors: 4, invalid: 5, concurrentPublishers: 3 });
    for (const ms of [10_000, 10_500, 11_234.5678]) statistics.add(frame(2), ms);
    expect(statistics.summary()).toMatchObject({
      frames: 3,
      seconds: 1.235,
      fps: 1.62,
      crcErrors: 4,
      invalid: 5,
      publishers: 3,
      bytes: 300,
      latencyMs: { p50: expect.any(Number) },
    });
    const { latencyMs } = statistics.summary();
    for (const value of Object.values(latencyMs)) expect(String(value)).toMatch(/^\d(\.\d{1,3})?$/);
  });

  test("latencies of which half are negative are those of a clock that is behind", () => {
    const statistics = new StreamStatistics();
    for (const latencyMs of [-3, 5, 0]) statistics.add(frame(latencyMs));
    expect(statistics.summary().latencyMs).toMatchObject({ p50: expect.any(Number) });
    statistics.add(frame(-2));
    expect(statistics.summary().latencyMs).toMatchObject({ reason: expect.stringContaining("ms behind") });
  });

  test("joules of the intervals that frames carried", () => {
    const statistics = new StreamStatistics();
    const carrying = (joules: number, joulesUncertainty: number | object) =>
      ({
        messageBytes: 100,
        missingBefore: 0,
        header: { energy: { available: true, joules, joulesUncertainty, seconds: 0.05, ageMs: 3 } },
      }) as never;
    statistics.add(frame(1));
    statistics.add(carrying(0.25, 0.02));
    statistics.add(carrying(0.5, 0.04));
    const known = { frames: 2, joules: 0.75, seconds: 0.1, joulesPerFrame: 0.375 };
    expect(statistics.summary().energy).toEqual({ ...known, joulesUncertainty: 0.03 });
    statistics.add(carrying(0.5, { available: false, reason: "unknown" }));
    expect(statistics.summary().energy).toMatchObject({
      joules: 1.25,
      joulesUncertainty: { available: false, reason: "the step of the publisher's sensor is unknown" },
    });
  });

  test("percentiles are of the whole stream, not of its newest frames", () => {
    const statistics = new StreamStatistics();
    for (let i = 0; i < 6000; i++) statistics.add(frame(200));
    for (let i = 0; i < 5000; i++) statistics.add(frame(10));
    expect(statistics.summary().latencyMs).toEqual({ p50: near(200), p95: near(200), p99: near(200) });
  });

  test("some frames before their time, as of two clocks that are nearly alike, are the smallest", () => {
    const statistics = new StreamStatistics();
    for (let i = 0; i < 40; i++) statistics.add(frame(-1));
    for (let i = 0; i < 60; i++) statistics.add(frame(i + 1));
    expect(statistics.summary().latencyMs).toMatchObject({ p50: near(10), p99: near(59) });
  });

  test("says why a figure is not known", () => {
    const statistics = new StreamStatistics();
    expect(statistics.summary().latencyMs).toMatchObject({ available: false, reason: "no frame came" });
    statistics.add(frame(undefined));
    expect(statistics.summary()).toMatchObject({
      fps: { available: false, reason: "a rate needs two frames" },
      latencyMs: { available: false, reason: expect.stringContaining("capture clock") },
    });
    statistics.add(frame(-250));
    expect(statistics.summary().latencyMs).toMatchObject({
      available: false,
      reason: "this machine's clock is at least 250 ms behind the publisher's",
    });
  });
});

test("documents that a hostile sender wrote are ignored or read, and never end the process", () => {
  const client = Object.assign(new EventEmitter(), { connected: false });
  const consumer = connectConsumer(client as unknown as MqttClient, { device: "porch" });
  const seen: unknown[] = [];
  consumer.on("state", (state) => seen.push(state));
  const texts = ["", "null", "5", "[", "[".repeat(100_000), '{"__proto__":1}', '{"state":{"toString":1}}'];
  texts.push('{"state":"online","reason":{"toString":1}}');
  for (const leaf of ["state", "info", "camera_info", "metrics"]) {
    for (const text of texts) client.emit("message", `depthwatt/porch/${leaf}`, Buffer.from(text));
  }
  expect(seen).toEqual([{ device: "porch", state: "online", reason: "" }]);
});

/** A client of the mqtt package without a broker, which keeps what it is asked. */
function makeClient(connected: boolean) {
  const asked: unknown[] = [];
  const client = Object.assign(new EventEmitter(), {
    connected,
    subscribe: (topics: readonly string[]) => asked.push(["subscribe", ...topics]),
    unsubscribeAsync: async (topics: readonly string[]) => void asked.push(["unsubscribe", ...topics]),
  });
  return { client: client as typeof client & MqttClient, asked };
}

const DOCUMENTS = ["state", "info", "camera_info", "metrics"];

test.each([
  [{}, ["depth", ...DOCUMENTS], "depthwatt/+"],
  [
    { base: "site/hall", device: "d", streams: ["left", "registered", "registeredConfidence"], grid: true },
    ["left", "registered/+", "registered/+/confidence", ...DOCUMENTS, "grid"],
    "site/hall/d",
  ],
  [{ device: "d", streams: [] }, DOCUMENTS, "depthwatt/d"],
] as const)(
  "a consumer with %j subscribes on every connect, until it is closed",
  async (options, leaves, prefix) => {
    const { client, asked } = makeClient(true);
    const filters = leaves.map((leaf) => `${prefix}/${leaf}`);
    const consumer = connectConsumer(client, options);
    client.emit("connect");
    expect(asked.splice(0)).toEqual([
      ["subscribe", ...filters],
      ["subscribe", ...filters],
    ]);
    expect(await consumer.firstAttempt).toEqual({ connected: true, reason: "a client that was given" });
    const base = prefix.replace(/\/[^/]+$/, "");
    const exact = ["state", "info", "camera_info"].map((leaf) => `${base}/porch/${leaf}`);
    consumer.ask("porch");
    consumer.ask("porch");
    expect(() => consumer.ask("a/b")).toThrow("a single topic level");
    client.emit("connect");
    expect(asked.splice(0)).toEqual([
      ["subscribe", ...exact],
      ["subscribe", ...filters, ...exact],
    ]);
    const seen: unknown[] = [];
    consumer.on("metrics", (event) => seen.push(event));
    await consumer.close();
    client.emit("connect");
    client.emit("message", `${base}/d/metrics`, Buffer.from("1"));
    expect([asked, seen]).toEqual([[["unsubscribe", ...filters, ...exact]], []]);
  },
);

test.each([[{ base: "depthwatt/+" }], [{ base: "" }], [{ device: "a/b" }], [{ device: "" }]])(
  "a consumer with %j is refused before it subscribes",
  (options) => {
    const { client, asked } = makeClient(true);
    expect(() => connectConsumer(client, options)).toThrow(
      expect.objectContaining({ code: "CONFIG_INVALID" }),
    );
    expect([asked, client.listenerCount("message")]).toEqual([[], 0]);
  },
);

test("an error of a listener is not taken for a damaged frame", () => {
  const { client } = makeClient(true);
  const consumer = connectConsumer(client);
  const errors: unknown[] = [];
  consumer.on("invalid", (event) => errors.push(event));
  const { buffer, bodyBytes, frame } = makeFrame(4);
  const message = Buffer.from(writeFrame(buffer, FRAME_HEADROOM_BYTES, bodyBytes, frame, identity));
  const send = () => client.emit("message", "depthwatt/d/depth", message);
  consumer.on("frame", () => {
    throw new DepthwattError("CONFIG_INVALID", "of the listener");
  });
  expect(send).toThrow("of the listener");
  expect(errors).toEqual([]);
});

test("a client that is not connected yet subscribes when it is, and is not asked to unsubscribe", async () => {
  const { client, asked } = makeClient(false);
  const consumer = connectConsumer(client);
  expect(asked).toEqual([]);
  expect((await consumer.firstAttempt).connected).toBe(false);
  client.emit("connect");
  expect(asked).toHaveLength(1);
  await consumer.close();
  expect(asked).toHaveLength(1);
});

test("each document is its event, and other topics are none", () => {
  const { client } = makeClient(true);
  const consumer = connectConsumer(client);
  const seen: unknown[] = [];
  const events = ["state", "info", "cameraInfo", "metrics", "grid", "invalid", "frame"] as const;
  for (const name of events) consumer.on(name, (event) => seen.push([name, event]));
  const send = (leaf: string, text: string) =>
    client.emit("message", `depthwatt/d/${leaf}`, Buffer.from(text));
  send("state", '{"state":"online","reason":"started","runId":7}');
  send("state", '{"state":"online","reason":"started","runId":"7"}');
  send("info", '{"a":1}');
  send("camera_info", '{"a":2}');
  send("metrics", '{"a":3}');
  send("grid", '{"a":4}');
  for (const leaf of ["zones", "toString", "constructor", "depth/x"]) send(leaf, '{"a":5}');
  client.emit("message", "depthwatts/d/metrics", Buffer.from("1"));
  const state = { device: "d", state: "online", reason: "started" };
  expect(seen).toStrictEqual([
    ["state", { ...state, runId: 7 }],
    ["state", { ...state, runId: undefined }],
    ["info", { device: "d", info: { a: 1 } }],
    ["cameraInfo", { device: "d", cameraInfo: { a: 2 } }],
    ["metrics", { device: "d", metrics: { a: 3 } }],
    ["grid", { device: "d", grid: { a: 4 } }],
  ]);
});

test("a frame has its header, its size, the number of lost frames before it, and unpacks to counts and metres", () => {
  const { client } = makeClient(true);
  const frames: ReceivedFrame[] = [];
  const errors: unknown[] = [];
  const consumer = connectConsumer(client);
  consumer.on("frame", (frame) => frames.push(frame));
  consumer.on("invalid", (event) => errors.push(event));
  const send = (frameNumber: number, damage = 0) => {
    const { buffer, bodyBytes, frame, pixels } = makeFrame(4);
    const numbers = { runId: 1, frameNumber, clockDomain: 0 };
    const message = Buffer.from(writeFrame(buffer, FRAME_HEADROOM_BYTES, bodyBytes, frame, numbers));
    message[message.length - 1]! ^= damage;
    client.emit("message", "depthwatt/d/depth", message);
    return { pixels, messageBytes: message.length };
  };
  const { pixels, messageBytes } = send(1);
  send(4);
  const numbers = frames.map(({ header, missingBefore }) => [header.frameNumber, missingBefore]);
  expect(numbers).toEqual([
    [1, 0],
    [4, 2],
  ]);
  const [first] = frames as [ReceivedFrame];
  expect(first).toMatchObject({ device: "d", stream: "depth", messageBytes });
  expect(first.counts()).toEqual(pixels);
  expect(first.values()).toEqual(toValues(first.header, pixels));
  expect(() => first.points()).toThrow("expected points, found depth");
  send(5, 1);
  expect(errors).toEqual([
    { device: "d", stream: "depth", crc: true, error: expect.objectContaining({ code: "PAYLOAD_INVALID" }) },
  ]);
});

test.each([
  ["mqtt://127.0.0.1:1", true],
  ["http://broker", false],
  ["xmqtt://broker", false],
  ["mqtt:broker", false],
])("%s as a broker is accepted: %s", async (url, isAccepted) => {
  const open = () => connectConsumer(url, { longestPauseMs: 1 });
  if (!isAccepted) return expect(open).toThrow(`expected a mqtt, mqtts, ws or wss URL, got "${url}"`);
  const consumer = open();
  expect((await consumer.firstAttempt).connected).toBe(false);
  await consumer.close();
});

test("a frame of another stream is no depth, one that is too large is none, a second publisher is reported once", () => {
  const client = Object.assign(new EventEmitter(), { connected: false });
  const consumer = connectConsumer(client as unknown as MqttClient, { maxPixels: 64 * 48 });
  const seen: unknown[] = [];
  consumer.on("frame", ({ header }) => seen.push([header.stream, header.frameNumber]));
  consumer.on("invalid", ({ crc, error }) => seen.push([crc, error.context.field]));
  consumer.on("concurrentPublishers", (event) => seen.push(event));
  const send = (stream: "depth" | "left", runId: number, frameNumber: number, size: [number, number]) => {
    const { buffer, bodyBytes, frame } = makeFrame(1, stream === "left" ? { stream } : {}, size);
    const message = writeFrame(buffer, FRAME_HEADROOM_BYTES, bodyBytes, frame, {
      runId,
      frameNumber,
      clockDomain: 0,
    });
    client.emit("message", "depthwatt/d/depth", Buffer.from(message));
  };
  send("left", 1, 0, [64, 48]);
  send("depth", 1, 0, [65, 48]);
  send("depth", 1, 1, [64, 48]);
  expect(seen).toEqual([
    [false, "stream"],
    [false, "maxPixels"],
    ["depth", 1],
  ]);
  for (let i = 2; i < 8; i++) for (const runId of [1, 2]) send("depth", runId, i, [64, 48]);
  expect(seen.filter((event) => Object.hasOwn(event as object, "runIds"))).toEqual([
    { device: "d", stream: "depth", runIds: [1, 2] },
  ]);
});
