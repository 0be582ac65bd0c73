// SPDX-License-Identifier: Apache-2.0
// Damage by chance: bits and bytes changed, cut off, put in, removed.
import fc from "fast-check";

export interface Change {
  kind: number;
  at: number;
  value: number;
  piece: Uint8Array;
}
const change: fc.Arbitrary<Change> = fc.record({
  kind: fc.nat(5),
  at: fc.nat(1_000_000),
  value: fc.nat(255),
  piece: fc.uint8Array({ maxLength: 12 }),
});
export const changes = fc.array(change, { maxLength: 8 });

/** `good` with each of the steps done to it, one after the other. */
export function damaged(good: Uint8Array, steps: readonly Change[]): Uint8Array {
  let bytes = Uint8Array.from(good);
  for (const { kind, at: place, value, piece } of steps) {
    const at = bytes.length === 0 ? 0 : place % bytes.length;
    if (kind === 0) bytes[at]! ^= 1 << (value & 7);
    else if (kind === 1) bytes[at] = value;
    else if (kind === 2) bytes = bytes.slice(0, at);
    else if (kind === 3)
      bytes = new Uint8Array(Buffer.concat([bytes.subarray(0, at), piece, bytes.subarray(at)]));
    else if (kind === 4)
      bytes = new Uint8Array(Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + value)]));
    else bytes.set(piece.subarray(0, bytes.length - at), at);
  }
  return bytes;
}
