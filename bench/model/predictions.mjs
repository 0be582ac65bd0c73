// SPDX-License-Identifier: Apache-2.0
// Writes docs/internals/predictions.md: node bench/model/predictions.mjs [RESULT...]. Results: the files of bench_main (kernels, frames,
// copies, alone and next to a stream) and the one of sass-cells.mjs; without any, those that the page names. See gpu-model.mjs.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { fitModel, instructionCounts, isFitted, judge, LIMIT, measurements } from "./gpu-fit.mjs";
import { frameMs, frameWalks, lanesFor, walkMs } from "./gpu-model.mjs";
import { renderPage } from "./predictions-page.mjs";
import {
  bothSearches,
  isSearchResult,
  PREDICTED_SPEED_PATH,
  predictedSpeedText,
} from "./search-predictions.mjs";

/**
 * @typedef {import("./gpu-fit.mjs").Row} Row
 * @typedef {{ times: { rows: (Row & { gigabytesPerSecond: number })[], commit: string }[], sass: { rows: any[] }, search: any }} Loaded
 * @typedef {{
 *   parameters: import("./gpu-model.mjs").Parameters,
 *   fittedRows: number,
 *   unseen: { error: number, row: Row, job: { family: string }, machine: any }[],
 *   missed: object[],
 *   withStream: number,
 *   places: any[],
 *   largestVolume: number,
 *   passed: boolean,
 * }} ModelTest
 */

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const PAGE = "docs/internals/predictions.md";
/** The nominal memory rate of the card; boards are assumed to reach the same share of theirs. */
const CARD_GIGABYTES_PER_SECOND = 4800;

const BOARDS = [
  "agx-thor-t5000",
  "agx-thor-t4000",
  "agx-orin-64gb",
  "agx-orin-32gb",
  "orin-nx-16gb",
  "orin-nx-8gb",
  "orin-nano-super",
  "orin-nano-8gb",
  "orin-nano-4gb",
  "agx-xavier",
  "xavier-nx",
  "tx2",
  "tx1",
  "nano",
];
const VGA = { width: 640, height: 480, numDisparities: 128 };
const HD = { width: 1280, height: 720, numDisparities: 128 };
const FRAMES = [VGA, HD, { ...VGA, half: true }, { ...HD, half: true }];
const QUARTER_HD = { width: 960, height: 540, numDisparities: 64 };
const WIDE = { width: 1024, height: 440, numDisparities: 128 };
const ISAAC = "VPI on the GPU, in NVIDIA's Isaac ROS benchmark";
const LIBSGM = "libSGM, 4 paths, sub-pixel";
/**
 * Frames a second that others published for these boards, the best of their releases; nothing of it was measured here.
 * @type {[string, {width: number, height: number, numDisparities: number}, number, string][]}
 */
const PUBLISHED = [
  ["agx-thor-t5000", QUARTER_HD, 217.3, ISAAC],
  ["agx-orin-64gb", QUARTER_HD, 168.2, ISAAC],
  ["orin-nx-16gb", QUARTER_HD, 78.1, ISAAC],
  ["orin-nano-super", QUARTER_HD, 83.8, ISAAC],
  ["orin-nano-8gb", QUARTER_HD, 52.4, ISAAC],
  ["agx-xavier", QUARTER_HD, 88.6, ISAAC],
  ["agx-xavier", WIDE, 110.7, LIBSGM],
  ["tx2", WIDE, 35.1, LIBSGM],
  ["tx1", VGA, 42, "dhernandez0/sgm, 4 paths, without sub-pixel and left-right check"],
];

const read = (path) => JSON.parse(readFileSync(join(root, path), "utf8"));

/** The result files that the page names. */
function named() {
  const text = readFileSync(join(root, PAGE), "utf8");
  return [
    ...new Set(
      [...text.matchAll(/\]\(\.\.\/\.\.\/(bench\/results\/[^)]+\.json)\)/g)].map(([, path]) => path),
    ),
  ];
}

/** @param {string[]} paths @returns {Loaded} */
export function load(paths = named()) {
  const files = paths.map((path) => ({ path, ...read(path) }));
  const sass = files.find((file) => file.machine === "disassembly");
  if (sass === undefined)
    throw new Error("none of these files counts instructions: name what sass-cells.mjs wrote");
  const search = files.find(isSearchResult);
  if (search === undefined)
    throw new Error("none of these files times both searches: name what bench_search wrote");
  return { times: files.filter((file) => file !== sass && file !== search), sass, search };
}

/** A board's file with what it extends: a name next to it, or in the folder of boards. */
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
  const merged = (key) => ({ [key]: { ...base[key], ...own[key] } });
  return { ...base, ...own, ...merged("gpu"), ...merged("memory"), ...merged("power") };
}

/**
 * The model fitted and tested. fitted: which rows it may look at; all others test it.
 * @param {Loaded} loaded
 * @param {(row: Row) => boolean} fitted
 * @returns {ModelTest}
 */
export function tested({ times, sass } = load(), fitted = isFitted) {
  const measured = measurements(times, sass);
  const { parameters, rows } = fitModel(measured, fitted);
  const unseen = judge(measured, parameters, fitted).filter((one) => !one.fitted);
  const missed = unseen.filter((one) => !(Math.abs(one.error) <= LIMIT));
  const places = new Map();
  for (const one of unseen) {
    const streaming = one.row.streamGigabytesPerSecond > 0;
    const key = `${one.row.multiprocessors}${streaming ? " next to a stream" : ""}`;
    const place = places.get(key) ?? { key, kernels: [], frames: [], machine: one.machine, streams: [] };
    (one.job.family === "frames" ? place.frames : place.kernels).push(one);
    if (streaming) place.streams.push(one.row.streamGigabytesPerSecond);
    places.set(key, place);
  }
  const volume = ({ width, height, numDisparities, half }) =>
    half ? 0 : 2 * width * height * (numDisparities ?? 0);
  const larger = (place) =>
    [...place.kernels, ...place.frames].some((one) => volume(one.job) > one.machine.cacheBytes);
  const asked = ["132", "16", "8", "16 next to a stream", "8 next to a stream"];
  return {
    parameters,
    fittedRows: rows,
    unseen,
    missed,
    places: asked.flatMap((key) => places.get(key) ?? []),
    withStream: unseen.filter((one) => one.row.streamGigabytesPerSecond > 0).length,
    largestVolume: Math.max(...unseen.map((one) => volume(one.job))),
    // Every place that the test asks for is there, with volumes beyond the cache, and no row misses.
    passed: missed.length === 0 && asked.every((key) => places.has(key) && larger(places.get(key))),
  };
}

/**
 * Returns the model of a board, or the sentence why nothing is predicted for it. share: of its memory's rate that a
 * copy reaches.
 * @returns {any}
 */
function createMachine(name, sass, share, startMs) {
  const { gpu, memory } = board(name);
  const architecture = gpu.nvccArchitectures.value[0];
  const needed = [gpu.multiprocessors, gpu.maxMegahertz, gpu.l2Kilobytes, memory.gigabytesPerSecond];
  const unknown = needed.find((one) => one.value === undefined);
  if (unknown !== undefined) return { why: unknown.unknown };
  const rate = memory.gigabytesPerSecond.value * share;
  return {
    architecture,
    multiprocessors: gpu.multiprocessors.value,
    megahertz: gpu.maxMegahertz.value,
    nominalGigabytesPerSecond: memory.gigabytesPerSecond.value,
    copyGigabytesPerSecond: rate,
    memoryGigabytesPerSecond: rate,
    cacheBytes: gpu.l2Kilobytes.value * 1024,
    streaming: false,
    startMs,
    counts: instructionCounts(sass, architecture, "half2"),
  };
}

/** Which of instructions, memory and waiting takes most, as shares of what the walks of a frame would take one after the other. */
function timeShares(frame, machine, parameters) {
  const sums = { issue: 0, bytes: 0, waiting: 0 };
  for (const kernel of frameWalks(machine, frame.numDisparities)) {
    const lanes = lanesFor(kernel, frame, machine.multiprocessors);
    const said = walkMs({ ...frame, kernel, lanes }, machine, parameters.walks);
    for (const key of Object.keys(sums)) sums[key] += said[key];
  }
  return sums;
}

/** @param {Loaded} loaded */
export function predictions(loaded = load(), test = tested(loaded)) {
  const copies = loaded.times.flatMap((file) => file.rows.filter((row) => row.what === "copy"));
  const card = Math.max(
    ...copies.filter((row) => row.streamGigabytesPerSecond === 0).map((row) => row.gigabytesPerSecond),
  );
  const share = card / CARD_GIGABYTES_PER_SECOND;
  const startMs = test.unseen.filter((one) => one.row.multiprocessors === 132)[0].machine.startMs;
  const machines = new Map(BOARDS.map((name) => [name, createMachine(name, loaded.sass, share, startMs)]));
  const boardTitle = (name) => board(name).title.replace("NVIDIA Jetson ", "");
  const fps = (frame, machine) => 1000 / frameMs(frame, machine, test.parameters);
  return {
    share,
    startMs,
    boards: BOARDS.map((name) => {
      const machine = machines.get(name);
      if (machine.why !== undefined) return { title: boardTitle(name), why: machine.why };
      return {
        name,
        title: boardTitle(name),
        limitWatts: board(name).power.moduleLimitWatts.value,
        machine,
        framesPerSecond: FRAMES.map((frame) => fps(frame, machine)),
        shares: timeShares(VGA, machine, test.parameters),
      };
    }),
    published: PUBLISHED.map(([name, frame, published, whose]) => ({
      title: boardTitle(name),
      frame,
      published,
      whose,
      predicted: fps(frame, machines.get(name)),
    })),
  };
}

/** @param {Loaded} loaded */
export function page(loaded = load()) {
  const test = tested(loaded);
  const blind = tested(loaded, (row) => isFitted(row) && !(row.streamGigabytesPerSecond > 0));
  const said = predictions(loaded, test);
  return renderPage(loaded, test, blind, said, FRAMES, bothSearches(loaded, test, said));
}

/** @param {Loaded} loaded */
export function bothPredictions(loaded = load(), test = tested(loaded)) {
  return bothSearches(loaded, test, predictions(loaded, test));
}

function main(files) {
  const paths = files.map((file) => relative(root, resolve(file)));
  const loaded = load(paths.length > 0 ? paths : undefined);
  writeFileSync(join(root, PAGE), page(loaded));
  const both = bothPredictions(loaded);
  writeFileSync(join(root, PREDICTED_SPEED_PATH), predictedSpeedText(both));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main(process.argv.slice(2));
