// SPDX-License-Identifier: Apache-2.0
// CRC-32 as in zlib, PNG and Ethernet (polynomial 0x04C11DB7 reflected, start and final XOR 0xFFFFFFFF), in Node by zlib's
// vector code, in a browser by a table.
import { nodeBuiltin } from "./node-builtin.js";

type Crc32 = (bytes: Uint8Array, previous: number) => number;

function makeTable(): Uint32Array {
  const table = new Uint32Array(256);
  for (let index = 0; index < 256; index++) {
    let remainder = index;
    for (let bit = 0; bit < 8; bit++) {
      remainder = remainder & 1 ? (remainder >>> 1) ^ 0xedb88320 : remainder >>> 1;
    }
    table[index] = remainder;
  }
  return table;
}

let table: Uint32Array | undefined;

/** The portable form, exported so that a test can hold it against zlib's. */
export function crc32ByTable(bytes: Uint8Array, previous = 0): number {
  table ??= makeTable();
  let crc = ~previous;
  for (let index = 0; index < bytes.length; index++) {
    crc = table[(crc ^ bytes[index]!) & 0xff]! ^ (crc >>> 8);
  }
  return ~crc >>> 0;
}

const zlibCrc32 = nodeBuiltin<{ crc32?: Crc32 }>("node:zlib")?.crc32;

/** CRC-32 of `bytes`, continued from `previous` (the CRC of what came before). Returns 0 to 2^32 - 1. */
export const crc32: (bytes: Uint8Array, previous?: number) => number =
  zlibCrc32 === undefined ? crc32ByTable : (bytes, previous = 0) => zlibCrc32(bytes, previous);
