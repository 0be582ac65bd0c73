// SPDX-License-Identifier: Apache-2.0
// Accuracy on data with a ground truth: read a set, match its scenes, score them.
export { readDataset, readScene, type Scene } from "./dataset.js";
export { densityTable } from "./density-curve.js";
export {
  type EngineMatched,
  type EngineMatcherOptions,
  engineMatcher,
  engineOptionsFor,
} from "./engine-matcher.js";
export {
  type Evaluation,
  evaluate,
  evaluationTable,
  type Matched,
  type MatchScene,
  type SceneResult,
} from "./evaluate.js";
export { measuresTable } from "./measures.js";
export type { SceneEntry } from "./scene-entry.js";
export { middleburyV2Mean, type Score, score, scoreScene } from "./score.js";
