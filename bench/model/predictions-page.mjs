// SPDX-License-Identifier: Apache-2.0
// The text of docs/internals/predictions.md: every figure in it, and whether the test is passed, follows from what it is given.
import { median } from "../../dist/core/statistics.js";
import { FITTED_PARTITIONS, FITTED_WIDTHS, LIMIT } from "./gpu-fit.mjs";
import { slotsByClass } from "./sass-loops.mjs";

const percent = (value) => `${(100 * value).toFixed(0)} %`;
const sizeOf = ({ width, height, numDisparities }) =>
  `${width}x${height}${numDisparities === undefined ? "" : `x${numDisparities}`}`;
const worstOf = (rows) => Math.max(0, ...rows.map((one) => Math.abs(one.error)));
const within = (rows) => rows.filter((one) => Math.abs(one.error) <= LIMIT).length;
/** Bytes that memory gives a multiprocessor in a clock. */
const bytesAClock = (machine) =>
  (machine.memoryGigabytesPerSecond * 1e3) / (machine.multiprocessors * machine.megahertz);

function testTable(test) {
  const cell = (rows) =>
    rows.length === 0
      ? "none | "
      : `${within(rows)} of ${rows.length} | ${percent(median(rows.map((one) => Math.abs(one.error))))}, ${percent(worstOf(rows))}`;
  return test.places.map(({ key, kernels, frames, machine }) => {
    const rate = bytesAClock(machine).toFixed(0);
    return `| ${key} | ${rate} | ${cell(kernels)} | ${cell(frames)} |`;
  });
}

/** Where so small a part of all rows misses, the text does not warn of the rest. */
const FEW = 0.02;

function verdict(test) {
  if (test.passed) {
    return `So the test that was set for it is **passed**: the whole card and partitions of 16 and 8, beside a kernel that streams through memory on all
other multiprocessors, and volumes of up to ${(test.largestVolume / 1e6).toFixed(0)} MB beside a second-level cache of ${(test.unseen[0].machine.cacheBytes / 1e6).toFixed(0)} MB.`;
  }
  const rows = test.missed
    .sort((a, b) => Math.abs(b.error) - Math.abs(a.error))
    .slice(0, 12)
    .map(
      ({ row, predictedMs, error }) =>
        `| ${row.what.replace("kernel ", "")}, ${sizeOf(row)}${row.lanes > 0 ? `, ${row.lanes} lanes` : ""}, ${row.cells} | ${row.multiprocessors}${
          row.streamGigabytesPerSecond > 0 ? " beside a stream" : ""
        } | ${row.medianMs.toFixed(4)} | ${predictedMs.toFixed(4)} | ${(100 * error).toFixed(0)} % |`,
    );
  const { length: misses } = test.missed;
  const worst = misses > 0 ? (100 * Math.abs(test.missed[0].error)).toFixed(0) : "";
  return `So the test that was set for it is **not passed**${
    misses === 0
      ? ", and what follows for boards is not to be relied on: some of its places, or volumes larger than the cache, were not measured."
      : `: ${misses} of ${test.unseen.length} rows miss, by up to ${worst} % instead of 25 %. ${
          misses > FEW * test.unseen.length
            ? "What follows for boards is not to be relied on."
            : "What follows for boards is as good as that."
        }`
  }

| missed most | multiprocessors | measured ms | predicted ms | off by |
|---|---|---|---|---|
${rows.join("\n")}`;
}

function instructionText(sass) {
  const orin = sass.rows.find(
    (row) => row.architecture === 87 && row.shape === "walk8" && row.numDisparities === 128,
  );
  const classes = Object.entries(slotsByClass(orin.instructions, 87))
    .sort((a, b) => b[1] - a[1])
    .map(([name, slots]) => `${name} ${(slots / orin.cellsOfATurn).toFixed(1)}`);
  return `The target for sm_87 was 6 slots, and it is missed by a factor of ${(orin.slotsPerCell / 6).toFixed(1)}. Of ${orin.slotsPerCell.toFixed(1)} slots a cell (8 lanes): ${classes.join(", ")}. The [notebook](notebook/sgm-on-cuda.md#halving-the-slots-of-orins-walks) counts why half of it is out of reach.`;
}

const COLUMNS = 120;

/** Paragraphs and lists in lines of 120 columns; targets of links do not count. Tables, code and headings stay as they are. */
function wrapped(page) {
  const columns = (text) => text.replace(/\]\([^)]*\)/g, "]").length;
  const paragraph = (text, indent = "") => {
    const [first, ...words] = text.split(/\s+/);
    const lines = [first];
    for (const word of words) {
      const longer = `${lines.at(-1)} ${word}`;
      if (columns(longer) <= COLUMNS) lines[lines.length - 1] = longer;
      else lines.push(indent + word);
    }
    return lines.join("\n");
  };
  const list = (text) => text.split("\n").map((item) => paragraph(item, "  "));
  return page
    .split("\n\n")
    .map((part) => {
      if (/^( {4}|[|#])/.test(part)) return part;
      return part.startsWith("- ") ? list(part).join("\n") : paragraph(part.trimEnd());
    })
    .join("\n\n");
}

/** loaded: result files; test, blind: with and without rows beside a stream in the fit; said: what predictions.mjs predicts. */
export function pageOf({ times, sass }, test, blind, said, frames) {
  const link = (file) => `[${file.path.split("/").at(-1)}](../../${file.path})`;
  const parameters = Object.entries(test.parameters).map(
    ([family, values]) =>
      `${family}: ${Object.entries(values)
        .map(([key, value]) => `${key} ${value.toPrecision(3)}`)
        .join(", ")}`,
  );
  const known = said.boards.filter((one) => one.machine !== undefined);
  const rates = known.map((one) => bytesAClock(one.machine));
  const kernels = test.unseen.filter((one) => one.job.family !== "frames");
  const whole = test.unseen.filter((one) => one.job.family === "frames");
  const counted = sass.rows
    .filter((row) => row.numDisparities === 128)
    .map(
      (row) =>
        `| sm_${row.architecture}, ${row.cells} | ${row.shape} | ${row.instructionsPerCell.toFixed(1)} | ${row.slotsPerCell.toFixed(1)} | ${row.boundSlotsPerCell.toFixed(1)}, ${row.binds} | ${row.residentWarps} |`,
    );
  const boards = known.map(({ title, machine, framesPerSecond, shares }) => {
    const all = shares.issue + shares.bytes + shares.waiting;
    const parts = [shares.issue, shares.bytes, shares.waiting].map((one) => (100 * one) / all);
    return `| ${title} | sm_${machine.architecture}, ${machine.multiprocessors} x ${machine.megahertz} MHz, ${machine.nominalGigabytesPerSecond} GB/s | ${framesPerSecond
      .map((one) => one.toFixed(one < 20 ? 1 : 0))
      .join(" | ")} | ${parts.map((one) => one.toFixed(0)).join(" / ")} |`;
  });
  const peers = said.published.map(
    ({ title, frame, published, whose, predicted }) =>
      `| ${title} | ${sizeOf(frame)} | ${predicted.toFixed(0)} | ${published} | ${(predicted / published).toFixed(1)} | ${whose} |`,
  );
  const unknown = said.boards.filter((one) => one.why !== undefined);
  return wrapped(`# What the model predicts for boards

This page describes the kernels of commit ${times[0].commit}; a later change of a kernel does not change it until it is made again.

No Jetson has run any of this. Everything in the tables of boards is **predicted**, by a model of three terms for each kernel: instructions (read
off the disassembly), bytes beyond the second-level cache, and steps that wait for each other. Generated, with all figures and the verdict:

    bash cuda/check/check.sh --bench --sms 8,16 --out OUT                          # on a GPU machine; --model: only what is needed here
    node bench/model/sass-cells.mjs --out COUNTS OUT/sass/sm_90-half2.sass.gz OUT/sass/sm_90-uint16.sass.gz OUT/sass/sm_110.sass.gz
    node bench/model/predictions.mjs OUT/u16.json OUT/model-half2.json COUNTS        # copies of them in bench/results

out of ${[...times, sass].map(link).join(", ")}.

## How well it predicts what can be measured

Fitted on ${test.fittedRows} kernel times of an H200 (images ${FITTED_WIDTHS.join(", ")} wide, on ${FITTED_PARTITIONS.join(" and ")} multiprocessors, alone and beside another kernel that streams through memory), it predicts ${within(kernels)} of
${kernels.length} others within ${percent(LIMIT)}: images of other sizes, and everything on 16 multiprocessors. No whole frame was used in the fit; of whole frames, at full
and half resolution, it predicts ${within(whole)} of ${whole.length} within ${percent(LIMIT)}. A second fit without the rows timed beside a memory stream predicts ${within(blind.unseen)} of ${blind.unseen.length} kernel times within ${percent(LIMIT)}, ${
    blind.unseen.filter((one) => one.row.streamGigabytesPerSecond > 0 && Math.abs(one.error) <= LIMIT).length
  } of
them among the ${blind.besideStream} beside a stream; the worst is off by ${percent(worstOf(blind.unseen))}.

| multiprocessors | memory's bytes a clock for each | kernels within ${percent(LIMIT)} | half are off by less than, all by | frames within ${percent(LIMIT)} | half, all |
|---|---|---|---|---|---|
${testTable(test).join("\n")}

${verdict(test)}

Memory gives a board's multiprocessor ${Math.min(...rates).toFixed(0)} to ${Math.max(...rates).toFixed(0)} bytes a clock.

Memory's rate is what a large copy reached in the same place, beside the same stream. Clocks an instruction (chain), clocks a pixel, and shares
of a limit or of a copy's round trip:

${parameters.map((line) => `- ${line}`).join("\n")}

## Instructions for each cell update

One turn of the loop on inner pixels with all it holds, 128 disparities: costs, conversion, reduction, loads, stores, addresses. Slots: the sum over
its instructions of 128 / that pipe's lanes a clock. What binds: pipes work beside each other, so the fullest of them, or the
schedulers. A walk visits a cell twice for two directions; costs and selection visit it once. ${instructionText(sass)}

| | kernel | instructions a cell | slots a cell | what binds | warps a multiprocessor holds |
|---|---|---|---|---|---|
${counted.join("\n")}

The pipes' lanes are the CUDA programming guide's. Neither 8.7 nor 11.0 stands in a table that we found: 8.6 is taken for 8.7, because the guide's
section on 8.x gives them the same cores, and 9.0 for 11.0.

## Boards

Frames a second of SGM with 4 paths, census to median, at the highest clock of the board's file, nothing else using memory; half: halving, matching
at half the size and half the disparities, upscaling. A copy is taken to reach ${percent(said.share)} of the memory's rate and a kernel to start in ${(1e3 * said.startMs).toFixed(1)} us, as on the
H200; what is done once a pixel takes as many clocks as there. Shares: instructions / memory / waiting of the walks at 640x480, each as if alone.

| predicted | from | ${frames.map((frame) => `${sizeOf(frame)}${frame.half ? ", half" : ""}`).join(" | ")} | shares |
|---|---|${frames.map(() => "---|").join("")}---|
${boards.join("\n")}

${unknown.map((one) => `Not predicted: ${one.title}, because ${one.why}.`).join(" ")}

Published by others, not measured here, with settings of their own:

| | size | predicted fps, ours | published fps | ours / theirs | whose |
|---|---|---|---|---|---|
${peers.join("\n")}
`);
}
