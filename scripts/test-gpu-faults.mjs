// SPDX-License-Identifier: Apache-2.0
// An illegal access on a real device: the engine opens CUDA again, or goes on with the processor, and every frame that it does not
// report as lost has the processor's bits.   node scripts/test-gpu-faults.mjs FAULTY_PLUGIN
// The plugin comes from test/doubles/native/faulty_plugin.cu, linked in place of cuda/gpu/plugin.cu.
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("../test/doubles/cuda-frames.mjs", import.meta.url));
const FRAMES = 40;

function frames(backend, faults) {
  const env = { ...process.env, DEPTHWATT_CUDA_PLUGIN: process.argv[2], DEPTHWATT_FAULT_FRAMES: faults };
  const lines = execFileSync(process.execPath, [program, backend, String(FRAMES)], { encoding: "utf8", env });
  const parsed = lines
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  return { after: parsed.at(-1).info, frames: parsed.slice(1, -1) };
}

const expected = frames("cpu", "").frames.map(({ hash }) => hash);
let failures = 0;
for (const [backend, faults, ends] of [
  ["auto", "", "cuda"],
  ["auto", "9", "cuda"],
  ["auto", "9,15", "cpu"],
  ["cuda", "9", "cuda"],
]) {
  const got = frames(backend, faults);
  const lost = got.frames.filter(({ code }) => code === "FRAME_LOST");
  const kept = got.frames.filter(({ code }) => code === undefined);
  const right =
    kept.every(({ frame, hash }) => hash === expected[frame]) && kept.length + lost.length === FRAMES;
  const passed = right && got.after.backend === ends && (faults === "" ? lost.length === 0 : lost.length > 0);
  if (!passed) ++failures;
  console.log(
    `--backend ${backend}, faults at ${faults || "none"}: ${passed ? "ok" : "FAILED"}; ${kept.length} frames equal to the ` +
      `processor's, ${lost.length} lost, then ${got.after.backend}: ${got.after.backendReason}`,
  );
}
process.exit(failures === 0 ? 0 : 1);
