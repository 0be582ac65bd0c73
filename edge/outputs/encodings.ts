// SPDX-License-Identifier: Apache-2.0
// Collects what the enabled outputs require of the engine: encodings of a frame, and slots to hold it in.
import type { EngineOptions } from "../../cuda/index.js";
import type { RequestedEncodings } from "../contracts/computed-frame.js";
import { OUTPUT_KINDS, type OutputKind, outputDefinition } from "./section.js";

type Settings = Record<OutputKind, object>;

/** Returns the encodings that the engine must make, so that each enabled output finds its own, or can make it. */
export function requiredEncodings(outputs: Settings, hasDepth: boolean): RequestedEncodings {
  const requested = OUTPUT_KINDS.filter(
    (kind) => outputDefinition(kind).off(outputs[kind] as never) === undefined,
  ).map((kind) => outputDefinition(kind).encodings(outputs[kind] as never, hasDepth));
  return mergeEncodings(requested);
}

/** Encodes RVL if any output needs it; raw can be derived from it cheaply. */
export function mergeEncodings(requested: readonly RequestedEncodings[]): RequestedEncodings {
  const disparity = requested.map(({ encodeDisparity }) => encodeDisparity);
  const encodeDisparity = disparity.includes("rvl") ? "rvl" : disparity.find((one) => one !== undefined);
  return {
    ...(requested.some(({ encodeDepth }) => encodeDepth !== undefined) && { encodeDepth: "rvl" as const }),
    ...(requested.some(({ registration }) => registration) && { registration: true as const }),
    ...(requested.some(({ points }) => points) && { points: true as const }),
    ...(requested.some(({ voxels }) => voxels) && { voxels: true as const }),
    ...(encodeDisparity && { encodeDisparity }),
    ...(requested.some(({ rightGrey }) => rightGrey) && { rightGrey: true }),
    ...(requested.some(({ leftRgb }) => leftRgb) && { leftRgb: true }),
  };
}

/** Two that are computed at most, and for each output what it may hold and the newest that it is offered. */
export function slotsFor(outputs: Settings): EngineOptions["slots"] {
  const on = OUTPUT_KINDS.filter((kind) => outputDefinition(kind).off(outputs[kind] as never) === undefined);
  return on.reduce((slots, kind) => slots + outputDefinition(kind).framesHeld + 1, 2);
}
