// SPDX-License-Identifier: Apache-2.0
// One running depthwatt: what it owns, what it tells the broker about itself, and how it ends. Opened by main.ts.
import type { PairSource } from "../../camera/index.js";
import type { MatchParameters, NativeEngine } from "../../cuda/index.js";
import type { Meter } from "../../power/index.js";
import type { Config } from "../config/index.js";
import type { GovernorLoop } from "../governor/index.js";
import type { BrokerStatus, DeviceState } from "../outputs/mqtt/index.js";
import { VERSION } from "../version.js";
import type { RunFigures } from "./figures.js";
import type { PipelineGeometry } from "./geometry.js";
import { regionParameters } from "./parameters.js";
import type { ComputedFrame, Pipeline } from "./pipeline.js";
import type { Publishing } from "../outputs/mqtt/publishing.js";
import type { Reporter } from "./reporter.js";

export interface StationEvents {
  /** Something to know, once: a warning of the calibration, a broker that speaks only 3.1.1. */
  onNotice(notice: string): void;
  /** Every metricsIntervalMs. */
  onFigures?(figures: RunFigures): void;
  /** A frame was computed: the proof of progress that a watchdog wants. */
  onFrame?(): void;
  onState?(state: DeviceState, reason: string): void;
}

export interface StationParts {
  config: Config;
  source: PairSource;
  geometry: PipelineGeometry;
  engine: NativeEngine;
  /** What is computed now: the configuration's, or what the governor made of it. */
  match: () => MatchParameters;
  meter: Meter;
  /** Undefined where neither a budget nor a frame rate is asked for. */
  governor: GovernorLoop | undefined;
  pipeline: Pipeline;
  publishing: Publishing;
  reporter: Reporter;
  warnings: readonly string[];
}

export class Station {
  readonly #events: StationEvents;
  readonly #closers: (() => void | Promise<void> | undefined)[] = [];
  #parts: StationParts | undefined;
  #closing = false;
  #sourceProblem: string | undefined;
  #backendLoss: string | undefined;

  constructor(events: StationEvents) {
    this.#events = events;
  }

  /** `close` is called when the station closes, the newest owner first. */
  owns(close: () => void | Promise<void> | undefined): void {
    this.#closers.push(close);
  }

  assemble(parts: StationParts): void {
    this.#parts = parts;
    for (const warning of parts.warnings) this.notice(warning);
  }

  get parts(): StationParts {
    return this.#parts as StationParts;
  }

  notice(notice: string): void {
    this.#events.onNotice(notice);
  }

  frameDone(frame: ComputedFrame): void {
    // Frames are joined to energy by their capture time, where that is on the meter's clock.
    this.parts.meter.frame(frame.clock === "monotonic" ? frame.leftTimestampNs : frame.arrivedNs);
    this.#events.onFrame?.();
  }

  frameSent(frame: ComputedFrame): void {
    this.parts.pipeline.noteLatency(frame);
  }

  frameDropped(cause: string): void {
    this.parts.pipeline.drops.add(cause);
  }

  brokerStatus(status: BrokerStatus): void {
    if (!status.connected && !this.#closing) this.notice(`broker: ${status.reason}`);
  }

  /** What is computed has changed: what is retained about it changes with it. */
  matchChanged(): void {
    this.parts.publishing.publisher?.info(this.#info());
  }

  /** The source went bad, or recovered (undefined). */
  degraded(reason: string | undefined): void {
    this.#sourceProblem = reason;
    this.#showState("the source delivers again");
    if (reason !== undefined) this.notice(reason);
  }

  /** A frame was lost with its backend: what computes now may be another. */
  backendLost(reason: string): void {
    if (reason === this.#backendLoss) return; // the other frame that was in work
    this.#backendLoss = reason;
    this.notice(reason);
    this.parts.publishing.publisher?.info(this.#info());
    this.#showState(reason);
  }

  #showState(cure: string): void {
    // Only "auto" comes from CUDA to the processor.
    const slower = this.#backendLoss !== undefined && this.parts.engine.info.backend === "cpu";
    const problem = this.#sourceProblem ?? (slower ? this.#backendLoss : undefined);
    this.#setState(problem === undefined ? "online" : "degraded", problem ?? cure);
  }

  /** Runs to the end of the source, the frame limit or stop(), closes everything and returns the figures of the whole run. */
  async run(): Promise<RunFigures> {
    const { config, meter, governor, pipeline, publishing, reporter, geometry, source } = this.parts;
    const { publisher } = publishing;
    let figures: RunFigures;
    // A run that is over before the broker has answered would have published nothing.
    await publisher?.firstAttempt;
    meter.start();
    // A window of the meter is a second at least.
    if (config.power.idleSeconds > 0) {
      await meter.measureIdle(Math.max(1.1, config.power.idleSeconds));
      meter.restart();
    }
    governor?.start();
    if (geometry.cameraInfo !== undefined) publisher?.cameraInfo(geometry.cameraInfo);
    publisher?.info(this.#info());
    this.#setState("online", source.description.title);
    const timer = setInterval(() => {
      const recent = reporter.figures("recent");
      publisher?.metrics(recent);
      this.#events.onFigures?.(recent);
    }, config.publish.metricsIntervalMs);
    try {
      reporter.begin();
      await pipeline.run();
    } finally {
      clearInterval(timer);
      await governor?.stop();
      figures = reporter.figures("run");
      publisher?.metrics(figures);
      await this.close();
    }
    return figures;
  }

  /** Ends run() after the frame that is being computed. */
  stop(): void {
    this.parts.pipeline.stop();
  }

  async close(): Promise<void> {
    this.#closing = true;
    for (let close = this.#closers.pop(); close !== undefined; close = this.#closers.pop()) await close();
  }

  #setState(state: DeviceState, reason: string): void {
    this.parts.publishing.publisher?.state(state, reason);
    this.#events.onState?.(state, reason);
  }

  #info(): object {
    const { config, engine, publishing, source, geometry, match } = this.parts;
    const { info } = engine;
    return {
      version: VERSION,
      board: config.board,
      source: source.description.title,
      backend: info.backend,
      backendReason: info.backendReason,
      instructionSet: info.instructionSet,
      threads: info.threads,
      algorithm: config.match.algorithm,
      parameters: { match: match(), refine: config.refine },
      region: regionParameters(config.region, geometry).region ?? null,
      width: geometry.width,
      height: geometry.height,
      streams: publishing.streams,
      limits: {
        maxPayloadBytes: config.publish.maxPayloadBytes,
        maxPendingBytes: config.publish.maxPendingBytes,
      },
    };
  }
}
