// SPDX-License-Identifier: Apache-2.0
// The governor: holds a watt budget or a frame rate by giving up quality a little at a time.

export { BoardGovernor } from "./board-governor.js";
export type { GovernorFigures } from "./figures.js";
export { Governor } from "./governor.js";
export { type QualityLevel, qualityLadder } from "./ladder.js";
export { GovernorLoop, type RunGovernor } from "./loop.js";
export { RateGate } from "./rate-gate.js";
