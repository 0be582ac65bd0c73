// SPDX-License-Identifier: Apache-2.0
// The watch of a run over its rig: a monitor for what comes in now, another one when the source or its calibration changes.
import { PairAligner } from "../../cuda/index.js";
import type { FramePair } from "../../camera/index.js";
import type { Config } from "../config/index.js";
import type { PipelineGeometry } from "../pipeline/geometry.js";
import type { Unavailable } from "../pipeline/known.js";
import type { InputLayout } from "../pipeline/rig.js";
import { lookGeometryOf, lookOptions } from "./look-options.js";
import { type HealthReport, type MonitorEvents, RigMonitor } from "./monitor.js";
import type { PairProblem } from "./problem.js";

export type HealthFigures = HealthReport | Unavailable;

/** Wider images are looked at at a half, a third, ...: an angle is as sure, and the look costs a quarter. */
const MAX_WIDTH = 800;
/** A camera that has turned by one degree is still found: a share of the focal length. */
const ROWS_PER_FOCAL = 0.02;
/** Half the image is nearer than any search. */
const DISPARITY_PER_WIDTH = 0.5;

export class RigWatch {
  readonly #events: MonitorEvents;
  #monitor: RigMonitor | undefined;

  constructor(events: MonitorEvents) {
    this.#events = events;
  }

  /**
   * From the next frame on. Where health.enabled is off it ends.
   * @throws DepthwattError MEMORY_EXHAUSTED
   */
  open({ health }: Config, layout: InputLayout, geometry: PipelineGeometry): void {
    this.close();
    if (!health.enabled) return;
    const look = lookGeometryOf(geometry);
    const { focalPixels, width } = look.view;
    const rows = Math.max(8, Math.round(ROWS_PER_FOCAL * focalPixels));
    const maxDisparity = Math.round(DISPARITY_PER_WIDTH * width);
    const reach = { maxWidth: MAX_WIDTH, rows, minDisparity: -4 - rows, maxDisparity };
    const aligner = new PairAligner(lookOptions(layout, look, reach));
    this.#monitor = new RigMonitor(aligner, look, health, this.#events);
  }

  frame(images: Pick<FramePair, "left" | "right"> | undefined): void {
    if (images !== undefined) this.#monitor?.frame(images);
  }

  get problem(): PairProblem | undefined {
    return this.#monitor?.problem;
  }

  figures(): HealthFigures {
    return this.#monitor?.report() ?? { available: false, reason: "health.enabled is false" };
  }

  close(): void {
    this.#monitor?.close();
    this.#monitor = undefined;
  }
}
