// SPDX-License-Identifier: Apache-2.0
// The text of docs/internals/predictions.md: every figure in it, and whether the test is passed, follows from what it is given.
import { median } from "../../dist/core/statistics.js";
import { FITTED_PARTITIONS, FITTED_WIDTHS, LIMIT } from "./gpu-fit.mjs";
import { slotsByClass } from "./sass-loops.mjs";

const percent = (value) => `${(100 * value).toFixed(0)} %`;
const formatSize = ({ width, height, numDisparities }) =>
  `${width}x${height}${numDisparities === undefined ? "" : `x${numDisparities}`}`;
const worstError = (rows) => Math.max(0, ...rows.map((one) => Math.abs(one.error)));
const within = (rows) => rows.filter((one) => Math.abs(one.error) <= LIMIT).length;
/** Returns the bytes per clock that memory delivers to a multiprocessor. */
const bytesAClock = (machine) =>
  (machine.memoryGigabytesPerSecond * 1e3) / (machine.multiprocessors * machine.megahertz);

function testTable(test) {
  const cell = (rows) =>
    rows.length === 0
      ? "none | "
      : `${within(rows)} of ${rows.length} | ${percent(median(rows.map((one) => Math.abs(one.error))))}, ${percent(worstError(rows))}`;
  return test.places.map(({ key, kernels, frames, machine }) => {
    const rate = bytesAClock(machine).toFixed(0);
    return `| ${key} | ${rate} | ${cell(kernels)} | ${cell(frames)} |`;
  });
}

/** The text warns of the predictions if a larger share of the rows misses. */
const FEW = 0.02;

function verdict(test) {
  if (test.passed) {
    return `The test of the model is **passed**: the whole card and partitions of 16 and 8 multiprocessors, next to a kernel that streams through memory, with volumes of up to ${(test.largestVolume / 1e6).toFixed(0)} MB and a second-level cache of ${(test.unseen[0].machine.cacheBytes / 1e6).toFixed(0)} MB.`;
  }
  const { missed, unseen } = test;
  if (missed.length === 0)
    return "The test of the model is **not passed**: some partitions, or volumes larger than the cache, were not measured. Do not rely on the predictions for boards.";
  const worst = missed.reduce((one, other) => (Math.abs(one.error) > Math.abs(other.error) ? one : other));
  const { row, error } = worst;
  const place = `${row.multiprocessors} multiprocessors${row.streamGigabytesPerSecond > 0 ? " next to a stream" : ""}`;
  return `The test of the model is **not passed**: ${missed.length} of ${unseen.length} rows miss, the worst (${row.what.replace("kernel ", "")}, ${formatSize(row)}, ${place}) by ${(100 * Math.abs(error)).toFixed(0)} % instead of ${percent(LIMIT)}. ${
    missed.length > FEW * unseen.length
      ? "Do not rely on the predictions for boards."
      : "The predictions for boards are as good as that."
  }`;
}

function instructionText(sass) {
  const orin = sass.rows.find(
    (row) => row.architecture === 87 && row.shape === "walk8" && row.numDisparities === 128,
  );
  const classes = Object.entries(slotsByClass(orin.instructions, 87))
    .sort((a, b) => b[1] - a[1])
    .map(([name, slots]) => `${name} ${(slots / orin.cellsOfATurn).toFixed(1)}`);
  return `On Orin (sm_87) a walk of 8 lanes takes ${orin.slotsPerCell.toFixed(1)} issue slots per cell: ${classes.join(", ")}. [What limits the CUDA kernels](cuda-limits.md) explains why half of that is out of reach.`;
}

const COLUMNS = 120;

/** Wraps paragraphs and lists at 120 columns without counting link targets. Tables, code and headings are not changed. */
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

/**
 * Returns the page. `times` and `sass` are result files; `test` and `blind` are fits with and without rows measured next to a memory
 * stream; `said` has the predictions; `frames` are the columns of the table of boards.
 */
export function renderPage({ times, sass, search }, test, blind, said, frames, both) {
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
  const boards = known.map(({ title, machine, framesPerSecond, shares }) => {
    const all = shares.issue + shares.bytes + shares.waiting;
    const parts = [shares.issue, shares.bytes, shares.waiting].map((one) => (100 * one) / all);
    return `| ${title} | sm_${machine.architecture}, ${machine.multiprocessors} x ${machine.megahertz} MHz, ${machine.nominalGigabytesPerSecond} GB/s | ${framesPerSecond
      .map((one) => one.toFixed(one < 20 ? 1 : 0))
      .join(" | ")} | ${parts.map((one) => one.toFixed(0)).join(" / ")} |`;
  });
  const peers = said.published.map(
    ({ title, frame, published, whose, predicted }) =>
      `| ${title} | ${formatSize(frame)} | ${predicted.toFixed(0)} | ${published} | ${(predicted / published).toFixed(1)} | ${whose} |`,
  );
  const unknown = said.boards.filter((one) => one.why !== undefined);
  return wrapped(`<!-- Made from the code by bench/model/predictions.mjs; edits here are lost. -->

# Predicted speed of boards

This page is for readers who want to know how the predictions for boards are made and how far to trust them. No Jetson has run depthwatt: every
number in the tables of boards is **predicted**, for the kernels of commit ${times[0].commit}. [The model's folder](../../bench/model/README.md) explains how to
renew the page.

## Boards

Frames per second of SGM with 4 paths and 128 disparities, from census to median, at the highest clock of the board's file, with nothing else using
memory. "Half" is half resolution. Shares are instructions / memory / waiting of the walks at 640x480, each as if alone.

| predicted | from | ${frames.map((frame) => `${formatSize(frame)}${frame.half ? ", half" : ""}`).join(" | ")} | shares |
|---|---|${frames.map(() => "---|").join("")}---|
${boards.join("\n")}

${unknown.map((one) => `Not predicted: ${one.title}, because ${one.why}.`).join(" ")}

## Both searches

Frames per second of both searches ([coarse-to-fine search](../../cuda/match/sgm/coarse-to-fine.md)), and joules per frame at the power limit of the module. A board
takes at most that, so these joules are an upper bound. No board has measured them.

${both.table}

The model of coarse-to-fine search has three parameters, fitted on the times of ${link(search)} on 132 and 8 multiprocessors. It predicts the ${both.unseen} times on 16
multiprocessors within ${percent(both.worst)}. In the same run the model of the full search is ${percent(both.fullFast)} too fast at most, so the gain of a board without a memory
limit is larger than predicted. Ranges above 128 disparities cost the full search as much per cell as 128.

## Published by others

Published by others, with their own settings, and not measured here:

| | size | predicted fps, ours | published fps | ours / theirs | whose |
|---|---|---|---|---|---|
${peers.join("\n")}

## The model

A kernel's time is a sum of three terms: instructions, counted in the disassembly; bytes beyond the second-level cache; and dependent steps that wait for
each other. The inputs are ${[...times, sass].map(link).join(", ")}.

It assumes that a copy reaches ${percent(said.share)} of the memory's rate, that a kernel starts in ${(1e3 * said.startMs).toFixed(1)} us, and that the work per pixel takes as many clocks as on
the H200. Memory delivers ${Math.min(...rates).toFixed(0)} to ${Math.max(...rates).toFixed(0)} bytes per clock to a board's multiprocessor. Lanes per clock are those of the CUDA programming guide; those of 8.6 are used for 8.7 and those of 9.0
for 11.0, which the guide does not list.

${instructionText(sass)}

Fitted parameters: clocks per instruction (chain) and per pixel, and shares of a limit or of a copy's round trip.

${parameters.map((line) => `- ${line}`).join("\n")}

## How well it predicts

The model was fitted on ${test.fittedRows} kernel times of an H200: images ${FITTED_WIDTHS.join(", ")} pixels wide, on ${FITTED_PARTITIONS.join(" and ")} multiprocessors, alone and next to a kernel that streams
through memory. Of ${kernels.length} other kernel times (other sizes, and everything on 16 multiprocessors) it predicts ${within(kernels)} within ${percent(LIMIT)}. It was fitted on no whole frame,
and predicts ${within(whole)} of ${whole.length} whole frames within ${percent(LIMIT)}. A second fit without the rows next to a stream predicts ${within(blind.unseen)} of ${blind.unseen.length} kernel times within ${percent(LIMIT)}; the
worst is off by ${percent(worstError(blind.unseen))}.

| multiprocessors | memory, bytes per clock each | kernels within ${percent(LIMIT)} | median and largest error | frames within ${percent(LIMIT)} | median and largest error |
|---|---|---|---|---|---|
${testTable(test).join("\n")}

${verdict(test)}
`);
}
