// SPDX-License-Identifier: Apache-2.0
// How busy each stage of a batch is: the share of the time in which it has something in work.

export const BATCH_STAGES = ["decode", "open", "match", "write"] as const;
export type BatchStage = (typeof BATCH_STAGES)[number];

export class Occupancy {
  readonly #now: () => number;
  readonly #began: number;
  readonly #stages = new Map<BatchStage, { running: number; sinceMs: number; busyMs: number }>();

  constructor(now = () => performance.now()) {
    this.#now = now;
    this.#began = now();
    for (const stage of BATCH_STAGES) this.#stages.set(stage, { running: 0, sinceMs: 0, busyMs: 0 });
  }

  async during<T>(stage: BatchStage, work: () => Promise<T>): Promise<T> {
    const state = this.#stages.get(stage)!;
    if (state.running++ === 0) state.sinceMs = this.#now();
    try {
      return await work();
    } finally {
      if (--state.running === 0) state.busyMs += this.#now() - state.sinceMs;
    }
  }

  /** Percent of the time since the beginning in which at least one was in work. */
  get percent(): Record<BatchStage, number> {
    const now = this.#now();
    const all = Math.max(now - this.#began, 1e-9);
    const shares = [...this.#stages].map(([stage, { running, sinceMs, busyMs }]) => {
      const busy = busyMs + (running > 0 ? now - sinceMs : 0);
      return [stage, Math.round((1000 * busy) / all) / 10] as const;
    });
    return Object.fromEntries(shares) as Record<BatchStage, number>;
  }
}
