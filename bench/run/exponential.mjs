// SPDX-License-Identifier: Apache-2.0
// Measures esaw and esmp on this machine at the papers' size, 450x375 with 60 disparities: the engine's match stage, on
// one thread and on two, in every vector form, with the papers' settings, with gradients, and with a separate
// right-image match.
//   node bench/run/exponential.mjs [--rounds N]
// The engines take turns, a frame each: other load on the machine hits all of them.
import { median } from "../../dist/core/statistics.js";
import { createEngine, STAGE_NAMES } from "../../dist/cuda/index.js";
import { loadNative } from "../../dist/edge/contracts/native.js";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { engineCases } from "../../test/golden/engine-cases.mjs";
import { RESULT_OPTIONS, writeResult } from "../shared/result-file.mjs";

const { values } = scriptArguments({
  options: {
    rounds: { type: "string", default: "25" },
    ...RESULT_OPTIONS,
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
  const [medianMs, leastMs] = [median(times), Math.min(...times)];
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

for (const row of rows)
  console.log(
    `${row.preset} ${row.form}, ${row.instructionSet}, ${row.threads}: ${row.medianMs} ms, ${row.millionDisparitiesPerSecond} MDE/s (least ${row.leastMs} ms)`,
  );
writeResult("exponential-speed", values, { what: "match stage of esaw and esmp", rows });
