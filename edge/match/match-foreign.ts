// SPDX-License-Identifier: Apache-2.0
// Matches one pair of pictures with another stereo engine: its helper's disparity, refined as a run would refine it.
import type { EnginePicture } from "../../camera/index.js";
import { DepthwattError } from "../../core/index.js";
import { openEngine } from "../../cuda/index.js";
import type { Config } from "../config/index.js";
import { engineOptionsFrom } from "../pipeline/engine-options.js";
import { uncalibrated } from "../pipeline/geometry.js";
import { Helper } from "./helper.js";
import { type Matched, pictureBytes } from "./match-pair.js";

export type ForeignMatched = Pick<
  Matched,
  "width" | "height" | "disparityQ4" | "milliseconds" | "validPercent"
>;

/**
 * Starts the helper, takes its second pair, so that its start is not timed, and ends it.
 * @param command with {left}, {right} and {disparities} for the files of the images and the search range
 * @throws DepthwattError IMAGE_UNSUPPORTED unless the images are grey with 8 bits; as Helper.open()
 */
export async function matchForeign(
  config: Config,
  [left, right]: readonly [EnginePicture, EnginePicture],
  command: string,
): Promise<ForeignMatched> {
  const { width, height, format } = left;
  if (format !== "GREY")
    throw new DepthwattError("IMAGE_UNSUPPORTED", `Expected images of 8 bits for the helper, got ${format}.`);
  if (config.calibration.file !== undefined)
    throw new DepthwattError("USAGE", "expected rectified images without --calibration for foreign");
  const { numDisparities } = config.match;
  const images = { left: pictureBytes(left), right: pictureBytes(right), width, height, numDisparities };
  const helper = await Helper.open({ ...config.source.foreign, command }, images);
  try {
    const { description } = helper.source;
    const engine = await openEngine(engineOptionsFrom(config, { description }, uncalibrated(width, height)));
    try {
      const compute = async () => {
        const pair = await helper.next();
        return engine.compute(pair.left.data, pair.right.data).finally(() => pair.release());
      };
      await compute();
      const started = performance.now();
      const { validPixels } = await compute();
      return {
        width,
        height,
        disparityQ4: engine.slots[0]!.disparityQ4.slice(),
        milliseconds: performance.now() - started,
        validPercent: (100 * validPixels) / (width * height),
      };
    } finally {
      engine.close();
    }
  } finally {
    await helper.close();
  }
}
