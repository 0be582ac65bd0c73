// SPDX-License-Identifier: Apache-2.0
// What the outputs that are switched on need of the engine: encodings of a frame, and slots to hold it in.
import type { EngineOptions } from "../../cuda/index.js";
import type { EncodingWishes } from "../contracts/computed-frame.js";
import { definitionOf, OUTPUT_KINDS, type OutputKind } from "./section.js";

type Settings = Record<OutputKind, object>;

/** What the engine must encode, so that each output that is on finds what it sends, or can make it. */
export function requiredEncodings(outputs: Settings, hasDepth: boolean): EncodingWishes {
  const wishes = OUTPUT_KINDS.filter(
    (kind) => definitionOf(kind).off(outputs[kind] as never) === undefined,
  ).map((kind) => definitionOf(kind).encodings(outputs[kind] as never, hasDepth));
  return mergeEncodings(wishes);
}

/** RVL where anybody wishes it: whoever wishes the map raw can make that of it, at less cost. */
export function mergeEncodings(wishes: readonly EncodingWishes[]): EncodingWishes {
  const disparity = wishes.map(({ encodeDisparity }) => encodeDisparity);
  const encodeDisparity = disparity.includes("rvl") ? "rvl" : disparity.find((wish) => wish !== undefined);
  return {
    ...(wishes.some(({ encodeDepth }) => encodeDepth !== undefined) && { encodeDepth: "rvl" as const }),
    ...(wishes.some(({ points }) => points) && { points: true as const }),
    ...(encodeDisparity && { encodeDisparity }),
    ...(wishes.some(({ leftRgb }) => leftRgb) && { leftRgb: true }),
  };
}

/** Two that are computed at most, and for each output what it may hold and the newest that it is offered. */
export function slotsFor(outputs: Settings): EngineOptions["slots"] {
  const on = OUTPUT_KINDS.filter((kind) => definitionOf(kind).off(outputs[kind] as never) === undefined);
  return on.reduce((slots, kind) => slots + definitionOf(kind).framesHeld + 1, 2);
}
