// SPDX-License-Identifier: Apache-2.0
// Times every preset on CUDA at 640x480 and 128 disparities, with the time of each stage: on the whole card, and on
// fewer multiprocessors as a client of CUDA MPS.
//   node bench/run/presets-cuda.mjs [--of 132 --sms 16,8] [--frames N] [--machine NAME] [--out FILE]
// --of: the card's multiprocessors. --sms: how many MPS allows, for one run of all presets each.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PRESET_NAMES } from "../../dist/edge/presets/index.js";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { runDepthwatt } from "../shared/depthwatt.mjs";
import { RESULT_OPTIONS, writeResult } from "../shared/result-file.mjs";

const { values } = scriptArguments({
  options: {
    frames: { type: "string", default: "100" },
    of: { type: "string", default: "132" },
    sms: { type: "string", default: "" },
    ...RESULT_OPTIONS,
  },
});
const whole = Number(values.of);
const parts = values.sms.split(",").filter(Boolean).map(Number);

/** Times all presets. @param environment of the program */
function timePresets(sms, environment) {
  return PRESET_NAMES.map((preset) => {
    const words = ["bench", "--preset", preset, "--backend", "cuda", "--num-disparities", "128"];
    const figures = runDepthwatt([...words, "--frames", values.frames], [], environment);
    const { encode, ...stages } = figures.stages;
    const kernelsMs = Object.values(stages).reduce((sum, ms) => sum + ms, 0);
    const { algorithm, halfResolution, medianMs } = figures;
    const row = {
      kind: "measured",
      preset,
      multiprocessors: sms,
      algorithm,
      halfResolution,
      medianMs,
      kernelsMs,
    };
    return { ...row, encodeMs: encode, stages };
  });
}

/** Runs `action` with a separate MPS server. @param action gets the environment of its clients */
function withMps(action) {
  const folder = mkdtempSync(join(tmpdir(), "mps-"));
  const environment = { CUDA_MPS_PIPE_DIRECTORY: folder, CUDA_MPS_LOG_DIRECTORY: folder };
  const control = (words, input) =>
    spawnSync("nvidia-cuda-mps-control", words, {
      input,
      env: { ...process.env, ...environment },
      encoding: "utf8",
    });
  const started = control(["-d"]);
  if (started.status !== 0) throw new Error(`CUDA MPS did not start: ${started.stderr || started.error}`);
  try {
    return action(environment);
  } finally {
    control([], "quit\n");
    rmSync(folder, { recursive: true, force: true });
  }
}

const rows = timePresets(whole, {});
if (parts.length > 0) {
  withMps((environment) => {
    for (const sms of parts) {
      const share = String((100 * sms) / whole + 0.1); // MPS rounds down to a pair of multiprocessors
      rows.push(...timePresets(sms, { ...environment, CUDA_MPS_ACTIVE_THREAD_PERCENTAGE: share }));
    }
  });
}
for (const { preset, multiprocessors: sms, medianMs, kernelsMs, stages } of rows) {
  const [frame, kernels, match] = [medianMs, kernelsMs, stages.match].map((ms) => ms.toFixed(3));
  console.log(`${preset} on ${sms} multiprocessors: frame ${frame} ms, kernels ${kernels}, match ${match}`);
}
writeResult("presets-cuda", values, {
  what: "every preset on CUDA, 640x480, 128 disparities: milliseconds of a frame alone from submit to done, and of its stages",
  rows,
});
