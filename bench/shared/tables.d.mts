// SPDX-License-Identifier: Apache-2.0
// Types of tables.mjs.
export function tableLines(rows: readonly Record<string, unknown>[]): string[];
