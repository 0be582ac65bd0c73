// SPDX-License-Identifier: Apache-2.0
// A stage that does not run cannot run more often: that is said, not measured as nothing.
import { DepthwattError } from "../../core/index.js";
import { type NativeEngine, STAGE_NAMES } from "../../cuda/index.js";
import type { RepeatedStage } from "./types.js";

/**
 * @param engine has computed a frame
 * @param option what asked for the stage, for the message
 * @throws DepthwattError USAGE
 */
export function expectToRun(engine: NativeEngine, repeat: RepeatedStage | undefined, option: string): void {
  const ran = STAGE_NAMES.filter((_, stage) => !Number.isNaN(engine.stageMilliseconds[stage]));
  if (repeat === undefined || ran.includes(repeat.stage)) return;
  throw new DepthwattError(
    "USAGE",
    `${option}: ${repeat.stage} does not run with these settings; these do: ${ran.join(", ")}`,
  );
}
