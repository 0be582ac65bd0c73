// SPDX-License-Identifier: Apache-2.0
// Reads the power monitors of a Jetson board as one sensor. The board's rule decides which rails make the total,
// because adding up all rails counts some of them twice.
import { applyTotalRule, FileSensor } from "./file-sensor.js";
import { findInaChannels } from "./ina-channels.js";
import type { PowerSensor, TotalRule, Unavailable } from "./sensor.js";
import { defineSensor } from "./sensor-definition.js";
import { isRefused, readValueFile, type ValueReader } from "./sysfs.js";

export interface InaOptions {
  /** Root of the file system; another one in tests. */
  root?: string;
  /** The board's total; without one only a rail that is the input by its name is taken. */
  totalRule?: TotalRule;
  read?: ValueReader;
  clock?: () => bigint;
}

/** Labels that name a board's whole input on every board that has them. */
const INPUT_LABELS = ["VIN", "VDD_IN", "POM_5V_IN"];

function chooseTotal(labels: readonly string[], rule: TotalRule | undefined): TotalRule | Unavailable {
  if (rule !== undefined) return applyTotalRule(rule, labels);
  const input = INPUT_LABELS.find((label) => labels.includes(label));
  if (input !== undefined) return { rails: [input], reason: `${input} is the board's whole input` };
  return {
    available: false,
    reason: `this board is not known, and none of its rails (${labels.join(", ")}) is its whole input by name`,
  };
}

/** Opens every INA3221 and INA238 that the kernel shows. */
export function openIna(options: InaOptions = {}): PowerSensor | Unavailable {
  const read = options.read ?? readValueFile;
  const { rails, chips, problems } = findInaChannels(options.root, read);
  if (rails.length === 0) {
    const reason = problems[0] ?? "no INA3221 or INA238 power monitor on any I2C bus";
    return { available: false, reason };
  }
  const labels = rails.map((rail) => rail.label);
  const twice = labels.find((label, index) => labels.indexOf(label) !== index);
  if (twice !== undefined) {
    return {
      available: false,
      reason: `two rails are both labelled ${twice}; which one is meant cannot be known`,
    };
  }
  const sensor = new FileSensor({
    name: chips.some((chip) => chip.startsWith("ina3221")) ? "ina3221" : "ina238",
    rails,
    total: chooseTotal(labels, options.totalRule),
    read,
    ...(options.clock && { clock: options.clock }),
  });
  const first = sensor.read();
  const failures = first.flatMap((reading) => (reading.available ? [] : [reading.reason]));
  if (failures.length === first.length) {
    const refused = rails.some(({ sources }) =>
      sources.some(({ file }) => {
        const result = read(file);
        return !result.ok && isRefused(result.code);
      }),
    );
    return { available: false, reason: failures[0]!, ...(refused && { refused }) };
  }
  return sensor;
}

/** Both choices mean every power monitor of the board: AGX Thor has one of either kind. */
export const ina = defineSensor({
  name: "ina",
  choices: ["ina3221", "ina238"],
  measures: "board",
  open: openIna,
});
