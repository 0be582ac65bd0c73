// SPDX-License-Identifier: Apache-2.0
// Accuracy on data with a ground truth: read a set, match its scenes, score them, sweep a parameter.
export { readDataset, readScene, type Scene, type SceneEntry } from "./dataset.js";
export { type EngineMatcherOptions, engineMatcher, engineOptionsFor } from "./engine-matcher.js";
export { type Evaluation, evaluate, evaluationTable, type Matched, type MatchScene } from "./evaluate.js";
export { type Grid, type GridRow, gridCsv, gridHeatMap, gridPlot, oneNumber } from "./grid.js";
export { megaDisparitiesPerSecond, type PaperRow, paperNotes, paperTable } from "./paper-table.js";
export { sweepPlot } from "./plot.js";
export { PUBLISHED, type PublishedRow } from "./published.js";
export { middleburyV2Mean, type Score, score, scoreScene } from "./score.js";
export { parseSweep, type Sweep, type SweepRow, sweepCsv } from "./sweep.js";
