// SPDX-License-Identifier: Apache-2.0
// The shortcut of expect() for arrays of numbers lets nothing pass that differs.
import { expect, test } from "vitest";

test.each<[unknown, unknown]>([
  [[1, 2], [1, 2]],
  [[Number.NaN, -0], [Number.NaN, -0]],
  [Uint8Array.of(1, 2), Uint8Array.of(1, 2)],
  [Uint8Array.of(0, 1, 2).subarray(1), Uint8Array.of(1, 2)],
  [Float32Array.of(Number.NaN, 0.5), Float32Array.of(Number.NaN, 0.5)],
  [{ map: Int16Array.of(-1) }, { map: Int16Array.of(-1) }],
])("%j is %j", (got, expected) => expect(got).toEqual(expected)); // biome-ignore format: one pair a line

test.each<[unknown, unknown]>([
  [[1, 2], [1, 3]],
  [[1, 2], [1, 2, 3]],
  [[0], [-0]],
  [[1], ["1"]],
  [[1], [undefined]],
  [Uint8Array.of(1, 2), Uint8Array.of(1, 3)],
  [Uint8Array.of(1, 2), Uint8Array.of(1, 2, 0)],
  [Uint8Array.of(1), Int8Array.of(1)],
  [Uint16Array.of(513), Uint8Array.of(1, 2)],
  [Float64Array.of(0), Float64Array.of(-0)],
  [{ map: Int16Array.of(-1) }, { map: Int16Array.of(1) }],
])("%j is not %j", (got, expected) => expect(got).not.toEqual(expected)); // biome-ignore format: one pair a line
