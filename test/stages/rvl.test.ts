// SPDX-License-Identifier: Apache-2.0
// The native RVL stage: a row worked out by hand, the definition against the fast form and against TypeScript, hostile bodies.
import { describe, expect, test } from "vitest";
import { decodeRvl, encodeRvl, rvlMaxBytes } from "../../core/frame/rvl.js";
import { depthLikePicture, randomBytes, seededRandom } from "../doubles/rvl-pictures.js";
import { expectIs, expectSameImage, native, variants } from "../doubles/stages.js";

const encode = native.stages.rvlEncode as unknown as (call: {
  variant: string;
  pixels: Uint16Array | Int16Array;
  body: Uint8Array;
}) => number;
const decode = native.stages.rvlDecode as unknown as (call: {
  body: Uint8Array;
  pixels: Uint16Array;
}) => boolean;

const SCRATCH_BYTES = 8;
const nativeBound = (pixels: number) => rvlMaxBytes(pixels) + SCRATCH_BYTES;

function pack(variant: string, pixels: Uint16Array | Int16Array): Uint8Array {
  // Guard bytes behind the bound show a write beyond it; the fast form may store up to eight bytes more than it counts.
  const bound = nativeBound(pixels.length);
  const output = new Uint8Array(bound + 16).fill(0xee);
  const bytes = encode({ variant, pixels, body: output.subarray(0, bound) });
  expectIs(
    output.subarray(bytes + SCRATCH_BYTES).every((value) => value === 0xee),
    true,
    "untouched behind",
  );
  return output.subarray(0, bytes);
}

function unpack(body: Uint8Array, count: number): Uint16Array | undefined {
  const guarded = new Uint16Array(count + 32).fill(0xbeef);
  const whole = decode({ body, pixels: guarded.subarray(16, 16 + count) });
  expectIs(
    guarded.subarray(0, 16).every((value) => value === 0xbeef),
    true,
    "untouched before",
  );
  expectIs(
    guarded.subarray(16 + count).every((value) => value === 0xbeef),
    true,
    "untouched behind",
  );
  return whole ? guarded.slice(16, 16 + count) : undefined;
}

/** Compares by bytes: toEqual() takes half a second for a large picture. */
function expectSame(got: Uint16Array | undefined, expected: Uint16Array | undefined, what: string): void {
  expect(got?.length, what).toBe(expected?.length);
  if (got && expected) expectSameImage(got, expected, expected.length, what);
}

describe.each(["reference", ...variants])("rvl, %s", (variant) => {
  test("a row worked out by hand (README)", () => {
    const body = pack(variant, Uint16Array.of(0, 0, 5, 4, 0, 1000));
    expect(Buffer.from(body).toString("hex")).toBe("1811a1220000309f");
  });

  test("the same bytes as TypeScript, on 300 pictures", () => {
    for (let seed = 1; seed <= 300; seed++) {
      const pixels = depthLikePicture(seed);
      const expected = new Uint8Array(rvlMaxBytes(pixels.length));
      const bytes = encodeRvl(pixels, expected);
      expect(Buffer.from(pack(variant, pixels)).equals(expected.subarray(0, bytes)), `seed ${seed}`).toBe(
        true,
      );
    }
  });

  test("runs of every length up to 40 between runs of zeros, with codes of every length", () => {
    const random = seededRandom(3);
    const steps = [0, 3, 4, 31, 32, 255, 256, 2047, 2048, 16000, 32000];
    const pixels: number[] = [];
    for (let round = 0; round < 8; round++) {
      for (let run = 1; run <= 40; run++) {
        let value = 33000;
        for (let i = 0; i < run; i++) {
          const step = steps[Math.floor(random() * (round < 4 ? 3 + 2 * round : steps.length))]!;
          value = value > 33000 ? value - step : value + step;
          pixels.push(value);
        }
        for (let zeros = Math.floor(random() * 20); zeros >= 0; zeros--) pixels.push(0);
      }
    }
    const picture = Uint16Array.from(pixels);
    const defined = pack("reference", picture);
    expect(Buffer.from(pack(variant, picture)).equals(defined)).toBe(true);
    expect(unpack(defined, picture.length)).toEqual(picture);
  });

  test("every difference that 16-bit values can have", () => {
    // From 1 to v and back, for each v: both signs of every length of code.
    const pixels = new Uint16Array(2 * 65535);
    for (let value = 1; value <= 65535; value++) {
      pixels[2 * value - 2] = value;
      pixels[2 * value - 1] = 1;
    }
    expectSame(unpack(pack(variant, pixels), pixels.length), pixels, "every difference");
  });

  test("the worst picture stays within the bound", () => {
    for (const count of [1, 2, 7, 8, 9, 63, 4096, 4097]) {
      const pixels = Uint16Array.from({ length: count }, (_, index) => (index % 2 === 0 ? 65535 : 1));
      expect(unpack(pack(variant, pixels), count)).toEqual(pixels);
    }
  });
});

test.each(variants)("disparityQ4 travels as one more, and as 0 where it has no value, %s", (variant) => {
  const disparity = Int16Array.of(-32768, 0, 1, 16, 32752, 32766, 32767, -1, -32767, 5);
  const body = pack(variant, disparity);
  expect([...(unpack(body, disparity.length) ?? [])]).toEqual([0, 1, 2, 17, 32753, 32767, 0, 0, 0, 6]);
  const mapped = Uint16Array.from({ length: 65536 }, (_, i) =>
    i - 32768 < 0 || i === 65535 ? 0 : i - 32767,
  );
  const all = Int16Array.from({ length: 65536 }, (_, i) => i - 32768);
  expect(Buffer.from(pack(variant, all)).equals(pack("reference", mapped))).toBe(true);
});

test("decodes what TypeScript decodes and refuses what it refuses: truncations, flips, noise", () => {
  const agree = (body: Uint8Array, count: number, what: string) => {
    const expected = new Uint16Array(count);
    let whole = true;
    try {
      decodeRvl(body, expected);
    } catch {
      whole = false;
    }
    expectSame(unpack(body, count), whole ? expected : undefined, what);
    return whole;
  };
  let pictures = 0;
  for (let seed = 1; seed <= 3000; seed++) {
    if (agree(randomBytes(seed), 16, `noise ${seed}`)) pictures++;
  }
  for (let seed = 1; seed <= 60; seed++) {
    const random = seededRandom(seed);
    const pixels = depthLikePicture(seed);
    const body = pack("scalar", pixels);
    for (let cut = 0; cut < 20; cut++) {
      agree(body.slice(0, Math.floor(random() * body.length)), pixels.length, `seed ${seed}, cut ${cut}`);
      const flipped = body.slice();
      const at = Math.floor(random() * body.length);
      flipped[at] = flipped[at]! ^ (1 << Math.floor(random() * 8));
      if (agree(flipped, pixels.length, `seed ${seed}, flip at ${at}`)) pictures++;
    }
  }
  expect(pictures, "some damaged bodies are still pictures: that is what the CRC is for").toBeGreaterThan(0);
});

test("a body without room for the worst case is refused before a byte is written", () => {
  const call = { variant: "scalar", pixels: new Uint16Array(100), body: new Uint8Array(315) };
  expect(() => encode(call)).toThrow(
    expect.objectContaining({ code: "ENGINE_PARAMETER", message: expect.stringContaining("316") }),
  );
});
