// SPDX-License-Identifier: Apache-2.0
// An illegal access on a real device: the engine opens CUDA again, or continues with the CPU, and every frame that it does not
// report as lost has the CPU's bits.   node test/gpu/faults.mjs [FAULTY_PLUGIN]
// Without the file it is built first, from test/doubles/native/faulty_plugin.cu in place of cuda/gpu/plugin.cu.
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("../doubles/cuda-frames.mjs", import.meta.url));
const FRAMES = 40;

function build() {
  const builder = fileURLToPath(new URL("../../scripts/build-cuda.mjs", import.meta.url));
  const library = fileURLToPath(new URL("../../build/Release/libdepthwatt_cuda_faulty.so", import.meta.url));
  const words = ["--plugin", "test/doubles/native/faulty_plugin.cu", "--out", library];
  execFileSync(process.execPath, [builder, ...words], { stdio: "inherit" });
  return library;
}
const plugin = process.argv[2] ?? build();

function frames(backend, faults) {
  const env = { ...process.env, DEPTHWATT_CUDA_PLUGIN: plugin, FAULT_FRAMES: faults };
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
  ["auto", "", ["cuda"]],
  // A launch that fails leaves the context as it was.
  ["auto", "L9", ["cuda"]],
  ["auto", "L9,L15", ["cpu"]],
  ["cuda", "L9", ["cuda"]],
  // After an illegal access the driver decides whether this process gets another context: no on an H200 with driver 13.0.
  ["auto", "9", ["cuda", "cpu"]],
  ["auto", "L9,15", ["cpu"]],
  ["cuda", "9", ["cuda"]],
]) {
  const got = frames(backend, faults);
  const lost = got.frames.filter(({ code }) => code === "FRAME_LOST");
  const failed = got.frames.filter(({ code }) => code === "GPU_LOST");
  const kept = got.frames.filter(({ code }) => code === undefined);
  const right = kept.every(({ frame, hash }) => hash === expected[frame]);
  // Only where CUDA was asked for may a run end early, and only with the error.
  const whole = kept.length + lost.length === FRAMES || (backend === "cuda" && failed.length > 0);
  const noticed = faults === "" ? lost.length + failed.length === 0 : lost.length + failed.length > 0;
  const passed = right && whole && noticed && ends.includes(got.after.backend);
  if (!passed) ++failures;
  console.log(
    `--backend ${backend}, faults at ${faults || "none"}: ${passed ? "ok" : "FAILED"}; ${kept.length} frames equal to the ` +
      `CPU's, ${lost.length} lost, ${failed.length} failed, then ${got.after.backend}: ` +
      (failed[0]?.message ?? got.after.backendReason),
  );
}
process.exit(failures === 0 ? 0 : 1);
