// SPDX-License-Identifier: Apache-2.0
// Joules as the commands print them: of a run on a sensor of the test's own, and of a profile that has none.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { BenchFigures } from "../../edge/commands/bench/index.js";
import type { RunFigures } from "../../edge/run/figures.js";
import { needs } from "../doubles/needs.js";
import { lastJson, runProgram } from "../doubles/program.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-figures-"));
afterAll(() => rmSync(folder, { recursive: true }));

needs("toolchain").suite("a run with a sensor", () => {
  test("joules of the rail, of the total, and disparities per joule agree", async () => {
    const library = join(folder, "libnvidia-ml.so.1");
    const source = "test/doubles/native/fake_nvml.c";
    execFileSync("gcc", ["-shared", "-fPIC", "-O2", "-o", library, source, "-lm"]);
    const size = ["--set", "source.synthetic.width=96", "--set", "source.synthetic.height=64"];
    const words = ["run", "--broker", "none", "--frames", "60", "--json", ...size];
    const sensor = ["--set", "power.sensor=nvml", "--set", "match.numDisparities=16"];
    const ran = await runProgram([...words, ...sensor], { LD_LIBRARY_PATH: folder });
    const { power, frames, width, height } = lastJson<RunFigures>(ran);
    if (!power.available) throw new Error(power.reason);
    expect(frames).toBe(60);
    // The energy counter is the total, the power reading stands next to it.
    expect(Object.values(power.rails)[0]).toMatchObject({ joules: power.joules, watts: power.watts });
    expect(power.mdePerJoule).toBeCloseTo(((width * height * 16) / 1e6) * (power.fpsPerWatt as number), 6);
    // bench says what its joules are the joules of: of the GPU's board, while the CPU computed.
    const benched = await runProgram(
      ["bench", "--width", "96", "--height", "64", "--backend", "cpu", "--json", ...sensor],
      { LD_LIBRARY_PATH: folder },
    );
    const { measured, watts } = lastJson<BenchFigures>(benched);
    expect(watts).toBeGreaterThan(0);
    expect(measured).toEqual({ sensor: "nvml", what: power.reason });
    expect(power.reason).toContain("the GPU board alone");
  });
});

test("a profile without a sensor reports it at its beginning, and in each of its rows", async () => {
  const size = ["--sizes", "96x64", "--disparities", "16", "--paths", "2"];
  const times = ["--seconds", "2", "--warm-up", "0.5", "--idle", "2", "--sensor", "none", "--json"];
  const ran = await runProgram(["profile", "-o", folder, ...size, ...times, "--backend", "cpu"]);
  expect(ran.code, ran.stderr).toBe(0);
  expect(ran.stderr).toMatch(/^no watts and no joules will be measured: power\.sensor is 'none'$/m);
  const { results } = lastJson<{ results: { power: object; fps: number }[] }>(ran);
  expect(results).toHaveLength(1);
  expect(results[0]!.fps).toBeGreaterThan(0);
  expect(results[0]!.power).toEqual({ available: false, reason: "power.sensor is 'none'" });
  expect(readFileSync(join(folder, "report.html"), "utf8")).toContain("power.sensor is");
});
