// SPDX-License-Identifier: Apache-2.0
// The one place where the engine's options are made of the configuration and of what it computes for.
import type { PairSource } from "../../camera/index.js";
import type { EngineOptions } from "../../cuda/index.js";
import { hasColours } from "../../core/index.js";
import type { Config } from "../config/index.js";
import type { Encodings } from "./computed-frame.js";
import { encodingsOf, slotsFor } from "../outputs/outputs.js";
import type { PipelineGeometry } from "./geometry.js";
import { adaptationOptions } from "./adaptation.js";
import { forcedInstructionSet, matchParameters, refineParameters, regionParameters } from "./parameters.js";

/** How the captured images lie in memory. */
export type ImageLayout = Pick<
  PairSource["description"],
  "width" | "height" | "leftFormat" | "rightFormat" | "leftStrideBytes" | "rightStrideBytes"
>;

/** An engine that computes for one caller, not for outputs: what it encodes is named, or nothing. */
export type AloneOptions = Partial<
  Pick<EngineOptions, "encodeDepth" | "encodeDisparity" | "repeatStage" | "slots">
>;

/**
 * @param alone given: for one caller instead of config.outputs; 2 slots unless it says otherwise
 * @throws DepthwattError CONFIG_INVALID: a region that begins outside, an instruction set that this CPU lacks
 */
export function engineOptionsOf(
  config: Config,
  source: { description: ImageLayout; inputMemory?: PairSource["inputMemory"] },
  geometry: Pick<PipelineGeometry, "width" | "height" | "depth" | "maps">,
  alone?: AloneOptions,
): EngineOptions {
  const { width: inputWidth, height: inputHeight } = source.description;
  const { leftFormat, rightFormat, leftStrideBytes, rightStrideBytes } = source.description;
  const { width, height, depth, maps } = geometry;
  return {
    inputWidth,
    inputHeight,
    width,
    height,
    ...maps,
    leftFormat,
    rightFormat,
    leftStrideBytes,
    rightStrideBytes,
    match: matchParameters(config.match),
    refine: refineParameters(config.refine),
    ...adaptationOptions(config),
    ...regionParameters(config.region, geometry),
    ...(depth && { geometry: depth }),
    ...(alone === undefined
      ? { ...wanted(config, depth !== undefined, leftFormat), slots: slotsFor(config.outputs) }
      : { slots: 2, ...alone }),
    ...forcedInstructionSet(),
    ...(source.inputMemory && { inputMemory: source.inputMemory }),
    ...config.engine,
  };
}

/** What outputs wish; colours only of a source that has them. */
function wanted({ outputs }: Config, hasDepth: boolean, leftFormat: ImageLayout["leftFormat"]): Encodings {
  const { leftRgb, ...encodings } = encodingsOf(outputs, hasDepth);
  return { ...encodings, ...(leftRgb && hasColours(leftFormat) && { leftRgb }) };
}
