// SPDX-License-Identifier: Apache-2.0
// One running depthwatt: what it owns, what it reports about itself, and how it begins and ends. main.ts opens it.
import type { CaptureClock } from "../../camera/index.js";
import { DepthwattError } from "../../core/index.js";
import type { EngineOptions } from "../../cuda/index.js";
import { type Config, liveValues, type SettingsChange } from "../config/index.js";
import type { ComputedFrame } from "../contracts/computed-frame.js";
import type { EnergyRecord } from "../contracts/energy.js";
import type { DeviceState } from "../contracts/output.js";
import type { RunTotals } from "../contracts/totals.js";
import type { RunGovernor } from "../governor/index.js";
import { rowsTooFarApart } from "../pipeline/adaptation.js";
import type { PairProblem } from "../rig/health/index.js";
import type { RunFigures } from "./figures.js";
import { cameraInfo, clocksDiffer, runtimeInfo } from "./info.js";
import { LiveSettings } from "./live-settings.js";
import type { RuntimeParts } from "./parts.js";
import { RunState } from "./run-state.js";

export interface RuntimeEvents {
  /** Something to know, once: a warning of the calibration, a broker that speaks only 3.1.1. */
  onNotice(notice: string): void;
  /** Every outputs.metricsIntervalMs. */
  onFigures?(figures: RunFigures): void;
  /** Every log.energyIntervalSeconds. */
  onEnergy?(record: EnergyRecord): void;
  /** A frame was computed; its slot and images are lent until this returns. */
  onFrame?(frame: ComputedFrame): void;
  onState?(state: DeviceState, reason: string, code?: string): void;
  /** The machine is left idle for so long before the first frame. */
  onIdle?(seconds: number): void;
  /** Settings have changed; these hold from now on. */
  onSettings?(config: Config): void;
}

/** Requests that the owner of a runtime serves for its control; absent: unsupported. */
export interface RuntimeHost {
  /** Ends this run and begins another with the configuration as its files then are. @throws DepthwattError CONFIG_* */
  restart?: (from: string) => void;
  /** True if a person tries the program out: without a configuration file, not as a service, control untouched. */
  trial?: boolean;
  /** Writes values into the configuration file. @throws DepthwattError OUTPUT_UNWRITABLE */
  save?: (change: SettingsChange) => { file: string; overridden: string[] };
}

const RIG_WELL = "the cameras match their calibration again";

export class Runtime {
  readonly #events: RuntimeEvents;
  readonly #owned: { close(): void | Promise<void> }[] = [];
  readonly #settings: LiveSettings;
  readonly #state: RunState;
  #parts: RuntimeParts | undefined;
  #timer: NodeJS.Timeout | undefined;
  #running = false;
  #described = false;
  /** The clocks, and the paths of images and results, as published last. */
  #clocks: Readonly<Record<string, CaptureClock>> = {};
  #memory: string | undefined;
  #rowsApart = false;
  readonly #stopping = new AbortController();
  #failure: DepthwattError | undefined;
  /** Resolves when run() is called; rejects where it is closed before. */
  readonly begun: Promise<void>;
  #begin: () => void = () => {};
  #neverBegins: (error: DepthwattError) => void = () => {};

  constructor(config: Config, events: RuntimeEvents) {
    this.#events = events;
    this.#settings = new LiveSettings(config, this.#stopping.signal, {
      onNotice: (notice) => this.notice(notice),
      onCommit: (changed) => {
        if (this.#timer !== undefined) this.#startMetrics();
        events.onSettings?.(changed);
      },
      onApplied: (source) => {
        this.publishInfo();
        if (source !== undefined) this.#state.update(source);
      },
    });
    this.#state = new RunState(
      {
        backend: () => this.parts.engine.info.backend,
        outputProblem: () => this.parts.outputs.problem,
        rigProblem: () => this.parts.health.problem,
      },
      (state, reason, code) => {
        this.parts.outputs.state(state, reason, code);
        events.onState?.(state, reason, code);
      },
    );
    this.begun = new Promise((resolve, reject) => {
      this.#begin = resolve;
      this.#neverBegins = reject;
    });
    this.begun.catch(() => {});
  }

  /** The settings that hold now. */
  get config(): Config {
    return this.#settings.config;
  }

  get governor(): RunGovernor | undefined {
    return this.#settings.governor;
  }

  /** Returns whether the searched disparities or the region have changed since the start. */
  get searchChanged(): boolean {
    return this.#settings.searchChanged;
  }

  /** Counts since the start; undefined before it and after the end. */
  get totals(): RunTotals | undefined {
    return this.#running ? this.parts.reporter.totals() : undefined;
  }

  /** Closes `part` when the runtime closes, the newest one first. @returns the part */
  owns<Part extends { close(): void | Promise<void> }>(part: Part): Part {
    this.#owned.push(part);
    return part;
  }

  assemble(parts: RuntimeParts): void {
    this.#parts = parts;
    for (const warning of parts.input.warnings) this.notice(warning);
    this.#settings.assemble(parts);
  }

  get parts(): RuntimeParts {
    return this.#parts as RuntimeParts;
  }

  notice(notice: string): void {
    this.#events.onNotice(notice);
    this.#parts?.outputs.notice(notice);
  }

  frameDone(frame: ComputedFrame): void {
    // The clock of the stamps is known from the first image on.
    if (!this.#described) {
      this.#described = true;
      this.#describeClocks();
    }
    this.#state.backendWorks();
    // Frames are joined to energy by their capture time, where that is on the meter's clock.
    frame.energy = this.parts.meter.frame(
      frame.clock === "monotonic" ? frame.leftTimestampNs : frame.arrivedNs,
    );
    this.parts.duty.frameDone();
    this.parts.health.frame(frame.images);
    this.parts.matching.frame(frame);
    this.#events.onFrame?.(frame);
  }

  /** An entry of the energy log is complete. */
  energyLogged(record: EnergyRecord): void {
    this.parts.outputs.energy(record);
    this.#events.onEnergy?.(record);
  }

  /** Publishes the clocks of the stamps when they become known, and again when one jumped or drifted by a millisecond. */
  #describeClocks(): void {
    const { source, input, outputs } = this.parts;
    const clocks = source.captureClocks?.() ?? {};
    if (!clocksDiffer(this.#clocks, clocks)) return;
    this.#clocks = clocks;
    this.publishInfo();
    const described = cameraInfo(input, source);
    if (described !== undefined) outputs.cameraInfo(described);
  }

  /** Publishes the paths of images and results, once their cost is known or when another one is taken. */
  #describeMemory(): void {
    const { images, results, imagesMicroseconds } = this.parts.engine.info.memory;
    const described = imagesMicroseconds === undefined ? undefined : `${images} ${results}`;
    if (described === this.#memory) return;
    this.#memory = described;
    this.publishInfo();
  }

  /** Publishes the run's description after a change. */
  publishInfo(): void {
    if (this.#running) this.parts.outputs.info(runtimeInfo(this.config, this.parts));
  }

  /** Another engine computes from the next frame on: it may have been opened before the right map was corrected. */
  engineChanged({ rightMap }: EngineOptions): void {
    const { engine, health, input } = this.parts;
    const corrected = health.corrected(input.geometry).maps?.rightMap;
    if (corrected !== undefined && rightMap !== undefined && corrected !== rightMap)
      engine.setRightMap(corrected);
    this.publishInfo();
  }

  /** The source went bad, or recovered (undefined). */
  degraded(reason: string | undefined, code?: string): void {
    this.#state.setSourceProblem(reason, code);
    if (reason !== undefined) this.notice(code === undefined ? reason : `${reason} (${code})`);
  }

  /** The run fell asleep or woke up. */
  dutyChanged(reason: string): void {
    this.#state.update(reason);
  }

  /** An output went bad, or recovered (undefined). */
  outputProblem(problem: string | undefined): void {
    if (problem !== undefined) this.notice(problem);
    this.#state.update("all outputs work again");
  }

  /** The cameras have moved, one lost its focus, or all is well again (undefined). */
  rigProblem(problem: PairProblem | undefined): void {
    this.notice(problem === undefined ? RIG_WELL : `${problem.text} (${problem.code}): ${problem.hint}`);
    this.#state.update(RIG_WELL);
  }

  /** The problem that was reported belonged to another calibration or other settings. */
  rigReset(): void {
    this.#state.update("the cameras are compared with their calibration anew");
  }

  /** The means of the rig's rotation were saved (undefined), or cannot be kept. */
  rigDrift(problem: string | undefined): void {
    if (problem !== undefined) this.notice(problem);
    this.publishInfo();
  }

  /** The right image is rectified by another map from now on, or the measured rotation cannot be corrected. */
  rigCorrection(sentence: string): void {
    this.notice(sentence);
    this.publishInfo();
    this.#state.update(RIG_WELL);
  }

  /** The GPU computes now, where `auto` began on the CPU. */
  backendFound(): void {
    const text = "the GPU answers now and computes from the next frame on";
    this.notice(text);
    this.#state.backendWorks();
    this.#state.update(text);
  }

  /**
   * A frame was lost with its backend, so another one may compute now; or no GPU answered at the start.
   * @param code GPU_LOST, or of GPU_CAUSES
   */
  backendLost(reason: string, code = "GPU_LOST"): void {
    if (!this.#state.setBackendLoss(reason, code)) return;
    const isLost = code === "GPU_LOST" && this.parts.engine.info.backend === "cpu";
    this.notice(isLost ? `${reason} (${code}): ${new DepthwattError(code, reason).hint}` : reason);
    this.publishInfo();
    this.#state.update(reason);
  }

  /** As LiveSettings.apply(). */
  apply(change: SettingsChange, from = "apply"): Promise<SettingsChange> {
    return this.#settings.apply(change, from);
  }

  /** As LiveSettings.sleep(). */
  sleep(isWanted: () => boolean): Promise<void> {
    return this.#settings.sleep(isWanted);
  }

  /** As LiveSettings.wake(). */
  wake(isWanted: () => boolean): Promise<void> {
    return this.#settings.wake(isWanted);
  }

  /** Once each time the pairs get that far apart. */
  #warnRowsApart(): void {
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
      this.#warnRowsApart();
      this.#describeClocks();
      this.#describeMemory();
      this.#events.onFigures?.(recent);
    }, this.config.outputs.metricsIntervalMs);
  }

  /** Runs to the end of the source, the frame limit or stop(), closes everything and returns the figures of the whole run. */
  async run(): Promise<RunFigures> {
    this.#begin();
    const { meter, energyLog, pipeline, outputs, reporter, input, source, gpu, duty } = this.parts;
    const { idleSeconds } = this.config.power;
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
    this.#settings.begin();
    const described = cameraInfo(input, source);
    if (described !== undefined) outputs.cameraInfo(described);
    this.publishInfo();
    outputs.settings(liveValues(this.config, false), "start");
    this.#state.begin(source.description.title);
    void gpu.begin().catch((error: Error) => this.notice(error.message));
    this.#startMetrics();
    try {
      reporter.begin();
      energyLog.begin(this.config.log.energyIntervalSeconds);
      duty.begin();
      await pipeline.run();
    } finally {
      // Also where it ends automatically: who asked for another source is answered while the outputs are open.
      this.#stopping.abort();
      duty.end();
      this.#running = false;
      this.#state.end();
      clearInterval(this.#timer);
      this.#timer = undefined;
      energyLog.end();
      await this.#settings.end();
      figures = reporter.figures("run");
      this.#warnRowsApart();
      outputs.metrics(figures);
      this.#failure = outputs.failure;
      await this.close();
      // The last frames of an output may fail when it closes.
      this.#failure ??= outputs.failure;
      // Only a closed output knows how many of its frames were sent.
      figures = reporter.settled(figures);
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
    for (let part = this.#owned.pop(); part !== undefined; part = this.#owned.pop()) await part.close();
  }
}
