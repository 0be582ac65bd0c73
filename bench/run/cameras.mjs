// SPDX-License-Identifier: Apache-2.0
// Measures v4l2-camera alone, with a camera in memory: frames a second, CPU time and heap of each frame. Needs the
// package's tests to have run once, which build the driver in memory, and gcc.
//   node bench/run/cameras.mjs
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { RESULT_OPTIONS, root, writeResult } from "../shared/result-file.mjs";

const doubles = join(root, "camera/v4l2/build/test-doubles");
const RATE_HZ = 500;
const FRAMES = 1500;
const WARM_UP = 1000;

const SIZES = [
  { width: 640, height: 480 },
  { width: 1920, height: 1080 },
];

async function measure({ width, height, how }) {
  const { open } = await import("v4l2-camera");
  const modules = readdirSync(doubles).map((name) => join(doubles, name));
  const newest = modules.sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs)[0];
  const fake = createRequire(import.meta.url)(newest).create();
  const formats = [{ fourcc: "YUYV", width, height, ratesHz: [RATE_HZ] }];
  fake.add({ path: "/f", card: "c", bus: "b", driver: "d", formats, controls: [] });
  const camera = await open("/f", {}, { system: fake.system, folders: { sysfs: "/nowhere" } });
  const mallocs = () => {
    const file = process.env.ALLOCATION_COUNT_FILE;
    return file === undefined ? undefined : Number(readFileSync(file).readBigUInt64LE(0));
  };
  // Reads no file: it stands between two frames.
  const now = () => ({
    at: performance.now(),
    cpu: process.cpuUsage(),
    threadNs: camera.statistics().threadNs,
    heap: process.memoryUsage().heapUsed,
  });
  let count = 0;
  let begin;
  let end;
  let resolveEnd;
  const over = new Promise((resolve) => {
    resolveEnd = resolve;
  });
  const step = () => {
    count++;
    if (count === WARM_UP) {
      globalThis.gc();
      begin = { ...now(), mallocs: mallocs() };
    }
    if (count === WARM_UP + FRAMES) {
      end = now();
      globalThis.gc();
      end.heapAfterCollection = process.memoryUsage().heapUsed;
      end.mallocs = mallocs();
      resolveEnd();
    }
  };
  if (how === "loop") {
    (async () => {
      for await (const _ of camera) step();
    })();
  } else {
    camera.start((frame) => {
      frame.release();
      step();
    });
  }
  while (!fake.state("/f").streaming) await new Promise((resolve) => setTimeout(resolve, 1));
  fake.run("/f", RATE_HZ, 3 * (WARM_UP + FRAMES));
  await over;
  const { drops } = camera.statistics();
  await camera.close();
  const cpu = end.cpu.user + end.cpu.system - begin.cpu.user - begin.cpu.system;
  return {
    fps: (1000 * FRAMES) / (end.at - begin.at),
    askedHz: RATE_HZ,
    cpuMicrosecondsPerFrame: cpu / FRAMES,
    cameraThreadMicrosecondsPerFrame: (end.threadNs - begin.threadNs) / 1000 / FRAMES,
    javascriptHeapBytesPerFrame: (end.heap - begin.heap) / FRAMES,
    javascriptHeapBytesKept: end.heapAfterCollection - begin.heap,
    ...(end.mallocs !== undefined && { mallocsOnTheCamerasThread: end.mallocs - begin.mallocs }),
    drops,
  };
}

const { values } = scriptArguments({ options: { job: { type: "string" }, ...RESULT_OPTIONS } });
if (values.job !== undefined) {
  console.log(JSON.stringify(await measure(JSON.parse(values.job))));
  process.exit(0);
}

const folder = mkdtempSync(join(tmpdir(), "v4l2-camera-bench-"));
const library = join(folder, "count_allocations.so");
const counter = join(root, "test/native/count_allocations.c");
execFileSync("gcc", ["-O1", "-shared", "-fPIC", "-o", library, counter, "-ldl"]);
const rows = [];
for (let round = 1; round <= 3; round++) {
  for (const size of SIZES) {
    for (const how of ["loop", "function"]) {
      // A young generation that holds the whole measurement, so that what was allocated is still there to be counted.
      const words = ["--expose-gc", "--max-semi-space-size=256", "--min-semi-space-size=256"];
      const job = JSON.stringify({ ...size, how });
      const run = (env) =>
        JSON.parse(
          execFileSync(process.execPath, [...words, fileURLToPath(import.meta.url), "--job", job], {
            encoding: "utf8",
            env: { ...process.env, ...env },
          }),
        );
      const counted = run({ LD_PRELOAD: library, ALLOCATION_COUNT_FILE: join(folder, "count") });
      rows.push({
        ...size,
        format: "YUYV",
        how,
        round,
        frames: FRAMES,
        ...run({}),
        mallocsOnTheCamerasThread: counted.mallocsOnTheCamerasThread,
      });
    }
  }
}
rmSync(folder, { recursive: true });
writeResult("cameras", values, { what: "v4l2-camera with a camera in memory", rows });
