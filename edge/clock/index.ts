// SPDX-License-Identifier: Apache-2.0
// Exports the description of this machine's wall clock.
export { readWallClock, type WallClock, wallClockWords } from "./wall-clock.js";
