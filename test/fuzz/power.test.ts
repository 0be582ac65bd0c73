// SPDX-License-Identifier: Apache-2.0
// Fuzz targets of the readers of power: damaged trees of /sys, and an NVML that lies, under sanitizers. FUZZ_SECONDS: for how long each.
// DEPTHWATT_SEED repeats a failure.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { openBattery } from "../../power/battery.js";
import { openIna } from "../../power/ina.js";
import { openRapl } from "../../power/rapl.js";
import { reportFuzz } from "../doubles/fuzz-report.js";
import { needs } from "../doubles/needs.js";
import { ina238Hwmon, ina3221Hwmon, ina3221Iio, raplZones, SysfsTree } from "../doubles/sysfs-tree.js";
import { changes, damaged } from "./damage.js";

const seconds = Number(process.env.FUZZ_SECONDS ?? 10);
const seed = Number(process.env.DEPTHWATT_SEED ?? Date.now()) | 0;
const time = 240_000 + 3000 * seconds;
const folder = mkdtempSync(join(tmpdir(), "depthwatt-fuzz-power-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const CHANNELS = [{ label: "VDD_IN" }, { label: "VDD_CPU" }, { label: "NC" }];
const supply = "sys/class/power_supply/BAT0";
const FILES: Record<string, string | number> = {
  ...ina3221Hwmon("1-0040", 0, CHANNELS),
  ...ina3221Iio("1-0041", 1, [{ label: "POM_5V_GPU" }]),
  ...ina238Hwmon("1-0044", 2, 12_000, 900),
  ...raplZones([
    { zone: "intel-rapl:0", name: "package-0", energy: 1_000_000 },
    { zone: "intel-rapl:0:0", name: "core", energy: 400_000 },
  ]),
  [`${supply}/type`]: "Battery\n",
  [`${supply}/status`]: "Discharging\n",
  [`${supply}/power_now`]: 9_000_000,
  [`${supply}/voltage_now`]: 12_000_000,
  [`${supply}/current_now`]: 750_000,
};
const names = Object.keys(FILES);
const fileText = (name: string) => Buffer.from(`${FILES[name]}`);

test("trees of /sys: a damaged file is a reading or a reason, never an error and never a number that is none", {
  timeout: time,
}, () => {
  using tree = new SysfsTree().write(FILES);
  const counts = { rails: 0, readings: 0, unavailable: 0, without: 0 };
  let executions = 0;
  const open = [openIna, openRapl, openBattery];
  for (const sensor of open) expect("read" in sensor({ root: tree.root })).toBe(true);
  const attempt = fc.property(
    fc.array(fc.tuple(fc.nat(names.length - 1), changes), { minLength: 1, maxLength: 4 }),
    (damages) => {
      const touched = new Set<string>();
      for (const [which, steps] of damages) {
        const name = names[which]!;
        touched.add(name);
        writeFileSync(tree.path(name), damaged(fileText(name), steps));
      }
      try {
        for (const openSensor of open) {
          executions++;
          const sensor = openSensor({ root: tree.root });
          if (!("read" in sensor)) {
            expect(sensor.reason).not.toBe("");
            counts.without++;
            continue;
          }
          // The same files twice: a counter that stands still is no wrap.
          for (const reading of [...sensor.read(), ...sensor.read()]) {
            if (!reading.available) {
              expect(reading.reason).not.toBe("");
              counts.unavailable++;
              continue;
            }
            counts.readings++;
            const { powerMilliwatts = 0, millivolts = 0, milliamperes = 0 } = reading;
            for (const number of [powerMilliwatts, millivolts, milliamperes])
              expect(Number.isFinite(number)).toBe(true);
          }
          counts.rails += sensor.rails.length;
          sensor.close();
        }
      } finally {
        for (const name of touched) writeFileSync(tree.path(name), fileText(name));
      }
    },
  );
  fc.assert(attempt, {
    seed,
    numRuns: process.env.FUZZ_REPORT === undefined ? 150 * seconds : Number.MAX_SAFE_INTEGER,
    interruptAfterTimeLimit: 1000 * seconds,
    markInterruptAsFailure: false,
  });
  for (const count of [counts.rails, counts.readings]) expect(count).toBeGreaterThan(0);
  reportFuzz("trees of /sys", { executions, seed, counts });
});

const project = resolve(import.meta.dirname, "../..");
const library = "test/fuzz/native/lying_nvml.c";
const sources = ["test/fuzz/native/power_target_main.cc", "power/native/nvml.cc", "power/native/sampler.cc"];

/** Builds the target, and the library in its own folder next to it. */
function built(...flags: string[]): { place: string; program: string } {
  const place = mkdtempSync(join(folder, "nvml-"));
  const program = join(place, "target");
  const run = (file: string, ...words: string[]) => execFileSync(file, words, { cwd: project });
  run("gcc", "-shared", "-fPIC", "-O1", library, "-o", join(place, "libnvidia-ml.so.1"), "-lpthread");
  run("g++", "-std=c++17", "-O1", "-g", "-I.", ...flags, ...sources, "-o", program, "-ldl", "-pthread");
  return { place, program };
}

/** Each process is lied to in its own way: what NVML is, is asked once. */
function lieTo(how: string, words: readonly string[], place: string, tries: number): void {
  let [readings, rows] = [0, 0];
  for (let i = 0; i < tries; i++) {
    const lie = String((seed >>> 0) + i);
    const env = { ...process.env, LD_LIBRARY_PATH: place, LYING_NVML_SEED: lie };
    const milliseconds = String((500 * seconds) / tries);
    const files = ["/proc/uptime", "/dev/zero", "/tmp", "/nothing"];
    const [file, ...before] = words;
    const ran = spawnSync(file!, [...before, milliseconds, ...files], {
      env,
      encoding: "utf8",
      timeout: 120_000,
    });
    expect(ran.stderr, `LYING_NVML_SEED=${lie}`).toBe("");
    expect(ran.status, `LYING_NVML_SEED=${lie}`).toBe(0);
    const [many, , some] = (ran.stdout.match(/\d+/g) ?? []).map(Number);
    readings += many!;
    rows += some!;
  }
  expect(rows).toBeGreaterThan(0);
  reportFuzz(`NVML that lies (${how})`, {
    executions: readings + rows,
    readings,
    rows,
    lies: tries,
    seed: seed >>> 0,
  });
}

needs("toolchain").suite("NVML that lies, and a sampler of it", () => {
  test.each([
    ["address and undefined behaviour", "address,undefined"],
    ["thread", "thread"],
  ])(
    "%s: sanitizers find nothing",
    (_, sanitizers) => {
      const { place, program } = built("-fno-sanitize-recover=all", `-fsanitize=${sanitizers}`);
      lieTo(sanitizers, [program], place, Math.max(3, seconds));
    },
    time,
  );
});

needs("valgrind").suite("NVML that lies, and a sampler of it, in memcheck", () => {
  test(
    "no memory is read that was never written, and none is lost",
    () => {
      const { place, program } = built();
      const words = ["valgrind", "-q", "--error-exitcode=9", "--leak-check=full", program];
      lieTo("memcheck", words, place, 3);
    },
    time + 120_000,
  );
});
