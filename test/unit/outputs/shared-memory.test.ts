// SPDX-License-Identifier: Apache-2.0
// Frames in shared memory, read by the library: every stream, newest frame, overwritten frames, no work without readers, sockets
// that lie, and paths that are in use. test/outputs/shared-readers.test.ts has the readers in other languages.
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, lstatSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { STREAM_CODES, type StreamName } from "../../../core/frame/frame-format.js";
import { ringAddon } from "../../../core/ring/ring.js";
import { readSharedFrames, type SharedFrame } from "../../../edge/library/shared-frames.js";
import { MAX_READERS } from "../../../edge/outputs/sharedMemory/doorway.js";
import { parseRequest, REQUEST_BYTES } from "../../../edge/outputs/sharedMemory/handshake.js";
import { brokenSharedMemory } from "../../../edge/outputs/sharedMemory/settings.js";
import { until } from "../../doubles/frames.js";
import { seededRandom } from "../../doubles/rvl-pictures.js";
import { openShared, type SharedOutput, sharedFrame } from "../../doubles/shared-memory.js";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function share(...words: Parameters<typeof openShared>): Promise<SharedOutput> {
  const shared = await openShared(...words);
  cleanups.push(shared.close);
  return shared;
}

/** A reader of the library, connected: the next frame that is offered is its first. */
async function read(shared: SharedOutput, stream: StreamName) {
  const frames = readSharedFrames(shared.path, stream);
  cleanups.push(() => frames.return());
  const first = frames.next();
  first.catch(() => {});
  await until("the reader is there", () => shared.output.streams.includes(stream));
  return { frames, first };
}

const valueFrom = async (next: Promise<IteratorResult<SharedFrame, void>>) =>
  (await next).value as SharedFrame;

test.for(Object.keys(STREAM_CODES) as StreamName[])(
  "a reader gets %s as the engine wrote it",
  async (stream) => {
    const shared = await share({ leftColours: true, right: true, registered: true });
    const { first } = await read(shared, stream);
    const frame = sharedFrame(5);
    expect(shared.offer(frame)).toBe(true);
    const { header, values, isIntact, missed } = await valueFrom(first);
    const { slot } = frame;
    const expected = {
      depth: slot.depthMillimetres,
      disparity: slot.disparityQ4.map((value) => (value === -32768 ? 0 : value + 1)),
      confidence: slot.confidence,
      left: slot.leftRgb,
      points: slot.points,
      right: slot.right,
      registered: slot.registered,
      registeredConfidence: slot.registeredConfidence,
    }[stream];
    const bytes = (array: ArrayBufferView) => Buffer.from(array.buffer, array.byteOffset, array.byteLength);
    expect(bytes(values).equals(bytes(expected))).toBe(true);
    expect(header).toMatchObject({
      stream,
      encoding: "raw",
      ...(stream.startsWith("registered") ? { width: 40, height: 30 } : { width: 64, height: 48 }),
      frameNumber: 1,
      leftSequence: 5,
    });
    expect([isIntact(), missed]).toEqual([true, 0]);
  },
);

test.each(["points", "right", "registered", "registeredConfidence"] as const)(
  "a frame of an engine that does not compute %s yet is not sent to its readers",
  async (stream) => {
    const shared = await share({ right: true, registered: true });
    await read(shared, stream);
    const frame = sharedFrame(5);
    expect(shared.offer({ ...frame, encodings: {} } as typeof frame)).toBe(false);
    expect(shared.output.counters()).toMatchObject({ sent: 0, bytes: 0 });
    expect(shared.offer(frame)).toBe(true);
    const path = shared.output.greeting()[0]![1];
    expect(shared.output.counters()).toMatchObject({ sent: 1, details: { path, readers: { [stream]: 1 } } });
  },
);

test("left is grey unless the settings and the frame have colours, and bytes are those of header and pixels", async () => {
  const pixels = 64 * 48;
  const frame = sharedFrame(5);
  const grey = { ...frame, encodings: { ...frame.encodings, leftRgb: false } };
  for (const [leftColours, offered, bytes] of [
    [true, frame, 3 * pixels],
    [true, grey, pixels],
    [false, frame, pixels],
  ] as const) {
    const shared = await share({ leftColours });
    const { first } = await read(shared, "left");
    shared.offer(offered);
    expect((await valueFrom(first)).values.length).toBe(bytes);
    // The header of a frame without energy has 96 bytes.
    expect(shared.output.counters()).toMatchObject({ sent: 1, bytes: 96 + bytes });
  }
});

test("a source without a calibration ends the readers of depth, those that wait too, and no others", async () => {
  const shared = await share();
  const left = await read(shared, "left");
  const depth = await read(shared, "depth");
  shared.offer(sharedFrame(1));
  await Promise.all([left.first, depth.first]);
  const waiting = await read(shared, "points");
  shared.output.configure({} as never, { hasDepth: false } as never);
  expect((await depth.frames.next()).done).toBe(true);
  await expect(waiting.first).rejects.toMatchObject({
    code: "DEVICE_UNAVAILABLE",
    message: expect.stringContaining("points needs a calibration; disparity is there without one"),
  });
  await until("they have left", () => shared.output.streams.length === 1);
  shared.offer(sharedFrame(2));
  expect((await valueFrom(left.frames.next())).header.leftSequence).toBe(2);
  expect(shared.output.counters().details).toMatchObject({ readers: { left: 1 }, refused: {} });
});

test("the newest frame wins, missed ones are counted, an overwritten one is noticed", async () => {
  const shared = await share({ slots: 3 });
  const { frames, first } = await read(shared, "depth");
  shared.offer(sharedFrame(1));
  const held = await valueFrom(first);
  expect(held.values[0]).toBe(1);
  for (let seed = 2; seed <= 3; seed++) shared.offer(sharedFrame(seed));
  expect([held.isIntact(), held.values[0]]).toEqual([true, 1]);
  shared.offer(sharedFrame(4));
  expect([held.isIntact(), held.values[0]]).toEqual([false, 4]);
  const newest = await valueFrom(frames.next());
  expect([newest.values[0], newest.missed, newest.isIntact()]).toEqual([4, 2, true]);
});

test("without readers nothing is done, and memory is freed with the last reader", async () => {
  const shared = await share();
  expect(shared.offer(sharedFrame(1))).toBe(false);
  expect(shared.output.streams).toEqual([]);
  const { frames, first } = await read(shared, "depth");
  expect(shared.output.streams).toEqual(["depth"]);
  shared.offer(sharedFrame(2));
  await first;
  expect(shared.output.counters()).toMatchObject({ sent: 1, details: { readers: { depth: 1 } } });
  await frames.return();
  await until("the reader has left", () => shared.output.streams.length === 0);
  expect(shared.offer(sharedFrame(3))).toBe(false);
  expect(shared.output.counters()).toMatchObject({ sent: 1, drops: {}, details: { readers: {} } });
});

test("frames of another size end the iteration, and the next one reads them", async () => {
  const shared = await share();
  const { frames, first } = await read(shared, "left");
  shared.offer(sharedFrame(1));
  await first;
  const end = frames.next();
  shared.offer(sharedFrame(2, 32, 16));
  expect((await end).done).toBe(true);
  await until("the reader has left", () => shared.output.streams.length === 0);
  const again = await read(shared, "left");
  shared.offer(sharedFrame(3, 32, 16));
  expect((await valueFrom(again.first)).header).toMatchObject({ width: 32, height: 16 });
});

test("the end of the publisher ends the iteration; a stream that is off, and no publisher, are errors", async () => {
  const shared = await share({ points: false }, { hasDepth: false });
  const { frames, first } = await read(shared, "left");
  shared.offer(sharedFrame(1));
  await first;
  for (const [stream, reason] of [
    ["right", "outputs.sharedMemory.right is false"],
    ["registered", "outputs.sharedMemory.registered is false"],
    ["points", "outputs.sharedMemory.points is false"],
    ["depth", "depth needs a calibration"],
  ] as const)
    await expect(readSharedFrames(shared.path, stream).next()).rejects.toThrow(
      expect.objectContaining({ code: "DEVICE_UNAVAILABLE", message: expect.stringContaining(reason) }),
    );
  expect(shared.output.counters().details).toMatchObject({ refused: { streamOff: 4 } });
  const end = frames.next();
  await shared.close();
  expect((await end).done).toBe(true);
  expect(existsSync(shared.path)).toBe(false);
  await expect(readSharedFrames(shared.path, "left").next()).rejects.toMatchObject({
    code: "DEVICE_UNAVAILABLE",
  });
});

/** Connects, sends bytes, and resolves with what comes back when the connection is closed. */
async function send(path: string, bytes: Uint8Array): Promise<Buffer> {
  const socket = connect(path);
  const parts: Buffer[] = [];
  socket.on("error", () => {});
  socket.on("data", (part: Buffer) => parts.push(part));
  socket.write(bytes);
  await once(socket, "close");
  return Buffer.concat(parts);
}

test("a request of any bytes is answered with a reason and counted, and readers go on", async () => {
  const shared = await share();
  const { first } = await read(shared, "depth");
  const random = seededRandom(11);
  const byte = () => Math.floor(256 * random());
  let refused = 0;
  for (let i = 0; i < 3000; i++) {
    const request = Buffer.from([0x44, 0x57, 0x53, 0x4d, 1, 0, 1, 0]);
    for (let j = 1 + Math.floor(3 * random()); j > 0; j--) request[Math.floor(8 * random())] = byte();
    const parsed = parseRequest(request);
    // Every request that is taken is a whole one: nothing else has its bytes.
    if ("stream" in parsed)
      expect([...request]).toEqual([0x44, 0x57, 0x53, 0x4d, 1, 0, STREAM_CODES[parsed.stream], 0]);
    else expect(parsed.refusal).toMatch(/^expected /);
    if ("stream" in parsed || i % 100 > 0) continue;
    refused++;
    const reply = await send(shared.path, request);
    expect(reply.toString("latin1", 16)).toBe(parsed.refusal);
  }
  expect((await send(shared.path, Buffer.alloc(REQUEST_BYTES + 5000, 1))).toString("latin1", 16)).toContain(
    "found more",
  );
  expect(shared.output.counters().details).toMatchObject({ refused: { request: refused + 1 } });
  shared.offer(sharedFrame(1));
  expect((await valueFrom(first)).values[0]).toBe(1);
});

test("of a hundred connections 32 are taken, the others are refused with a reason and counted", async () => {
  const shared = await share();
  const sockets: Socket[] = [];
  const replies: string[] = [];
  for (let i = 0; i < 100; i++) {
    const socket = connect(shared.path).on("error", () => {});
    socket.on("data", (reply: Buffer) => replies.push(reply.toString("latin1", 16)));
    socket.write(Buffer.from([0x44, 0x57, 0x53, 0x4d, 1, 0, STREAM_CODES.left, 0]));
    sockets.push(socket);
  }
  cleanups.push(() => sockets.forEach((socket) => void socket.destroy()));
  const counted = () => shared.output.counters().details as { readers: object; refused: object };
  await until("all are answered", () => replies.length === 100 - MAX_READERS);
  await until("readers wait", () => JSON.stringify(counted().readers) === `{"left":${MAX_READERS}}`);
  expect(counted()).toMatchObject({
    readers: { left: MAX_READERS },
    refused: { tooMany: 100 - MAX_READERS },
  });
  expect(new Set(replies)).toEqual(new Set([`expected at most ${MAX_READERS} readers`]));
  shared.offer(sharedFrame(1));
  await until("the others have their memory", () => replies.length === 100);
});

test("the path of a crashed run is taken over; a file, a running publisher and a missing folder are errors", async () => {
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-path-"));
  cleanups.push(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "a.sock");
  // A socket that is not removed when it is closed.
  const crashed = createServer().listen(join(folder, "b.sock"));
  await once(crashed, "listening");
  const { linkSync } = await import("node:fs");
  linkSync(join(folder, "b.sock"), path);
  crashed.close();
  const shared = await share({ path });
  expect(lstatSync(path).mode & 0o777).toBe(0o600);
  const failure = (words: string) =>
    expect.objectContaining({ code: "OUTPUT_FAILED", message: expect.stringContaining(words) });
  await expect(openShared({ path })).rejects.toThrow(failure("another process listens there"));
  await shared.close();
  writeFileSync(path, "mine");
  await expect(openShared({ path })).rejects.toThrow(failure("a file that is no socket"));
  expect(lstatSync(path).size).toBe(4);
  await expect(openShared({ path: join(folder, "none", "a.sock") })).rejects.toThrow(
    failure("folder does not exist"),
  );
  // A group that this user is in: its members may connect, others may not.
  const group = execFileSync("id", ["-gn"], { encoding: "utf8" }).trim();
  const grouped = join(folder, "group.sock");
  const ours = await share({ path: grouped, group });
  expect(lstatSync(grouped)).toMatchObject({ gid: process.getgid!() });
  expect(lstatSync(grouped).mode & 0o777).toBe(0o660);
  await ours.close();
  await expect(openShared({ group: "no-such-group" })).rejects.toThrow(failure("found no-such-group"));
  const settings = {
    slots: 4,
    points: false,
    leftColours: false,
    right: false,
    registered: false,
    rateHz: "max",
  } as const;
  expect(brokenSharedMemory({ ...settings, path: `/${"x".repeat(107)}` })).toHaveLength(1);
  expect(brokenSharedMemory({ ...settings, path: `/${"x".repeat(106)}` })).toEqual([]);
});

test("memory that cannot be had is named to the reader, counted and logged, and the run continues", async () => {
  const shared = await share();
  const { first } = await read(shared, "left");
  const frame = sharedFrame(1);
  const huge = { byteLength: 2 ** 33 };
  expect(shared.offer({ ...frame, slot: { ...frame.slot, left: huge } } as never)).toBe(false);
  await expect(first).rejects.toThrow(/left.*Expected/);
  expect(shared.notices).toEqual([expect.stringContaining("outputs.sharedMemory: Expected bodyBytes")]);
  expect(shared.output.counters().drops).toEqual({ "left.memory": 1 });
  await until("the reader has left", () => shared.output.streams.length === 0);
  const { RingWriter } = ringAddon();
  expect(() => new RingWriter({ slots: 64, bodyBytes: 2 ** 32 })).toThrow(/4 GB/);
});
