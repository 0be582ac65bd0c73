// SPDX-License-Identifier: Apache-2.0
// Measures capture alone, with two VGA cameras in memory: CPU time per image, heap allocations, copies.
import { execFileSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { fakeVideoModule } from "../../camera/v4l2/test/fake-video/fake-video.js";
import { needs } from "../doubles/needs.js";

const FRAMES = 300;
const RATE_HZ = 100;

interface Cost {
  pairs: number;
  /** Threads under the name that allocations are counted by. */
  cameraThreads: number;
  allocations: number;
  threadMicroseconds: number;
  javascriptMicroseconds: number;
  idleMicroseconds: number;
}

/** Runs in its own process, where an allocation counter is preloaded and nothing else happens. */
const script = (fake: string, root: string) => `
  import { createRequire } from "node:module";
  import { readdirSync, readFileSync } from "node:fs";
  import { loadAddon } from ${JSON.stringify(join(root, "camera/v4l2/dist/parts.js"))};
  import { openV4l2Source } from ${JSON.stringify(join(root, "dist/camera/live/open-source.js"))};
  const video = loadAddon();
  const fake = createRequire("/")(${JSON.stringify(fake)}).create();
  const formats = [{ fourcc: "GREY", width: 640, height: 480, ratesHz: [${RATE_HZ}] }];
  for (const path of ["/l", "/r"]) fake.add({ path, card: "c", bus: path, driver: "d", formats, controls: [] });
  const clocks = () => video.clocks();
  const system = fake.system;
  const source = await openV4l2Source({ left: "/l", right: "/r", width: 640, height: 480 }, { video, clocks, system });
  let pairs = 0;
  source.start({ onPair(pair) { pairs++; pair.release(); }, onDegraded() {}, onEnd() {}, onError(error) { throw error; } });
  const threads = () => readdirSync("/proc/self/task").map((id) => readFileSync("/proc/self/task/" + id + "/comm", "utf8").trim());
  const allocations = () => Number(readFileSync(process.env.ALLOCATION_COUNT_FILE).readBigUInt64LE(0));
  // Time on a CPU of the thread that runs JavaScript: the first field, ns.
  const javascriptNs = () => Number(readFileSync("/proc/self/task/" + process.pid + "/schedstat", "utf8").split(" ")[0]);
  const threadNs = () => source.threadNs();
  const rest = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  const until = async (count) => { while (pairs < count) await rest(20); };
  while (!fake.state("/l").streaming || !fake.state("/r").streaming) await rest(5);
  for (const path of ["/l", "/r"]) fake.run(path, ${RATE_HZ}, ${2 * FRAMES}); // a machine that stands still loses some
  await until(40);
  const cameraThreads = threads().filter((name) => name === "v4l2-camera").length;
  const before = { pairs, allocations: allocations(), javascript: javascriptNs(), thread: threadNs(), at: performance.now() };
  await until(${FRAMES});
  const after = { pairs, allocations: allocations(), javascript: javascriptNs(), thread: threadNs(), at: performance.now() };
  for (let seen = -1; seen !== pairs; await rest(1500)) seen = pairs;
  // The same loop of timers without images is not the cost of capture.
  const idle = { javascript: javascriptNs(), at: performance.now() };
  await rest(1000);
  const idlePerMs = (javascriptNs() - idle.javascript) / (performance.now() - idle.at);
  await source.stop();
  const images = 2 * (after.pairs - before.pairs);
  console.log(JSON.stringify({
    pairs: after.pairs - before.pairs,
    cameraThreads,
    allocations: after.allocations - before.allocations,
    threadMicroseconds: (after.thread - before.thread) / images / 1e3,
    javascriptMicroseconds: (after.javascript - before.javascript) / images / 1e3,
    idleMicroseconds: (idlePerMs * (after.at - before.at)) / images / 1e3,
  }));
`;

needs("toolchain").suite("cost of capture", () => {
  test(`${FRAMES} pairs of VGA: no heap allocation on the cameras' threads; CPU time is reported`, () => {
    const folder = mkdtempSync(join(tmpdir(), "depthwatt-capture-"));
    const library = join(folder, "count_allocations.so");
    execFileSync("gcc", [
      "-O1",
      "-shared",
      "-fPIC",
      "-o",
      library,
      "test/native/count_allocations.c",
      "-ldl",
    ]);
    const env = { ...process.env, LD_PRELOAD: library, ALLOCATION_COUNT_FILE: join(folder, "count") };
    const words = ["--input-type=module", "-e", script(fakeVideoModule(), process.cwd())];
    const output = execFileSync(process.execPath, words, { env, encoding: "utf8", timeout: 50_000 });
    const cost = JSON.parse(output.trim().split("\n").at(-1)!) as Cost;
    console.log(`capture cost per VGA image: ${JSON.stringify(cost)}`);
    expect(cost.cameraThreads).toBe(2);
    expect(cost.allocations).toBe(0);
    expect(cost.threadMicroseconds).toBeGreaterThan(0);
    // 25 + 130 us with nothing else running (docs/guides/cameras.md; the goal is 300), twice that next to an emulator: no limit
    // here, where neighbours would decide.
    expect(cost.javascriptMicroseconds).toBeGreaterThan(0);
  });
});
