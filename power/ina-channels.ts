// SPDX-License-Identifier: Apache-2.0
// Finds the channels of INA3221 and INA238 chips by their labels, wherever the kernel put them: hwmon since JetPack 5,
// iio on JetPack 4. Indices and hwmon numbers are not stable and are never used to distinguish rails.
import { join } from "node:path";
import type { FileRail } from "./file-sensor.js";
import type { RailReading } from "./sensor.js";
import { listFolder, optionalNumber, readValueFile, type ValueReader } from "./sysfs.js";

export interface InaChannels {
  rails: FileRail[];
  /** Chips seen, such as "ina3221 (1-0040, hwmon)". */
  chips: string[];
  /** Why a chip or channel gave no rail. */
  problems: string[];
}

/** INA3221 shunt voltage step, microvolts (data sheet SBOS576B, 7.5: 13-bit, 40 uV). */
const SHUNT_STEP_MICROVOLTS = 40;

const isUnused = (label: string): boolean =>
  label === "" || label.toUpperCase() === "NC" || /sum of shunt/i.test(label);

/** Milliwatts from two readings of one channel; P = V x I, as no kernel file gives it on JetPack 5 and later. */
function productReading(millivolts: number, milliamperes: number, timestampNs: bigint): RailReading {
  return {
    available: true,
    timestampNs,
    millivolts,
    milliamperes,
    powerMilliwatts: (millivolts * milliamperes) / 1000,
  };
}

/** Smallest power step of an INA3221 channel in milliwatts at the voltage it shows now. */
function stepMilliwatts(
  shuntMicroohms: number | undefined,
  millivolts: number | undefined,
): number | undefined {
  if (!shuntMicroohms || !millivolts) return undefined;
  const stepMilliamperes = (SHUNT_STEP_MICROVOLTS * 1000) / shuntMicroohms;
  return (stepMilliamperes * millivolts) / 1000;
}

function ina3221Hwmon(folder: string, read: ValueReader, out: InaChannels): void {
  const updateIntervalMs = optionalNumber(read, join(folder, "update_interval"));
  for (const entry of listFolder(folder)) {
    const channel = /^in(\d+)_label$/.exec(entry)?.[1];
    if (channel === undefined) continue;
    const label = read(join(folder, entry));
    if (!label.ok) {
      out.problems.push(label.reason);
      continue;
    }
    if (isUnused(label.text)) continue;
    const enabled = optionalNumber(read, join(folder, `in${channel}_enable`));
    if (enabled === 0) continue;
    const voltage = join(folder, `in${channel}_input`);
    const current = join(folder, `curr${channel}_input`);
    out.rails.push({
      label: label.text,
      sourcePath: current,
      kind: "power",
      updateIntervalMs,
      step: stepMilliwatts(
        optionalNumber(read, join(folder, `shunt${channel}_resistor`)),
        optionalNumber(read, voltage),
      ),
      sources: [{ file: voltage }, { file: current }],
      decode: ([mv, ma], timestampNs) => productReading(mv!, ma!, timestampNs),
    });
  }
}

function ina3221Iio(folder: string, read: ValueReader, out: InaChannels): void {
  for (const entry of listFolder(folder)) {
    const channel = /^rail_name_(\d+)$/.exec(entry)?.[1];
    if (channel === undefined) continue;
    const label = read(join(folder, entry));
    if (!label.ok) {
      out.problems.push(label.reason);
      continue;
    }
    if (isUnused(label.text)) continue;
    const voltage = join(folder, `in_voltage${channel}_input`);
    const current = join(folder, `in_current${channel}_input`);
    out.rails.push({
      label: label.text,
      sourcePath: current,
      kind: "power",
      // The JetPack 4 driver has no file for its conversion time.
      updateIntervalMs: undefined,
      step: stepMilliwatts(
        milliohmsToMicroohms(optionalNumber(read, join(folder, `crit_current_limit_${channel}_shunt`))),
        optionalNumber(read, voltage),
      ),
      sources: [{ file: voltage }, { file: current }],
      decode: ([mv, ma], timestampNs) => productReading(mv!, ma!, timestampNs),
    });
  }
}

const milliohmsToMicroohms = (value: number | undefined): number | undefined =>
  value === undefined ? undefined : value * 1000;

function ina238Hwmon(folder: string, device: string, read: ValueReader, out: InaChannels): void {
  const labelled = read(join(folder, "in1_label"));
  // The mainline ina238 driver has no label file; on AGX Thor's carrier the one chip of this kind is the board's input.
  const label = labelled.ok && labelled.text !== "" ? labelled.text : "VIN";
  if (isUnused(label)) return;
  const power = join(folder, "power1_input");
  if (!read(power).ok && !read(join(folder, "in1_input")).ok) {
    out.problems.push(`ina238 (${device}) shows neither power1_input nor in1_input`);
    return;
  }
  out.rails.push({
    label,
    sourcePath: power,
    kind: "power",
    updateIntervalMs: optionalNumber(read, join(folder, "update_interval")),
    step: undefined,
    sources: [{ file: join(folder, "in1_input") }, { file: join(folder, "curr1_input") }, { file: power }],
    decode: ([mv, ma, microwatts], timestampNs) => ({
      available: true,
      timestampNs,
      millivolts: mv!,
      milliamperes: ma!,
      powerMilliwatts: microwatts! / 1000,
    }),
  });
}

/** Scans every I2C device under `root` for power monitors. */
export function findInaChannels(root = "/", read: ValueReader = readValueFile): InaChannels {
  const out: InaChannels = { rails: [], chips: [], problems: [] };
  const bus = join(root, "sys/bus/i2c/devices");
  for (const device of listFolder(bus)) {
    const folder = join(bus, device);
    const chip = read(join(folder, "name"));
    if (!chip.ok || !/^ina(3221x?|238)$/.test(chip.text)) continue;
    const hwmon = listFolder(join(folder, "hwmon")).find((name) => /^hwmon\d+$/.test(name));
    const iio = listFolder(folder).find((name) => /^iio:device\d+$/.test(name));
    if (hwmon !== undefined) {
      out.chips.push(`${chip.text} (${device}, hwmon)`);
      const path = join(folder, "hwmon", hwmon);
      if (chip.text === "ina238") ina238Hwmon(path, device, read, out);
      else ina3221Hwmon(path, read, out);
    } else if (iio !== undefined) {
      out.chips.push(`${chip.text} (${device}, iio)`);
      ina3221Iio(join(folder, iio), read, out);
    } else {
      out.problems.push(
        `${chip.text} at ${device} has no driver bound: neither hwmon nor iio files under ${folder}`,
      );
    }
  }
  return out;
}
