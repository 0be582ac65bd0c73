// SPDX-License-Identifier: Apache-2.0
// What esaw and esmp take on this machine at the papers' size, 450x375 with 60 disparities: the engine's match stage, on one thread
// and on two, in every vector form, with the papers' settings, with gradients, and with a right view of its own.
//   npm run --silent build && node bench/run/exponential.mjs [--machine NAME] [--rounds N] [--load TEXT]
// The engines take turns, a frame each: what else runs on the machine hits all of them. Writes
// bench/results/MACHINE/DATE-COMMIT-exponential-speed.json.
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { createEngine, STAGE_NAMES } from "../../dist/cuda/index.js";
import { loadNative } from "../../dist/edge/native.js";
import { engineCases } from "../../test/golden/engine-cases.mjs";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const { values } = scriptArguments({
  options: {
    machine: { type: "string" },
    rounds: { type: "string", default: "25" },
    load: { type: "string" },
  },
});
const rounds = Number(values.rounds);
const [width, height, numDisparities] = [450, 375, 60];
const MATCH_STAGE = STAGE_NAMES.indexOf("match");

const PRESETS = {
  "esaw-9": { algorithm: "esaw", parameters: {} },
  "esaw-5": { algorithm: "esaw", parameters: { steps: 5, basePercent: 260 } },
  "esmp-8": { algorithm: "esmp", parameters: {} },
};
const FORMS = {
  "the paper's": { more: {}, leftRight: false },
  "with gradients": { more: { gradientTruncation: 4 }, leftRight: false },
  "with the right image's own view": { more: { rightView: "own" }, leftRight: true },
};

let state = 1;
const noise = () => {
  state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
  return (state >>> 16) & 255;
};
const right = Uint8Array.from({ length: 3 * width * height }, noise);
const left = right.map((_, i) => right[Math.max(0, i - 3 * 9)]);

const cases = [];
for (const instructionSet of loadNative()
  .cpuFeatures()
  .available.filter((name) => name !== "scalar")) {
  for (const [preset, { algorithm, parameters }] of Object.entries(PRESETS)) {
    for (const [form, { more, leftRight }] of Object.entries(FORMS)) {
      for (const threads of [1, 2]) {
        const lambda = algorithm === "esmp" && more.gradientTruncation > 0 ? { lambdaThousandths: 99 } : {};
        const base = engineCases.esaw.options;
        const engine = createEngine({
          ...base,
          inputWidth: width,
          inputHeight: height,
          width,
          height,
          leftStrideBytes: 3 * width,
          rightStrideBytes: 3 * width,
          threads,
          match: {
            ...base.match,
            algorithm,
            numDisparities,
            parameters: { ...parameters, ...more, ...lambda },
          },
          refine: {
            ...base.refine,
            leftRight,
            speckleSize: 0,
            fill: "off",
            boundary: false,
            median: false,
          },
          backend: "cpu",
          instructionSet,
        });
        cases.push({ preset, form, instructionSet, threads, engine, times: [] });
      }
    }
  }
}

for (let round = -2; round < rounds; round++) {
  for (const { engine, times } of cases) {
    await engine.compute(left, right);
    if (round >= 0) times.push(engine.stageMilliseconds[MATCH_STAGE]);
  }
}

const rows = cases.map(({ preset, form, instructionSet, threads, engine, times }) => {
  times.sort((a, b) => a - b);
  const [medianMs, leastMs] = [times[times.length >> 1], times[0]];
  const rate = (ms) => Number(((width * height * numDisparities) / ms / 1000).toFixed(1));
  const { workspaceBytes } = engine.info;
  engine.close();
  return {
    kind: "measured",
    what: "match stage",
    preset,
    form,
    instructionSet,
    threads,
    width,
    height,
    numDisparities,
    medianMs: Number(medianMs.toFixed(3)),
    leastMs: Number(leastMs.toFixed(3)),
    millionDisparitiesPerSecond: rate(medianMs),
    fastestMillionDisparitiesPerSecond: rate(leastMs),
    workspaceBytes,
  };
});

const git = (...words) => execFileSync("git", words, { cwd: root, encoding: "utf8" }).trim();
const machine = values.machine ?? `${cpus()[0].model.trim()}, ${cpus().length} cores`;
const commit = git("rev-parse", "--short", "HEAD");
const date = new Date().toISOString().slice(0, 10);
const folder = join(root, "bench/results", machine.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-"));
mkdirSync(folder, { recursive: true });
const file = join(folder, `${date}-${commit}-exponential-speed.json`);
const about = {
  machine,
  commit,
  date,
  toolchain: `g++ ${execFileSync("g++", ["-dumpfullversion"], { encoding: "utf8" }).trim()}, node ${process.versions.node}`,
  powerMode: "not known",
  clocks: "not locked",
  load: `${values.load ?? "other work on the machine"}, load ${loadavg()[0].toFixed(1)}`,
};
writeFileSync(file, `${JSON.stringify({ ...about, rows }, undefined, 1)}\n`);
for (const row of rows)
  console.log(
    `${row.preset} ${row.form}, ${row.instructionSet}, ${row.threads}: ${row.medianMs} ms, ${row.millionDisparitiesPerSecond} MDE/s (least ${row.leastMs} ms)`,
  );
console.log(file);
