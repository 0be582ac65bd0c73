// SPDX-License-Identifier: Apache-2.0
// Frames as the engine hands them over: headroom, then the body, in one buffer; and small helpers for waiting.
import { FRAME_HEADROOM_BYTES } from "../../core/frame/frame-format.js";
import type { FrameDescription } from "../../core/frame/payload.js";
import { encodeRvl, rvlMaxBytes } from "../../core/frame/rvl.js";
import { seededRandom } from "./rvl-pictures.js";

export interface TestFrame {
  buffer: Uint8Array;
  bodyBytes: number;
  pixels: Uint16Array;
  frame: FrameDescription;
}

/** Creates a depth image with a slope, a hole and noise of `seed`; default encoding rvl. */
export function makeFrame(
  seed: number,
  changes: Partial<FrameDescription> = {},
  [width, height] = [64, 48],
): TestFrame {
  const random = seededRandom(seed);
  const pixels = new Uint16Array(width * height);
  for (let i = 0; i < pixels.length; i++)
    pixels[i] = i % 37 === 0 ? 0 : 1000 + (i % width) * 3 + Math.floor(random() * 8);
  const encoding = changes.encoding ?? "rvl";
  const buffer = new Uint8Array(FRAME_HEADROOM_BYTES + rvlMaxBytes(pixels.length));
  let bodyBytes = pixels.byteLength;
  if (encoding === "raw") buffer.set(new Uint8Array(pixels.buffer), FRAME_HEADROOM_BYTES);
  else bodyBytes = encodeRvl(pixels, buffer, FRAME_HEADROOM_BYTES);
  const frame: FrameDescription = {
    stream: "depth",
    encoding,
    element: "u16",
    width,
    height,
    leftTimestampNs: 1_000_000_000n + BigInt(seed),
    rightTimestampNs: 1_000_000_100n + BigInt(seed),
    clock: "monotonic",
    realtimeOffsetNs: 1_700_000_000_000_000_000n,
    leftSequence: seed,
    rightSequence: seed + 1,
    ...changes,
  };
  return { buffer, bodyBytes, pixels, frame };
}

export const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Waits until `condition` holds; fails with `what` after `timeoutMs`. */
export async function until(what: string, condition: () => boolean, timeoutMs = 10_000): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`waited ${timeoutMs} ms in vain until ${what}`);
    await sleep(10);
  }
}
