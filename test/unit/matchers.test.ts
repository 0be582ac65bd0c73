// SPDX-License-Identifier: Apache-2.0
// TypeScript's list of matchers against the native registry, and what the registry says of values it cannot take.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { packageRoot } from "../../core/index.js";
import { MATCHER_FACTS, STAGE_FACTS } from "../../cuda/facts.js";
import { ALGORITHMS, createEngine, engineAddon, matcherParameters, qualityWords } from "../../cuda/index.js";
import { loadConfig, matchParameters } from "../../edge/config/index.js";
import {
  measuredSearches,
  SEARCH_GAINS_PATH,
  searchGainsText,
  searchResults,
  winningCases,
} from "../../scripts/search-gains.mjs";
import { computeFrame, engineOptions } from "../doubles/engine-call.js";
import { layeredPair } from "../doubles/stereo-pair.js";

test("cuda/facts.ts is what the addon says", () => {
  expect(engineAddon().facts()).toEqual({ matchers: MATCHER_FACTS, stages: STAGE_FACTS });
});

const configWith = (...set: string[]) => loadConfig({ environment: {}, set: ["board=none", ...set] }).config;

describe("settings of a matcher", () => {
  test("only the chosen matcher's reach the engine, and auto follows the resolution", () => {
    const sgm = matchParameters(configWith("match.sgm.paths=8", "match.cbca.armX=5").match);
    expect(sgm).toMatchObject({ algorithm: "sgm", halfResolution: false });
    expect(matcherParameters(sgm)).toEqual({
      cost: "twoGradientCensus",
      paths: 8,
      rightView: "diagonal",
      search: "full",
      p1: 10,
      p2: 24,
      adaptiveP2: 2,
      uniqueness: 0,
      outsideCost: 6,
      subpixel: true,
    });
    expect(qualityWords(sgm)).toEqual(["8 paths"]);
    const cbca = matchParameters(configWith("match.algorithm=cbca", "match.cbca.armX=5").match);
    expect(cbca.halfResolution).toBe(true);
    const paper = {
      armXRight: -1,
      armYRight: -1,
      lambdaDifference: 300,
      lambdaUnit: "fullScale",
      lambdaCensus: 23,
      threshold: 3,
    };
    expect(cbca.parameters).toEqual({ armX: 5, ...paper });
    expect(matcherParameters(cbca)).toEqual({ armX: 5, armY: 3, similarity: 30, ...paper });
    const atFull = matcherParameters({ ...cbca, halfResolution: false });
    expect(atFull).toEqual({ armX: 5, armY: 9, similarity: 13, ...paper });
    expect(qualityWords(cbca)).toEqual([]);
  });

  test.each([
    [
      "match.cbca.armX=142",
      /^match\.cbca\.armX .*expected "auto" or a whole number from 0 to 141 \(px\), got 142$/,
    ],
    ["match.cbca.paths=4", /^match\.cbca\.paths .*no setting has this name/],
    ["match.paths=4", /^match\.paths .*no setting has this name; did you mean "match\.sgm\.paths"\?$/],
    ["match.algorithm=census", /^match\.algorithm .*expected "?sgm"?.*"?esmp"?/],
  ])("%s is refused", (set, message) => {
    const refused = () => configWith(set);
    expect(refused).toThrow(expect.objectContaining({ message: expect.stringMatching(message) }));
  });
});

describe("values that the engine cannot take", () => {
  const pair = layeredPair(120, 50);
  const compute = (match: object) => {
    const base = engineOptions(pair);
    return computeFrame(pair, { ...base, match: { ...base.match, ...match } });
  };
  test.each([
    [{ algorithm: "esp" }, "Expected sgm, cbca, esaw, esmp, sad or pyramid for match.algorithm, got 'esp'."],
    [{ parameters: { paths: 3 } }, "Expected 2, 4 or 8 for match.sgm.paths, got 3."],
    [{ parameters: { p1: 12.5 } }, "Expected a whole number of 1 to 1023 for match.sgm.p1, got 12.5."],
    [{ parameters: { subpixel: 1 } }, "Expected true or false for match.sgm.subpixel, got 1."],
    [
      { parameters: { cost: "grey" } },
      "Expected twoGradientCensus, gradientCensus, census or wideCensus for match.sgm.cost, got 'grey'.",
    ],
    [{ parameters: { p1: 31 } }, "match.sgm.p1: expected at most match.sgm.p2, which is 24, got 31."],
    [
      { algorithm: "cbca", parameters: { armX: 142 } },
      "Expected a whole number of 0 to 141 for match.cbca.armX, got 142.",
    ],
    [
      { algorithm: "cbca", parameters: { paths: 4 } },
      "Expected a parameter of cbca (armX, armY, similarity, armXRight, armYRight, lambdaDifference, lambdaUnit, lambdaCensus or threshold), got match.cbca.paths.",
    ],
    [{ numDisparities: 7 }, "Expected a whole number of 8 to 512 for match.numDisparities, got 7."],
  ])("%j", async (match, message) => {
    await expect(compute(match)).rejects.toMatchObject({ code: "ENGINE_PARAMETER", message });
  });

  test("arms that are set take effect", async () => {
    const usual = await compute({ algorithm: "cbca", parameters: {} });
    const same = await compute({ algorithm: "cbca", parameters: { armX: 9, armY: 9, similarity: 13 } });
    const short = await compute({ algorithm: "cbca", parameters: { armX: 0, armY: 0 } });
    expect(same.disparityQ4).toEqual(usual.disparityQ4);
    expect(short.disparityQ4).not.toEqual(usual.disparityQ4);
    for (const changed of [
      { armXRight: 0 },
      { armYRight: 0 },
      { lambdaDifference: 50 },
      { lambdaUnit: "greyLevel" },
      { lambdaCensus: 100 },
      { threshold: 0 },
    ]) {
      const other = await compute({ algorithm: "cbca", parameters: changed });
      expect(other.disparityQ4, JSON.stringify(changed)).not.toEqual(usual.disparityQ4);
    }
  });
});

describe("every parameter of every matcher", () => {
  type Value = number | string | boolean;
  const addon = engineAddon();
  const limits = MATCHER_FACTS.flatMap(({ name, parameters }) =>
    parameters.map((setting) => [`match.${name}.${setting.key}`, name, setting] as const),
  );
  const listed = (words: readonly Value[]) => words.join(", ").replace(/, ([^,]*)$/, " or $1");

  test.each(limits)("%s at its limits and beyond", (name, algorithm, setting) => {
    const refusal = (value: unknown) => {
      try {
        const parameters = { [setting.key]: value };
        addon.brokenRule({
          algorithm,
          halfResolution: false,
          minDisparity: 0,
          numDisparities: 64,
          parameters,
        } as never);
        return undefined;
      } catch (error) {
        return (error as Error).message;
      }
    };
    const {
      kind,
      low = 0,
      high = 0,
      step,
      choices = [],
      automatic,
    } = setting as {
      kind: "whole" | "fraction" | "oneOf" | "word" | "flag";
      low?: number;
      high?: number;
      step?: number;
      choices?: readonly Value[];
      automatic?: boolean;
    };
    const range = `${low} to ${high}`;
    const expected = {
      whole: `a whole number of ${range}`,
      fraction: step === undefined ? `a number of ${range}` : `a multiple of ${step} from ${range}`,
      oneOf: listed(choices),
      word: listed(choices),
      flag: "true or false",
    }[kind];
    const unit = step ?? 1;
    const good: Value[] = {
      whole: [low, high],
      fraction: [low, high, low + unit],
      oneOf: [...choices],
      word: [...choices],
      flag: [true, false],
    }[kind];
    if (automatic) good.push("auto");
    for (const value of good) expect(refusal(value), `${value}`).toBeUndefined();
    const bad: [unknown, string][] = [
      ["none of them", "'none of them'"],
      ["long ".repeat(10), `'${"long ".repeat(8)}'`],
      [Number.NaN, "nan"],
      [1e300, "1e+300"],
      [-2e9, "-2000000000"],
    ];
    if (kind !== "flag") bad.push([true, "true"], [false, "false"]);
    else bad.push([1, "1"]);
    if (kind === "whole" || kind === "fraction") {
      bad.push([low - unit, `${low - unit}`], [high + unit, `${high + unit}`]);
      if (kind === "whole" || step !== undefined) bad.push([low + unit / 2, `${low + unit / 2}`]);
    }
    if (kind === "oneOf") bad.push([Number(choices[0]) + 0.5, `${Number(choices[0]) + 0.5}`], [0, "0"]);
    if (!good.includes("auto")) bad.push(["auto", "'auto'"]);
    for (const [value, text] of bad)
      expect(refusal(value)).toBe(
        `Expected ${automatic ? "auto or " : ""}${expected} for ${name}, got ${text}.`,
      );
    for (const value of [undefined, null, {}])
      expect(refusal(value)).toBe(`Expected a number, a word or a boolean for ${name}.`);
  });
});

describe("match.sgm.search: auto", () => {
  const { chooseSearch } = engineAddon();
  const cases = measuredSearches(packageRoot(), searchResults(packageRoot()));
  const matchOf = (one: { paths: number; numDisparities: number }, ...set: string[]) =>
    matchParameters(
      configWith(
        ...["match.sgm.search=auto", `match.numDisparities=${one.numDisparities}`],
        ...[`match.sgm.paths=${one.paths}`, ...set],
      ).match,
    );

  test("takes coarseToFine in every measured case that is 1.25 times as fast, and in no other", () => {
    expect(new Set(cases.map(({ gain }) => gain >= 1.25))).toEqual(new Set([true, false]));
    for (const one of cases) {
      const choice = chooseSearch(matchOf(one), one, one);
      expect(choice?.chosen, JSON.stringify(one)).toBe(one.gain >= 1.25 ? "coarseToFine" : "full");
      const { width, height, numDisparities, instructionSet } = one;
      expect(choice?.reason).toContain(
        choice?.chosen === "full"
          ? `at ${width}x${height} with ${numDisparities} disparities on ${instructionSet}`
          : "times as fast at",
      );
    }
  });

  test("chooses by a table that is generated from its results", () => {
    const root = packageRoot();
    expect(readFileSync(join(root, SEARCH_GAINS_PATH), "utf8")).toBe(
      searchGainsText(root, searchResults(root)),
    );
  });

  test("a case is decided by the largest gain among the measured cases that are no larger", () => {
    const measured = winningCases(cases) as typeof cases;
    const tasks = measured.flatMap((one) =>
      [-1, 0, 1].flatMap((step) => [
        { ...one, width: one.width + step },
        { ...one, numDisparities: one.numDisparities + step },
        { ...one, multiprocessors: Math.max(0, one.multiprocessors + step) },
      ]),
    );
    for (const task of tasks) {
      const { instructionSet, multiprocessors, width, height, numDisparities, paths } = task;
      const percents = measured
        .filter(
          (one) =>
            one.instructionSet === instructionSet &&
            one.multiprocessors >= multiprocessors &&
            one.paths === paths &&
            one.width * one.height <= width * height &&
            one.numDisparities <= numDisparities,
        )
        .map((one) => ({ ...one, percent: Math.floor(100 * one.gain) }))
        .sort((a, b) => b.percent - a.percent);
      const place = (one: typeof task) =>
        `${one.width}x${one.height} with ${one.numDisparities} disparities on ${one.instructionSet}` +
        (one.multiprocessors > 0 ? ` with ${one.multiprocessors} multiprocessors` : "");
      const [best] = percents;
      expect(chooseSearch(matchOf(task), task, task), JSON.stringify(task)).toEqual(
        best === undefined
          ? {
              chosen: "full",
              reason: `no measurement shows coarseToFine 1.25 times as fast at ${place(task)}`,
            }
          : {
              chosen: "coarseToFine",
              reason: `measured ${(best.percent / 100).toFixed(2)} times as fast at ${place(best)}`,
            },
      );
    }
  });

  test.each([
    [64, {}, "full", "up to 64 disparities are always searched completely"],
    [64, { search: "coarseToFine" }, "full", "up to 64 disparities are always searched completely"],
    [64, { search: "full" }, "full", "match.sgm.search is set to full"],
    [65, { search: "coarseToFine" }, "coarseToFine", "match.sgm.search is set to coarseToFine"],
    [512, { paths: 8 }, "full", "coarse-to-fine search needs 2 or 4 paths"],
    [512, { p2: 128 }, "full", "coarse-to-fine search needs a p2 of at most 127"],
    [512, { p2: 127 }, "coarseToFine", expect.stringMatching(/^measured /)],
  ])("%i disparities, %j: %s", (numDisparities, set, chosen, reason) => {
    const parameters = { search: "auto", paths: 4, ...set };
    const match = { algorithm: "sgm", halfResolution: false, minDisparity: 0, numDisparities, parameters };
    const device = { instructionSet: "avx512", multiprocessors: 0 };
    expect(chooseSearch(match as never, { width: 1280, height: 720 }, device as never)).toEqual({
      chosen,
      reason,
    });
  });

  test("keeps the full search where nothing was measured, and where the settings need it", () => {
    const [one] = [...cases].sort((a, b) => b.gain - a.gain);
    const chosen = (...[match, images = one!, device = one!]: Partial<Parameters<typeof chooseSearch>>) =>
      chooseSearch(match ?? matchOf(one!), images, device);
    expect(chosen()?.chosen).toBe("coarseToFine");
    expect(chosen(undefined, undefined, { ...one!, instructionSet: "scalar" })?.chosen).toBe("full");
    expect(chosen(undefined, undefined, { ...one!, multiprocessors: 10_000 })?.chosen).toBe("full");
    expect(chosen(undefined, { width: 64, height: 48 })?.chosen).toBe("full");
    expect(chosen(matchOf(one!, "match.sgm.paths=8"))?.reason).toMatch(/2 or 4 paths/);
    expect(chosen(matchOf(one!, "match.sgm.p2=128"))?.reason).toMatch(/p2 of at most 127/);
    // At half resolution, half of the range is searched.
    expect(chosen({ ...matchOf({ ...one!, numDisparities: 128 }), halfResolution: true })?.reason).toMatch(
      /up to 64 disparities/,
    );
  });

  // The largest measured case is 1280x720 with 256 disparities. Half of an odd side is rounded up, and of a search both its ends.
  test.each([
    [2559, 1439, 0, 511, "coarseToFine"],
    [2559, 1439, 0, 510, "full"],
    [2559, 1439, 1, 511, "full"],
    [2559, 1439, 2, 511, "coarseToFine"],
    [2558, 1439, 0, 511, "full"],
    [2559, 1438, 0, 511, "full"],
  ])(
    "half of %i x %i, from %i on %i disparities: %s",
    (width, height, minDisparity, numDisparities, chosen) => {
      const parameters = { search: "auto", paths: 4 };
      const match = { algorithm: "sgm", halfResolution: true, minDisparity, numDisparities, parameters };
      const device = { instructionSet: "avx512", multiprocessors: 0 };
      expect(chooseSearch(match as never, { width, height }, device as never)?.chosen).toBe(chosen);
    },
  );

  test.each([
    ["width", 1, 32768],
    ["height", 1, 32768],
    ["minDisparity", 0, 2047],
    ["numDisparities", 1, 512],
    ["multiprocessors", 0, 65536],
  ])("%s is a whole number from %i to %i", (name, low, high) => {
    const choose = (value: number) => {
      const all = {
        width: 64,
        height: 48,
        minDisparity: 0,
        numDisparities: 64,
        multiprocessors: 0,
        [name]: value,
      };
      const match = { algorithm: "sgm", halfResolution: false, ...all };
      return chooseSearch(match as never, all, { instructionSet: "avx2", ...all } as never);
    };
    for (const value of [low, high]) expect(choose(value)?.chosen).toBe("full");
    for (const value of [low - 1, high + 1])
      expect(() => choose(value)).toThrow(
        `Expected a whole number from ${low} to ${high} for ${name}, got ${value}.`,
      );
  });

  test("is null for matchers with one search", () => {
    for (const algorithm of ALGORITHMS.filter((name) => name !== "sgm")) {
      const match = matchParameters(configWith(`match.algorithm=${algorithm}`).match);
      expect(chooseSearch(match, cases[0]!, cases[0]!), algorithm).toBeNull();
    }
  });

  test("an engine runs and reports the search", () => {
    const size = { width: 1280, height: 720, numDisparities: 256, paths: 4 };
    const pair = { ...layeredPair(8, 8), ...size };
    const open = (search: string) => {
      const engine = createEngine(
        engineOptions(pair, { match: matchOf(size, `match.sgm.search=${search}`) }),
      );
      const { info } = engine;
      engine.close();
      return info;
    };
    const { search, instructionSet, workspaceBytes } = open("auto");
    expect(search).toEqual(chooseSearch(matchOf(size), size, { instructionSet, multiprocessors: 0 }));
    if (!("chosen" in search)) throw new Error(search.reason);
    expect(open(search.chosen)).toMatchObject({
      workspaceBytes,
      search: { chosen: search.chosen, reason: `match.sgm.search is set to ${search.chosen}` },
    });
  });
});
