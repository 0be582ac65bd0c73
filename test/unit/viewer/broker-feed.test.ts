// SPDX-License-Identifier: Apache-2.0
// Tests that streams of one moment are put together again, in any order and selection; no set waits for a stream that
// was switched off.
import { EventEmitter } from "node:events";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { WebSocket } from "ws";
import type { Consumer, ReceivedFrame } from "../../../clients/javascript/src/consumer.js";
import { Emitter } from "../../../clients/javascript/src/emitter.js";
import type { PictureStream } from "../../../core/frame/frame-format.js";
import { parseFrame } from "../../../core/frame/payload.js";
import { BrokerFeed } from "../../../edge/outputs/viewer/broker-feed.js";
import { Hub } from "../../../edge/outputs/viewer/hub.js";
import type { ToPage } from "../../../edge/outputs/viewer/protocol.js";
import { frameMessage } from "../../doubles/page-feed.js";

class FakeConsumer extends Emitter<Record<string, never>> {
  send(device: string, stream: PictureStream, moment: number): Uint8Array {
    const counts =
      stream === "left" || stream === "confidence" ? new Uint8Array(4) : new Uint16Array(4).fill(9);
    const message = frameMessage(stream, counts, { width: 2, height: 2 }, moment);
    const { header, body } = parseFrame(message);
    const frame = { device, stream, header, body, messageBytes: message.length } as ReceivedFrame;
    this.emit("frame", frame as never);
    return message;
  }

  grid(device: string, grid: unknown): void {
    this.emit("grid", { device, grid } as never);
  }

  /** Emits an event as it is. */
  say(name: string, event: object): void {
    this.emit(name as never, event as never);
  }

  info(device: string, info: unknown): void {
    this.emit("info", { device, info } as never);
  }
}

function feed() {
  const sets: string[] = [];
  const messages: Uint8Array[] = [];
  const hub = {
    wanted: () => new Set(["depth"]),
    send: (device: string, frames: Map<string, Uint8Array>) => {
      sets.push(`${device}: ${[...frames.keys()].sort().join(" ")}`);
      messages.push(...frames.values());
    },
  };
  const consumer = new FakeConsumer();
  const fed = new BrokerFeed(hub as unknown as Hub, consumer as unknown as Consumer);
  return { sets, messages, consumer, fed };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("the first moment waits a little, the next ones are complete as soon as the same streams are there", () => {
  const { sets, consumer } = feed();
  consumer.send("a", "left", 1);
  consumer.send("a", "depth", 1);
  expect(sets).toEqual([]);
  vi.advanceTimersByTime(150);
  expect(sets).toEqual(["a: depth left"]);
  consumer.send("a", "depth", 2);
  consumer.send("a", "left", 2);
  expect(sets).toEqual(["a: depth left", "a: depth left"]);
});

test("a first moment is handed on after 100 ms, and not a second time", () => {
  const { sets, consumer } = feed();
  consumer.send("a", "left", 1);
  vi.advanceTimersByTime(60);
  consumer.send("a", "depth", 1);
  vi.advanceTimersByTime(39);
  expect(sets).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(sets).toEqual(["a: depth left"]);
  vi.advanceTimersByTime(1000);
  // A stream that comes late is a set of its moment alone.
  consumer.send("a", "left", 1);
  vi.advanceTimersByTime(1000);
  expect(sets).toEqual(["a: depth left", "a: left"]);
});

test("of 256 devices whose frames wait none gives its place, and of others the device that is silent longest", () => {
  const { sets, consumer } = feed();
  for (let name = 0; name < 257; name++) consumer.send(`d${name}`, "depth", 1);
  vi.advanceTimersByTime(100);
  expect(sets).toHaveLength(256);
  expect(sets).not.toContain("d256: depth");
  sets.length = 0;
  // One that is known and sends again is not the first any more.
  consumer.send("d0", "depth", 2);
  consumer.send("d256", "depth", 1);
  consumer.send("d1", "left", 1);
  vi.advanceTimersByTime(100);
  expect(sets).toEqual(["d0: depth", "d256: depth", "d1: left"]);
});

test("frames that no page shows, and other streams than the topic's, go nowhere", () => {
  const consumer = new FakeConsumer();
  const send = vi.fn();
  const hub = { wanted: () => new Set(), send };
  new BrokerFeed(hub as unknown as Hub, consumer as unknown as Consumer);
  consumer.send("a", "depth", 1);
  const { header, body } = parseFrame(frameMessage("left", new Uint8Array(4), { width: 2, height: 2 }, 1));
  consumer.say("frame", { device: "b", stream: "depth", header, body });
  consumer.say("frame", { device: "b", stream: "points", header: { ...header, stream: "points" } });
  vi.advanceTimersByTime(1000);
  expect(send).not.toHaveBeenCalled();
  expect(vi.getTimerCount()).toBe(0);
});

test("documents, the broker's status and damaged messages reach the hub, each damage once", () => {
  const calls: unknown[] = [];
  const hub = {
    document: (...words: unknown[]) => calls.push(["document", ...words]),
    source: (...words: unknown[]) => calls.push(["source", ...words]),
    log: (...words: unknown[]) => calls.push(["log", ...words]),
  };
  const consumer = new FakeConsumer();
  new BrokerFeed(hub as unknown as Hub, consumer as unknown as Consumer);
  const emit = (name: string, event: object) => consumer.say(name, event);
  emit("state", { device: "a", state: "online", reason: "r", runId: 7 });
  emit("info", { device: "a", info: 1 });
  emit("cameraInfo", { device: "a", cameraInfo: 2 });
  emit("metrics", { device: "a", metrics: null });
  emit("status", { connected: false, reason: "mqtt://anna:secret@broker is away" });
  const invalid = (field: string) => ({ context: { field }, message: `bad ${field}\u001b[2J` });
  for (const field of ["crc32", "crc32", "size"])
    emit("invalid", { device: "a", stream: "depth", error: invalid(field) });
  expect(calls.splice(0)).toEqual([
    ["document", "a", "state", { state: "online", reason: "r" }],
    ["document", "a", "info", 1],
    ["document", "a", "cameraInfo", 2],
    ["document", "a", "metrics", null],
    ["source", false, expect.not.stringContaining("secret")],
    ["log", "warn", expect.not.stringContaining("\u001b")],
    ["log", "warn", expect.stringMatching(/^a\/depth: bad size/)],
  ]);
  // Two kinds are known: 255 more are logged.
  for (let kind = 0; kind < 300; kind++)
    emit("invalid", { device: `d${kind}`, stream: "depth", error: invalid("crc32") });
  expect(calls).toHaveLength(255);
});

test.each([
  ["levels", (count: number) => JSON.parse("[".repeat(count) + "]".repeat(count)), 32, 33],
  ["characters", (count: number) => "x".repeat(count - 2), 1 << 20, (1 << 20) + 1],
])("a document may have so many %s", (_, make, max, tooMany) => {
  const document = vi.fn();
  const consumer = new FakeConsumer();
  new BrokerFeed({ document, log: () => {} } as unknown as Hub, consumer as unknown as Consumer);
  consumer.info("a", make(tooMany));
  expect(document).not.toHaveBeenCalled();
  consumer.info("a", make(max));
  expect(document).toHaveBeenCalledTimes(1);
});

test("a stream that is switched off is waited for once", () => {
  const { sets, consumer } = feed();
  for (const stream of ["left", "depth"] as const) consumer.send("a", stream, 1);
  consumer.send("a", "depth", 2);
  consumer.send("a", "depth", 3);
  consumer.send("a", "depth", 4);
  expect(sets).toEqual(["a: depth left", "a: depth", "a: depth", "a: depth"]);
});

test("devices do not mix, and messages are handed on byte for byte", () => {
  const { sets, messages, consumer } = feed();
  const one = consumer.send("a", "depth", 1);
  const other = consumer.send("b", "depth", 1);
  vi.advanceTimersByTime(150);
  expect(sets).toEqual(["a: depth", "b: depth"]);
  expect(messages.map((message) => [...message])).toEqual([[...one], [...other]]);
});

test("frames of more names than are kept do not shut out a device", () => {
  const { sets, consumer } = feed();
  for (let name = 0; name < 300; name++) {
    consumer.send(`junk${name}`, "depth", 1);
    vi.advanceTimersByTime(150);
  }
  consumer.send("real", "depth", 1);
  vi.advanceTimersByTime(150);
  expect(sets).toHaveLength(301);
  expect(sets.at(-1)).toBe("real: depth");
});

test("the grid of a device that is looked at is shown at a readable pace, of another device not at all", () => {
  const shown: unknown[] = [];
  const hub = {
    watched: (device: string) => device === "a",
    document: (...document: unknown[]) => shown.push(document),
  };
  const consumer = new FakeConsumer();
  new BrokerFeed(hub as unknown as Hub, consumer as unknown as Consumer);
  for (const wrong of [null, 7, {}, { grid: null }, { grid: "#" }]) consumer.grid("a", wrong);
  for (let frame = 0; frame < 9; frame++) {
    consumer.grid("b", { grid: { rows: ["b"] } });
    consumer.grid("a", { clock: "file", grid: { rows: [String(frame)] } });
    vi.advanceTimersByTime(100);
  }
  expect(shown).toEqual([
    ["a", "grid", { rows: ["0"] }],
    ["a", "grid", { rows: ["5"] }],
  ]);
});

test("nothing comes after it was closed", () => {
  const { sets, consumer, fed } = feed();
  consumer.send("a", "depth", 1);
  fed.close();
  vi.advanceTimersByTime(500);
  expect(sets).toEqual([]);
});

test("a document that no page could show is left out, with one line in the log: anybody may publish it", () => {
  const hub = new Hub({ kind: "view", origin: "a test" });
  const said: ToPage[] = [];
  const page = Object.assign(new EventEmitter(), {
    OPEN: 1,
    readyState: 1,
    bufferedAmount: 0,
    send: (text: string) => void said.push(JSON.parse(text)),
  });
  hub.join(page as unknown as WebSocket, "a test");
  const consumer = new FakeConsumer();
  new BrokerFeed(hub, consumer as unknown as Consumer);
  consumer.info("a", JSON.parse("[".repeat(100_000) + "]".repeat(100_000)));
  consumer.info("a", { board: "x".repeat(2 << 20) });
  consumer.info("a", { board: "jetson" });
  expect(said.filter(({ type }) => type === "info")).toEqual([
    { type: "info", device: "a", document: { board: "jetson" } },
  ]);
  const lines = said.flatMap((message) => (message.type === "log" ? message.lines : []));
  expect(lines).toMatchObject([
    { level: "warn", text: expect.stringMatching(/^a: expected info of at most /) },
  ]);
  page.emit("close");
});
