// SPDX-License-Identifier: Apache-2.0
// A running depthwatt inside another program: its frames are handed to a function or iterated.
import type { ClockName } from "../../camera/index.js";
import { DepthwattError } from "../../core/index.js";
import type { ComputedFrame } from "../contracts/computed-frame.js";
import type { SettingsChange } from "../contracts/setting.js";
import type { RunFigures } from "../run/figures.js";
import { openRuntime } from "../run/main.js";
import type { Runtime } from "../run/runtime.js";
import { copyDepthMap, type DepthMap } from "./depth-map.js";
import type { Abortable } from "./engine.js";
import { configFrom, type DepthwattOptions, warningHandler } from "./options.js";
import type { SettingValues } from "./setting-values.js";

export interface RunOptions extends DepthwattOptions, Abortable {
  /** Ends after so many frames. Default: when the source ends, or at stop(). */
  frames?: number;
}

export interface RunHandlers {
  /** Every frame, in order, before the outputs get it; it should return quickly. If it throws, the run ends with that error. */
  onFrame?(frame: RunFrame): void;
  /** Every outputs.metricsIntervalMs. */
  onFigures?(figures: RunFigures): void;
  /** "online", "degraded" or "stopped", and why. */
  onState?(state: "online" | "degraded" | "stopped", reason: string, code?: string): void;
}

export interface RunFrame extends DepthMap {
  /** Capture times, nanoseconds on `clock`. */
  leftTimestampNs: bigint;
  rightTimestampNs: bigint;
  clock: ClockName;
  /** Counts the left camera's images; a gap is a loss. */
  sequence: number;
  /** Frames that were computed since the previous one of this iteration and replaced by this newer one; 0 in onFrame. */
  skipped: number;
}

/** A run. Iterating it gives the newest frame each time; leaving the loop stops it. */
export interface Run extends AsyncIterable<RunFrame> {
  /** Resolves with the figures of the whole run when it has ended and all is closed; rejects with what ended it. */
  readonly finished: Promise<RunFigures>;
  /**
   * Changes live settings, all or none, between two frames.
   * @returns the values that changed
   * @throws DepthwattError CONFIG_*, SETTING_NEEDS_RESTART, RUN_ENDED
   */
  apply(settings: SettingValues): Promise<SettingValues>;
  /** Ends the run after the frame that is being computed. */
  stop(): void;
}

/** Keeps the newest frame until the iteration takes it. */
class NewestFrame {
  #frame: RunFrame | undefined;
  #wake: (() => void) | undefined;

  put(frame: RunFrame): void {
    if (this.#frame !== undefined) frame.skipped = this.#frame.skipped + 1;
    this.#frame = frame;
    this.#wake?.();
  }

  take(): RunFrame | undefined {
    const frame = this.#frame;
    this.#frame = undefined;
    return frame;
  }

  /** Resolves with the next frame, or when `ended` does. */
  async wait(ended: Promise<unknown>): Promise<void> {
    if (this.#frame !== undefined) return;
    const next = new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    await Promise.race([next, ended]);
    this.#wake = undefined;
  }
}

class LibraryRun implements Run {
  readonly finished: Promise<RunFigures>;
  readonly #opened: Promise<Runtime>;
  readonly #stop = new AbortController();
  #newest: NewestFrame | undefined;
  /** By the first onFrame that threw. */
  #thrown: { error: unknown } | undefined;

  constructor({ signal, frames, ...options }: RunOptions, handlers: RunHandlers) {
    if (frames !== undefined && !(Number.isInteger(frames) && frames > 0))
      throw new DepthwattError("USAGE", `expected frames to be a whole number from 1, got ${frames}`);
    const stops = signal === undefined ? this.#stop.signal : AbortSignal.any([this.#stop.signal, signal]);
    this.#opened = this.#open(options, frames, handlers);
    this.finished = this.#opened.then(async (runtime) => {
      if (stops.aborted) runtime.stop();
      else stops.addEventListener("abort", () => runtime.stop());
      const figures = await runtime.run();
      if (this.#thrown !== undefined) throw this.#thrown.error;
      if (runtime.failure !== undefined) throw runtime.failure;
      signal?.throwIfAborted();
      return figures;
    });
  }

  async #open(
    options: DepthwattOptions,
    frames: number | undefined,
    handlers: RunHandlers,
  ): Promise<Runtime> {
    // A file says which outputs there are; otherwise the frames stay in this process.
    const quiet = { "outputs.mqtt.broker": "none", "outputs.viewer.enabled": false };
    const config = configFrom(options, options.config === undefined ? quiet : {});
    const runtime = await openRuntime(config, frames, {
      onNotice: warningHandler(options),
      ...(handlers.onFigures && { onFigures: (figures) => handlers.onFigures!(figures) }),
      ...(handlers.onState && {
        onState: (state, reason, code) => handlers.onState!(state, reason, code),
      }),
      onFrame: (computed) => {
        if (handlers.onFrame === undefined && this.#newest === undefined) return;
        const frame = copyFrame(computed, runtime);
        this.#newest?.put(frame);
        try {
          handlers.onFrame?.(frame);
        } catch (error) {
          this.#thrown ??= { error };
          this.stop();
        }
      },
    });
    return runtime;
  }

  async apply(settings: SettingValues): Promise<SettingValues> {
    const runtime = await this.#opened;
    return (await runtime.apply(settings as SettingsChange)) as SettingValues;
  }

  stop(): void {
    this.#stop.abort();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<RunFrame> {
    this.#newest ??= new NewestFrame();
    const newest = this.#newest;
    let isOver = false;
    const ended = this.finished.then(
      () => (isOver = true),
      () => (isOver = true),
    );
    try {
      for (;;) {
        await newest.wait(ended);
        const frame = newest.take();
        if (frame !== undefined) yield frame;
        else if (isOver) break;
      }
    } finally {
      this.stop();
      await this.finished;
    }
  }
}

function copyFrame(computed: ComputedFrame, runtime: Runtime): RunFrame {
  const { leftTimestampNs, rightTimestampNs, clock, leftSequence } = computed;
  const { depth } = runtime.parts.input.geometry;
  return {
    ...copyDepthMap(computed.slot, computed.result, computed, depth),
    leftTimestampNs,
    rightTimestampNs,
    clock,
    sequence: leftSequence,
    skipped: 0,
  };
}

/**
 * Captures, matches and, where settings say so, publishes, as `depthwatt run` does. Without `config` there is no broker and no
 * live page. With `for await` or `onFrame` each frame is copied once.
 */
export function run(options: RunOptions = {}, handlers: RunHandlers = {}): Run {
  return new LibraryRun(options, handlers);
}
