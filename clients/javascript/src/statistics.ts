// SPDX-License-Identifier: Apache-2.0
// Rate, latency and losses of a stream since its first frame, in the form of `consume --json`.
import type { FrameEnergy } from "../../../core/frame/frame-energy.js";
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
  /** Sums of the intervals that the frames carried. */
  energy: ConsumedEnergy | Unknown;
}

export interface ConsumedEnergy {
  /** Frames that carried energy. */
  frames: number;
  joules: number;
  seconds: number;
  joulesPerFrame: number;
  /** Expanded uncertainty (k = 2) of one frame's joules, the mean of the frames. */
  joulesUncertainty: number | Unknown;
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
  readonly #energy = { frames: 0, joules: 0, seconds: 0, uncertainty: 0 };
  readonly #latencies = new Histogram();
  /** How far below 0 those were that this machine's clock makes negative. */
  readonly #behindMs = new Histogram();

  add(frame: ReceivedFrame, nowMs = performance.now()): void {
    if (this.frames === 0) this.#firstMs = nowMs;
    this.#lastMs = nowMs;
    this.frames++;
    this.#gaps += frame.missingBefore;
    this.#bytes += frame.messageBytes;
    this.#addEnergy(frame.header.energy);
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
    return {
      frames,
      seconds,
      fps,
      latencyMs: this.#latency(),
      gaps,
      crcErrors,
      invalid,
      publishers,
      bytes,
      energy: this.#energySummary(),
    };
  }

  #addEnergy(energy: FrameEnergy | undefined): void {
    if (energy === undefined) return;
    const { joules, joulesUncertainty, seconds } = energy;
    this.#energy.frames++;
    this.#energy.joules += joules;
    this.#energy.seconds += seconds;
    this.#energy.uncertainty += typeof joulesUncertainty === "number" ? joulesUncertainty : Number.NaN;
  }

  #energySummary(): ConsumerSummary["energy"] {
    const { frames, joules, seconds, uncertainty } = this.#energy;
    if (frames === 0) {
      return unknown(
        this.frames === 0 ? "no frame came" : "no frame carried energy: the publisher's metrics say why",
      );
    }
    return {
      frames,
      joules: Number(joules.toPrecision(6)),
      seconds: round(seconds),
      joulesPerFrame: Number((joules / frames).toPrecision(6)),
      joulesUncertainty: Number.isNaN(uncertainty)
        ? unknown("the step of the publisher's sensor is unknown")
        : Number((uncertainty / frames).toPrecision(3)),
    };
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
