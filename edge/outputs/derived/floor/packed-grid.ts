// SPDX-License-Identifier: Apache-2.0
// The grid as bytes: a header of 32 and two bits a cell (docs/guides/derived.md).
import { CLOCK_CODES, type FrameClock } from "../../../../core/frame/frame-format.js";

const MAGIC = 0x52475744; // "DWGR"
const VERSION = 1;
const HEADER_BYTES = 32;

export interface GridHead {
  clock: FrameClock;
  leftTimestampNs: bigint;
  cellMetres: number;
}

/** @param cells [ahead][left] 0 unknown, 1 free, 2 occupied, 3 drop-off; the nearest and the farthest right first */
export function packGrid(head: GridHead, cells: Uint8Array, side: number): Uint8Array {
  const bytes = new Uint8Array(HEADER_BYTES + Math.ceil(cells.length / 4));
  const view = new DataView(bytes.buffer);
  view.setUint32(0, MAGIC, true);
  view.setUint8(4, VERSION);
  view.setUint8(5, CLOCK_CODES[head.clock]);
  view.setUint16(6, HEADER_BYTES, true);
  view.setBigUint64(8, head.leftTimestampNs, true);
  view.setUint16(16, side, true);
  view.setUint16(18, side, true);
  view.setFloat32(20, head.cellMetres, true);
  for (const [at, cell] of cells.entries()) bytes[HEADER_BYTES + (at >> 2)]! |= cell << (2 * (at & 3));
  return bytes;
}
