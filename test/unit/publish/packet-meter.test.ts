// SPDX-License-Identifier: Apache-2.0
// The meter of packets: however a stream is cut into pieces, each packet's length is read where it stands.
import { expect, test } from "vitest";
import { PacketMeter } from "../../../core/mqtt/packet-meter.js";

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
