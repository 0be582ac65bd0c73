// SPDX-License-Identifier: Apache-2.0
// Frames a second and CPU time a frame next to v4l2-ctl, of the same camera, format and size, one after the other, three rounds.
import { execFileSync, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { open, report, webcams } from "./tools.mjs";

const SIZES = [
  { width: 640, height: 480, rateHz: 25, frames: 75 },
  { width: 1920, height: 1080, rateHz: 5, frames: 25 },
];

/** Between two frames of the running program: its own account of its start would drown what a frame costs. */
function measureTool(path, { width, height, rateHz, frames }) {
  const format = `width=${width},height=${height},pixelformat=YUYV`;
  execFileSync("v4l2-ctl", ["-d", path, "-v", format, "-p", String(rateHz)], { stdio: "ignore" });
  const tool = spawn("v4l2-ctl", ["-d", path, "--stream-mmap=8", "--stream-count=100000"], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const now = () => ({
    at: performance.now(),
    cpuNs: Number(readFileSync(`/proc/${tool.pid}/schedstat`, "utf8").split(" ")[0]),
  });
  return new Promise((resolve) => {
    let count = 0;
    let begin;
    // It writes a mark for each frame.
    tool.stderr.on("data", (chunk) => {
      count += String(chunk).match(/</g)?.length ?? 0;
      if (begin === undefined && count >= 5) begin = { ...now(), count };
      if (begin === undefined || count < begin.count + frames) return;
      const end = now();
      tool.stderr.removeAllListeners("data");
      tool.on("close", () =>
        resolve({
          cpuMicrosecondsPerFrame: (end.cpuNs - begin.cpuNs) / 1000 / (count - begin.count),
          fps: (1000 * (count - begin.count)) / (end.at - begin.at),
        }),
      );
      tool.kill("SIGKILL");
    });
  });
}

async function measureOurs(path, { width, height, rateHz, frames }, how) {
  const camera = await open(path, { format: "YUYV", width, height, rateHz, exact: true });
  let count = 0;
  let begin;
  let end;
  const now = () => ({
    cpu: process.cpuUsage(),
    at: performance.now(),
    threadNs: camera.statistics().threadNs,
  });
  const step = () => {
    count++;
    if (count === 5) begin = now();
    if (count === 5 + frames) end = now();
    return end !== undefined;
  };
  if (how === "loop") {
    for await (const _ of camera) if (step()) break;
  } else {
    await new Promise((resolve) => {
      camera.start((frame) => {
        frame.release();
        if (step()) resolve();
      });
    });
  }
  const { drops } = camera.statistics();
  await camera.close();
  const cpu = end.cpu.user + end.cpu.system - begin.cpu.user - begin.cpu.system;
  return {
    cpuMicrosecondsPerFrame: cpu / frames,
    threadMicrosecondsPerFrame: (end.threadNs - begin.threadNs) / 1000 / frames,
    fps: (1000 * frames) / (end.at - begin.at),
    drops,
  };
}

const [path] = await webcams();
for (let round = 1; round <= 3; round++) {
  for (const size of SIZES) {
    const { frames, ...facts } = size;
    const row = { ...facts, frames, format: "YUYV", round };
    report({ row: { ...row, program: "v4l2-ctl --stream-mmap=8", ...(await measureTool(path, size)) } });
    report({ row: { ...row, program: "v4l2-camera, loop", ...(await measureOurs(path, size, "loop")) } });
    report({
      row: { ...row, program: "v4l2-camera, function", ...(await measureOurs(path, size, "function")) },
    });
  }
}
process.exit(0);
