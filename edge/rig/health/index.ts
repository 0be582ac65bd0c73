// SPDX-License-Identifier: Apache-2.0
// How the cameras of a rig lie to each other: examined at once, or watched while frames are computed.
export { type Examination, Examiner, type Limits } from "./examine.js";
export { type AlignmentFigures, inWords } from "./figures.js";
export { calibrationBefore, keepCorrection, type OtherCalibration } from "./keep.js";
export { lookGeometryFrom } from "./look-options.js";
export type { PairProblem } from "./problem.js";
export { type HealthFigures, RigWatch } from "./watch.js";
