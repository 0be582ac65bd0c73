// SPDX-License-Identifier: Apache-2.0
// Messages for readers in other languages, good and bad, and what depthwatt's own reader makes of each.
import { readFileSync } from "node:fs";
import { decodeBody, decodePoints } from "../../../clients/javascript/src/decode.js";
import { crc32 } from "../../../core/frame/crc32.js";
import { parseFrame } from "../../../core/frame/payload.js";
import { seededRandom } from "../rvl-pictures.js";

const GOLDEN = new URL("../../golden/frames.json", import.meta.url);

export function goldenMessages(): Uint8Array[] {
  const frames = JSON.parse(readFileSync(GOLDEN, "utf8")) as { base64: string }[];
  return frames.map(({ base64 }) => new Uint8Array(Buffer.from(base64, "base64")));
}

/** The CRC and the length of the body made right, so that what is wrong must be noticed by itself. */
export function reseal(message: Uint8Array): Uint8Array {
  const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
  view.setUint32(24, message.length - 96, true);
  view.setUint32(92, crc32(message.subarray(96), crc32(message.subarray(0, 92))), true);
  return message;
}

/** Frames with bytes changed in header or body, cut off, made longer, or with a body of chance; four of five resealed. */
export function fuzzedMessages(count: number, seed: number): Uint8Array[] {
  const random = seededRandom(seed);
  const below = (end: number) => Math.floor(random() * end);
  const golden = goldenMessages();
  return Array.from({ length: count }, () => {
    const base = golden[below(golden.length)]!;
    const kind = below(5);
    let message = base.slice();
    if (kind === 0) message = base.slice(0, below(base.length + 1));
    else if (kind === 1) {
      const body = Uint8Array.from({ length: below(60) }, () => below(256) & (random() < 0.5 ? 0x33 : 0xff));
      message = new Uint8Array([...base.subarray(0, 96), ...body]);
    } else if (kind === 2) message[below(96)] = below(256);
    else
      for (let changes = 1 + below(3); changes > 0; changes--)
        message[96 + below(Math.max(1, message.length - 96))] = below(256);
    return message.length >= 96 && random() < 0.8 ? reseal(message) : message;
  });
}

/** [u32 length][bytes] ..., as read_frames reads them. */
export function joined(messages: readonly Uint8Array[]): Buffer {
  return Buffer.concat(
    messages.flatMap((message) => {
      const length = Buffer.alloc(4);
      length.writeUInt32LE(message.length);
      return [length, message];
    }),
  );
}

const MAX_PIXELS = 1 << 20;

/** "ok WIDTH HEIGHT NUMBER REDUCTION CRC-OF-COUNTS" (points: two CRCs and their frame), or "refused"; `image`: its body is a PNG or JPEG file. */
export function verdict(message: Uint8Array): { text: string; image: boolean } {
  let image = false;
  try {
    const { header, body } = parseFrame(message);
    image = header.encoding === "png" || header.encoding === "jpeg";
    const facts = `ok ${header.width} ${header.height} ${header.frameNumber} ${header.reduction}`;
    if (header.points !== undefined) {
      const { positions, colours } = decodePoints(header, body, { maxPixels: MAX_PIXELS });
      // A NaN has many forms.
      const places = positions.map((place) => (Number.isNaN(place) ? -1e9 : place));
      const sums = `${crc32(new Uint8Array(places.buffer))} ${crc32(colours)}`;
      return { text: `${facts} ${sums} ${header.points.frame}`, image };
    }
    const counts = decodeBody(header, body, { maxPixels: MAX_PIXELS });
    return { text: `${facts} ${crc32(new Uint8Array(counts.buffer))}`, image };
  } catch {
    return { text: "refused", image };
  }
}
