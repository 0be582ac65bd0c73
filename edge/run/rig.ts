// SPDX-License-Identifier: Apache-2.0
// One of several rigs: opens its run, and opens it again after a failure, without touching the others.
import { setTimeout as rest } from "node:timers/promises";
import { DepthwattError } from "../../core/index.js";
import type { Config } from "../config/index.js";
import type { Unavailable } from "../contracts/availability.js";
import { codedError } from "../contracts/coded-error.js";
import { AbsentState } from "../outputs/mqtt/absent-state.js";
import type { RunFigures } from "./figures.js";
import { openRuntime } from "./main.js";
import type { Runtime, RuntimeEvents, RuntimeHost } from "./runtime.js";
import type { SharedParts } from "./shared-parts.js";

export const FIRST_PAUSE_MS = 2000;
const LONGEST_PAUSE_MS = 60_000;

/** waiting: it failed, and is opened again after a pause. */
export type RigPhase = "starting" | "running" | "waiting" | "ended";

/** A rig in `run --json`: the figures of its newest run, or why it never ran. */
export type RigSummary = RunFigures | (Unavailable & { code: string });

export interface RigOptions {
  name: string;
  config: Config;
  /** Reads the configuration again: after a failure, or for a restart. @throws DepthwattError CONFIG_* */
  load(): Config;
  /** Ends each run after this many frames. */
  frames: number | undefined;
  /** Lends the parts of the process for one run; close() takes them back. */
  share(): SharedParts & { close(): void };
  /** Returns the embedded broker's address where it runs. */
  brokerUrl(): Promise<string | undefined>;
  save: RuntimeHost["save"];
  /** No rig is waited for any more. */
  over: AbortSignal;
  firstPauseMs?: number | undefined;
}

export interface RigEvents extends Omit<RuntimeEvents, "onEnergy" | "onIdle"> {
  onOpen(runtime: Runtime): void;
  onPhase(phase: RigPhase): void;
  /** It failed. */
  onWait(problem: DepthwattError): void;
}

const coded = (error: unknown): DepthwattError =>
  codedError(error) ?? new DepthwattError("INTERNAL", (error as Error).message, { cause: error });

export class Rig {
  /** Resolves once it runs, or its first attempt has failed. */
  readonly begun: Promise<void>;
  #begin: () => void = () => {};
  readonly #options: RigOptions;
  readonly #events: RigEvents;
  #config: Config;
  #phase: RigPhase = "starting";
  #runtime: Runtime | undefined;
  #problem: DepthwattError | undefined;
  #figures: RunFigures | undefined;
  #framesBefore = 0;
  #absent: AbsentState | undefined;
  #pauseMs: number;
  #again = false;

  constructor(options: RigOptions, events: RigEvents) {
    this.begun = new Promise((resolve) => {
      this.#begin = resolve;
    });
    this.#options = options;
    this.#events = events;
    this.#config = options.config;
    this.#pauseMs = options.firstPauseMs ?? FIRST_PAUSE_MS;
  }

  get name(): string {
    return this.#options.name;
  }

  get phase(): RigPhase {
    return this.#phase;
  }

  /** Its run; undefined while there is none. */
  get runtime(): Runtime | undefined {
    return this.#runtime;
  }

  /** Why it waits, or has failed in the end. */
  get problem(): DepthwattError | undefined {
    return this.#problem;
  }

  /** Frames of all of its runs. */
  get frames(): number {
    return this.#framesBefore + (this.#runtime?.parts.pipeline.frames ?? 0);
  }

  get summary(): RigSummary {
    if (this.#figures !== undefined) return this.#figures;
    const { code = "RUN_ENDED", message = "the run ended before it began" } = this.#problem ?? {};
    return { available: false, reason: message, code };
  }

  /** Runs until its source, the frame limit or stop() ends it, or it fails when no rig is waited for. */
  async serve(): Promise<void> {
    const { over } = this.#options;
    for (;;) {
      const ended = await this.#attempt();
      if (over.aborted || (ended && !this.#again)) break;
      if (!ended) {
        await this.#pause();
        if (over.aborted) break;
      }
      this.#again = false;
      this.#become("starting");
    }
    await this.#absent?.close();
    this.#become("ended");
  }

  /** @returns whether it came to an end of its run */
  async #attempt(): Promise<boolean> {
    const shared = this.#options.share();
    try {
      const runtime = await this.#open(shared);
      const figures = await this.#run(runtime);
      this.#figures = figures;
      const isStopped = this.#options.over.aborted || this.#again;
      if (!isStopped && figures.frames === 0)
        throw new DepthwattError("SOURCE_EMPTY", "Expected at least one frame, none was computed.");
      if (!isStopped && runtime.failure !== undefined) throw runtime.failure;
      return true;
    } catch (error) {
      await this.#fail(coded(error));
      return false;
    } finally {
      shared.close();
    }
  }

  async #open(shared: SharedParts): Promise<Runtime> {
    // The file may have been corrected since the failure.
    if (this.#problem !== undefined || this.#figures !== undefined) this.#config = this.#options.load();
    const { frames, load, save } = this.#options;
    const restart = () => {
      load();
      this.#again = true;
      this.#runtime?.stop();
    };
    const host = { restart, ...(save && { save }) };
    const runtime = await openRuntime(this.#config, frames, this.#events, host, shared);
    await this.#absent?.close();
    this.#absent = undefined;
    this.#problem = undefined;
    return runtime;
  }

  async #run(runtime: Runtime): Promise<RunFigures> {
    const { over, firstPauseMs = FIRST_PAUSE_MS } = this.#options;
    const stop = () => runtime.stop();
    try {
      this.#runtime = runtime;
      this.#become("running");
      this.#events.onOpen(runtime);
      over.addEventListener("abort", stop);
      if (over.aborted) stop();
      const figures = await runtime.run();
      this.#pauseMs = firstPauseMs;
      return figures;
    } finally {
      over.removeEventListener("abort", stop);
      this.#framesBefore += runtime.parts.pipeline.frames;
      this.#runtime = undefined;
      await runtime.close();
    }
  }

  async #fail(problem: DepthwattError): Promise<void> {
    this.#problem = problem;
    const { over, brokerUrl } = this.#options;
    if (!over.aborted) {
      this.#events.onWait(problem);
      this.#events.onState?.("degraded", problem.message, problem.code);
      await this.#publishAbsent(problem, await brokerUrl()).catch((error: Error) =>
        this.#events.onNotice(`state: ${error.message}`),
      );
    }
    this.#become("waiting");
  }

  async #publishAbsent({ message, code }: DepthwattError, url: string | undefined): Promise<void> {
    const { base, device, outputs } = this.#config;
    const { broker } = outputs.mqtt;
    if (broker === "none" || (broker === "embedded" && url === undefined)) return;
    this.#absent ??= new AbsentState({
      settings: outputs.mqtt,
      base,
      device,
      ...(broker === "embedded" && { url }),
    });
    this.#absent.state("degraded", message, code);
  }

  async #pause(): Promise<void> {
    await rest(this.#pauseMs, undefined, { signal: this.#options.over }).catch(() => {});
    this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS);
  }

  #become(phase: RigPhase): void {
    this.#phase = phase;
    if (phase !== "starting") this.#begin();
    this.#events.onPhase(phase);
  }
}
