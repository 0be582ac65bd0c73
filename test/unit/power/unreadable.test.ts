// SPDX-License-Identifier: Apache-2.0
// Tests what sensors and conditions report when the kernel or NVML shows them badly, by tables of files and sentences.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { loadNative } from "../../../edge/contracts/native.js";
import { powerNative } from "../../../edge/power/open-meter.js";
import { openBattery } from "../../../power/battery.js";
import { applyTotalRule } from "../../../power/file-sensor.js";
import { withGpu } from "../../../power/gpu-context.js";
import { openIna } from "../../../power/ina.js";
import { Meter, type NvmlBinding, type PowerSensor, readContext } from "../../../power/index.js";
import type { SampleSource } from "../../../power/native.js";
import { openRapl } from "../../../power/rapl.js";
import { SampledReader } from "../../../power/sampled.js";
import { readFailure, readValueFile, type ValueReader } from "../../../power/sysfs.js";
import { ina238Hwmon, ina3221Hwmon, ina3221Iio, raplZones, SysfsTree } from "../../doubles/sysfs-tree.js";

type Files = Record<string, string | number>;

let tree: SysfsTree;
beforeEach(() => {
  tree = new SysfsTree();
});
afterEach(() => tree[Symbol.dispose]());

test.each([
  ["EACCES", "/f may not be read by this user: copy "],
  ["EPERM", "/f may not be read by this user: copy "],
  ["ENOENT", "/f does not exist"],
  ["ENODEV", "/f: the device was removed"],
  ["ENXIO", "/f: the device was removed"],
  ["EIO", "/f: the sensor did not answer on its bus (EIO)"],
  ["EREMOTEIO", "/f: the sensor did not answer on its bus (EREMOTEIO)"],
  ["ETIMEDOUT", "/f: the sensor did not answer on its bus (ETIMEDOUT)"],
  ["EAGAIN", "/f: the sensor did not answer on its bus (EAGAIN)"],
  ["EISDIR", "/f could not be read (EISDIR)"],
])("a read that fails with %s is explained", (code, sentence) => {
  expect(readFailure("/f", code).slice(0, sentence.length)).toBe(sentence);
});

describe("conditions", () => {
  const THERMAL = "sys/class/thermal";
  const CPUFREQ = "sys/devices/system/cpu/cpufreq";
  const HWMON = "sys/class/hwmon";
  const GPU = "sys/devices/platform/17000000.gpu/devfreq_dev";
  const missing = (reason: string) => ({ available: false, reason: expect.stringContaining(reason) });

  test.each<[string, Files, object]>([
    [
      "clocks of policies that can be read",
      { [`${CPUFREQ}/policy0/scaling_cur_freq`]: 729_600, [`${CPUFREQ}/policy4/scaling_cur_freq`]: "busy\n" },
      { cpuKilohertz: { policy0: 729_600 } },
    ],
    [
      "no policy that can be read",
      { [`${CPUFREQ}/policy0/scaling_cur_freq`]: "busy\n" },
      { cpuKilohertz: missing("no cpufreq policy") },
    ],
    [
      "zones that are on; a cooling device, a nameless zone, text and values below absolute zero are none",
      {
        [`${THERMAL}/thermal_zone0/type`]: "cpu-thermal\n",
        [`${THERMAL}/thermal_zone0/temp`]: 45_500,
        [`${THERMAL}/thermal_zone1/type`]: "cv0-thermal\n",
        [`${THERMAL}/thermal_zone1/temp`]: -256_000,
        [`${THERMAL}/thermal_zone2/temp`]: 30_000,
        [`${THERMAL}/thermal_zone3/type`]: "gpu-thermal\n",
        [`${THERMAL}/thermal_zone3/temp`]: "off\n",
        [`${THERMAL}/cooling_device0/type`]: "fan\n",
        [`${THERMAL}/cooling_device0/temp`]: 1000,
      },
      { temperaturesCelsius: { "cpu-thermal": 45.5 } },
    ],
    [
      "fans and alarms by the chip's name, or its folder's; other files and text are none",
      {
        [`${HWMON}/hwmon0/name`]: "pwmfan\n",
        [`${HWMON}/hwmon0/pwm1`]: 120,
        [`${HWMON}/hwmon0/fan1_input`]: "stopped\n",
        [`${HWMON}/hwmon0/temp1_input`]: 40_000,
        [`${HWMON}/hwmon1/rpm`]: 2400,
        [`${HWMON}/hwmon2/name`]: "soctherm_oc\n",
        [`${HWMON}/hwmon2/oc3_event_cnt`]: 2,
        "sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count": 7,
      },
      {
        fans: { "pwmfan/pwm1": 120, "hwmon1/rpm": 2400 },
        throttle: { "soctherm_oc/oc3_event_cnt": 2, package_throttle_count: 7 },
      },
    ],
    ["cores in a list", { "sys/devices/system/cpu/online": "0-3,6\n" }, { onlineCores: 5 }],
    [
      "a mode by its number among several",
      {
        "etc/nvpmodel.conf": "< POWER_MODEL ID=0 NAME=MAXN >\n< POWER_MODEL ID=1 NAME=15W >\n",
        "var/lib/nvpmodel/status": "pmode:0001 fmode:quiet\n",
      },
      { powerMode: "15W" },
    ],
    [
      "a mode that the configuration does not name",
      {
        "etc/nvpmodel.conf": "< POWER_MODEL ID=0 NAME=MAXN >\n",
        "var/lib/nvpmodel/status": "pmode:0007\n",
      },
      { powerMode: missing('says "pmode:0007", a mode that /etc/nvpmodel.conf does not name') },
    ],
    [
      "a mode without a configuration",
      { "var/lib/nvpmodel/status": "pmode:0000\n" },
      { powerMode: missing('says "pmode:0000"') },
    ],
    [
      "a status without a mode",
      {
        "etc/nvpmodel.conf": "< POWER_MODEL ID=0 NAME=MAXN >\n",
        "var/lib/nvpmodel/status": "fmode:quiet\n",
      },
      { powerMode: missing('says "fmode:quiet"') },
    ],
    [
      "the profile of a PC",
      { "sys/firmware/acpi/platform_profile": "balanced\n" },
      { powerMode: "balanced" },
    ],
    ["a clock in megahertz", { [`${GPU}/cur_freq`]: 918 }, { gpuMegahertz: 918 }],
    ["a clock in hertz", { [`${GPU}/cur_freq`]: 114_750_000 }, { gpuMegahertz: 114.75 }],
    [
      "limits of which one cannot be read",
      { [`${GPU}/min_freq`]: 918, [`${GPU}/max_freq`]: "?\n" },
      { clocksLocked: missing("no devfreq folder shows the limits of the GPU clock") },
    ],
    [
      "a clock that stands at zero",
      { [`${GPU}/cur_freq`]: 0 },
      { gpuMegahertz: missing("no file shows the GPU clock") },
    ],
  ])("%s", (_what, files, expected) => {
    tree.write(files);
    expect(readContext({ root: tree.root })).toMatchObject(expected);
  });

  test("a clock that only root may read has the reason", () => {
    const read: ValueReader = (path) =>
      path.endsWith("emc/rate")
        ? { ok: false, code: "EACCES", reason: `${path} may not be read` }
        : readValueFile(path);
    expect(readContext({ root: tree.root, read }).emcMegahertz).toEqual(missing("emc/rate may not be read"));
  });

  test("a GPU adds its clocks, heat and the snapshots in which it was limited, each where NVML shows it", () => {
    const error = { error: "Not Supported" };
    let gpu = {} as ReturnType<NvmlBinding["nvmlRead"]>;
    const nvml = { nvmlRead: () => gpu } as Partial<NvmlBinding> as NvmlBinding;
    const read = withGpu(() => readContext({ root: tree.root }), nvml, 1);
    const sample = (throttleReasons: number | typeof error, rest: object = {}) => {
      gpu = {
        smClockMegahertz: error,
        memoryClockMegahertz: error,
        temperatureCelsius: error,
        throttleReasons,
        ...rest,
      } as typeof gpu;
      return read();
    };
    expect(sample(error)).toMatchObject({
      gpuMegahertz: { available: false },
      emcMegahertz: { available: false },
    });
    expect(sample(error)).toMatchObject({ temperaturesCelsius: {}, throttle: {} });
    // 1 is idle and 2 a user's limit; the power cap (4) counts.
    const figures = { smClockMegahertz: 1980, memoryClockMegahertz: 2619, temperatureCelsius: 40 };
    expect(sample(1 | 2, figures)).toMatchObject({
      gpuMegahertz: 1980,
      emcMegahertz: 2619,
      temperaturesCelsius: { GPU1: 40 },
      throttle: { "GPU1/limited_snapshots": 0 },
    });
    expect(sample(4).throttle).toEqual({ "GPU1/limited_snapshots": 1 });
    expect(sample(1).throttle).toEqual({ "GPU1/limited_snapshots": 1 });
  });
});

describe("sensors", () => {
  const opened = (found: object): string =>
    "rails" in found
      ? (found as PowerSensor).rails.map(({ label }) => label).join(" ")
      : (found as { reason: string }).reason;
  const HWMON = "sys/bus/i2c/devices/1-0040/hwmon/hwmon0";
  const IIO = "sys/bus/i2c/devices/6-0040/iio:device0";
  const THOR = "sys/bus/i2c/devices/2-0044/hwmon/hwmon5";
  const refuse =
    (part: string, code = "EACCES"): ValueReader =>
    (path) =>
      path.includes(part) ? { ok: false, code, reason: `${path} refused` } : readValueFile(path);
  const two = [{ label: "VDD_IN" }, { label: "VDD_SOC" }];

  test.each<[string, Files, ValueReader, string]>([
    ["a channel that is switched off", { [`${HWMON}/in2_enable`]: 0 }, readValueFile, "VDD_IN"],
    ["a label that cannot be read", {}, refuse("in1_label"), "VDD_SOC"],
    [
      "a chip of another kind",
      { "sys/bus/i2c/devices/1-0040/name": "tmp451\n" },
      readValueFile,
      "no INA3221",
    ],
  ])("%s gives no rail", (_what, files, read, expected) => {
    tree.write(ina3221Hwmon("1-0040", 0, two)).write(files);
    expect(opened(openIna({ root: tree.root, read }))).toMatch(new RegExp(`^${expected}`));
  });

  test("JetPack 4: an unused channel and an unreadable label give no rail; the shunt gives the step", () => {
    tree.write(ina3221Iio("6-0040", 0, [{ label: "POM_5V_IN" }, { label: "NC" }, { label: "POM_5V_CPU" }]));
    tree.write({ [`${IIO}/crit_current_limit_0_shunt`]: 5 });
    const sensor = openIna({ root: tree.root, read: refuse("rail_name_2") });
    expect(opened(sensor)).toBe("POM_5V_IN");
    expect((sensor as PowerSensor).rails[0]!.step).toBeCloseTo(40, 9); // 40 uV / 5 mOhm = 8 mA, at 5 V
  });

  test.each<[string, Files, string[], string]>([
    ["a label", { [`${THOR}/in1_label`]: "VDD_GPU\n" }, [], "VDD_GPU"],
    ["an empty label", { [`${THOR}/in1_label`]: "\n" }, [], "VIN"],
    ["a label of an unused channel", { [`${THOR}/in1_label`]: "NC\n" }, [], "no INA3221"],
    ["only a voltage", {}, ["power1_input"], `VIN: .*power1_input does not exist`],
    ["no value at all", {}, ["power1_input", "in1_input"], "ina238 \\(2-0044\\) shows neither power1_input"],
  ])("an INA238 with %s", (_what, files, removed, expected) => {
    tree.write(ina238Hwmon("2-0044", 5, 24_000, 825)).write(files);
    for (const file of removed) tree.remove(`${THOR}/${file}`);
    const sensor = openIna({ root: tree.root });
    expect(opened(sensor)).toMatch(new RegExp(`^${expected}`));
    if ("rails" in sensor) expect(sensor.name).toBe("ina238");
  });

  test.each([
    ["EACCES", true],
    ["EPERM", true],
    ["EIO", undefined],
  ])(
    "rails that all fail with %s make no sensor; it says whether the user may not read them",
    (code, refused) => {
      tree
        .write(ina3221Hwmon("1-0040", 0, two))
        .write(raplZones([{ zone: "intel-rapl:0", name: "package-0", energy: 1 }]));
      const ina = openIna({ root: tree.root, read: refuse("_input", code) });
      expect(ina).toMatchObject({ available: false, reason: expect.stringContaining("VDD_IN: ") });
      const rapl = openRapl({ root: tree.root, read: refuse("energy_uj", code) });
      expect(rapl).toMatchObject({ available: false, reason: expect.stringContaining("energy_uj refused") });
      expect([ina, rapl].map((found) => "refused" in found || undefined)).toEqual([refused, refused]);
    },
  );

  test("RAPL: a nameless zone is none, a counter without a range wraps at 32 bits, psys alone must be readable", () => {
    tree.write(raplZones([{ zone: "intel-rapl:0", name: "package-0", energy: 2 ** 32 - 10 }]));
    tree.write({ "sys/class/powercap/intel-rapl:1/energy_uj": 1 });
    tree.remove("sys/class/powercap/intel-rapl:0/max_energy_range_uj");
    const sensor = openRapl({ root: tree.root }) as PowerSensor;
    expect(opened(sensor)).toBe("package-0");
    sensor.read();
    tree.write({ "sys/class/powercap/intel-rapl:0/energy_uj": 5 });
    expect(sensor.read()[0]).toMatchObject({ energyMicrojoules: 15n });
    tree.write(raplZones([{ zone: "intel-rapl:1", name: "psys", energy: 7 }]));
    const half = openRapl({ root: tree.root, read: refuse("intel-rapl:1/energy_uj") }) as PowerSensor;
    expect(half.total).toMatchObject({ rails: ["package-0"] });
    tree.remove("sys/class/powercap/intel-rapl:0");
    tree.write(raplZones([{ zone: "intel-rapl:1", name: "dram", energy: 7 }]));
    expect((openRapl({ root: tree.root }) as PowerSensor).total).toMatchObject({
      available: false,
      reason: expect.stringContaining("neither a package nor a platform"),
    });
  });

  const BATTERY = "sys/class/power_supply/BAT0";
  test.each<[string, Files, string]>([
    ["no status", {}, `${BATTERY}/status does not exist`],
    ["no voltage", { [`${BATTERY}/status`]: "Discharging\n" }, `${BATTERY}/voltage_now does not exist`],
    [
      "no current",
      { [`${BATTERY}/status`]: "Discharging\n", [`${BATTERY}/voltage_now`]: 12_000_000 },
      `${BATTERY}/current_now does not exist`,
    ],
  ])("a battery with %s has no reading", (_what, files, reason) => {
    tree.write({
      [`${BATTERY}/type`]: "Battery\n",
      "sys/class/power_supply/ucsi-source-psy-0/type": "Battery\n",
    });
    tree.write({
      "sys/class/power_supply/AMOUSE/type": "Battery\n",
      "sys/class/power_supply/AMOUSE/scope": "Device\n",
    });
    tree.write(files);
    const sensor = openBattery({ root: tree.root }) as PowerSensor;
    expect(opened(sensor)).toBe("BAT0");
    expect(sensor.read()).toEqual([
      { available: false, reason: expect.stringMatching(new RegExp(`${reason}$`)) },
    ]);
  });

  test("a total names every rail that it lacks", () => {
    const rule = { rails: ["A", "B", "C"], reason: "the sum" };
    expect(applyTotalRule(rule, ["C", "B", "A"])).toBe(rule);
    expect(applyTotalRule(rule, [])).toMatchObject({
      reason: "this board's total is the sum of A, B, C, but A, B, C were not found among the rails (none)",
    });
    expect(applyTotalRule({ ...rule, rails: ["A"] }, ["B"])).toMatchObject({
      reason: "this board's total is A, but A was not found among the rails B",
    });
  });
});

describe("the native thread", () => {
  const native = powerNative(loadNative())!;
  const sensorOf = (sources: SampleSource[]) => ({
    name: "files",
    total: { rails: ["a"], reason: "the only rail" },
    rails: [
      {
        label: "a",
        sourcePath: "a",
        kind: "power" as const,
        updateIntervalMs: undefined,
        step: 1,
        sources,
        decode: ([value]: readonly number[], timestampNs: bigint) =>
          ({ available: true, timestampNs, powerMilliwatts: value! }) as const,
      },
    ],
    read: () => [],
    close: () => {},
  });

  test.each<[string, string | number | undefined, object]>([
    ["a number", 250, { available: true, powerMilliwatts: 250 }],
    ["text", "NaN\n", { available: false, reason: expect.stringMatching(/^a: .*expected a whole number/) }],
    [
      "a file that is gone",
      undefined,
      { available: false, reason: expect.stringMatching(/^a: .*does not exist$/) },
    ],
  ])("reports %s", async (_what, content, expected) => {
    if (content !== undefined) tree.write({ value: content });
    const reader = SampledReader.start(sensorOf([{ file: tree.path("value") }]), native, 200);
    if ("available" in reader) throw new Error(reader.reason);
    const readings: object[] = [];
    await vi.waitFor(() => {
      reader.drain((_rail, reading) => readings.push(reading));
      expect(readings[0]).toMatchObject(expected);
    });
    reader.stop();
  });

  test("a sensor that it cannot read is read by the timer", () => {
    expect(SampledReader.start(sensorOf([]), native, 200)).toMatchObject({
      available: false,
      reason: expect.stringContaining("1 to 64 sources"),
    });
    const meter = new Meter({ sensor: sensorOf([]), rateHz: 1, native });
    meter.start();
    expect(meter.report({})).toMatchObject({ available: false });
    meter.close();
  });
});

describe("a meter", () => {
  const reason = "nothing measures here";
  const none = () => new Meter({ sensor: { available: false, reason }, rateHz: 10 });

  test("without a sensor gives its reason wherever a figure would be, and waits for nothing", async () => {
    const meter = none();
    meter.restart();
    meter.sample();
    expect(meter.frame(1n)).toEqual({ available: false, reason });
    expect(meter.railEnergy("a", 0n, 1n)).toEqual({ available: false, reason });
    expect(meter.report({})).toEqual({ available: false, reason });
    expect(meter.timeline(0n, 10n ** 10n, 1)).toEqual([]);
    expect(await meter.measureIdle(3600)).toMatchObject({ available: false });
    meter.close();
  });
});
