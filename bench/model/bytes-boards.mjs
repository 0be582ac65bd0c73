// SPDX-License-Identifier: Apache-2.0
// Predicts frames of 640x480x128 with 4 paths for the boards with four costs in a register: the model with the counts of bytes-form.mjs in
// place of ours: node bench/model/bytes-boards.mjs [COUNTS].
import { readFileSync } from "node:fs";
import { frameMs, frameWalks, lanesFor, walkMs } from "./gpu-model.mjs";
import { load, predictions, tested } from "./predictions.mjs";

const COUNTS = "bench/results/disassembly/2026-11-26-b4f8933-bytes.json";
const FRAME = { width: 640, height: 480, numDisparities: 128 };

/** Warps that a multiprocessor holds: 65536 registers, given out 256 at a time. */
const residentWarps = (registers, architecture) =>
  Math.min(architecture === 87 ? 48 : 64, Math.floor(65536 / (Math.ceil(registers / 8) * 256)));

/** The counts of a machine whose walks have four costs of eight bits in a register, one warp a line. */
function countsOfBytes(rows, architecture) {
  const count = (costs, selects) => {
    const row = rows.find(
      (one) =>
        one.architecture === architecture &&
        one.costs === costs &&
        one.selects === selects &&
        one.bitsOfACell === 8,
    );
    return { ...row, residentWarps: residentWarps(row.registers, architecture), warpsOfALine: 1 };
  };
  const walk = count("from the volume", false);
  const counts = {
    first: count("from the census, written to the volume", false),
    walk8: walk,
    walk32: walk,
    selection32: count("from the volume", true),
  };
  return (shape) => counts[shape];
}

const { rows } = JSON.parse(readFileSync(process.argv[2] ?? COUNTS, "utf8"));
const loaded = load();
const test = tested(loaded);
const instructionMs = (machine) =>
  frameWalks(machine, FRAME.numDisparities).reduce((sum, kernel) => {
    const lanes = lanesFor(kernel, FRAME, machine.multiprocessors);
    return sum + walkMs({ ...FRAME, kernel, lanes }, machine, test.parameters.walks).issue;
  }, 0);
console.log("| board | sm | u16x2, frames/s | instructions, ms | u8x4, frames/s | instructions, ms |");
console.log("| --- | --- | --- | --- | --- | --- |");
for (const { title, machine } of predictions(loaded, test).boards) {
  if (machine === undefined) continue;
  const bytes = { ...machine, counts: countsOfBytes(rows, machine.architecture) };
  const cells = [machine, bytes].flatMap((one) => [
    (1000 / frameMs(FRAME, one, test.parameters)).toFixed(0),
    instructionMs(one).toFixed(1),
  ]);
  console.log(`| ${[title, machine.architecture, ...cells].join(" | ")} |`);
}
