// SPDX-License-Identifier: Apache-2.0
// Boards: their facts, which one this is, and why.
import type { TotalRule } from "../../power/index.js";
import type { Detection } from "./detect.js";
import { known } from "./schema.js";

export {
  type BoardEvidence,
  type Detection,
  type DetectOptions,
  detectBoard,
  gatherEvidence,
} from "./detect.js";
export { JETPACK_FAMILIES, type JetpackFamily, L4T_RELEASES, type L4tFinding, readL4t } from "./l4t.js";
export { listBoards, loadBoardFile, loadBoards, SHIPPED_BOARDS } from "./load.js";
export { PREDICTED_SPEED, type PredictedSpeed } from "./predicted-speed.js";
export {
  type BoardFile,
  type BoardMode,
  boardFileSchema,
  type Fact,
  known,
  knownNumber,
  type Recommendation,
} from "./schema.js";

/** The total of a board that is known for certain; a guess by its chip must not decide which rails are added. */
export function boardTotalRule(detection: Detection): TotalRule | undefined {
  if (detection.board === undefined || detection.level === "guess") return undefined;
  return known(detection.board.power.total);
}
