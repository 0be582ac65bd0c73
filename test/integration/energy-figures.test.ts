// SPDX-License-Identifier: Apache-2.0
// Joules as the commands print them: of a run on a sensor of the test's own, and of a profile that has none.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { BenchFigures } from "../../edge/commands/bench/index.js";
import type { EnergySummary } from "../../edge/commands/energy/summary.js";
import type { EnergyRecord } from "../../edge/contracts/energy.js";
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
    const words = ["run", "--broker", "none", "--frames", "75", "--json", ...size];
    const sensor = ["--set", "power.sensor=nvml", "--set", "match.numDisparities=16"];
    const logged = join(folder, "energy.jsonl");
    const log = ["--set", `outputs.energy.file=${logged}`, "--set", "log.energyIntervalSeconds=2"];
    const ran = await runProgram([...words, ...sensor, ...log], { LD_LIBRARY_PATH: folder });
    const { power, frames, width, height } = lastJson<RunFigures>(ran);
    if (!power.available) throw new Error(power.reason);
    expect(frames).toBe(75);
    // The energy counter is the total, the power reading stands next to it.
    expect(Object.values(power.rails)[0]).toMatchObject({ joules: power.joules, watts: power.watts });
    expect(power.mdePerJoule).toBeCloseTo(((width * height * 16) / 1e6) * (power.fpsPerWatt as number), 6);
    // The log's windows follow each other; only the time after the last whole one may be missing.
    const { total, records } = lastJson<{ total: EnergySummary; records: EnergyRecord[] }>(
      await runProgram(["energy", logged, "--json"]),
    );
    expect(records.length).toBeGreaterThanOrEqual(1);
    expect(total.frames).toBeGreaterThan(0);
    expect(total.frames).toBeLessThanOrEqual(75);
    // The sensor's power is between 100 and 300 W, so what the log has not is bounded by the time that it has not.
    const missing = power.joules - total.joules!;
    const missingSeconds = power.windowSeconds - total.seconds;
    expect(missing).toBeGreaterThan(100 * missingSeconds - 20);
    expect(missing).toBeLessThan(300 * missingSeconds + 20);
    for (const { joules, seconds, watts, frames: count, joulesPerFrame } of records) {
      expect((joules as number) / seconds / (watts as number)).toBeCloseTo(1, 1);
      if (count > 0) expect(joulesPerFrame).toBeGreaterThan(0);
    }
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
