// SPDX-License-Identifier: Apache-2.0
// Replaces defective pixels of a camera's image in place: each by its nearest working neighbour of the same colour.
import { readFileSync } from "node:fs";
import { z } from "zod";
import { DepthwattError } from "../../core/index.js";
import type { PixelFormat, RawImage } from "../frame.js";
import { sampleLayout } from "./sample-layout.js";

/** A pixel of the captured image: x, then y. */
export type Position = readonly [x: number, y: number];

/** Defective pixels of both captured images. */
export interface DefectivePixels {
  left: readonly Position[];
  right: readonly Position[];
}

type ImageRows = Pick<RawImage, "width" | "height" | "strideBytes" | "format">;

/** More defects than this are a broken sensor, and a mistake of the detector. */
export const MAX_DEFECTS = 4096;

const positions = z.array(z.tuple([z.int().min(0), z.int().min(0)])).max(MAX_DEFECTS);
const schema = z.strictObject({ left: positions, right: positions });

/** @throws DepthwattError CONFIG_INVALID unless the file is {"left": [[x, y], ...], "right": [...]} */
export function parseDefects(text: string, file: string): DefectivePixels {
  const refuse = (found: string, cause?: unknown) =>
    new DepthwattError(
      "CONFIG_INVALID",
      `${file}: expected {"left": [[x, y], ...], "right": [...]} with at most ${MAX_DEFECTS} pixels each, got ${found}.`,
      { hint: "'depthwatt capture --find-defects FILE' writes such a file.", cause },
    );
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw refuse("no JSON", cause);
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const { path, message } = parsed.error.issues[0]!;
  throw refuse(`a mistake at ${path.join(".") || "the top"} (${message})`, parsed.error);
}

/** @throws DepthwattError CONFIG_INVALID, also if the file cannot be read or has a pixel outside the image */
export function readDefects(file: string, size: { width: number; height: number }): DefectivePixels {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (cause) {
    throw new DepthwattError("CONFIG_INVALID", `${file}: ${(cause as Error).message}`, { cause });
  }
  const defects = parseDefects(text, file);
  const outside = [...defects.left, ...defects.right].find(([x, y]) => x >= size.width || y >= size.height);
  if (outside === undefined) return defects;
  throw new DepthwattError(
    "CONFIG_INVALID",
    `${file}: expected pixels of one image of ${size.width}x${size.height}, got (${outside.join(", ")}).`,
    { hint: "Find the defects at the size that is captured." },
  );
}

/** Distance of neighbours with the same colour. */
export const neighbourDistance = (format: PixelFormat): number => (format.startsWith("BAYER_") ? 2 : 1);

/** Returns the nearest working neighbour in the row or, if there is none, in the column. */
function replacement([x, y]: Position, layout: ImageRows, bad: ReadonlySet<number>) {
  const { width, height, format } = layout;
  const step = neighbourDistance(format);
  for (const [dx, dy] of [
    [step, 0],
    [0, step],
  ] as const) {
    for (let far = 1; far * step < Math.max(width, height); far++) {
      for (const sign of [-far, far]) {
        const [column, row] = [x + sign * dx, y + sign * dy];
        const inside = column >= 0 && column < width && row >= 0 && row < height;
        if (inside && !bad.has(row * width + column)) return [column, row] as const;
      }
    }
  }
  return undefined;
}

/** Repairs the images of one side. */
export class DefectRepair {
  /** Bytes of the image: to, from, and the bits of the target that are kept. */
  readonly #moves: Int32Array;

  /** @param pixels inside the image */
  constructor(pixels: readonly Position[], layout: ImageRows) {
    const { width, strideBytes, format } = layout;
    const bad = new Set(pixels.map(([x, y]) => y * width + x));
    const moves: number[] = [];
    for (const pixel of pixels) {
      const [x, y] = pixel;
      const from = replacement(pixel, layout, bad);
      if (from === undefined) continue;
      for (const { byte, kept } of sampleBytes(format)) {
        const place = (column: number, row: number) => row * strideBytes + byteOf(format, column) + byte;
        moves.push(place(x, y), place(...from), kept);
      }
    }
    this.#moves = Int32Array.from(moves);
  }

  /** @param data the image's bytes, from its first pixel on */
  apply(data: Uint8Array): void {
    const moves = this.#moves;
    for (let i = 0; i < moves.length; i += 3) {
      const [to, kept] = [moves[i]!, moves[i + 2]!];
      data[to] = (data[to]! & kept) | (data[moves[i + 1]!]! & ~kept);
    }
  }
}

/** Returns the first byte of a column's sample, from the row's start. */
function byteOf(format: PixelFormat, x: number): number {
  const { bytes, groupLog2 } = sampleLayout(format);
  return x * bytes + (x >> groupLog2);
}

/** Returns the bytes of a sample and the bits in them that belong to another image. Colours of YUYV and NV12 stay. */
function sampleBytes(format: PixelFormat): { byte: number; kept: number }[] {
  const whole = (...bytes: number[]) => bytes.map((byte) => ({ byte, kept: 0 }));
  if (format === "RGB8") return whole(0, 1, 2);
  if (format === "Y12I_LEFT") return [...whole(0), { byte: 1, kept: 0xf0 }];
  if (format === "Y12I_RIGHT") return [...whole(2), { byte: 1, kept: 0x0f }];
  const { offset, shift } = sampleLayout(format);
  return shift === 0 ? whole(offset) : whole(0, 1);
}
