// SPDX-License-Identifier: Apache-2.0
// Voxels as bytes: a body worked out on paper, the borders of cells and levels, and bodies that are refused.
import { describe, expect, test } from "vitest";
import {
  decodeVoxels,
  encodeVoxels,
  mergedVoxels,
  sortedVoxels,
  voxelMiddles,
  voxelsMaxBytes,
} from "../../../core/frame/voxels.js";
import { seededRandom } from "../../doubles/rvl-pictures.js";

type Voxel = readonly [x: number, y: number, z: number, level: number];
const keysOf = (...voxels: readonly Voxel[]) => sortedVoxels(Int16Array.from(voxels.flat()));

function pack(...voxels: readonly Voxel[]): Uint8Array {
  const output = new Uint8Array(voxelsMaxBytes(voxels.length));
  return output.slice(0, encodeVoxels(keysOf(...voxels), output, 0));
}

/** Little-endian words of eight nibbles each; the last one is filled with zeros. */
function body(nibbles: string): Uint8Array {
  const words = nibbles.replaceAll(" ", "").match(/.{1,8}/g) ?? [];
  return Uint8Array.from(words.flatMap((word) => [...Buffer.from(word.padEnd(8, "0"), "hex")].reverse()));
}

// Folded: 0, -1, 1, -2, 2 are 0 to 4, so -5 is 9, -6 is 11 and -7 is 13. Three bits a nibble, lowest first; 8 says "more".
const VOXELS: readonly Voxel[] = [
  [-1, 2, 3, 0],
  [4, 2, 3, 0],
  [-3, 5, 3, 0],
  [0, 0, 4, 0],
  [0, 0, -2, 1],
];
const BODY = [
  "5", // The count.
  "0 0 0 6 4 1", // The first: level 0, z 3, y 2, x -1 from 0.
  "5", // The same row: x + 5.
  "0 3 d1", // The same layer: y + 3, x - 7.
  "0 0 0 2 91 6", // The same level: z + 1, y - 5, x + 3.
  "0 0 1 b1 0 0", // Level + 1, z - 6.
].join(" ");

test("five voxels as on paper, in any order, and their middles", () => {
  expect(pack(...VOXELS)).toEqual(body(BODY));
  expect(pack(...[...VOXELS].reverse())).toEqual(body(BODY));
  // (cell + 1/2) edges of 0.25 m; the last one has twice that edge.
  const middles = Float32Array.of(
    ...[-0.125, 0.625, 0.875],
    ...[1.125, 0.625, 0.875],
    ...[-0.625, 1.375, 0.875],
    ...[0.125, 0.125, 1.125],
    ...[0.25, 0.25, -0.75],
  );
  expect(decodeVoxels(body(BODY), 0.25, 5)).toEqual(middles);
  expect(voxelMiddles(Int16Array.from(VOXELS.flat()), 0.25)).toEqual(middles);
});

test("a body begins at an offset, and leaves the bytes before and behind it", () => {
  const output = new Uint8Array(4 + voxelsMaxBytes(5)).fill(0xee);
  expect(encodeVoxels(keysOf(...VOXELS), output, 4)).toBe(16);
  expect(output.subarray(4, 20)).toEqual(body(BODY));
  expect([...output.subarray(0, 4), output[20]]).toEqual([0xee, 0xee, 0xee, 0xee, 0xee]);
  // No voxel is one word; 10 nibbles for the count and 21 a voxel are never exceeded.
  expect(encodeVoxels(keysOf(), output, 0)).toBe(4);
  expect([0, 1, 2, 1000].map(voxelsMaxBytes)).toEqual([8, 16, 28, 10_508]);
});

test("any voxels come back in their order: level, z, y, x", () => {
  const random = seededRandom(7);
  const near = () => Math.floor(random() * 5) - 2;
  for (const cell of [near, () => Math.floor(random() * 65_536) - 32_768]) {
    const all = new Map<string, Voxel>();
    while (all.size < 200) {
      const voxel = [cell(), cell(), cell(), Math.floor(random() * 8)] as const;
      all.set(voxel.join(), voxel);
    }
    const ordered = [...all.values()].sort(
      (a, b) => a[3] - b[3] || a[2] - b[2] || a[1] - b[1] || a[0] - b[0],
    );
    const packed = pack(...all.values());
    expect(packed.length).toBeLessThanOrEqual(voxelsMaxBytes(200));
    expect(decodeVoxels(packed, 0.1, 200)).toEqual(voxelMiddles(Int16Array.from(ordered.flat()), 0.1));
  }
});

test("two voxels as far apart as can be", () => {
  const far = [
    [-32_768, -32_768, -32_768, 0],
    [32_767, 32_767, 32_767, 7],
  ] as const;
  expect([...decodeVoxels(pack(...far), 1, 2)]).toEqual([
    ...Array<number>(3).fill(-32_767.5),
    ...Array<number>(3).fill(32_767.5 * 128),
  ]);
});

test("a voxel of twice the size holds the pairs of each axis, and each only once", () => {
  const small: readonly Voxel[] = [
    [-2, 0, 0, 0],
    [-1, 1, 1, 0],
    [0, 1, 1, 0],
    [1, 0, 0, 0],
    [1, 0, 0, 1],
    [0, -1, 5, 0],
    [0, 3, -4, 0],
  ];
  const merged = keysOf([-1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1], [0, -1, 2, 0], [0, 1, -2, 0]);
  expect([...mergedVoxels(keysOf(...small))]).toEqual([...merged]);
});

describe("a body is refused", () => {
  const refusal = (nibbles: string, max = 100): string => {
    try {
      decodeVoxels(body(nibbles), 1, max);
    } catch (error) {
      expect(error).toMatchObject({ code: "PAYLOAD_INVALID", context: { field: "voxels" } });
      return (error as Error).message;
    }
    return "accepted";
  };
  /** A number from 0 to 2^30 - 1 as nibbles. */
  const number = (value: number): string =>
    value < 8 ? `${value}` : `${(8 + (value & 7)).toString(16)}${number(value >>> 3)}`;
  const one = (level: number, z: number, y: number, x: number) =>
    `1 0 0 ${number(level)} ${number(z)} ${number(y)} ${number(x)}`;

  test("if it has more voxels than allowed, or than nibbles", () => {
    expect(refusal("2 0 0 0 0 0 0 1", 2)).toBe("accepted");
    expect(refusal("2 0 0 0 0 0 0 1", 1)).toBe("Voxels body, byte 4: expected at most 1 voxels, found 2");
    expect(refusal("91")).toBe("Voxels body, byte 4: expected at most 8 voxels, found 9");
    expect(refusal("81 0 0 0 0 0 0")).toMatch(/byte 4: expected another word, found the end of the body/);
  });

  test("if two voxels are not in order", () => {
    const second = (steps: string) => refusal(`2 0 0 0 0 0 0 ${steps}`);
    expect(second("0 0 0 2 0 0")).toBe("accepted");
    expect(second("0 0 1 1 0 0")).toBe("accepted");
    expect(second("0 0 0 0 0 2")).toMatch(/expected a voxel after the one before it, found dz 0$/);
    expect(second("0 0 0 1 0 0")).toMatch(/found dz -1$/);
    expect(refusal("1 0 0 0 1 0 0")).toBe("accepted");
  });

  test("if a cell has more than 16 bits, or a level is 8", () => {
    // Folded: 65 534 is 32 767, 65 535 is -32 768.
    for (const [accepted, refused, found] of [
      [65_534, 65_536, 32_768],
      [65_535, 65_537, -32_769],
    ] as const) {
      expect(refusal(one(7, accepted, accepted, accepted))).toBe("accepted");
      expect(refusal(one(0, 0, 0, refused))).toMatch(`a level below 8, found ${found}, 0, 0, 0`);
      expect(refusal(one(0, 0, refused, 0))).toMatch(`found 0, ${found}, 0, 0`);
      expect(refusal(one(0, refused, 0, 0))).toMatch(`found 0, 0, ${found}, 0`);
    }
    expect(refusal(one(8, 0, 0, 0))).toMatch(
      "expected cells of 16 bits and a level below 8, found 0, 0, 0, 8",
    );
  });

  test("if it ends early or late, or has a number of eleven nibbles", () => {
    // A number of three nibbles whose last one is in a second word, of which a byte is missing.
    expect(() => decodeVoxels(body("1 0 0 0 0 0 881").subarray(0, 7), 1, 1)).toThrow(
      /byte 4: expected another word, found the end of the body/,
    );
    expect(refusal("1 0 0 0 0 0 0 0 0")).toBe(
      "Voxels body, byte 4: expected the end of the body, found 4 more bytes",
    );
    // Ten nibbles hold 2^30 - 1; an eleventh is refused.
    expect(refusal("ffff ffff f7")).toBe(
      `Voxels body, byte 8: expected at most 16 voxels, found ${2 ** 30 - 1}`,
    );
    expect(refusal("ffff ffff ff 0")).toBe(
      "Voxels body, byte 8: expected a number of at most 10 nibbles, found a longer one",
    );
  });
});
