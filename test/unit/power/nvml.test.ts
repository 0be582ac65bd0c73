// SPDX-License-Identifier: Apache-2.0
// NVML from the library's symbols to the report, with a libnvidia-ml.so.1 of the test's own whose energy is known.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { needs } from "../../doubles/needs.js";
import { integrateRecord } from "../../doubles/nvml-record.js";

const root = join(import.meta.dirname, "../../..");

/** A swinging load is sampled in real time: a machine that stands still for a tenth of a second misses a part of it. */
const SAMPLES = { retry: 2 };

needs("toolchain").suite("NVML", () => {
  let folder: string;
  let env: NodeJS.ProcessEnv;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "depthwatt-nvml-"));
    const fake = join(root, "test/doubles/native/fake_nvml.c");
    execFileSync("gcc", ["-shared", "-fPIC", "-O2", "-o", join(folder, "libnvidia-ml.so.1"), fake, "-lm"]);
    const sources = ["power/tools/nvml_check_main.cc", "power/native/nvml.cc", "power/native/sampler.cc"];
    const flags = ["-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror", "-o", join(folder, "nvml-check")];
    execFileSync("g++", [...flags, ...sources.map((name) => join(root, name)), "-ldl", "-pthread"]);
    env = { ...process.env, LD_LIBRARY_PATH: folder };
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const check = (more: NodeJS.ProcessEnv, ...words: string[]) =>
    spawnSync(join(folder, "nvml-check"), words, {
      env: { ...env, ...more },
      encoding: "utf8",
      timeout: 30_000,
    });

  test("the check program agrees with the counter of a load that swings by half", SAMPLES, () => {
    const out = join(folder, "samples.csv");
    const result = check({}, "--seconds", "6", "--rate", "100", "--out", out);
    expect(result.status, result.stderr).toBe(0);
    const report = JSON.parse(result.stdout);
    expect(report.gpu).toBe("Fake GPU");
    expect(Math.abs(report.instantPercent)).toBeLessThan(1);
    expect(report.renewalMs.instant).toBeGreaterThan(15);
    expect(report.renewalMs.instant).toBeLessThan(30);
    // The same record through the meter's own arithmetic.
    const { powerJoules, counterJoules, seconds } = integrateRecord(out);
    expect(seconds).toBeGreaterThan(5);
    expect(Math.abs(powerJoules / counterJoules - 1)).toBeLessThan(0.01);
    expect(powerJoules).toBeCloseTo(report.instantJoules, 1);
  });

  test("names the reason: no driver, a lost GPU, no such GPU, wrong usage", () => {
    const none = check({ LD_LIBRARY_PATH: "" });
    expect([none.status, none.stderr.includes("no NVIDIA driver")]).toEqual([3, true]);
    expect(check({ FAKE_NVML_BROKEN: "1" }, "--seconds", "1").status).toBe(3);
    expect(check({}, "--device", "7").stderr).toContain("shows no GPU 7");
    expect(check({}, "--rate").status).toBe(2);
  });

  test(
    "through the addon: the meter's total is the counter, its window, clocks and limits stand next to it",
    SAMPLES,
    () => {
      const code = `
      const { openMeter } = await import(${JSON.stringify(join(root, "dist/edge/power/open-meter.js"))});
      const { loadNative } = await import(${JSON.stringify(join(root, "dist/edge/contracts/native.js"))});
      const meter = openMeter({ sensor: "nvml", rateHz: 100, native: loadNative() });
      meter.start();
      await new Promise((resolve) => setTimeout(resolve, 3100));
      console.log(JSON.stringify(meter.sinceStart()));
      meter.close();`;
      const result = spawnSync(process.execPath, ["--input-type=module", "-e", code], {
        env,
        encoding: "utf8",
        timeout: 30_000,
      });
      expect(result.status, result.stderr).toBe(0);
      const report = JSON.parse(result.stdout);
      expect(report).toMatchObject({ available: true, sensor: "nvml", sampling: { by: "native thread" } });
      // One whole period of the swing: its mean.
      expect(Math.abs(report.watts / 200 - 1)).toBeLessThan(0.04);
      expect(Math.abs(report.rails["GPU0 power"].watts / report.rails.GPU0.watts - 1)).toBeLessThan(0.02);
      expect(report.context).toMatchObject({
        gpuMegahertz: 1980,
        emcMegahertz: 3201,
        temperaturesCelsius: { GPU0: 41 },
      });
      // The fake reports a power cap all the time: counted, and the window marked.
      expect(report.context.throttle["GPU0/limited_snapshots"]).toBeGreaterThan(2);
      expect(report.changed.join()).toContain("limited_snapshots");
    },
  );

  test("a GPU that is lost gives NVML's own words", () => {
    const main = join(root, "dist/edge/cli/main.js");
    const run = (more: NodeJS.ProcessEnv) => {
      const result = spawnSync(process.execPath, [main, "boards", "--json"], {
        env: { ...env, ...more },
        encoding: "utf8",
      });
      return JSON.parse(result.stdout.trim().split("\n").at(-1)!).detected.sensors.find(
        (s: { name: string }) => s.name === "nvml",
      );
    };
    expect(run({})).toMatchObject({ available: true, total: { rails: ["GPU0"] } });
    expect(run({ FAKE_NVML_BROKEN: "1" })).toMatchObject({
      available: false,
      reason: "Fake GPU: GPU is lost",
    });
  });
});
