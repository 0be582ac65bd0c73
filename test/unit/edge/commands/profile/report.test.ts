// SPDX-License-Identifier: Apache-2.0
// Tests a profile's statements: fronts, stage energy with a known truth, comparison, CSV, contribution and the page.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { isDepthwattError } from "../../../../../core/index.js";
import { STAGE_NAMES } from "../../../../../cuda/index.js";
import { measuredPoints, paretoFront } from "../../../../../edge/commands/profile/charts.js";
import { bestClockWords, clockCurves } from "../../../../../edge/commands/profile/charts-clocks.js";
import { shownRails } from "../../../../../edge/commands/profile/charts-energy.js";
import { compareProfiles } from "../../../../../edge/commands/profile/compare.js";
import { contributionSchema, createContribution } from "../../../../../edge/commands/profile/contribute.js";
import { reportHtml, stageColours } from "../../../../../edge/commands/profile/report.js";
import { regress, studentQuantile95 } from "../../../../../edge/commands/profile/stage-energy.js";
import { escapeText, linearScale, roundTicks, shortNumber } from "../../../../../edge/plot/index.js";
import { parseKernelTimes } from "../../../../../edge/profile/kernel-times.js";
import { profileCsv } from "../../../../../edge/profile/store.js";
import { OPTIONAL_STAGES, type Profile } from "../../../../../edge/profile/types.js";
import { constructedProfile, MODEL, seeded } from "../../../../doubles/constructed-profile.js";

const code = (action: () => unknown): string => {
  try {
    action();
    return "no refusal";
  } catch (error) {
    return isDepthwattError(error) ? error.code : String(error);
  }
};

/** The same profile on a machine whose watts cannot be read. */
function withoutWatts(profile: Profile): Profile {
  const refused = { available: false as const, reason: "no power sensor (rapl: not here)" };
  const results = profile.results.map((result) => ({ ...result, power: refused }));
  return {
    ...profile,
    idleBefore: refused,
    idleAfter: refused,
    results,
    provenance: { ...profile.provenance, sensor: refused },
  };
}

describe("Pareto front", () => {
  test("no point on it is beaten, every point off it is", () => {
    const points = measuredPoints(constructedProfile().results);
    const front = paretoFront(points);
    const beats = (a: (typeof points)[0], b: (typeof points)[0]) =>
      a.power.watts <= b.power.watts && a.fps >= b.fps && a !== b;
    for (const point of front) expect(points.some((other) => beats(other, point))).toBe(false);
    for (const point of points)
      if (!front.includes(point)) expect(front.some((other) => beats(other, point))).toBe(true);
  });
});

describe("stage energy by regression", () => {
  const truth = { leftRight: 0.004, median: 0.002, speckle: 0.006, depth: 0.001, encode: 0.003 } as const;
  const observe = (rounds: number, noise: number, seed: number) => {
    const random = seeded(seed);
    const gauss = () => Math.sqrt(-2 * Math.log(random() + 1e-12)) * Math.cos(2 * Math.PI * random());
    const runs = [undefined, ...OPTIONAL_STAGES];
    return Array.from({ length: rounds }, () => runs)
      .flat()
      .map((without) => {
        let joules = 0.05;
        for (const stage of OPTIONAL_STAGES) {
          const off = stage === without || (stage === "encode" && without === "depth");
          if (!off) joules += truth[stage];
        }
        return { ...(without && { without }), joulesPerFrame: joules + noise * gauss() };
      });
  };

  /** Runs with stages repeated, some of which no frame can do without. */
  const repeated = [
    { stage: "rectify", times: 40 },
    { stage: "match", times: 3 },
    { stage: "median", times: 20 },
  ] as const;
  const dear = { rectify: 0.0005, match: 0.02, median: 0.002 } as const;
  const observeRepeated = (rounds: number, noise: number, seed: number) => {
    const random = seeded(seed);
    const gauss = () => Math.sqrt(-2 * Math.log(random() + 1e-12)) * Math.cos(2 * Math.PI * random());
    return Array.from({ length: rounds }, () => [undefined, ...repeated])
      .flat()
      .map((repeat) => {
        let joules = 0.04;
        for (const [stage, cost] of Object.entries(dear))
          joules += cost * (repeat?.stage === stage ? repeat.times : 1);
        return { ...(repeat && { repeat }), joulesPerFrame: joules + noise * gauss() };
      });
  };

  test("repeated stages: what no frame can do without has a figure too, and a short one a small interval", () => {
    const exact = regress(observeRepeated(3, 0, 1))!;
    expect(exact.stages.map(({ stage }) => stage)).toEqual(["rectify", "match", "median"]);
    for (const { stage, joulesPerFrame } of exact.stages)
      expect(joulesPerFrame).toBeCloseTo(dear[stage as keyof typeof dear], 9);
    expect(exact.remainder.joulesPerFrame).toBeCloseTo(0.04, 9);
    const [rectify, match] = regress(observeRepeated(3, 0.002, 5))!.stages;
    expect(rectify!.halfWidth).toBeLessThan(match!.halfWidth / 10);
  });

  test("repeated stages: the 95 % intervals hold the truth about 95 times in a hundred", () => {
    let held = 0;
    const trials = 500;
    for (let seed = 1; seed <= trials; seed++) {
      for (const { stage, joulesPerFrame, halfWidth } of regress(observeRepeated(3, 0.002, seed * 7919))!
        .stages) {
        if (Math.abs(joulesPerFrame - dear[stage as keyof typeof dear]) <= halfWidth) held++;
      }
    }
    const share = held / (trials * repeated.length);
    expect(share).toBeGreaterThan(0.93);
    expect(share).toBeLessThan(0.97);
  });

  test("added work costs by how often it was done for each frame, and is no part of the whole", () => {
    const [capture, publish] = [0.003, 0.007];
    const runs = [0.5, 1, 2].flatMap((addedPerFrame) => [
      { joulesPerFrame: 0.05 },
      { joulesPerFrame: 0.05 - 0.002, without: "median" as const },
      { joulesPerFrame: 0.05 + capture * addedPerFrame, added: "capture" as const, addedPerFrame },
      { joulesPerFrame: 0.05 + publish * addedPerFrame, added: "publish" as const, addedPerFrame },
    ]);
    const { stages, remainder } = regress(runs)!;
    const near = (joules: number) => expect.closeTo(joules, 9);
    expect(stages).toMatchObject([
      { stage: "capture", joulesPerFrame: near(capture) },
      { stage: "median", joulesPerFrame: near(0.002) },
      { stage: "publish", joulesPerFrame: near(publish) },
    ]);
    expect(remainder.joulesPerFrame).toBeCloseTo(0.048, 9);
  });

  test("left out in one run and repeated in another is one stage", () => {
    const runs = [
      ...observe(2, 0, 1),
      { repeat: { stage: "median" as const, times: 11 }, joulesPerFrame: 0.066 + 0.02 },
    ];
    const median = regress(runs)!.stages.find(({ stage }) => stage === "median")!;
    expect(median.joulesPerFrame).toBeCloseTo(truth.median, 9);
  });

  test("finds the truth exactly without noise; depth takes encode with it", () => {
    const energies = regress(observe(3, 0, 1))!;
    for (const { stage, joulesPerFrame, halfWidth } of energies.stages) {
      expect(joulesPerFrame).toBeCloseTo(truth[stage as keyof typeof truth], 9);
      expect(halfWidth).toBeLessThan(1e-9);
    }
    expect(energies.remainder.joulesPerFrame).toBeCloseTo(0.05, 9);
    expect(energies.degreesOfFreedom).toBe(18 - 6);
  });

  test("its 95 % intervals hold the truth about 95 times in a hundred", () => {
    let held = 0;
    const trials = 400;
    for (let seed = 1; seed <= trials; seed++) {
      for (const { stage, joulesPerFrame, halfWidth } of regress(observe(4, 0.002, seed * 7919))!.stages) {
        if (Math.abs(joulesPerFrame - truth[stage as keyof typeof truth]) <= halfWidth) held++;
      }
    }
    const share = held / (trials * OPTIONAL_STAGES.length);
    expect(share).toBeGreaterThan(0.93);
    expect(share).toBeLessThan(0.97);
  });

  test("too few runs give no interval, so no figure", () => {
    expect(regress(observe(1, 0, 1))).toBeUndefined();
    expect(regress([])).toBeUndefined();
  });

  test("Student's t against tables", () => {
    for (const [degrees, value] of [
      [1, 12.706],
      [5, 2.571],
      [6, 2.447],
      [10, 2.228],
      [30, 2.042],
      [120, 1.98],
    ] as const) {
      expect(Math.abs(studentQuantile95(degrees) / value - 1)).toBeLessThan(0.005);
    }
  });
});

describe("compare", () => {
  test("a change beyond both uncertainties is one, a smaller one is not, other boards are reported", () => {
    const a = constructedProfile();
    const b = constructedProfile({ model: { ...MODEL, idleWatts: 6.6 } });
    b.results.pop();
    b.provenance.board.title = "another board";
    const comparison = compareProfiles(a, b);
    expect(comparison.points).toHaveLength(a.results.length - 1);
    expect(comparison.onlyA).toEqual([a.results.at(-1)!.id]);
    expect(comparison.differences[0]).toContain("another board");
    for (const { watts } of comparison.points)
      expect(watts).toMatchObject({ available: true, significant: true });
    const same = compareProfiles(a, constructedProfile());
    for (const { watts } of same.points)
      expect(watts).toMatchObject({ changePercent: 0, significant: false });
  });

  test("rounds of one point are averaged, and a change counts beyond both uncertainties in quadrature", () => {
    const a = constructedProfile({ stageRounds: 1 });
    const [base] = a.results;
    const result = (fps: number, watts: number, wattsUncertainty: number, joulesPerFrame: number) => {
      if (!base!.power.available) throw new Error("expected watts");
      return { ...base!, fps, power: { ...base!.power, watts, wattsUncertainty, joulesPerFrame } };
    };
    // 3 % of 10 W and 4 % of 10.5 W are 0.3 W and 0.42 W, in quadrature 0.516 W.
    a.results = [result(10, 9, 0.27, 1), result(30, 11, 0.33, 1)];
    const b = { ...a, seconds: 30, results: [result(25, 10.5, 0.42, 1.0625)] };
    const compared = compareProfiles(a, b);
    expect(compared).toEqual({
      points: [
        {
          id: base!.id,
          fps: { a: 20, b: 25, changePercent: 25 },
          watts: { available: true, a: 10, b: 10.5, changePercent: 5, significant: false },
          joulesPerFrame: { available: true, a: 1, b: 1.0625, changePercent: 6.25, significant: true },
        },
      ],
      onlyA: [],
      onlyB: [],
      differences: ["seconds: 20 | 30"],
    });
    const [back] = compareProfiles({ ...a, results: [result(25, 10.55, 0.42, 1)] }, a).points;
    expect(back!.watts).toMatchObject({ significant: true });
    const unknown = { available: false as const, reason: "no step" };
    const [without] = compareProfiles(a, {
      ...a,
      results: [{ ...base!, power: { ...result(1, 1, 1, 1).power, wattsUncertainty: unknown } }],
    }).points;
    expect(without!.watts).toMatchObject({ available: true, significant: unknown });
    const other = structuredClone(a);
    Object.assign(other.provenance, {
      processor: "p",
      gpu: "g",
      version: "v",
      backend: "b",
      sensor: unknown,
    });
    expect(compareProfiles(a, other).differences).toEqual([
      "processor: constructed CPU | p",
      "GPU: none | g",
      "version: 0.1.0 | v",
      "backend: cuda | b",
      "sensor: ina3221 (VDD_IN: VDD_IN is the input of the whole module) | none",
    ]);
  });

  test("without watts the reason stands where the figure would", () => {
    const a = constructedProfile();
    const [first] = compareProfiles(a, withoutWatts(a)).points;
    expect(first!.watts).toEqual({
      available: false,
      reason: "watts of B: no power sensor (rapl: not here)",
    });
  });
});

describe("CSV", () => {
  test("one row per run; an unknown value is empty, never 0", () => {
    const profile = constructedProfile();
    const rows = profileCsv(profile.results).trim().split("\r\n");
    expect(rows).toHaveLength(profile.results.length + 1);
    const head = rows[0]!.split(",");
    const unknown = profileCsv(withoutWatts(profile).results).split("\r\n")[1]!.split(",");
    expect(unknown[head.indexOf("watts")]).toBe("");
    expect(unknown[head.indexOf("joules_per_frame")]).toBe("");
    expect(Number(rows[1]!.split(",")[head.indexOf("watts")])).toBeGreaterThan(4);
  });
});

describe("contribution", () => {
  test("holds measured rows and nothing of the owner", () => {
    const profile = constructedProfile({ stageRounds: 1 });
    profile.provenance.machine = "secret-host";
    const contribution = createContribution(profile);
    expect(contributionSchema.parse(contribution)).toEqual(contribution);
    expect(contribution.rows.every((row) => row.kind === "measured" && row.powerMode === "15W")).toBe(true);
    // 24 points and one more whole run of the first; runs with a stage left out are no operating points.
    expect(contribution.rows).toHaveLength(25);
    expect(JSON.stringify(contribution)).not.toContain("secret-host");
    const [row] = contribution.rows;
    expect(row!.stages).toEqual(profile.results[0]!.stages);
    expect(Object.keys(row!.stages)).toContain("match");
    expect(contribution.kernels).toBeNull();
  });

  test("reports half resolution from full", () => {
    const profile = constructedProfile();
    profile.results[0]!.point.halfResolution = true;
    const [half, full] = createContribution(profile).rows.map(({ halfResolution }) => halfResolution);
    expect([half, full]).toEqual([true, false]);
  });

  test("carries the times of kernels that the GPU check wrote, which the model of boards reads", async () => {
    const file = "bench/results/h200/2026-11-22-891b4ca-model-half2.json";
    const kernels = parseKernelTimes(readFileSync(file, "utf8"), file, "");
    const contribution = contributionSchema.parse(createContribution(constructedProfile(), kernels));
    expect(contribution.kernels!.rows.length).toBeGreaterThan(100);
    const { modelJob } = (await import(
      new URL("../../../../../bench/model/gpu-fit.mjs", import.meta.url).href
    )) as {
      modelJob: (row: object) => { family: string } | undefined;
    };
    const families = new Set(contribution.kernels!.rows.map((row) => modelJob(row)?.family));
    expect(families).toEqual(new Set([undefined, "walks", "pixels", "frames"]));
  });

  test.each([
    ["not JSON", "{", "no JSON"],
    ["another file", '{"rows": []}', "no times of kernels"],
    [
      "a row that was not measured",
      JSON.stringify({
        machine: "a",
        commit: "b",
        date: "c",
        toolchain: "d",
        rows: [{ kind: "predicted", what: "kernel costs", multiprocessors: 1, medianMs: 1 }],
      }),
      "rows.0.kind",
    ],
  ])("times of kernels are refused: %s", (_, text, words) => {
    expect(() => parseKernelTimes(text, "kernels.json", "")).toThrow(
      expect.objectContaining({ code: "CONFIG_INVALID", message: expect.stringContaining(words) }),
    );
  });

  test("is refused without watts, and with runs too short to compare", () => {
    expect(code(() => createContribution(withoutWatts(constructedProfile())))).toBe("SENSOR_UNAVAILABLE");
    expect(code(() => createContribution({ ...constructedProfile(), seconds: 5 }))).toBe("CONFIG_INVALID");
  });
});

describe("the page", () => {
  test("needs nothing from elsewhere, and shows every run", () => {
    const profile = constructedProfile({ stageRounds: 3 });
    const html = reportHtml(profile);
    expect(html).not.toMatch(/<script|<link|<img|@import|url\(|\ssrc=|href=/);
    expect(html.replaceAll('xmlns="http://www.w3.org/2000/svg"', "")).not.toMatch(/https?:\/\//);
    expect(html).not.toMatch(/NaN|undefined|Infinity|\[object/);
    expect(html.match(/<tr>/g)).toHaveLength(profile.results.length + 1);
    for (const words of [
      "Frames against watts",
      "Energy of a frame",
      "Watts over time",
      "Energy of a stage",
      "k = 2",
      "gain error",
    ])
      expect(html).toContain(words);
  });

  test("without a sensor it reports it and draws no energy", () => {
    const html = reportHtml(withoutWatts(constructedProfile()));
    expect(html).toContain("No watts on this machine");
    expect(html).toContain("no power sensor (rapl: not here)");
    expect(html).not.toContain("Energy of a frame");
    expect(html).not.toMatch(/NaN|undefined|Infinity/);
  });

  test("text from the machine cannot become markup", () => {
    const profile = constructedProfile();
    profile.provenance.processor = '<img src=x onerror="alert(1)">';
    expect(reportHtml(profile)).not.toContain("<img");
    expect(escapeText(`<a b="c">'&`)).toBe("&#60;a b=&#34;c&#34;&#62;&#39;&#38;");
  });

  test("rails side by side: the parts of a sum, or what lies below one input", () => {
    const points = measuredPoints(constructedProfile().results);
    expect(shownRails(points, ["VDD_IN"])).toEqual(["VDD_CPU_GPU_CV", "VDD_SOC"]);
    expect(shownRails(points, ["VDD_IN", "VDD_SOC"])).toEqual(["VDD_IN", "VDD_SOC"]);
  });

  test("ticks are round and enclose the values", () => {
    for (const [low, high] of [
      [0, 7.3],
      [4.61, 4.63],
      [0, 0.00031],
      [-0.2, 1],
      [5, 5],
    ] as const) {
      const ticks = roundTicks(low, high, 6);
      expect(ticks[0]).toBeLessThanOrEqual(low);
      expect(ticks.at(-1)).toBeGreaterThanOrEqual(high);
      expect(ticks.length).toBeGreaterThan(2);
      expect(ticks.length).toBeLessThan(14);
    }
    expect(linearScale(0, 10, 100, 200).at(5)).toBeCloseTo(150);
    expect([0.01234, 1.5, 123.4, 0].map(shortNumber)).toEqual(["0.0123", "1.50", "123", "0"]);
  });
});

test("joules against the clock: a line per point, and which of race to idle and slow and steady takes fewer", () => {
  const profile = constructedProfile({ clocks: [{ gpu: 612e6 }, { gpu: 306e6 }] });
  const curves = clockCurves(profile);
  expect(curves).toHaveLength(6);
  const steady = curves.find(({ name }) => name === "640x480 d128 p2 @15")!;
  expect(steady.runs.map(({ megahertz }) => megahertz)).toEqual([306, 612, 918]);
  expect(bestClockWords(steady)).toMatch(
    /^640x480 d128 p2 @15: slow and steady .* J at 306 MHz, .* J at 918 MHz\)\.$/,
  );
  // At full speed, idle power divides by fewer frames.
  expect(bestClockWords(curves.find(({ name }) => name === "640x480 d128 p2")!)).toContain("racing to idle");
  // A clock that does not reach the rate is no choice.
  for (const run of steady.runs.slice(0, 2)) run.point.fps = 9;
  expect(bestClockWords(steady)).toContain("racing to idle takes the fewest joules");
  const page = reportHtml(profile);
  expect(page).toContain("Energy against the clock");
  expect(page).toContain("J at 306 MHz, ");
  expect(reportHtml(constructedProfile())).not.toContain("Energy against the clock");
});

test("every stage has its own colour in the report", () => {
  const colours = stageColours(STAGE_NAMES.length);
  expect(new Set(colours).size).toBe(STAGE_NAMES.length);
  const page = reportHtml(constructedProfile());
  for (const [stage, colour] of colours.entries())
    expect(page).toContain(`.stage${stage} { fill: ${colour};`);
});
