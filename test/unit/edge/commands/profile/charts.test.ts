// SPDX-License-Identifier: Apache-2.0
// The charts of a profile report: every bar, mark, line and word of small profiles with round figures.
import { describe, expect, test } from "vitest";
import {
  distinctPoints,
  type MeasuredPoint,
  paretoFront,
  scatterChart,
  shortName,
  stageTimeChart,
  timelineChart,
} from "../../../../../edge/commands/profile/charts.js";
import {
  bestClockWords,
  type ClockCurve,
  clockChart,
  clockCurves,
} from "../../../../../edge/commands/profile/charts-clocks.js";
import {
  energyChart,
  railChart,
  shownRails,
  stageEnergyChart,
} from "../../../../../edge/commands/profile/charts-energy.js";
import { reportHtml } from "../../../../../edge/commands/profile/report.js";
import { type ProfilePoint, pointId } from "../../../../../edge/profile/types.js";
import type { PowerReport } from "../../../../../power/index.js";
import { constructedProfile, constructedResult } from "../../../../doubles/constructed-profile.js";
import { svgElements } from "../../../../doubles/svg-elements.js";

const UNKNOWN = { available: false as const, reason: "not here" };
const BASE: ProfilePoint = {
  mode: undefined,
  algorithm: "sgm",
  width: 640,
  height: 480,
  numDisparities: 128,
  paths: 4,
  rateHz: "max",
};

function createPoint(
  point: Partial<ProfilePoint>,
  fps: number,
  watts: number,
  power: Partial<PowerReport> = {},
): MeasuredPoint {
  const whole = { ...BASE, ...point };
  const result = constructedResult(whole, () => 0.5) as MeasuredPoint;
  return {
    ...result,
    id: pointId(whole),
    fps,
    power: { ...result.power, watts, wattsUncertainty: 1, ...power },
  };
}

/** Without the grid, the values at the axes and their names. */
const drawn = (svg: string) =>
  svgElements(svg).filter((element) => !/ (grid|label middle|label end|axis)\b/.test(element));
const axes = (svg: string) =>
  svgElements(svg)
    .flatMap((element) => element.match(/(?:label middle|label end|axis \w+) (.+)/)?.[1] ?? [])
    .join(" ");

test("the front: more frames for no more watts, and of equal watts the most frames", () => {
  const points = [
    createPoint({ rateHz: 1 }, 20, 10),
    createPoint({ rateHz: 2 }, 30, 10),
    createPoint({ rateHz: 3 }, 30, 11),
    createPoint({ rateHz: 4 }, 31, 12),
  ];
  expect(paretoFront(points).map(({ fps, power }) => [fps, power.watts])).toEqual([
    [30, 10],
    [31, 12],
  ]);
});

test.each([
  [{}, "640x480 d128 p4"],
  [{ rateHz: 15, mode: "15W" }, "640x480 d128 p4 @15 15W"],
  [{ halfResolution: true, search: "coarseToFine" }, "640x480 d128 p4 half coarseToFine"],
  [
    { algorithm: "esaw", clockHertz: { gpu: 612e6, emc: 2133e6 } },
    "640x480 d128 esaw (gpu 612 MHz, emc 2133 MHz)",
  ],
] as [Partial<ProfilePoint>, string][])("the short name of %o", (point, name) => {
  expect(shortName(createPoint(point, 1, 1))).toBe(name);
});

test("a point that was run twice is shown once, runs without a stage are not", () => {
  const [first, again] = [createPoint({}, 1, 1), createPoint({}, 2, 1)];
  const parts = [
    createPoint({ without: "median" }, 3, 1),
    createPoint({ repeat: { stage: "median", times: 2 } }, 4, 1),
    createPoint({ added: "capture" }, 5, 1),
  ];
  expect(distinctPoints([...parts, first, again])).toEqual([first]);
});

test("frames against watts: marks, whiskers, the front and its names", () => {
  const svg = scatterChart([
    createPoint({ rateHz: 20, paths: 2 }, 20, 10),
    createPoint({ rateHz: 15 }, 15, 12, { wattsUncertainty: UNKNOWN }),
    createPoint({ rateHz: 30 }, 30, 19),
    // Its name would touch the one before.
    createPoint({ rateHz: 32 }, 32, 19.5),
    createPoint({ rateHz: 40, paths: 8 }, 40, 20),
  ]);
  expect(drawn(svg)).toMatchInlineSnapshot(`
    [
      "svg 0 0 920 440 img Frames per second against watts",
      "polyline 176.0,248.4 716.0,177.6 746.0,163.4 776.0,106.8 front",
      "line 116.0 248.4 236.0 248.4 whisker",
      "circle 176.0 248.4 5.5 paths2 640x480 d128 p2 @20: 20.0 fps at 10.00 W (+- 1.00 W)",
      "circle 296.0 283.8 5.5 paths4 640x480 d128 p4 @15: 15.0 fps at 12.00 W (+- unknown)",
      "line 656.0 177.6 776.0 177.6 whisker",
      "circle 716.0 177.6 5.5 paths4 640x480 d128 p4 @30: 30.0 fps at 19.00 W (+- 1.00 W)",
      "line 686.0 163.4 806.0 163.4 whisker",
      "circle 746.0 163.4 5.5 paths4 640x480 d128 p4 @32: 32.0 fps at 19.50 W (+- 1.00 W)",
      "line 716.0 106.8 836.0 106.8 whisker",
      "circle 776.0 106.8 5.5 paths8 640x480 d128 p8 @40: 40.0 fps at 20.00 W (+- 1.00 W)",
      "text 186.0 240.4 name start 640x480 d128 p2 @20",
      "text 726.0 169.6 name start 640x480 d128 p4 @30",
      "text 766.0 98.8 name end 640x480 d128 p8 @40",
    ]
  `);
  expect(axes(svg)).toMatchInlineSnapshot(
    `"8 10 12 14 16 18 20 22 watts, mean over the run, idle included 0 10 20 30 40 50 frames per second"`,
  );
});

describe("watts over time", () => {
  const timeline = (watts: (number | null)[], frames: number[], binSeconds = 0.5) =>
    timelineChart({ ...createPoint({}, 1, 1), timeline: { binSeconds, watts, frames } });
  test("a line with gaps, and a tick for each frame", () => {
    const svg = timeline([10, 12, null, 11], [0.5, 1]);
    expect(drawn(svg)).toMatchInlineSnapshot(`
      [
        "svg 0 0 920 215 img Watts over time of 640x480 d128 p4",
        "line 266.0 163.0 266.0 170.0 tick",
        "line 476.0 163.0 476.0 170.0 tick",
        "path M161.0 124.7L371.0 79.3M791.0 102.0 trace",
        "text 896.0 22.0 name end 640x480 d128 p4",
      ]
    `);
    expect(axes(svg)).toMatchInlineSnapshot(
      `"0 0.2 0.4 0.6 0.8 1 1.2 1.4 1.6 1.8 2 seconds 8 10 12 14 watts"`,
    );
  });
  test("steady watts have a margin of a twentieth", () => {
    expect(axes(timeline([100, 100], []))).toMatchInlineSnapshot(
      `"0 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1 seconds 94 96 98 100 102 104 watts"`,
    );
  });
  test.each([
    // 840 pixels are 2.5 for each of 336 frames.
    [336, 2, 336],
    [337, 2, 1],
    // A full record: frames continued after it.
    [1999, 2, 1],
    [2000, 2, 1],
    [2000, 10, 1],
  ])("%s frames in 2 of %s s", (count, seconds, marks) => {
    const frames = Array.from({ length: count }, (_, i) => (2 * (i + 1)) / count);
    const elements = svgElements(timeline([0, seconds], frames, seconds / 2));
    const found = elements.filter((element) => /(tick|band)$/.test(element));
    expect(found).toHaveLength(marks);
    expect(found.at(-1)).toBe(
      marks > 1 ? "line 896.0 163.0 896.0 170.0 tick" : "rect 56.0 163.0 840.0 7.0 band",
    );
  });
});

test("milliseconds of each stage: stacked bars, and their sum", () => {
  const first = createPoint({}, 1, 1);
  const second = createPoint({ rateHz: 15 }, 1, 1);
  const stage = (p50Ms: number) => ({ p50Ms, p95Ms: 0, p99Ms: 0 });
  const svg = stageTimeChart(
    [
      { ...first, stages: { match: stage(4), median: stage(2) } },
      { ...second, stages: { median: stage(3) } },
    ],
    ["rectify", "match", "median"],
  );
  expect(drawn(svg)).toMatchInlineSnapshot(`
    [
      "svg 0 0 920 108 img Milliseconds per stage",
      "text 200.0 27.0 name end 640x480 d128 p4",
      "rect 210.0 14.0 0.0 17.0 stage0 rectify: 0 ms",
      "rect 210.0 14.0 393.3 17.0 stage1 match: 4.00 ms",
      "rect 603.3 14.0 196.7 17.0 stage2 median: 2.00 ms",
      "text 808.0 27.0 value start 6.00 ms",
      "text 200.0 53.0 name end 640x480 d128 p4 @15",
      "rect 210.0 40.0 0.0 17.0 stage0 rectify: 0 ms",
      "rect 210.0 40.0 0.0 17.0 stage1 match: 0 ms",
      "rect 210.0 40.0 295.0 17.0 stage2 median: 3.00 ms",
      "text 513.0 53.0 value start 3.00 ms",
    ]
  `);
  expect(axes(svg)).toMatchInlineSnapshot(`"0 1 2 3 4 5 6 milliseconds, median of each stage"`);
});

test("joules of a frame: the part of the idle machine, the rest, fewest first", () => {
  const svg = energyChart([
    createPoint({ rateHz: 1, paths: 2 }, 1, 1, { joulesPerFrame: 4, joulesPerFrameNet: 3 }),
    createPoint({ rateHz: 2 }, 1, 1, { joulesPerFrame: 2, joulesPerFrameNet: UNKNOWN }),
    createPoint({ rateHz: 3 }, 1, 1, { joulesPerFrame: UNKNOWN }),
    // Net figures with noise: the part stays within the bar.
    createPoint({ rateHz: 4 }, 1, 1, { joulesPerFrame: 5, joulesPerFrameNet: -1 }),
    createPoint({ rateHz: 5 }, 1, 1, { joulesPerFrame: 6, joulesPerFrameNet: 7 }),
  ]);
  expect(drawn(svg)).toMatchInlineSnapshot(`
    [
      "svg 0 0 920 160 img Joules per frame",
      "text 200.0 27.0 name end 640x480 d128 p4 @2",
      "rect 210.0 14.0 0.0 17.0 idle 640x480 d128 p4 @2: 2.00 J per frame gross, of it 0 J idle power",
      "rect 210.0 14.0 196.7 17.0 paths4 640x480 d128 p4 @2: 2.00 J per frame gross",
      "text 414.7 27.0 value start 2.00 J",
      "text 200.0 53.0 name end 640x480 d128 p2 @1",
      "rect 210.0 40.0 98.3 17.0 idle 640x480 d128 p2 @1: 4.00 J per frame gross, of it 1.00 J idle power",
      "rect 308.3 40.0 295.0 17.0 paths2 640x480 d128 p2 @1: 4.00 J per frame gross",
      "text 611.3 53.0 value start 4.00 J",
      "text 200.0 79.0 name end 640x480 d128 p4 @4",
      "rect 210.0 66.0 491.7 17.0 idle 640x480 d128 p4 @4: 5.00 J per frame gross, of it 5.00 J idle power",
      "rect 701.7 66.0 0.0 17.0 paths4 640x480 d128 p4 @4: 5.00 J per frame gross",
      "text 709.7 79.0 value start 5.00 J",
      "text 200.0 105.0 name end 640x480 d128 p4 @5",
      "rect 210.0 92.0 0.0 17.0 idle 640x480 d128 p4 @5: 6.00 J per frame gross, of it 0 J idle power",
      "rect 210.0 92.0 590.0 17.0 paths4 640x480 d128 p4 @5: 6.00 J per frame gross",
      "text 808.0 105.0 value start 6.00 J",
    ]
  `);
  expect(axes(svg)).toMatchInlineSnapshot(`"0 1 2 3 4 5 6 joules per frame"`);
});

test("joules of each rail: what every point could read", () => {
  const rail = (watts: number) => ({
    available: true as const,
    watts,
    joules: 0,
    wattsUncertainty: 0,
    samples: 1,
  });
  const points = [
    createPoint({ rateHz: 1 }, 2, 1, { rails: { A: rail(4), B: rail(8), C: rail(2) } }),
    createPoint({ rateHz: 2 }, 4, 1, { rails: { A: rail(4), B: rail(8), C: UNKNOWN } }),
  ];
  expect(shownRails(points, ["A"])).toEqual(["B"]);
  expect(shownRails(points, ["A", "B", "C"])).toEqual(["A", "B"]);
  const svg = railChart(points, ["A", "C", "B", ..."DEFGH", "A"]);
  expect(drawn(svg).filter((element) => !element.includes(" 0.0 17.0 "))).toMatchInlineSnapshot(`
    [
      "svg 0 0 920 108 img Joules per frame by rail",
      "text 200.0 27.0 name end 640x480 d128 p4 @1",
      "rect 210.0 14.0 118.0 17.0 stage0 A: 2.00 J per frame",
      "rect 328.0 14.0 59.0 17.0 stage1 C: 1.00 J per frame",
      "rect 387.0 14.0 236.0 17.0 stage2 B: 4.00 J per frame",
      "rect 623.0 14.0 118.0 17.0 stage0 A: 2.00 J per frame",
      "text 749.0 27.0 value start 9.00 J",
      "text 200.0 53.0 name end 640x480 d128 p4 @2",
      "rect 210.0 40.0 59.0 17.0 stage0 A: 1.00 J per frame",
      "rect 269.0 40.0 118.0 17.0 stage2 B: 2.00 J per frame",
      "rect 387.0 40.0 59.0 17.0 stage0 A: 1.00 J per frame",
      "text 454.0 53.0 value start 4.00 J",
    ]
  `);
  expect(axes(svg)).toMatchInlineSnapshot(`"0 2 4 6 8 10 joules per frame"`);
});

test("joules of each stage: bars from zero, whiskers around their ends", () => {
  const svg = stageEnergyChart({
    stages: [
      { stage: "match", joulesPerFrame: 8, halfWidth: 1 },
      { stage: "median", joulesPerFrame: -1, halfWidth: 2 },
    ],
    remainder: { joulesPerFrame: 1, halfWidth: 1 },
    runs: 9,
    degreesOfFreedom: 5,
  });
  expect(drawn(svg)).toMatchInlineSnapshot(`
    [
      "svg 0 0 920 116 img Joules per frame of each stage",
      "text 200.0 29.0 name end match",
      "rect 378.6 17.0 337.1 16.0 paths4 match: 8.00 J +- 1.00 J",
      "line 673.6 25.0 757.9 25.0 whisker",
      "text 200.0 59.0 name end median",
      "rect 336.4 47.0 42.1 16.0 paths4 median: -1.00 J +- 2.00 J",
      "line 252.1 55.0 420.7 55.0 whisker",
    ]
  `);
  expect(axes(svg)).toMatchInlineSnapshot(`"-4 -2 0 2 4 6 8 10 joules per frame, 95 % interval"`);
});

describe("joules against the clock", () => {
  const run = (
    megahertz: number,
    fps: number,
    joulesPerFrame: number,
    wattsUncertainty: number | undefined = 1,
  ) => ({
    megahertz,
    point: createPoint({}, fps, 1, { joulesPerFrame, wattsUncertainty: wattsUncertainty ?? UNKNOWN }),
  });
  const curve = (...runs: ClockCurve["runs"]): ClockCurve => ({ name: "n", rateHz: 10, runs });

  test("a line and marks for each curve, with a legend", () => {
    const svg = clockChart([curve(run(300, 10, 1), run(600, 20, 2)), curve(run(900, 30, 3.5))]);
    expect(drawn(svg)).toMatchInlineSnapshot(`
      [
        "svg 0 0 920 440 img Joules per frame against the GPU&#39;s clock",
        "circle 168.0 310.5 5.5 stage0 n: 1.00 J at 300 MHz, 10.0 fps",
        "line 168.0 310.5 480.0 231.0 whisker",
        "circle 480.0 231.0 5.5 stage0 n: 2.00 J at 600 MHz, 20.0 fps",
        "circle 72.0 14.0 5.5 stage0 n",
        "text 84.0 18.0 label start n",
        "circle 792.0 111.8 5.5 stage1 n: 3.50 J at 900 MHz, 30.0 fps",
        "circle 72.0 32.0 5.5 stage1 n",
        "text 84.0 36.0 label start n",
      ]
    `);
    expect(axes(svg)).toMatchInlineSnapshot(
      `"200 300 400 500 600 700 800 900 1000 limit of the GPU&#39;s clock, MHz 0 1 2 3 4 joules per frame, idle included"`,
    );
  });

  test.each([
    // A clock reaches the rate with 98 % of it.
    [curve(run(300, 9.7, 1), run(600, 9.79, 2)), "n: no clock reaches the rate."],
    [
      curve(run(300, 9.8, 1), run(600, 20, 2)),
      "n: slow and steady takes the fewest joules (1.00 J at 300 MHz, 2.00 J at 600 MHz).",
    ],
    [curve(run(300, 10, 2), run(600, 10, 1)), "n: racing to idle takes the fewest joules, 1.00 J."],
    [
      curve(run(300, 10, 2), run(600, 10, 2)),
      "n: the clocks do not differ beyond the uncertainty (2.00 J at 300 MHz, 2.00 J at 600 MHz).",
    ],
    // The uncertainties of 1 W and 3 W at 10 frames per second are 0.4 J per frame.
    [
      curve(run(300, 10, 1, 1), run(600, 10, 1.375, 3)),
      "n: the clocks do not differ beyond the uncertainty (1.00 J at 300 MHz, 1.38 J at 600 MHz).",
    ],
    [
      curve(run(300, 10, 1, 1), run(600, 10, 1.5, 3)),
      "n: slow and steady takes the fewest joules (1.00 J at 300 MHz, 1.50 J at 600 MHz).",
    ],
    // Below one frame per second, the uncertainty is that of one second.
    [
      { ...curve(run(300, 0.5, 1, 1), run(600, 0.5, 3.5, 1)), rateHz: "max" as const },
      "n: slow and steady takes the fewest joules (1.00 J at 300 MHz, 3.50 J at 600 MHz).",
    ],
  ])("words %#", (of, words) => {
    expect(bestClockWords(of)).toBe(words);
  });

  test("an unknown uncertainty is reported", () => {
    const [low, high] = [run(300, 10, 1), run(600, 10, 2)];
    for (const { point } of [low, high]) {
      const known = point.power.wattsUncertainty;
      point.power.wattsUncertainty = UNKNOWN;
      expect(bestClockWords(curve(low, high))).toBe(
        "n: slow and steady takes the fewest joules (1.00 J at 300 MHz, 2.00 J at 600 MHz; uncertainty unknown).",
      );
      point.power.wattsUncertainty = known;
    }
  });

  test("curves need two clocks and known joules; other clocks make another curve", () => {
    const profile = constructedProfile({ clocks: [] });
    const points = (gpu: number | undefined, emc: number | undefined, joulesPerFrame: number | undefined) =>
      createPoint({ clockHertz: { ...(gpu && { gpu }), ...(emc && { emc }) } }, 1, 1, {
        joulesPerFrame: joulesPerFrame ?? UNKNOWN,
      });
    profile.results = [
      points(600e6, undefined, 1),
      points(300e6, undefined, 2),
      points(200e6, undefined, undefined),
      points(undefined, 2133e6, 3),
      points(100e6, 2133e6, 4),
      points(100e6, 665e6, 5),
    ];
    const found = clockCurves(profile).map(({ name, rateHz, runs }) => [
      name,
      rateHz,
      ...runs.map(({ megahertz, point }) => [megahertz, point.power.joulesPerFrame]),
    ]);
    expect(found).toEqual([
      ["640x480 d128 p4", "max", [300, 2], [600, 1]],
      ["640x480 d128 p4 (emc 2133 MHz)", "max", [100, 4], [918, 3]],
    ]);
  });
});

describe("the report around the charts", () => {
  const profile = (...results: MeasuredPoint[]) => ({ ...constructedProfile(), results });
  /** The words of the elements of one class or name, without markup. */
  const parts = (html: string, pattern: RegExp) =>
    [...html.matchAll(pattern)].map(([, inner]) =>
      inner!.replaceAll(/<[^>]+>/g, "|").replaceAll(/\|+/g, "|"),
    );
  const tiles = (html: string) => parts(html, /<div class="tile">(.*?)<\/div>/g);
  const keys = (html: string) => parts(html, /<div class="key">(.*?)<\/div>/g);
  const rows = (html: string) => parts(html, /<tr>(.*?)<\/tr>/g);
  const captions = (html: string) => parts(html, /<figcaption>(.*?)<\/figcaption>/g);

  const slow = createPoint({ rateHz: 15, paths: 2 }, 15, 5, {
    joulesPerFrame: 0.25,
    joulesPerFrameNet: 0.125,
    fpsPerWatt: 3,
    mdePerJoule: 100,
  });
  const fast = createPoint({}, 40, 20, {
    joulesPerFrame: 0.5,
    joulesPerFrameNet: 0.375,
    fpsPerWatt: 2,
    mdePerJoule: 400,
    changed: ["gpu clock"],
  });

  test("tiles: the fastest, the most frames per watt, the most disparities per joule", () => {
    expect(tiles(reportHtml(profile(slow, fast)))).toEqual([
      "|40.0 fps|fastest: 640x480 d128 p4|",
      "|3.00 fps/W|most frames per watt: 640x480 d128 p2 @15|",
      "|0.250 J|per frame there, idle included|",
      "|400 MDE/J|most disparities per joule: 640x480 d128 p4|",
    ]);
    expect(tiles(reportHtml(profile()))).toEqual([]);
  });

  test("one row per run, with a star where conditions changed", () => {
    const repeated = createPoint({ repeat: { stage: "median", times: 9 } }, 8, 5);
    const without = { ...createPoint({ without: "median" }, 9, 5), power: UNKNOWN, stages: {} };
    for (const result of [repeated, without])
      result.temperature = { startCelsius: 1, endCelsius: UNKNOWN, steady: true };
    fast.stages = { match: { p50Ms: 12.5, p95Ms: 0, p99Ms: 0 } };
    repeated.power = { ...slow.power, wattsUncertainty: UNKNOWN };
    const html = reportHtml({ ...profile(fast, repeated), results: [fast, repeated, without] });
    expect(
      rows(html)
        .slice(1)
        .map((row) => row.replace(/^\|/, "")),
    ).toEqual([
      "640x480 d128 p4 *|40.0|20.0|1.00|0.500|0.375|2.00|400|12.5|51|",
      expect.stringMatching(
        /^640x480 d128 p4, median 9 times\|8.0\|5.00\|-\|0.250\|0.125\|3.00\|100\|[\d.]+\|-\|$/,
      ),
      "640x480 d128 p4 without median|9.0|-|-|-|-|-|-|-|-|",
    ]);
    expect(html).toContain("changed during this run");
    expect(reportHtml(profile(slow))).not.toContain("changed during this run");
  });

  test("the keys name what the charts show: paths, idle power, rails, stages", () => {
    const big = createPoint({ width: 1280, height: 720, paths: 8 }, 50, 30, { rails: {} });
    for (const point of [slow, fast, big]) point.stages = { match: { p50Ms: 1, p95Ms: 1, p99Ms: 1 } };
    const html = reportHtml(profile(slow, fast));
    expect(keys(html)).toEqual([
      "|2 paths|4 paths|",
      "|2 paths|4 paths|idle power within|",
      "|VDD_CPU_GPU_CV|VDD_SOC|",
      "|match|",
    ]);
    expect(captions(html)[2]).toMatch(/^Rails below VDD_IN;/);
    // Another size has another chart. Rails that one run lacks are not shown, and idle power that is unknown neither.
    const known = [slow, big].map((point) => ({
      ...point,
      power: { ...point.power, joulesPerFrameNet: UNKNOWN },
    }));
    expect(keys(reportHtml(profile(...known)))).toEqual([
      "|2 paths|",
      "|8 paths|",
      "|2 paths|8 paths|",
      "|match|",
    ]);
    expect(captions(reportHtml(profile(slow, big)))[1]).toBe("The same for 1280x720.");
  });

  test("the parts of a sum are named as such", () => {
    const summed = profile(slow, fast);
    if (!("available" in summed.provenance.sensor))
      summed.provenance.sensor.totalRails = ["VDD_IN", "VDD_SOC"];
    expect(captions(reportHtml(summed))[2]).toBe("The rails of which the total is made.");
  });

  test("watts over time are those of the ends of the front, with a band if frames are many", () => {
    const count = (html: string) => html.match(/Mean of every/g)?.length;
    expect(count(reportHtml(profile(slow, fast)))).toBe(2);
    expect(count(reportHtml(profile(fast)))).toBe(1);
    for (const [frames, banded] of [
      [300, false],
      [301, true],
    ] as const) {
      const timeline = { ...fast.timeline, frames: Array.from({ length: frames }, (_, i) => i / 100) };
      expect(reportHtml(profile({ ...fast, timeline })).includes("drawn as a band")).toBe(banded);
    }
  });

  test("the method and the machine: rails, the cost of reading, the power mode and the clocks", () => {
    const whole = profile(slow);
    const { sensor } = whole.provenance;
    if (!("available" in sensor))
      sensor.rails.push({ label: "uJ counter", kind: "energy", updateIntervalMs: null, step: null });
    const html = reportHtml(whole);
    expect(html).toContain(
      "VDD_IN (power readings, step 40.0 mW, renewed every 6 ms); uJ counter (energy counter, step unknown, interval unknown)",
    );
    expect(html).toContain("Reading cost 0.0300 % of one core in its own code and 1.90 % in the kernel");
    const machine = (text: string) => parts(text, /<dt>(power mode<\/dt><dd>.*?)<\/dd>/g)[0];
    expect(machine(html)).toBe("power mode|15W, clocks locked");
    const known = slow.power.context;
    if (!("powerMode" in known)) throw new Error("expected a context");
    const withContext = (context: typeof slow.power.context) =>
      machine(reportHtml(profile({ ...slow, power: { ...slow.power, context } })));
    expect(withContext({ ...known, clocksLocked: false })).toBe("power mode|15W, clocks not locked");
    expect(withContext({ ...known, clocksLocked: UNKNOWN })).toBe("power mode|15W");
    expect(withContext({ ...known, powerMode: UNKNOWN })).toBe("power mode|not known, clocks locked");
    expect(withContext(UNKNOWN)).toBe("power mode|not known");
    for (const part of ["userPercent", "busReadPercent"] as const) {
      const sampling = { ...slow.power.sampling, [part]: UNKNOWN };
      expect(reportHtml(profile({ ...slow, power: { ...slow.power, sampling } }))).not.toContain(
        "Reading cost",
      );
    }
    expect(reportHtml({ ...whole, idleAfter: UNKNOWN })).toContain(
      "before the runs: 4.60 W; after them: not here.",
    );
  });
});
