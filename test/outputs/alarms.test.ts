// SPDX-License-Identifier: Apache-2.0
// Alarms at Mosquitto: retained, unknown without depth, unavailable when the device is gone, and as Home Assistant shows them.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import mqtt from "mqtt";
import { afterEach, expect, test } from "vitest";
import { AlarmTopic } from "../../edge/outputs/derived/alarm-topic.js";
import { parseAlarms } from "../../edge/outputs/derived/alarms.js";
import { until } from "../doubles/frames.js";
import { type Mosquitto, startMosquitto } from "../doubles/mosquitto.js";
import { needs } from "../doubles/needs.js";
import { obstacleRecording, rendered, runObstacle, ZONES } from "../doubles/obstacle-scene.js";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

interface Message {
  text: string;
  retained: boolean;
  expirySeconds: number | undefined;
}

/** Everything on the topics, in order. */
async function listen(broker: Mosquitto, ...topics: string[]) {
  const client = await mqtt.connectAsync(broker.url, { protocolVersion: 5 });
  cleanups.push(() => client.endAsync(true));
  const heard: Message[] = [];
  client.on("message", (_, payload, { retain, properties }) => {
    const expirySeconds = properties?.messageExpiryInterval;
    heard.push({ text: payload.toString(), retained: retain, expirySeconds });
  });
  await client.subscribeAsync(topics);
  const last = () => (heard.length === 0 ? undefined : JSON.parse(heard.at(-1)!.text || "{}"));
  return { heard, last };
}

const TOPIC = "depthwatt/robot/alarms";
const states = (document?: { alarms?: Record<string, { state: string }> }) =>
  document?.alarms &&
  Object.fromEntries(Object.entries(document.alarms).map(([zone, { state }]) => [zone, state]));

async function start(broker: Mosquitto, folder: string, calibration: string) {
  const settings = [
    ...["outputs.derived.enabled=true", "outputs.homeAssistant.enabled=true"],
    ZONES,
    "outputs.derived.alarms=right 1.5; left 1.5; corner 1.5",
    "outputs.metricsIntervalMs=200",
  ];
  const run = runObstacle(folder, calibration, broker.url, settings);
  cleanups.push(async () => {
    run.child.kill("SIGTERM");
    await run.ended;
  });
  return run;
}

const SEEN = { right: "on", left: "off", corner: "unknown" };

needs("mosquitto", "jinja2").suite("alarms", () => {
  test("of a run are retained, and unavailable when it was killed or has ended", async () => {
    const folder = mkdtempSync(join(tmpdir(), "depthwatt-alarms-"));
    cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
    const calibration = await obstacleRecording(folder);
    const broker = await startMosquitto();
    cleanups.push(() => broker.stop());
    const alarms = await listen(broker, TOPIC);
    const metrics = await listen(broker, "depthwatt/robot/metrics");
    const config = await listen(broker, "homeassistant/device/+/config");
    const killed = await start(broker, folder, calibration);
    await until("the states", () => states(alarms.last())?.right === "on", 30_000);
    // Before the first frame nothing is known.
    expect(new Set(Object.values(states(JSON.parse(alarms.heard[0]!.text))!))).toEqual(new Set(["unknown"]));
    expect(states(alarms.last())).toEqual(SEEN);
    expect(alarms.last().alarms.corner.reason).toBe("fewer than 30 pixels of the zone were matched");
    await until("metrics", () => metrics.last()?.outputs.derived.alarms?.right === "on", 10_000);

    const late = await listen(broker, TOPIC);
    await until("the retained alarms", () => late.heard.length > 0, 5000);
    expect(late.heard[0]!.retained).toBe(true);
    expect(late.heard[0]!.expirySeconds).toBeLessThanOrEqual(30);

    await until("the announcement", () => config.last()?.components.alarm_right !== undefined, 10_000);
    const { components } = config.last();
    const online = { right: "ON", left: "OFF", corner: "None" };
    const shown = (message: string) =>
      Object.fromEntries(
        Object.keys(online).map((zone) => {
          const { value_template, availability } = components[`alarm_${zone}`];
          const available = rendered(availability[1].value_template, message);
          return [zone, available === "online" ? rendered(value_template, message) : available];
        }),
      );
    expect(components.alarm_right).toMatchObject({
      platform: "binary_sensor",
      state_topic: TOPIC,
      availability: [{ topic: "depthwatt/robot/state" }, { topic: TOPIC }],
    });
    expect(shown(late.heard[0]!.text)).toEqual(online);

    killed.child.kill("SIGKILL");
    await killed.ended;
    await until("the last will", () => alarms.last().available === false, 5000);
    expect(alarms.last()).toEqual({ available: false, reason: "the device is not connected" });
    const offline = { right: "offline", left: "offline", corner: "offline" };
    expect(shown(alarms.heard.at(-1)!.text)).toEqual(offline);
    // The value template must not fail either: Home Assistant renders both.
    expect(rendered(components.alarm_right.value_template, alarms.heard.at(-1)!.text)).toBe("None");

    const before = alarms.heard.length;
    const ended = await start(broker, folder, calibration);
    await until("the states", () => states(alarms.last())?.right === "on", 30_000);
    expect(states(JSON.parse(alarms.heard[before]!.text))?.left).toBe("unknown");
    ended.child.kill("SIGTERM");
    await ended.ended;
    await until("the end", () => alarms.last().reason === "the program has ended", 5000);
  });

  test("are unknown when frames stop, are repeated, and vanish with the last alarm", async () => {
    const broker = await startMosquitto();
    cleanups.push(() => broker.stop());
    const { heard, last } = await listen(broker, TOPIC);
    let nowMs = 0;
    const access = { url: broker.url, protocolVersion: 5 as const, embedded: false };
    const notice = (text: string) => expect.fail(text);
    const topic = new AlarmTopic({
      broker: access,
      device: "robot",
      topic: TOPIC,
      notice,
      nowMs: () => nowMs,
    });
    cleanups.push(() => topic.close());
    const rules = parseAlarms("ahead 1", ["ahead"]);
    if (typeof rules === "string") expect.fail(rules);
    topic.configure(rules, () => true, 10);
    await topic.ready;
    topic.frame({ ahead: { nearestMetres: 2, matchedShare: 1 } });
    await until("off", () => last()?.alarms.ahead.state === "off", 5000);
    nowMs = 2000;
    topic.check();
    expect(topic.states).toEqual({ ahead: "off" });
    nowMs = 2001;
    topic.check();
    await until("unknown", () => last().alarms.ahead.state === "unknown", 5000);
    expect(last().alarms.ahead).toEqual({ state: "unknown", reason: "no frame for 2 s", metres: 1 });
    const count = heard.length;
    nowMs = 12_000;
    topic.check();
    nowMs = 12_001;
    topic.check();
    await until("the repetition", () => heard.length > count, 5000);
    topic.configure([], () => true, 10);
    await until("the removal", () => heard.at(-1)!.text === "", 5000);
    // The expected texts: unknown at the start, off, unknown, its repetition, nothing.
    expect(heard).toHaveLength(count + 2);
    expect(topic.names).toEqual([]);
    expect(topic.sent.sent).toBe(0);
    await until("the count of what was sent", () => topic.sent.sent === heard.length, 5000);
  });
});
