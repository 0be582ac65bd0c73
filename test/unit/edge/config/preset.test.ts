// SPDX-License-Identifier: Apache-2.0
// Presets: their settings exist and hold together, explicit ones win and are reported, a mistyped name gets the nearest, and their
// figures are those of the result files, which were measured with these very settings.
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { type Config, changedConfig, loadConfig, SETTINGS, valueAt } from "../../../../edge/config/index.js";
import { PRESET_GROUPS, PRESET_NAMES, PRESETS } from "../../../../edge/presets/index.js";

const quiet = { environment: {}, set: ["board=none"] };
const settingByKey = new Map(SETTINGS.map((setting) => [setting.key, setting]));
const fresh = loadConfig(quiet).config;
/** By preset: a running program that was given it. */
const running = PRESET_NAMES.map(
  (name) => [name, changedConfig(fresh, PRESETS[name]!.settings, "test").config] as const,
);

describe.each(PRESET_NAMES)("preset %s", (preset) => {
  test("sets what exists, within its ranges, and reports it", () => {
    const { config, origins, overruled } = loadConfig({ ...quiet, preset });
    expect(overruled).toEqual([]);
    for (const [key, value] of Object.entries(PRESETS[preset]!.settings)) {
      expect(settingByKey.get(key)?.takesEffect, key).toBe("live");
      const got = key
        .split(".")
        .reduce<unknown>((group, part) => (group as Record<string, unknown>)[part], config);
      expect(got, key).toBe(value);
      expect(origins.get(key)).toEqual({ kind: "preset", name: `preset ${preset}` });
    }
  });

  test("pins denoising and the vertical offset at the start if it is a paper's", () => {
    const { startSettings = {} } = PRESETS[preset]!;
    const pinned = { "match.denoise": "off", "rectify.verticalOffset": 0 };
    expect(startSettings).toEqual(preset in PRESET_GROUPS.paper ? pinned : {});
    const { config } = loadConfig({ ...quiet, preset });
    for (const [key, value] of Object.entries(startSettings)) expect(valueAt(config, key), key).toBe(value);
  });

  test("each figure is measured, or published, or both, and its file exists", () => {
    for (const { of, measured, published } of PRESETS[preset]!.figures) {
      expect(measured ?? published, of).toBeDefined();
      if (measured !== undefined) expect(existsSync(measured.from), measured.from).toBe(true);
      if (published !== undefined) expect(published.from).toMatch(/^[A-Z].*(table|figure|section) /);
    }
  });

  test("a running program has it after every other preset", () => {
    const change = (config: Config) => changedConfig(config, PRESETS[preset]!.settings, "test").config;
    const wanted = relevant(change(fresh));
    for (const [before, config] of running) expect(relevant(change(config)), before).toEqual(wanted);
  });
});

/** Options of the running matcher; the search range belongs to the rig, so only sad-5-defaults says it. */
function relevant({ match, refine, rectify }: Config): object {
  const { numDisparities: _, ...rest } = match;
  const shared = Object.entries(rest).filter(
    ([key, value]) => key === match.algorithm || typeof value !== "object",
  );
  return { ...Object.fromEntries(shared), refine, rectify };
}

interface Row {
  preset: string;
  what: string;
  settings: string[];
  mean: number;
}

const exponential = "bench/results/intel-xeon-2-cores/2026-11-26-f0a56c1-exponential-improved.json";

describe.each([
  ["esaw-5", 9.6],
  ["esaw-9", 8.2],
  ["esmp-8", 7.42],
])("%s and its improved form", (name, published) => {
  const { rows } = JSON.parse(readFileSync(exponential, "utf8")) as { rows: Row[] };
  test.each([
    [name, name, "paper's settings"],
    [`${name}-improved`, name, "improved: gradients, no speckle filter"],
    ...(name === "esmp-8" ? [["esmp-8-printed", "esmp-8-printed", "paper's settings"]] : []),
  ] as [string, string, string][])("%s is what was measured", (preset, measuredAs, what) => {
    const row = rows.find((one) => one.preset === measuredAs && one.what === what)!;
    const measured = loadConfig({ environment: {}, set: ["board=none", ...row.settings] });
    expect(loadConfig({ ...quiet, preset }).config).toEqual(measured.config);
    const [figure, ...others] = PRESETS[preset]!.figures;
    expect(others).toEqual([]);
    expect(figure).toMatchObject({
      measured: { value: row.mean, from: exponential },
      published: { value: published },
    });
  });
});

test("the windows' figures are those of the tables", () => {
  const file = "bench/results/amd-epyc-2-cores/2026-11-23-a585ff8-window-sad.json";
  type WindowRow = { kind: string; matcher: string; window: number; what: string; badPercent: number[] };
  const { rows } = JSON.parse(readFileSync(file, "utf8")) as { rows: WindowRow[] };
  for (const [preset, matcher, window] of [
    ["sad-3", "sad", 3],
    ["sad-5", "sad", 5],
    ["sad-7", "sad", 7],
  ] as const) {
    const { figures } = PRESETS[preset]!;
    const of = (kind: string, what: RegExp) =>
      rows.find(
        (row) => row.matcher === matcher && row.window === window && row.kind === kind && what.test(row.what),
      )!.badPercent;
    expect(figures.map(({ measured }) => measured?.value)).toEqual(of("measured", /^fixed point$/));
    expect(figures.map(({ published }) => published?.value)).toEqual(of("published", /^table/));
    for (const { measured } of figures) expect(measured?.from).toBe(file);
  }
});

test("the pyramids have the peak ratio nearest to the table, and its figures", () => {
  const file = "bench/results/intel-xeon-2-cores/2026-11-26-687c6b7-pyramid-peak-ratio.json";
  const { fits, rows } = JSON.parse(readFileSync(file, "utf8")) as {
    fits: { fittedTo: string; peakRatio: number }[];
    rows: { peakRatio: number; window: number; badPercent: number[] }[];
  };
  const { peakRatio } = fits.find(({ fittedTo }) => fittedTo === "all scenes")!;
  for (const side of [3, 5, 7]) {
    const { figures, settings } = PRESETS[`pyramid-${side}`]!;
    expect(settings["match.pyramid.peakRatio"]).toBe(peakRatio);
    const { badPercent } = rows.find((row) => row.window === side && row.peakRatio === peakRatio)!;
    expect(figures.map(({ measured }) => measured)).toEqual(
      badPercent.map((value) => ({ value, from: file })),
    );
  }
});

test.each([
  [
    "amd-epyc-2-cores/2026-11-25-ce2f1d5",
    ["balanced"],
    ["midd_v2", "midd_2005_2006_third", "midd_2014", "kitti2015"],
  ],
  [
    "intel-xeon-2-cores/2026-11-26-9325be7",
    ["fast"],
    ["midd_v2", "midd_2005_2006_third", "midd_2014", "kitti2015"],
  ],
  [
    "intel-xeon-2-cores/2026-11-28-440bb08",
    ["quality", "dense"],
    ["midd_v2", "midd_2005_2006_third", "midd_2014", "kitti2015"],
  ],
  ["papers", ["sgm-2016"], ["midd_v2", "midd_2005_2006_third", "midd_2014", "kitti2015"]],
  ["papers", ["chang-half", "chang-full"], ["midd_2006_aloe"]],
])("what was measured at %s is in the result file: %s", (when, presets, sets) => {
  const file =
    when === "papers"
      ? "bench/results/intel-xeon-2-cores/2026-11-26-f0a56c1-paper-presets.json"
      : `bench/results/${when}-presets.json`;
  const { rows } = JSON.parse(readFileSync(file, "utf8")) as {
    rows: { preset: string; data: string; mean: number }[];
  };
  for (const preset of presets) {
    const reported = PRESETS[preset]!.figures.flatMap(({ measured }) =>
      measured?.from === file ? [measured.value] : [],
    );
    const measured = sets.map((set) => rows.find((row) => row.preset === preset && row.data === set)!.mean);
    expect(reported, preset).toEqual(measured);
  }
});

// After a change, measure the figures again.
test("the settings in which each preset differs from balanced, and its published figures", () => {
  const { settings: common } = PRESETS.balanced!;
  const differences = PRESET_NAMES.map((name) => {
    const { settings, figures } = PRESETS[name]!;
    const own = Object.entries(settings).filter(([key, value]) => common[key] !== value);
    const published = figures.flatMap((figure) => figure.published?.value ?? []);
    return [
      name,
      own.map(([key, value]) => `${key}=${value}`),
      published.map((value) => `published ${value}`),
    ];
  });
  expect(differences.map(([name, ...rest]) => `${name}: ${rest.flat().join(" ")}`)).toMatchInlineSnapshot(`
    [
      "fast: match.halfResolution=true match.sgm.search=coarseToFine",
      "balanced: ",
      "quality: match.sgm.cost=wideCensus match.sgm.p1=14 match.sgm.p2=46 match.sgm.adaptiveP2=8 match.sgm.outsideCost=14 match.sgm.rightView=own refine.speckleSize=40 refine.rounds=2 refine.slant=true",
      "dense: refine.rounds=2 refine.slant=true",
      "robot: refine.temporal=true refine.minConfidence=0.94",
      "still-camera: refine.temporal=true match.average=true",
      "quality-unfilled: match.sgm.cost=wideCensus match.sgm.p1=20 match.sgm.p2=63 match.sgm.adaptiveP2=10 match.sgm.outsideCost=14 match.sgm.rightView=own refine.speckleRange=1 refine.fill=off refine.rounds=2 refine.slant=true",
      "sgm-2016: match.sgm.cost=census match.sgm.p1=7 match.sgm.p2=86 match.sgm.adaptiveP2=0 match.sgm.outsideCost=63 match.sgm.subpixel=false refine.leftRight=false refine.speckleSize=0 refine.fill=off refine.boundary=false published 42",
      "chang-half: match.algorithm=cbca match.halfResolution=true match.cbca.armX=21 match.cbca.armY=31 match.cbca.armXRight=-1 match.cbca.armYRight=-1 match.cbca.similarity=13 match.cbca.lambdaDifference=300 match.cbca.lambdaUnit=fullScale match.cbca.lambdaCensus=23 match.cbca.threshold=3 refine.leftRight=false refine.speckleSize=0 refine.fill=off refine.boundary=false refine.median=false published 24.09",
      "chang-full: match.algorithm=cbca match.halfResolution=false match.cbca.armX=41 match.cbca.armY=61 match.cbca.armXRight=-1 match.cbca.armYRight=-1 match.cbca.similarity=13 match.cbca.lambdaDifference=300 match.cbca.lambdaUnit=fullScale match.cbca.lambdaCensus=23 match.cbca.threshold=3 refine.leftRight=false refine.speckleSize=0 refine.fill=off refine.boundary=false refine.median=false published 32.82",
      "esaw-5: match.algorithm=esaw match.esaw.steps=5 match.esaw.basePercent=260 match.esaw.gammaColour=17 match.esaw.gammaDistance=36 match.esaw.truncation=12 match.esaw.colourDistance=rgb match.esaw.rightView=own match.esaw.subpixel=false match.esaw.gradientTruncation=0 match.esaw.gradientPercent=400 refine.leftRight=false refine.speckleSize=0 refine.fill=off refine.boundary=false published 9.6",
      "esaw-5-improved: match.algorithm=esaw match.esaw.steps=5 match.esaw.basePercent=260 match.esaw.gammaColour=17 match.esaw.gammaDistance=36 match.esaw.truncation=12 match.esaw.colourDistance=rgb match.esaw.rightView=own match.esaw.subpixel=false match.esaw.gradientTruncation=4 match.esaw.gradientPercent=400 refine.speckleSize=0 published 9.6",
      "esaw-9: match.algorithm=esaw match.esaw.steps=9 match.esaw.basePercent=190 match.esaw.gammaColour=17 match.esaw.gammaDistance=36 match.esaw.truncation=12 match.esaw.colourDistance=rgb match.esaw.rightView=own match.esaw.subpixel=false match.esaw.gradientTruncation=0 match.esaw.gradientPercent=400 refine.leftRight=false refine.speckleSize=0 refine.fill=off refine.boundary=false published 8.2",
      "esaw-9-improved: match.algorithm=esaw match.esaw.steps=9 match.esaw.basePercent=190 match.esaw.gammaColour=17 match.esaw.gammaDistance=36 match.esaw.truncation=12 match.esaw.colourDistance=rgb match.esaw.rightView=own match.esaw.subpixel=false match.esaw.gradientTruncation=4 match.esaw.gradientPercent=400 refine.speckleSize=0 published 8.2",
      "esmp-8: match.algorithm=esmp match.esmp.steps=8 match.esmp.basePercent=180 match.esmp.gammaColour=18 match.esmp.gammaDistance=29 match.esmp.truncation=17 match.esmp.lambdaThousandths=150 match.esmp.slopeThousandths=1000 match.esmp.capTenThousandths=375 match.esmp.colourDistance=rgb match.esmp.rightView=own match.esmp.subpixel=false match.esmp.gradientTruncation=0 match.esmp.gradientPercent=400 refine.leftRight=false refine.speckleSize=0 refine.fill=off refine.boundary=false published 7.42",
      "esmp-8-improved: match.algorithm=esmp match.esmp.steps=8 match.esmp.basePercent=180 match.esmp.gammaColour=18 match.esmp.gammaDistance=29 match.esmp.truncation=17 match.esmp.lambdaThousandths=99 match.esmp.slopeThousandths=660 match.esmp.capTenThousandths=248 match.esmp.colourDistance=rgb match.esmp.rightView=own match.esmp.subpixel=false match.esmp.gradientTruncation=4 match.esmp.gradientPercent=400 refine.speckleSize=0 published 7.42",
      "esmp-8-printed: match.algorithm=esmp match.esmp.steps=8 match.esmp.basePercent=280 match.esmp.gammaColour=18 match.esmp.gammaDistance=29 match.esmp.truncation=17 match.esmp.lambdaThousandths=150 match.esmp.slopeThousandths=1000 match.esmp.capTenThousandths=375 match.esmp.colourDistance=rgb match.esmp.rightView=own match.esmp.subpixel=false match.esmp.gradientTruncation=0 match.esmp.gradientPercent=400 refine.leftRight=false refine.speckleSize=0 refine.fill=off refine.boundary=false published 7.42",
      "sad-5-defaults: match.numDisparities=33 match.algorithm=sad match.sad.windowWidth=5 match.sad.windowHeight=5 match.sad.hueWeight=30 match.sad.saturationWeight=30 match.sad.valueWeight=30 match.sad.subpixel=false refine.leftRight=false refine.speckleSize=0 refine.fill=off refine.boundary=false refine.median=false",
      "sad-3: match.algorithm=sad match.sad.windowWidth=3 match.sad.windowHeight=3 match.sad.hueWeight=20 match.sad.saturationWeight=30 match.sad.valueWeight=50 match.sad.subpixel=false refine.leftRight=false refine.speckleSize=0 refine.fill=off refine.boundary=false refine.median=false published 36.5 published 45.2 published 22.5 published 43",
      "sad-5: match.algorithm=sad match.sad.windowWidth=5 match.sad.windowHeight=5 match.sad.hueWeight=20 match.sad.saturationWeight=30 match.sad.valueWeight=50 match.sad.subpixel=false refine.leftRight=false refine.speckleSize=0 refine.fill=off refine.boundary=false refine.median=false published 23 published 33.4 published 14.9 published 31.9",
      "sad-7: match.algorithm=sad match.sad.windowWidth=7 match.sad.windowHeight=7 match.sad.hueWeight=20 match.sad.saturationWeight=30 match.sad.valueWeight=50 match.sad.subpixel=false refine.leftRight=false refine.speckleSize=0 refine.fill=off refine.boundary=false refine.median=false published 18.2 published 27.8 published 11.8 published 25.3",
      "sad-7-improved: match.algorithm=sad match.sad.windowWidth=7 match.sad.windowHeight=7 match.sad.hueWeight=10 match.sad.saturationWeight=20 match.sad.valueWeight=70 match.sad.subpixel=false published 18.2 published 27.8 published 11.8 published 25.3",
      "pyramid-3: match.algorithm=pyramid match.pyramid.windowWidth=3 match.pyramid.windowHeight=3 match.pyramid.hueWeight=20 match.pyramid.saturationWeight=30 match.pyramid.valueWeight=50 match.pyramid.subpixel=false refine.leftRight=false refine.speckleSize=0 refine.confidence=product refine.repair=true refine.fill=off refine.boundary=false refine.median=false match.pyramid.levels=3 match.pyramid.peakRatio=18 published 27.6 published 36 published 14.3 published 32.7",
      "pyramid-5: match.algorithm=pyramid match.pyramid.windowWidth=5 match.pyramid.windowHeight=5 match.pyramid.hueWeight=20 match.pyramid.saturationWeight=30 match.pyramid.valueWeight=50 match.pyramid.subpixel=false refine.leftRight=false refine.speckleSize=0 refine.confidence=product refine.repair=true refine.fill=off refine.boundary=false refine.median=false match.pyramid.levels=3 match.pyramid.peakRatio=18 published 21.3 published 29.2 published 10.7 published 24.3",
      "pyramid-7: match.algorithm=pyramid match.pyramid.windowWidth=7 match.pyramid.windowHeight=7 match.pyramid.hueWeight=20 match.pyramid.saturationWeight=30 match.pyramid.valueWeight=50 match.pyramid.subpixel=false refine.leftRight=false refine.speckleSize=0 refine.confidence=product refine.repair=true refine.fill=off refine.boundary=false refine.median=false match.pyramid.levels=3 match.pyramid.peakRatio=18 published 19.3 published 26.5 published 9.67 published 20.3",
      "pyramid-improved: match.algorithm=pyramid match.pyramid.windowWidth=7 match.pyramid.windowHeight=5 match.pyramid.hueWeight=0 match.pyramid.saturationWeight=20 match.pyramid.valueWeight=80 match.pyramid.subpixel=false refine.speckleSize=50 refine.rounds=4 match.pyramid.levels=1 match.pyramid.peakRatio=1 published 19.3 published 26.5 published 9.67 published 20.3",
    ]
  `);
});

test("balanced is the defaults", () => {
  expect(loadConfig({ ...quiet, preset: "balanced" }).config).toEqual(loadConfig(quiet).config);
});

test("robot has the confidence limit and the figures of its result file, and meets its goal", () => {
  const { figures, settings } = PRESETS.robot!;
  const { from } = figures[0]!.measured!;
  type LimitRow = {
    what?: string;
    minConfidence: number;
    densityPercent: number;
    wrongOfKeptPercent: number;
  };
  const { rows } = JSON.parse(readFileSync(from, "utf8")) as { rows: LimitRow[] };
  const row = rows.find(({ what }) => what === "limit of the preset")!;
  expect(Math.ceil((settings["refine.minConfidence"] as number) * 255)).toBe(
    Math.round(row.minConfidence * 255),
  );
  expect(figures.map(({ measured }) => measured)).toEqual([
    { value: row.wrongOfKeptPercent, from },
    { value: row.densityPercent, from },
  ]);
  expect(row.wrongOfKeptPercent).toBeLessThanOrEqual(2);
  expect(row.densityPercent).toBeGreaterThanOrEqual(60);
});

test("quality-unfilled is quality with holes, and has the figure of its result file", () => {
  const preset = PRESETS["quality-unfilled"]!;
  const { value, from } = preset.figures[0]!.measured!;
  const { rows } = JSON.parse(readFileSync(from, "utf8")) as {
    rows: { settings: string[]; leftOut: string; atDensity: { density: number; badPercentOfKept: number } }[];
  };
  const row = rows.find(
    ({ settings, leftOut }) =>
      settings.includes("--preset quality-unfilled") && leftOut === "what is not filled",
  )!;
  expect(row.atDensity.badPercentOfKept).toBeCloseTo(value, 3);
  expect(row.atDensity.density).toBeGreaterThanOrEqual(80);
  expect(Object.keys(preset.settings)).toEqual(Object.keys(PRESETS.quality!.settings));
  expect(preset.settings["refine.fill"]).toBe("off");
});

test("sgm-2016 has the penalties of the authors' code", () => {
  const { config } = loadConfig({ ...quiet, preset: "sgm-2016" });
  expect(config.match).toMatchObject({
    algorithm: "sgm",
    halfResolution: "auto",
    sgm: { cost: "census", paths: 4, p1: 7, p2: 86, adaptiveP2: 0, uniqueness: 0, subpixel: false },
  });
  expect(config.refine).toMatchObject({
    leftRight: false,
    speckleSize: 0,
    fill: "off",
    boundary: false,
    median: true,
  });
  expect(PRESETS["sgm-2016"]!.source).toContain("prints neither P1 nor P2");
});

test("an explicit setting wins, and that is reported once", () => {
  const set = ["board=none", "match.sgm.p1=12", "match.sgm.p2=46"];
  const { config, overruled } = loadConfig({ environment: {}, preset: "quality", set });
  expect(config.match.sgm.p1).toBe(12);
  expect(config.match.sgm.cost).toBe("wideCensus");
  expect(overruled).toEqual(["match.sgm.p1 is 12 (from --set), not 14 as preset quality has it"]);
});

test("an unknown name gets the nearest", () => {
  expect(() => loadConfig({ ...quiet, preset: "qualty" })).toThrow(
    `expected --preset to be ${PRESET_NAMES.join(", ")}, got "qualty"; did you mean "quality"?`,
  );
  expect(() => loadConfig({ ...quiet, preset: "esaw-7" })).toThrow('did you mean "esaw-');
  expect(() => loadConfig({ ...quiet, preset: "toString" })).toThrow('got "toString"');
});
