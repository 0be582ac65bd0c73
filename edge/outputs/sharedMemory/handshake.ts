// SPDX-License-Identifier: Apache-2.0
// The messages before frames are shared: a reader sends 8 bytes that name a stream, and the publisher replies.
import { STREAM_CODES, type StreamName } from "../../../core/frame/frame-format.js";

export const REQUEST_BYTES = 8;
const REPLY_BYTES = 16;
const MAGIC = Buffer.from("DWSM");
const VERSION = 1;
const STREAMS = Object.entries(STREAM_CODES) as [StreamName, number][];

/** Returns the stream that a request of REQUEST_BYTES names, or a reason for its refusal. */
export function parseRequest(request: Buffer): { stream: StreamName } | { refusal: string } {
  if (!request.subarray(0, 4).equals(MAGIC)) return { refusal: "expected a request that begins with DWSM" };
  const version = request.readUInt16LE(4);
  if (version !== VERSION) return { refusal: `expected version ${VERSION}, found ${version}` };
  const code = request.readUInt8(6);
  const found = STREAMS.find(([, known]) => known === code);
  if (found === undefined) return { refusal: `expected a stream from 1 to ${STREAMS.length}, found ${code}` };
  if (request.readUInt8(7) !== 0)
    return { refusal: `expected 0 in the last byte, found ${request.readUInt8(7)}` };
  return { stream: found[0] };
}

/** @param refusal why no memory comes with the reply; "": it does */
export function writeReply(refusal: string): Buffer {
  const reply = Buffer.alloc(REPLY_BYTES);
  MAGIC.copy(reply);
  reply.writeUInt16LE(VERSION, 4);
  reply.writeUInt16LE(refusal === "" ? 0 : 1, 6);
  return Buffer.concat([reply, Buffer.from(refusal)]);
}
