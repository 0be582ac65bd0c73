// SPDX-License-Identifier: Apache-2.0
// PGM (P2 and P5) and PPM (P3 and P6) of 8 and 16 bit, PFM (Pf): a short text header, then numbers. PFM rows run bottom-up.
import { DepthwattError } from "../../../core/index.js";
import type { FloatImage, GreyImage } from "./image.js";

const LARGEST_SIDE = 65_535;

/** Reads white-space separated header words; `#` starts a comment that ends with the line (PGM only). */
class HeaderReader {
  offset = 2;

  constructor(
    readonly bytes: Uint8Array,
    readonly name: string,
    readonly comments: boolean,
  ) {}

  word(): string {
    const { bytes } = this;
    const isSpace = (byte: number | undefined) =>
      byte !== undefined && (byte === 32 || (byte >= 9 && byte <= 13));
    for (;;) {
      while (isSpace(bytes[this.offset])) this.offset++;
      if (!this.comments || bytes[this.offset] !== 0x23) break;
      while (this.offset < bytes.length && bytes[this.offset] !== 10) this.offset++;
    }
    const start = this.offset;
    while (this.offset < bytes.length && !isSpace(bytes[this.offset])) this.offset++;
    return Buffer.from(bytes.buffer, bytes.byteOffset + start, this.offset - start).toString("latin1");
  }

  whole(what: string, smallest: number, largest: number): number {
    const text = this.word();
    const value = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= smallest && value <= largest) return value;
    throw unreadable(
      this.name,
      `expected ${what}, a whole number from ${smallest} to ${largest}, found "${text.length > 20 ? `${text.slice(0, 20)}...` : text}"`,
    );
  }
}

function unreadable(name: string, what: string): DepthwattError {
  return new DepthwattError("SOURCE_UNREADABLE", `${name}: ${what}`, { context: { file: name } });
}

/**
 * @param name what the errors call it: the file's path
 * @returns u8 where the header's maximum is below 256, else u16; values as stored, never stretched to the full range
 * @throws DepthwattError SOURCE_UNREADABLE: header not understood, fewer pixels than it promises, value above the maximum
 */
export function decodePgm(bytes: Uint8Array, name: string): GreyImage {
  return decodeNetpbm(bytes, name, 1);
}

/** Red, green and blue next to each other: `data[3 * (y * width + x)]`. Values and errors as decodePgm's. */
export function decodePpm(bytes: Uint8Array, name: string): GreyImage {
  return decodeNetpbm(bytes, name, 3);
}

function decodeNetpbm(bytes: Uint8Array, name: string, channels: 1 | 3): GreyImage {
  const header = new HeaderReader(bytes, name, true);
  const width = header.whole("a width", 1, LARGEST_SIDE);
  const height = header.whole("a height", 1, LARGEST_SIDE);
  const maximum = header.whole("a largest value", 1, 65_535);
  const samples = width * height * channels;
  const sampleBytes = maximum < 256 ? 1 : 2;
  const plain = bytes[1] === 0x32 || bytes[1] === 0x33;
  const leastBytes = plain ? samples : samples * sampleBytes;
  const start = header.offset + 1;
  if (bytes.length - start < leastBytes) {
    throw unreadable(
      name,
      `expected at least ${leastBytes} bytes for ${width}x${height} pixels, found ${Math.max(0, bytes.length - start)}`,
    );
  }
  const refuse = (value: number, at: number) =>
    unreadable(
      name,
      `expected values up to ${maximum}, its largest one, found ${value} at pixel ${Math.trunc(at / channels) + 1}`,
    );
  if (!plain && sampleBytes === 1) {
    const data = new Uint8Array(bytes.subarray(start, start + samples));
    const above = maximum === 255 ? -1 : data.findIndex((value) => value > maximum);
    if (above >= 0) throw refuse(data[above]!, above);
    return { data, width, height };
  }
  const data = sampleBytes === 1 ? new Uint8Array(samples) : new Uint16Array(samples);
  for (let i = 0; i < samples; i++) {
    // P5 samples of two bytes are big-endian.
    data[i] = plain
      ? header.whole(`value ${i + 1} of ${samples}`, 0, maximum)
      : (bytes[start + 2 * i]! << 8) | bytes[start + 2 * i + 1]!;
    if (data[i]! > maximum) throw refuse(data[i]!, i);
  }
  return { data, width, height };
}

/** Binary PGM (P5), maximum 255 or 65535. */
export function encodePgm(image: GreyImage): Uint8Array {
  const { data } = image;
  const largest = data instanceof Uint16Array ? 65_535 : 255;
  const header = Buffer.from(`P5\n${image.width} ${image.height}\n${largest}\n`, "latin1");
  if (data instanceof Uint8Array) return Buffer.concat([header, data]);
  const body = Buffer.alloc(data.length * 2);
  for (let i = 0; i < data.length; i++) body.writeUInt16BE(data[i]!, 2 * i);
  return Buffer.concat([header, body]);
}

/**
 * One-channel PFM. The sign of the header's scale is the byte order (negative = little-endian); its size is ignored, as
 * Middlebury's files require: theirs is a display hint, not a factor.
 * @throws DepthwattError SOURCE_UNREADABLE: header not understood or fewer pixels than it promises; IMAGE_UNSUPPORTED: colour
 */
export function decodePfm(bytes: Uint8Array, name: string): FloatImage {
  if (bytes[1] === 0x46) {
    throw new DepthwattError(
      "IMAGE_UNSUPPORTED",
      `${name}: expected a PFM of one channel (Pf), found colour (PF)`,
      {
        context: { file: name },
      },
    );
  }
  const header = new HeaderReader(bytes, name, false);
  const width = header.whole("a width", 1, LARGEST_SIDE);
  const height = header.whole("a height", 1, LARGEST_SIDE);
  const scaleText = header.word();
  const scale = scaleText === "" ? Number.NaN : Number(scaleText);
  if (!Number.isFinite(scale) || scale === 0) {
    throw unreadable(name, `expected a scale that is a number other than 0, found "${scaleText}"`);
  }
  const start = header.offset + 1;
  if (bytes.length - start < width * height * 4) {
    throw unreadable(
      name,
      `expected ${width * height * 4} bytes for ${width}x${height} floats, found ${Math.max(0, bytes.length - start)}`,
    );
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset + start, width * height * 4);
  const data = new Float32Array(width * height);
  for (let row = 0; row < height; row++) {
    const target = (height - 1 - row) * width;
    for (let x = 0; x < width; x++) data[target + x] = view.getFloat32((row * width + x) * 4, scale < 0);
  }
  return { data, width, height };
}

/** One-channel PFM, little-endian, scale -1. */
export function encodePfm(image: FloatImage): Uint8Array {
  const header = Buffer.from(`Pf\n${image.width} ${image.height}\n-1\n`, "latin1");
  const body = Buffer.alloc(image.data.length * 4);
  for (let row = 0; row < image.height; row++) {
    const source = (image.height - 1 - row) * image.width;
    for (let x = 0; x < image.width; x++)
      body.writeFloatLE(image.data[source + x]!, (row * image.width + x) * 4);
  }
  return Buffer.concat([header, body]);
}
