// SPDX-License-Identifier: Apache-2.0
// An engine whose options may change while it runs. Every buffer of an engine is made for its parameters when it is opened, so a
// change opens another one on another thread while the old one still computes, and they are swapped between two frames.
import { DepthwattError } from "../../core/index.js";
import {
  createEngine,
  type EngineOptions,
  type FrameResult,
  type MatchParameters,
  type NativeEngine,
  openEngine,
} from "../../cuda/index.js";
import type { Computed } from "./pipeline.js";

export interface AdjustableEngineEvents {
  /** An engine for adjust() cannot be opened; the old one continues. */
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
  readonly #openNow: (options: EngineOptions) => NativeEngine;
  readonly #openBeside: (options: EngineOptions) => Promise<NativeEngine>;
  readonly #events: AdjustableEngineEvents;
  /** What is asked for, and what the governor makes of it. */
  #asked: EngineOptions;
  #adjustment: Partial<MatchParameters> = {};
  /** What is computed. */
  #engine: NativeEngine;
  #options: EngineOptions;
  #computed: Computed;
  #next: { engine: NativeEngine; options: EngineOptions } | undefined;
  /** Why the CPU computes, where an engine before this one found that out: this one was not asked to look again. */
  #whyCpu: string | undefined;
  #waiting: Waiting[] = [];
  /** Changes are prepared one after the other. */
  #turn: Promise<unknown> = Promise.resolve();
  #wishes = 0;
  #flying = 0;
  /** A frame that is done is just being handed on: the swap waits until everybody has it. */
  #delivering = false;
  #closed = false;

  /** @param open another engine in tests */
  constructor(
    options: EngineOptions,
    events: AdjustableEngineEvents,
    open?: (options: EngineOptions) => NativeEngine,
  ) {
    this.#openNow = open ?? createEngine;
    this.#openBeside = open === undefined ? openEngine : async (changed) => open(changed);
    this.#events = events;
    this.#asked = options;
    this.#options = options;
    this.#computed = computedOf(options);
    this.#engine = this.#openNow(options);
  }

  get info() {
    const { info } = this.#engine;
    return this.#whyCpu === undefined ? info : { ...info, backendReason: this.#whyCpu };
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
      const engine = this.#openNow(this.#likeNow({ ...this.#asked, match }));
      engine.close();
      this.#checkBackend(engine);
      return true;
    } catch {
      return false;
    }
  }

  /** The governor's wishes on top of what is asked for; they replace those before. */
  adjust(adjustment: Partial<MatchParameters>): void {
    const wish = ++this.#wishes;
    this.#inTurn(async () => {
      // Of wishes that came while others were being prepared only the last one counts.
      if (wish !== this.#wishes || this.#closed) return;
      await this.#prepare(this.#asked, adjustment);
      this.#swapAtRest();
    }).catch((error: Error) => {
      if (!this.#closed) this.#events.onProblem(error);
    });
  }

  /**
   * Changes what is asked for. The governor's adjustment stays, unless `afresh`.
   * @param commit called between two frames: all before were computed and handed on as they were asked for then, all after as
   *   they are asked for now
   * @returns resolves after commit
   * @throws (as a rejection) DepthwattError of an engine that cannot be opened; the old one continues, and nothing has changed
   */
  change(options: EngineOptions, afresh: boolean, commit: () => void): Promise<void> {
    return this.#inTurn(async () => {
      await this.#prepare(options, afresh ? {} : this.#adjustment);
      await new Promise<void>((resolve, reject) => {
        this.#waiting.push({ commit, resolve, reject });
        this.#swapAtRest();
      });
    });
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => {});
    return done;
  }

  async #prepare(asked: EngineOptions, adjustment: Partial<MatchParameters>): Promise<void> {
    if (this.#closed) throw ended();
    const parameters = { ...asked.match.parameters, ...adjustment.parameters };
    const wanted = { ...asked, match: { ...asked.match, ...adjustment, parameters } };
    const { slots } = this.#options;
    if (wanted.slots !== slots)
      throw new DepthwattError("INTERNAL", `expected ${slots} slots as before, got ${wanted.slots}`);
    if (this.#next === undefined || !sameOptions(wanted, this.#next.options)) {
      const next = sameOptions(wanted, this.#options)
        ? undefined
        : { engine: await this.#openLike(wanted), options: wanted };
      this.#next?.engine.close();
      this.#next = next;
    }
    this.#asked = asked;
    this.#adjustment = adjustment;
  }

  async #openLike(options: EngineOptions): Promise<NativeEngine> {
    const engine = await this.#openBeside(this.#likeNow(options));
    try {
      if (this.#closed) throw ended();
      this.#checkBackend(engine);
      return engine;
    } catch (error) {
      engine.close();
      throw error;
    }
  }

  /** What "auto" found once stays: on the CPU it is not asked again. */
  #likeNow(options: EngineOptions): EngineOptions {
    return this.#engine.info.backend === "cpu" ? { ...options, backend: "cpu" } : options;
  }

  /** A level that CUDA does not compute must not move the run to the CPU. */
  #checkBackend({ info }: NativeEngine): void {
    if (this.#engine.info.backend !== "cpu" && info.backend === "cpu")
      throw new DepthwattError("BACKEND_UNAVAILABLE", info.backendReason);
  }

  /**
   * Does a change that waits, if no frame is in work: for a caller who gets here from inside onDone, and has handed the frame on.
   * Whoever submits calls it first and then looks for what to submit, because images may be of another size afterwards.
   */
  rest(): void {
    if (this.#flying === 0 && !this.#closed) this.#swap();
  }

  submit(...[slot, left, right, onDone, follows]: Parameters<NativeEngine["submit"]>): void {
    this.#flying++;
    try {
      const onComputed: typeof onDone = (error, result) => {
        this.#flying--;
        this.#delivering = true;
        try {
          onDone(error, result);
        } finally {
          this.#delivering = false;
        }
        this.#swapAtRest();
      };
      this.#engine.submit(slot, left, right, onComputed, follows);
    } catch (error) {
      this.#flying--;
      throw error;
    }
  }

  #swapAtRest(): void {
    if (this.#flying === 0 && !this.#delivering && !this.#closed) this.#swap();
  }

  /** Results that an output still holds are JavaScript's memory and survive their engine. */
  #swap(): void {
    const next = this.#next;
    if (next !== undefined) {
      this.#next = undefined;
      const { backend, backendReason } = this.info;
      this.#whyCpu = backend === "cpu" && next.options.backend !== "cpu" ? backendReason : undefined;
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

  /** From the next frame on, and for engines that are opened with these options later. */
  setRightMap(map: Int32Array): void {
    this.#engine.setRightMap(map);
    this.#asked = { ...this.#asked, rightMap: map };
    this.#options = { ...this.#options, rightMap: map };
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

function computedOf(options: EngineOptions): Computed {
  const { encodeDepth, encodeDisparity, leftRgb, points, region, width, height } = options;
  return {
    encodings: {
      ...(encodeDepth && { encodeDepth }),
      ...(encodeDisparity && { encodeDisparity }),
      ...(leftRgb && { leftRgb }),
      ...(points && { points }),
    },
    width,
    height,
    askedPixels: region ? region.width * region.height : width * height,
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
