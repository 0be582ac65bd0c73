// SPDX-License-Identifier: Apache-2.0
// Home Assistant's side played at Mosquitto: announcement, birth, removal, a switch and a select that change the run.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import mqtt, { type MqttClient } from "mqtt";
import { afterEach, expect, test } from "vitest";
import { objectId } from "../../edge/outputs/homeassistant/discovery.js";
import { until } from "../doubles/frames.js";
import { type Mosquitto, startMosquitto } from "../doubles/mosquitto.js";
import { needs } from "../doubles/needs.js";
import { type Running, startProgram } from "../doubles/program.js";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

interface Heard {
  topic: string;
  text: string;
  retained: boolean;
}

async function listener(broker: Mosquitto, ...filters: string[]) {
  const client: MqttClient = await mqtt.connectAsync(broker.url, { protocolVersion: 5 });
  cleanups.push(() => client.endAsync(true));
  const heard: Heard[] = [];
  client.on("message", (topic, payload, { retain }) => {
    heard.push({ topic, text: payload.toString(), retained: retain });
  });
  for (const filter of filters) await client.subscribeAsync(filter);
  return { client, heard };
}

async function start(broker: Mosquitto, ...set: string[]): Promise<Running> {
  const small = ["source.synthetic.width=96", "source.synthetic.height=64", "match.numDisparities=16"];
  const all = [...small, "power.sensor=none", "outputs.viewer.enabled=false", ...set];
  const words = ["run", "--broker", broker.url, "--device", "robot-1", "--rate", "20"];
  const running = startProgram([...words, ...all.flatMap((one) => ["--set", one])]);
  cleanups.push(async () => {
    running.child.kill("SIGTERM");
    await running.ended;
  });
  return running;
}

const CONFIG = `homeassistant/device/${objectId("depthwatt", "robot-1")}/config`;
const HA = "depthwatt/robot-1/homeassistant";

needs("mosquitto").suite("Home Assistant's discovery at Mosquitto", () => {
  test("announces, retained; again on birth; changes by switch and select; is removed on request", async () => {
    const broker = await startMosquitto();
    cleanups.push(() => broker.stop());
    const { client, heard } = await listener(broker, "homeassistant/#", `${HA}/#`);
    await start(
      broker,
      "outputs.homeAssistant.enabled=true",
      "control.enabled=true",
      "control.authentication=broker",
      "outputs.homeAssistant.switches=refine.median,outputs.homeAssistant.announced",
    );
    const configs = () => heard.filter(({ topic }) => topic === CONFIG);
    await until("the announcement", () => configs().length > 0, 20_000);
    const late = await listener(broker, CONFIG);
    await until("the retained announcement", () => late.heard.length === 1, 5000);
    expect(late.heard[0]).toMatchObject({ retained: true });
    const { components } = JSON.parse(late.heard[0]!.text);
    expect(components.set_match_algorithm.options).toContain("cbca");

    const before = configs().length;
    await client.publishAsync("homeassistant/status", "online");
    await until("the second announcement", () => configs().length > before, 5000);

    const last = (topic: string) => heard.findLast((one) => one.topic === topic)?.text;
    expect(last(`${HA}/refine.median/state`)).toBe("ON");
    await client.publishAsync(`${HA}/refine.median/set`, "OFF");
    await until("the switch", () => last(`${HA}/refine.median/state`) === "OFF", 5000);
    await client.publishAsync(`${HA}/match.algorithm/set`, "cbca");
    await until("the select", () => last(`${HA}/match.algorithm/state`) === "cbca", 5000);
    const info = await listener(broker, "depthwatt/robot-1/info");
    await until("info", () => info.heard.at(-1)?.text.includes('"cbca"') === true, 5000);
    expect(JSON.parse(info.heard.at(-1)!.text)).toMatchObject({
      algorithm: "cbca",
      parameters: { refine: { median: false } },
    });
    // An invalid answer of the select changes nothing, and the current value is reported again.
    const reported = heard.length;
    await client.publishAsync(`${HA}/match.algorithm/set`, "guessing");
    await until("the refusal", () => heard.length > reported + 1, 5000);
    expect(last(`${HA}/match.algorithm/state`)).toBe("cbca");

    await client.publishAsync(`${HA}/outputs.homeAssistant.announced/set`, "OFF");
    await until("the removal", () => last(CONFIG) === "", 5000);
    await new Promise((resolve) => setTimeout(resolve, 300));
    const removed = await listener(broker, CONFIG);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(removed.heard).toEqual([]);
  });

  test("without the broker's word for it there are no switches, and the log says why", async () => {
    const broker = await startMosquitto();
    cleanups.push(() => broker.stop());
    const { heard } = await listener(broker, CONFIG);
    const folder = mkdtempSync(join(tmpdir(), "depthwatt-ha-"));
    cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
    writeFileSync(join(folder, "secret"), `${"s".repeat(32)}\n`, { mode: 0o600 });
    const control = ["control.enabled=true", `control.secretFile=${join(folder, "secret")}`];
    const run = await start(broker, "outputs.homeAssistant.enabled=true", ...control);
    await until("the announcement", () => heard.length > 0, 20_000);
    expect(heard.at(-1)!.text).not.toContain("command_topic");
    expect(run.stderr()).toContain("cannot sign requests");
  });

  test("a broker that keeps nothing is a clear error, and the run continues", async () => {
    const broker = await startMosquitto({ settings: ["allow_anonymous true", "retain_available false"] });
    cleanups.push(() => broker.stop());
    const run = await start(broker, "outputs.homeAssistant.enabled=true");
    await until("the message", () => run.stderr().includes("keeps no retained messages"), 20_000);
    expect(run.stderr()).toContain("retain_available true");
    expect(run.child.exitCode).toBeNull();
  });

  test("no broker to announce at is an error at the start", async () => {
    const words = ["run", "--broker", "none", "--frames", "1", "--set", "outputs.homeAssistant.enabled=true"];
    const ran = await startProgram(words).ended;
    expect(ran.code).toBe(2);
    expect(ran.stderr).toContain("expected a broker in outputs.mqtt.broker");
  });
});
