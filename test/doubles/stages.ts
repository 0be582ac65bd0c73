// SPDX-License-Identifier: Apache-2.0
// Shares between the tests of stages: a seeded generator, images of awkward shapes, and a comparison that locates
// differences.
import { createRequire } from "node:module";
import { expect } from "vitest";
import type { InstructionSet } from "../../cuda/index.js";
import { loadNative } from "../../edge/contracts/native.js";

const other = process.env.DEPTHWATT_STAGES_ADDON;
/** DEPTHWATT_STAGES_ADDON names an addon whose references are kernels (emulated-kernels.ts). */
export const native =
  other === undefined
    ? loadNative()
    : (createRequire(import.meta.url)(other) as ReturnType<typeof loadNative>);

/** Every form of a stage on this machine but the reference. */
export const variants: InstructionSet[] = native.cpuFeatures().available;

/** A small generator (xorshift32) with a seed that failures print. DEPTHWATT_SEED replays one. */
export class Random {
  #state: number;

  constructor(readonly seed: number = Number(process.env.DEPTHWATT_SEED ?? Date.now() % 1_000_000_007)) {
    this.#state = (seed ^ 0x9e3779b9) >>> 0 || 1;
  }

  /** A whole number in [low, high]. */
  whole(low: number, high: number): number {
    this.#state ^= this.#state << 13;
    this.#state ^= this.#state >>> 17;
    this.#state ^= this.#state << 5;
    this.#state >>>= 0;
    return low + (this.#state % (high - low + 1));
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.whole(0, choices.length - 1)] as T;
  }

  fill<A extends { length: number; [index: number]: number }>(array: A, low: number, high: number): A {
    for (let i = 0; i < array.length; ++i) array[i] = this.whole(low, high);
    return array;
  }
}

/** Widths that are none, one and many vectors of every set, and the odd ones between. */
export const AWKWARD_WIDTHS = [1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 40, 63, 64, 65, 67, 72, 129, 200];

/** Checks as expect(found, what).toBe(expected), which takes 7 us: for loops over pixels and calls of stages. */
export function expectIs<T>(found: T, expected: T, what: string): void {
  if (!Object.is(found, expected)) expect(found, what).toBe(expected);
}

/** Returns whether two arrays of integers of one type have equal bytes: much faster than a loop over their elements. */
function isSameBytes(got: ArrayLike<number>, expected: ArrayLike<number>): boolean {
  if (!ArrayBuffer.isView(got) || !ArrayBuffer.isView(expected)) return false;
  if (got.constructor !== expected.constructor || /^Float/.test(got.constructor.name)) return false;
  const bytes = ({ buffer, byteOffset, byteLength }: ArrayBufferView) =>
    new Uint8Array(buffer, byteOffset, byteLength);
  return Buffer.compare(bytes(got), bytes(expected)) === 0;
}

/** Fails with the first place where two images differ, row-major. */
export function expectSameImage(
  got: ArrayLike<number>,
  expected: ArrayLike<number>,
  width: number,
  what: string,
): void {
  if (isSameBytes(got, expected)) return;
  expect(got.length, `${what}: length`).toBe(expected.length);
  for (let i = 0; i < expected.length; ++i) {
    if (got[i] !== expected[i]) {
      const x = i % width;
      const y = Math.floor(i / width);
      expect.fail(`${what}: first mismatch at x ${x}, y ${y}: reference ${expected[i]}, got ${got[i]}`);
    }
  }
}
