// SPDX-License-Identifier: Apache-2.0
// Tests recordings that are cut, damaged or another program's: whole parts are read, losses are counted, and other
// files are refused by name.
import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { McapIndexedReader, McapStreamReader, McapWriter } from "@mcap/core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { FramePair } from "../../../camera/index.js";
import { isDepthwattError } from "../../../core/index.js";
import { loadZstd } from "../../../edge/mcap/compression.js";
import { imagePrefix, writeImage } from "../../../edge/mcap/messages.js";
import { pairTopics, recordedPairs } from "../../../edge/mcap/pairs.js";
import { openRecording, readAt } from "../../../edge/mcap/recording.js";
import { RecordingFile, realDisk } from "../../../edge/mcap/recording-file.js";
import { scanRecording } from "../../../edge/mcap/scan.js";
import { IMAGE, STATE } from "../../../edge/mcap/schemas.js";
import { openMcapSource } from "../../../edge/sources/mcap/source.js";
import { needs, PYTHON } from "../../doubles/needs.js";
import { writeForeign } from "../../doubles/recordings.js";
import { seededRandom } from "../../doubles/rvl-pictures.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-recording-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const whole = join(folder, "whole.mcap");
const PAIRS = 40;
const PERIOD_NS = 33_333_333n;
const START_NS = 1_700_000_000_000_000_000n;
const place = (name: string) => join(folder, name);

/** Four pairs a chunk: grey images of 32x16 whose pixels all are the pair's number, the right ones 1 ms later. */
function writePairs(file: string, zstd: Awaited<ReturnType<typeof loadZstd>> | undefined): void {
  rmSync(file, { force: true });
  const recording = new RecordingFile(file, zstd);
  const head = imagePrefix({ frameId: "side", width: 32, height: 16, encoding: "mono8", strideBytes: 32 });
  const channels = ["left", "right"].map((side) =>
    recording.channel({ topic: `/rig/${side}/image_raw`, schema: IMAGE }),
  );
  for (let pair = 0; pair < PAIRS; pair++) {
    for (const [side, channelId] of channels.entries()) {
      const stampNs = START_NS + BigInt(pair) * PERIOD_NS + BigInt(side) * 1_000_000n;
      const data = new Uint8Array(head.length + 512);
      writeImage(data, 0, head, head.length - 4, stampNs, new Uint8Array(512).fill(pair));
      recording.message({ channelId, sequence: pair, logTime: stampNs, publishTime: stampNs, data });
    }
    if (pair % 4 === 3) recording.flush();
  }
  recording.attachment("note.txt", "text/plain", new TextEncoder().encode("hello"), START_NS);
  recording.end();
}

beforeAll(async () => writePairs(whole, await loadZstd()));

async function read(file: string) {
  const recording = await openRecording(file);
  const numbers: number[] = [];
  const drops: string[] = [];
  try {
    const topics = pairTopics(recording);
    const events = {
      onDrop: (side: string, cause: string) => drops.push(`${side} ${cause}`),
      onBad: () => {},
    };
    for await (const { left, right } of recordedPairs(recording, topics, 0n, events)) {
      expect(Buffer.compare(left.data, right.data)).toBe(0);
      expect(right.stampNs - left.stampNs).toBe(1_000_000n);
      expect(left.data[0]).toBe(left.sequence);
      numbers.push(left.sequence);
    }
    return { numbers, drops, loss: recording.loss, note: await recording.attachment("note.txt") };
  } finally {
    await recording.close();
  }
}

const all = Array.from({ length: PAIRS }, (_, i) => i);

test("a whole recording, and one without compression", async () => {
  const { numbers, drops, loss, note } = await read(whole);
  expect(numbers).toEqual(all);
  expect(drops).toEqual([]);
  expect(loss).toMatchObject({ index: undefined, bytes: 0, chunks: 0 });
  expect(new TextDecoder().decode(note)).toBe("hello");
  writePairs(place("plain.mcap"), undefined);
  expect((await read(place("plain.mcap"))).numbers).toEqual(all);
});

/** The index by the library of the format, and the index that the records of the file give. */
async function readIndexes(file: string) {
  const bytes = readFileSync(file);
  const readable = {
    size: async () => BigInt(bytes.length),
    read: async (offset: bigint, length: bigint) => bytes.subarray(Number(offset), Number(offset + length)),
  };
  const written = await McapIndexedReader.Initialize({ readable });
  const handle = await open(file);
  const { scanned, loss } = await scanRecording(handle, bytes.length);
  await handle.close();
  return { written, scanned: scanned!, loss };
}

test.each(["none", "zstd"])("the index lists the records of the file, with compression %s", async (name) => {
  const zstd = name === "zstd" ? await loadZstd() : undefined;
  const file = place(`index-${name}.mcap`);
  rmSync(file, { force: true });
  const openFiles = readdirSync("/proc/self/fd").length;
  const recording = new RecordingFile(file, zstd);
  expect(readdirSync("/proc/self/fd")).toHaveLength(openFiles + 1);
  const metadata = { pixels: "two" };
  const ids = [
    recording.channel({ topic: "/a", schema: IMAGE }),
    recording.channel({ topic: "/b", schema: STATE, metadata }),
    recording.channel({ topic: "/c", schema: IMAGE }),
    recording.channel({ topic: "/a", schema: IMAGE }),
  ];
  expect(ids).toEqual([0, 1, 2, 0]);
  const data = new Uint8Array(64);
  const add = (channelId: number, logTime: bigint, to = recording) =>
    to.message({ channelId, sequence: 1, logTime, publishTime: 1000n, data });
  recording.attachment("note.txt", "text/plain", new TextEncoder().encode("hello"), 5n);
  add(0, 50n);
  add(1, 30n);
  add(0, 70n);
  expect(recording.pendingMessages).toBe(3);
  expect(recording.pendingBytes).toBeGreaterThan(3 * 64);
  expect(recording.flush()).toBe(3);
  expect([recording.pendingMessages, recording.pendingBytes]).toEqual([0, 0]);
  expect(recording.flush()).toBe(0);
  expect(recording.bytes).toBe(statSync(file).size);
  add(0, 20n);
  add(2, 60n);
  recording.end();
  expect(readdirSync("/proc/self/fd")).toHaveLength(openFiles);

  const first = await readIndexes(file);
  expect(first.loss).toEqual({ bytes: 0, unchunked: false });
  const statistics = {
    messageCount: 5n,
    schemaCount: 2,
    channelCount: 3,
    attachmentCount: 1,
    metadataCount: 0,
    chunkCount: 2,
    messageStartTime: 20n,
    messageEndTime: 70n,
    channelMessageCounts: new Map([
      [0, 3n],
      [1, 1n],
      [2, 1n],
    ]),
  };
  expect(first.written.statistics).toMatchObject(statistics);
  const expectSame = ({ written, scanned }: typeof first) => {
    expect(written.header).toEqual(scanned.header);
    expect(written.chunkIndexes).toMatchObject(scanned.chunkIndexes);
    expect(written.attachmentIndexes).toMatchObject(scanned.attachmentIndexes);
    expect(written.channelsById).toEqual(scanned.channelsById);
    expect(written.schemasById).toEqual(scanned.schemasById);
  };
  // Channels and schemas of a compressed chunk are in no record outside of it.
  const { channelsById, schemasById } = first.written;
  expectSame({ ...first, scanned: { ...first.scanned, channelsById, schemasById } });
  expect(first.written.header).toMatchObject({
    profile: "ros2",
    library: expect.stringMatching(/^depthwatt; /),
  });
  expect([...channelsById.values()]).toMatchObject([
    { id: 0, schemaId: 1, topic: "/a", messageEncoding: "cdr", metadata: new Map() },
    { id: 1, schemaId: 2, topic: "/b", messageEncoding: "json", metadata: new Map([["pixels", "two"]]) },
    { id: 2, schemaId: 1, topic: "/c", messageEncoding: "cdr", metadata: new Map() },
  ]);
  expect([...schemasById.values()].map(({ id, name }) => [id, name])).toEqual([
    [1, IMAGE.name],
    [2, STATE.name],
  ]);
  const { chunkIndexes, attachmentIndexes } = first.scanned;
  expect(chunkIndexes).toMatchObject([
    { messageStartTime: 30n, messageEndTime: 70n, compression: zstd ? "zstd" : "" },
    { messageStartTime: 20n, messageEndTime: 60n },
  ]);
  const note = { name: "note.txt", mediaType: "text/plain", logTime: 5n, createTime: 5n, dataSize: 5n };
  expect(attachmentIndexes).toMatchObject([note]);

  // By chunk, and by time in each.
  const whole = await openRecording(file);
  const order = async (options?: Parameters<typeof whole.messages>[0]) => {
    const found: [number, bigint][] = [];
    for await (const { channelId, logTime } of whole.messages(options)) found.push([channelId, logTime]);
    return found;
  };
  const [early, late] = [
    [
      [0, 20n],
      [2, 60n],
    ],
    [
      [1, 30n],
      [0, 50n],
      [0, 70n],
    ],
  ];
  expect(await order()).toEqual([...early!, ...late!]);
  expect(await order({ fromNs: 60n })).toEqual([early![1], late![2]]);
  expect(await order({ fromNs: 61n })).toEqual([late![2]]);
  expect(await order({ channels: new Set([1]) })).toEqual([late![0]]);
  expect([whole.startNs, whole.endNs, whole.chunks, whole.counts]).toEqual([
    ...[20n, 70n, 2],
    statistics.channelMessageCounts,
  ]);
  await whole.close();

  // Cut off within the index, and continued.
  truncateSync(file, statSync(file).size - 30);
  const cut = await openRecording(file);
  const before = (await cut.unfinished())!;
  await cut.close();
  expect(before.counts).toEqual(statistics.channelMessageCounts);
  const next = new RecordingFile(file, zstd, realDisk, before);
  const last = chunkIndexes[1]!;
  expect(next.bytes).toBe(Number(last.chunkStartOffset + last.chunkLength + last.messageIndexLength));
  expect(statSync(file).size).toBe(next.bytes);
  expect(next.channel({ topic: "/c", schema: IMAGE })).toBe(2);
  add(2, 40n, next);
  add(next.channel({ topic: "/d", schema: STATE }), 45n, next);
  next.end();
  const second = await readIndexes(file);
  expect(second.written.statistics).toMatchObject({
    ...statistics,
    messageCount: 7n,
    channelCount: 4,
    chunkCount: 3,
    channelMessageCounts: new Map([...statistics.channelMessageCounts, [2, 2n], [3, 1n]]),
  });
  const known = { channelsById: second.written.channelsById, schemasById: second.written.schemasById };
  expectSame({ ...second, scanned: { ...second.scanned, ...known } });
});

/** Types of a file's records in order, by the library of the format. */
function recordTypes(file: string): string[] {
  const reader = new McapStreamReader();
  reader.append(readFileSync(file));
  const types: string[] = [];
  for (let record = reader.nextRecord(); record !== undefined; record = reader.nextRecord())
    types.push(record.type);
  return types;
}

test("a channel is described once, and again in the chunk after one that was lost, whose times count for nothing", async () => {
  const file = place("lost-chunk.mcap");
  rmSync(file, { force: true });
  let full = false;
  const disk = {
    ...realDisk,
    write: (...words: Parameters<typeof realDisk.write>) => (full ? 0 : realDisk.write(...words)),
  };
  const recording = new RecordingFile(file, undefined, disk);
  const a = recording.channel({ topic: "/a", schema: STATE });
  const b = recording.channel({ topic: "/b", schema: STATE });
  const add = (channelId: number, logTime: bigint) =>
    recording.message({ channelId, sequence: 1, logTime, publishTime: 1000n, data: new Uint8Array(4) });
  add(a, 50n);
  add(a, 60n);
  recording.flush();
  full = true;
  for (const time of [1n, 900n]) add(b, time);
  expect(() => recording.flush()).toThrow("ENOSPC");
  full = false;
  add(b, 70n);
  recording.flush();
  for (const channel of [a, b]) add(channel, 80n);
  recording.end();
  const described = ["Schema", "Channel"];
  expect(recordTypes(file)).toEqual([
    "Header",
    ...[...described, "Message", "Message", "MessageIndex"],
    ...[...described, "Message", "MessageIndex"],
    ...["Message", "Message", "MessageIndex", "MessageIndex"],
    // The summary has every schema and channel.
    ...["DataEnd", "Schema", "Channel", "Channel", "Statistics"],
    ...["ChunkIndex", "ChunkIndex", "ChunkIndex", "Footer"],
  ]);
  const { written } = await readIndexes(file);
  expect(written.statistics).toMatchObject({ messageCount: 5n, messageStartTime: 50n, messageEndTime: 80n });
  expect(
    written.chunkIndexes.map(({ messageStartTime, messageEndTime }) => [messageStartTime, messageEndTime]),
  ).toEqual([
    [50n, 60n],
    [70n, 70n],
    [80n, 80n],
  ]);
});

test("a disk that takes a few bytes at a time gets the same file", () => {
  const files = [1 << 20, 7].map((maxBytes) => {
    const file = place(`writes-of-${maxBytes}.mcap`);
    rmSync(file, { force: true });
    const write: typeof realDisk.write = (to, bytes, position) =>
      realDisk.write(to, bytes.subarray(0, maxBytes), position);
    const recording = new RecordingFile(file, undefined, { ...realDisk, write });
    const channelId = recording.channel({ topic: "/a", schema: STATE });
    for (const logTime of [1n, 2n]) {
      const data = Buffer.from(`{"state":"${logTime}"}`);
      recording.message({ channelId, sequence: 1, logTime, publishTime: logTime, data });
      recording.flush();
    }
    recording.end();
    return readFileSync(file);
  });
  expect(files[0]!.equals(files[1]!)).toBe(true);
});

test("a disk that writes nothing is full, and a file that could not begin is removed", () => {
  const file = place("nothing.mcap");
  rmSync(file, { force: true });
  expect(() => new RecordingFile(file, undefined, { ...realDisk, write: () => 0 })).toThrow("ENOSPC");
  expect(() => statSync(file)).toThrow("ENOENT");
});

needs("lz4").suite("another program's recording in lz4", () => {
  test("is read like one in zstd: the same pairs", async () => {
    // Packed by liblz4: what we unpack with is not what packs.
    const pack = (chunkData: Uint8Array) => {
      const code =
        "import lz4.frame, sys; sys.stdout.buffer.write(lz4.frame.compress(sys.stdin.buffer.read()))";
      const compressedData = new Uint8Array(execFileSync(PYTHON, ["-c", code], { input: chunkData }));
      return { compression: "lz4", compressedData };
    };
    const bytes: Uint8Array[] = [];
    let position = 0n;
    const writable = {
      position: () => position,
      write: async (piece: Uint8Array) => {
        bytes.push(piece.slice());
        position += BigInt(piece.length);
      },
    };
    const writer = new McapWriter({ writable, compressChunk: pack, chunkSize: 8192 });
    await writer.start({ profile: "ros2", library: "a test" });
    const recording = await openRecording(whole);
    const ids = new Map<number, number>();
    for await (const { channelId, logTime, publishTime, sequence, data } of recording.messages()) {
      const channel = recording.channels.get(channelId)!;
      if (!ids.has(channelId)) {
        const schemaId = await writer.registerSchema({
          name: IMAGE.name,
          encoding: "ros2msg",
          data: new Uint8Array(),
        });
        ids.set(channelId, await writer.registerChannel({ ...channel, schemaId }));
      }
      await writer.addMessage({ channelId: ids.get(channelId)!, logTime, publishTime, sequence, data });
    }
    await recording.close();
    await writer.end();
    const file = Buffer.concat(bytes);
    writeFileSync(place("lz4.mcap"), file);
    // Each chunk names its compression; noise would not get smaller.
    expect(file.includes("lz4")).toBe(true);
    expect(file.length).toBeLessThan(PAIRS * 2 * 512);
    expect((await read(place("lz4.mcap"))).numbers).toEqual(all);
  });
});

test("cut at every 211th byte: never an error once a chunk is whole, never a wrong pair, and all bytes are accounted for", async () => {
  const bytes = readFileSync(whole);
  const cut = place("cut.mcap");
  let before = 0;
  for (let length = 60; length < bytes.length; length += 211) {
    writeFileSync(cut, bytes.subarray(0, length));
    const found = await read(cut).catch((error: unknown) => error);
    if (isDepthwattError(found)) {
      expect(found.code).toBe("SOURCE_UNREADABLE");
      expect(before).toBe(0);
      continue;
    }
    const { numbers, loss } = found as Awaited<ReturnType<typeof read>>;
    expect(numbers).toEqual(all.slice(0, numbers.length));
    expect(numbers.length % 4).toBe(0);
    expect(numbers.length).toBeGreaterThanOrEqual(before);
    before = numbers.length;
    expect(loss.index).toBeDefined();
    expect(loss.chunks).toBe(0);
  }
  expect(before).toBe(PAIRS);
});

/** A recording with one chunk that cannot be read. */
function writeDamaged(): string {
  const bytes = readFileSync(whole);
  // In the middle of the file there are chunks: three bytes of one of them.
  const at = Math.floor(bytes.length / 3);
  for (let i = 0; i < 3; i++) bytes[at + i]! ^= 0x55;
  writeFileSync(place("damaged.mcap"), bytes);
  return place("damaged.mcap");
}

test("a damaged chunk is left out, and its messages are counted", async () => {
  const { numbers, loss } = await read(writeDamaged());
  expect(numbers).toHaveLength(PAIRS - 4);
  expect(loss).toMatchObject({ index: undefined, chunks: 1 });
  expect([...loss.messages.values()]).toEqual([4, 4]);
});

/** A copy that ends before its index, with a record of one byte after the first record. */
function writeWithRecord(opcode: number) {
  const bytes = readFileSync(whole);
  const at = 8 + 9 + Number(bytes.readBigUInt64LE(9));
  const record = Buffer.alloc(10);
  record[0] = opcode;
  record.writeBigUInt64LE(1n, 1);
  writeFileSync(
    place("record.mcap"),
    Buffer.concat([bytes.subarray(0, at), record, bytes.subarray(at, -40)]),
  );
  return place("record.mcap");
}

test.each([
  ["metadata", 0x0c, 0],
  ["a private record", 0x80, 0],
  ["an opcode that the format does not have", 0x10, 10],
  ["an index of chunks in front of them", 0x08, 10],
])("%s in a recording without its end: %i belongs to it or not", async (_, opcode, lost) => {
  const before = (await read(writeWithRecord(0x0c))).loss.bytes;
  const { numbers, loss } = await read(writeWithRecord(opcode));
  expect(numbers).toEqual(all);
  expect(loss.bytes - before).toBe(lost);
});

test.each([1, 2, 100])("%i bytes of no record cost no chunk behind them", async (count) => {
  const before = (await read(writeWithRecord(0x0c))).loss.bytes;
  const bytes = readFileSync(whole);
  const at = 8 + 9 + Number(bytes.readBigUInt64LE(9));
  const file = place("stray.mcap");
  writeFileSync(file, Buffer.concat([bytes.subarray(0, at), Buffer.alloc(count), bytes.subarray(at, -40)]));
  const { numbers, loss } = await read(file);
  expect([numbers, loss.bytes - before]).toEqual([all, count]);
});

test("40 kinds of random damage: it never hangs, never crashes, and never gives a pair that is wrong", async () => {
  const bytes = readFileSync(whole);
  const random = seededRandom(21);
  const file = place("random.mcap");
  for (let turn = 0; turn < 40; turn++) {
    const damaged = Buffer.from(bytes);
    for (let hits = 1 + Math.floor(random() * 4); hits > 0; hits--) {
      const at = 8 + Math.floor(random() * (damaged.length - 8));
      const run = random() < 0.5 ? 1 : Math.min(damaged.length - at, Math.floor(random() * 600));
      for (let i = 0; i < run; i++) damaged[at + i] = random() * 256;
    }
    writeFileSync(
      file,
      random() < 0.3 ? damaged.subarray(0, Math.floor(random() * damaged.length)) : damaged,
    );
    const found = await read(file).catch((error: unknown) => error);
    if (found instanceof Error && !isDepthwattError(found)) throw found;
  }
});

test.each([
  [
    "another profile",
    { profile: "ros1", schema: "sensor_msgs/Image", encoding: "ros1" },
    /profile ros2 with cdr messages, found the profile "ros1" with ros1 messages/,
  ],
  [
    "no profile at all",
    { profile: "", schema: "foxglove.RawImage", encoding: "protobuf" },
    /found the profile "" with protobuf messages/,
  ],
  [
    "other messages",
    { profile: "ros2", schema: "std_msgs/msg/String", encoding: "cdr" },
    /left\/image_raw, found no topic of images/,
  ],
])("%s is refused by name", async (_, what, message) => {
  const file = place("foreign.mcap");
  await writeForeign(file, { ...what, topic: "/left/image_raw", data: new Uint8Array(64) });
  await expect(openMcapSource({ file, startSeconds: 0, speed: "max", loop: false })).rejects.toMatchObject({
    code: "SOURCE_UNREADABLE",
    message: expect.stringMatching(message) as string,
  });
});

test("a topic whose messages are none of its schema: each is counted, none is a pair", async () => {
  const file = place("wrong-schema.mcap");
  await writeForeign(file, {
    profile: "ros2",
    schema: "sensor_msgs/msg/Image",
    encoding: "cdr",
    topic: "/left/image_raw",
    data: new Uint8Array(64).fill(255),
  });
  const settings = {
    file,
    rightTopic: "/left/image_raw",
    startSeconds: 0,
    speed: "max" as const,
    loop: false,
  };
  await expect(openMcapSource(settings)).rejects.toMatchObject({ code: "SOURCE_EMPTY" });
});

test("messages outside of chunks are refused with what to do", async () => {
  const file = place("unchunked.mcap");
  const image = {
    profile: "ros2",
    schema: "sensor_msgs/msg/Image",
    encoding: "cdr",
    topic: "/left/image_raw",
  };
  await writeForeign(file, { ...image, data: new Uint8Array(64) }, false);
  await expect(openRecording(file)).rejects.toMatchObject({
    message: expect.stringMatching(/outside of chunks/) as string,
  });
});

test("no file, a folder, another kind of file", async () => {
  await expect(openRecording(place("none.mcap"))).rejects.toMatchObject({ code: "SOURCE_UNREADABLE" });
  await expect(openRecording(folder)).rejects.toMatchObject({ code: "SOURCE_UNREADABLE" });
  writeFileSync(place("text.mcap"), "not a recording at all");
  await expect(openRecording(place("text.mcap"))).rejects.toMatchObject({
    message: expect.stringMatching(
      /expected an MCAP recording at .*text\.mcap, found other first bytes/,
    ) as string,
  });
});

function play(
  settings: Partial<Parameters<typeof openMcapSource>[0]> & { file: string },
  pairs = Number.POSITIVE_INFINITY,
) {
  return openMcapSource({ startSeconds: 0, speed: "max", loop: false, ...settings }).then(
    ({ source, warnings }) =>
      new Promise<{
        got: Pick<FramePair["left"], "timestampNs" | "sequence">[];
        atMs: number[];
        warnings: string[];
        drops: object;
      }>((resolve, reject) => {
        const got: Pick<FramePair["left"], "timestampNs" | "sequence">[] = [];
        const atMs: number[] = [];
        const end = () =>
          void source
            .stop()
            .then(() => resolve({ got, atMs, warnings: warnings ?? [], drops: source.counters().dropsLeft }));
        source.start({
          onPair(pair) {
            got.push({ timestampNs: pair.left.timestampNs, sequence: pair.left.sequence });
            atMs.push(performance.now());
            pair.release();
            if (got.length === pairs) end();
          },
          onDegraded: () => {},
          onEnd: end,
          onError: reject,
        });
      }),
  );
}

test("seeking begins at the named time", async () => {
  const { got } = await play({ file: whole, startSeconds: 0.5 });
  expect(got[0]!.sequence).toBe(16); // 15 periods are a little less
  expect(got).toHaveLength(PAIRS - 16);
  await expect(play({ file: whole, startSeconds: 100 })).rejects.toMatchObject({ code: "SOURCE_EMPTY" });
});

test("speed: 40 pairs of 30 Hz at ten times take 0.13 s", async () => {
  // A busy machine makes pairs late in some of the plays; none may be early in any.
  const playSeconds = async () => {
    const began = performance.now();
    const { got, atMs } = await play({ file: whole, speed: 10 });
    expect(got).toHaveLength(PAIRS);
    expect((atMs.at(-1)! - began) / 1000).toBeGreaterThan(0.12);
    return (atMs.at(-1)! - atMs[0]!) / 1000;
  };
  // At its own speed it takes 1.3 s.
  for (let tries = 0; (await playSeconds()) > 1; tries++) expect(tries).toBeLessThan(20);
});

test("a loop continues: times and numbers rise without a gap", async () => {
  const { got } = await play({ file: whole, loop: true }, 100);
  expect(got).toHaveLength(100);
  for (const [i, { timestampNs, sequence }] of got.entries()) {
    expect(sequence).toBe(i);
    if (i > 0) expect(Number(timestampNs - got[i - 1]!.timestampNs) / Number(PERIOD_NS)).toBeCloseTo(1, 1);
  }
});

test("what a damaged recording lacks is reported and counted by the source", async () => {
  const file = writeDamaged();
  const { warnings } = await play({ file });
  const { drops } = await play({ file });
  expect(drops).toEqual({ damaged: 4 });
  expect(warnings).toEqual([]); // the damage lies behind the first pair
  copyFileSync(whole, place("short.mcap"));
  truncateSync(place("short.mcap"), 2000);
  const short = await play({ file: place("short.mcap") });
  expect(short.warnings[0]).toMatch(
    /no usable index .* a new one was made; \d+ bytes belong to no whole record/,
  );
});

test("a length that the file has not is refused before memory is taken for it; one of 2 GiB ended the process", async () => {
  const handle = await open(import.meta.filename);
  try {
    for (const [offset, bytes] of [
      [0, 2 ** 31],
      [0, 2 ** 53],
      [-1, 1],
      [0, -1],
      [Number.NaN, 1],
    ] as const)
      await expect(readAt(handle, offset, bytes)).rejects.toThrow("which the file has not");
    expect((await readAt(handle, 3, 4)).toString()).toBe("SPDX");
  } finally {
    await handle.close();
  }
});
