// SPDX-License-Identifier: Apache-2.0
// The retained info of a run: what it is made of and what it computes now.

import type { CaptureClock, PairSource } from "../../camera/index.js";
import { type MemoryPaths, matcherParameters } from "../../cuda/index.js";
import { readWallClock } from "../clock/index.js";
import type { BoardChoice, Config } from "../config/index.js";
import type { Unavailable } from "../contracts/availability.js";
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
  health: Pick<RigWatch, "correction" | "drift">;
}

/** The paths of images and results, with their cost or why it is not known. */
function memoryPaths({ images, results, imagesMicroseconds, resultsMicroseconds }: MemoryPaths): object {
  const reason = images === "in-place" ? "the CPU reads images where they are" : "too few timed frames";
  const unknown = { available: false, reason };
  return {
    images,
    imagesMicroseconds: imagesMicroseconds ?? unknown,
    results,
    resultsMicroseconds: resultsMicroseconds ?? unknown,
  };
}

/** The retained camera_info: the geometry, and the clocks of the stamps once a camera's images came. */
export function cameraInfo(
  { geometry }: { geometry: Pick<PipelineGeometry, "cameraInfo"> },
  source: Pick<PairSource, "captureClocks">,
): object | undefined {
  const captureClocks = source.captureClocks?.() ?? {};
  if (geometry.cameraInfo === undefined || Object.keys(captureClocks).length === 0)
    return geometry.cameraInfo;
  return { ...geometry.cameraInfo, captureClocks };
}

/** Returns whether consumers would compute other times: another clock, a jump, or a drift of a millisecond. */
export function clocksDiffer(
  published: Readonly<Record<string, CaptureClock>>,
  found: Readonly<Record<string, CaptureClock>>,
): boolean {
  const sides = new Set([...Object.keys(published), ...Object.keys(found)]);
  return [...sides].some((side) => {
    const [before, now] = [published[side], found[side]];
    if (before === undefined || now === undefined) return true;
    const isSame = before.origin === now.origin && before.source === now.source && before.jumps === now.jumps;
    return !isSame || Math.abs(before.offsetMs - now.offsetMs) >= 1;
  });
}

const NO_CHOICE: Unavailable = { available: false, reason: "source.v4l2.format auto chose no format" };

export function runtimeInfo(config: Config, { board, source, input, engine, health }: InfoParts): object {
  const { backend, backendReason, instructionSet, threads, search } = engine.info;
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
    search,
    region: engine.options.region ?? null,
    depth: config.depth,
    width: input.geometry.width,
    height: input.geometry.height,
    correction: health.correction,
    drift: health.drift,
    memory: memoryPaths(engine.info.memory),
    captureFormat: source.description.formatChoice ?? NO_CHOICE,
    captureMemory: source.captureMemory?.() ?? {},
    captureClocks: source.captureClocks?.() ?? {},
    wallClock: readWallClock(loadNative()),
  };
}
