// SPDX-License-Identifier: Apache-2.0
// The tables and figures of Yu et al. 2010: ESAW and ESMP on Middlebury v2.
import { mean } from "../../../core/index.js";
import { bestBase, bestBaseRows, exponential, ITERATIONS } from "./exponential.js";
import type { Lab, System } from "./lab.js";
import { V2_SCENES, v2Mean, v2Place, v2Rows } from "./middlebury-v2.js";
import { gap, type Paper, type Row, range } from "./paper.js";
import { rampScene } from "./ramp.js";

const SINGLE_KERNELS =
  "single passes are timed by cuda/check/check.sh --bench on an NVIDIA GPU, not by this command";
const NO_BASELINE = "this form of the kernel does not exist in depthwatt";
const NOT_BUILT = "depthwatt does not implement this matcher";

const TABLE_II: readonly [kernel: string, operations: number, bandwidth: number][] = [
  ["aggr_H", 19.4, 34.5],
  ["aggr_V", 22.7, 63.9],
  ["aggr_H+", 28.7, 33.4],
  ["aggr_V+", 33.9, 62.8],
  ["cost2msg-", 21.6, 57.7],
];

const TABLE_V: readonly [
  system: string,
  rate: number,
  bandwidth: number,
  operations: number,
  bytes: number,
][] = [
  ["ESMP, 5 iterations", 28.0, 50.5, 1.0, 1.8],
  ["ESAW, 4 iterations", 20.9, 48.1, 0.39, 0.9],
];

const milliseconds = (
  name: string,
  printed: number | null,
  system: System,
  scene: (typeof V2_SCENES)[number],
): Row => ({
  name,
  unit: "ms",
  printed,
  ours: async (lab) => (await lab.match(system, v2Place(scene))).milliseconds,
});

/** Figures 4 and 9: one setting changed at a time. */
function sensitivity(
  preset: "esaw-9" | "esmp-8",
  settings: Readonly<Record<string, readonly number[]>>,
): Row[] {
  return Object.entries(settings).flatMap(([key, values]) =>
    values.map(
      (value): Row => ({
        name: `${key} ${value}`,
        unit: "%",
        printed: null,
        ours: (lab) => v2Mean(lab, { preset, set: [`match.${preset.slice(0, 4)}.${key}=${value}`] }),
      }),
    ),
  );
}

/** Mean error of the ramp over the left images of Middlebury v2. */
async function rampError(lab: Lab, preset: string): Promise<number> {
  const errors: number[] = [];
  for (const name of V2_SCENES) {
    const { masks } = await lab.matchScene(
      { preset },
      `ramp ${name}`,
      async (colours) => rampScene(await lab.scene(v2Place(name), colours)),
      { timed: false },
    );
    errors.push(masks.valid!.badPercent!);
  }
  return mean(errors);
}

const table4: Row[] = [
  ...v2Rows({
    name: "ESMP, 8 iterations, base fitted to 1.80",
    system: { preset: "esmp-8" },
    printed: {
      tsukuba: [1.4, 1.9, 7.1],
      venus: [0.4, 1.0, 2.7],
      teddy: [8.6, 15.2, 19.5],
      cones: [5.6, 12.5, 13.2],
    },
    average: 7.42,
    rate: 144.4,
    rateOf: ["teddy", "cones"],
  }),
  {
    name: "ESMP, 8 iterations, base 2.80 as printed, average",
    unit: "%",
    printed: 7.42,
    ours: (lab) => v2Mean(lab, { preset: "esmp-8-printed" }),
  },
  ...v2Rows({
    name: "ESAW, 9 iterations",
    system: { preset: "esaw-9" },
    printed: {
      tsukuba: [1.9, 2.5, 9.7],
      venus: [1.0, 1.7, 6.9],
      teddy: [8.5, 14.2, 18.7],
      cones: [6.6, 12.7, 14.4],
    },
    average: 8.2,
    rate: 194.8,
    rateOf: ["teddy", "cones"],
  }),
  ...v2Rows({
    name: "ESAW, 5 iterations",
    system: { preset: "esaw-5" },
    printed: {
      tsukuba: [1.4, 2.4, 7.1],
      venus: [1.6, 2.6, 12.9],
      teddy: [9.4, 16.0, 19.4],
      cones: [8.6, 15.6, 17.9],
    },
    average: 9.6,
    rate: 307.2,
    rateOf: ["teddy", "cones"],
  }),
];

const ESAW_BASES = range(1.5, 3, 0.1);
const ESMP_BASES = range(1.6, 3.1, 0.1);

const table3 = (
  [
    ["esaw-9", 5, 2.6, ESAW_BASES],
    ["esaw-9", 9, 1.9, ESAW_BASES],
    ["esmp-8", 8, 2.8, ESMP_BASES],
  ] as const
).map(
  ([preset, iterations, printed, bases]): Row => ({
    name: `${preset.slice(0, 4).toUpperCase()}, ${iterations} iterations, best base`,
    unit: "",
    printed,
    ours: async (lab) => (await bestBase(lab, preset, iterations, bases)).base,
  }),
);

const figure13 = (["esaw-9", "esmp-8"] as const).flatMap((preset) =>
  ITERATIONS.flatMap((iterations) =>
    V2_SCENES.map((scene) => {
      const name = `${preset.slice(0, 4).toUpperCase()}, ${iterations} iterations, ${scene}`;
      return milliseconds(
        name,
        null,
        exponential(preset, iterations, preset === "esaw-9" ? 1.9 : 1.8),
        scene,
      );
    }),
  ),
);

/** Operations per pixel and disparity (2T passes of 5), and the error that they buy. */
const figure14 = [
  ...ITERATIONS.map(
    (iterations): Row => ({
      name: `ESAW, ${10 * iterations} operations`,
      unit: "%",
      printed: null,
      ours: async (lab) => (await bestBase(lab, "esaw-9", iterations, ESAW_BASES)).error,
    }),
  ),
  ...["RtAW", "RtAW+MP", "AW"].map((name) => gap(name, "%", null, NOT_BUILT)),
];

export const YU_2010: Paper = {
  number: "002",
  cited: "Yu et al. 2010",
  protocol: [
    "Middlebury v2 with 16, 20, 60 and 60 disparities; off by more than 1 px; the average is over four scenes and three masks.",
    "The colour distance is fitted: the largest of three channels for the printed CIELab.",
    "Printed times and rates are those of a GTX 8800.",
  ],
  exhibits: [
    {
      kind: "table",
      number: "II",
      title: "operations and bandwidth of the most expensive kernels",
      rows: TABLE_II.flatMap(([kernel, operations, bandwidth]) => [
        gap(`${kernel}, operations`, "Gflop/s", operations, SINGLE_KERNELS),
        gap(`${kernel}, bandwidth`, "GB/s", bandwidth, SINGLE_KERNELS),
      ]),
    },
    { kind: "table", number: "III", title: "base with the least error", rows: table3 },
    { kind: "table", number: "IV", title: "accuracy and speed", rows: table4 },
    {
      kind: "table",
      number: "V",
      title: "efficiency",
      rows: TABLE_V.flatMap(([system, rate, bandwidth, operations, bytes]) => [
        gap(`${system}, rate of operations`, "Gflop/s", rate, SINGLE_KERNELS),
        gap(`${system}, bandwidth`, "GB/s", bandwidth, SINGLE_KERNELS),
        gap(`${system}, operations`, "G", operations, SINGLE_KERNELS),
        gap(`${system}, memory accesses`, "GB", bytes, SINGLE_KERNELS),
      ]),
    },
    {
      kind: "figure",
      number: "3",
      title: "ESAW: error over iterations and bases of 1.5 to 3",
      rows: bestBaseRows("esaw-9", ESAW_BASES),
    },
    {
      kind: "figure",
      number: "4",
      title: "sensitivity of ESAW, 9 iterations",
      rows: sensitivity("esaw-9", {
        gammaColour: [9, 13, 17, 21, 25],
        gammaDistance: [18, 27, 36, 45, 54],
        truncation: [6, 9, 12, 15, 18],
        basePercent: [170, 180, 190, 200, 210],
      }),
    },
    {
      kind: "figure",
      number: "7",
      title: "disparity ramp from 0 to 64, error of the left images of Middlebury v2",
      rows: [
        { name: "ESAW, 9 iterations", unit: "%", printed: null, ours: (lab) => rampError(lab, "esaw-9") },
        {
          name: "ESMP, 8 iterations, base 1.80",
          unit: "%",
          printed: null,
          ours: (lab) => rampError(lab, "esmp-8"),
        },
        {
          name: "ESMP, 8 iterations, base 2.80",
          unit: "%",
          printed: null,
          ours: (lab) => rampError(lab, "esmp-8-printed"),
        },
        {
          name: "ESAW error / ESMP error, base 2.80",
          unit: "times",
          printed: 2,
          ours: async (lab) => (await rampError(lab, "esaw-9")) / (await rampError(lab, "esmp-8-printed")),
        },
      ],
    },
    {
      kind: "figure",
      number: "8",
      title: "ESMP: error over iterations and bases of 1.6 to 3.1",
      rows: bestBaseRows("esmp-8", ESMP_BASES),
    },
    {
      kind: "figure",
      number: "9",
      title: "sensitivity of ESMP, 8 iterations, base fitted to 1.80",
      rows: sensitivity("esmp-8", {
        gammaColour: [9, 13, 18, 22, 27],
        gammaDistance: [15, 22, 29, 36, 43],
        truncation: [9, 13, 17, 19, 21],
        lambdaThousandths: [75, 110, 150, 190],
        capTenThousandths: [188, 281, 375, 469, 562],
        basePercent: [160, 170, 180, 190, 200],
      }),
    },
    {
      kind: "figure",
      number: "12",
      title: "time of each implementation, Teddy, 9 iterations",
      rows: [
        gap("ESAW baseline", "ms", 99.9, NO_BASELINE),
        gap("ESAW global memory", "ms", 113.9, NO_BASELINE),
        gap("ESAW coalesced", "ms", 53.5, NO_BASELINE),
        milliseconds("ESAW tune block size", 43.4, { preset: "esaw-9" }, "teddy"),
        milliseconds("ESMP reorganized", 65.2, exponential("esmp-8", 9, 1.8), "teddy"),
      ],
    },
    { kind: "figure", number: "13", title: "time of a frame over iterations", rows: figure13 },
    { kind: "figure", number: "14", title: "error over operations per pixel and disparity", rows: figure14 },
  ],
};
