// SPDX-License-Identifier: Apache-2.0
// The retained info of a run: what it is made of and what it computes now.
import type { PairSource } from "../../camera/index.js";
import { matcherParameters } from "../../cuda/index.js";
import { readWallClock } from "../clock/index.js";
import type { BoardChoice, Config } from "../config/index.js";
import { loadNative } from "../contracts/native.js";
import { VERSION } from "../contracts/version.js";
import type { AdjustableEngine } from "../pipeline/adjustable-engine.js";
import type { PipelineGeometry } from "../pipeline/geometry.js";
import type { RigWatch } from "../rig/health/watch.js";

export interface InfoParts {
  /** The board that the setting names, or that was detected. */
  board: Pick<BoardChoice, "name">;
  source: PairSource;
  input: { geometry: Pick<PipelineGeometry, "width" | "height"> };
  engine: AdjustableEngine;
  health: Pick<RigWatch, "correction">;
}

export function runtimeInfo(config: Config, { board, source, input, engine, health }: InfoParts): object {
  const { backend, backendReason, instructionSet, threads } = engine.info;
  const { algorithm, parameters: _, ...shared } = engine.match;
  return {
    version: VERSION,
    board: board.name ?? (config.board === "none" ? "none" : "unknown"),
    source: source.description.title,
    backend,
    backendReason,
    instructionSet,
    threads,
    algorithm,
    parameters: { match: { ...shared, ...matcherParameters(engine.match) }, refine: config.refine },
    region: engine.options.region ?? null,
    depth: config.depth,
    width: input.geometry.width,
    height: input.geometry.height,
    correction: health.correction,
    captureMemory: source.captureMemory?.() ?? {},
    captureClocks: source.captureClocks?.() ?? {},
    wallClock: readWallClock(loadNative()),
  };
}
