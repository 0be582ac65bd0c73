// SPDX-License-Identifier: Apache-2.0
// What tests of capture share: images with a counter in them, a source that records what it delivers, waiting.
import { loadNative } from "../../../edge/native.js";
import type { FramePair, SourceEvents } from "../../../camera/index.js";
import type { FakeVideo } from "./fake-video.js";

export const native = loadNative();
export const video = native.video;
export const clocks = () => native.clocks();

export const now = () => native.clocks().monotonicNs;

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

export const counterOf = (data: Uint8Array) => data[0]! | (data[1]! << 8);

export interface Seen {
  left: number;
  right: number;
  leftNs: bigint;
  rightNs: bigint;
  leftSequence: number;
}

/** Records pairs and gives each back at once, or keeps it where asked to. */
export function recording(keep = false) {
  const seen: Seen[] = [];
  const held: FramePair[] = [];
  const degraded: (string | undefined)[] = [];
  const warnings: string[] = [];
  const errors: Error[] = [];
  const events: SourceEvents = {
    onPair(pair) {
      seen.push({
        left: counterOf(pair.left.data),
        right: counterOf(pair.right.data),
        leftNs: pair.left.timestampNs,
        rightNs: pair.right.timestampNs,
        leftSequence: pair.left.sequence,
      });
      if (keep) held.push(pair);
      else pair.release();
    },
    onDegraded: (reason) => degraded.push(reason),
    onWarning: (message) => warnings.push(message),
    onEnd: () => {},
    onError: (error) => errors.push(error),
  };
  return { seen, held, degraded, warnings, errors, events };
}

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
