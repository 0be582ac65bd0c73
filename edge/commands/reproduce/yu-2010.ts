// SPDX-License-Identifier: Apache-2.0
// The tables and figures of Yu et al. 2010: ESAW and ESMP on Middlebury v2.
import { mean } from "../../../core/index.js";
import { bestBase, bestBaseRows, exponential, ITERATIONS, withLab } from "./exponential.js";
import type { Lab, System } from "./lab.js";
import { V2_SCENES, v2Mean, v2Place, v2Rows } from "./middlebury-v2.js";
import { gap, type Paper, type Row, range } from "./paper.js";
import { rampScene } from "./ramp.js";

const MESSAGES_ONCE =
  "depthwatt maps costs to messages once, before the first pass, and has no kernel for later ones";
const NOT_BUILT = "depthwatt does not implement this matcher";

/** The scenes whose rates table IV averages. */
const LARGE_SCENES = ["teddy", "cones"] as const;

/** Pixels, disparities and passes of Teddy with 9 iterations, on which section IV measures. */
const TEDDY = { pixels: 450 * 375, disparities: 60 };
const CELL_BYTES = 2;

/** Milliseconds of a form of ESAW's kernels. */
const formMs = (lab: Lab, form: string) => lab.kernelMs(form, { matcher: "esaw" });

/**
 * Table II: operations and bytes of one pass, as the table counts them, over the time of our pass.
 * @param reads cells that a pass reads for one that it writes
 */
function passRows(kernel: string, reads: number, operations: number, bandwidth: number): Row[] {
  const { pixels, disparities } = TEDDY;
  const perMillisecond = async (lab: Lab, count: number) => count / formMs(lab, kernel) / 1e6;
  return [
    {
      name: `${kernel}, operations`,
      unit: "Gflop/s",
      printed: operations,
      ours: (lab) => perMillisecond(lab, (33 + 5 * disparities) * pixels),
    },
    {
      name: `${kernel}, bandwidth`,
      unit: "GB/s",
      printed: bandwidth,
      ours: (lab) => perMillisecond(lab, (9 + (reads + 1) * CELL_BYTES * disparities) * pixels),
    },
  ];
}

const messageRows = ([kernel, operations, bandwidth]: readonly [string, number, number]): Row[] => [
  gap(`${kernel}, operations`, "Gflop/s", operations, MESSAGES_ONCE),
  gap(`${kernel}, bandwidth`, "GB/s", bandwidth, MESSAGES_ONCE),
];

const table2: Row[] = [
  ...passRows("aggr_H", 1.5, 19.4, 34.5),
  ...passRows("aggr_V", 3, 22.7, 63.9),
  ...(
    [
      ["aggr_H+", 28.7, 33.4],
      ["aggr_V+", 33.9, 62.8],
      ["cost2msg-", 21.6, 57.7],
    ] as const
  ).flatMap(messageRows),
];

/**
 * Table V: what a frame of Teddy takes at least, and the rates at which we reach that. A pass costs 5 operations a cell; a cell
 * is read and written once in each iteration, where both passes are one kernel on CUDA. Messages cost 3 operations a cell, once.
 */
function efficiencyRows(
  name: string,
  system: System,
  iterations: number,
  messageOperations: number,
  [rate, bandwidth, operations, bytes]: readonly [number, number, number, number],
): Row[] {
  const cells = TEDDY.pixels * TEDDY.disparities;
  const ours = {
    operations: (10 * iterations + messageOperations) * cells,
    bytes: 2 * CELL_BYTES * iterations * cells,
  };
  const perSecond = async (lab: Lab, count: number) => {
    const { milliseconds } = await lab.match(system, v2Place("teddy"));
    return count / milliseconds / 1e6;
  };
  return [
    {
      name: `${name}, rate of operations`,
      unit: "Gflop/s",
      printed: rate,
      ours: (lab) => perSecond(lab, ours.operations),
    },
    {
      name: `${name}, bandwidth`,
      unit: "GB/s",
      printed: bandwidth,
      ours: (lab) => perSecond(lab, ours.bytes),
    },
    { name: `${name}, operations`, unit: "G", printed: operations, ours: async () => ours.operations / 1e9 },
    { name: `${name}, memory accesses`, unit: "GB", printed: bytes, ours: async () => ours.bytes / 1e9 },
  ];
}

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
  ...v2Rows(
    "ESMP, 8 iterations, base fitted to 1.80",
    { preset: "esmp-8" },
    [1.4, 1.9, 7.1, 0.4, 1.0, 2.7, 8.6, 15.2, 19.5, 5.6, 12.5, 13.2, 7.42, 144.4],
    LARGE_SCENES,
  ),
  {
    name: "ESMP, 8 iterations, base 2.80 as printed, average",
    unit: "%",
    printed: 7.42,
    ours: (lab) => v2Mean(lab, { preset: "esmp-8-printed" }),
  },
  ...v2Rows(
    "ESAW, 9 iterations",
    { preset: "esaw-9" },
    [1.9, 2.5, 9.7, 1.0, 1.7, 6.9, 8.5, 14.2, 18.7, 6.6, 12.7, 14.4, 8.2, 194.8],
    LARGE_SCENES,
  ),
  ...v2Rows(
    "ESAW, 5 iterations",
    { preset: "esaw-5" },
    [1.4, 2.4, 7.1, 1.6, 2.6, 12.9, 9.4, 16.0, 19.4, 8.6, 15.6, 17.9, 9.6, 307.2],
    LARGE_SCENES,
  ),
];

/** Table IV with the colour distance as Yu et al. 2009 print it. */
const table4InLab = (
  [
    ["esmp-8", 7.42],
    ["esmp-8-printed", 7.42],
    ["esaw-9", 8.2],
    ["esaw-5", 9.6],
  ] as const
).map(
  ([preset, printed]): Row => ({
    name: `${preset}, CIELab, average`,
    unit: "%",
    printed,
    ours: (lab) => v2Mean(lab, withLab({ preset })),
  }),
);

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
    "The colour distance is fitted, the largest of three channels; rows named CIELab have the printed one.",
    "Printed times and rates are those of a GTX 8800.",
  ],
  exhibits: [
    {
      kind: "table",
      number: "II",
      title: "operations and bandwidth of the most expensive kernels",
      rows: table2,
    },
    { kind: "table", number: "III", title: "base with the least error", rows: table3 },
    { kind: "table", number: "IV", title: "accuracy and speed", rows: [...table4, ...table4InLab] },
    {
      kind: "table",
      number: "V",
      title: "efficiency",
      rows: [
        ...efficiencyRows("ESMP, 5 iterations", exponential("esmp-8", 5, 1.8), 5, 3, [28.0, 50.5, 1.0, 1.8]),
        ...efficiencyRows("ESAW, 4 iterations", exponential("esaw-9", 4, 2.8), 4, 0, [20.9, 48.1, 0.39, 0.9]),
      ],
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
        ...(
          [
            ["ESAW baseline, texture", 99.9],
            ["ESAW global memory", 113.9],
            ["ESAW coalesced", 53.5],
            ["ESAW tune block size", 43.4],
            ["the engine's kernels", null],
          ] as const
        ).map(
          ([form, printed]): Row => ({
            name: form,
            unit: "ms",
            printed,
            ours: async (lab) => formMs(lab, form),
          }),
        ),
        milliseconds("ESMP reorganized", 65.2, exponential("esmp-8", 9, 1.8), "teddy"),
      ],
    },
    { kind: "figure", number: "13", title: "time of a frame over iterations", rows: figure13 },
    { kind: "figure", number: "14", title: "error over operations per pixel and disparity", rows: figure14 },
  ],
};
