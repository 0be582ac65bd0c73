// SPDX-License-Identifier: Apache-2.0
// Percentiles over the newest values, and counts by cause: fixed memory, nothing allocated per frame.
import { Histogram, type Percentiles } from "../../core/index.js";
import { BucketCounts, type BucketCountsSnapshot, TIME_BUCKETS } from "./bucket-counts.js";

export type { Percentiles };

const RECENT_VALUES = 1024;

/** Keeps the newest `capacity` values. */
export class RecentValues {
  readonly #values: Float64Array;
  readonly #sorted: Float64Array;
  #count = 0;

  constructor(capacity = RECENT_VALUES) {
    this.#values = new Float64Array(capacity);
    this.#sorted = new Float64Array(capacity);
  }

  add(value: number): void {
    this.#values[this.#count++ % this.#values.length] = value;
  }

  get count(): number {
    return this.#count;
  }

  /**
   * Nearest-rank percentiles of the values kept: the smallest value that at least p % of them do not exceed.
   * undefined before the first value.
   */
  percentiles(): Percentiles | undefined {
    const kept = Math.min(this.#count, this.#values.length);
    if (kept === 0) return undefined;
    const sorted = this.#sorted.subarray(0, kept);
    sorted.set(this.#values.subarray(0, kept));
    sorted.sort();
    const at = (percent: number) => sorted[Math.max(0, Math.ceil((percent / 100) * kept) - 1)] as number;
    return { p50: at(50), p95: at(95), p99: at(99) };
  }
}

/** Times of a run, milliseconds: the newest ones for metrics, all of them for its summary and for counters. */
export class RunValues {
  readonly #recent = new RecentValues();
  readonly #all = new Histogram();
  readonly #counts = new BucketCounts(TIME_BUCKETS);

  add(value: number): void {
    this.#recent.add(value);
    this.#all.add(value);
    this.#counts.add(value);
  }

  /** All of them, by fixed bounds. */
  counts(): BucketCountsSnapshot {
    return this.#counts.snapshot();
  }

  get count(): number {
    return this.#all.count;
  }

  /** Nearest-rank; exact as long as all values are among the newest 1024, else within 0.5 %. */
  percentiles(window: "run" | "recent"): Percentiles | undefined {
    const exact = window === "recent" || this.#all.count <= RECENT_VALUES;
    return exact ? this.#recent.percentiles() : this.#all.percentiles();
  }
}

/** How often each cause occurred. */
export class CountsByCause {
  readonly #counts: Record<string, number> = {};

  add(cause: string, count = 1): void {
    this.#counts[cause] = (this.#counts[cause] ?? 0) + count;
  }

  snapshot(): Record<string, number> {
    return { ...this.#counts };
  }
}

/** Events per second over the newest two seconds or so. */
export class Rate {
  readonly #timesMs = new Float64Array(256).fill(Number.NEGATIVE_INFINITY);
  #count = 0;

  add(nowMs: number): void {
    this.#timesMs[this.#count++ % this.#timesMs.length] = nowMs;
  }

  /** 0 where nothing happened for two seconds. */
  perSecond(nowMs: number): number {
    let oldest = Number.POSITIVE_INFINITY;
    let newest = Number.NEGATIVE_INFINITY;
    let inWindow = 0;
    for (const time of this.#timesMs) {
      if (nowMs - time > 2000) continue;
      oldest = Math.min(oldest, time);
      newest = Math.max(newest, time);
      ++inWindow;
    }
    if (inWindow < 2) return 0;
    // A stream that stopped slows down in the figure instead of standing still.
    const spanMs = Math.max(newest - oldest, (nowMs - oldest) * (1 - 1 / inWindow));
    return ((inWindow - 1) * 1000) / spanMs;
  }
}
