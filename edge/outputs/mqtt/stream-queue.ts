// SPDX-License-Identifier: Apache-2.0
// One stream's way to the socket: at most one frame being sent and the newest one waiting. Counts what became of each.
import { STREAM_CODES, type StreamName } from "../../../core/frame/frame-format.js";
import { bytesBeforeBody, type FrameDescription } from "../../../core/frame/payload.js";
import type { PublishDropCause, PublisherCounters, StreamCounters } from "./publisher-types.js";

export interface PendingFrame {
  buffer: Uint8Array;
  bodyOffset: number;
  bodyBytes: number;
  frame: FrameDescription;
  frameNumber: number;
  release: (sent: boolean) => void;
}

export class StreamQueue {
  readonly counters: StreamCounters = { published: 0, bytes: 0, drops: {} };
  /** False until the first frame: a stream that is switched off does not appear in the counters. */
  used = false;
  sending: PendingFrame | undefined;
  waiting: PendingFrame | undefined;
  #offered = 0;
  #newest: number | undefined;

  nextFrameNumber(): number {
    this.used = true;
    const number = this.#offered;
    this.#offered = (this.#offered + 1) >>> 0;
    return number;
  }

  /**
   * Returns whether no newer frame came before this one; it is then the newest. An image that takes long to encode is
   * overtaken when the encoding changes meanwhile.
   */
  comesInOrder({ frameNumber }: PendingFrame): boolean {
    // Modulo 2^32: a step of more than half the range is a step back.
    const step = this.#newest === undefined ? 1 : (frameNumber - this.#newest) >>> 0;
    if (step === 0 || step > 2 ** 31) return false;
    this.#newest = frameNumber;
    return true;
  }

  drop(pending: PendingFrame, cause: PublishDropCause): void {
    this.counters.drops[cause] = (this.counters.drops[cause] ?? 0) + 1;
    pending.release(false);
  }

  /** The newest frame wins: what waited before is dropped. */
  replaceWaiting(pending: PendingFrame): void {
    const older = this.waiting;
    this.waiting = pending;
    if (older !== undefined) this.drop(older, "backpressure");
  }

  dropWaiting(cause: PublishDropCause): void {
    const pending = this.waiting;
    this.waiting = undefined;
    if (pending !== undefined) this.drop(pending, cause);
  }

  /**
   * Settles the frame being sent, once: `pending` distinguishes a late callback of an older socket from the present
   * one.
   */
  settle(pending: PendingFrame, sentBytes: number | undefined): void {
    if (this.sending !== pending) return;
    this.sending = undefined;
    if (sentBytes === undefined) {
      this.drop(pending, "lost");
      return;
    }
    this.counters.published++;
    this.counters.bytes += sentBytes;
    pending.release(true);
  }
}

/** Size of the message, header and body. */
export function messageBytes(pending: PendingFrame): number {
  return bytesBeforeBody(pending.frame) + pending.bodyBytes;
}

export type StreamQueues = Readonly<Record<StreamName, StreamQueue>>;

export function makeStreamQueues(): StreamQueues {
  return Object.fromEntries(
    Object.keys(STREAM_CODES).map((stream) => [stream, new StreamQueue()]),
  ) as StreamQueues;
}

/** A snapshot: the sums, and each stream that has had a frame. */
export function sumStreamQueues(queues: StreamQueues): StreamCounters & Pick<PublisherCounters, "streams"> {
  const total = { published: 0, bytes: 0, drops: {} as StreamCounters["drops"] };
  const streams: PublisherCounters["streams"] = {};
  for (const [stream, { counters, used }] of Object.entries(queues) as [StreamName, StreamQueue][]) {
    if (!used) continue;
    const { published, bytes, drops } = counters;
    streams[stream] = { published, bytes, drops: { ...drops } };
    total.published += published;
    total.bytes += bytes;
    for (const [cause, count] of Object.entries(drops) as [PublishDropCause, number][]) {
      total.drops[cause] = (total.drops[cause] ?? 0) + count;
    }
  }
  return { ...total, streams };
}
