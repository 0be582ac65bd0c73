// SPDX-License-Identifier: Apache-2.0
// Presets of Prehn 2007: window sums, and window sums refined from small copies.
import type { Figure, Preset } from "./preset.js";
import { NOTHING_REFINED, REFINED } from "./refinement.js";

const RESULTS = "bench/results/amd-epyc-2-cores/2026-11-23-a585ff8-window-sad.json";
const IMPROVED = "bench/results/amd-epyc-2-cores/2026-11-23-a585ff8-window-improved.json";
const FITTED = "bench/results/intel-xeon-2-cores/2026-11-26-687c6b7-pyramid-peak-ratio.json";
const SCENES = ["cones", "teddy", "tsukuba", "venus"];

type OfScenes = readonly [cones: number, teddy: number, tsukuba: number, venus: number];

/** Percent of non-occluded pixels, by scene. */
const figures = (table: string, measured: OfScenes, published: OfScenes, from = RESULTS): Figure[] =>
  SCENES.map((scene, index) => ({
    of: `${scene} of Middlebury v2, nonocc, off by more than 1 px`,
    unit: "%",
    measured: { value: measured[index]!, from },
    published: { value: published[index]!, from: `Prehn 2007, table ${table}` },
  }));

/** Side of the window; weights of hue, saturation and value. */
const windows = (matcher: "sad" | "pyramid", side: number, [hue, saturation, value]: number[]) => ({
  "match.algorithm": matcher,
  "match.halfResolution": "auto",
  [`match.${matcher}.windowWidth`]: side,
  [`match.${matcher}.windowHeight`]: side,
  [`match.${matcher}.hueWeight`]: hue!,
  [`match.${matcher}.saturationWeight`]: saturation!,
  [`match.${matcher}.valueWeight`]: value!,
  [`match.${matcher}.subpixel`]: false,
  ...NOTHING_REFINED,
});

const OF_THE_TABLES = [20, 30, 50];

/** Colour has less weight than in the tables, because cameras differ in saturation. */
const WITH_LESS_COLOUR = [10, 20, 70];

/** Windows of table 7.2. */
const ofTable72 = (side: number, measured: OfScenes, published: OfScenes): Preset => ({
  summary: `window sums of ${side} x ${side} as table 7.2 of Prehn 2007 has them, nothing refined`,
  source: "Prehn 2007, section 7.1",
  figures: figures("7.2", measured, published),
  settings: windows("sad", side, OF_THE_TABLES),
});

/** The pyramid of table 7.3, with the confidence and the post-processing of section 5.3. */
const ofTable73 = (side: number, measured: OfScenes, published: OfScenes): Preset => ({
  summary: `pyramid of ${side} x ${side} windows with the confidence and the post-processing of Prehn 2007, table 7.3; its peak ratio is fitted`,
  source:
    "Prehn 2007, sections 5.3 and 7.1; the thesis does not print peakRatio: 18 is nearest to its table (development-set fit)",
  figures: figures("7.3", measured, published, FITTED),
  settings: {
    ...windows("pyramid", side, OF_THE_TABLES),
    "match.pyramid.levels": 3,
    "match.pyramid.peakRatio": 18,
    "refine.confidence": "product",
    "refine.repair": true,
  },
});

export const WINDOW_PRESETS: Readonly<Record<string, Preset>> = {
  "sad-5-defaults": {
    summary:
      "window sums with the defaults of Prehn 2007, section 5.2: disparities 0 to 32, 5 x 5, weights of 0.3, nothing refined",
    source: "Prehn 2007, section 5.2",
    figures: [],
    settings: { "match.numDisparities": 33, ...windows("sad", 5, [30, 30, 30]) },
  },
  "sad-3": ofTable72(3, [35.908, 46.002, 23.569, 43.823], [36.5, 45.2, 22.5, 43.0]),
  "sad-5": ofTable72(5, [21.674, 33.421, 15.842, 32.439], [23.0, 33.4, 14.9, 31.9]),
  "sad-7": ofTable72(7, [16.01, 27.137, 12.421, 25.652], [18.2, 27.8, 11.8, 25.3]),
  "sad-7-improved": {
    summary: "window sums of 7 x 7 with less weight on colour and all that refines",
    source: "Prehn 2007, section 5.2; weights and refinement: cuda/match/sad/README.md",
    figures: figures("7.2", [7.175, 13.252, 5.585, 4.214], [18.2, 27.8, 11.8, 25.3], IMPROVED),
    settings: { ...windows("sad", 7, WITH_LESS_COLOUR), ...REFINED },
  },
  "pyramid-3": ofTable73(3, [27.037, 32.137, 12.346, 25.774], [27.6, 36.0, 14.3, 32.7]),
  "pyramid-5": ofTable73(5, [23.209, 28.916, 10.529, 20.139], [21.3, 29.2, 10.7, 24.3]),
  "pyramid-7": ofTable73(7, [22.913, 30.735, 10.26, 19.716], [19.3, 26.5, 9.67, 20.3]),
  "pyramid-improved": {
    summary:
      "window sums of 7 x 5 refined from one small copy, without hue, and all that refines after, four rounds of it",
    source: "Prehn 2007, section 5.3; settings and refinement: cuda/match/pyramid/README.md",
    figures: figures("7.3", [8.758, 12.928, 4.645, 5.666], [19.3, 26.5, 9.67, 20.3], IMPROVED),
    settings: {
      ...windows("pyramid", 7, [0, 20, 80]),
      ...REFINED,
      "refine.speckleSize": 50,
      "refine.rounds": 4,
      "match.pyramid.windowHeight": 5,
      "match.pyramid.levels": 1,
      "match.pyramid.peakRatio": 1,
    },
  },
};
