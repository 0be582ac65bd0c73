// SPDX-License-Identifier: Apache-2.0
// Tests depthwatt eval over ranges like a user: the report, and a plot that cannot be written.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runInProcess } from "../doubles/command-line.js";
import { lastJson, runProgram } from "../doubles/program.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-sweeps-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const scene = join(folder, "scene");
const words = ["eval", scene, "--frames", "1", "--set", "board=none"];

beforeAll(async () => {
  const size = ["--width", "64", "--height", "48"];
  const ran = await runInProcess(["scene", "--frames", "1", "--out", scene, ...size]);
  expect(ran.code, ran.stderr).toBe(0);
}, 60_000);

test("a plot that cannot be written costs no figures", async () => {
  const ran = await runProgram([
    ...words,
    "--sweep",
    "match.sgm.p2=30:50:10",
    "--plot",
    join(folder, "nowhere/x.svg"),
  ]);
  expect(ran.code).toBe(3);
  expect(ran.stderr).toMatch(/error: cannot write .*nowhere\/x\.svg/);
  expect(
    ran.stdout
      .trim()
      .split("\n")
      .map((line) => line.split(",")[0]),
  ).toEqual(["match.sgm.p2", "30", "40", "50"]);
}, 60_000);

test("every row has its own values, also over a preset; stdout is JSON alone", async () => {
  const plots = ["--plot", join(folder, "a.svg"), "--heat-map", join(folder, "b.svg")];
  const sweeps = ["--sweep", "esaw.steps=3,5", "--sweep", "basePercent=150:250:100"];
  const ran = await runInProcess([...words, "--preset", "esaw-5", ...sweeps, ...plots, "--json"]);
  expect(ran.code, ran.stderr).toBe(0);
  const { parameters, rows } = lastJson<{ parameters: string[]; rows: { values: number[] }[] }>(ran);
  expect(parameters).toEqual(["match.esaw.steps", "match.esaw.basePercent"]);
  expect(rows.map(({ values }) => values)).toEqual([
    [3, 150],
    [3, 250],
    [5, 150],
    [5, 250],
  ]);
  expect(ran.stdout.trim().split("\n")).toHaveLength(1);
  // An explicit setting needs no note that the preset differs.
  expect(ran.stderr).not.toContain("as preset esaw-5 has it");
}, 60_000);
