// SPDX-License-Identifier: Apache-2.0
// The types of what tests use of sass-loops.mjs.
export interface Instruction {
  address: number;
  name: string;
  conditional: boolean;
  target: number | undefined;
}
export function parseSass(text: string): Map<string, Instruction[]>;
export function loopsOf(code: Instruction[]): [number, number][];
export function slotsOf(name: string, architecture: number): number;
export function turnOf(
  code: Instruction[],
  loop: [number, number],
  preferred: RegExp[],
  cost: (name: string) => number,
): Record<string, number>;
export function costOf(
  counts: Record<string, number>,
  architecture: number,
): { instructions: number; slots: number; clocks: number; binds: string };
