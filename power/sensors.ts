// SPDX-License-Identifier: Apache-2.0
// Every kind of power sensor, in the order in which lists show them.
import { battery } from "./battery.js";
import { ina } from "./ina.js";
import { nvml } from "./nvml.js";
import { rapl } from "./rapl.js";

export const SENSORS = [ina, rapl, nvml, battery];
