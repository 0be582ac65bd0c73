// SPDX-License-Identifier: Apache-2.0
// The meter of packets: however a stream is cut into pieces, each packet's length is read where it stands.
import { expect, test } from "vitest";
import { LARGEST_PACKET_BYTES, PacketMeter } from "../../../core/mqtt/packet-meter.js";

/** A PUBLISH whose remaining length is `length`. */
function packet(length: number): number[] {
  const head = [0x30];
  for (let rest = length; ; rest >>= 7) {
    head.push((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
    if (rest <= 0x7f) break;
  }
  return [...head, ...new Array<number>(length).fill(0xff)];
}

test("packets up to the limit pass in pieces of any size, the next larger one does not", () => {
  const good = [0, 1, 127, 128, 300, 1000].flatMap(packet);
  for (const piece of [1, 2, 3, 7, 100, good.length]) {
    const meter = new PacketMeter(1003);
    for (let at = 0; at < good.length; at += piece)
      expect(meter.take(Uint8Array.from(good.slice(at, at + piece)))).toBe(true);
    // Known by its header alone.
    expect(meter.take(Uint8Array.from(packet(1001).slice(0, 3)))).toBe(false);
  }
});

test("a length of five bytes is none", () => {
  expect(new PacketMeter(2 ** 30).take(Uint8Array.of(0x30, 0xff, 0xff, 0xff, 0xff))).toBe(false);
});

test("packets of one meter after another, in one piece and byte by byte", () => {
  const meter = new PacketMeter(4);
  const take = (...bytes: number[]) => meter.take(Uint8Array.from(bytes));
  expect(take(0x30, 2, 9, 9, 0xc0, 0, 0x30, 1, 9)).toBe(true);
  for (const byte of [0x30, 2, 9, 9, 0xc0, 0, 0x30]) expect(take(byte)).toBe(true);
  // Three bytes behind a header of two.
  expect(take(3)).toBe(false);
});

test.each([
  [[0x30, 0x7f], 129],
  [[0x30, 0x80, 0x01], 131],
  [[0x30, 0xff, 0x7f], 16_386],
  [[0x30, 0x80, 0x80, 0x01], 16_388],
  [[0x30, 0xff, 0xff, 0xff, 0x7f], LARGEST_PACKET_BYTES],
])("the header %j is of a packet of %i bytes", (header, bytes) => {
  expect(new PacketMeter(bytes).take(Uint8Array.from(header))).toBe(true);
  expect(new PacketMeter(bytes - 1).take(Uint8Array.from(header))).toBe(false);
});
