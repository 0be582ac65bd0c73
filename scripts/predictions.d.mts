// SPDX-License-Identifier: Apache-2.0
// The types of what tests use of predictions.mjs.
export interface ModelTest {
  parameters: Record<string, number>;
  fittedRows: number;
  unseen: { error: number; row: Record<string, unknown> }[];
  within: number;
  worst: number;
  besideStream: number;
}
export function tested(times?: { rows: object[] }, sass?: { rows: object[] }): ModelTest;
export function page(): string;
