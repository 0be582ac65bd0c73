// SPDX-License-Identifier: Apache-2.0
// From settings to the engine's parameters: which matcher halves, where a region ends, and how many disparities that makes.
import { afterEach, expect, test, vi } from "vitest";
import { loadConfig } from "../../../edge/config/index.js";
import { adaptationFigures } from "../../../edge/pipeline/adaptation.js";
import {
  forcedInstructionSet,
  matchParameters,
  megaDisparities,
  regionParameters,
} from "../../../edge/pipeline/parameters.js";
import { runInProcess } from "../../doubles/command-line.js";

const configWith = (...set: string[]) => loadConfig({ set: ["board=none", ...set], environment: {} }).config;

test.each([
  [[], false],
  [["match.algorithm=cbca"], true],
  [["match.halfResolution=true"], true],
  [["match.algorithm=cbca", "match.halfResolution=false"], false],
] as const)("%j: half resolution %s", (set, expected) => {
  expect(matchParameters(configWith(...set).match).halfResolution).toBe(expected);
});

test("a region without a size goes to the edges; without anything there is none", () => {
  const image = { width: 640, height: 480 };
  expect(regionParameters(configWith().region, image)).toEqual({});
  expect(regionParameters(configWith("region.x=100").region, image)).toEqual({
    region: { x: 100, y: 0, width: 540, height: 480 },
  });
  expect(regionParameters(configWith("region.y=30").region, image)).toEqual({
    region: { x: 0, y: 30, width: 640, height: 450 },
  });
  expect(
    regionParameters(configWith("region.y=10", "region.width=64", "region.height=32").region, image),
  ).toEqual({
    region: { x: 0, y: 10, width: 64, height: 32 },
  });
});

test.each(["x", "y"])("a region that begins outside names the key: %s", (axis) => {
  const image = { width: 300, height: 300 };
  expect(() => regionParameters(configWith(`region.${axis}=300`).region, image)).toThrow(
    expect.objectContaining({
      code: "CONFIG_INVALID",
      message: expect.stringMatching(new RegExp(`^region\\.${axis}: expected .* 0 to 299, got 300$`)),
    }),
  );
});

test("half resolution evaluates an eighth of the disparities", () => {
  const image = { width: 640, height: 480 };
  expect(megaDisparities({ halfResolution: false, numDisparities: 64 }, image)).toBeCloseTo(19.6608, 6);
  expect(megaDisparities({ halfResolution: true, numDisparities: 64 }, image)).toBeCloseTo(19.6608 / 8, 6);
  expect(megaDisparities({ halfResolution: true, numDisparities: 65 }, { width: 3, height: 3 })).toBe(132e-6);
});

test("a region that is not in the pictures is refused by the command with its code", async () => {
  const bench = ["bench", "--width", "64", "--height", "48", "--num-disparities", "16", "--frames", "2"];
  const set = (x: number) => ["--set", `region.x=${x}`, "--set", "region.width=40", "--backend", "cpu"];
  const bad = await runInProcess([...bench, ...set(30)]);
  expect(bad.code).not.toBe(0);
  expect(bad.stderr).toContain("inside the rectified images of 64x48, got 40x48 from (30, 0) on");
  const good = await runInProcess([...bench, ...set(24), "--json"]);
  expect(good.code, good.stderr).toBe(0);
  expect(JSON.parse(good.stdout).stages.region).toBeGreaterThanOrEqual(0);
});

const ROWS = { measuredRows: 1.5, appliedRows: 1, measuredRowsOverWidth: 2, appliedRowsOverWidth: 0.5 };
const unknown = (reason: string) => ({ available: false, reason });
test.each([
  [{ watched: false, known: false, atLimit: false }, "rectify.verticalOffset is not auto"],
  [{ watched: true, known: false, atLimit: false }, "no pair had enough texture to compare rows"],
  [{ watched: true, known: true, atLimit: true }, expect.stringContaining("4 rows or more")],
  [{ watched: true, known: true, atLimit: false }, undefined],
])("a vertical offset that is %j", (state, reason) => {
  const noise = { watched: true, known: true, sigma: 1.2351, smoothed: true, range: 0 };
  const { measuredRows, measuredRowsOverWidth, ...applied } = ROWS;
  expect(adaptationFigures({ verticalOffset: { ...state, ...ROWS }, noise })).toEqual({
    verticalOffset: {
      ...applied,
      measuredRows: reason === undefined ? measuredRows : unknown(reason),
      measuredRowsOverWidth: reason === undefined ? measuredRowsOverWidth : unknown(reason),
    },
    noise: { sigma: 1.24, smoothed: true },
  });
});

test.each([
  [false, "match.denoise is off"],
  [true, "no pair has been looked at yet"],
])("noise that is not known, watched: %s", (watched, reason) => {
  const noise = { watched, known: false, sigma: 0, smoothed: false, range: 0 };
  const verticalOffset = { watched: true, known: true, atLimit: false, ...ROWS };
  expect(adaptationFigures({ verticalOffset, noise }).noise).toEqual({
    sigma: unknown(reason),
    smoothed: false,
  });
});

afterEach(() => {
  vi.unstubAllEnvs();
});

test("DEPTHWATT_ISA forces an instruction set that this CPU has", () => {
  vi.stubEnv("DEPTHWATT_ISA", "");
  expect(forcedInstructionSet()).toEqual({});
  vi.stubEnv("DEPTHWATT_ISA", "scalar");
  expect(forcedInstructionSet()).toEqual({ instructionSet: "scalar" });
  vi.stubEnv("DEPTHWATT_ISA", "mmx");
  expect(forcedInstructionSet).toThrow(
    expect.objectContaining({
      code: "CONFIG_INVALID",
      message: expect.stringMatching(/^DEPTHWATT_ISA: expected .*scalar.*, got "mmx"$/),
    }),
  );
});
