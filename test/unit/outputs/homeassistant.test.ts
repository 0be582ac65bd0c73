// SPDX-License-Identifier: Apache-2.0
// The announcement to Home Assistant against a strict schema of what its MQTT integration accepts: a key too many is refused
// there, and the whole device with it.
import { expect, test } from "vitest";
import { z } from "zod";
import { makeTopics } from "../../../core/frame/topics.js";
import { loadConfig } from "../../../edge/config/index.js";
import {
  type DiscoveryFacts,
  discoveryPayload,
  discoveryTopic,
  objectId,
} from "../../../edge/outputs/homeassistant/discovery.js";
import { controlledSettings } from "../../../edge/outputs/homeassistant/homeassistant-output.js";

const topic = z.string().regex(/^[^+#]+$/);
const template = z.string().regex(/\{\{.*\}\}/);
const entity = {
  name: z.string(),
  unique_id: z.string().regex(/^[\w.-]+$/),
  availability: z.array(z.strictObject({ topic, value_template: template })).optional(),
  entity_category: z.enum(["config", "diagnostic"]).optional(),
};
const sensor = {
  ...entity,
  state_topic: topic,
  value_template: template,
  json_attributes_topic: topic.optional(),
};
const component = z.discriminatedUnion("platform", [
  z.strictObject({
    platform: z.literal("sensor"),
    ...sensor,
    state_class: z.enum(["measurement", "total", "total_increasing"]).optional(),
    unit_of_measurement: z.string().optional(),
    suggested_display_precision: z.int().optional(),
    device_class: z.enum(["power", "temperature", "distance"]).optional(),
  }),
  z.strictObject({
    platform: z.literal("binary_sensor"),
    ...sensor,
    availability_mode: z.enum(["all", "any", "latest"]).optional(),
    expire_after: z.int().positive().optional(),
    device_class: z.enum(["connectivity", "occupancy"]),
  }),
  z.strictObject({ platform: z.literal("camera"), ...entity, topic }),
  z.strictObject({ platform: z.literal("switch"), ...entity, state_topic: topic, command_topic: topic }),
  z.strictObject({
    platform: z.literal("select"),
    ...entity,
    state_topic: topic,
    command_topic: topic,
    options: z.array(z.string()).min(1),
  }),
]);
const payload = z.strictObject({
  device: z.strictObject({
    identifiers: z.array(z.string()).min(1),
    name: z.string(),
    manufacturer: z.string(),
    sw_version: z.string(),
    model: z.string().optional(),
    configuration_url: z.url().optional(),
  }),
  origin: z.strictObject({ name: z.string(), sw_version: z.string() }),
  components: z.record(z.string().regex(/^[\w-]+$/), component),
  qos: z.int().min(0).max(2),
});

const FACTS: DiscoveryFacts = {
  base: "depthwatt",
  device: "robot 1",
  version: "1.2.3",
  board: "orin-nano",
  topics: makeTopics("depthwatt", "robot 1"),
  preview: true,
  zones: ["left", "door-2"],
  alarms: ["door-2"],
  page: "http://robot-1:8990",
  controlled: [{ key: "refine.median" }, { key: "match.algorithm", options: ["sgm", "cbca"] }],
};

test("is what Home Assistant's schemas accept, with everything and with as little as there is", () => {
  const full = payload.parse(discoveryPayload(FACTS));
  expect(Object.keys(full.components)).toEqual([
    "online",
    "state",
    "fps",
    "watts",
    "fps_per_watt",
    "joules_per_frame",
    "temperature",
    "matched",
    "zone_left",
    "zone_door-2",
    "alarm_door-2",
    "preview",
    "set_refine_median",
    "set_match_algorithm",
  ]);
  const least = {
    ...FACTS,
    board: undefined,
    preview: false,
    zones: [],
    alarms: [],
    controlled: [],
    page: undefined,
  };
  expect(Object.keys(payload.parse(discoveryPayload(least)).components)).toHaveLength(8);
  expect(() => payload.parse({ ...full, extra: 1 })).toThrow();
});

test("figures have units and decimals; facts that are missing are left out", () => {
  const { components, device } = payload.parse(discoveryPayload(FACTS));
  const units = Object.entries(components).flatMap(([name, one]) =>
    one.platform === "sensor" && one.unit_of_measurement !== undefined
      ? [[name, one.unit_of_measurement, one.suggested_display_precision]]
      : [],
  );
  expect(units).toEqual([
    ["fps", "fps", 1],
    ["watts", "W", undefined],
    ["fps_per_watt", "fps/W", 2],
    ["joules_per_frame", "J", 3],
    ["temperature", "\u00b0C", undefined],
    ["matched", "%", 1],
    ["zone_left", "m", 2],
    ["zone_door-2", "m", 2],
  ]);
  const named = {
    identifiers: [objectId("depthwatt", "robot 1")],
    name: "robot 1",
    manufacturer: "depthwatt",
    sw_version: "1.2.3",
  };
  expect(device).toStrictEqual({ ...named, model: "orin-nano", configuration_url: "http://robot-1:8990" });
  const bare = discoveryPayload({ ...FACTS, board: undefined, page: undefined });
  expect(payload.parse(bare).device).toStrictEqual(named);
  expect(components).toMatchObject({
    set_refine_median: { platform: "switch" },
    set_match_algorithm: { platform: "select", options: ["sgm", "cbca"] },
  });
});

test("unique ids are unique, and stay apart for devices whose names look the same", () => {
  const ids = Object.values(payload.parse(discoveryPayload(FACTS)).components).map(
    ({ unique_id }) => unique_id,
  );
  expect(new Set(ids).size).toBe(ids.length);
  expect(objectId("depthwatt", "robot 1")).not.toBe(objectId("depthwatt", "robot_1"));
  expect(objectId("a/b", "c")).not.toBe(objectId("a", "c"));
  expect(discoveryTopic("homeassistant", "depthwatt", "robot 1")).toMatch(
    /^homeassistant\/device\/depthwatt_robot_1_[0-9a-f]{8}\/config$/,
  );
});

test("what says whether it is online does not vanish when it is not", () => {
  const { components } = payload.parse(discoveryPayload(FACTS));
  expect(components.online!.availability).toBeUndefined();
  expect(components.fps!.availability).toHaveLength(1);
});

test("an alarm is available only while the device and the alarms are", () => {
  const { components } = payload.parse(discoveryPayload(FACTS));
  const alarm = components["alarm_door-2"]!;
  expect(alarm.availability!.map(({ topic }) => topic)).toEqual([
    "depthwatt/robot 1/state",
    "depthwatt/robot 1/alarms",
  ]);
  expect(alarm).toMatchObject({ availability_mode: "all", expire_after: 30 });
});

test.each(["home+assistant", "#", "/homeassistant", "home//assistant", "$SYS", ""])(
  "the discovery prefix %j is refused",
  (prefix) => {
    const set = ["outputs.homeAssistant.enabled=true", `outputs.homeAssistant.discoveryPrefix=${prefix}`];
    expect(() => loadConfig({ set, environment: {} })).toThrow(/outputs\.homeAssistant\.discoveryPrefix/);
  },
);

test("only live settings of the right kind become switches and selects", () => {
  const live = { description: "", live: true };
  const control = {
    settings: () => ({
      settings: [
        { ...live, key: "refine.median", schema: { type: "boolean" } },
        { ...live, key: "match.algorithm", schema: { type: "string", enum: ["sgm", "cbca"] } },
      ],
      values: {},
      presets: [],
    }),
  };
  const of = (switches?: string, selects?: string) =>
    controlledSettings(control, { switches: switches as string, selects: selects as string });
  expect(of("refine.median", "match.algorithm")).toEqual([
    { key: "refine.median" },
    { key: "match.algorithm", options: ["sgm", "cbca"] },
  ]);
  expect(of()).toEqual([]);
  expect(() => of("match.algorithm")).toThrow("expected a setting of true and false, got match.algorithm");
  expect(() => of(undefined, "refine.median")).toThrow("expected a setting with a choice, got refine.median");
  expect(() => of("base")).toThrow("expected a setting that takes effect live, got base");
});
