// SPDX-License-Identifier: Apache-2.0
// An engine whose matching parameters may change while it runs: the next frame goes to a new engine, because every buffer
// of an engine is made for its parameters when it is opened. Results keep their size, also at half resolution.
import { DepthwattError } from "../../core/index.js";
import {
  createEngine,
  type EngineOptions,
  type MatchParameters,
  type NativeEngine,
} from "../../cuda/index.js";

export interface AdjustableEngineEvents {
  /** A new engine cannot be opened; the old one goes on. */
  onProblem: (problem: Error) => void;
  /** From the next frame on these parameters are what is computed. */
  onChange?: (match: MatchParameters) => void;
}

export class AdjustableEngine implements NativeEngine {
  readonly #options: EngineOptions;
  readonly #open: (options: EngineOptions) => NativeEngine;
  readonly #events: AdjustableEngineEvents;
  #engine: NativeEngine;
  #match: MatchParameters;
  #wanted: MatchParameters | undefined;
  #flying = 0;

  /** @param open another engine in tests */
  constructor(options: EngineOptions, events: AdjustableEngineEvents, open = createEngine) {
    this.#open = open;
    this.#events = events;
    this.#match = options.match;
    this.#engine = open(options);
    this.#options = options;
  }

  /** What "auto" found once stays: a level that CUDA does not compute must not move the run to the processor. */
  #openLike(match: MatchParameters): NativeEngine {
    const onProcessor = this.#engine.info.backend === "cpu";
    const engine = this.#open({ ...this.#options, match, ...(onProcessor && { backend: "cpu" }) });
    const { backend, backendReason } = engine.info;
    if (onProcessor || backend !== "cpu") return engine;
    engine.close();
    throw new DepthwattError("BACKEND_UNAVAILABLE", backendReason);
  }

  get info() {
    return this.#engine.info;
  }

  get slots() {
    return this.#engine.slots;
  }

  /** While a change waits for its turn, only as many as are computed already. */
  get framesInFlight(): number {
    return this.#wanted === undefined ? this.#engine.framesInFlight : 1;
  }

  get stageMilliseconds() {
    return this.#engine.stageMilliseconds;
  }

  /** The parameters of the engine that is open now. */
  get match(): MatchParameters {
    return this.#match;
  }

  /** Whether the backend computes this; tried, because only it knows. */
  supports(change: Partial<MatchParameters>): boolean {
    try {
      this.#openLike({ ...this.#options.match, ...change }).close();
      return true;
    } catch {
      return false;
    }
  }

  /** Takes effect with the next frame that is submitted while none is being computed. */
  adjust(change: Partial<MatchParameters>): void {
    const wanted = { ...this.#options.match, ...change };
    this.#wanted = JSON.stringify(wanted) === JSON.stringify(this.#match) ? undefined : wanted;
  }

  submit(...[slot, left, right, onDone]: Parameters<NativeEngine["submit"]>): void {
    if (this.#wanted !== undefined && this.#flying === 0) this.#change(this.#wanted);
    this.#flying++;
    try {
      this.#engine.submit(slot, left, right, (error, result) => {
        this.#flying--;
        onDone(error, result);
      });
    } catch (error) {
      this.#flying--;
      throw error;
    }
  }

  /** Results that a publisher still holds are JavaScript's memory and outlive their engine. */
  #change(match: MatchParameters): void {
    this.#wanted = undefined;
    try {
      const next = this.#openLike(match);
      this.#engine.close();
      this.#engine = next;
      this.#match = match;
      this.#events.onChange?.(match);
    } catch (error) {
      this.#events.onProblem(error as Error);
    }
  }

  close(): void {
    this.#engine.close();
  }
}
