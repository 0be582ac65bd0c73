// SPDX-License-Identifier: Apache-2.0
// One running depthwatt: what it owns, what it tells its outputs about itself, how its settings change, and how it ends. Opened
// by main.ts.
import type { PairSource } from "../../camera/index.js";
import { DepthwattError } from "../../core/index.js";
import type { EngineOptions } from "../../cuda/index.js";
import type { Meter } from "../../power/index.js";
import {
  changedConfig,
  type Config,
  describedSettings,
  type SettingsChange,
  valueAt,
} from "../config/index.js";
import type { GovernorLoop } from "../governor/index.js";
import type { DeviceState } from "../contracts/output.js";
import type { OutputPicture } from "../contracts/output.js";
import type { Outputs } from "../outputs/outputs.js";
import type { AdjustableEngine } from "../pipeline/adjustable-engine.js";
import type { ComputedFrame } from "../contracts/computed-frame.js";
import type { RunFigures } from "./figures.js";
import { runtimeInfo } from "./info.js";
import type { PairProblem, RigWatch } from "../rig/health/index.js";
import type { LiveInput, NextInput } from "./live-input.js";
import type { Pipeline } from "../pipeline/pipeline.js";
import { rowsTooFarApart } from "../pipeline/adaptation.js";
import type { Reporter } from "./reporter.js";
import type { RunTotals } from "../contracts/totals.js";
import { colourNote } from "./source-wish.js";

export interface RuntimeEvents {
  /** Something to know, once: a warning of the calibration, a broker that speaks only 3.1.1. */
  onNotice(notice: string): void;
  /** Every outputs.metricsIntervalMs. */
  onFigures?(figures: RunFigures): void;
  /** A frame was computed: the proof of progress that a watchdog wants. */
  onFrame?(): void;
  onState?(state: DeviceState, reason: string, code?: string): void;
  /** The machine is left idle for so long before the first frame. */
  onIdle?(seconds: number): void;
  /** Settings have changed; these hold from now on. */
  onSettings?(config: Config): void;
}

/** What whoever runs a runtime can do for those who ask over its control; absent: it cannot. */
export interface RuntimeHost {
  /** Ends this run and begins another with the configuration as its files then are. @throws DepthwattError CONFIG_* */
  restart?: (from: string) => void;
  /** Writes values into the configuration file. @throws DepthwattError OUTPUT_UNWRITABLE */
  save?: (change: SettingsChange) => { file: string; overridden: string[] };
}

export interface RuntimeParts {
  /** What the pipeline takes pairs from: that of `input`, at most at the governor's rate. */
  source: PairSource;
  input: LiveInput;
  engine: AdjustableEngine;
  meter: Meter;
  health: RigWatch;
  pipeline: Pipeline;
  outputs: Outputs;
  /** Those that still wait for a frame are given up by close(). */
  snapshots: { close(): void };
  reporter: Reporter;
  /** What the engine would have to compute for a configuration, and of another input where one is given. @throws DepthwattError */
  engineOptions(config: Config, next?: NextInput): EngineOptions;
  /** A governor where the configuration asks for one, not started. @throws DepthwattError */
  govern(config: Config, next?: NextInput): GovernorLoop | undefined;
  warnings: readonly string[];
}

/** Settings whose change needs another governor: its goal, and the best level of its ladder. */
const GOVERNED = /^(match\.|power\.(budgetWatts|minFps)$)/;

export class Runtime {
  readonly #events: RuntimeEvents;
  readonly #closers: (() => void | Promise<void> | undefined)[] = [];
  #config: Config;
  #parts: RuntimeParts | undefined;
  #governor: GovernorLoop | undefined;
  #sourceProblem: string | undefined;
  #backendLoss: string | undefined;
  #colourNote: string | undefined;
  #changes: Promise<unknown> = Promise.resolve();
  #searchChanged = false;
  #timer: NodeJS.Timeout | undefined;
  #running = false;
  #rowsApart = false;
  readonly #stopping = new AbortController();
  #failure: DepthwattError | undefined;
  /** Resolves when run() is called; rejects where it is closed before. */
  readonly begun: Promise<void>;
  #begin: () => void = () => {};
  #neverBegins: (error: DepthwattError) => void = () => {};

  constructor(config: Config, events: RuntimeEvents) {
    this.#config = config;
    this.#events = events;
    this.begun = new Promise((resolve, reject) => {
      this.#begin = resolve;
      this.#neverBegins = reject;
    });
    this.begun.catch(() => {});
  }

  /** The settings that hold now. */
  get config(): Config {
    return this.#config;
  }

  get governor(): GovernorLoop | undefined {
    return this.#governor;
  }

  /** Whether what is searched has changed since the start. */
  get searchChanged(): boolean {
    const governed = this.#governor?.figures;
    return this.#searchChanged || (governed?.available === true && governed.changes > 0);
  }

  /** Counts since the start; undefined before it and after the end. */
  get totals(): RunTotals | undefined {
    return this.#running ? this.parts.reporter.totals() : undefined;
  }

  /** `close` is called when the runtime closes, the newest owner first. */
  owns(close: () => void | Promise<void> | undefined): void {
    this.#closers.push(close);
  }

  assemble(parts: RuntimeParts): void {
    this.#parts = parts;
    this.#governor = parts.govern(this.#config);
    for (const warning of parts.warnings) this.notice(warning);
    this.#noteColours();
  }

  get parts(): RuntimeParts {
    return this.#parts as RuntimeParts;
  }

  notice(notice: string): void {
    this.#events.onNotice(notice);
    this.#parts?.outputs.notice(notice);
  }

  frameDone(frame: ComputedFrame): void {
    // Frames are joined to energy by their capture time, where that is on the meter's clock.
    this.parts.meter.frame(frame.clock === "monotonic" ? frame.leftTimestampNs : frame.arrivedNs);
    this.parts.health.frame(frame.images);
    this.#events.onFrame?.();
  }

  /** What is told about the run has changed. */
  tellInfo(): void {
    if (this.#running) this.parts.outputs.info(runtimeInfo(this.#config, this.parts));
  }

  /** The source went bad, or recovered (undefined). */
  degraded(reason: string | undefined): void {
    this.#sourceProblem = reason;
    this.#showState("the source delivers again");
    if (reason !== undefined) this.notice(reason);
  }

  /** An output went bad, or recovered (undefined). */
  outputProblem(problem: string | undefined): void {
    if (problem !== undefined) this.notice(problem);
    if (this.#running) this.#showState("all outputs work again");
  }

  /** The rig has moved, a camera lost its focus, or all is well again (undefined). */
  rigProblem(problem: PairProblem | undefined): void {
    const again = "the cameras lie as they were calibrated again";
    this.notice(problem === undefined ? again : `${problem.text} (${problem.code}): ${problem.hint}`);
    if (this.#running) this.#showState(again);
  }

  /** The right image is read by another map from now on, or what is measured cannot be taken off. */
  rigCorrection(sentence: string): void {
    this.notice(sentence);
    this.tellInfo();
    if (this.#running) this.#showState("the cameras lie as they were calibrated again");
  }

  /** A frame was lost with its backend: what computes now may be another. */
  backendLost(reason: string): void {
    if (reason === this.#backendLoss) return; // the other frame that was in work
    this.#backendLoss = reason;
    this.notice(reason);
    this.tellInfo();
    this.#showState(reason);
  }

  #showState(reason: string): void {
    const { engine, outputs } = this.parts;
    // Only "auto" comes from CUDA to the CPU.
    const slower = this.#backendLoss !== undefined && engine.info.backend === "cpu";
    const problem = this.#sourceProblem ?? (slower ? this.#backendLoss : undefined) ?? outputs.problem;
    const rig = problem === undefined ? this.parts.health.problem : undefined;
    const told = problem ?? rig?.text;
    this.#setState(told === undefined ? "online" : "degraded", told ?? reason, rig?.code);
  }

  #setState(state: DeviceState, reason: string, code?: string): void {
    this.parts.outputs.state(state, reason, code);
    this.#events.onState?.(state, reason, code);
  }

  /**
   * Changes settings of the running program: all of them or none. Calls at the same time are served one after the other.
   * @param from who asks, as messages name it
   * @returns the values that hold now, of every key that was given
   * @throws DepthwattError CONFIG_UNKNOWN_KEY, CONFIG_INVALID, SETTING_NEEDS_RESTART, ENGINE_PARAMETER, ENGINE_FAILED,
   *   BACKEND_UNAVAILABLE, those of a source or calibration that cannot be opened, RUN_ENDED; nothing has changed then
   */
  apply(change: SettingsChange, from = "apply"): Promise<SettingsChange> {
    const applied = this.#changes.then(() => this.#apply(change, from));
    this.#changes = applied.catch(() => {});
    return applied;
  }

  async #apply(change: SettingsChange, from: string): Promise<SettingsChange> {
    const { config, changed } = changedConfig(this.#config, change, from);
    if (changed.length > 0) {
      const next = await this.parts.input.prepare(config, changed, this.#stopping.signal);
      try {
        await this.#change(config, changed, next);
      } catch (error) {
        await next?.discard();
        throw error;
      }
      this.parts.outputs.settings(
        Object.fromEntries(changed.map((key) => [key, valueAt(config, key)])),
        from,
      );
      this.tellInfo();
      for (const warning of next?.warnings ?? []) this.notice(warning);
      this.#noteColours();
    }
    return Object.fromEntries(Object.keys(change).map((key) => [key, valueAt(config, key)]));
  }

  /** Once for each matcher that computes without the colours it reads. */
  #noteColours(): void {
    const note = colourNote(this.#config, this.parts.source.description);
    if (note === this.#colourNote) return;
    this.#colourNote = note;
    if (note !== undefined) this.notice(note);
  }

  async #change(config: Config, changed: readonly string[], next: NextInput | undefined): Promise<void> {
    const { engine, engineOptions, govern } = this.parts;
    const regoverned = next !== undefined || changed.some((key) => GOVERNED.test(key));
    const options = engineOptions(config, next);
    const governor = regoverned ? govern(config, next) : this.#governor;
    // Its levels are those of the old settings.
    if (regoverned) await this.#governor?.stop();
    try {
      await engine.change(options, regoverned, () => this.#commit(config, changed, governor, next));
    } finally {
      if (regoverned && this.#running) this.#governor?.start();
    }
  }

  /** Between two frames: from the next one on everything holds. */
  #commit(
    config: Config,
    changed: readonly string[],
    governor: GovernorLoop | undefined,
    next: NextInput | undefined,
  ): void {
    const { pipeline, outputs, input } = this.parts;
    const told = input.geometry.cameraInfo;
    this.#config = config;
    this.#governor = governor;
    this.#searchChanged ||= next !== undefined || changed.some((key) => /^(match|region)\./.test(key));
    if (next !== undefined) {
      pipeline.forgetWaiting();
      next.takeOver();
    }
    this.#watchRig(config, changed, next !== undefined);
    outputs.configure(config.outputs, this.picture);
    const { cameraInfo } = input.geometry;
    if (next !== undefined && (told ?? cameraInfo) !== undefined) outputs.cameraInfo(cameraInfo);
    if (this.#timer !== undefined) this.#startMetrics();
    this.#events.onSettings?.(config);
  }

  /** The change holds already: without memory for a watch frames are computed all the same. */
  #watchRig(config: Config, changed: readonly string[], anew: boolean): void {
    const { health, source, input } = this.parts;
    try {
      if (anew) health.open(config, source.description, input.geometry);
      else if (changed.some((key) => key.startsWith("health."))) health.configure(config);
    } catch (error) {
      this.notice(`health: ${(error as Error).message}`);
    }
  }

  /** What the frames are of. */
  get picture(): OutputPicture {
    const { width, height, depth, rig } = this.parts.input.geometry;
    const { description } = this.parts.source;
    const { rateHz } = description;
    return { width, height, hasDepth: depth !== undefined, rig, input: description, rateHz };
  }

  /** Once each time the pairs get that far apart. */
  #tellRowsApart(): void {
    const tooFar = rowsTooFarApart(this.parts.engine.info);
    if (tooFar !== undefined && !this.#rowsApart) this.notice(tooFar);
    this.#rowsApart = tooFar !== undefined;
  }

  #startMetrics(): void {
    const { reporter, outputs } = this.parts;
    clearInterval(this.#timer);
    this.#timer = setInterval(() => {
      const recent = reporter.figures("recent");
      outputs.metrics(recent);
      this.#tellRowsApart();
      this.#events.onFigures?.(recent);
    }, this.#config.outputs.metricsIntervalMs);
  }

  /** Runs to the end of the source, the frame limit or stop(), closes everything and returns the figures of the whole run. */
  async run(): Promise<RunFigures> {
    this.#begin();
    const { meter, pipeline, outputs, snapshots, reporter, input, source } = this.parts;
    const { idleSeconds } = this.#config.power;
    let figures: RunFigures;
    // A run that is over before the broker has answered would have published nothing.
    await outputs.ready();
    meter.start();
    // A window of the meter is a second at least.
    if (idleSeconds > 0 && "rails" in meter.sensor) {
      const seconds = Math.max(1.1, idleSeconds);
      this.#events.onIdle?.(seconds);
      await meter.measureIdle(seconds, this.#stopping.signal);
      meter.restart();
    }
    this.#running = true;
    this.#governor?.start();
    const { cameraInfo } = input.geometry;
    if (cameraInfo !== undefined) outputs.cameraInfo(cameraInfo);
    this.tellInfo();
    outputs.settings(describedSettings(this.#config, false).values, "start");
    this.#setState("online", source.description.title);
    this.#startMetrics();
    try {
      reporter.begin();
      await pipeline.run();
    } finally {
      // Also where it ends by itself: who asked for another source is answered while the outputs are open.
      this.#stopping.abort();
      this.#running = false;
      clearInterval(this.#timer);
      this.#timer = undefined;
      await this.#governor?.stop();
      figures = reporter.figures("run");
      this.#tellRowsApart();
      outputs.metrics(figures);
      this.#failure = outputs.failure;
      // No frame comes any more: who waits for one is answered while the outputs are open.
      snapshots.close();
      // Only a closed output knows what became of each frame.
      await outputs.close();
      figures = reporter.settled(figures);
      await this.close();
    }
    return figures;
  }

  /** Why what an output was given did not arrive when the run ended. */
  get failure(): DepthwattError | undefined {
    return this.#failure;
  }

  /** Ends run() after the frame that is being computed. */
  stop(): void {
    this.#stopping.abort();
    this.parts.pipeline.stop();
  }

  async close(): Promise<void> {
    this.#neverBegins(new DepthwattError("RUN_ENDED", "the run ended before it began"));
    for (let close = this.#closers.pop(); close !== undefined; close = this.#closers.pop()) await close();
  }
}
