// SPDX-License-Identifier: Apache-2.0
// The types of what tests use of predictions.mjs.
import type { Row } from "./gpu-fit.mjs";
import type { Machine, Parameters } from "./gpu-model.mjs";
export interface Loaded {
  times: { rows: Row[] }[];
  sass: { rows: object[] };
}
export interface ModelTest {
  parameters: Parameters;
  fittedRows: number;
  unseen: { error: number; row: Row; job: { family: string } }[];
  missed: object[];
  besideStream: number;
  passed: boolean;
}
export function load(paths?: string[]): Loaded;
export function tested(loaded?: Loaded, fitted?: (row: Row) => boolean): ModelTest;
export function predictions(loaded?: Loaded): { boards: { title: string; machine?: Machine }[] };
export function page(loaded?: Loaded): string;
