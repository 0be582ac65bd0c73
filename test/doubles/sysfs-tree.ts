// SPDX-License-Identifier: Apache-2.0
// Constructed /sys, /proc and /etc trees in a temporary folder: made from reference tables, never recorded on a board.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

export class SysfsTree {
  readonly root = mkdtempSync(join(tmpdir(), "depthwatt-tree-"));

  path(name: string): string {
    return join(this.root, name);
  }

  /** Writes files; values end with a newline as the kernel prints them. */
  write(files: Record<string, string | number>): this {
    for (const [name, value] of Object.entries(files)) {
      mkdirSync(dirname(this.path(name)), { recursive: true });
      writeFileSync(this.path(name), typeof value === "number" ? `${value}\n` : value);
    }
    return this;
  }

  link(name: string, target: string): this {
    mkdirSync(dirname(this.path(name)), { recursive: true });
    symlinkSync(target, this.path(name));
    return this;
  }

  remove(name: string): this {
    rmSync(this.path(name), { recursive: true, force: true });
    return this;
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}

/** One channel of a power monitor; label "NC" is a channel that is not connected. */
export interface Channel {
  label: string;
  millivolts?: number;
  milliamperes?: number;
}

/** An INA3221 as the mainline driver shows it (JetPack 5 and later), with its sum-of-shunts channel. */
export function ina3221Hwmon(device: string, hwmon: number, channels: Channel[], shuntMicroohms = 5000) {
  const base = `sys/bus/i2c/devices/${device}`;
  const folder = `${base}/hwmon/hwmon${hwmon}`;
  const files: Record<string, string | number> = {
    [`${base}/name`]: "ina3221\n",
    [`${folder}/name`]: "ina3221\n",
    [`${folder}/update_interval`]: 6,
    [`${folder}/samples`]: 4,
    [`${folder}/in7_label`]: "sum of shunt voltages\n",
    [`${folder}/in7_input`]: 12,
  };
  for (const [index, { label, millivolts = 5000, milliamperes = 400 }] of channels.entries()) {
    const n = index + 1;
    files[`${folder}/in${n}_label`] = `${label}\n`;
    files[`${folder}/in${n}_input`] = millivolts;
    files[`${folder}/curr${n}_input`] = milliamperes;
    files[`${folder}/curr${n}_crit_alarm`] = 0;
    files[`${folder}/shunt${n}_resistor`] = shuntMicroohms;
  }
  return files;
}

/** An INA3221 as JetPack 4's own driver shows it. */
export function ina3221Iio(device: string, iio: number, channels: Channel[]) {
  const base = `sys/bus/i2c/devices/${device}`;
  const files: Record<string, string | number> = { [`${base}/name`]: "ina3221x\n" };
  for (const [n, { label, millivolts = 5000, milliamperes = 400 }] of channels.entries()) {
    const folder = `${base}/iio:device${iio}`;
    files[`${folder}/rail_name_${n}`] = `${label}\n`;
    files[`${folder}/in_voltage${n}_input`] = millivolts;
    files[`${folder}/in_current${n}_input`] = milliamperes;
    files[`${folder}/in_power${n}_input`] = Math.round((millivolts * milliamperes) / 1000);
  }
  return files;
}

/** AGX Thor's carrier monitor: power in microwatts, no label file. */
export function ina238Hwmon(device: string, hwmon: number, millivolts: number, milliamperes: number) {
  const folder = `sys/bus/i2c/devices/${device}/hwmon/hwmon${hwmon}`;
  return {
    [`sys/bus/i2c/devices/${device}/name`]: "ina238\n",
    [`${folder}/name`]: "ina238\n",
    [`${folder}/in1_input`]: millivolts,
    [`${folder}/curr1_input`]: milliamperes,
    [`${folder}/power1_input`]: millivolts * milliamperes,
  };
}

export interface RaplZone {
  zone: string;
  name: string;
  energy: number;
  range?: number;
}

export function raplZones(zones: RaplZone[]) {
  const files: Record<string, string | number> = {};
  for (const { zone, name, energy, range = 262_143_328_850 } of zones) {
    files[`sys/class/powercap/${zone}/name`] = `${name}\n`;
    files[`sys/class/powercap/${zone}/energy_uj`] = energy;
    files[`sys/class/powercap/${zone}/max_energy_range_uj`] = range;
  }
  return files;
}
