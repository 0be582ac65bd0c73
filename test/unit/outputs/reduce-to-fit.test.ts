// SPDX-License-Identifier: Apache-2.0
// Pictures that are sent smaller until they fit: which size is chosen, that every pixel is one of the whole picture, and that
// the header reports it.
import sharp from "sharp";
import { describe, expect, test } from "vitest";
import { decodeBody, decodePoints } from "../../../clients/javascript/src/decode.js";
import { FRAME_HEADROOM_BYTES } from "../../../core/frame/frame-format.js";
import { parseFrame, writeFrame } from "../../../core/frame/payload.js";
import { encodeRvl, rvlMaxBytes } from "../../../core/frame/rvl.js";
import type { ComputedFrame } from "../../../edge/contracts/computed-frame.js";
import type { Publisher } from "../../../edge/outputs/mqtt/publisher-types.js";
import { RealtimeOffset } from "../../../edge/outputs/mqtt/realtime-offset.js";
import { reducedPixels } from "../../../edge/outputs/mqtt/reduce.js";
import type { MqttSettings } from "../../../edge/outputs/mqtt/settings.js";
import { streamSinks } from "../../../edge/outputs/mqtt/streams.js";
import { seededRandom } from "../../doubles/rvl-pictures.js";

const [WIDTH, HEIGHT] = [61, 43];
const PIXELS = WIDTH * HEIGHT;

/** A frame of noise, so that RVL cannot make it small; with headroom where the engine leaves some. */
function computed(): ComputedFrame {
  const random = seededRandom(3);
  const below = (end: number) => Math.floor(random() * end);
  const bytes = (count: number) => {
    const view = new Uint8Array(new ArrayBuffer(FRAME_HEADROOM_BYTES + count), FRAME_HEADROOM_BYTES);
    return fill(view, () => below(256));
  };
  const words = (counts: Uint16Array) => {
    const room = new Uint8Array(FRAME_HEADROOM_BYTES + rvlMaxBytes(PIXELS));
    const length = encodeRvl(counts, room, FRAME_HEADROOM_BYTES);
    return { room: room.subarray(FRAME_HEADROOM_BYTES), length };
  };
  function fill<T extends Uint8Array | Uint16Array | Int16Array>(view: T, value: () => number): T {
    for (let i = 0; i < view.length; i++) view[i] = value();
    return view;
  }
  const depthBuffer = new ArrayBuffer(FRAME_HEADROOM_BYTES + 2 * PIXELS);
  const depthMillimetres = fill(new Uint16Array(depthBuffer, FRAME_HEADROOM_BYTES), () =>
    below(9) === 0 ? 0 : below(65536),
  );
  const disparityQ4 = fill(new Int16Array(PIXELS), () => (below(9) === 0 ? -32768 : below(2000)));
  const depth = words(depthMillimetres);
  const disparity = words(Uint16Array.from(disparityQ4, (value) => (value === -32768 ? 0 : value + 1)));
  return {
    width: WIDTH,
    height: HEIGHT,
    clock: "file",
    leftTimestampNs: 1n,
    rightTimestampNs: 2n,
    leftSequence: 1,
    rightSequence: 1,
    encodings: {
      encodeDisparity: "rvl",
      leftRgb: true,
      rightGrey: true,
      points: { element: "int16", frame: "robot", colours: true },
      voxels: { frame: "robot", sizeMillimetres: 50, uncertaintyPixels: 0, cx: 0, cy: 0 },
    },
    slot: {
      depthMillimetres,
      disparityQ4,
      confidence: bytes(PIXELS),
      left: bytes(PIXELS),
      leftRgb: bytes(3 * PIXELS),
      right: bytes(PIXELS),
      points: bytes(10 * PIXELS),
      voxels: voxelList(),
      encodedDepth: depth.room,
      encodedDisparity: disparity.room,
    },
    result: { encodedDepthBytes: depth.length, encodedDisparityBytes: disparity.length },
  } as unknown as ComputedFrame;
}

/** 900 voxels of a slope, as the engine lists them. */
function voxelList(): Int16Array {
  const list = new Int16Array(4 * (PIXELS + 1));
  new Int32Array(list.buffer)[0] = 900;
  for (let i = 0; i < 900; i++) list.set([i % 30, Math.floor(i / 30) - 15, (i % 30) >> 2, 0], 4 * (i + 1));
  return list;
}

/** Returns the published messages of one stream with a limit of so many bytes. */
async function published(
  stream: string,
  encoding: string,
  maxMessageBytes: number,
  reduceToFit = true,
  colours = false,
) {
  const messages: Uint8Array[] = [];
  const oversize: number[] = [];
  const reduced: string[] = [];
  const publisher = {
    maxMessageBytes,
    nextFrameNumber: () => 7,
    publish: (...[buffer, at, bytes, frame, release]: Parameters<Publisher["publish"]>) => {
      const message = writeFrame(buffer, at, bytes, frame, { frameNumber: 7, runId: 1, clockDomain: 0 });
      if (message.length > maxMessageBytes) oversize.push(message.length);
      else messages.push(message.slice());
      release(message.length <= maxMessageBytes);
    },
  } as unknown as Publisher;
  const settings = Object.fromEntries(
    ["depth", "disparity", "confidence", "left", "right", "points", "registered"].map((name) => [
      name,
      { enabled: name === stream, encoding, reduceToFit, colours },
    ]),
  ) as unknown as MqttSettings;
  const [sink] = streamSinks(settings, true, {
    publisher,
    offset: new RealtimeOffset(),
    onDropped: (cause) => expect.fail(cause),
    onReduced: (...facts) => reduced.push(facts.join(" ")),
    colours: () => expect.fail("colours"),
  });
  const frame = computed();
  const sent = await new Promise<boolean>((resolve) => sink!(frame, resolve));
  return { messages, oversize, reduced, sent, frame };
}

test.each([
  [2, [0, 2, 8, 10]],
  [4, [0]],
] as const)(
  "of each square of %i pixels the upper left one is taken, also where no square is cut",
  (reduction, taken) => {
    const left = Uint8Array.from({ length: 4 * 4 }, (_, i) => i);
    const frame = { width: 4, height: 4, slot: { left } } as unknown as ComputedFrame;
    const description = { stream: "left", element: "u8" } as never;
    expect([...reducedPixels(description, frame, reduction)]).toEqual(taken);
  },
);

const FORMS = [
  ["depth", "rvl"],
  ["depth", "raw"],
  ["depth", "compressedDepth"],
  ["depth", "png"],
  ["disparity", "rvl"],
  ["disparity", "raw"],
  ["disparity", "png"],
  ["confidence", "raw"],
  ["confidence", "png"],
  ["left", "raw"],
  ["left", "png"],
  ["right", "raw"],
  ["right", "png"],
] as const;

describe.each(FORMS)("%s as %s", (stream, encoding) => {
  test("is sent whole, by half or by a quarter: the largest that fits", async () => {
    const whole = (await published(stream, encoding, 1 << 20)).messages[0]!;
    const expected = decodeBody(parseFrame(whole).header, parseFrame(whole).body);
    expect(parseFrame(whole).header).toMatchObject({ width: WIDTH, height: HEIGHT, reduction: 1 });
    const exact = await published(stream, encoding, whole.length);
    expect([parseFrame(exact.messages[0]!).header.reduction, exact.reduced]).toEqual([1, []]);
    let limit = whole.length - 1;
    for (const reduction of [2, 4] as const) {
      const { messages, reduced, sent } = await published(stream, encoding, limit);
      const { header, body } = parseFrame(messages[0]!);
      expect([header.reduction, header.width, header.height, sent]).toEqual([
        reduction,
        Math.ceil(WIDTH / reduction),
        Math.ceil(HEIGHT / reduction),
        true,
      ]);
      expect(reduced).toEqual([`${stream} ${reduction}`]);
      const counts = decodeBody(header, body);
      const meant = Array.from(counts, (_, i) => {
        const [x, y] = [i % header.width, Math.floor(i / header.width)];
        return expected[reduction * y * WIDTH + reduction * x];
      });
      expect([...counts]).toEqual(meant);
      limit = messages[0]!.length - 1;
    }
    // Not even a quarter: it is offered once, and dropped as too large.
    const { messages, oversize, reduced, sent } = await published(stream, encoding, limit);
    expect([messages.length, oversize, reduced, sent]).toEqual([0, [limit + 1], [], false]);
  });

  test("goes whole where it is not asked for", async () => {
    const { oversize } = await published(stream, encoding, 200, false);
    expect(oversize).toHaveLength(1);
    expect(oversize[0]).toBeGreaterThan(WIDTH * HEIGHT);
  });
});

test("left as JPEG is a file of the same image, by half where only that fits", async () => {
  const { messages, frame } = await published("left", "jpeg", 1 << 20);
  const { header, body } = parseFrame(messages[0]!);
  expect(header).toMatchObject({ encoding: "jpeg", element: "u8", width: WIDTH, height: HEIGHT });
  const { data, info } = await sharp(body).greyscale().raw().toBuffer({ resolveWithObject: true });
  expect([info.width, info.height]).toEqual([WIDTH, HEIGHT]);
  const worst = data.reduce((max, value, i) => Math.max(max, Math.abs(value - frame.slot.left[i]!)), 0);
  expect(worst).toBeLessThan(32);
  const smaller = await published("left", "jpeg", messages[0]!.length - 1);
  expect(parseFrame(smaller.messages[0]!).header).toMatchObject({ reduction: 2, encoding: "jpeg" });
});

test("left in colours keeps its three bytes a pixel together", async () => {
  const { messages, frame } = await published("left", "raw", 3 * PIXELS, true, true);
  const { header, body } = parseFrame(messages[0]!);
  const counts = decodeBody(header, body);
  expect(header).toMatchObject({ element: "rgb8", reduction: 2 });
  const at = 3 * (2 * 4 * WIDTH + 2 * 5);
  const reducedAt = 3 * (4 * header.width + 5);
  expect([...counts.subarray(reducedAt, reducedAt + 3)]).toEqual([
    ...frame.slot.leftRgb.subarray(at, at + 3),
  ]);
});

test("points keep their places: those of every fourth row and column", async () => {
  const whole = parseFrame((await published("points", "raw", 1 << 20)).messages[0]!);
  const { messages } = await published("points", "raw", 2000);
  const { header, body } = parseFrame(messages[0]!);
  expect(header).toMatchObject({ reduction: 4, points: { frame: "robot", colour: "rgb" } });
  const [all, some] = [decodePoints(whole.header, whole.body), decodePoints(header, body)];
  for (let y = 0; y < header.height; y++)
    for (let x = 0; x < header.width; x++) {
      const [at, from] = [3 * (y * header.width + x), 3 * (4 * y * WIDTH + 4 * x)];
      expect(some.positions.subarray(at, at + 3)).toEqual(all.positions.subarray(from, from + 3));
    }
});

test("voxels are sent as they are, or merged until they fit, each point within half an edge", async () => {
  const whole = parseFrame((await published("points", "voxels", 1 << 20)).messages[0]!);
  expect(whole.header).toMatchObject({ reduction: 1, points: { frame: "robot", colour: "none" } });
  const all = decodePoints(whole.header, whole.body).positions;
  expect(all.length).toBe(3 * 900);
  let limit = whole.header.headerBytes + whole.body.length;
  expect((await published("points", "voxels", limit)).reduced).toEqual([]);
  limit -= 1;
  for (const reduction of [2, 4, 8] as const) {
    const { messages, reduced, sent } = await published("points", "voxels", limit);
    const { header, body } = parseFrame(messages[0]!);
    expect([header.reduction, header.points!.voxelMetres, reduced, sent]).toEqual([
      reduction,
      0.05 * reduction,
      [`points ${reduction}`],
      true,
    ]);
    const some = decodePoints(header, body).positions;
    for (let i = 0; i < all.length; i += 3) {
      const near = (at: number) =>
        [0, 1, 2].every((axis) => Math.abs(some[at + axis]! - all[i + axis]!) <= 0.025 * reduction + 1e-6);
      expect(Array.from({ length: some.length / 3 }, (_, k) => 3 * k).some(near)).toBe(true);
    }
    limit = messages[0]!.length - 1;
  }
  const { oversize, sent } = await published("points", "voxels", limit);
  expect([oversize, sent]).toEqual([[limit + 1], false]);
  expect((await published("points", "voxels", 200, false)).oversize).toHaveLength(1);
});

test("a body of voxels that is damaged is refused", async () => {
  const { header, body } = parseFrame((await published("points", "voxels", 1 << 20)).messages[0]!);
  const refused = (damaged: Uint8Array, changes: object = {}) =>
    expect(() => decodePoints({ ...header, ...changes }, damaged));
  refused(body.subarray(0, -4)).toThrow("another word");
  refused(Uint8Array.of(...body, 0, 0, 0, 0)).toThrow("4 more bytes");
  refused(body, { width: 10, height: 10 }).toThrow("at most 100 voxels");
  // Nibbles 1 0 0 8 1 0 0 0: one voxel, of level 8.
  refused(Uint8Array.of(0x00, 0x10, 0x08, 0x10)).toThrow("level below 8");
  // Two voxels; the second has the level, z of the first.
  refused(Uint8Array.of(0, 0, 0, 0x20, 0, 0, 0, 0)).toThrow("a voxel after the one before it");
});
