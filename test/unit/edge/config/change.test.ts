// SPDX-License-Identifier: Apache-2.0
// A change of settings while the program runs, what it reports of values, and each source of settings as one layer.
import { resolve } from "node:path";
import { describe, expect, test } from "vitest";
import type { DepthwattError } from "../../../../core/index.js";
import { changedConfig, changedSettings, differences, valueAt } from "../../../../edge/config/change.js";
import { describedSettings, liveValues, settingDescriptions } from "../../../../edge/config/describe.js";
import { loadConfig, variableName } from "../../../../edge/config/index.js";
import {
  layerFromEnvironment,
  layerFromFlags,
  layerFromValues,
  resolvePaths,
  unknownKey,
} from "../../../../edge/config/layers.js";
import { configFile, originWords, raise } from "../../../../edge/config/load.js";
import { matchParameters } from "../../../../edge/config/match-parameters.js";

const { config } = loadConfig({ environment: {}, set: ["board=none", "device=cart"] });
const change = (values: Parameters<typeof changedConfig>[1]) => changedConfig(config, values, "a topic");
const refusal = (act: () => unknown): DepthwattError => {
  try {
    act();
  } catch (error) {
    return error as DepthwattError;
  }
  throw new Error("expected a refusal");
};

describe("a change", () => {
  test("changes what it names, and reports the keys with another value", () => {
    const { config: next, changed } = change({ "match.sgm.paths": 8, "match.sgm.p1": config.match.sgm.p1 });
    expect(changed).toEqual(["match.sgm.paths"]);
    expect(next).toEqual({
      ...config,
      match: { ...config.match, sgm: { ...config.match.sgm, paths: 8 } },
    });
    expect(config.match.sgm.paths).toBe(4);
    expect(differences(config, next)).toEqual({ "match.sgm.paths": 8 });
    expect(differences(next, config)).toEqual({ "match.sgm.paths": 4 });
    expect(change({})).toEqual({ config, changed: [] });
  });

  test("null and undefined unset an optional setting", () => {
    const { config: named } = change({ "calibration.file": "a.json" });
    // A path is relative to the folder of the process.
    expect(named.calibration.file).toBe(resolve("a.json"));
    for (const nothing of [null, undefined]) {
      const { config: unset, changed } = changedConfig(named, { "calibration.file": nothing }, "a topic");
      expect([changed, Object.hasOwn(unset.calibration, "file")]).toEqual([["calibration.file"], false]);
    }
    // Only text is a path, and only paths are resolved.
    expect(refusal(() => change({ "calibration.file": 7 })).message).toMatch(/^calibration\.file .*got 7$/);
    expect(change({ "source.replay.timestamps": "rate" }).config.source.replay.timestamps).toBe("rate");
  });

  test("every wrong name and value is reported at once, and nothing is changed", () => {
    const error = refusal(() => change({ "match.pats": 1, "match.sgm.paths": 3, "match.sgm.p1": 7 }));
    expect(error.code).toBe("CONFIG_INVALID");
    expect(error.message.split("\n").slice(1)).toEqual([
      '  match.pats (from a topic): no setting has this name; did you mean "match.sgm.paths"?',
      "  match.sgm.paths (from a topic): expected 2, 4 or 8, got 3",
    ]);
    expect(refusal(() => change({ "match.pats": 1 })).code).toBe("CONFIG_UNKNOWN_KEY");
  });

  test("a rule between settings holds for changes too, under its first key", () => {
    const error = refusal(() => change({ "depth.minMetres": 3, "depth.maxMetres": 2 }));
    expect([error.code, error.message]).toEqual([
      "CONFIG_INVALID",
      "depth.minMetres (from a topic): expected at most depth.maxMetres, 2, or depth.maxMetres = 0 for no limit, got 3",
    ]);
    expect(error.context.problems).toEqual([
      {
        key: "depth.minMetres",
        origin: { kind: "change", name: "a topic" },
        unknown: false,
        text: "expected at most depth.maxMetres, 2, or depth.maxMetres = 0 for no limit, got 3",
      },
    ]);
    expect(error.hint).toBe("Run 'depthwatt config explain depth.minMetres' for what it accepts.");
  });

  test("settings of the next start are refused by name, unless they stay as they are", () => {
    const one = refusal(() => change({ "engine.threads": 3, "match.sgm.paths": 8 }));
    expect([one.code, one.message]).toEqual([
      "SETTING_NEEDS_RESTART",
      "engine.threads (from a topic): expected settings that take effect live, but this one does so only at the next start; nothing was changed",
    ]);
    const two = refusal(() => change({ "engine.threads": 3, device: "other" }));
    expect(two.message).toMatch(/^device, engine\.threads .* but these do so only/);
    expect(two.context).toEqual({ keys: ["device", "engine.threads"] });
    expect(change({ device: "cart" }).changed).toEqual([]);
  });
});

test("values by key, and those that are no defaults", () => {
  expect(valueAt(config, "match.sgm.paths")).toBe(4);
  expect(valueAt(config, "source.v4l2.other.width")).toBe(640);
  expect(valueAt(config, "calibration.file")).toBeUndefined();
  const { config: next } = change({
    "match.sgm.paths": 8,
    "match.algorithm": "cbca",
    "refine.median": false,
  });
  expect(changedSettings(next, /^match\./)).toEqual({ "match.sgm.paths": 8, "match.algorithm": "cbca" });
  expect(changedSettings(next, /^(match\.sgm|calibration)\./)).toEqual({ "match.sgm.paths": 8 });
  // The default of the device is made when it is asked for.
  expect(changedSettings(config, /^(device|base)$/)).toEqual({ device: "cart" });
  expect(changedSettings(loadConfig({ environment: {}, set: ["board=none"] }).config, /^device$/)).toEqual(
    {},
  );
});

test("settings are described with their schema, unit and default, and whether they are live", () => {
  const byKey = new Map(settingDescriptions().map((one) => [one.key, one]));
  expect(byKey.get("source.synthetic.width")).toEqual({
    key: "source.synthetic.width",
    description: "Width of each camera's image.",
    unit: "px",
    schema: expect.objectContaining({ type: "integer", minimum: 16, maximum: 16_384 }) as object,
    default: 640,
    live: true,
  });
  expect(byKey.get("source.synthetic.width")!.schema).not.toHaveProperty("$schema");
  expect(byKey.get("engine.threads")).toMatchObject({ live: false });
  expect(typeof byKey.get("device")!.default).toBe("string");

  const { settings, values } = describedSettings(config, false);
  expect(settings.map(({ key }) => key)).toContain("calibration.file");
  expect(settings.every(({ live }) => live)).toBe(true);
  expect(describedSettings(config, true).settings).toEqual(settings);
  expect(values).toEqual(liveValues(config, false));
  const all = liveValues(change({ "calibration.file": "/c.json" }).config, true);
  expect(all).toMatchObject({ "calibration.file": "/c.json", "match.sgm.paths": 4 });
  expect(Object.keys(all).sort()).toEqual(settings.map(({ key }) => key).sort());
  const hidden = Object.keys(all).filter((key) => !Object.hasOwn(values, key));
  expect(hidden).toEqual(
    expect.arrayContaining(["calibration.file", "source.replay.left", "health.driftFile"]),
  );
  expect(hidden).not.toContain("match.sgm.paths");
});

describe("layers", () => {
  test("paths between commas are resolved, and an empty one stays empty", () => {
    expect(resolvePaths("a, ../b ,/c", "/x/y")).toBe("/x/y/a,/x/b,/c");
    expect(resolvePaths(" ", "/x")).toBe("");
    expect(resolvePaths("a,,b", "/x")).toBe("/x/a,,/x/b");
  });

  test.each([
    ["match.numDisparities", "DEPTHWATT_MATCH_NUM_DISPARITIES"],
    ["match.sgm.p1", "DEPTHWATT_MATCH_SGM_P1"],
    ["device", "DEPTHWATT_DEVICE"],
  ])("%s is the variable %s", (key, name) => expect(variableName(key)).toBe(name));

  test("variables: ours by name, those of programs and tests left alone, unknown ones with a guess", () => {
    const { entries, problems } = layerFromEnvironment({
      PATH: "/bin",
      DEPTHWATT_DEVICE: "007",
      DEPTHWATT_MATCH_NUM_DISPARITIES: "48",
      DEPTHWATT_BASE: undefined,
      DEPTHWATT_CONFIG: "a.yaml",
      DEPTHWATT_DATA: "/data",
      DEPTHWATT_SEED: "1",
      DEPTHWATT_CONFIGS: "b.yaml",
      DEPTHWATT_MATCH_SGM_PATH: "4",
    });
    const origin = (name: string) => ({ kind: "environment", name });
    expect([...entries]).toEqual([
      ["device", { value: "007", origin: origin("DEPTHWATT_DEVICE") }],
      ["match.numDisparities", { value: 48, origin: origin("DEPTHWATT_MATCH_NUM_DISPARITIES") }],
    ]);
    expect(problems).toEqual(
      [
        ["DEPTHWATT_CONFIGS", "DEPTHWATT_CONFIG"],
        ["DEPTHWATT_MATCH_SGM_PATH", "DEPTHWATT_MATCH_SGM_PATHS"],
      ].map(([key, near]) => ({
        key,
        origin: origin(key!),
        unknown: true,
        text: `no setting has this name; did you mean "${near}"?`,
      })),
    );
  });

  test("values of a program: undefined is not given, null unsets, unknown keys are problems", () => {
    const { entries, problems } = layerFromValues({
      "match.sgm.paths": 8,
      "match.sgm.p1": undefined,
      "calibration.file": null,
      "match.sgm.path": 2,
    });
    const origin = { kind: "flag", name: "settings" };
    expect([...entries]).toEqual([
      ["match.sgm.paths", { value: 8, origin }],
      ["calibration.file", { value: undefined, origin }],
    ]);
    expect(problems.map(({ key, unknown }) => [key, unknown])).toEqual([["match.sgm.path", true]]);
  });

  test("flags: text becomes the setting's type, other values stay, those not given are left out", () => {
    const { entries } = layerFromFlags({
      "match.sgm.paths": { flag: "--paths", value: "8" },
      "refine.median": { flag: "--no-median", value: false },
      device: { flag: "--device", value: "12" },
      base: { flag: "--base", value: undefined },
    });
    expect([...entries].map(([key, { value, origin }]) => [key, value, origin.name])).toEqual([
      ["match.sgm.paths", 8, "--paths"],
      ["refine.median", false, "--no-median"],
      ["device", "12", "--device"],
    ]);
    expect(() => layerFromFlags({ "match.path": { flag: "--path", value: 1 } })).toThrow(
      expect.objectContaining({ code: "INTERNAL" }),
    );
  });

  test("guesses stop after twenty problems", () => {
    const origin = { kind: "flag", name: "--set" } as const;
    const problem = { key: "a", origin, unknown: true, text: "" };
    const guess = (count: number) => unknownKey(Array(count).fill(problem), "pats", origin, ["paths"]).text;
    expect(guess(19)).toBe('no setting has this name; did you mean "paths"?');
    expect(guess(20)).toBe("no setting has this name");
  });
});

describe("the message of several problems", () => {
  const problem = (i: number, kind: "default" | "flag" = "flag") => ({
    key: `k${i}`,
    origin: { kind, name: kind === "default" ? "" : "--set" },
    unknown: true,
    text: "no",
  });
  const message = (count: number) =>
    refusal(() => raise(Array.from({ length: count }, (_, i) => problem(i)))).message.split("\n");

  test("has a line for each of the first twenty", () => {
    expect(message(1)).toEqual(["k0 (from --set): no"]);
    expect(message(2)).toEqual(["2 settings are wrong:", "  k0 (from --set): no", "  k1 (from --set): no"]);
    expect(message(20)).toHaveLength(21);
    expect(message(21)).toHaveLength(22);
    expect(message(23).slice(-2)).toEqual(["  k19 (from --set): no", "  and 3 more"]);
  });

  test("says where each came from, once", () => {
    expect(originWords({ kind: "default", name: "" })).toBe("default");
    expect(originWords({ kind: "file", name: "a.yaml" })).toBe("from a.yaml");
    const variable = {
      ...problem(0),
      key: "DEPTHWATT_X",
      origin: { kind: "environment" as const, name: "DEPTHWATT_X" },
    };
    expect(refusal(() => raise([variable])).message).toBe("DEPTHWATT_X: no");
    expect(refusal(() => raise([problem(3, "default")])).message).toBe("k3 (default): no");
  });

  test("is of unknown keys only if all are, and names a setting that can be explained", () => {
    const known = { ...problem(1), key: "match.sgm.paths", unknown: false };
    const error = refusal(() => raise([problem(0), known]));
    expect([error.code, error.hint]).toEqual([
      "CONFIG_INVALID",
      "Run 'depthwatt config explain match.sgm.paths' for what it accepts.",
    ]);
    const unknown = refusal(() => raise([problem(0), { ...known, unknown: true }]));
    expect([unknown.code, unknown.hint]).not.toContain(error.hint);
    expect(unknown.code).toBe("CONFIG_UNKNOWN_KEY");
  });
});

test("the file of a request, else the variable, unless it is empty", () => {
  expect(configFile({ file: "a", environment: { DEPTHWATT_CONFIG: "b" } })).toBe("a");
  expect(configFile({ environment: { DEPTHWATT_CONFIG: "b" } })).toBe("b");
  expect(configFile({ environment: { DEPTHWATT_CONFIG: "" } })).toBeUndefined();
  expect(configFile({ environment: {} })).toBeUndefined();
});

describe("settings and their origins", () => {
  const load = (request: Parameters<typeof loadConfig>[0]) =>
    loadConfig({ environment: { DEPTHWATT_BOARD: "none" }, ...request });

  test("values of a program come after --set, and flags of the source before it", () => {
    const sourceFlags = { width: { flag: "--width", value: 100 } };
    const width = (request: Parameters<typeof loadConfig>[0]) => {
      const { config: loaded, origins } = load(request);
      return [loaded.source.synthetic.width, origins.get("source.synthetic.width")!.name];
    };
    const set = ["source.synthetic.width=200"];
    const values = { "source.synthetic.width": 300 };
    expect(width({ sourceFlags })).toEqual([100, "--width"]);
    expect(width({ sourceFlags, set })).toEqual([200, "--set"]);
    expect(width({ sourceFlags, set, values })).toEqual([300, "settings"]);
    expect(width({ sourceFlags, flags: { "source.synthetic.width": { flag: "--w", value: 50 } } })).toEqual([
      100,
      "--width",
    ]);
  });

  test("of the settings that break a rule, the one from the highest source is blamed", () => {
    const environment = { DEPTHWATT_BOARD: "none", DEPTHWATT_DEPTH_MAX_METRES: "2" };
    const blamed = (request: Parameters<typeof loadConfig>[0]) =>
      refusal(() => loadConfig({ environment, ...request })).message.split(":")[0];
    expect(blamed({ set: ["depth.minMetres=3"] })).toBe("depth.minMetres (from --set)");
    const lower = { DEPTHWATT_BOARD: "none", DEPTHWATT_DEPTH_MIN_METRES: "3" };
    expect(blamed({ environment: lower, set: ["depth.maxMetres=2"] })).toBe("depth.minMetres (from --set)");
    // Two flags have the same rank, so the first key of the rule is blamed.
    const flag = (name: string, value: number) => ({ flag: name, value });
    expect(
      blamed({ flags: { "depth.maxMetres": flag("--max", 2), "depth.minMetres": flag("--min", 3) } }),
    ).toBe("depth.minMetres (from --min)");
  });

  test("settings that override a preset are reported, unless the value is the same", () => {
    const { overruled } = load({ preset: "sad-5", set: ["match.algorithm=cbca"] });
    expect(overruled).toEqual(["match.algorithm is cbca (from --set), not sad as preset sad-5 has it"]);
    expect(load({ preset: "sad-5", set: ["match.algorithm=sad"] }).overruled).toEqual([]);
  });
});

test("the parameters of the chosen matcher, without numbers that are left to it", () => {
  const of = (...set: string[]) =>
    matchParameters(loadConfig({ environment: {}, set: ["board=none", ...set] }).config.match);
  const { parameters, ...search } = of("match.minDisparity=3", "match.numDisparities=96");
  expect(search).toEqual({
    algorithm: "sgm",
    minDisparity: 3,
    numDisparities: 96,
    halfResolution: false,
  });
  // A word may be auto, which the engine resolves.
  expect(of("match.sgm.search=auto").parameters).toMatchObject({ search: "auto", paths: 4 });
  expect(parameters).not.toHaveProperty("armX");
  for (const value of ["true", "false"] as const)
    expect(of(`match.halfResolution=${value}`).halfResolution).toBe(value === "true");
});
