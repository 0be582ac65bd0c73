// SPDX-License-Identifier: Apache-2.0
// An obstacle at a known distance, from the cameras' images to what Home Assistant shows: two planes of noise, shifted by whole
// pixels, in front of constructed cameras.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import mqtt from "mqtt";
import { afterEach, expect, test } from "vitest";
import { until } from "../doubles/frames.js";
import { startMosquitto } from "../doubles/mosquitto.js";
import { needs } from "../doubles/needs.js";
import {
  BASELINE_METRES,
  FOCAL_PIXELS,
  HEIGHT,
  obstacleRecording,
  rendered,
  runObstacle,
  WIDTH,
  ZONES,
} from "../doubles/obstacle-scene.js";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

needs("mosquitto", "jinja2").suite("the nearest obstacle", () => {
  test("is reported by topic and by Home Assistant at the distance where it stands", async () => {
    const folder = mkdtempSync(join(tmpdir(), "depthwatt-obstacle-"));
    cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
    const calibration = await obstacleRecording(folder);
    const broker = await startMosquitto();
    cleanups.push(() => broker.stop());
    const settings = [...["outputs.derived.enabled=true", "outputs.homeAssistant.enabled=true"], ZONES];
    const run = runObstacle(folder, calibration, broker.url, settings);
    cleanups.push(async () => {
      run.child.kill("SIGTERM");
      await run.ended;
    });
    const heard = new Map<string, string>();
    const client = await mqtt.connectAsync(broker.url);
    cleanups.push(() => client.endAsync(true));
    client.on("message", (topic, payload) => heard.set(topic, payload.toString()));
    await client.subscribeAsync(["homeassistant/device/+/config", "depthwatt/robot/zones"]);
    const config = () => [...heard].find(([topic]) => topic.startsWith("homeassistant/"))?.[1];
    await until(
      "announcement and zones",
      () => config() !== undefined && heard.has("depthwatt/robot/zones"),
      30_000,
    ).catch((error: Error) => expect.fail(`${error.message}\n${run.stderr()}`));
    const topic = heard.get("depthwatt/robot/zones")!;
    const { zones } = JSON.parse(topic);
    // The nearest of many pixels: a quarter of a pixel of disparity is 10 mm at 1 m and 94 mm at 3 m.
    const quarter = (metres: number) => (0.25 * metres * metres) / (FOCAL_PIXELS * BASELINE_METRES);
    expect(Math.abs(zones.right.nearestMetres - 1)).toBeLessThan(quarter(1));
    expect(Math.abs(zones.left.nearestMetres - 3)).toBeLessThan(quarter(3));
    expect(zones.corner.nearestMetres).toMatchObject({ available: false });

    // Home Assistant renders value_template by Jinja with the message as value_json; None is "unknown".
    const { components } = JSON.parse(config()!);
    const states = ["right", "left", "corner"].map((zone) => {
      const entity = components[`zone_${zone}`];
      expect(entity).toMatchObject({
        platform: "sensor",
        state_topic: "depthwatt/robot/zones",
        unit_of_measurement: "m",
        device_class: "distance",
      });
      return rendered(entity.value_template, topic);
    });
    expect(states).toEqual([String(zones.right.nearestMetres), String(zones.left.nearestMetres), "None"]);
  });

  test("is found again for detections of Frigate: late, early, gone, of the future, and ten thousand at once", async () => {
    const folder = mkdtempSync(join(tmpdir(), "depthwatt-detections-"));
    cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
    const calibration = await obstacleRecording(folder);
    const broker = await startMosquitto({ settings: ["allow_anonymous true", "max_queued_messages 0"] });
    cleanups.push(() => broker.stop());
    const settings = [
      ...["outputs.detections.enabled=true", "outputs.detections.rateHz=max"],
      ...["outputs.detections.format=frigate", "outputs.detections.topic=frigate/events"],
      ...[`outputs.detections.imageWidth=${2 * WIDTH}`, `outputs.detections.imageHeight=${2 * HEIGHT}`],
    ];
    const run = runObstacle(folder, calibration, broker.url, settings);
    cleanups.push(async () => {
      run.child.kill("SIGTERM");
      await run.ended;
    });
    const client = await mqtt.connectAsync(broker.url);
    cleanups.push(() => client.endAsync(true));
    // biome-ignore lint/suspicious/noExplicitAny: answers of several shapes
    const answers: any[] = [];
    // biome-ignore lint/suspicious/noExplicitAny: as above
    let metrics: any;
    client.on("message", (topic, payload) => {
      if (topic.endsWith("/metrics")) metrics = JSON.parse(payload.toString()).outputs.detections;
      else answers.push(JSON.parse(payload.toString()));
    });
    await client.subscribeAsync(["depthwatt/robot/distances", "depthwatt/robot/metrics"]);
    const event = (secondsFromNow: number, type = "update", box: unknown = [230, 90, 310, 170]) => {
      const after = { id: "1735689600.25-k3x9qd", camera: "porch", label: "person", box };
      return JSON.stringify({ type, after: { ...after, frame_time: Date.now() / 1000 + secondsFromNow } });
    };
    const ask = async (message: string) => {
      const before = answers.length;
      await client.publishAsync("frigate/events", message);
      await until("an answer", () => answers.length > before, 10_000);
      return answers.at(-1);
    };
    await until("metrics", () => metrics?.connected === true, 30_000).catch((error: Error) =>
      expect.fail(`${error.message}\n${run.stderr()}`),
    );
    // A frame in the past, the newest one, and one that is computed soon; all show the obstacle at 1 m.
    for (const seconds of [-0.5, 0, 0.4]) {
      const answer = await ask(event(seconds));
      expect(answer.detections, JSON.stringify(answer)).toHaveLength(1);
      expect(answer.detections[0]).toMatchObject({
        id: "1735689600.25-k3x9qd",
        label: "person",
        clipped: false,
      });
      expect(Math.abs(answer.detections[0].distanceMetres - 1)).toBeLessThan(0.01);
      expect(answer.detections[0].matchedShare).toBeGreaterThan(0.3);
      expect(answer.nearestMetres).toEqual({ person: answer.detections[0].distanceMetres });
    }
    const refused = (reason: string) => ({ ok: false, reason: expect.stringContaining(reason) });
    expect(await ask(event(-60))).toMatchObject(refused("older than"));
    expect(await ask(event(60))).toMatchObject(refused("in the future"));
    expect(await ask("x".repeat(200_000))).toMatchObject(refused("at most 65536 bytes"));
    const outside = await ask(event(-0.5, "update", [900, 0, 990, 90]));
    expect(outside.detections[0].distanceMetres.reason).toContain("outside the image");
    expect(await ask(event(0, "end"))).toMatchObject({ detections: [{ ended: true }], nearestMetres: {} });

    await until("metrics of all this", () => metrics.measured === 4 && metrics.refused.late === 1, 10_000);
    const before = answers.length;
    const asked = event(-0.5);
    for (let sent = 0; sent < 10_000; sent++) client.publish("frigate/events", asked, { qos: 1 });
    const counted = () => {
      const { late, rateLimit = 0, busy = 0 } = metrics.refused;
      return metrics.measured - 4 + late - 1 + rateLimit + busy;
    };
    await until("all are counted", () => counted() === 10_000, 60_000);
    // Each was answered, or is in a count of messages that were refused together.
    const answered = () =>
      answers.slice(before).reduce((sum, { refused: together }) => {
        const counts: number[] = together === undefined ? [1] : Object.values(together);
        return counts.reduce((all, count) => all + count, sum);
      }, 0);
    await until("all are answered", () => answered() === 10_000, 10_000);
    expect(metrics.refused.rateLimit).toBeGreaterThan(5000);
    // Frames were computed all the while.
    expect((await ask(event(0.4))).detections[0].distanceMetres).toBeCloseTo(1, 1);
  });
});
