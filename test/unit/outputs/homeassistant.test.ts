// SPDX-License-Identifier: Apache-2.0
// The announcement to Home Assistant against a strict schema of what its MQTT integration accepts: a key too many is refused
// there, and the whole device with it.
import { afterEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { makeTopics } from "../../../core/frame/topics.js";
import { loadConfig } from "../../../edge/config/index.js";
import type { OutputContext } from "../../../edge/contracts/output.js";
import { VERSION } from "../../../edge/contracts/version.js";
import {
  type DiscoveryFacts,
  discoveryPayload,
  discoveryTopic,
  objectId,
} from "../../../edge/outputs/homeassistant/discovery.js";
import {
  controlledSettings,
  openHomeAssistant,
} from "../../../edge/outputs/homeassistant/homeassistant-output.js";
import { until } from "../../doubles/frames.js";
import { startSideListener } from "../../doubles/side-listener.js";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

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

const SETTINGS = {
  enabled: true,
  announced: true,
  discoveryPrefix: "ha",
  switches: "refine.median",
  selects: "match.algorithm",
};
const LIVE = [
  { key: "refine.median", schema: { type: "boolean" } },
  { key: "match.algorithm", schema: { type: "string", enum: ["sgm", "cbca"] } },
];

async function openOutput(changes: object = {}, control: object | null = {}) {
  const broker = await startSideListener();
  cleanups.push(() => broker.close());
  const notices: string[] = [];
  const requests: unknown[][] = [];
  const output = await openHomeAssistant({
    settings: SETTINGS,
    base: "depthwatt",
    device: "rig",
    broker: () => broker.access,
    notice: (text: string) => notices.push(text),
    zones: () => ["ahead"],
    alarms: () => ["ahead"],
    control: (control ?? undefined) && {
      off: undefined,
      brokerAuthenticates: true,
      settings: () => ({ settings: LIVE, values: {}, presets: [] }),
      perform: async (...request: unknown[]) => {
        requests.push(request);
        return (request[1] as { values: object }).values && JSON.stringify(request[1]).includes("wrong")
          ? { ok: false, message: "no such choice" }
          : { ok: true };
      },
      ...control,
    },
    ...changes,
  } as unknown as OutputContext<never>);
  cleanups.push(() => output.close());
  await output.ready;
  /** The announcement with these facts. */
  const announced = (facts: Partial<DiscoveryFacts>) => {
    const topics = makeTopics("depthwatt", "rig");
    const [zones, page] = [["ahead"], undefined];
    const all = { base: "depthwatt", device: "rig", version: VERSION, topics, zones, alarms: zones, page };
    const payload = discoveryPayload({ ...all, board: undefined, preview: false, controlled: [], ...facts });
    return [discoveryTopic("ha", "depthwatt", "rig"), JSON.parse(JSON.stringify(payload)), true];
  };
  return { output, broker, notices, requests, announced };
}

test("announces facts and values as they change, and withdraws the announcement on request", async () => {
  const controlled = [{ key: "refine.median" }, { key: "match.algorithm", options: ["sgm", "cbca"] }];
  const { output, broker, announced } = await openOutput();
  const next = async (count: number) => {
    await until(`${count} messages`, () => broker.heard.length >= count);
    return broker.take();
  };
  const state = (key: string, value: string) => [`depthwatt/rig/homeassistant/${key}/state`, value, true];
  const texts = async (count: number) => {
    await until(`${count} messages`, () => broker.heard.length >= count);
    return broker.heard.splice(0).map(({ topic, text, retained }) => [topic, text, retained]);
  };
  output.info!({ board: "auto" });
  expect(await next(1)).toEqual([announced({ controlled })]);
  output.info!({ board: "orin-nano" });
  expect(await next(1)).toEqual([announced({ controlled, board: "orin-nano" })]);
  output.info!({});
  expect(await next(1)).toEqual([announced({ controlled })]);
  const values = { "refine.median": true, "match.algorithm": "sgm", "outputs.mqtt.preview.enabled": true };
  output.settings!(values, "start");
  const all = await texts(3);
  expect(all.slice(0, 2)).toEqual([state("refine.median", "ON"), state("match.algorithm", "sgm")]);
  expect(JSON.parse(all[2]![1] as string)).toEqual(announced({ controlled, preview: true })[1]);
  // Only a value that has changed is reported.
  output.settings!({ "refine.median": false, "match.algorithm": "sgm" }, "page");
  expect((await texts(2))[0]).toEqual(state("refine.median", "OFF"));
  output.configure!(SETTINGS as never, {} as never);
  output.configure!({ ...SETTINGS, announced: false } as never, {} as never);
  expect(await next(1)).toEqual([[announced({})[0], "", true]]);
  output.info!({ board: "orin-nano" });
  output.configure!(SETTINGS as never, {} as never);
  expect(await next(1)).toEqual([announced({ controlled, board: "orin-nano", preview: true })]);
  await until("all were acknowledged", () => output.counters().sent === 10);
  const bytes = broker.packets.reduce((sum, packet) => sum + packet.payloadBytes, 0);
  expect(output.counters()).toEqual({
    sent: 10,
    bytes,
    drops: {},
    details: { connected: true, announced: true, refused: 0 },
  });
  expect(output.streams).toEqual([]);
});

test("changes what its switches and selects ask for, and reports the value that holds", async () => {
  const { output, broker, notices, requests } = await openOutput();
  await until("the subscriptions", () => broker.subscriptions === 3);
  output.settings!({ "refine.median": true, "match.algorithm": "sgm" }, "start");
  await until("the states", () => broker.heard.length === 3);
  broker.heard.length = 0;
  const say = (key: string, text: string, retained = false) =>
    broker.say(`depthwatt/rig/homeassistant/${key}/set`, text, retained);
  say("refine.median", "ON", true);
  say("base", "x");
  say("refine.median", "on");
  say("refine.median", "ON");
  say("refine.median", "OFF");
  say("match.algorithm", "cbca");
  say("match.algorithm", "wrong");
  await until("the refusal", () => broker.heard.length === 1);
  const request = (key: string, value: unknown) => ["set", { values: { [key]: value } }, "Home Assistant"];
  expect(requests).toEqual([
    request("refine.median", true),
    request("refine.median", false),
    request("match.algorithm", "cbca"),
    request("match.algorithm", "wrong"),
  ]);
  expect(notices).toEqual(["homeAssistant: match.algorithm was not changed: no such choice"]);
  expect(broker.heard).toEqual([
    { topic: "depthwatt/rig/homeassistant/match.algorithm/state", text: "sgm", retained: true },
  ]);
  expect(output.counters().details).toMatchObject({ refused: 2 });
});

test("a switch that was refused shows its value again", async () => {
  const refusing = { perform: async () => ({ ok: false, message: "no" }) };
  const { output, broker } = await openOutput({}, refusing);
  await until("the subscriptions", () => broker.subscriptions === 3);
  const topic = "depthwatt/rig/homeassistant/refine.median";
  for (const [value, text] of [
    [true, "ON"],
    [false, "OFF"],
  ] as const) {
    output.settings!({ "refine.median": value }, "start");
    await until("the state", () => broker.heard.some((one) => one.topic.endsWith("/config")));
    broker.heard.length = 0;
    broker.say(`${topic}/set`, value ? "OFF" : "ON");
    await until("the state again", () => broker.heard.length > 0);
    expect(broker.heard.splice(0)).toEqual([{ topic: `${topic}/state`, text, retained: true }]);
  }
});

test("announces again when Home Assistant has started, and not for a message from before", async () => {
  vi.spyOn(Math, "random").mockReturnValue(0);
  const { output, broker } = await openOutput();
  await until("the subscriptions", () => broker.subscriptions === 3);
  output.info!({});
  await until("the announcement", () => broker.heard.length === 1);
  broker.say("ha/status", "online", true);
  broker.say("ha/status", "offline");
  broker.say("ha/status", "online");
  await until("the second announcement", () => broker.heard.length === 2);
  // Answered behind it: neither of the other messages caused one.
  broker.say("depthwatt/rig/homeassistant/refine.median/set", "x");
  await until("the refusal", () => output.counters().details!.refused === 1);
  expect(broker.heard).toHaveLength(2);
});

test.each<[string, object | null, object, RegExp | undefined]>([
  ["without control", null, {}, undefined],
  ["with control off", { off: "control.enabled is false" }, {}, undefined],
  ["with signed requests", { brokerAuthenticates: false }, {}, /cannot sign requests/],
])("%s there are no switches and selects", async (_, control, changes, notice) => {
  const { output, broker, notices, announced } = await openOutput(changes, control);
  output.info!({});
  await until("the announcement", () => broker.heard.length === 1);
  expect(broker.take()).toEqual([announced({})]);
  expect(notices).toEqual(notice ? [expect.stringMatching(notice)] : []);
});

test("no broker is refused, and that of this process is reported", async () => {
  await expect(openOutput({ broker: () => undefined })).rejects.toThrow(
    "outputs.homeAssistant.enabled: expected a broker in outputs.mqtt.broker with it, got none",
  );
  const { access, close } = await startSideListener();
  cleanups.push(close);
  const { notices } = await openOutput({ broker: () => ({ ...access, embedded: true }) });
  expect(notices).toEqual([expect.stringContaining("is reached from this machine only")]);
});
