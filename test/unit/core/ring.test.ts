// SPDX-License-Identifier: Apache-2.0
// The memory of a ring of frames, byte by byte as readers in other languages know it, and the limits of its writer.
import { closeSync, openSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { afterEach, expect, test } from "vitest";
import { type RingWriter, ringAddon } from "../../../core/ring/ring.js";

const { RingWriter: Writer } = ringAddon();
const writers: RingWriter[] = [];
afterEach(() => {
  for (const writer of writers.splice(0)) writer.close();
});

function open(slots: number, bodyBytes: number): RingWriter {
  const writer = new Writer({ slots, bodyBytes });
  writers.push(writer);
  return writer;
}

/** Returns the paths of the descriptors of rings that this process has open. */
function rings(): string[] {
  const isRing = (path: string) => {
    try {
      return readlinkSync(path).startsWith("/memfd:depthwatt");
    } catch {
      return false;
    }
  };
  return readdirSync("/proc/self/fd")
    .map((name) => `/proc/self/fd/${name}`)
    .filter(isRing);
}

/** Opens a ring, and returns its memory as it is at the time of each call. */
function watched(slots: number, bodyBytes: number) {
  const before = rings();
  const writer = open(slots, bodyBytes);
  const added = rings().filter((path) => !before.includes(path));
  expect(added).toHaveLength(1);
  return { writer, memory: () => readFileSync(added[0]!), path: added[0]! };
}

const HEADER = 4096;
const BODY = 256;
const refusal = (call: () => unknown) => {
  try {
    call();
    return "none";
  } catch (error) {
    return (error as Error).message;
  }
};

test("the memory of a ring: its header, and frame n in slot n - 1 modulo the slots", () => {
  const { writer, memory, path } = watched(3, 8192 - BODY);
  // "DWRG", version 1, three slots of two pages each, whose bodies begin at 256.
  const start = Buffer.alloc(HEADER + 3 * 8192);
  start.write("DWRG", 0);
  start.writeUInt16LE(1, 4);
  start.writeUInt32LE(3, 8);
  start.writeUInt32LE(BODY, 12);
  start.writeBigUInt64LE(8192n, 16);
  expect(memory().equals(start)).toBe(true);
  expect([writer.published, writer.bodyBytes]).toEqual([0, 8192 - BODY]);

  const from = process.hrtime.bigint();
  for (const n of [1, 2, 3, 4]) writer.publish(Uint8Array.of(10 * n, 77), Uint8Array.of(n, n, n));
  const to = process.hrtime.bigint();
  expect(writer.published).toBe(4);
  const found = memory();
  // The word that changes with each frame, the end of the ring (0: not yet), and the frames so far.
  expect([found.readUInt32LE(64), found.readUInt32LE(68), found.readBigUInt64LE(72)]).toEqual([4, 0, 4n]);
  for (const [slot, n] of [4, 2, 3].entries()) {
    const at = HEADER + 8192 * slot;
    expect(found.readBigUInt64LE(at), "twice the number of a frame that is complete").toBe(BigInt(2 * n));
    expect(found.readBigUInt64LE(at + 8)).toBeGreaterThan(from);
    expect(found.readBigUInt64LE(at + 8)).toBeLessThan(to);
    expect([found.readUInt32LE(at + 16), found.readUInt32LE(at + 20)]).toEqual([BODY - 2, 5]);
    expect([...found.subarray(at + BODY - 2, at + BODY + 4)]).toEqual([10 * n, 77, n, n, n, 0]);
  }

  const kept = openSync(path, "r");
  writer.close();
  const ended = readFileSync(kept);
  closeSync(kept);
  expect([ended.readUInt32LE(64), ended.readUInt32LE(68), ended.readBigUInt64LE(72)]).toEqual([5, 1, 4n]);
  expect(rings()).not.toContain(path);
  const closed = "The ring of frames is closed.";
  expect(refusal(() => writer.publish(Uint8Array.of(1), Uint8Array.of(1)))).toBe(closed);
  expect(refusal(() => writer.offer(0, Uint8Array.of(1)))).toBe(closed);
});

test.each([
  [8192 - BODY, 8192],
  [8192 - BODY + 1, 12288],
  [1, 4096],
])("a slot for bodies of %i bytes has %i bytes", (bodyBytes, slotBytes) => {
  const { memory } = watched(2, bodyBytes);
  expect(memory().readBigUInt64LE(16)).toBe(BigInt(slotBytes));
  expect(memory().length).toBe(HEADER + 2 * slotBytes);
});

test("disparities are written as counts, other bodies and other arrays as they are", () => {
  const { writer, memory } = watched(2, 64);
  const body = Int16Array.of(-32768, -1, 0, 5, 32766);
  const written = (...words: [ArrayBufferView, boolean?]) => {
    const slot = writer.published % 2;
    writer.publish(Uint8Array.of(1), ...words);
    const at = HEADER + 4096 * slot + BODY;
    return Array.from({ length: 5 }, (_, i) => memory().readUInt16LE(at + 2 * i));
  };
  expect(written(body, true)).toEqual([0, 0, 1, 6, 32767]);
  const unchanged = [0x8000, 0xffff, 0, 5, 32766];
  expect(written(body, false)).toEqual(unchanged);
  expect(written(body)).toEqual(unchanged);
  expect(written(Uint16Array.from(unchanged), true)).toEqual(unchanged);
  // A part of a larger array.
  expect(written(Int16Array.of(9, 9, ...body, 9).subarray(2, 7), true)).toEqual([0, 0, 1, 6, 32767]);
});

test("headers of 1 to 192 bytes, and bodies up to the size that was opened", () => {
  const writer = open(2, 100);
  const publish = (header: number, body: number) =>
    refusal(() => writer.publish(new Uint8Array(header), new Uint8Array(body)));
  const message = (header: number, body: number) =>
    `Expected a header of 1 to 192 bytes and a body of at most 100, got ${header} and ${body}.`;
  for (const [header, body] of [
    [1, 0],
    [192, 100],
  ] as const)
    expect(publish(header, body)).toBe("none");
  for (const [header, body] of [
    [0, 1],
    [193, 1],
    [1, 101],
  ] as const)
    expect(publish(header, body)).toBe(message(header, body));
  expect(writer.published, "a refused frame is none").toBe(2);
  const bytes = Uint8Array.of(1);
  expect(refusal(() => writer.publish("x" as never, bytes))).toBe("Expected the header as a typed array.");
  expect(refusal(() => writer.publish(bytes, {} as never))).toBe("Expected the body as a typed array.");
});

test("2 to 64 slots, bodies from 1 byte, and 4 GB in all", () => {
  const opened = (slots: number, bodyBytes: number) => refusal(() => open(slots, bodyBytes));
  const slots = (found: number) => `Expected a whole number from 2 to 64 for slots, got ${found}.`;
  expect([2, 64].map((count) => opened(count, 1))).toEqual(["none", "none"]);
  expect([1, 65].map((count) => opened(count, 1))).toEqual([slots(1), slots(65)]);
  expect(opened(2, 0)).toBe("Expected bodyBytes from 1 to 2^32, got 0.");
  expect(opened(2, 0.5)).toBe("Expected bodyBytes from 1 to 2^32, got 0.5.");
  expect(opened(2, 2 ** 33)).toBe("Expected bodyBytes from 1 to 2^32, got 8.58993e+09.");
  // A 64th of 4 GB less two pages, and one byte.
  const large = 2 ** 26 - 8192 + 1;
  const inAll = (count: number, bytes: number) =>
    `Expected 2 to 64 slots and 1 byte to 4 GB in all, got ${count} slots of ${bytes} bytes.`;
  expect(opened(64, large)).toBe(inAll(64, large));
  expect(opened(2, 2 ** 32)).toBe(inAll(2, 2 ** 32));
});

test("a ring is offered over a connected socket only", () => {
  const writer = open(2, 10);
  const offer = (socket: unknown, reply: unknown = Uint8Array.of(1)) =>
    refusal(() => writer.offer(socket as number, reply as Uint8Array));
  expect(offer(-1)).toBe("Expected the descriptor of a socket, got -1.");
  expect(offer(2 ** 31)).toBe("Expected the descriptor of a socket, got 2.14748e+09.");
  expect(offer("1")).toBe("Expected a finite number for a socket.");
  expect(offer(0, "x")).toBe("Expected the reply as a typed array.");
  const expected = (reason: string) =>
    `Expected a connected Unix socket with room for a reply, got ${reason}.`;
  expect(offer(2 ** 31 - 1)).toBe(expected("Bad file descriptor"));
  const file = openSync("/dev/null", "r");
  expect(offer(file)).toBe(expected("Socket operation on non-socket"));
  closeSync(file);
});
