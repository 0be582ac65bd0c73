// SPDX-License-Identifier: Apache-2.0
// Tests sensors on constructed trees (see test/doubles/sysfs-tree.ts): readings, refusals and their words.
import { chmodSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openBattery } from "../../../power/battery.js";
import { ExternalSensor, valueAtPath } from "../../../power/external.js";
import { openIna } from "../../../power/ina.js";
import {
  type NvmlBinding,
  openBestSensor,
  openCandidates,
  type PowerSensor,
  SENSORS,
} from "../../../power/index.js";
import { openNvml } from "../../../power/nvml.js";
import { openRapl, unwrapCounter } from "../../../power/rapl.js";
import { readValueFile, type ValueReader } from "../../../power/sysfs.js";
import { ina238Hwmon, ina3221Hwmon, ina3221Iio, raplZones, SysfsTree } from "../../doubles/sysfs-tree.js";

let tree: SysfsTree;
beforeEach(() => {
  tree = new SysfsTree();
});
afterEach(() => tree[Symbol.dispose]());

/** The sensor, or a failed test that says why there is none. */
function opened(result: PowerSensor | { available: false; reason: string }): PowerSensor {
  if (!("rails" in result)) throw new Error(`expected a sensor: ${result.reason}`);
  return result;
}

/** The reason why a sensor is not available; an available one fails the test. */
function refusal(result: object): string {
  expect(result).toMatchObject({ available: false, reason: expect.any(String) });
  return (result as { reason: string }).reason;
}

/** Simulates missing permissions for root, whom the system never refuses. */
const denying =
  (part: string): ValueReader =>
  (path) =>
    path.includes(part)
      ? { ok: false, code: "EACCES", reason: `${path} may not be read by this user: copy the udev rule` }
      : readValueFile(path);

describe("RAPL", () => {
  test("adds packages, shows nested zones and never adds them", () => {
    tree.write(
      raplZones([
        { zone: "intel-rapl:0", name: "package-0", energy: 1000 },
        { zone: "intel-rapl:0:0", name: "core", energy: 500 },
        { zone: "intel-rapl:0:1", name: "dram", energy: 300 },
        { zone: "intel-rapl:1", name: "package-1", energy: 2000 },
        { zone: "intel-rapl-mmio:0", name: "package-0", energy: 1000 },
      ]),
    );
    const sensor = opened(openRapl({ root: tree.root }));
    const labels = ["package-0", "package-0/core", "package-0/dram", "package-1"];
    expect(sensor.rails.map((rail) => rail.label)).toEqual(labels);
    expect(sensor.total).toMatchObject({ rails: ["package-0", "package-1"] });
    sensor.read();
    tree.write({ "sys/class/powercap/intel-rapl:1/energy_uj": 2750 });
    expect(sensor.read()[3]).toMatchObject({ available: true, energyMicrojoules: 750n });
  });

  test("psys is the total where it counts, and is not where it stands still at zero", () => {
    const zones = [
      { zone: "intel-rapl:0", name: "package-0", energy: 1000 },
      { zone: "intel-rapl:1", name: "psys", energy: 9000 },
    ];
    tree.write(raplZones(zones));
    expect(opened(openRapl({ root: tree.root })).total).toMatchObject({ rails: ["psys"] });
    tree.write(raplZones([zones[0]!, { ...zones[1]!, energy: 0 }]));
    expect(opened(openRapl({ root: tree.root })).total).toMatchObject({ rails: ["package-0"] });
  });

  test("undoes a wrap at the zone's own range", () => {
    tree.write(raplZones([{ zone: "intel-rapl:0", name: "package-0", energy: 999_900, range: 1_000_000 }]));
    const sensor = opened(openRapl({ root: tree.root }));
    sensor.read();
    tree.write({ "sys/class/powercap/intel-rapl:0/energy_uj": 250 });
    expect(sensor.read()[0]).toMatchObject({ energyMicrojoules: 350n });
    const unwrap = unwrapCounter(100);
    expect([10, 90, 5, 4, 4].map(unwrap)).toEqual([0n, 80n, 95n, 194n, 194n]);
  });

  test("permission denied names the file and the hint; no zone reports it", () => {
    tree.write(raplZones([{ zone: "intel-rapl:0", name: "package-0", energy: 1 }]));
    const reason = refusal(openRapl({ root: tree.root, read: denying("energy_uj") }));
    expect(reason).toContain("intel-rapl:0/energy_uj");
    expect(reason).toContain("udev rule");
    tree.remove("sys/class/powercap");
    expect(refusal(openRapl({ root: tree.root }))).toContain("no RAPL zone");
  });

  test("a file that is really forbidden gives the same sentence", () => {
    tree.write(raplZones([{ zone: "intel-rapl:0", name: "package-0", energy: 1 }]));
    const file = tree.path("sys/class/powercap/intel-rapl:0/energy_uj");
    chmodSync(file, 0);
    if (process.geteuid?.() !== 0) {
      expect(refusal(openRapl({ root: tree.root }))).toMatch(/energy_uj may not be read.*60-depthwatt-power/);
      return;
    }
    // Root may read everything: for one read it becomes a user without rights.
    chmodSync(tree.root, 0o755);
    process.seteuid?.(65534);
    try {
      expect(refusal(openRapl({ root: tree.root }))).toMatch(/energy_uj may not be read.*60-depthwatt-power/);
    } finally {
      process.seteuid?.(0);
    }
  });
});

describe("INA3221 and INA238", () => {
  test("hwmon: by label, P = U x I, NC and the sum of shunts left out, step from the shunt", () => {
    const channels = [
      { label: "VDD_IN", millivolts: 19_000, milliamperes: 480 },
      { label: "NC" },
      { label: "VDD_SOC", millivolts: 5000, milliamperes: 200 },
    ];
    tree.write(ina3221Hwmon("1-0040", 3, channels));
    const sensor = opened(openIna({ root: tree.root }));
    expect(sensor.rails.map((rail) => rail.label)).toEqual(["VDD_IN", "VDD_SOC"]);
    expect(sensor.rails[0]).toMatchObject({ updateIntervalMs: 6 });
    expect(sensor.rails[0]!.step).toBeCloseTo(152, 6); // 40 uV / 5 mOhm = 8 mA, at 19 V
    const [input] = sensor.read();
    expect(input).toMatchObject({ powerMilliwatts: 9120, millivolts: 19_000, milliamperes: 480 });
    expect(sensor.total).toMatchObject({ rails: ["VDD_IN"] });
  });

  test("iio: JetPack 4 names and numbers channels from zero", () => {
    const channels = [
      { label: "POM_5V_IN", millivolts: 5040, milliamperes: 700 },
      { label: "POM_5V_GPU" },
      { label: "POM_5V_CPU" },
    ];
    tree.write(ina3221Iio("6-0040", 0, channels));
    const sensor = opened(openIna({ root: tree.root }));
    expect(sensor.read()[0]).toMatchObject({ powerMilliwatts: 3528 });
    expect(sensor.total).toMatchObject({ rails: ["POM_5V_IN"] });
  });

  test("INA238 gives microwatts and is AGX Thor's input next to the module's rails", () => {
    tree
      .write(
        ina3221Hwmon("2-0040", 1, [
          { label: "VDD_GPU" },
          { label: "VDD_CPU_SOC_MSS" },
          { label: "VIN_SYS_5V0" },
        ]),
      )
      .write(ina238Hwmon("2-0044", 5, 24_000, 825));
    const sensor = opened(openIna({ root: tree.root }));
    const index = sensor.rails.findIndex((rail) => rail.label === "VIN");
    expect(sensor.read()[index]).toMatchObject({ powerMilliwatts: 19_800 });
    expect(sensor.total).toMatchObject({ rails: ["VIN"] });
  });

  test("a sum is refused with a sentence when one of its rails is missing", () => {
    tree.write(ina3221Hwmon("1-0040", 0, [{ label: "GPU" }, { label: "CPU" }, { label: "NC" }]));
    const totalRule = { rails: ["GPU", "CPU", "SOC"], reason: "the module's rails" };
    const sensor = opened(openIna({ root: tree.root, totalRule }));
    expect(refusal(sensor.total)).toContain("SOC was not found among the rails GPU, CPU");
    expect(sensor.read()).toMatchObject([{ available: true }, { available: true }]);
  });

  test("an unknown board without an input rail has rails but no total", () => {
    tree.write(ina3221Hwmon("1-0040", 0, [{ label: "A" }, { label: "B" }]));
    expect(refusal(opened(openIna({ root: tree.root })).total)).toContain("not known");
  });

  test("text that is no number, a read that fails midway and a removed device are one rail's misfortune", () => {
    tree.write(ina3221Hwmon("1-0040", 0, [{ label: "VDD_IN" }, { label: "VDD_SOC" }]));
    let failure: string | undefined;
    const read: ValueReader = (path) =>
      failure !== undefined && path.endsWith("curr2_input")
        ? { ok: false, code: failure, reason: `${path} (${failure})` }
        : readValueFile(path);
    const sensor = opened(openIna({ root: tree.root, read }));
    const folder = "sys/bus/i2c/devices/1-0040/hwmon/hwmon0";
    tree.write({ [`${folder}/curr1_input`]: "NaN\n" });
    expect(refusal(sensor.read()[0]!)).toContain('expected a whole number, got "NaN"');
    failure = "EREMOTEIO";
    const readings = sensor.read();
    expect(refusal(readings[1]!)).toContain("curr2_input (EREMOTEIO)");
    tree.write({ [`${folder}/curr1_input`]: 100 });
    failure = undefined;
    expect(sensor.read().every((reading) => reading.available)).toBe(true);
    tree.remove(folder);
    expect(refusal(sensor.read()[0]!)).toContain("does not exist");
  });

  test("a chip without a driver and two rails of one name are reported, not guessed", () => {
    tree.write({ "sys/bus/i2c/devices/1-0040/name": "ina3221\n" });
    expect(refusal(openIna({ root: tree.root }))).toContain("no driver bound");
    tree.write(ina3221Hwmon("1-0040", 0, [{ label: "VDD_IN" }]));
    tree.write(ina3221Hwmon("1-0041", 1, [{ label: "VDD_IN" }]));
    expect(refusal(openIna({ root: tree.root }))).toContain("two rails are both labelled VDD_IN");
  });

  test("hwmon numbers mean nothing: the same rails for every number", () => {
    for (const hwmon of [1, 3, 4]) {
      using other = new SysfsTree();
      other.write(ina3221Hwmon("1-0040", hwmon, [{ label: "VDD_IN", milliamperes: 100 * hwmon }]));
      expect(opened(openIna({ root: other.root })).read()[0]).toMatchObject({ milliamperes: 100 * hwmon });
    }
  });
});

describe("battery", () => {
  const folder = "sys/class/power_supply/BAT0";
  const battery = (files: Record<string, string | number>) =>
    Object.fromEntries(Object.entries(files).map(([name, value]) => [`${folder}/${name}`, value]));

  test("reads power_now, or current times voltage, while it discharges", () => {
    tree.write(battery({ type: "Battery\n", status: "Discharging\n", power_now: 8_400_000 }));
    tree.write({ "sys/class/power_supply/ucsi-source-psy-1/type": "Battery\n" });
    const sensor = opened(openBattery({ root: tree.root }));
    expect(sensor.read()[0]).toMatchObject({ powerMilliwatts: 8400 });
    tree.remove(`${folder}/power_now`);
    tree.write(battery({ voltage_now: 12_000_000, current_now: -500_000 }));
    expect(sensor.read()[0]).toMatchObject({ powerMilliwatts: 6000, millivolts: 12_000 });
  });

  test("takes the middle of a reading's time; a mouse's battery is not the machine's", () => {
    const times = [100n, 110n];
    tree.write(battery({ type: "Battery\n", scope: "System\n", status: "Discharging\n", power_now: 1000 }));
    const sensor = opened(openBattery({ root: tree.root, clock: () => times.shift()! }));
    expect(sensor.read()).toEqual([{ available: true, timestampNs: 105n, powerMilliwatts: 1 }]);
    tree.write(battery({ scope: "Device\n" }));
    expect(refusal(openBattery({ root: tree.root }))).toContain("no battery");
  });

  test("is one rail, the total; a file that it lacks is the reason of no reading", () => {
    tree.write(battery({ type: "Battery\n" }));
    const sensor = opened(openBattery({ root: tree.root }));
    expect([sensor.rails, sensor.total]).toEqual([
      [
        {
          label: "BAT0",
          sourcePath: tree.path(`${folder}/power_now`),
          kind: "power",
          updateIntervalMs: undefined,
          step: undefined,
        },
      ],
      { rails: ["BAT0"], reason: "a discharging battery feeds the whole machine" },
    ]);
    const reasons = [
      {},
      { status: "Discharging\n" },
      { voltage_now: 12_000_000 },
      { current_now: "x\n" },
    ].map((more) => {
      tree.write(battery(more as Record<string, string | number>));
      return refusal(sensor.read()[0]!).replace(tree.path(folder), "");
    });
    expect(reasons).toEqual([
      "/status does not exist",
      "/voltage_now does not exist",
      "/current_now does not exist",
      expect.stringContaining('/current_now: expected a whole number, got "x"'),
    ]);
  });

  test("says nothing about the machine while it charges", () => {
    tree.write(battery({ type: "Battery\n", status: "Charging\n", power_now: 1 }));
    expect(refusal(opened(openBattery({ root: tree.root })).read()[0]!)).toContain("only while");
    tree.write(battery({ type: "Mains\n" }));
    expect(refusal(openBattery({ root: tree.root }))).toContain("no battery");
  });
});

describe("bench supply or smart plug", () => {
  const options = {
    source: "plug/SENSOR",
    path: "ENERGY.Power",
    unit: "watts",
    intervalMs: 1000,
    staleAfterMs: 5000,
  } as const;

  test("finds the number in the JSON and forgets it when it is old", () => {
    let now = 1_000_000_000n;
    const sensor = new ExternalSensor({ ...options, clock: () => now });
    expect(refusal(sensor.read()[0]!)).toContain("no message on plug/SENSOR yet");
    sensor.accept('{"Time":"x","ENERGY":{"Power":7.5}}');
    expect(sensor.read()[0]).toMatchObject({ powerMilliwatts: 7500, timestampNs: 1_000_000_000n });
    now += 6_000_000_000n;
    expect(refusal(sensor.read()[0]!)).toContain("is 6.0 s old");
  });

  test("is one rail, of power or of energy, which is the total", () => {
    const described = (unit: "watts" | "wattHours", label?: string) => {
      const { name, rails, total } = new ExternalSensor({ ...options, unit, ...(label && { label }) });
      return { name, rails, total };
    };
    const rail = { label: "supply", sourcePath: "plug/SENSOR", updateIntervalMs: 1000, step: undefined };
    const reason = "plug/SENSOR measures everything behind the supply, its losses included";
    expect(described("watts")).toEqual({
      name: "mqtt",
      rails: [{ ...rail, kind: "power" }],
      total: { rails: ["supply"], reason },
    });
    expect(described("wattHours", "bench")).toEqual({
      name: "mqtt",
      rails: [{ ...rail, label: "bench", kind: "energy" }],
      total: { rails: ["bench"], reason },
    });
  });

  test("a reading of five seconds counts, an older one does not; a lost source has its reason until the next", () => {
    let now = 0n;
    const sensor = new ExternalSensor({ ...options, path: "", unit: "milliwatts", clock: () => now });
    sensor.accept("7.5");
    now = 5_000_000_000n;
    const reading = { available: true, timestampNs: 0n, powerMilliwatts: 7.5 };
    expect(sensor.read()).toEqual([reading]);
    now += 1n;
    const reason = "the last message on plug/SENSOR is 5.0 s old (limit 5 s)";
    expect(sensor.read()).toEqual([{ available: false, reason }]);
    sensor.lose("no broker");
    expect(sensor.read()).toEqual([{ available: false, reason: "no broker" }]);
    sensor.accept("8", 4_000_000_000n);
    expect(sensor.read()).toEqual([{ ...reading, timestampNs: 4_000_000_000n, powerMilliwatts: 8 }]);
  });

  test.each<[message: string, milliwatts: number | string]>([
    ['{"ENERGY":{"Power":"12.5"}}', 12_500],
    ['{"ENERGY":{"Power":1000000000}}', 1e12],
    ['{"ENERGY":{"Power":-1000000000}}', -1e12],
    [
      '{"ENERGY":{"Power":1000000001}}',
      'expected a number up to 1000000000 at "ENERGY.Power", got 1000000001',
    ],
    ['{"ENERGY":{"Power":"  "}}', 'expected a number at "ENERGY.Power", got "  "'],
    ['{"ENERGY":{"Power":null}}', 'expected a number at "ENERGY.Power", got null'],
    ['{"ENERGY":{"Power":[7]}}', 'expected a number at "ENERGY.Power", got a group or a list'],
    ['{"ENERGY":7}', 'expected a number at "ENERGY.Power", got nothing'],
    ['{"ENERGY":null}', 'expected a number at "ENERGY.Power", got nothing'],
    [
      `{"ENERGY":{"Power":"${"y".repeat(50)}"}}`,
      `expected a number at "ENERGY.Power", got "${"y".repeat(39)}`,
    ],
    ["not JSON".repeat(9), `the message is not JSON: ${"not JSON".repeat(5)}`],
  ])("%s as watts", (message, expected) => {
    const sensor = new ExternalSensor({ ...options, clock: () => 3n });
    sensor.accept(message);
    expect(sensor.read()).toEqual([
      typeof expected === "number"
        ? { available: true, timestampNs: 3n, powerMilliwatts: expected }
        : { available: false, reason: `plug/SENSOR: ${expected}` },
    ]);
  });

  test("a counter of watt hours that repeats adds nothing, and 3600 J for each one more", () => {
    const sensor = new ExternalSensor({ ...options, path: "", unit: "wattHours", clock: () => 5n });
    const joules = [10, 10, 12, 12.5].map((count) => {
      sensor.accept(`${count}`);
      const [reading] = sensor.read();
      return reading!.available && Number(reading!.energyMicrojoules) / 1e6;
    });
    expect(joules).toEqual([0, 0, 7200, 9000]);
  });

  test("a counter of kilowatt hours is energy, also after the plug was reset", () => {
    const sensor = new ExternalSensor({ ...options, path: "total", unit: "kilowattHours", clock: () => 5n });
    for (const total of [1.5, 1.500001, 0.000002]) sensor.accept(JSON.stringify({ total }));
    expect(sensor.read()[0]).toMatchObject({ energyMicrojoules: 3_600_000n + 7_200_000n });
  });

  test.each(["watts", "milliwatts", "wattHours", "kilowattHours"] as const)(
    "a number of %s that no supply has is refused, however large: anybody may publish it",
    (unit) => {
      const sensor = new ExternalSensor({ ...options, path: "", unit });
      for (const number of ["0", "1e300", "-1e308"]) sensor.accept(number);
      expect(refusal(sensor.read()[0]!)).toBe(
        'plug/SENSOR: expected a number up to 1000000000 at "", got -1e+308',
      );
      sensor.accept("8");
      expect(sensor.read()[0]).toMatchObject({ available: true });
    },
  );

  test("names what it found instead of a number", () => {
    const sensor = new ExternalSensor(options);
    sensor.accept('{"ENERGY":{"Power":"off"}}');
    expect(refusal(sensor.read()[0]!)).toContain('expected a number at "ENERGY.Power", got "off"');
    sensor.accept("[".repeat(100_000) + "]".repeat(100_000));
    expect(refusal(sensor.read()[0]!)).toContain('expected a number at "ENERGY.Power", got nothing');
    sensor.accept(JSON.stringify({ ENERGY: { Power: { x: "y".repeat(1000) } } }));
    expect(refusal(sensor.read()[0]!)).toMatch(/got a group or a list$/);
    sensor.accept(JSON.stringify({ ENERGY: { Power: "y".repeat(1000) } }));
    expect(refusal(sensor.read()[0]!).length).toBeLessThan(100);
    sensor.accept("hello");
    expect(refusal(sensor.read()[0]!)).toContain("not JSON");
    expect(valueAtPath({ a: [{ b: 3 }] }, "a[0].b")).toBe(3);
    expect(valueAtPath({}, "constructor.name")).toBeUndefined();
  });
});

/** An NVML of one GPU that draws 250 W, as far as its readings go. */
function nvml(overrides: Partial<ReturnType<NvmlBinding["nvmlRead"]>> = {}): NvmlBinding {
  let millijoules = 5_000_000;
  return {
    nvmlOpen: () => ({
      available: true,
      driver: "570.1",
      devices: [{ index: 0, name: "Test GPU", uuid: "GPU-0000" }],
    }),
    nvmlErrorText: (status) => `status ${status}`,
    nvmlRead: () => {
      millijoules += 25_000;
      return {
        powerMilliwatts: 250_000,
        energyMillijoules: millijoules,
        smClockMegahertz: 1980,
        memoryClockMegahertz: 2619,
        temperatureCelsius: 40,
        throttleReasons: 0,
        ...overrides,
      };
    },
  };
}

describe("NVML", () => {
  test("the energy counter is the total, the power stands next to it", () => {
    const sensor = opened(openNvml({ native: nvml() }));
    expect(sensor.rails.map((rail) => [rail.label, rail.kind])).toEqual([
      ["GPU0", "energy"],
      ["GPU0 power", "power"],
    ]);
    expect(sensor.read()).toMatchObject([{ energyMicrojoules: 25_000_000n }, { powerMilliwatts: 250_000 }]);
    expect(sensor.total).toMatchObject({ rails: ["GPU0"] });
  });

  test("without a counter power is the total; without either the library's words are the reason", () => {
    const energyMillijoules = { error: "Not Supported" };
    expect(opened(openNvml({ native: nvml({ energyMillijoules }) })).total).toMatchObject({
      rails: ["GPU0 power"],
    });
    const none = nvml({ energyMillijoules, powerMilliwatts: { error: "GPU is lost" } });
    expect(refusal(openNvml({ native: none }))).toContain("GPU is lost");
    expect(refusal(openNvml({ native: nvml(), nvmlDevice: 3 }))).toContain("none with index 3");
    expect(refusal(openNvml({ native: undefined }))).toContain("native addon");
  });
});

describe("choosing", () => {
  test("the board's rails come before counters, counters add up, a battery is the last resort", () => {
    tree.write(raplZones([{ zone: "intel-rapl:0", name: "package-0", energy: 1000 }]));
    tree.write({
      "sys/class/power_supply/BAT0/type": "Battery\n",
      "sys/class/power_supply/BAT0/status": "Discharging\n",
      "sys/class/power_supply/BAT0/power_now": 1,
    });
    const both = opened(openBestSensor({ root: tree.root, native: nvml() }));
    expect(both.name).toBe("rapl+nvml");
    expect(both.total).toMatchObject({ rails: ["package-0", "GPU0"] });
    expect(opened(openBestSensor({ root: tree.root })).name).toBe("rapl");
    expect(opened(openBestSensor({ root: tree.root, choice: "battery" })).name).toBe("battery");
    tree.write(ina3221Hwmon("1-0040", 0, [{ label: "VDD_IN" }]));
    expect(opened(openBestSensor({ root: tree.root, native: nvml() })).name).toBe("ina3221");
  });

  test("nothing there: one sentence that gives each candidate's reason; an explicit choice is not replaced", () => {
    const reason = refusal(openBestSensor({ root: tree.root }));
    for (const part of [
      "ina: no INA3221",
      "rapl: no RAPL zone",
      "nvml: the native addon",
      "battery: no battery",
    ])
      expect(reason).toContain(part);
    tree.write(raplZones([{ zone: "intel-rapl:0", name: "package-0", energy: 1000 }]));
    expect(refusal(openBestSensor({ root: tree.root, choice: "ina3221" }))).toContain("no INA3221");
    expect(refusal(openBestSensor({ root: tree.root, choice: "rapl+nvml" }))).toContain("native addon");
    expect(refusal(openBestSensor({ root: tree.root, choice: "none" }))).toContain("'none'");
    expect(openCandidates({ root: tree.root }).map((c) => c.name)).toEqual(SENSORS.map(({ name }) => name));
  });
});
