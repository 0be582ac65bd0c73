// SPDX-License-Identifier: Apache-2.0
// Writes what `depthwatt reproduce` prints for every paper to one result file: `node bench/papers/reproduce.mjs
// [--backend cpu|cuda] [--kernels FILE] [--papers 004,002] [--exhibits "table 3,table IV"]` (needs DEPTHWATT_DATA). A row that
// this machine cannot compute keeps its reason.

import { KERNELS_HINT, Lab } from "../../dist/edge/commands/reproduce/lab.js";
import { PAPERS } from "../../dist/edge/commands/reproduce/list.js";
import { reproduce } from "../../dist/edge/commands/reproduce/reproduce.js";
import { readKernelTimes } from "../../dist/edge/profile/kernel-times.js";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { RESULT_OPTIONS, writeResult } from "../shared/result-file.mjs";

const text = { type: /** @type {const} */ ("string") };
const own = { backend: text, kernels: text, papers: text, exhibits: text };
const { values } = scriptArguments({ options: { ...own, ...RESULT_OPTIONS } });
const backend = values.backend ?? "cpu";
const FRAMES = 3;

const kernels = values.kernels === undefined ? undefined : readKernelTimes(values.kernels, KERNELS_HINT);
const lab = new Lab({ data: process.env.DEPTHWATT_DATA, backend, frames: FRAMES, kernels });
const chosen = values.papers?.split(",") ?? PAPERS.map(({ number }) => number);
const only = values.exhibits?.split(",");
const rows = [];
for (const { number, exhibits } of PAPERS.filter((paper) => chosen.includes(paper.number))) {
  const asked = exhibits.filter(({ kind, number }) => only?.includes(`${kind} ${number}`) ?? true);
  for (const { kind, number: exhibit, rows: all } of await reproduce(asked, lab)) {
    for (const { ours, ...row } of all) {
      const measured = typeof ours === "number" ? { ours } : { gap: ours.reason };
      rows.push({ kind: "measured", paper: number, exhibit: `${kind} ${exhibit}`, ...row, ...measured });
    }
  }
  console.log(`${number}: ${rows.length} rows so far, ${Math.round(performance.now() / 1000)} s`);
}
writeResult(backend === "cpu" ? "reproduce" : `reproduce-${backend}`, values, {
  what: `depthwatt reproduce of every paper, ${backend}, median of ${FRAMES} frames; printed numbers are published, ours measured`,
  rows,
});
