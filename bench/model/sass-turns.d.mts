// SPDX-License-Identifier: Apache-2.0
// The types of what tests use of sass-turns.mjs.
import type { Instruction } from "./sass-loops.mjs";
type Turn = (
  code: Instruction[],
  padded: number,
  cost: (name: string) => number,
  lanes: number,
) => { counts: Record<string, number>; cells: number };
export const lineTurn: Turn;
export const firstTurn: Turn;
export const tileTurn: Turn;
