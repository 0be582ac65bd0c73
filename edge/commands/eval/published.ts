// SPDX-License-Identifier: Apache-2.0
// Lists the numbers that the papers print for their systems, by preset. Percent of pixels off by more than 1 px on
// Middlebury v2.

/** By scene: nonocc, all, disc; a paper that prints nonocc alone has one number. */
type OfScenes = Readonly<Record<string, readonly number[]>>;

export interface PublishedRow {
  /** Paper and table. */
  from: string;
  scenes: OfScenes;
  averagePercent?: number;
  /** Millions of disparity evaluations a second, with the machine. */
  megaDisparitiesPerSecond?: { value: number; on: string };
  /** Further printed numbers, as a sentence. */
  also?: string;
}

export const PUBLISHED_MASKS = ["nonocc", "all", "disc"] as const;

const YU = "Yu et al. 2010, table IV";
const PREHN = "Prehn 2007, table";

const nonocc = (cones: number, teddy: number, tsukuba: number, venus: number): OfScenes => ({
  tsukuba: [tsukuba],
  venus: [venus],
  teddy: [teddy],
  cones: [cones],
});

/** In the order of the papers; the presets whose table is printed. */
export const PUBLISHED: Readonly<Record<string, PublishedRow>> = {
  "sgm-2016": {
    from: "Hernandez-Juarez et al. 2016, figure 6",
    scenes: {},
    also: "42 frames/s at 640x480 with 128 disparities on a Tegra X1",
  },
  "chang-half": {
    from: "Chang and Maruyama, section V and table III",
    scenes: {},
    megaDisparitiesPerSecond: { value: 7849, on: "GTX 780 Ti, 1436x992x145" },
    also: "24.09 % on Middlebury v3 training, off by more than 2 px at full size",
  },
  "chang-full": {
    from: "Chang and Maruyama, section V",
    scenes: {},
    also: "32.82 % on Middlebury v3 training, off by more than 2 px at full size",
  },
  "esaw-5": {
    from: YU,
    scenes: {
      tsukuba: [1.4, 2.4, 7.1],
      venus: [1.6, 2.6, 12.9],
      teddy: [9.4, 16.0, 19.4],
      cones: [8.6, 15.6, 17.9],
    },
    averagePercent: 9.6,
  },
  "esaw-9": {
    from: YU,
    scenes: {
      tsukuba: [1.9, 2.5, 9.7],
      venus: [1.0, 1.7, 6.9],
      teddy: [8.5, 14.2, 18.7],
      cones: [6.6, 12.7, 14.4],
    },
    averagePercent: 8.2,
    megaDisparitiesPerSecond: { value: 194.8, on: "GTX 8800" },
  },
  "esmp-8": {
    from: YU,
    scenes: {
      tsukuba: [1.4, 1.9, 7.1],
      venus: [0.4, 1.0, 2.7],
      teddy: [8.6, 15.2, 19.5],
      cones: [5.6, 12.5, 13.2],
    },
    averagePercent: 7.42,
    megaDisparitiesPerSecond: { value: 144.4, on: "GTX 8800" },
  },
  "sad-3": { from: `${PREHN} 7.2`, scenes: nonocc(36.5, 45.2, 22.5, 43.0) },
  "sad-5t": { from: `${PREHN} 7.2`, scenes: nonocc(23.0, 33.4, 14.9, 31.9) },
  "sad-7": { from: `${PREHN} 7.2`, scenes: nonocc(18.2, 27.8, 11.8, 25.3) },
  pyramid: { from: `${PREHN} 7.3`, scenes: nonocc(19.3, 26.5, 9.67, 20.3) },
};
