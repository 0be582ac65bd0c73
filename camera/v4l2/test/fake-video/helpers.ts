// SPDX-License-Identifier: Apache-2.0
// Helpers of the capture tests: the addon, waiting, images that contain a counter.
import { loadAddon } from "../../src/addon.js";
import type { FakeVideo } from "./fake-video.js";

export const video = loadAddon();
export const clocks = () => video.clocks();
export const now = () => video.clocks().monotonicNs;

export async function until(condition: () => boolean, what: string, limitMs = 20_000): Promise<void> {
  const end = performance.now() + limitMs;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`not within ${limitMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

export const rest = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** An image whose first two bytes are a counter. */
export function counted(count: number, bytes = 64 * 48): Uint8Array {
  const data = new Uint8Array(bytes).fill(count & 0x7f);
  data[0] = count & 0xff;
  data[1] = (count >> 8) & 0xff;
  return data;
}

export const readCounter = (data: Uint8Array) => data[0]! | (data[1]! << 8);

/** Delivers image after image to one camera at real time. @returns how to stop */
export function play(fake: FakeVideo, path: string, periodMs = 10, offsetMs = 0) {
  let sequence = 0;
  const timer = setInterval(() => {
    fake.deliver(path, {
      timestampNs: now() + BigInt(Math.round(offsetMs * 1e6)),
      sequence,
      bytes: counted(sequence),
    });
    sequence++;
  }, periodMs);
  return () => clearInterval(timer);
}
