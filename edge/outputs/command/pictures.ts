// SPDX-License-Identifier: Apache-2.0
// Writes a picture of a frame as bytes of a stream: raw pixels, or YUV4MPEG2 with a header.
import { colourDisparity } from "../../../camera/index.js";
import type { ComputedFrame } from "../../contracts/computed-frame.js";
import type { CommandOutputSettings } from "./settings.js";

const INVALID_DISPARITY_Q4 = -32_768;
const FRAME_LINE = Buffer.from("FRAME\n");
/** Where the source has no rate, y4m needs one. */
const DEFAULT_RATE_HZ = 30;
const Y4M_COLOURS = { left: "mono", depth: "mono16", colours: "444" };
const PIXEL_BYTES = { left: 1, depth: 2, colours: 3 };

export interface PictureOptions extends Pick<CommandOutputSettings, "picture" | "format"> {
  rateHz: number | undefined;
  /** Disparities shown as the first and the last colour, pixels. */
  searched(): { min: number; max: number };
}

/** Returns the first line of a stream, or nothing. */
export function streamHeader(
  { picture, format, rateHz }: PictureOptions,
  width: number,
  height: number,
): Buffer {
  if (format === "raw") return Buffer.alloc(0);
  const rate = Math.round(1000 * (rateHz ?? DEFAULT_RATE_HZ));
  return Buffer.from(`YUV4MPEG2 W${width} H${height} F${rate}:1000 Ip A1:1 C${Y4M_COLOURS[picture]}\n`);
}

/** Writes pictures into memory that is used again. */
export class PictureWriter {
  readonly #options: PictureOptions;
  #bytes = Buffer.alloc(0);
  #table: ColourTable | undefined;

  constructor(options: PictureOptions) {
    this.#options = options;
  }

  /** Returns the frame's bytes; the next call overwrites them. */
  write(frame: ComputedFrame): Buffer {
    const { picture, format } = this.#options;
    const { slot, width, height } = frame;
    const line = format === "y4m" ? FRAME_LINE.length : 0;
    const bytes = line + width * height * PIXEL_BYTES[picture];
    if (this.#bytes.length !== bytes) this.#bytes = Buffer.concat([FRAME_LINE.subarray(0, line)], bytes);
    const pixels = this.#bytes.subarray(line);
    if (picture === "left") pixels.set(slot.left);
    else if (picture === "depth") pixels.set(bytesOf(slot.depthMillimetres));
    else this.#writeColours(slot.disparityQ4, pixels);
    return this.#bytes;
  }

  #writeColours(disparityQ4: Int16Array, pixels: Uint8Array): void {
    const { min, max } = this.#options.searched();
    const isPlanar = this.#options.format === "y4m";
    if (this.#table?.min !== min || this.#table.max !== max) this.#table = makeTable(min, max, isPlanar);
    const { colours, invalid } = this.#table;
    const [step, plane] = isPlanar ? [1, disparityQ4.length] : [3, 1];
    const first = 16 * min;
    const last = colours.length / 3 - 1;
    for (let i = 0, to = 0; i < disparityQ4.length; i++, to += step) {
      const value = disparityQ4[i]!;
      const isValid = value !== INVALID_DISPARITY_Q4;
      const from = isValid ? colours : invalid;
      const at = isValid ? 3 * Math.max(0, Math.min(last, value - first)) : 0;
      pixels[to] = from[at]!;
      pixels[to + plane] = from[at + 1]!;
      pixels[to + 2 * plane] = from[at + 2]!;
    }
  }
}

interface ColourTable {
  min: number;
  max: number;
  /** Three bytes for each sixteenth of a pixel: red, green, blue, or Y, Cb, Cr. */
  colours: Uint8Array;
  invalid: Uint8Array;
}

function makeTable(min: number, max: number, isYuv: boolean): ColourTable {
  const data = Float32Array.from({ length: 16 * (max - min) + 1 }, (_, i) => min + i / 16);
  const rgb = colourDisparity({ data, width: data.length, height: 1 }, { min, max }).data;
  const black = new Uint8Array(3);
  return { min, max, colours: isYuv ? yuvFrom(rgb) : rgb, invalid: isYuv ? yuvFrom(black) : black };
}

/** ITU-R BT.601 with 16 to 235 for black to white, the default of programs that read y4m. */
function yuvFrom(rgb: Uint8Array): Uint8Array {
  const yuv = new Uint8Array(rgb.length);
  for (let i = 0; i < rgb.length; i += 3) {
    const [red, green, blue] = [rgb[i]! / 255, rgb[i + 1]! / 255, rgb[i + 2]! / 255];
    yuv[i] = Math.round(16 + 65.481 * red + 128.553 * green + 24.966 * blue);
    yuv[i + 1] = Math.round(128 - 37.797 * red - 74.203 * green + 112 * blue);
    yuv[i + 2] = Math.round(128 + 112 * red - 93.786 * green - 18.214 * blue);
  }
  return yuv;
}

const bytesOf = (view: Uint16Array) => new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
