// SPDX-License-Identifier: Apache-2.0
// Voxels as the encoding `voxels` of the stream points packs them: sorted, as steps from one to the next. The decoder trusts nothing.
//   body   numbers as in RVL: the count, then each voxel, ordered by level, z, y, x
//   step   the same level, z and y   dx                                          above 0
//          the same level and z      0, dy, folded dx                            dy above 0
//          else, and the first one   0, 0, dlevel, folded dz, folded dy, folded dx
//          The voxel before the first is 0, 0, 0, 0. Folded: 0, 1, 2, 3, ... = 0, -1, 1, -2, ...
import { NibbleReader, NibbleWriter } from "./nibbles.js";

const SIDE = 65_536;
const LOWEST = 32_768;
const LEVELS = 8;

/** Voxels in the order in which they are sent, one number each. */
export type VoxelKeys = Float64Array;

/** @param list x, y, z and level of each, in any order, each voxel once */
export function sortedVoxels(list: Int16Array): VoxelKeys {
  const keys = new Float64Array(list.length / 4);
  for (let i = 0, at = 0; i < keys.length; i++, at += 4) {
    const upper = list[at + 3]! * SIDE + list[at + 2]! + LOWEST;
    keys[i] = (upper * SIDE + list[at + 1]! + LOWEST) * SIDE + list[at]! + LOWEST;
  }
  return keys.sort();
}

/** Returns the voxels of twice the size that these are in. */
export function mergedVoxels(keys: VoxelKeys): VoxelKeys {
  const halved = keys.map((key) => {
    const x = key % SIDE;
    const y = Math.floor(key / SIDE) % SIDE;
    const z = Math.floor(key / (SIDE * SIDE)) % SIDE;
    const level = Math.floor(key / (SIDE * SIDE * SIDE));
    const half = (cell: number) => ((cell - LOWEST) >> 1) + LOWEST;
    return ((level * SIDE + half(z)) * SIDE + half(y)) * SIDE + half(x);
  });
  halved.sort();
  return halved.filter((key, i) => i === 0 || key !== halved[i - 1]);
}

/** Most bytes that so many voxels can take. */
export function voxelsMaxBytes(count: number): number {
  return Math.ceil((10 + 21 * count) / 8) * 4;
}

const fold = (value: number) => (value << 1) ^ (value >> 31);
const unfold = (value: number) => (value >>> 1) ^ -(value & 1);

/** Packs voxels into `output` from `offset` on, which has room for voxelsMaxBytes(); returns the bytes written. */
export function encodeVoxels(keys: VoxelKeys, output: Uint8Array, offset: number): number {
  const writer = new NibbleWriter(output, offset);
  writer.write(keys.length);
  let [level, x, y, z] = [0, 0, 0, 0];
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i]!;
    const upper = Math.floor(key / (SIDE * SIDE));
    const lower = key - upper * SIDE * SIDE;
    const nextLevel = Math.floor(upper / SIDE);
    const nextZ = (upper % SIDE) - LOWEST;
    const nextY = Math.floor(lower / SIDE) - LOWEST;
    const nextX = (lower % SIDE) - LOWEST;
    const sameLayer = i > 0 && nextLevel === level && nextZ === z;
    if (sameLayer && nextY === y) writer.write(nextX - x);
    else {
      writer.write(0);
      if (sameLayer) writer.write(nextY - y);
      else {
        writer.write(0);
        writer.write(nextLevel - level);
        writer.write(fold(nextZ - z));
        writer.write(fold(nextY - y));
      }
      writer.write(fold(nextX - x));
    }
    [level, x, y, z] = [nextLevel, nextX, nextY, nextZ];
  }
  return writer.end();
}

/**
 * Unpacks the middles of voxels, [count][3] metres.
 * @param edgeMetres of a voxel of level 0
 * @param maxVoxels refused beyond it
 * @throws DepthwattError PAYLOAD_INVALID: too many, not in order, a cell outside -32768 to 32767, or a body that ends early or late
 */
export function decodeVoxels(body: Uint8Array, edgeMetres: number, maxVoxels: number): Float32Array {
  const reader = new NibbleReader(body, "Voxels");
  const count = reader.read();
  // Each voxel takes a nibble or more.
  const max = Math.min(maxVoxels, 2 * body.length);
  if (count > max) reader.refuse(`at most ${max} voxels`, count);
  const metres = new Float32Array(3 * count);
  let [level, x, y, z] = [0, 0, 0, 0];
  for (let i = 0; i < count; i++) {
    const dx = reader.read();
    if (dx > 0) x += dx;
    else {
      const dy = reader.read();
      if (dy > 0) y += dy;
      else {
        const dlevel = reader.read();
        const dz = unfold(reader.read());
        level += dlevel;
        z += dz;
        y += unfold(reader.read());
        if (i > 0 && dlevel === 0 && dz <= 0) reader.refuse("a voxel after the one before it", `dz ${dz}`);
      }
      x += unfold(reader.read());
    }
    if (level >= LEVELS || !isCell(x) || !isCell(y) || !isCell(z))
      reader.refuse("cells of 16 bits and a level below 8", `${x}, ${y}, ${z}, ${level}`);
    const edge = edgeMetres * 2 ** level;
    metres[3 * i] = (x + 0.5) * edge;
    metres[3 * i + 1] = (y + 0.5) * edge;
    metres[3 * i + 2] = (z + 0.5) * edge;
  }
  reader.end();
  return metres;
}

/** Returns the middles of listed voxels (x, y, z and level of each), [count][3] metres, in the order of the list. */
export function voxelMiddles(list: Int16Array, edgeMetres: number): Float32Array {
  const metres = new Float32Array((list.length / 4) * 3);
  for (let from = 0, to = 0; from < list.length; from += 4, to += 3) {
    const edge = edgeMetres * 2 ** list[from + 3]!;
    for (let axis = 0; axis < 3; axis++) metres[to + axis] = (list[from + axis]! + 0.5) * edge;
  }
  return metres;
}

const isCell = (value: number) => value >= -LOWEST && value < LOWEST;
