// SPDX-License-Identifier: Apache-2.0
// The joules of single stages from end to end: `depthwatt profile` with repeated stages, on a sensor of the test's own that
// charges for CPU time, down to the figures and the page.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { stageEnergies } from "../../edge/commands/profile/stage-energy.js";
import { readProfile } from "../../edge/profile/store.js";
import type { ProfilePoint } from "../../edge/profile/types.js";
import { needs } from "../doubles/needs.js";
import { startProgram } from "../doubles/program.js";

needs("toolchain").suite("stage energy of a profile", () => {
  test("what a stage costs is found by repeating it, with an interval, and is shown", {
    timeout: 180_000,
  }, async () => {
    const folder = mkdtempSync(join(tmpdir(), "depthwatt-energy-"));
    try {
      const library = join(folder, "libnvidia-ml.so.1");
      execFileSync("gcc", [
        "-shared",
        "-fPIC",
        "-O2",
        "-o",
        library,
        "test/doubles/native/fake_nvml.c",
        "-lm",
      ]);
      const out = join(folder, "out");
      const size = ["--sizes", "160x120", "--disparities", "64", "--paths", "8", "--rates", "max"];
      const rounds = ["--stage-rounds", "2", "--repeat-stages", "match=4,half=2,rectify=200"];
      const bad = await startProgram(["profile", "-o", out, ...size, ...rounds, "--sensor", "none"]).ended;
      expect(bad.code, "a stage that does not run is refused, not measured as nothing").not.toBe(0);
      expect(bad.stderr).toContain("half does not run");

      const cameras = join(folder, "cameras.yaml");
      writeFileSync(cameras, "source: {synthetic: {width: 160, height: 120, rateHz: 200}}\n");
      const stages = ["--stages", "--stage-rounds", "2", "--repeat-stages", "match=4,rectify=200"];
      stages.push("--config", cameras);
      const times = ["--seconds", "2", "--warm-up", "0.5", "--idle", "2", "--backend", "cpu"];
      const ran = await startProgram(
        ["profile", "-o", out, ...size, ...stages, ...times, "--sensor", "nvml"],
        {
          LD_LIBRARY_PATH: folder,
          FAKE_NVML_JOULES_PER_CPU_SECOND: "10",
        },
      ).ended;
      expect(ran.code, ran.stderr).toBe(0);
      const { results } = readProfile(out);
      const energies = stageEnergies(results)!;
      expect(energies.runs).toBe(21);
      const joules = (select: (point: ProfilePoint) => boolean): number => {
        const runs = results.filter(({ point }) => select(point)).map(({ power }) => power);
        const values = runs.map((power) => (power.available ? (power.joulesPerFrame as number) : Number.NaN));
        return values.reduce((sum, value) => sum + value, 0) / values.length;
      };
      // Least squares leave no residual in the mean of the runs that repeat one stage, at any speed of the machine.
      const work = (stage: string) => energies.stages.find((item) => item.stage === stage)!;
      const once = energies.stages.filter(({ stage }) => stage !== "capture" && stage !== "publish");
      const fitted = once.reduce(
        (sum, { joulesPerFrame }) => sum + joulesPerFrame,
        energies.remainder.joulesPerFrame,
      );
      for (const [stage, times] of [
        ["match", 4],
        ["rectify", 200],
      ] as const) {
        const repeated = fitted + work(stage).joulesPerFrame * (times - 1);
        expect(repeated / joules(({ repeat }) => repeat?.stage === stage)).toBeCloseTo(1, 6);
        expect(work(stage).halfWidth).toBeGreaterThan(0);
      }
      for (const added of ["capture", "publish"] as const) {
        const runs = results.filter(({ point }) => point.added === added);
        const perFrame = runs.map(({ addedPerFrame }) => addedPerFrame!);
        for (const share of perFrame) expect(share).toBeGreaterThan(0);
        // Every frame is published.
        if (added === "publish") for (const share of perFrame) expect(share).toBeCloseTo(1, 1);
        expect(work(added).halfWidth).toBeGreaterThan(0);
      }
      // Four times the most expensive stage needs more CPU time than once, at any load of the machine.
      expect(work("match").joulesPerFrame).toBeGreaterThan(0);
      const page = readFileSync(join(out, "report.html"), "utf8");
      expect(page).toContain("stages left out or repeated");
      expect(page).toContain(">rectify</text>");
      const csv = readFileSync(join(out, "profile.csv"), "utf8");
      expect(csv).toContain(",match=4,");
      const { stdout: table } = await startProgram(["profile", "-o", out, "--report-only"]).ended;
      const sizes = (name: string) =>
        Number(new RegExp(`^${name} .* (-?[\\d.e-]+) \\+- `, "m").exec(table)?.[1]);
      const named = [...energies.stages.map(({ stage }) => stage), "everything else"];
      expect(named).toEqual(expect.arrayContaining(["capture", "match", "publish"]));
      const added = sizes("capture") + sizes("publish");
      const sum = named.reduce((total, name) => total + sizes(name), 0) - added;
      expect(sum / 1000 / fitted, "the rows, with three digits each, are a whole frame").toBeCloseTo(1, 1);
      expect(table).toMatch(/^of it idle +[\d.e-]+$/m);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
