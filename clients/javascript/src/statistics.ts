// SPDX-License-Identifier: Apache-2.0
// Rate, latency and losses of a stream since its first frame, in the form of `consume --json`.
import { Histogram } from "../../../core/index.js";
import type { ReceivedFrame } from "./consumer.js";

export interface Unknown {
  available: false;
  reason: string;
}

export interface ConsumerSummary {
  frames: number;
  /** From the first frame to the last. */
  seconds: number;
  fps: number | Unknown;
  /** Percentiles of all frames, each within 0.5 %. */
  latencyMs: { p50: number; p95: number; p99: number } | Unknown;
  /** Frames that were numbered and did not come. */
  gaps: number;
  crcErrors: number;
  /** Messages on the topic that are no frame of it for another cause: another stream's, too many pixels, a broken header. */
  invalid: number;
  /** Publishers that were seen to send at once; more than 1: two share a device name. */
  publishers: number;
  /** Header and body of the frames counted. */
  bytes: number;
}

const unknown = (reason: string): Unknown => ({ available: false, reason });
const round = (value: number) => Math.round(value * 1000) / 1000;

export class StreamStatistics {
  frames = 0;
  crcErrors = 0;
  invalid = 0;
  /** Largest number of publishers that sent at the same time, if more than one did. */
  concurrentPublishers = 0;
  #gaps = 0;
  #bytes = 0;
  #firstMs = 0;
  #lastMs = 0;
  readonly #latencies = new Histogram();
  /** How far below 0 those were that this machine's clock makes negative. */
  readonly #behindMs = new Histogram();

  add(frame: ReceivedFrame, nowMs = performance.now()): void {
    if (this.frames === 0) this.#firstMs = nowMs;
    this.#lastMs = nowMs;
    this.frames++;
    this.#gaps += frame.missingBefore;
    this.#bytes += frame.messageBytes;
    if (frame.latencyMs !== undefined) {
      this.#latencies.add(frame.latencyMs);
      if (frame.latencyMs < 0) this.#behindMs.add(-frame.latencyMs);
    }
  }

  summary(): ConsumerSummary {
    const { frames, crcErrors, invalid } = this;
    const gaps = this.#gaps;
    const bytes = this.#bytes;
    const publishers = Math.max(this.concurrentPublishers, frames > 0 ? 1 : 0);
    const seconds = round((this.#lastMs - this.#firstMs) / 1000);
    const rate = (frames - 1) / ((this.#lastMs - this.#firstMs) / 1000);
    const fps = frames > 1 ? round(rate) : unknown("a rate needs two frames");
    return { frames, seconds, fps, latencyMs: this.#latency(), gaps, crcErrors, invalid, publishers, bytes };
  }

  #latency(): ConsumerSummary["latencyMs"] {
    if (this.frames === 0) return unknown("no frame came");
    const found = this.#latencies.percentiles();
    if (found === undefined)
      return unknown("the frames' capture clock has no relation to this machine's clock");
    const behind = this.#behindMs.percentiles();
    if (behind !== undefined && 2 * this.#behindMs.count >= this.#latencies.count) {
      return unknown(`this machine's clock is at least ${Math.ceil(behind.p50)} ms behind the publisher's`);
    }
    return { p50: round(found.p50), p95: round(found.p95), p99: round(found.p99) };
  }
}
