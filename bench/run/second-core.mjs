// SPDX-License-Identifier: Apache-2.0
// How much a second core adds: to the engine with two threads, and to this machine at all, which is what two engines of one
// thread each reach next to one another. shareOfMachine: frames a second of two threads, over those of two engines. Taken in turn
// within each round, so that a disturbance meets all three.
//   node bench/run/second-core.mjs [ROUNDS]     prints the rows as JSON; `npm run bench` has them too
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { median } from "../../dist/core/statistics.js";
import { PROGRAM } from "../shared/depthwatt.mjs";

const SIZE = ["--width", "640", "--height", "480", "--num-disparities", "128"];
/** Settings that compare with OpenCV: census to disparity, uniqueness, sub-pixel, left-right check, median, and nothing more. */
export const LIKE_FOR_LIKE = [
  "match.sgm.cost=census",
  "match.sgm.adaptiveP2=0",
  "match.sgm.p1=10",
  "match.sgm.p2=60",
  "match.sgm.uniqueness=10",
  "refine.speckleSize=0",
  "refine.fill=off",
  "refine.boundary=false",
];

async function bench(paths, threads) {
  const words = ["bench", "--backend", "cpu", "--json", "--frames", "60", ...SIZE];
  words.push("--set", `match.sgm.paths=${paths}`, "--threads", String(threads));
  for (const item of LIKE_FOR_LIKE) words.push("--set", item);
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, ...words]);
  return JSON.parse(stdout.trim().split("\n").at(-1)).medianMs;
}

export async function secondCore(rounds) {
  const rows = [];
  for (const paths of [4, 8]) {
    const times = { alone: [], together: [], twoThreads: [] };
    for (let round = 0; round < rounds; ++round) {
      times.alone.push(await bench(paths, 1));
      times.together.push(...(await Promise.all([bench(paths, 1), bench(paths, 1)])));
      times.twoThreads.push(await bench(paths, 2));
    }
    const [alone, together, twoThreads] = Object.values(times).map(median);
    rows.push({
      kind: "measured",
      what: "second core",
      paths,
      oneThreadMs: alone,
      oneThreadBesideAnotherMs: together,
      twoThreadsMs: twoThreads,
      engineRatio: alone / twoThreads,
      machineRatio: (2 * alone) / together,
      shareOfMachine: together / 2 / twoThreads,
      rounds,
    });
  }
  return rows;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  console.log(JSON.stringify(await secondCore(Number(process.argv[2] ?? 5)), null, 1));
}
