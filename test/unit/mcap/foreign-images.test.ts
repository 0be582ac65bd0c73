// SPDX-License-Identifier: Apache-2.0
// Tests recordings of other programs whose image messages are valid MCAP and doubtful ROS: damaged ones are skipped and
// counted, and the reason is named.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { encodePng, readEnginePicture } from "../../../camera/index.js";
import { encodeRvl, rvlMaxBytes } from "../../../core/frame/rvl.js";
import { toPly } from "../../../edge/commands/convert/ply.js";
import { toFolders } from "../../../edge/commands/convert/to-folders.js";
import { decodeDepth, decodeImage } from "../../../edge/mcap/images.js";
import { compressedDepthPrefix, writeImage } from "../../../edge/mcap/messages.js";
import { openRecording } from "../../../edge/mcap/recording.js";
import { openMcapSource } from "../../../edge/sources/mcap/source.js";
import {
  compressedMessage,
  type ForeignMessage,
  imageMessage,
  writeForeignMessages,
} from "../../doubles/recordings.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-foreign-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const place = (...names: string[]) => join(folder, ...names);
const START_NS = 1_700_000_000_000_000_000n;
const PAIRS = 6;
type Image = Partial<Parameters<typeof imageMessage>[0]>;

/** Pairs of 24x8 at 10 Hz; `image` changes single ones. */
function pairs(
  image: (side: "left" | "right", pair: number) => Image | Uint8Array = () => ({}),
): ForeignMessage[] {
  return Array.from({ length: PAIRS }, (_, pair) =>
    (["left", "right"] as const).map((side) => {
      const logTime = START_NS + BigInt(pair) * 100_000_000n;
      const changed = image(side, pair);
      const data =
        changed instanceof Uint8Array
          ? changed
          : imageMessage({ width: 24, height: 8, stampNs: logTime, value: 10 * pair, ...changed });
      return { topic: `/${side}/image_raw`, schema: "sensor_msgs/msg/Image", data, logTime };
    }),
  ).flat();
}

test.each<[encoding: string, format: string, pixelBytes: number]>([
  ...["mono8", "8UC1"].map((name): [string, string, number] => [name, "GREY", 1]),
  ...["mono16", "16UC1"].map((name): [string, string, number] => [name, "Y16", 2]),
  ...["rgb8", "8UC3", "bgr8"].map((name): [string, string, number] => [name, "RGB8", 3]),
  ...["rgba8", "bgra8"].map((name): [string, string, number] => [name, "RGB8", 4]),
  ...["yuv422", "uyvy"].map((name): [string, string, number] => [name, "UYVY", 2]),
  ...["yuv422_yuy2", "yuyv"].map((name): [string, string, number] => [name, "YUYV", 2]),
  ["nv12", "NV12", 1],
  ...["rggb", "grbg", "gbrg", "bggr"].flatMap((order): [string, string, number][] => [
    [`bayer_${order}8`, `BAYER_${order.toUpperCase()}8`, 1],
    [`bayer_${order}16`, `BAYER_${order.toUpperCase()}16`, 2],
  ]),
])("an image of %s is read as %s, with at least %i bytes a pixel", async (encoding, format, pixelBytes) => {
  const [width, height] = [6, 4];
  const decode = (strideBytes: number) => {
    const bytes = strideBytes * (encoding === "nv12" ? 6 : height);
    const message = imageMessage({ width, height, stampNs: 7n, encoding, strideBytes, bytes, value: 9 });
    return decodeImage("Image", message, { topic: "/left", metadata: new Map() } as never);
  };
  const packed = await decode(pixelBytes * width);
  const strideBytes = (format === "RGB8" ? 3 : pixelBytes) * width;
  expect(packed).toMatchObject({ stampNs: 7n, width, height, format, strideBytes });
  expect(packed.data.every((value) => value === 9)).toBe(true);
  // Gaps after rows stay, except where the channels are written anew.
  expect((await decode(pixelBytes * width + 2)).strideBytes).toBe(strideBytes + (format === "RGB8" ? 0 : 2));
  await expect(decode(pixelBytes * width - 1)).rejects.toMatchObject({
    code: "SOURCE_UNREADABLE",
    message: expect.stringContaining(`a step of ${pixelBytes * width - 1} bytes`),
  });
});

test("red, green and blue are where the encoding has them", async () => {
  for (const [encoding, expected] of [
    ["rgb8", [1, 2, 3]],
    ["bgr8", [3, 2, 1]],
    ["rgba8", [1, 2, 3]],
    ["bgra8", [3, 2, 1]],
  ] as const) {
    const pixelBytes = encoding.length - 1;
    const strideBytes = 2 * pixelBytes;
    const message = imageMessage({ width: 2, height: 1, stampNs: 7n, encoding, strideBytes });
    for (let i = 0; i < 2 * pixelBytes; i++)
      message[message.length - 2 * pixelBytes + i] = (i % pixelBytes) + 1 + 10 * Math.floor(i / pixelBytes);
    const channel = { topic: "/left", metadata: new Map() };
    const { data } = await decodeImage("Image", message, channel as never);
    expect([...data], encoding).toEqual([...expected, ...expected.map((value) => value + 10)]);
  }
});

test("depth is 16 bits a pixel under either of its names, in rows of any length", () => {
  const depth = (encoding: string, strideBytes = 6) =>
    decodeDepth(
      "Image",
      imageMessage({ width: 3, height: 2, stampNs: 7n, encoding, strideBytes, value: 2 }),
      "/d",
    );
  for (const encoding of ["16UC1", "mono16"])
    expect(depth(encoding, 9)).toEqual({
      stampNs: 7n,
      frameId: "side",
      width: 3,
      height: 2,
      millimetres: new Uint16Array(6).fill(0x0202),
    });
  for (const encoding of ["mono8", "32FC1"])
    expect(() => depth(encoding)).toThrow(`/d: expected 16UC1, found "${encoding}"`);
  expect(() => depth("16UC1", 5)).toThrow("a step of 5 bytes for rows of 6 bytes");
});

test("compressed depth has its size and every value; a size that no image has is damage", () => {
  const [width, height] = [7, 3];
  const millimetres = Uint16Array.from({ length: width * height }, (_, i) =>
    i % 5 === 0 ? 0 : 900 + 37 * i,
  );
  const body = new Uint8Array(rvlMaxBytes(millimetres.length));
  const packed = body.subarray(0, encodeRvl(millimetres, body));
  const prefix = compressedDepthPrefix({ frameId: "cam", width, height, encoding: "16UC1", strideBytes: 14 });
  const message = (w: number, h: number) => {
    const target = new Uint8Array(prefix.length + packed.length);
    writeImage(target, 0, prefix, prefix.length - 24, 7n, packed);
    const view = new DataView(target.buffer, prefix.length - 8);
    view.setUint32(0, w, true);
    view.setUint32(4, h, true);
    return target;
  };
  const decoded = decodeDepth("CompressedImage", message(width, height), "/d");
  expect(decoded).toEqual({ stampNs: 7n, frameId: "cam", width, height, millimetres });
  for (const [w, h] of [
    [0, 3],
    [7, 0],
    [16_385, 1],
    [1, 16_385],
  ] as const)
    expect(() => decodeDepth("CompressedImage", message(w, h), "/d")).toThrow(`a size of ${w}x${h}`);
});

const openSource = (file: string) => openMcapSource({ file, startSeconds: 0, speed: "max", loop: false });

async function convert(name: string, layout: "folder" | "euroc" | "ply" = "folder") {
  const recording = await openRecording(place(`${name}.mcap`));
  const skips: string[] = [];
  const warnings: string[] = [];
  try {
    const events = {
      onProgress: () => {},
      onSkip: (text: string) => skips.push(text),
      onWarning: (text: string) => warnings.push(text),
    };
    const { written, kept, skipped } =
      layout === "ply"
        ? await toPly(recording, place(name), events)
        : await toFolders(recording, place(name), layout, events);
    return { written, kept, skipped, skips, warnings };
  } finally {
    await recording.close();
  }
}

const imagesIn = (...names: string[]) => (existsSync(place(...names)) ? readdirSync(place(...names)) : []);

test.each([0, 10, 23])(
  "a step of %i bytes for rows of 24 is damage, for convert and run",
  async (strideBytes) => {
    const name = `step-${strideBytes}`;
    await writeForeignMessages(
      place(`${name}.mcap`),
      pairs((side, pair) => (side === "left" && pair > 0 ? { strideBytes, bytes: 192 } : {})),
    );
    const { written, skipped, skips } = await convert(name);
    expect({ written, skipped }).toEqual({ written: PAIRS + 1, skipped: { unreadable: PAIRS - 1 } });
    expect(skips[0]).toContain(`a step of ${strideBytes} bytes for rows of 24 bytes`);
    expect(imagesIn(name, "left")).toHaveLength(1);
    const { source } = await openSource(place(`${name}.mcap`));
    await new Promise<void>((resolve, reject) =>
      source.start({
        onPair: ({ release }) => release(),
        onDegraded: () => {},
        onEnd: resolve,
        onError: reject,
      }),
    );
    expect(source.counters()).toMatchObject({ pairs: 1, dropsLeft: { unreadable: PAIRS - 1 } });
    await source.stop();
  },
);

test("chroma that NV12 lacks is damage", async () => {
  await writeForeignMessages(
    place("nv12.mcap"),
    pairs((_, pair) => ({ encoding: "nv12", bytes: pair === 0 ? 24 * 12 : 24 * 8 })),
  );
  expect(await convert("nv12")).toMatchObject({ written: 2, skipped: { unreadable: 2 * (PAIRS - 1) } });
});

test("colours whose rows have gaps keep their columns", async () => {
  await writeForeignMessages(
    place("gaps.mcap"),
    pairs(() => {
      const message = imageMessage({ width: 3, height: 4, stampNs: 1n, encoding: "rgb8", strideBytes: 16 });
      const pixels = message.subarray(message.length - 64);
      for (let y = 0; y < 4; y++) pixels.fill(50 * y + 1, 16 * y, 16 * y + 9);
      return message;
    }),
  );
  await convert("gaps");
  const { data } = await readEnginePicture(place("gaps/left/1.png"), true);
  expect([...data]).toEqual([1, 51, 101, 151].flatMap((value) => Array<number>(9).fill(value)));
});

test("first images of two sizes are named as such", async () => {
  await writeForeignMessages(
    place("sizes.mcap"),
    pairs((side) => (side === "right" ? { width: 32 } : {})),
  );
  await expect(openSource(place("sizes.mcap"))).rejects.toMatchObject({
    code: "IMAGE_SIZE_MISMATCH",
    message: expect.stringContaining("found 24x8 and 32x8") as string,
  });
});

test.each([0, 1, 4, 7, 8, 11])(
  "messages of %i bytes are skipped and counted, in folders and EuRoC",
  async (bytes) => {
    const name = `short-${bytes}`;
    await writeForeignMessages(
      place(`${name}.mcap`),
      pairs((side, pair) => (side === "right" && pair % 2 === 1 ? new Uint8Array(bytes) : {})),
    );
    for (const layout of ["folder", "euroc"] as const) {
      const { skipped } = await convert(name, layout);
      expect(skipped).toEqual({ unreadable: PAIRS / 2 });
    }
  },
);

test("depth maps whose camera_info is empty are skipped and counted", async () => {
  const image = "sensor_msgs/msg/Image";
  const messages = [0n, 1n].flatMap((logTime) => [
    { topic: "/depth/camera_info", schema: "sensor_msgs/msg/CameraInfo", data: new Uint8Array(0), logTime },
    {
      topic: "/depth/image_rect",
      schema: image,
      data: imageMessage({ width: 8, height: 4, stampNs: 1n + logTime, encoding: "16UC1", strideBytes: 16 }),
      logTime,
    },
  ]);
  await writeForeignMessages(place("camera-info.mcap"), messages);
  expect(await convert("camera-info", "ply")).toMatchObject({
    written: 0,
    skipped: { unreadable: 2, noCamera: 2 },
  });
});

test("capture times of 0 give way to the times of recording, which convert and run report", async () => {
  await writeForeignMessages(
    place("unstamped.mcap"),
    pairs(() => ({ stampNs: 0n })),
  );
  const { written, kept, skipped, warnings } = await convert("unstamped");
  expect({ written, kept, skipped }).toEqual({ written: 2 * PAIRS, kept: 0, skipped: {} });
  expect(warnings).toEqual(
    ["left", "right"].map((side) => expect.stringContaining(`/${side}/image_raw: capture times are 0`)),
  );
  expect(imagesIn("unstamped", "left")).toContain(`${START_NS}.png`);
  const { source, warnings: reported } = await openSource(place("unstamped.mcap"));
  expect(reported).toEqual([expect.stringContaining("capture times are 0")]);
  const times: bigint[] = [];
  await new Promise<void>((resolve, reject) =>
    source.start({
      onPair: ({ left, release }) => {
        times.push(left.timestampNs);
        release();
      },
      onDegraded: () => {},
      onEnd: resolve,
      onError: reject,
    }),
  );
  await source.stop();
  expect(times).toEqual(Array.from({ length: PAIRS }, (_, pair) => START_NS + BigInt(pair) * 100_000_000n));
});

test("a second image of one time is skipped and counted, and a second conversion says the same", async () => {
  await writeForeignMessages(
    place("same-time.mcap"),
    pairs((_, pair) => (pair < 3 ? { stampNs: START_NS } : {})),
  );
  const skipped = { sameTime: 4 };
  expect(await convert("same-time")).toMatchObject({ written: 2 * PAIRS - 4, kept: 0, skipped });
  expect(await convert("same-time")).toMatchObject({ written: 0, kept: 2 * PAIRS - 4, skipped });
});

test("EuRoC of CompressedImage, and of the first of several cameras", async () => {
  const data = compressedMessage(
    START_NS,
    await encodePng({ data: new Uint8Array(32), width: 8, height: 4 }),
  );
  const image = (topic: string) => ({ topic, schema: "sensor_msgs/msg/CompressedImage", data, logTime: 0n });
  await writeForeignMessages(
    place("compressed.mcap"),
    ["/a/left/image_raw/compressed", "/a/right/image_raw/compressed", "/b/left/image_raw/compressed"].map(
      image,
    ),
  );
  const { written, warnings } = await convert("compressed", "euroc");
  expect(written).toBe(2);
  expect(imagesIn("compressed/mav0/cam0/data")).toEqual([`${START_NS}.png`]);
  expect(warnings[0]).toMatch(/only \/a\/left\/image_raw\/compressed and .* converted: .* has 3/);
  rmSync(place("compressed"), { recursive: true });
  expect(await convert("compressed")).toMatchObject({ written: 3, skipped: {} });
  expect(readdirSync(place("compressed")).sort()).toEqual(["b_left_image_raw_compressed", "left", "right"]);
});

test("EuRoC of 200 left cameras is that of the first", async () => {
  const data = imageMessage({ width: 2, height: 1, stampNs: START_NS });
  const topics = Array.from({ length: 200 }, (_, i) => `/rig${i}/left/image_raw`);
  await writeForeignMessages(
    place("topics.mcap"),
    topics.map((topic) => ({ topic, schema: "sensor_msgs/msg/Image", data, logTime: 0n })),
  );
  expect(await convert("topics", "euroc")).toMatchObject({ written: 1, kept: 0, skipped: {} });
});

test("a recording without a pair names the fault of the images", async () => {
  await writeForeignMessages(
    place("floats.mcap"),
    pairs(() => ({ encoding: "32FC1", strideBytes: 96 })),
  );
  await expect(openSource(place("floats.mcap"))).rejects.toMatchObject({
    code: "SOURCE_EMPTY",
    message: expect.stringMatching(/found none: .*expected one of mono8.*, found "32FC1"/) as string,
    hint: expect.stringContaining("depthwatt convert") as string,
  });
});

/** Every combination of what the specification lets a writer leave out of the summary. */
const SUMMARIES = Array.from({ length: 32 }, (_, bits) => ({
  repeatChannels: (bits & 1) !== 0,
  repeatSchemas: (bits & 2) !== 0,
  useChunkIndex: (bits & 4) !== 0,
  useMessageIndex: (bits & 8) !== 0,
  useStatistics: (bits & 16) !== 0,
}));

test.each(SUMMARIES)(
  "a valid recording is read with $repeatChannels $repeatSchemas $useChunkIndex $useMessageIndex $useStatistics",
  async (options) => {
    const file = place("summary.mcap");
    await writeForeignMessages(file, pairs(), { ...options, chunkSize: 600 });
    const recording = await openRecording(file);
    try {
      expect(recording.chunks).toBeGreaterThan(2);
      expect([...recording.channels.values()].map(({ topic }) => topic).sort()).toEqual([
        "/left/image_raw",
        "/right/image_raw",
      ]);
      let messages = 0;
      for await (const _ of recording.messages()) messages++;
      expect(messages).toBe(2 * PAIRS);
      expect(recording.loss).toMatchObject({ bytes: 0, chunks: 0 });
    } finally {
      await recording.close();
    }
    const { source } = await openSource(file);
    await source.stop();
  },
);

test.each<[string, field: number, by: bigint, reason: string]>([
  ["places", 25, 3n, "where there are none"],
  ["lengths", 33, 1n, "where there are none"],
  ["places behind the end", 25, 1_000_000n, "behind its end"],
])("an index that names wrong %s is recreated", async (_, field, by, reason) => {
  const file = place("wrong-places.mcap");
  await writeForeignMessages(file, pairs(), { chunkSize: 600 });
  const bytes = readFileSync(file);
  bytes.writeUInt32LE(0, bytes.length - 12); // no CRC of the summary
  // ChunkIndex records, opcode 8, begin with two times; offset and length follow them.
  const summary = Number(bytes.readBigUInt64LE(bytes.length - 28));
  for (let at = summary; bytes[at] !== 0x02; at += 9 + Number(bytes.readBigUInt64LE(at + 1)))
    if (bytes[at] === 0x08) bytes.writeBigUInt64LE(bytes.readBigUInt64LE(at + field) + by, at + field);
  writeFileSync(file, bytes);
  const { source, warnings } = await openSource(file);
  expect(warnings).toEqual([expect.stringContaining(`names chunks ${reason}), so a new one was made`)]);
  await source.stop();
});
