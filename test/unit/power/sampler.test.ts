// SPDX-License-Identifier: Apache-2.0
// The native sampling thread on constructed trees: the same figures as reading from JavaScript, its own cost, and a
// bus that answers slowly (a preloaded pread that waits and burns kernel time, since files answer too fast to prove it).
import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { loadNative } from "../../../edge/contracts/native.js";
import { powerNative } from "../../../edge/power/open-meter.js";
import { Meter, openBestSensor, type PowerSensor } from "../../../power/index.js";
import { SampledReader, type SampledSensor } from "../../../power/sampled.js";
import { needs, needsOwnMalloc } from "../../doubles/needs.js";
import { ina3221Hwmon, raplZones, SysfsTree } from "../../doubles/sysfs-tree.js";

const native = powerNative(loadNative())!;
const folder = "sys/bus/i2c/devices/1-0040/hwmon/hwmon3";
let tree: SysfsTree;
beforeEach(() => {
  tree = new SysfsTree();
});
afterEach(() => tree[Symbol.dispose]());

function opened(options: Parameters<typeof openBestSensor>[0] = {}): PowerSensor {
  const result = openBestSensor({ root: tree.root, ...options });
  if (!("rails" in result)) throw new Error(`expected a sensor: ${result.reason}`);
  return result;
}

/** Until the newest reading is the wanted one: a busy machine gives the sampling thread its turn when it likes. */
async function waitForReading(reader: SampledReader, wanted: object): Promise<void> {
  let last: object = {};
  await vi.waitFor(
    () => {
      reader.drain((_rail, reading) => {
        last = reading;
      });
      expect(last).toMatchObject(wanted);
    },
    { timeout: 20_000, interval: 10 },
  );
}

const rails = [
  { label: "VDD_IN", millivolts: 5000, milliamperes: 2000 },
  { label: "VDD_CPU_GPU_CV", millivolts: 5000, milliamperes: 800 },
  { label: "VDD_SOC", millivolts: 5000, milliamperes: 300 },
];

describe("native sampling", () => {
  test("gives what reading from JavaScript gives, with the cost of both halves", async () => {
    tree.write(ina3221Hwmon("1-0040", 3, rails));
    const meter = new Meter({ sensor: opened(), rateHz: 100, native });
    meter.start();
    for (let i = 0; i < 30; i++) {
      await sleep(50);
      meter.frame(process.hrtime.bigint());
    }
    const report = meter.sinceStart();
    meter.close();
    if (!report.available) throw new Error(report.reason);
    expect(report.watts).toBeCloseTo(10, 9);
    expect(report.rails.VDD_SOC).toMatchObject({ watts: expect.closeTo(1.5, 9) });
    expect(report.rails.VDD_IN).toMatchObject({ samples: expect.any(Number) });
    const samples = (report.rails.VDD_IN as { samples: number }).samples;
    // A busy machine takes readings away; it must not add any, nor may the timer of the JavaScript thread do the work.
    expect(samples / report.windowSeconds).toBeGreaterThan(5);
    expect(samples / report.windowSeconds).toBeLessThan(105);
    expect(report.sampling).toMatchObject({ by: "native thread", userPercent: expect.any(Number) });
  });

  test("follows values, undoes wraps, reports text, loss and return of one rail", async () => {
    tree.write(raplZones([{ zone: "intel-rapl:0", name: "package-0", energy: 999_000, range: 1_000_000 }]));
    const sensor = opened() as SampledSensor;
    const reader = SampledReader.start(sensor, native, 200);
    if ("available" in reader) throw new Error(reader.reason);
    const energy = tree.path("sys/class/powercap/intel-rapl:0/energy_uj");
    await waitForReading(reader, { energyMicrojoules: 0n });
    tree.write({ "sys/class/powercap/intel-rapl:0/energy_uj": 500 });
    await waitForReading(reader, { available: true, energyMicrojoules: 1500n });
    tree.write({ "sys/class/powercap/intel-rapl:0/energy_uj": "NaN\n" });
    await waitForReading(reader, { available: false, reason: expect.stringContaining(energy) });
    reader.stop();

    tree.remove("sys/class/powercap/intel-rapl:0/energy_uj");
    const later = SampledReader.start(sensor, native, 200);
    if ("available" in later) throw new Error(later.reason);
    await waitForReading(later, { available: false, reason: expect.stringContaining("does not exist") });
    tree.write({ "sys/class/powercap/intel-rapl:0/energy_uj": 700 });
    await waitForReading(later, { available: true, energyMicrojoules: 1700n });
    later.stop();
  });

  test("a full ring counts what it lost and does not grow", async () => {
    tree.write(ina3221Hwmon("1-0040", 3, rails));
    const sampler = native.createSampler({
      sources: [{ file: tree.path(`${folder}/in1_input`) }],
      periodNs: 1e6,
      capacityRows: 20,
    });
    if (!sampler.available) throw new Error(sampler.reason);
    await vi.waitFor(() => expect(sampler.cost().overruns).toBeGreaterThan(50), { timeout: 20_000 });
    const rows = new Float64Array(4 * 64);
    expect(sampler.drain(rows)).toBe(20);
    expect([...rows.subarray(0, 4)].slice(2)).toEqual([5000, 0]);
    sampler.stop();
  });

  test("refuses what it cannot do with a sentence", () => {
    const none = native.createSampler({ sources: [], periodNs: 1e7, capacityRows: 100 });
    expect(none).toMatchObject({
      available: false,
      reason: expect.stringContaining("needs 1 to 64 sources"),
    });
  });
});

/** Runs a meter of six rail files at 100 Hz for three seconds in its own process. */
const MEASURE = `
  const { openBestSensor, Meter } = await import(process.argv[1] + "/dist/power/index.js");
  const { createRequire } = await import("node:module");
  const addon = createRequire(process.argv[1] + "/package.json")(process.argv[1] + "/build/Release/depthwatt.node");
  const sensor = openBestSensor({ root: process.argv[2] });
  const meter = new Meter({ sensor, rateHz: 100, native: addon.power });
  const before = performance.eventLoopUtilization();
  meter.start();
  await new Promise((resolve) => setTimeout(resolve, 3000));
  const { utilization } = performance.eventLoopUtilization(before);
  const report = meter.sinceStart();
  console.log(JSON.stringify({ ...report, utilization }));
  meter.close();
`;

function measure(env: Record<string, string>) {
  const root = join(import.meta.dirname, "../../..");
  const child = spawnSync(process.execPath, ["--input-type=module", "-e", MEASURE, root, tree.root], {
    env: { ...process.env, ...env },
    encoding: "utf8",
    timeout: 30_000,
  });
  if (child.status !== 0) throw new Error(child.stderr);
  const report = JSON.parse(child.stdout) as {
    watts: number;
    windowSeconds: number;
    rails: { VDD_IN: { samples: number } };
    sampling: { userPercent: number; busReadPercent: number; timerPercent: number };
    utilization: number;
  };
  console.log(
    `sampling six files at 100 Hz ${JSON.stringify(env).replace(/"LD_PRELOAD":"[^"]*",?/, "")}: ` +
      `user ${report.sampling.userPercent.toFixed(3)} %, reads ${report.sampling.busReadPercent.toFixed(3)} %, timer ${report.sampling.timerPercent.toFixed(3)} % of a core`,
  );
  return report;
}

const gate = needsOwnMalloc().met ? needs("toolchain") : needsOwnMalloc();
gate.suite("the meter's own cost", () => {
  test("user time stays under 0.2 % of a core, and a slow bus is the kernel's time, not ours", () => {
    tree.write(ina3221Hwmon("1-0040", 3, rails));
    const library = tree.path("slow_pread.so");
    const source = join(import.meta.dirname, "../../doubles/native/slow_pread.c");
    execFileSync("gcc", ["-shared", "-fPIC", "-O2", "-o", library, source, "-ldl"]);

    const fast = measure({});
    expect(fast.watts).toBeCloseTo(10, 9);
    expect(fast.sampling.userPercent).toBeLessThan(0.2);

    // Six reads of 1 ms each: 6 ms of every 10 ms the thread waits for its bus.
    const waiting = measure({ LD_PRELOAD: library, SLOW_WAIT_US: "1000" });
    expect(waiting.watts).toBeCloseTo(10, 9);
    // How many come on a busy machine is the machine's affair (142 were seen of 300); that they come is what counts.
    expect(waiting.rails.VDD_IN.samples).toBeGreaterThan(20);
    // Read from JavaScript, the same bus would hold its thread for 60 % of the time.
    expect(waiting.utilization).toBeLessThan(0.4);

    // 0.3 ms of kernel time per read: 1.8 ms of every tick belong to the bus driver.
    const burning = measure({ LD_PRELOAD: library, SLOW_KERNEL_US: "300" });
    expect(burning.sampling.userPercent).toBeLessThan(0.2);
    const ticksPerSecond = burning.rails.VDD_IN.samples / burning.windowSeconds;
    const millisecondsPerTick = (10 * burning.sampling.busReadPercent) / ticksPerSecond;
    expect(millisecondsPerTick).toBeGreaterThan(1.6);
    expect(millisecondsPerTick).toBeLessThan(4);
  });
});
