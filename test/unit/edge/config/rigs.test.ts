// SPDX-License-Identifier: Apache-2.0
// Tests rigs in a configuration file: what each inherits, and every error with the rig it is about.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { DepthwattError } from "../../../../core/index.js";
import { type LoadedConfig, loadConfig, loadRigs } from "../../../../edge/config/index.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-rigs-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const file = join(folder, "rigs.yaml");
const BASE = { board: "none", device: "cart", match: { numDisparities: 64 } };

function rigsOf(settings: object, more: object = {}): ReadonlyMap<string, LoadedConfig> | undefined {
  writeFileSync(file, JSON.stringify({ ...BASE, ...settings }));
  return loadRigs({ file, environment: {}, ...more });
}

function failure(settings: object, more: object = {}): DepthwattError {
  try {
    rigsOf(settings, more);
  } catch (error) {
    if (error instanceof DepthwattError) return error;
    throw error;
  }
  throw new Error("expected an error");
}

test("a rig has the settings of the top level and its own, and a device of its name", () => {
  const rigs = rigsOf({ rigs: { front: { match: { numDisparities: 128 } }, rear: { device: "back" } } })!;
  expect([...rigs.keys()]).toEqual(["front", "rear"]);
  const [front, rear] = [...rigs.values()];
  expect(front!.config).toMatchObject({ device: "cart-front", match: { numDisparities: 128 } });
  expect(rear!.config).toMatchObject({ device: "back", match: { numDisparities: 64 } });
  expect(front!.origins.get("match.numDisparities")!.name).toBe(`rigs.front of ${file}`);
});

test("flags hold for every rig", () => {
  const rigs = rigsOf({ rigs: { front: {}, rear: {} } }, { set: ["match.numDisparities=32", "device=d"] })!;
  const configs = [...rigs.values()].map(({ config }) => [config.device, config.match.numDisparities]);
  expect(configs).toEqual([
    ["d-front", 32],
    ["d-rear", 32],
  ]);
});

test("paths of a rig are relative to the file", () => {
  const rigs = rigsOf({ rigs: { front: { calibration: { file: "front.json" } } } })!;
  expect(rigs.get("front")!.config.calibration.file).toBe(join(folder, "front.json"));
});

test("a file without rigs, and a chosen rig, are single", () => {
  expect(rigsOf({})).toBeUndefined();
  expect(rigsOf({ rigs: { front: {} } }, { rig: "front" })).toBeUndefined();
  expect(loadConfig({ file, rig: "front", environment: {} }).config.device).toBe("cart-front");
});

test.each([
  [
    { rigs: { front: { match: { numDisparity: 1 } } } },
    "CONFIG_UNKNOWN_KEY",
    /rigs\.front of .*did you mean/,
  ],
  [
    { rigs: { front: { match: { numDisparities: 1 } } } },
    "CONFIG_INVALID",
    /numDisparities \(from rigs\.front of/,
  ],
  [
    { rigs: { front: { power: { budgetWatts: 5 } } } },
    "CONFIG_INVALID",
    /power\.budgetWatts .*all rigs share it/,
  ],
  [{ rigs: { front: { http: { port: 1 } } } }, "CONFIG_INVALID", /http\.port .*all rigs share it/],
  [
    { rigs: { a: { device: "x" }, b: { device: "x" } } },
    "CONFIG_INVALID",
    /another one for rigs\.b than for rigs\.a/,
  ],
  [
    { outputs: { mcap: { file: "x.mcap" } }, rigs: { a: {}, b: {} } },
    "CONFIG_INVALID",
    /outputs\.mcap\.file .*rigs\.b/,
  ],
  [{ power: { clocks: "auto" }, rigs: { a: {} } }, "CONFIG_INVALID", /power\.clocks .*left out/],
  [{ rigs: [] }, "CONFIG_INVALID", /rigs .*got a list/],
  [{ rigs: {} }, "CONFIG_INVALID", /rigs .*got an empty one/],
  [{ rigs: { "a/b": {} } }, "CONFIG_INVALID", /names of 1 to 32 letters.*"a\/b"/],
  [{ rigs: { a: 3 } }, "CONFIG_INVALID", /expected a group of settings, got 3/],
])("%j", (settings, code, message) => {
  const error = failure(settings);
  expect(error.message).toMatch(message);
  expect(error.code).toBe(code);
});

test("a command for one rig asks which one", () => {
  rigsOf({ rigs: { front: {}, rear: {} } });
  expect(() => loadConfig({ file, environment: {} })).toThrow(/expected --rig with front or rear.*got none/);
  expect(() => loadConfig({ file, rig: "rera", environment: {} })).toThrow(/got "rera"/);
  writeFileSync(file, JSON.stringify(BASE));
  expect(() => loadConfig({ file, rig: "rear", environment: {} })).toThrow(/--rig rear: .*rigs, got none/);
});
