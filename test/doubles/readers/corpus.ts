// SPDX-License-Identifier: Apache-2.0
// Messages for readers in other languages, good and bad, and what depthwatt's own reader makes of each.
import { readFileSync } from "node:fs";
import { decodeBody, decodePoints, toValues } from "../../../clients/javascript/src/decode.js";
import { crc32 } from "../../../core/frame/crc32.js";
import type { FrameEnergy } from "../../../core/frame/frame-energy.js";
import { type FieldName, FRAME_FIELDS } from "../../../core/frame/frame-format.js";
import { parseFrame } from "../../../core/frame/payload.js";
import { seededRandom } from "../rvl-pictures.js";

const GOLDEN = new URL("../../golden/frames.json", import.meta.url);

export function goldenMessages(): Uint8Array[] {
  const frames = JSON.parse(readFileSync(GOLDEN, "utf8")) as { base64: string }[];
  return frames.map(({ base64 }) => new Uint8Array(Buffer.from(base64, "base64")));
}

/** Corrects the CRC and the length of the body, so that the reader must notice the other errors. */
export function reseal(message: Uint8Array): Uint8Array {
  const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
  const headerBytes = view.getUint16(6, true);
  const begin = headerBytes >= 96 && headerBytes <= message.length ? headerBytes : 96;
  view.setUint32(24, message.length - begin, true);
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

/** Values for each field, in addition to those of good frames: limits, unknown codes, numbers that are not finite. */
const HOSTILE = {
  u8: [0, 1, 2, 3, 4, 5, 6, 7, 127, 255],
  u16: [0, 1, 2, 7, 8, 16, 24, 0x7fff, 0xffff],
  u32: [0, 1, 2, 4096, 16_384, 16_385, 0x7fff_ffff, 0xffff_ffff],
  u64: [0n, 1n, (1n << 63n) - 1n, 1n << 63n, (1n << 64n) - 1n],
  i64: [0n, 1n, (1n << 63n) - 1n, -(1n << 63n), -1n],
  f64: [Number.NaN, Infinity, -Infinity, 0, -0, -1, 5e-324, 1e-45, 1e39, Number.MAX_VALUE],
} as const;
const SIDES = [1, 2, 1024, 4096, 16_384] as const;

function setField(message: Uint8Array, name: FieldName, value: number | bigint): Uint8Array {
  const [offset, , type] = FRAME_FIELDS[name];
  const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
  if (type === "u8") view.setUint8(offset, Number(value));
  else if (type === "u16") view.setUint16(offset, Number(value), true);
  else if (type === "u32") view.setUint32(offset, Number(value), true);
  else if (type === "f64") view.setFloat64(offset, Number(value), true);
  else view.setBigUint64(offset, BigInt.asUintN(64, BigInt(value)), true);
  return message;
}

/**
 * Frames of which one field, both sides, or the length is hostile, with a CRC that is right again: truncated anywhere, longer than they
 * say, of 16384 x 16384 pixels in a hundred bytes, of another version, with NaN for a scale.
 */
export function hostileMessages(): Uint8Array[] {
  return goldenMessages().flatMap((golden) => {
    const names = Object.keys(FRAME_FIELDS) as FieldName[];
    const fields = names.flatMap((name) =>
      HOSTILE[FRAME_FIELDS[name][2]].map((value) => {
        const message = setField(golden.slice(), name, value);
        return name === "bodyBytes" || name === "crc32" ? message : reseal(message);
      }),
    );
    const sizes = SIDES.flatMap((width) =>
      SIDES.map((height) => reseal(setField(setField(golden.slice(), "width", width), "height", height))),
    );
    const bodies = [0, 1, 3, 4, 8, 19, 20, 21, golden.length - 97].filter(
      (bytes) => bytes < golden.length - 96,
    );
    const cuts = [
      ...Array.from({ length: 97 }, (_, bytes) => golden.slice(0, bytes)),
      ...bodies.map((bytes) => reseal(golden.slice(0, 96 + bytes))),
      reseal(new Uint8Array([...golden, 0])),
      reseal(new Uint8Array([...golden, ...golden])),
    ];
    return [...fields, ...sizes, ...cuts];
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

/** A NaN has many forms. */
const plain = (values: Float32Array) => values.map((value) => (Number.isNaN(value) ? -1e9 : value));

const floatBits = (value: number) => new Uint32Array(Float32Array.of(value).buffer)[0];

/** " energy BITS-OF-JOULES BITS-OF-SECONDS THOUSANDTHS AGE"; -1 thousandths: the uncertainty is unknown. */
function energyFacts(energy: FrameEnergy | undefined): string {
  if (energy === undefined) return "";
  const { joules, joulesUncertainty, seconds, ageMs } = energy;
  const thousandths =
    typeof joulesUncertainty === "number" ? Math.round((1000 * joulesUncertainty) / joules) : -1;
  return ` energy ${floatBits(joules)} ${floatBits(seconds)} ${thousandths} ${ageMs}`;
}

/** "ok [energy ...] WIDTH HEIGHT NUMBER REDUCTION CRC-OF-COUNTS CRC-OF-VALUES" (points: two CRCs and their frame), or "refused"; `image`: its body is a PNG or JPEG file. */
export function verdict(message: Uint8Array): { text: string; image: boolean } {
  let image = false;
  try {
    const { header, body } = parseFrame(message);
    image = header.encoding === "png" || header.encoding === "jpeg";
    const size = `${header.width} ${header.height} ${header.frameNumber} ${header.reduction}`;
    const facts = `ok${energyFacts(header.energy)} ${size}`;
    if (header.points !== undefined) {
      const { positions, colours } = decodePoints(header, body, { maxPixels: MAX_PIXELS });
      const sums = `${crc32(new Uint8Array(plain(positions).buffer))} ${crc32(colours)}`;
      return { text: `${facts} ${sums} ${header.points.frame}`, image };
    }
    const counts = decodeBody(header, body, { maxPixels: MAX_PIXELS });
    const values = plain(toValues(header, counts));
    const sums = [counts, values].map(({ buffer }) => crc32(new Uint8Array(buffer))).join(" ");
    return { text: `${facts} ${sums}`, image };
  } catch {
    return { text: "refused", image };
  }
}
