// SPDX-License-Identifier: Apache-2.0
// Settings of what goes out: the MQTT stream, the energy figures and the log.
import { z } from "zod";
import { SENSOR_CHOICES } from "../../power/index.js";
import { section, setting } from "./setting.js";

const MODE_NAMES = /^[^,\s]+(,[^,\s]+)*$/;
const BROKER = /^(embedded|none|(mqtts?|wss?):\/\/[^\s/]+(\/\S*)?)$/;

/** The part of JSON Schema's pattern that a person reads; keyed by the pattern's source. */
export const PATTERN_WORDS: Record<string, string> = {
  [MODE_NAMES.source]: "names joined by commas, such as 15W,10W",
  [BROKER.source]: '"embedded", "none" or a URL that begins with mqtt://, mqtts://, ws:// or wss://',
};

function stream(name: string, encodings: readonly [string, ...string[]], enabled: boolean) {
  return section(`The ${name} topic.`, {
    enabled: setting(z.boolean(), { default: enabled, description: `Publishes ${name}.` }),
    encoding: setting(z.enum(encodings), {
      default: encodings[0],
      description: "How the body of a frame is written; docs/4-reference/mqtt.md has the bytes.",
    }),
  });
}

export const publishSection = section("The MQTT stream.", {
  broker: setting(z.string().regex(BROKER), {
    default: "embedded",
    description:
      "embedded is a broker in this process, loopback only, for trying it out; none publishes nothing.",
  }),
  username: setting(z.string().min(1).optional(), { description: "User name at the broker." }),
  passwordFile: setting(z.string().min(1).optional(), {
    isPath: true,
    description: "File whose first line is the password; it must not be readable by others.",
  }),
  caFile: setting(z.string().min(1).optional(), {
    isPath: true,
    description: "PEM file of the authorities that may sign the broker's certificate; else the system's.",
  }),
  certFile: setting(z.string().min(1).optional(), {
    isPath: true,
    description: "PEM file of the client certificate.",
  }),
  keyFile: setting(z.string().min(1).optional(), {
    isPath: true,
    description: "PEM file of the client certificate's key.",
  }),
  protocolVersion: setting(z.union([z.literal("auto"), z.literal([4, 5])]), {
    default: "auto",
    description: "MQTT 5, or 4 which is MQTT 3.1.1; auto tries 5 and falls back.",
  }),
  maxPendingBytes: setting(z.int().min(65536).max(1_073_741_824), {
    default: 8_388_608,
    unit: "bytes",
    description: "What may wait in front of the socket; beyond it the newest frame replaces the waiting one.",
  }),
  maxPayloadBytes: setting(z.int().min(1024).max(268_435_455), {
    default: 268_435_455,
    unit: "bytes",
    description: "Frames larger than this are dropped and counted; set it to the broker's own limit.",
  }),
  metricsIntervalMs: setting(z.int().min(100).max(600_000), {
    default: 1000,
    unit: "ms",
    description: "Time between two messages on the metrics topic, and between two live lines.",
  }),
  depth: stream("depth", ["rvl", "raw", "png", "compressedDepth"], true),
  disparity: stream("disparity", ["rvl", "raw", "png"], false),
  confidence: stream("confidence", ["raw", "png"], false),
  left: stream("left", ["raw", "png"], false),
  preview: section("The preview topic.", {
    enabled: setting(z.boolean(), {
      default: false,
      description: "Publishes a small colour picture of the disparity, at most twice a second.",
    }),
    encoding: setting(z.enum(["jpeg", "png"]), {
      default: "jpeg",
      description: "What kind of file the picture is; a message is the file and nothing else.",
    }),
  }),
});

const supplySection = section("A bench supply or smart plug that reports on MQTT, for power.sensor mqtt.", {
  broker: setting(z.string().min(1).optional(), { description: "URL of the broker it reports to." }),
  topic: setting(z.string().min(1).optional(), { description: "Topic of its readings." }),
  path: setting(z.string().min(1).optional(), {
    description:
      "Where the number stands in the JSON, such as ENERGY.Power; unset: the message is the number.",
  }),
  unit: setting(z.enum(["watts", "milliwatts", "wattHours", "kilowattHours"]), {
    default: "watts",
    description: "What the number counts.",
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
      "Measures the idle power this long before the first frame, to be shown beside gross figures; 0 does not.",
  }),
  supply: supplySection,
  budgetWatts: setting(z.number().min(0.1).max(10_000).optional(), {
    unit: "W",
    description:
      "The governor keeps the total power at or below this by giving up quality; unset: no budget.",
  }),
  minFps: setting(z.number().min(0.1).max(1000).optional(), {
    unit: "Hz",
    description: "The governor keeps at least this frame rate by giving up quality; a budget comes first.",
  }),
  modes: setting(z.string().regex(MODE_NAMES).optional(), {
    description:
      "Power modes by nvpmodel's names, best first, that the governor may step down to last of all; unset: it leaves the mode alone.",
  }),
  profile: setting(z.string().min(1).optional(), {
    isPath: true,
    description:
      "Folder of 'depthwatt profile': the governor then knows each level's watts before it has been there.",
  }),
});

export const logSection = section("The log on stderr.", {
  level: setting(z.enum(["fatal", "error", "warn", "info", "debug", "trace"]), {
    default: "info",
    description: "The least severe line that is written.",
  }),
});
