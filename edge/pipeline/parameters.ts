// SPDX-License-Identifier: Apache-2.0
// The configuration's matching and refinement settings as the engine's parameters.
import { DepthwattError } from "../../core/index.js";
import type { InstructionSet, MatchParameters, Region } from "../../cuda/index.js";
import type { Config } from "../config/index.js";
import { loadNative } from "../contracts/native.js";

export { matchParameters } from "../config/index.js";

/**
 * Absent where the whole images are asked for; whether its far corner is inside them is for the engine to say.
 * @throws DepthwattError CONFIG_INVALID where it begins outside
 */
export function regionParameters(
  { x, y, width, height }: Config["region"],
  image: { width: number; height: number },
): { region?: Region } {
  if (x === 0 && y === 0 && width === 0 && height === 0) return {};
  const check = (key: string, what: string, found: number, size: number) => {
    if (found < size) return;
    throw new DepthwattError(
      "CONFIG_INVALID",
      `${key}: expected a ${what} of the rectified images, 0 to ${size - 1}, got ${found}`,
      { context: { key, found } },
    );
  };
  check("region.x", "column", x, image.width);
  check("region.y", "row", y, image.height);
  return { region: { x, y, width: width || image.width - x, height: height || image.height - y } };
}

/**
 * Returns the millions of disparities that are evaluated for one frame: at half resolution an eighth of the disparities of the
 * whole search.
 * @param image the matched images: the rectified ones, or the region of interest
 */
export function megaDisparities(
  { halfResolution, numDisparities }: Pick<MatchParameters, "halfResolution" | "numDisparities">,
  image: { width: number; height: number },
): number {
  const share = (value: number) => (halfResolution ? Math.ceil(value / 2) : value);
  return (share(image.width) * share(image.height) * share(numDisparities)) / 1e6;
}

/**
 * DEPTHWATT_ISA forces an instruction set: for tests, and to compare them.
 * @throws DepthwattError CONFIG_INVALID where this CPU has none of that name
 */
export function forcedInstructionSet(): { instructionSet?: InstructionSet } {
  const forced = process.env.DEPTHWATT_ISA;
  if (!forced) return {};
  const { available } = loadNative().cpuFeatures();
  const instructionSet = available.find((name) => name === forced);
  if (instructionSet !== undefined) return { instructionSet };
  throw new DepthwattError(
    "CONFIG_INVALID",
    `DEPTHWATT_ISA: expected an instruction set of this CPU (${available.join(", ")}), got ${JSON.stringify(forced)}`,
    { hint: "Unset DEPTHWATT_ISA: the best one is then chosen.", context: { available, forced } },
  );
}
