// SPDX-License-Identifier: Apache-2.0
// An engine whose options may change while it runs. Every buffer of an engine is made for its parameters when it is opened, so a
// change opens another one on another thread while the old one still computes, and they are swapped between two frames.
import { DepthwattError } from "../../core/index.js";
import {
  createEngine,
  type EngineInfo,
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
  /** Called with the options that apply from the next frame on. */
  onChange?: (options: EngineOptions) => void;
}

/** A caller that waits for the swap. */
interface Waiting {
  commit: () => void;
  resolve: () => void;
  reject: (error: Error) => void;
}

export class AdjustableEngine implements NativeEngine {
  readonly #openNow: (options: EngineOptions) => NativeEngine;
  readonly #openBeside: (options: EngineOptions) => Promise<NativeEngine>;
  readonly #events: AdjustableEngineEvents;
  /** The requested options, before the governor's adjustment. */
  #asked: EngineOptions;
  #adjustment: Partial<MatchParameters> = {};
  /** The engine in use. */
  #engine: NativeEngine;
  #options: EngineOptions;
  #computed: Computed;
  #next: { engine: NativeEngine; options: EngineOptions } | undefined;
  /** Why the CPU computes, where an engine before this one found that out: this one was not asked to look again. */
  #whyCpu: string | undefined;
  #waiting: Waiting[] = [];
  /** Changes are prepared one after the other. */
  #turn: Promise<unknown> = Promise.resolve();
  #adjustments = 0;
  #flying = 0;
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
    this.#computed = computedOptions(options);
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

  /** Options of the engine in use. */
  get options(): EngineOptions {
    return this.#options;
  }

  get match(): MatchParameters {
    return this.#options.match;
  }

  /** The facts that the pipeline notes of each frame. */
  get computed(): Computed {
    return this.#computed;
  }

  /** Opens an engine for a moment, because only the backend knows what it can compute. @returns undefined: not this */
  tryOut(match: MatchParameters): EngineInfo | undefined {
    try {
      const engine = this.#openNow(this.#likeNow({ ...this.#asked, match }));
      const { info } = engine;
      engine.close();
      this.#checkBackend(engine);
      return info;
    } catch {
      return undefined;
    }
  }

  /** Applies the governor's adjustment to the requested options; it replaces the one before. */
  adjust(adjustment: Partial<MatchParameters>): void {
    const number = ++this.#adjustments;
    this.#inTurn(async () => {
      // Only the last of the adjustments that arrive while another is being prepared takes effect.
      if (number !== this.#adjustments || this.#closed) return;
      await this.#prepare(this.#asked, adjustment);
      this.rest();
    }).catch((error: Error) => {
      if (!this.#closed) this.#events.onProblem(error);
    });
  }

  /**
   * Changes the requested options. The governor's adjustment stays, unless `afresh`.
   * @param commit called between two frames: all earlier frames were computed and handed on with the old options, all
   * later ones have the new options
   * @returns resolves after commit
   * @throws (as a rejection) DepthwattError of an engine that cannot be opened; the old one continues, and nothing has
   * changed
   */
  change(options: EngineOptions, afresh: boolean, commit: () => void): Promise<void> {
    return this.#inTurn(async () => {
      await this.#prepare(options, afresh ? {} : this.#adjustment);
      await this.#swapNext(commit);
    });
  }

  /** Resolves when the next engine is in use. */
  #swapNext(commit: () => void): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      this.#waiting.push({ commit, resolve, reject });
      this.rest();
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

  /** Keeps what "auto" found once: on the CPU it is not tried again. */
  #likeNow(options: EngineOptions): EngineOptions {
    return this.#engine.info.backend === "cpu" ? { ...options, backend: "cpu" } : options;
  }

  /** A level that CUDA does not compute must not move the run to the CPU. */
  #checkBackend({ info }: NativeEngine): void {
    if (this.#engine.info.backend !== "cpu" && info.backend === "cpu")
      throw new DepthwattError(
        "BACKEND_UNAVAILABLE",
        `The GPU refused another engine, so the one in use continues: ${info.backendReason}`,
      );
  }

  /**
   * Looks for the device again where `auto` found none, and moves to it between two frames.
   * @throws (as a rejection) DepthwattError BACKEND_UNAVAILABLE with the reason; the CPU continues
   */
  retryDevice(): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#closed) throw ended();
      if (this.#asked.backend !== "auto" || this.#engine.info.backend !== "cpu") return;
      const { options } = this.#next ?? { options: this.#options };
      const engine = await this.#openBeside(options);
      if (this.#closed || engine.info.backend === "cpu") {
        engine.close();
        throw this.#closed ? ended() : new DepthwattError("BACKEND_UNAVAILABLE", engine.info.backendReason);
      }
      this.#next?.engine.close();
      this.#next = { engine, options };
      await this.#swapNext(() => {});
    });
  }

  /**
   * Applies a waiting change if no frame is in work. A caller inside onDone that has handed the frame on calls it before
   * it chooses the next images, because they may be of another size afterwards.
   */
  rest(): void {
    if (this.#flying === 0 && !this.#closed) this.#swap();
  }

  submit(...[slot, left, right, onDone, follows, registered]: Parameters<NativeEngine["submit"]>): void {
    this.#flying++;
    try {
      const onComputed: typeof onDone = (error, result) => {
        this.#flying--;
        onDone(error, result);
        this.rest();
      };
      this.#engine.submit(slot, left, right, onComputed, follows, registered);
    } catch (error) {
      this.#flying--;
      throw error;
    }
  }

  /** Results that an output still holds are JavaScript's memory and survive their engine. */
  #swap(): void {
    const next = this.#next;
    if (next !== undefined) {
      this.#next = undefined;
      const { backend, backendReason } = this.info;
      const isCpu = backend === "cpu" && next.engine.info.backend === "cpu";
      this.#whyCpu = isCpu && next.options.backend !== "cpu" ? backendReason : undefined;
      this.#engine.close();
      this.#engine = next.engine;
      this.#options = next.options;
      this.#computed = computedOptions(next.options);
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

  compute(left: Uint8Array, right: Uint8Array, registered?: Uint8Array): Promise<FrameResult> {
    return new Promise((resolve, reject) => {
      const onDone = (error: Error | null, result: FrameResult) =>
        error === null ? resolve({ ...result }) : reject(error);
      this.submit(0, left, right, onDone, true, registered);
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

function computedOptions(options: EngineOptions): Computed {
  const { encodeDepth, encodeDisparity, leftRgb, rightGrey, points, voxels, registration } = options;
  const { region, width, height } = options;
  return {
    encodings: {
      ...(encodeDepth && { encodeDepth }),
      ...(encodeDisparity && { encodeDisparity }),
      ...(leftRgb && { leftRgb }),
      ...(rightGrey && { rightGrey }),
      ...(points && { points }),
      ...(voxels && { voxels }),
      ...(registration && { registration }),
    },
    width,
    height,
    askedPixels: region ? region.width * region.height : width * height,
  };
}

/** Returns whether two engines would compute the same. Memory and maps are compared as objects. */
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
