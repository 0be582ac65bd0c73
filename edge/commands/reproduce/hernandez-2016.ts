// SPDX-License-Identifier: Apache-2.0
// The figures of Hernandez-Juarez et al. 2016: SGM over 2, 4 and 8 paths.
import { mean } from "../../../core/index.js";
import type { Lab, System } from "./lab.js";
import { gap, type Paper, type Row } from "./paper.js";

const PATHS = [2, 4, 8] as const;
const system = (paths: (typeof PATHS)[number]): System => ({
  preset: "sgm-2016",
  set: [`match.sgm.paths=${paths}`],
});

/** Printed: a Tegra X1 with 4 paths. */
const PRINTED_FPS: Readonly<Record<number, number>> = { 4: 42 };

/** Figure 6 has one size; the others are those of the engine's own benchmarks. */
const SIZES = [
  [640, 480, 64],
  [640, 480, 128],
  [1280, 720, 128],
] as const;

const isPaperSize = ([width, , numDisparities]: (typeof SIZES)[number]) =>
  width === 640 && numDisparities === 128;

const speeds = SIZES.flatMap((size) =>
  PATHS.flatMap((paths): Row[] => {
    const [width, height, numDisparities] = size;
    const name = `${paths} paths, ${width} x ${height} x ${numDisparities}`;
    const timed = (lab: Lab) => lab.time(system(paths), width, height, numDisparities);
    const speed: Row = {
      name: `${name}, rate`,
      unit: "frames/s",
      printed: isPaperSize(size) ? (PRINTED_FPS[paths] ?? null) : null,
      ours: async (lab) => 1000 / (await timed(lab)).milliseconds,
    };
    if (!isPaperSize(size)) return [speed];
    const perWatt: Row = {
      name: `${name}, rate per watt`,
      unit: "frames/s/W",
      printed: null,
      ours: (lab) => lab.framesPerWatt(system(paths), width, height, numDisparities),
    };
    return [speed, perWatt];
  }),
);

/** Mean error of the scenes of a KITTI folder, non-occluded. */
async function kittiError(lab: Lab, folder: string, paths: (typeof PATHS)[number]): Promise<number> {
  const errors: number[] = [];
  for (const scene of await lab.scenes(folder)) {
    const { masks } = await lab.match(
      system(paths),
      { folder, scene, numDisparities: 128 },
      { timed: false },
    );
    const percent = (masks.nonocc ?? masks.valid!).badPercent;
    if (percent !== null) errors.push(percent);
  }
  return mean(errors);
}

const accuracy = ["kitti2012", "kitti2015"].flatMap((folder) =>
  PATHS.map(
    (paths): Row => ({
      name: `${paths} paths, ${folder}, off by more than 3 px, non-occluded`,
      unit: "%",
      printed: null,
      ours: (lab) => kittiError(lab, folder, paths),
    }),
  ),
);

/** The forms of the kernels, by what the optimisations of section 3.3 add one by one. */
const BLOCK = "one block a slice";
const WARP = "one warp a slice, u8x4";
const SELECTING = "u8x4, fused selection";
const FUSED = "u8x4, fused selection and cost";
const ENGINE = "the engine's kernels";
const FORMS = [
  "one thread a slice, global memory",
  "one block a slice, uncoalesced",
  "one block a slice, texture",
  BLOCK,
  WARP,
  SELECTING,
  FUSED,
  "u8x4, no cost volume",
  "u8x4 of 7 bits, no cost volume",
  ENGINE,
];
/** Parts of the GPU: the whole, and partitions nearer to a board. Undefined: all multiprocessors. */
const PARTS = [undefined, 16, 8] as const;
const partName = (multiprocessors: number | undefined) =>
  multiprocessors === undefined ? "whole GPU" : `${multiprocessors} multiprocessors`;

const formMs = (lab: Lab, form: string, multiprocessors: number | undefined, paths: number = 4) =>
  lab.kernelMs(form, { matcher: "sgm", paths, ...(multiprocessors !== undefined && { multiprocessors }) });

const STEPS: readonly [name: string, from: string, to: string, printed: number | null][] = [
  ["all of the paper's optimisations", BLOCK, FUSED, 3],
  ["four costs in a register, one warp per slice", BLOCK, WARP, null],
  ["last path fused with the selection", WARP, SELECTING, 1.35],
  ["cost fused with the horizontal paths", SELECTING, FUSED, 1.13],
  ["the engine's kernels over the paper's form", FUSED, ENGINE, null],
];

const speedUps = PARTS.flatMap((part) => [
  ...STEPS.map(
    ([name, from, to, printed]): Row => ({
      name: `${partName(part)}: ${name}`,
      unit: "times",
      printed,
      ours: async (lab) => formMs(lab, from, part) / formMs(lab, to, part),
    }),
  ),
  ...FORMS.flatMap((form) =>
    PATHS.map(
      (paths): Row => ({
        name: `${partName(part)}: ${form}, ${paths} paths`,
        unit: "ms",
        printed: null,
        ours: async (lab) => formMs(lab, form, part, paths),
      }),
    ),
  ),
]);

export const HERNANDEZ_2016: Paper = {
  number: "004",
  cited: "Hernandez-Juarez et al. 2016",
  protocol: [
    "Speed: pairs of the built-in scene; 42 frames/s are printed for a Tegra X1 at 640 x 480 x 128 with 4 paths.",
    "Frames/s/W are printed for the chip's 10 W design power, not for measured watts.",
    "Speed-ups: kernels of this project in the forms that the paper compares, 640 x 480 x 128 with 4 paths; printed speed-ups are those of a Tegra X1.",
    "The paper prints neither P1 nor P2 (7 and 86 are the authors' program's), and figure 6 has a plot without numbers.",
  ],
  exhibits: [
    {
      kind: "figure",
      number: "6",
      title: "speed, energy and accuracy over paths",
      rows: [...speeds, ...accuracy],
    },
    {
      kind: "figure",
      number: "7",
      title: "an example disparity map",
      rows: [gap("disparity map", "", null, "the paper's image is in no public data set")],
    },
    {
      kind: "section",
      number: "3.3",
      title: "speed-ups",
      rows: speedUps,
    },
  ],
};
