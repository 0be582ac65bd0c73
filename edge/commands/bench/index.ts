// SPDX-License-Identifier: Apache-2.0
// The front door of edge/commands/bench: what `depthwatt bench` runs.
export type { PeerFigures } from "./compare.js";
export { type BenchFigures, type BenchOptions, timeMatcher } from "./time-matcher.js";
