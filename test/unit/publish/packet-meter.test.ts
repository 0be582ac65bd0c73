// SPDX-License-Identifier: Apache-2.0
// Packets that this device writes, by hand, and the meter of packets: however a stream is cut into pieces, each packet's length is read where it stands.
import { expect, test } from "vitest";
import { LARGEST_PACKET_BYTES, PacketMeter } from "../../../core/mqtt/packet-meter.js";
import { plainPacketBytes, publishPacketHead } from "../../../edge/mqtt/publish-packet.js";

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

const properties = { contentType: "x", expirySeconds: 0x01020304, user: [["k", "v\u00e9"]] } as const;

test.each<[string, Parameters<typeof publishPacketHead>, string]>([
  ["MQTT 3.1.1", ["a", 2, undefined], "30 05 0001 61"],
  ["an answer asked for", ["a", 2, undefined, 0xfffe], "32 07 0001 61 fffe"],
  // Message Expiry Interval 2, Content Type 3, User Property 38 (MQTT 5 section 2.2.2.2): 18 bytes.
  ["MQTT 5", ["a", 0, properties], "30 16 0001 61 12 02 01020304 03 0001 78 26 0001 6b 0003 76c3a9"],
  [
    "MQTT 5 with an answer",
    ["a", 0, { ...properties, user: [] }, 1],
    "32 0f 0001 61 0001 09 02 01020304 03 0001 78",
  ],
  ["a topic of 258 bytes", ["a".repeat(258), 0, undefined], `30 8402 0102 ${"61".repeat(258)}`],
])("the head of a PUBLISH packet: %s", (_, given, hex) => {
  expect(publishPacketHead(...given).toString("hex")).toBe(hex.replaceAll(" ", ""));
});

// MQTT 5 section 1.5.5, table 1-1: 7 bits in each byte, the least significant first.
test.each([
  [3, "03"],
  [127, "7f"],
  [128, "8001"],
  [16_383, "ff7f"],
  [16_384, "808001"],
  [2_097_151, "ffff7f"],
  [2_097_152, "80808001"],
  [268_435_455, "ffffff7f"],
])("a remaining length of %i is %s", (length, hex) => {
  // The topic takes three of the bytes.
  expect(publishPacketHead("a", length - 3, undefined).toString("hex")).toBe(`30${hex}000161`);
});

test("a plain packet has ten bytes at most besides topic and text", () => {
  expect([plainPacketBytes("", ""), plainPacketBytes("ab", "\u00e9")]).toEqual([10, 14]);
});
