// SPDX-License-Identifier: Apache-2.0
// The watch of a run over its rig: a monitor for what comes in now, another one when the source or its calibration changes.
import { type FramePair, PairAligner, type PairAlignerOptions } from "../../../camera/index.js";
import type { Unavailable } from "../../contracts/availability.js";
import type { InputLayout } from "../../contracts/rig.js";
import type { PipelineGeometry } from "../../pipeline/geometry.js";
import { type CorrectionReport, RigCorrection } from "./correction.js";
import { DriftFile, type DriftReport, type OnDrift } from "./drift.js";
import { type LookGeometry, lookGeometryFrom, lookOptions } from "./look-options.js";
import { type HealthReport, type Looker, type MonitorEvents, RigMonitor } from "./monitor.js";
import { type PairProblem, problem } from "./problem.js";
import type { HealthSettings } from "./settings.js";

export type HealthFigures = (HealthReport & { correction: CorrectionReport }) | Unavailable;

export interface WatchEvents extends Pick<MonitorEvents, "onProblem"> {
  /** Called in one sentence when the right map has changed, or a rotation cannot be corrected. */
  onCorrection(sentence: string): void;
  /** Called when a reported problem belongs to a previous calibration or to previous settings. */
  onReset(): void;
  onDrift: OnDrift;
  /** Sets the map by which the engine reads the right image from the next frame on. */
  setRightMap(map: Int32Array): void;
}

/** Wider images are looked at at a half, a third, ...: an angle is as sure, and the look costs a quarter. */
const MAX_WIDTH = 800;
/** A camera that has turned by one degree is still found: a share of the focal length. */
const ROWS_PER_FOCAL = 0.02;
/** Half the image is nearer than any search. */
const DISPARITY_PER_WIDTH = 0.5;

export class RigWatch {
  readonly #events: WatchEvents;
  readonly #openAligner: (options: PairAlignerOptions) => Looker;
  #whyNot = "health.correct is false";
  #opened: { health: HealthSettings; layout: InputLayout; geometry: PipelineGeometry } | undefined;
  #correction: RigCorrection | undefined;
  #monitor: RigMonitor | undefined;
  #drift: DriftFile | undefined;

  constructor(
    events: WatchEvents,
    openAligner: (options: PairAlignerOptions) => Looker = (options) => new PairAligner(options),
  ) {
    this.#events = events;
    this.#openAligner = openAligner;
  }

  /**
   * From the next frame on. Where health.enabled is off it ends.
   * @throws DepthwattError MEMORY_EXHAUSTED
   */
  open(config: { health: HealthSettings }, layout: InputLayout, geometry: PipelineGeometry): void {
    const reported = this.problem;
    this.#begin(config, layout, geometry);
    if (reported !== undefined) this.#events.onReset();
  }

  #begin({ health }: { health: HealthSettings }, layout: InputLayout, geometry: PipelineGeometry): void {
    this.close();
    this.#opened = { health, layout, geometry };
    if (!health.enabled) return;
    const look = lookGeometryFrom(geometry);
    const { focalPixels, width } = look.view;
    const rows = Math.max(8, Math.round(ROWS_PER_FOCAL * focalPixels));
    const maxDisparity = Math.round(DISPARITY_PER_WIDTH * width);
    const reach = { maxWidth: MAX_WIDTH, rows, minDisparity: -4 - rows, maxDisparity };
    const aligner = this.#openAligner(lookOptions(layout, look, reach));
    this.#correction = this.#correctionFor(health, layout, geometry, look.view);
    this.#openDrift(health);
    this.#monitor = new RigMonitor(aligner, look, health, {
      onProblem: (problem) => this.#events.onProblem(problem),
      onAlignment: (alignment) => {
        this.#correction?.take(alignment);
        this.#drift?.take(alignment);
      },
    });
  }

  /**
   * Other settings for the rig that is watched, from the next look on.
   * @throws DepthwattError MEMORY_EXHAUSTED
   */
  configure(config: { health: HealthSettings }): void {
    const { health } = config;
    if (this.#opened === undefined) return;
    const { health: before, layout, geometry } = this.#opened;
    this.#opened = { health, layout, geometry };
    if (health.enabled !== before.enabled || health.correct !== before.correct) {
      const reported = this.problem;
      this.#correction?.undo();
      this.#begin(config, layout, geometry);
      if (reported !== undefined) this.#events.onReset();
      return;
    }
    if (health.driftFile !== before.driftFile) this.#openDrift(health);
    this.#monitor?.setLimits(health);
    this.#correction?.setMaxDegrees(health.maxCorrectionDegrees);
  }

  #openDrift({ driftFile }: HealthSettings): void {
    this.#drift?.save();
    this.#drift = driftFile === undefined ? undefined : new DriftFile(driftFile, this.#events.onDrift);
  }

  /** Returns the mean rotation of each day. */
  get drift(): DriftReport {
    return this.#drift?.report ?? { available: false, reason: "health.driftFile is not set" };
  }

  frame(images: Pick<FramePair, "left" | "right"> | undefined): void {
    if (images !== undefined) this.#monitor?.frame(images);
  }

  #correctionFor(
    { correct, maxCorrectionDegrees }: HealthSettings,
    { width: inputWidth, height: inputHeight }: InputLayout,
    { maps, rig: calibrated }: PipelineGeometry,
    view: LookGeometry["view"],
  ): RigCorrection | undefined {
    this.#whyNot = correct ? "needs a calibration: there is no map to turn" : "health.correct is false";
    if (!correct || maps === undefined || calibrated === undefined) return undefined;
    const { setRightMap, onCorrection } = this.#events;
    const rig = { view, inputWidth, inputHeight, rightMap: maps.rightMap, setRightMap };
    return new RigCorrection(rig, maxCorrectionDegrees, {
      onChange: onCorrection,
      onRefused: (why) => onCorrection(`health.correct: ${why}`),
    });
  }

  /** Returns `geometry`, with the corrected right map if a correction is active. */
  corrected(geometry: PipelineGeometry): PipelineGeometry {
    const rightMap = this.#correction?.active ? this.#correction.rightMap : undefined;
    return geometry.maps && rightMap ? { ...geometry, maps: { ...geometry.maps, rightMap } } : geometry;
  }

  /** Returns the correction that is applied and reported. */
  get correction(): CorrectionReport {
    return this.#correction?.figures() ?? { available: false, reason: this.#whyNot };
  }

  /** While a rotation is corrected, the rig is not as it was calibrated, however well its images match. */
  get problem(): PairProblem | undefined {
    const found = this.#monitor?.problem;
    if (!this.#correction?.active || (found !== undefined && found.code !== "RIG_MOVED")) return found;
    const { pitch, yaw, roll } = this.#correction.figures();
    const taken = `health.correct corrects ${Math.hypot(pitch, yaw, roll).toFixed(2)} degrees`;
    return problem("RIG_MOVED", `${found?.text ?? "the cameras have moved"}; ${taken}`);
  }

  figures(): HealthFigures {
    const report = this.#monitor?.report();
    if (report === undefined) return { available: false, reason: "health.enabled is false" };
    return { ...report, correction: this.correction };
  }

  close(): void {
    this.#drift?.save();
    this.#drift = undefined;
    this.#monitor?.close();
    this.#monitor = undefined;
    this.#correction?.close();
    this.#correction = undefined;
  }
}
