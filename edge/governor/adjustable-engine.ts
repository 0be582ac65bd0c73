// SPDX-License-Identifier: Apache-2.0
// An engine whose matching parameters may change while it runs: the next frame goes to a new engine, because every buffer
// of an engine is made for its parameters when it is opened.
import {
  createEngine,
  type EngineOptions,
  type MatchParameters,
  type NativeEngine,
} from "../../cuda/index.js";

export class AdjustableEngine implements NativeEngine {
  readonly #options: EngineOptions;
  readonly #open: (options: EngineOptions) => NativeEngine;
  readonly #onProblem: (problem: Error) => void;
  #engine: NativeEngine;
  #match: MatchParameters;
  #wanted: MatchParameters | undefined;
  #flying = 0;

  /**
   * @param onProblem told when a new engine cannot be opened; the old one goes on
   * @param open another engine in tests
   */
  constructor(options: EngineOptions, onProblem: (problem: Error) => void, open = createEngine) {
    this.#options = options;
    this.#onProblem = onProblem;
    this.#open = open;
    this.#match = options.match;
    this.#engine = open(options);
  }

  get info() {
    return this.#engine.info;
  }

  get slots() {
    return this.#engine.slots;
  }

  get stageMilliseconds() {
    return this.#engine.stageMilliseconds;
  }

  /** The parameters of the engine that is open now. */
  get match(): MatchParameters {
    return this.#match;
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
      const next = this.#open({ ...this.#options, match });
      this.#engine.close();
      this.#engine = next;
      this.#match = match;
    } catch (error) {
      this.#onProblem(error as Error);
    }
  }

  close(): void {
    this.#engine.close();
  }
}
