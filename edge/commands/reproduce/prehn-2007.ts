// SPDX-License-Identifier: Apache-2.0
// The tables and figures of Prehn 2007: window and pyramid matchers on Middlebury v2.
import { DepthwattError } from "../../../core/index.js";
import type { Lab, Measured, System } from "./lab.js";
import { type V2Scene, v2Error, v2Place } from "./middlebury-v2.js";
import { gap, type Paper, type Row } from "./paper.js";

/** In the order of the thesis. */
const SCENES = ["cones", "teddy", "tsukuba", "venus"] as const satisfies readonly V2Scene[];
const SIDES = [3, 5, 7] as const;
type Side = (typeof SIDES)[number];
type BySide<T> = Readonly<Record<Side, T>>;

const system = (matcher: "sad" | "pyramid", side: Side): System => ({ preset: `${matcher}-${side}` });

const TABLE_7_2: BySide<readonly number[]> = {
  3: [36.5, 45.2, 22.5, 43.0],
  5: [23.0, 33.4, 14.9, 31.9],
  7: [18.2, 27.8, 11.8, 25.3],
};
const TABLE_7_3: BySide<readonly number[]> = {
  3: [27.6, 36.0, 14.3, 32.7],
  5: [21.3, 29.2, 10.7, 24.3],
  7: [19.3, 26.5, 9.67, 20.3],
};

const errors = (matcher: "sad" | "pyramid", printed: BySide<readonly number[]>): Row[] =>
  SIDES.flatMap((side) =>
    SCENES.map(
      (scene, index): Row => ({
        name: `${side}x${side}, ${scene}`,
        unit: "%",
        printed: printed[side][index]!,
        ours: (lab) => v2Error(lab, system(matcher, side), scene, "nonocc"),
      }),
    ),
  );

/** Milliseconds of the window matcher, of the pyramid's kernel and of the pyramid's whole frame. */
type Times = BySide<readonly [window: number, kernel: number, total: number]>;

const TIMES: readonly [table: string, scene: V2Scene, times: Times][] = [
  ["7.5", "cones", { 3: [19.54, 43.64, 55.5], 5: [32.93, 76.65, 89.23], 7: [56.94, 149.28, 161.48] }],
  ["7.6", "teddy", { 3: [19.48, 43.64, 55.59], 5: [32.98, 77.09, 93.55], 7: [55.54, 149.42, 162.52] }],
  ["7.7", "tsukuba", { 3: [5.22, 28.44, 37.0], 5: [7.56, 49.84, 58.52], 7: [11.48, 96.81, 105.62] }],
  ["7.8", "venus", { 3: [9.11, 42.94, 54.99], 5: [13.68, 75.12, 87.98], 7: [20.98, 146.53, 159.34] }],
];

function matchTime({ stages, name }: Measured): number {
  if (stages.match !== undefined) return stages.match;
  throw new DepthwattError("ENGINE_PARAMETER", `${name}: expected a time of the matcher, found none`);
}

function times(scene: V2Scene, printed: Times): Row[] {
  const measured = (lab: Lab, matcher: "sad" | "pyramid", side: Side) =>
    lab.match(system(matcher, side), v2Place(scene));
  return SIDES.flatMap((side): Row[] => {
    const [window, kernel, total] = printed[side];
    const name = `${side}x${side}`;
    return [
      {
        name: `${name}, window`,
        unit: "ms",
        printed: window,
        ours: async (lab) => matchTime(await measured(lab, "sad", side)),
      },
      {
        name: `${name}, pyramid kernel`,
        unit: "ms",
        printed: kernel,
        ours: async (lab) => matchTime(await measured(lab, "pyramid", side)),
      },
      {
        name: `${name}, pyramid total`,
        unit: "ms",
        printed: total,
        ours: async (lab) => (await measured(lab, "pyramid", side)).milliseconds,
      },
    ];
  });
}

const figure711 = SIDES.map((side, index): Row => {
  const [, kernel, total] = TIMES[0]![2][side];
  return {
    name: `${SIDES[index]}x${side}, share of the pyramid kernel, cones`,
    unit: "%",
    printed: Number(((100 * kernel) / total).toFixed(1)),
    ours: async (lab) => {
      const measured = await lab.match(system("pyramid", side), v2Place("cones"));
      return (100 * matchTime(measured)) / measured.milliseconds;
    },
  };
});

/** Milliseconds of a form of the pyramid's kernels. @param multiprocessors undefined: the whole GPU */
const kernelMs = (lab: Lab, form: string, multiprocessors?: number) =>
  lab.kernelMs(form, { matcher: "pyramid", ...(multiprocessors !== undefined && { multiprocessors }) });

/** The thesis has cards of 2 and 12 multiprocessors; ours are partitions of one GPU. */
const table74: Row[] = (
  [
    ["8600 GT (2 multiprocessors); ours: 8", 4.42, 8],
    ["8800 GTS (12 multiprocessors); ours: 16", 3.31, 16],
    ["whole GPU", null, undefined],
  ] as const
).map(([name, printed, multiprocessors]) => ({
  name,
  unit: "ms",
  printed,
  ours: async (lab) => kernelMs(lab, "scaling down", multiprocessors),
}));

const figure710: Row[] = [
  ...([8, 16, undefined] as const).map(
    (multiprocessors): Row => ({
      name: `pyramid, 7x7, ${multiprocessors === undefined ? "whole GPU" : `${multiprocessors} multiprocessors`}`,
      unit: "ms",
      printed: null,
      ours: async (lab) => kernelMs(lab, "optimised pyramid kernel, 7x7", multiprocessors),
    }),
  ),
  gap(
    "window",
    "ms",
    null,
    "the thesis's window kernel does not exist in depthwatt; tables 7.5 to 7.8 time the engine's",
  ),
];

const figure712 = SIDES.flatMap((side): Row[] => {
  const [original, optimised] = ["original", "optimised"].map(
    (form) => `${form} pyramid kernel, ${side}x${side}`,
  );
  return [
    ...[original!, optimised!, `the engine's kernels, ${side}x${side}`].map(
      (form): Row => ({ name: form, unit: "ms", printed: null, ours: async (lab) => kernelMs(lab, form) }),
    ),
    {
      name: `original / optimised, ${side}x${side}`,
      unit: "times",
      printed: null,
      ours: async (lab) => kernelMs(lab, original!) / kernelMs(lab, optimised!),
    },
  ];
});

export const PREHN_2007: Paper = {
  number: "003",
  cited: "Prehn 2007",
  protocol: [
    "Middlebury v2 with 16, 20, 60 and 60 disparities; non-occluded pixels off by more than 1 px.",
    "HSV weights 0.2, 0.3 and 0.5; the pyramid has three smaller copies, the confidence and the post-processing. Its peak ratio is fitted.",
    "Printed times are those of a GeForce 8800 GTS; the share of figure 7.11 is computed from table 7.5.",
    "Figures 7.10 and 7.12: the thesis's pyramid kernel on 450 x 375 x 60 with the range and window at run time, and as constants; the plots have no numbers.",
  ],
  exhibits: [
    {
      kind: "table",
      number: "7.2",
      title: "window matcher: error by window",
      rows: errors("sad", TABLE_7_2),
    },
    {
      kind: "table",
      number: "7.3",
      title: "pyramid matcher: error by window",
      rows: errors("pyramid", TABLE_7_3),
    },
    {
      kind: "table",
      number: "7.4",
      title: "scaling down 1600 x 1200",
      rows: table74,
    },
    ...TIMES.map(([number, scene, printed]) => ({
      kind: "table" as const,
      number,
      title: `times, ${scene}`,
      rows: times(scene, printed),
    })),
    {
      kind: "figure",
      number: "7.10",
      title: "two graphics cards",
      rows: figure710,
    },
    { kind: "figure", number: "7.11", title: "distribution of the time over phases", rows: figure711 },
    {
      kind: "figure",
      number: "7.12",
      title: "optimisation of the kernels",
      rows: figure712,
    },
  ],
};
