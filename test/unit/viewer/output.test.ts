// SPDX-License-Identifier: Apache-2.0
// The live page as an output: computed frames become messages whose memory is used again, and documents reach the pages.
import { once } from "node:events";
import { afterEach, expect, test } from "vitest";
import { WebSocket } from "ws";
import { localClockDomain } from "../../../core/frame/clock-domain.js";
import { PICTURE_STREAMS } from "../../../core/frame/frame-format.js";
import { parseFrame } from "../../../core/frame/payload.js";
import { ENCODED_HEADROOM_BYTES } from "../../../cuda/index.js";
import type { ComputedFrame } from "../../../edge/contracts/computed-frame.js";
import type { FrameLease, OutputContext } from "../../../edge/contracts/output.js";
import { HttpServer } from "../../../edge/http/index.js";
import { FrameMessages } from "../../../edge/outputs/viewer/messages.js";
import { viewer } from "../../../edge/outputs/viewer/open.js";
import type { ToPage } from "../../../edge/outputs/viewer/protocol.js";
import { until } from "../../doubles/frames.js";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const DEPTH = Uint16Array.of(1000, 0, 2000, 65535, 1, 2, 3, 4);
const DISPARITY = Int16Array.of(-32768, 0, 15, -1, 16, 17, 18, 32766);
const DISPARITY_COUNTS = Uint16Array.of(0, 1, 16, 0, 17, 18, 19, 32767);
const CONFIDENCE = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8);
const LEFT = Uint8Array.of(11, 12, 13, 14, 15, 16, 17, 18);
const bytesOf = ({ buffer, byteOffset, byteLength }: Uint16Array) =>
  new Uint8Array(buffer, byteOffset, byteLength);

/** A body that the engine has packed, behind its headroom; its bytes count up from `first`. */
const packed = (first: number) =>
  new Uint8Array(ENCODED_HEADROOM_BYTES + 40).map((_, i) => first + i - ENCODED_HEADROOM_BYTES);

function makeFrame(packedBytes: number | undefined, [width, height] = [4, 2]): ComputedFrame {
  const isPacked = packedBytes !== undefined;
  return {
    slot: {
      left: LEFT,
      depthMillimetres: DEPTH,
      disparityQ4: DISPARITY,
      confidence: CONFIDENCE,
      encodedDepth: packed(100).subarray(ENCODED_HEADROOM_BYTES),
      encodedDisparity: packed(150).subarray(ENCODED_HEADROOM_BYTES),
    },
    result: { encodedDepthBytes: packedBytes, encodedDisparityBytes: packedBytes },
    encodings: isPacked ? { encodeDepth: "rvl", encodeDisparity: "rvl" } : {},
    width,
    height,
    clock: "realtime",
    timestampPoint: "startOfExposure",
    leftTimestampNs: 1_700_000_000_000_000_007n,
    rightTimestampNs: 1_700_000_000_000_000_009n,
    leftSequence: 21,
    rightSequence: 22,
  } as unknown as ComputedFrame;
}

const ALL = new Set(PICTURE_STREAMS);
const read = (messages: ReadonlyMap<string, Uint8Array>) =>
  new Map([...messages].map(([stream, message]) => [stream, parseFrame(message)]));

test.each([
  ["raw", undefined],
  ["rvl", 16],
  ["raw", 17],
])("maps are sent %s where %s bytes are packed, which is no more than the map", (encoding, bytes) => {
  const { messages } = new FrameMessages().of(makeFrame(bytes), ALL, 77, true);
  const found = read(messages);
  expect([...found.keys()].sort()).toEqual([...PICTURE_STREAMS].sort());
  const runIds = new Set<number>();
  for (const [stream, { header }] of found) {
    runIds.add(header.runId);
    expect(header, stream).toMatchObject({
      stream,
      frameNumber: 77,
      clockDomain: localClockDomain(),
      width: 4,
      height: 2,
      clock: "realtime",
      timestampPoint: "startOfExposure",
      leftTimestampNs: 1_700_000_000_000_000_007n,
      rightTimestampNs: 1_700_000_000_000_000_009n,
      leftSequence: 21,
      rightSequence: 22,
      realtimeOffsetNs: 0n,
    });
  }
  expect([runIds.size, runIds.has(0)]).toEqual([1, false]);
  const form = (stream: string) => {
    const { header, body } = found.get(stream)!;
    return [header.encoding, header.element, [...body]];
  };
  const isPacked = encoding === "rvl";
  const counted = (first: number) => Array.from({ length: 16 }, (_, i) => first + i);
  expect(form("depth")).toEqual([encoding, "u16", isPacked ? counted(100) : [...bytesOf(DEPTH)]]);
  expect(form("disparity")).toEqual([
    encoding,
    "u16",
    isPacked ? counted(150) : [...bytesOf(DISPARITY_COUNTS)],
  ]);
  expect(form("confidence")).toEqual(["raw", "u8", [...CONFIDENCE]]);
  expect(form("left")).toEqual(["raw", "u8", [...LEFT]]);
});

test("without a calibration there is no depth, and other streams are as asked", () => {
  const streams = new Set(["depth", "left"] as const);
  const { messages } = new FrameMessages().of(makeFrame(undefined), streams, 0, false);
  expect([...messages.keys()]).toEqual(["left"]);
});

test("memory is used again once it was given back, that of 16 messages of the newest size", () => {
  const frames = new FrameMessages();
  const take = (size?: [number, number]) => frames.of(makeFrame(undefined, size), ALL, 0, true);
  const memory = (sets: ReturnType<typeof take>[]) =>
    new Set(sets.flatMap(({ messages }) => [...messages.values()].map(({ buffer }) => buffer)));
  const fiveTimes = () => Array.from({ length: 5 }, () => take());
  const first = fiveTimes();
  expect(memory(first).size).toBe(20);
  for (const { release } of first) release();
  const second = fiveTimes();
  expect(memory([...first, ...second]).size).toBe(24);
  const larger = take([8, 2]);
  for (const { release } of second) release();
  const other = take([8, 2]);
  expect(memory([...first, ...second, larger, other]).size).toBe(32);
  larger.release();
  expect(memory([larger, take([8, 2])]).size).toBe(4);
  expect(memory([...first, ...second, take()]).size).toBe(28);
});

async function openOutput(changes: object = {}) {
  const server = new HttpServer({ address: "127.0.0.1", port: 0, gate: undefined });
  await server.listen();
  cleanups.push(() => server.close());
  const output = await viewer.open({
    http: async () => ({ server, gate: undefined }),
    base: "depthwatt",
    device: "rig",
    hasDepth: true,
    notice: () => {},
    settings: { enabled: true, rateHz: "max" },
    ...changes,
  } as unknown as OutputContext<never>);
  cleanups.push(() => output.close());
  const socket = new WebSocket(`${server.url!.replace("http", "ws")}/live`);
  cleanups.push(() => socket.terminate());
  const said: ToPage[] = [];
  const frames: Buffer[] = [];
  const ended = once(socket, "close");
  socket.on("message", (data: Buffer, isBinary) => {
    if (isBinary) frames.push(data);
    else said.push(JSON.parse(String(data)));
  });
  await once(socket, "open");
  const say = (message: object) => socket.send(JSON.stringify(message));
  const lend = (frame: ComputedFrame) => {
    const lease = { sent: 0, released: 0 };
    output.frame({
      frame,
      sent: () => lease.sent++,
      release: () => lease.released++,
    } as unknown as FrameLease);
    return lease;
  };
  return { server, output, said, frames, say, lend, ended };
}

test("frames go to a page that watches and is ready, and are counted", async () => {
  const { server, output, said, frames, say, lend, ended } = await openOutput();
  expect(output.streams).toEqual([]);
  say({ type: "watch", device: "rig", streams: ["left", "depth"] });
  await until("it watches", () => output.streams.length > 0);
  expect(output.streams).toEqual(PICTURE_STREAMS);
  expect(lend(makeFrame(undefined))).toEqual({ sent: 0, released: 1 });
  const details = { url: server.url, pages: 1 };
  expect(output.counters()).toEqual({ sent: 0, bytes: 0, drops: { pageBusy: 1 }, details });
  for (let turn = 0; turn < 2; turn++) say({ type: "next" });
  // Answered behind it: both credits are there.
  say({ type: "ask", id: 1, command: "get", payload: "{}" });
  await until("the answer", () => said.some(({ type }) => type === "answer"));
  const lease = lend(makeFrame(undefined));
  expect(lease.released).toBe(1);
  await until("it left", () => lease.sent === 1);
  await until("both pictures", () => frames.length === 2);
  const headers = frames.map((frame) => parseFrame(frame).header);
  expect(headers.map(({ stream, frameNumber }) => [stream, frameNumber]).sort()).toEqual([
    ["depth", 1],
    ["left", 1],
  ]);
  const bytes = frames.reduce((sum, frame) => sum + frame.length, 0);
  expect(output.counters()).toEqual({ sent: 1, bytes, drops: { pageBusy: 1 }, details });
  expect(said.filter(({ type }) => type === "frames")).toEqual([
    { type: "frames", device: "rig", count: 2, skipped: 1 },
  ]);
  output.configure!({} as never, { hasDepth: false } as never);
  const last = lend(makeFrame(undefined));
  await until("it left", () => last.sent === 1);
  await until("the picture", () => frames.length === 3);
  expect(parseFrame(frames[2]!).header).toMatchObject({ stream: "left", frameNumber: 2 });
  await output.close();
  expect((await ended)[0]).toBe(1001);
});

test("documents, warnings and changes of settings reach the page", async () => {
  const control = {
    off: undefined,
    trial: true,
    canSave: true,
    secret: undefined,
    settings: () => ({ settings: [], values: { a: 1 }, presets: [] }),
  };
  const { server, output, said } = await openOutput({ control });
  await until("the settings", () => said.some(({ type }) => type === "control"));
  expect(said[0]).toMatchObject({ type: "hello", kind: "run", origin: "depthwatt/rig" });
  said.length = 0;
  output.state!("degraded", "one", "SOURCE_STALLED" as never);
  output.state!("online", "two");
  output.info!({ a: 1 });
  output.cameraInfo!({ b: 2 });
  output.metrics!({ c: 3 });
  output.grid!({ d: 4 });
  output.notice!("five");
  output.configure!({} as never, { hasDepth: true } as never);
  await until("the settings again", () => said.some(({ type }) => type === "control"));
  const document = (type: string, content: object) => ({ type, device: "rig", document: content });
  expect(said.filter(({ type }) => type !== "devices")).toEqual([
    document("state", { state: "degraded", reason: "one", code: "SOURCE_STALLED" }),
    document("state", { state: "online", reason: "two" }),
    document("info", { a: 1 }),
    document("cameraInfo", { b: 2 }),
    document("metrics", { c: 3 }),
    document("grid", { d: 4 }),
    { type: "log", lines: [{ level: "warn", text: "five", timeMs: expect.any(Number) }] },
    expect.objectContaining({ type: "control", values: { a: 1 } }),
  ]);
  expect(output.greeting!()).toEqual([
    ["page", server.url],
    ["settings", expect.stringContaining("without a secret")],
  ]);
  const plain = await openOutput();
  expect(plain.output.greeting!()).toEqual([["page", plain.server.url]]);
});
