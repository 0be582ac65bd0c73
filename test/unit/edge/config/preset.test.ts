// SPDX-License-Identifier: Apache-2.0
// Presets: their settings exist and hold together, explicit ones win and are told, and a mistyped name gets the nearest.
import { describe, expect, test } from "vitest";
import { loadConfig, SETTINGS } from "../../../../edge/config/index.js";
import { PRESET_NAMES, PRESETS } from "../../../../edge/presets/index.js";

const quiet = { environment: {}, set: ["board=none"] };
const known = new Set(SETTINGS.map(({ key }) => key));

describe.each(PRESET_NAMES)("preset %s", (preset) => {
  test("sets what exists, within its ranges, and says so", () => {
    const { config, origins, overruled } = loadConfig({ ...quiet, preset });
    expect(overruled).toEqual([]);
    for (const [key, value] of Object.entries(PRESETS[preset]!.settings)) {
      expect(known, key).toContain(key);
      const got = key
        .split(".")
        .reduce<unknown>((group, part) => (group as Record<string, unknown>)[part], config);
      expect(got, key).toBe(value);
      expect(origins.get(key)).toEqual({ kind: "preset", name: `preset ${preset}` });
    }
  });
});

test("an explicit setting wins, and that is said once", () => {
  const set = ["board=none", "match.sgm.p1=12", "match.sgm.p2=46"];
  const { config, overruled } = loadConfig({ environment: {}, preset: "quality", set });
  expect(config.match.sgm.p1).toBe(12);
  expect(config.match.sgm.cost).toBe("wideCensus");
  expect(overruled).toEqual(["match.sgm.p1 is 12 (from --set), not 16 as preset quality has it"]);
});

test("an unknown name gets the nearest", () => {
  expect(() => loadConfig({ ...quiet, preset: "qualty" })).toThrow(
    'expected --preset to be quality, sad-5, sad-3, sad-5t, sad-7, pyramid, got "qualty"; did you mean "quality"?',
  );
  expect(() => loadConfig({ ...quiet, preset: "toString" })).toThrow('got "toString"');
});
