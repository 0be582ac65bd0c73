// SPDX-License-Identifier: Apache-2.0
// Exports what is known about this machine's clocks.
export { readWallClock, type WallClock, wallClockWords } from "./wall-clock.js";
