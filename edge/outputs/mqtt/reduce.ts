// SPDX-License-Identifier: Apache-2.0
// Reduces pictures that are too large for a message: sends one pixel of each square of pixels, of squares as large as it takes.
// A mean of several pixels would be a depth between two surfaces, where nothing is.
import {
  bytesOfPoint,
  type Encoding,
  type Reduction,
  type StreamName,
} from "../../../core/frame/frame-format.js";
import type { FrameDescription } from "../../../core/frame/payload.js";
import { encodeRvl, rvlMaxBytes } from "../../../core/frame/rvl.js";
import { ENCODED_HEADROOM_BYTES } from "../../../cuda/index.js";
import type { ComputedFrame } from "../../contracts/computed-frame.js";

/** Subsampling factors that are tried, in this order, if the whole image does not fit. */
export const REDUCTIONS: readonly Reduction[] = [2, 4];

type Pixels = Uint8Array | Uint16Array | Int16Array;

/** A stream as it is in the slot, and how many of its elements are a pixel. */
function reductionSource(
  { stream, element, points }: FrameDescription,
  { slot }: ComputedFrame,
): { source: Pixels; perPixel: number } {
  switch (stream) {
    case "depth":
      return { source: slot.depthMillimetres, perPixel: 1 };
    case "disparity":
      return { source: slot.disparityQ4, perPixel: 1 };
    case "confidence":
      return { source: slot.confidence, perPixel: 1 };
    case "left":
      return element === "rgb8" ? { source: slot.leftRgb, perPixel: 3 } : { source: slot.left, perPixel: 1 };
    case "right":
      return { source: slot.right, perPixel: 1 };
    case "registered":
      return { source: slot.registered, perPixel: 1 };
    case "registeredConfidence":
      return { source: slot.registeredConfidence, perPixel: 1 };
    case "points":
      return { source: slot.points, perPixel: bytesOfPoint(element, points!.colour) };
  }
}

/** As disparity travels: disparityQ4 + 1, and 0 where it is invalid. */
export function countOfDisparity(disparityQ4: number): number {
  return disparityQ4 === -32_768 ? 0 : disparityQ4 + 1;
}

function take(
  source: Pixels,
  perPixel: number,
  size: { width: number; height: number },
  reduction: number,
  target: Pixels,
): void {
  let at = 0;
  for (let y = 0; y < size.height; y += reduction)
    for (let x = 0; x < size.width; x += reduction) {
      const from = (y * size.width + x) * perPixel;
      for (let element = 0; element < perPixel; element++) target[at++] = source[from + element]!;
    }
}

export interface Reduced {
  /** Headroom, then the body. */
  buffer: Uint8Array;
  bodyBytes: number;
  description: FrameDescription;
}

export function reducedSize(
  { width, height }: { width: number; height: number },
  reduction: Reduction,
): { width: number; height: number } {
  return { width: Math.ceil(width / reduction), height: Math.ceil(height / reduction) };
}

/** Returns the subsampled pixels of a stream, in new memory. */
export function reducedPixels(
  description: FrameDescription,
  frame: ComputedFrame,
  reduction: Reduction,
): Uint8Array | Uint16Array {
  const { source, perPixel } = reductionSource(description, frame);
  const { width, height } = reducedSize(frame, reduction);
  const elements = width * height * perPixel;
  const target = source instanceof Uint8Array ? new Uint8Array(elements) : new Uint16Array(elements);
  fill(description, frame, reduction, target);
  return target;
}

function fill(
  description: FrameDescription,
  frame: ComputedFrame,
  reduction: Reduction,
  target: Uint8Array | Uint16Array,
): void {
  const { source, perPixel } = reductionSource(description, frame);
  if (description.stream !== "disparity") {
    take(source, perPixel, frame, reduction, target);
    return;
  }
  const signed = new Int16Array(target.buffer, target.byteOffset, target.length);
  take(source, perPixel, frame, reduction, signed);
  for (let i = 0; i < target.length; i++) target[i] = countOfDisparity(signed[i]!);
}

/** Makes reduced bodies in buffers that are used again. */
export class Reducer {
  readonly #spare: Uint8Array[] = [];
  #scratch = new Uint16Array(0);

  constructor(readonly encoding: Exclude<Encoding, "png" | "jpeg">) {}

  make(whole: FrameDescription, frame: ComputedFrame, reduction: Reduction): Reduced {
    const size = reducedSize(frame, reduction);
    const description = { ...whole, ...size, reduction };
    const { source, perPixel } = reductionSource(whole, frame);
    const elements = size.width * size.height * perPixel;
    const rawBytes = elements * source.BYTES_PER_ELEMENT;
    const packed = this.encoding !== "raw";
    const buffer = this.#buffer(ENCODED_HEADROOM_BYTES + (packed ? rvlMaxBytes(elements) : rawBytes));
    if (!packed) {
      const [start, words] = [buffer.byteOffset + ENCODED_HEADROOM_BYTES, source.BYTES_PER_ELEMENT === 2];
      const target = words
        ? new Uint16Array(buffer.buffer, start, elements)
        : new Uint8Array(buffer.buffer, start, elements);
      fill(whole, frame, reduction, target);
      return { buffer, bodyBytes: rawBytes, description };
    }
    if (this.#scratch.length < elements) this.#scratch = new Uint16Array(elements);
    const counts = this.#scratch.subarray(0, elements);
    fill(whole, frame, reduction, counts);
    return { buffer, bodyBytes: encodeRvl(counts, buffer, ENCODED_HEADROOM_BYTES), description };
  }

  #buffer(bytes: number): Uint8Array {
    const spare = this.#spare.pop();
    return spare !== undefined && spare.length >= bytes ? spare : new Uint8Array(bytes);
  }

  giveBack(buffer: Uint8Array): void {
    this.#spare.push(buffer);
  }
}

/** Streams and how many of their frames were sent smaller, by reduction. */
export type ReducedCounts = Partial<Record<StreamName, Partial<Record<Reduction, number>>>>;
