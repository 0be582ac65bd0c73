// SPDX-License-Identifier: Apache-2.0
// A stage that runs several times in each frame, so that its cost can be measured.
import { DepthwattError } from "../../core/index.js";
import { type NativeEngine, STAGE_NAMES } from "../../cuda/index.js";
import type { RepeatedStage } from "./types.js";

/** Parses STAGE=TIMES, such as median=20. @throws DepthwattError USAGE */
export function parseRepeatedStage(option: string, text: string): RepeatedStage {
  const [name, count, ...more] = text.split("=");
  const stage = STAGE_NAMES.find((known) => known === name);
  const times = /^\d+$/.test(count ?? "") ? Number(count) : 0;
  if (stage !== undefined && times >= 2 && times <= 10_000 && more.length === 0) return { stage, times };
  throw new DepthwattError(
    "USAGE",
    `${option}: expected STAGE=TIMES, a stage of ${STAGE_NAMES.join(", ")} and 2 to 10000, got "${text}"`,
  );
}

/**
 * Refuses to repeat a stage that these settings leave out.
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
