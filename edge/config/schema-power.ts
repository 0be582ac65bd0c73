// SPDX-License-Identifier: Apache-2.0
// Settings of the energy figures and of the governor.
import { z } from "zod";
import { SENSOR_CHOICES } from "../../power/index.js";
import { section, setting } from "../contracts/setting.js";
import { dutyCycleSection } from "../duty/index.js";

const MODE_NAMES = /^[^,\s]+(,[^,\s]+)*$/;

const supplySection = section("A bench supply or smart plug that reports on MQTT, for power.sensor mqtt.", {
  broker: setting(z.string().min(1).optional(), { description: "URL of the broker it reports to." }),
  topic: setting(z.string().min(1).optional(), { description: "Topic of its readings." }),
  path: setting(z.string().min(1).optional(), {
    description:
      "Path of the number in the JSON message, such as ENERGY.Power; unset: the message is the number.",
  }),
  unit: setting(z.enum(["watts", "milliwatts", "wattHours", "kilowattHours"]), {
    default: "watts",
    description: "Quantity that the number limits.",
  }),
  intervalMs: setting(z.int().min(10).max(600_000), {
    default: 1000,
    unit: "ms",
    description: "How often it reports; three intervals without a message are a lost sensor.",
  }),
});

export const powerSection = section("Power and energy figures.", {
  sensor: setting(z.enum(SENSOR_CHOICES), {
    default: "auto",
    description:
      "auto takes the board's own rails (ina), then what the machine offers; none measures nothing.",
  }),
  rateHz: setting(z.number().min(1).max(1000), {
    default: 50,
    unit: "Hz",
    description: "How often the sensor is read.",
  }),
  idleSeconds: setting(z.number().min(0).max(600), {
    default: 0,
    unit: "s",
    description:
      "Measures the idle power this long before the first frame, to show it with the gross figures; 0 does not.",
  }),
  supply: supplySection,
  budgetWatts: setting(z.number().min(0.1).max(10_000).optional(), {
    takesEffect: "live",
    unit: "W",
    description:
      "The governor keeps the total power at or below this by giving up quality; unset: no budget.",
  }),
  minFps: setting(z.number().min(0.1).max(1000).optional(), {
    takesEffect: "live",
    unit: "Hz",
    description: "The governor keeps at least this frame rate by giving up quality; a budget comes first.",
  }),
  modes: setting(z.string().regex(MODE_NAMES).optional(), {
    expects: "names joined by commas, such as 15W,10W",
    description:
      "Power modes by nvpmodel's names, best first, that the governor may step down to last of all; unset: it leaves the mode alone.",
  }),
  clocks: setting(z.enum(["off", "auto", "on"]), {
    default: "off",
    description:
      "Lets the governor limit the clocks of a Jetson's GPU and memory, by what power.profile has measured (depthwatt profile --clocks). auto: if the machine permits it; on: or the run stops.",
  }),
  dutyCycle: dutyCycleSection,
  profile: setting(z.string().min(1).optional(), {
    isPath: true,
    description:
      "Folder of 'depthwatt profile': the governor then knows each level's watts before it has been there.",
  }),
});
