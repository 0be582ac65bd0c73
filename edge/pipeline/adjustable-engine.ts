// SPDX-License-Identifier: Apache-2.0
// An engine whose options may change while it runs. Every buffer of an engine is made for its parameters when it is opened, so a
// change opens another one while the old one still computes, and they are swapped between two frames. Results keep their size.
import { DepthwattError } from "../../core/index.js";
import type { Computed } from "./pipeline.js";
import {
  createEngine,
  type EngineOptions,
  type FrameResult,
  type MatchParameters,
  type NativeEngine,
} from "../../cuda/index.js";

export interface AdjustableEngineEvents {
  /** An engine for adjust() cannot be opened; the old one goes on. */
  onProblem: (problem: Error) => void;
  /** From the next frame on this is what is computed. */
  onChange?: (options: EngineOptions) => void;
}

/** Who waits for the swap. */
interface Waiting {
  commit: () => void;
  resolve: () => void;
  reject: (error: Error) => void;
}

export class AdjustableEngine implements NativeEngine {
  readonly #open: (options: EngineOptions) => NativeEngine;
  readonly #events: AdjustableEngineEvents;
  /** What is asked for, and what the governor makes of it. */
  #asked: EngineOptions;
  #adjustment: Partial<MatchParameters> = {};
  /** What is computed. */
  #engine: NativeEngine;
  #options: EngineOptions;
  #computed: Computed;
  #next: { engine: NativeEngine; options: EngineOptions } | undefined;
  #waiting: Waiting[] = [];
  #flying = 0;
  /** A frame that is done is just being handed on: the swap waits until everybody has it. */
  #delivering = false;
  #closed = false;

  /** @param open another engine in tests */
  constructor(options: EngineOptions, events: AdjustableEngineEvents, open = createEngine) {
    this.#open = open;
    this.#events = events;
    this.#asked = options;
    this.#options = options;
    this.#computed = computedOf(options);
    this.#engine = open(options);
  }

  get info() {
    return this.#engine.info;
  }

  get slots() {
    return this.#engine.slots;
  }

  /** While a change waits for its turn, only as many as are computed already. */
  get framesInFlight(): number {
    return this.#next === undefined ? this.#engine.framesInFlight : 1;
  }

  get stageMilliseconds() {
    return this.#engine.stageMilliseconds;
  }

  /** Of the engine that computes now. */
  get options(): EngineOptions {
    return this.#options;
  }

  get match(): MatchParameters {
    return this.#options.match;
  }

  /** What the pipeline notes of each frame. */
  get computed(): Computed {
    return this.#computed;
  }

  /** Whether the backend computes this; tried, because only it knows. */
  supports(match: MatchParameters): boolean {
    try {
      this.#openLike({ ...this.#asked, match }).close();
      return true;
    } catch {
      return false;
    }
  }

  /** The governor's wishes on top of what is asked for; they replace those before. */
  adjust(adjustment: Partial<MatchParameters>): void {
    try {
      this.#prepare(this.#asked, adjustment);
    } catch (error) {
      this.#events.onProblem(error as Error);
      return;
    }
    this.#swapAtRest();
  }

  /**
   * Changes what is asked for. The governor's adjustment stays, unless `afresh`.
   * @param commit called between two frames: all before were computed and handed on as they were asked for then, all after as
   *   they are asked for now
   * @returns resolves after commit
   * @throws (as a rejection) DepthwattError of an engine that cannot be opened; the old one goes on, and nothing has changed
   */
  change(options: EngineOptions, afresh: boolean, commit: () => void): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#closed) throw ended();
      this.#prepare(options, afresh ? {} : this.#adjustment);
      this.#waiting.push({ commit, resolve, reject });
      this.#swapAtRest();
    });
  }

  #prepare(asked: EngineOptions, adjustment: Partial<MatchParameters>): void {
    const parameters = { ...asked.match.parameters, ...adjustment.parameters };
    const wanted = { ...asked, match: { ...asked.match, ...adjustment, parameters } };
    for (const key of ["width", "height", "slots"] as const) {
      if (wanted[key] === this.#options[key]) continue;
      const text = `an engine's ${key} cannot change: expected ${this.#options[key]}, got ${wanted[key]}`;
      throw new DepthwattError("INTERNAL", text);
    }
    if (this.#next === undefined || !sameOptions(wanted, this.#next.options)) {
      const next = sameOptions(wanted, this.#options)
        ? undefined
        : { engine: this.#openLike(wanted), options: wanted };
      this.#next?.engine.close();
      this.#next = next;
    }
    this.#asked = asked;
    this.#adjustment = adjustment;
  }

  /** What "auto" found once stays: a level that CUDA does not compute must not move the run to the processor. */
  #openLike(options: EngineOptions): NativeEngine {
    const onProcessor = this.#engine.info.backend === "cpu";
    const engine = this.#open({ ...options, ...(onProcessor && { backend: "cpu" }) });
    const { backend, backendReason } = engine.info;
    if (onProcessor || backend !== "cpu") return engine;
    engine.close();
    throw new DepthwattError("BACKEND_UNAVAILABLE", backendReason);
  }

  submit(...[slot, left, right, onDone]: Parameters<NativeEngine["submit"]>): void {
    if (this.#flying === 0) this.#swap();
    this.#flying++;
    try {
      this.#engine.submit(slot, left, right, (error, result) => {
        this.#flying--;
        this.#delivering = true;
        try {
          onDone(error, result);
        } finally {
          this.#delivering = false;
        }
        this.#swapAtRest();
      });
    } catch (error) {
      this.#flying--;
      throw error;
    }
  }

  #swapAtRest(): void {
    if (this.#flying === 0 && !this.#delivering && !this.#closed) this.#swap();
  }

  /** Results that an output still holds are JavaScript's memory and outlive their engine. */
  #swap(): void {
    const next = this.#next;
    if (next !== undefined) {
      this.#next = undefined;
      this.#engine.close();
      this.#engine = next.engine;
      this.#options = next.options;
      this.#computed = computedOf(next.options);
    }
    for (const { commit, resolve, reject } of this.#waiting.splice(0)) {
      try {
        commit();
        resolve();
      } catch (error) {
        reject(error as Error);
      }
    }
    if (next !== undefined) this.#events.onChange?.(next.options);
  }

  compute(left: Uint8Array, right: Uint8Array): Promise<FrameResult> {
    return new Promise((resolve, reject) => {
      this.submit(0, left, right, (error, result) =>
        error === null ? resolve({ ...result }) : reject(error),
      );
    });
  }

  close(): void {
    this.#closed = true;
    this.#next?.engine.close();
    this.#next = undefined;
    for (const { reject } of this.#waiting.splice(0)) reject(ended());
    this.#engine.close();
  }
}

const ended = () => new DepthwattError("RUN_ENDED", "the run ended before the change took effect");

function computedOf({ encodeDepth, encodeDisparity, region, width, height }: EngineOptions): Computed {
  return {
    encodings: { ...(encodeDepth && { encodeDepth }), ...(encodeDisparity && { encodeDisparity }) },
    matchedPixels: region ? region.width * region.height : width * height,
  };
}

/** Whether two engines would compute the same. Memory and maps are the same where they are the same objects. */
function sameOptions(one: EngineOptions, other: EngineOptions): boolean {
  const keys = new Set([...Object.keys(one), ...Object.keys(other)] as (keyof EngineOptions)[]);
  for (const key of keys) {
    const [a, b] = [one[key], other[key]];
    if (a === b) continue;
    if (typeof a !== "object" || typeof b !== "object") return false;
    if (Array.isArray(a) || ArrayBuffer.isView(a)) return false;
    if (JSON.stringify(a) !== JSON.stringify(b)) return false;
  }
  return true;
}
