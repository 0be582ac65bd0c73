// SPDX-License-Identifier: Apache-2.0
// Rate, latency and losses of a stream since its first frame, in the form of `consume --json`.
import type { ReceivedFrame } from "./consumer.js";

/** Newest latencies kept: enough for a 99th percentile, and a bound on memory. */
const KEPT_LATENCIES = 4096;

export interface Unknown {
  available: false;
  reason: string;
}

export interface ConsumerSummary {
  frames: number;
  /** From the first frame to the last. */
  seconds: number;
  fps: number | Unknown;
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
  /** Most publishers that sent at once, where that was more than one. */
  rivals = 0;
  private gaps = 0;
  private bytes = 0;
  private firstMs = 0;
  private lastMs = 0;
  private readonly latencies = new Float64Array(KEPT_LATENCIES);
  private latencyCount = 0;

  add(frame: ReceivedFrame, nowMs = performance.now()): void {
    if (this.frames === 0) this.firstMs = nowMs;
    this.lastMs = nowMs;
    this.frames++;
    this.gaps += frame.missingBefore;
    this.bytes += frame.messageBytes;
    if (frame.latencyMs !== undefined) {
      this.latencies[this.latencyCount % KEPT_LATENCIES] = frame.latencyMs;
      this.latencyCount++;
    }
  }

  summary(): ConsumerSummary {
    const { frames, gaps, crcErrors, invalid, bytes } = this;
    const publishers = Math.max(this.rivals, frames > 0 ? 1 : 0);
    const seconds = round((this.lastMs - this.firstMs) / 1000);
    const rate = (frames - 1) / ((this.lastMs - this.firstMs) / 1000);
    const fps = frames > 1 ? round(rate) : unknown("a rate needs two frames");
    return { frames, seconds, fps, latencyMs: this.latency(), gaps, crcErrors, invalid, publishers, bytes };
  }

  private latency(): ConsumerSummary["latencyMs"] {
    const count = Math.min(this.latencyCount, KEPT_LATENCIES);
    if (this.frames === 0) return unknown("no frame came");
    if (count === 0) return unknown("the frames' capture clock has no relation to this machine's clock");
    const sorted = this.latencies.slice(0, count).sort();
    const at = (share: number) => round(sorted[Math.min(count - 1, Math.floor(share * count))]!);
    if (at(0.5) < 0) {
      return unknown(`this machine's clock is at least ${Math.ceil(-at(0.5))} ms behind the publisher's`);
    }
    return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
  }
}
