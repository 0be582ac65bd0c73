// SPDX-License-Identifier: Apache-2.0
// One open output as the run sees it: lends it frames, measures its latency, counts what it does not take, and stands between
// its mistakes and everybody else.
import type { DepthwattError } from "../../core/index.js";
import type { ComputedFrame, FrameSink } from "../contracts/computed-frame.js";
import { ageMs } from "../contracts/computed-frame.js";
import type { FrameLease, Output, OutputCounters } from "../contracts/output.js";
import { RateLimit } from "../contracts/rate-limit.js";
import { CountsByCause, RunValues } from "../contracts/statistics.js";

/** How long close() of an output is waited for, milliseconds. */
export const CLOSE_LIMIT_MS = 3000;

export interface OutletEvents {
  /** Called with the output's problem; undefined: it is solved. */
  onProblem(problem: string | undefined): void;
}

export class Outlet {
  readonly name: string;
  readonly output: Output;
  readonly latency = new RunValues();
  readonly #framesHeld: number;
  readonly #events: OutletEvents;
  readonly #drops = new CountsByCause();
  #held = 0;
  /** Frames that were meant for this output, those that it could not take among them. */
  #offered = 0;
  readonly #rate = new RateLimit();
  /** By method. */
  readonly #problems = new Map<string, string>();
  #closed = false;
  #closing: Promise<string | undefined> | undefined;
  /** The counters when they were last read: a closed output is not asked again. */
  #counted: OutputCounters = { sent: 0, bytes: 0, drops: {} };

  constructor(name: string, output: Output, framesHeld: number, events: OutletEvents) {
    this.name = name;
    this.output = output;
    this.#framesHeld = framesHeld;
    this.#events = events;
  }

  /** The first thing that is wrong with this output. */
  get problem(): string | undefined {
    return this.#problems.values().next().value;
  }

  /** Why what this output was given did not arrive, as far as it knows. */
  get failure(): DepthwattError | undefined {
    return this.output.failure;
  }

  /** Frames a second that are offered at most. */
  limit(rateHz: number | "max"): void {
    this.#rate.set(rateHz);
  }

  /** Takes every computed frame; what this output does not get is counted. */
  readonly sink: FrameSink = (frame, release) => {
    if (this.#closed || this.output.streams.length === 0) release();
    else if (this.#rate.isEarly()) this.#refuse("rateLimit", release);
    else this.#offer(frame, release);
  };

  #offer(frame: ComputedFrame, release: () => void): void {
    this.#offered += 1;
    if (this.#held > this.#framesHeld) {
      this.#refuse("held", release);
      this.#setProblem("frame", `it holds ${this.#held} frames and releases none`);
    } else this.#lend(frame, release);
  }

  #refuse(cause: string, release: () => void): void {
    this.#drops.add(cause);
    release();
  }

  #lend(frame: ComputedFrame, release: () => void): void {
    this.#held += 1;
    const lease = new Lease(frame, this.#offered, this.latency, () => {
      this.#held -= 1;
      release();
    });
    const failed = (error: unknown) => {
      if (!lease.released) this.#drops.add("failed");
      lease.release();
      this.#setProblem("frame", `frame failed: ${errorMessage(error)}`);
    };
    try {
      // Rejections of an `async frame()` are counted too; unhandled, they would end the process.
      const returned: unknown = this.output.frame(lease);
      if (returned instanceof Promise) returned.catch(failed);
      if (this.#held <= this.#framesHeld) this.#setProblem("frame", undefined);
    } catch (error) {
      failed(error);
    }
  }

  /** Calls a method of the output other than frame(). */
  notify(method: string, call: (output: Output) => unknown): void {
    if (this.#closed) return;
    const failed = (error: unknown) => this.#setProblem(method, `${method} failed: ${errorMessage(error)}`);
    try {
      const returned = call(this.output);
      this.#setProblem(method, undefined);
      if (returned instanceof Promise) returned.catch(failed);
    } catch (error) {
      failed(error);
    }
  }

  /** Called when the first problem comes and when the last one is solved. */
  #setProblem(of: string, problem: string | undefined): void {
    if (this.#closed || problem === this.#problems.get(of)) return;
    const before = this.problem;
    if (problem === undefined) this.#problems.delete(of);
    else this.#problems.set(of, problem);
    const now = this.problem;
    if ((before === undefined) !== (now === undefined)) this.#events.onProblem(now);
  }

  counters(): OutputCounters {
    this.notify("counters", (output) => {
      this.#counted = output.counters();
    });
    // An error that passes automatically, such as a lost connection, is reported by the output.
    const { failure } = this;
    this.#setProblem("failure", failure === undefined || failure.retryable ? undefined : failure.message);
    return { ...this.#counted, drops: { ...this.#counted.drops, ...this.#drops.snapshot() } };
  }

  /** Closes the output. @returns the error, if it did not close in time or not at all; only the first caller gets it */
  close(): Promise<string | undefined> {
    if (this.#closing !== undefined) return this.#closing.then(() => undefined);
    this.#closing = this.#close();
    return this.#closing;
  }

  async #close(): Promise<string | undefined> {
    let timer: NodeJS.Timeout | undefined;
    // A closed output is not connected: that needs no detail.
    const { details } = this.counters();
    const late = new Promise<string>((resolve) => {
      timer = setTimeout(() => resolve(`it did not close within ${CLOSE_LIMIT_MS} ms`), CLOSE_LIMIT_MS);
    });
    try {
      return await Promise.race([this.output.close().then(() => undefined), late]);
    } catch (error) {
      return `it did not close: ${errorMessage(error)}`;
    } finally {
      clearTimeout(timer);
      this.counters();
      this.#counted = { ...this.#counted, ...(details && { details }) };
      // Counted as not sent.
      if (this.#held > 0) this.#drops.add("notReleased", this.#held);
      this.#closed = true;
    }
  }
}

class Lease implements FrameLease {
  readonly frame: ComputedFrame;
  readonly number: number;
  readonly #latency: RunValues;
  readonly #onRelease: () => void;
  #sent = false;
  released = false;

  constructor(frame: ComputedFrame, number: number, latency: RunValues, onRelease: () => void) {
    this.frame = frame;
    this.number = number;
    this.#latency = latency;
    this.#onRelease = onRelease;
  }

  sent(): void {
    if (this.#sent) return;
    this.#sent = true;
    this.#latency.add(ageMs(this.frame));
  }

  release(): void {
    if (this.released) return;
    this.released = true;
    this.#onRelease();
  }
}

const errorMessage = (error: unknown): string => (error instanceof Error ? error.message : String(error));
