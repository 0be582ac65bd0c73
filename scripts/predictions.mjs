// SPDX-License-Identifier: Apache-2.0
// Writes docs/3-boards/predictions.md out of result files: node scripts/predictions.mjs. See gpu-model.mjs for the model.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { fitModel, judge, millisecondsOf } from "./gpu-model.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const TIMES = "bench/results/h200/2026-11-22-80b690b-sgm-half2.json";
const SASS = "bench/results/disassembly/2026-11-22-80b690b-sm87-half2.json";
const PAGE = "docs/3-boards/predictions.md";
/** The card: its clock while it worked, what a large copy moved (read and written), its second-level cache. */
const CARD = { megahertz: 1980, dramGigabytesPerSecond: 3940, cacheBytes: 50e6 };
/** A large copy on that card moved 82 % of the 4800 GB/s that its memory is sold for; boards are taken to do the same. */
const COPY_SHARE = 3940 / 4800;
const LIMIT = 0.25;
const SIZES = [
  [640, 480, 128],
  [1280, 720, 128],
  [320, 240, 64],
  [960, 540, 64],
];
/** Published at 960x540x64 by NVIDIA's Isaac ROS benchmark (VPI on the GPU), the best of its releases; not measured here. */
const PUBLISHED = {
  "agx-orin-64gb": 168.2,
  "orin-nx-16gb": 78.1,
  "orin-nano-8gb": 52.4,
  "orin-nano-super": 83.8,
};

const read = (path) => JSON.parse(readFileSync(join(root, path), "utf8"));

/** A board's file with what it extends: a name beside it, or in the folder of boards. */
function board(name, folder = join(root, "board-configs")) {
  const places = [folder, join(root, "board-configs")].flatMap((one) => [
    join(one, name),
    join(one, `${name}.json`),
  ]);
  const path = places.find((one) => one.endsWith(".json") && existsSync(one));
  if (path === undefined) throw new Error(`there is no board ${name}`);
  const own = JSON.parse(readFileSync(path, "utf8"));
  if (own.extends === undefined) return own;
  const base = board(own.extends, dirname(path));
  return { ...base, ...own, gpu: { ...base.gpu, ...own.gpu }, memory: { ...base.memory, ...own.memory } };
}

const slotsFor = (sass, architecture) =>
  Object.fromEntries(
    sass.rows.filter((row) => row.architecture === architecture).map((row) => [row.shape, row.slotsPerCell]),
  );

/** The model fitted and tested: parameters, and the share of rows it had not seen that it says within the limit. */
export function tested(times = read(TIMES), sass = read(SASS)) {
  const slots = slotsFor(sass, 90);
  const { parameters, rows } = fitModel(times.rows, slots, CARD);
  const all = judge(times.rows, slots, CARD, parameters);
  const unseen = all.filter((one) => !one.fitted);
  return {
    parameters,
    fittedRows: rows,
    unseen,
    within: unseen.filter((one) => Math.abs(one.error) <= LIMIT).length,
    worst: Math.max(...unseen.map((one) => Math.abs(one.error))),
    besideStream: unseen.filter((one) => one.row.streamGigabytesPerSecond > 0).length,
  };
}

/** Clocks of a multiprocessor for each pixel of census and median, from the smallest partition, where nothing but them binds. */
function pixelClocks(times) {
  const of = (kernel) =>
    times.rows.find(
      (row) => row.what === `kernel ${kernel}` && row.multiprocessors === 8 && row.width === 640,
    ).medianMs;
  return ((of("census") + of("median")) * CARD.megahertz * 1e3 * 8) / (640 * 480);
}

/** Frames a second of matching with 4 paths, census to median, with the better number of lanes for each set of lines. */
export function framesPerSecond(machine, slots, parameters, [width, height, numDisparities], clocksOfPixel) {
  const ms = (kernel, lanes) =>
    millisecondsOf({ kernel, width, height, numDisparities, lanes }, slots, machine, parameters).total;
  const best = (kernel) => Math.min(ms(kernel, 8), ms(kernel, 32));
  const pixels = (width * height * clocksOfPixel) / (machine.multiprocessors * machine.megahertz * 1e3);
  return 1000 / (pixels + ms("costs", 32) + best("rows") + best("columns") + ms("selection", 32));
}

const ORINS = [
  "agx-orin-64gb",
  "agx-orin-32gb",
  "orin-nx-16gb",
  "orin-nx-8gb",
  "orin-nano-super",
  "orin-nano-8gb",
  "orin-nano-4gb",
];
const OTHERS = ["agx-thor-t5000", "agx-thor-t4000", "agx-xavier", "xavier-nx", "tx2", "tx1", "nano"];

export function page() {
  const [times, sass] = [read(TIMES), read(SASS)];
  const test = tested(times, sass);
  const slots = slotsFor(sass, 87);
  const clocks = pixelClocks(times);
  const rows = ORINS.map((name) => {
    const { title, gpu, memory } = board(name);
    const machine = {
      multiprocessors: gpu.multiprocessors.value,
      megahertz: gpu.maxMegahertz.value,
      dramGigabytesPerSecond: memory.gigabytesPerSecond.value * COPY_SHARE,
      cacheBytes: name.startsWith("agx") ? 4e6 : 2e6,
    };
    const said = SIZES.map((size) =>
      framesPerSecond(machine, slots, test.parameters, size, clocks).toFixed(0),
    );
    const from = `${machine.multiprocessors} x ${machine.megahertz} MHz, ${memory.gigabytesPerSecond.value} GB/s`;
    return `| ${title.replace("NVIDIA Jetson ", "")} | ${from} | ${said.join(" | ")} | ${PUBLISHED[name] ?? ""} |`;
  });
  const counted = sass.rows.map(
    (row) =>
      `| sm_${row.architecture} | ${row.shape} | ${row.instructionsPerCell.toFixed(1)} | ${row.slotsPerCell.toFixed(1)} |`,
  );
  const p = Object.entries(test.parameters).map(([key, value]) => `${key} ${value.toPrecision(3)}`);
  const verdict =
    test.within === test.unseen.length && test.besideStream > 0
      ? "It has passed the whole test that was set for it."
      : `${
          test.besideStream > 0
            ? ""
            : `Rows beside a kernel that streams through memory are missing: the first form of that kernel asked the host so often whether to
stop that it slowed everything down, and the card's time was over when that was mended. `
        }So the test that was set for it is not
passed, and **what follows for boards is not to be relied on**: memory binds an Orin far earlier than this card, and just that
could not be tested.`;
  return `# What the model predicts for boards

No Jetson has run any of this. Everything in the last table is **predicted**, by a model of three terms for each kernel:
instructions (read off the disassembly), bytes beyond the second-level cache, and steps that depend on each other. Made by
\`node scripts/predictions.mjs\` out of [times](../../${TIMES}) and [counts](../../${SASS}).

## How well it predicts what can be measured

Fitted on ${test.fittedRows} kernel times of an H200 (three sizes, all 132 and 8 of its multiprocessors), it says ${test.within} of ${test.unseen.length} others within
${100 * LIMIT} % (other sizes, a partition of 16, volumes of 160 to 530 MB beside 50 MB of cache); the worst is off by ${(100 * test.worst).toFixed(0)} %.
${verdict}

Parameters: ${p.slice(0, 4).join(", ")},
${p.slice(4).join(", ")}. Pipes work beside each other, so more slots are done than their sum says
and issue exceeds 1.

## Instructions for each cell update

Cells in half precision, one turn of the loop on inner pixels with all it holds: costs, conversion, reduction, loads, stores, addresses.
Slots: the sum over its instructions of 128 / that pipe's lanes a clock; the target for sm_87 was 6, and it is missed by a factor of
three. Of ${sass.rows[2].slotsPerCell.toFixed(1)} slots a cell (8 lanes) 4.4 are minima, 3.0 additions, 1.9 unpacking and packing, 1.3 shuffles, 5.0 loads, copies and
stores, 3.3 addresses and moves. A walk visits a cell twice for two directions; costs and selection visit it once.

| | kernel | instructions a cell | slots a cell |
|---|---|---|---|
${counted.join("\n")}

## Boards

Frames a second of SGM with 4 paths, census to median, at the highest clock of the board's file; a copy is taken to reach ${(100 * COPY_SHARE).toFixed(0)} % of
the memory's rate, as on the H200. 320x240x64 is what half resolution leaves to match at VGA, without halving and upscaling. Published:
NVIDIA's Isaac ROS benchmark of VPI's matcher at 960x540x64, other settings and not ours.

| predicted | from | 640x480x128 | 1280x720x128 | 320x240x64 | 960x540x64 | published, 960x540x64 |
|---|---|---|---|---|---|---|
${rows.join("\n")}

Not predicted: ${OTHERS.map((name) => board(name).title.replace("NVIDIA Jetson ", "")).join(", ")}. sm_53 to sm_72 have other instructions, which
the counting does not read yet, and no disassembler for sm_110 was there.
`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(join(root, PAGE), page());
