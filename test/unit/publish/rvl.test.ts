// SPDX-License-Identifier: Apache-2.0
// RVL in TypeScript: words worked out on paper, round trips, and bodies made to break a decoder.
import { expect, test } from "vitest";
import { decodeRvl, encodeRvl, rvlMaxBytes } from "../../../core/frame/rvl.js";
import { depthLikePicture, randomBytes } from "../../doubles/rvl-pictures.js";

function pack(pixels: Uint16Array): Uint8Array {
  const output = new Uint8Array(rvlMaxBytes(pixels.length));
  return output.subarray(0, encodeRvl(pixels, output));
}

function unpack(body: Uint8Array, count: number): Uint16Array {
  const pixels = new Uint16Array(count).fill(0xabcd);
  decodeRvl(body, pixels);
  return pixels;
}

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

// By hand. [0, 0, 5, 4, 0, 1000]: zeros 2 -> 2; nonzeros 2 -> 2; +5 folds to 10 = 1|010 -> a 1; -1 folds to 1 -> 1;
// zeros 1 -> 1; nonzeros 1 -> 1; 1000 - 4 = 996 folds to 1992 = 3|7|1|0 lowest group first: 0 1 7 3 -> 8 9 f 3.
// Nibbles 2 2 a 1 1 1 1 8 | 9 f 3, words 0x22a11118 0x9f300000, stored little-endian.
test("packs a row worked out by hand", () => {
  expect(hex(pack(Uint16Array.of(0, 0, 5, 4, 0, 1000)))).toBe("1811a1220000309f");
});

test("a picture of zeros is one count and an empty run, a full one starts with no zeros", () => {
  // 9 zeros: groups 1, 1 -> nibbles 9 1, then 0 values -> 0.
  expect(hex(pack(new Uint16Array(9)))).toBe(hex(Uint8Array.of(0, 0, 0, 0x91)));
  expect(hex(pack(Uint16Array.of(1)))).toBe(hex(Uint8Array.of(0, 0, 0x20, 0x01)));
  expect(pack(new Uint16Array(0))).toHaveLength(0);
});

test("round trips pictures of many shapes and never exceeds the bound", () => {
  for (let seed = 1; seed <= 300; seed++) {
    const pixels = depthLikePicture(seed);
    const body = pack(pixels);
    expect(body.length, `seed ${seed}`).toBeLessThanOrEqual(rvlMaxBytes(pixels.length));
    expect(unpack(body, pixels.length), `seed ${seed}`).toEqual(pixels);
  }
});

test("the worst picture (values swinging between 1 and 65535) stays within the bound", () => {
  for (const count of [1, 2, 7, 8, 9, 4095, 4096, 4097]) {
    const pixels = Uint16Array.from({ length: count }, (_, index) => (index % 2 === 0 ? 65535 : 1));
    const body = pack(pixels);
    expect(body.length).toBeLessThanOrEqual(rvlMaxBytes(count));
    expect(unpack(body, count)).toEqual(pixels);
  }
});

test("refuses output that is too small before writing", () => {
  expect(() => encodeRvl(new Uint16Array(100), new Uint8Array(20))).toThrow(
    /expected room for 308 bytes, got 20/,
  );
});

test("every truncation and extension is an error that names the byte", () => {
  const pixels = depthLikePicture(7);
  const body = pack(pixels);
  for (let bytes = 0; bytes < body.length; bytes += 3) {
    expect(() => unpack(body.subarray(0, bytes), pixels.length)).toThrow(
      expect.objectContaining({
        code: "PAYLOAD_INVALID",
        context: expect.objectContaining({ field: "rvl" }),
      }),
    );
  }
  const longer = new Uint8Array(body.length + 4);
  longer.set(body);
  expect(() => unpack(longer, pixels.length)).toThrow(/expected the end of the body, found 4 more bytes/);
});

test("runs longer than the picture, endless numbers, empty runs and values out of range are errors", () => {
  const word = (value: number) => {
    const bytes = new Uint8Array(4);
    new DataView(bytes.buffer).setUint32(0, value, true);
    return bytes;
  };
  expect(() => unpack(word(0x70000000), 5)).toThrow(/at most 5 zeros, found 7/);
  expect(() => unpack(word(0x17000000), 5)).toThrow(/at most 4 values, found 7/);
  expect(() => unpack(word(0x00000000), 5)).toThrow(/a run of at least one pixel/);
  expect(() => unpack(word(0x01100000), 1)).toThrow(/a value from 1 to 65535, found -1/);
  expect(() => unpack(word(0x01000000), 1)).toThrow(/a value from 1 to 65535, found 0/);
  expect(() => unpack(new Uint8Array(64).fill(0xff), 5)).toThrow(/at most 10 nibbles/);
});

test("random bytes give an error or a picture, and never write next to the pixels", () => {
  let pictures = 0;
  for (let seed = 1; seed <= 2000; seed++) {
    const body = randomBytes(seed);
    const guarded = new Uint16Array(48).fill(0xbeef);
    try {
      decodeRvl(body, guarded.subarray(16, 32));
      pictures++;
    } catch (error) {
      expect(error).toMatchObject({ code: "PAYLOAD_INVALID" });
    }
    expect(guarded.subarray(0, 16).every((value) => value === 0xbeef)).toBe(true);
    expect(guarded.subarray(32).every((value) => value === 0xbeef)).toBe(true);
  }
  expect(pictures).toBeLessThan(2000);
});

/** Little-endian words of eight nibbles each; the last one is filled with zeros. */
const words = (nibbles: string) =>
  Uint8Array.from(
    (nibbles.replaceAll(" ", "").match(/.{1,8}/g) ?? []).flatMap((word) =>
      [...Buffer.from(word.padEnd(8, "0"), "hex")].reverse(),
    ),
  );

test("bodies worked out by hand unpack over other pixels", () => {
  // Folded: +5 is 10 = 1|010, -1 is 1, 996 is 1992 = 3|7|1|0, +65535 is 131070 = 3|7|7|7|7|6,
  // lowest group first.
  expect([...unpack(words("2 2 a1 1 1 1 89f3"), 6)]).toEqual([0, 0, 5, 4, 0, 1000]);
  expect([...unpack(words("0 1 effff3 2 0"), 3)]).toEqual([65535, 0, 0]);
  expect([...unpack(words("1 1 2 2 0"), 4)]).toEqual([0, 1, 0, 0]);
});

test("a second run is measured against the rest of the image, and a value against 16 bits", () => {
  expect(() => unpack(words("1 1 2 4"), 5)).toThrow("RVL body, byte 4: expected at most 3 zeros, found 4");
  expect(() => unpack(words("1 1 2 0 4"), 5)).toThrow("RVL body, byte 4: expected at most 3 values, found 4");
  // 65536 is folded to 131072 = 4|0|0|0|0|0.
  expect(() => unpack(words("0 1 888884"), 1)).toThrow("expected a value from 1 to 65535, found 65536");
  expect(() => unpack(words("0 1 2 0 0 0 0 0 0"), 1)).toThrow(
    "expected the end of the body, found 4 more bytes",
  );
  expect(() => unpack(words("1 1 2 0 0"), 5)).toThrow("expected a run of at least one pixel, found 0");
});

test("packs at an offset, in exactly the room that the worst picture needs", () => {
  // 6 nibbles a pixel and 12 besides, in words of 8.
  expect([0, 1, 2, 10].map(rvlMaxBytes)).toEqual([8, 12, 12, 36]);
  const output = new Uint8Array(4 + 12).fill(0xee);
  expect(encodeRvl(Uint16Array.of(1, 0), output, 4)).toBe(4);
  // No zeros, one value, +1 as 2, one zero, no value: 0 1 2 1 0.
  expect(hex(output)).toBe(`${"ee".repeat(4)}00002101${"ee".repeat(8)}`);
  expect(() => encodeRvl(Uint16Array.of(1, 0), output, 5)).toThrow("expected room for 12 bytes, got 11");
});
