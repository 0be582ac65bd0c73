// SPDX-License-Identifier: Apache-2.0
// Fifty devices at Mosquitto bridged to Mosquitto, at NATS and at RabbitMQ, all at once: nothing is mixed up, the table is right,
// and so is the retained state right after the broker was restarted. FLEET_SECONDS says how long they publish.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import mqtt from "mqtt";
import { afterEach, expect, test } from "vitest";
import { connectConsumer } from "../../clients/javascript/src/index.js";
import { FRAME_HEADROOM_BYTES } from "../../core/frame/frame-format.js";
import { encodeRvl, rvlMaxBytes } from "../../core/frame/rvl.js";
import type { FleetDevice } from "../../edge/commands/fleet/fleet.js";
import { createPublisher } from "../../edge/outputs/mqtt/publisher.js";
import type { Publisher } from "../../edge/outputs/mqtt/publisher-types.js";
import { makeFrame, sleep, until } from "../doubles/frames.js";
import { freePort, type Mosquitto, startMosquitto } from "../doubles/mosquitto.js";
import { needs } from "../doubles/needs.js";
import { natsWithMqtt, rabbitWithMqtt } from "../doubles/other-brokers.js";
import { lastJson, runProgram, startProgram } from "../doubles/program.js";
import { startInTerminal } from "../doubles/terminal.js";

const DEVICES = 50;
const SECONDS = Number(process.env.FLEET_SECONDS ?? 6);
const robotName = (index: number) => `robot-${String(index).padStart(2, "0")}`;

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A broker, or two: devices publish at one, people read at the other. */
interface Site {
  devices: string;
  readers: string;
  restart(): Promise<void>;
}

/** Each device's pictures hold its number in every pixel, its info its version, its metrics its rate. */
class SimulatedDevice {
  readonly publisher: Publisher;
  readonly #index: number;

  constructor(url: string, index: number) {
    this.#index = index;
    this.publisher = createPublisher({ broker: url, base: "depthwatt", device: robotName(index) });
    this.publisher.state(
      index % 10 === 3 ? "degraded" : "online",
      index % 10 === 3 ? "one camera is late" : "runs",
    );
    this.publisher.info({ version: `1.0.${index}`, board: "orin-nano", backend: "cuda", algorithm: "sgm" });
  }

  publish(): void {
    const index = this.#index;
    const [width, height] = [64, 48];
    const pixels = new Uint16Array(width * height).fill(1000 + index);
    const buffer = new Uint8Array(FRAME_HEADROOM_BYTES + rvlMaxBytes(pixels.length));
    const bytes = encodeRvl(pixels, buffer, FRAME_HEADROOM_BYTES);
    this.publisher.publish(
      buffer,
      FRAME_HEADROOM_BYTES,
      bytes,
      makeFrame(index, {}, [width, height]).frame,
      () => {},
    );
    const power = {
      available: true,
      watts: 10,
      fpsPerWatt: (10 + index) / 10,
      joulesPerFrame: 10 / (10 + index),
    };
    this.publisher.metrics({ fps: 10 + index, power });
  }
}

async function bridged(): Promise<Site> {
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-bridge-"));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  const near = await startMosquitto();
  cleanups.push(() => near.stop());
  const port = await freePort();
  const settings = [
    "allow_anonymous true",
    "persistence true",
    `persistence_location ${folder}/`,
    "connection site",
    `address 127.0.0.1:${near.port}`,
    "topic depthwatt/# in 1",
    "cleansession true",
    "restart_timeout 1",
  ];
  let far: Mosquitto = await startMosquitto({ settings, port });
  cleanups.push(() => far.stop());
  return {
    devices: near.url,
    readers: far.url,
    async restart() {
      await far.stop();
      far = await startMosquitto({ settings, port });
    },
  };
}

async function other(made: typeof natsWithMqtt): Promise<Site> {
  const broker = await made();
  cleanups.push(() => broker.remove());
  await broker.start();
  return {
    devices: broker.url,
    readers: broker.url,
    async restart() {
      await broker.stop();
      await broker.start();
    },
  };
}

async function readTable(site: Site): Promise<FleetDevice[]> {
  const ran = await runProgram(["fleet", site.readers, "--seconds", "4", "--json"]);
  expect(ran.code, ran.stderr).toBe(0);
  return lastJson<{ devices: FleetDevice[] }>(ran).devices;
}

/** Where a broker, a bridge or the machine takes its time, the table is right a little later. */
async function rightTable(site: Site): Promise<FleetDevice[]> {
  for (const deadline = performance.now() + 60_000; ; await sleep(500)) {
    try {
      const devices = await readTable(site);
      checkTable(devices);
      return devices;
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
  }
}

function checkTable(devices: readonly FleetDevice[]): void {
  expect(devices.map(({ device }) => device)).toEqual(
    Array.from({ length: DEVICES }, (_, index) => robotName(index)),
  );
  for (const [index, device] of devices.entries()) {
    const degraded = index % 10 === 3;
    expect(device).toMatchObject({
      state: degraded ? "degraded" : "online",
      version: `1.0.${index}`,
      board: "orin-nano",
      fps: 10 + index,
      watts: 10,
      fpsPerWatt: (10 + index) / 10,
      warnings: degraded ? ["one camera is late"] : [],
    });
  }
}

/** Tests the messages of every device to a new subscriber, by exact topics: RabbitMQ keeps nothing for wildcards. */
async function retainedAt(url: string): Promise<Map<string, Record<string, unknown>>> {
  const client = await mqtt.connectAsync(url, { protocolVersion: 4 });
  cleanups.push(() => client.endAsync(true));
  const kept = new Map<string, Record<string, unknown>>();
  client.on("message", (topic, payload) => {
    kept.set(topic, JSON.parse(payload.toString()));
  });
  const names = Array.from({ length: DEVICES }, (_, index) => robotName(index));
  await client.subscribeAsync(names.flatMap((name) => [`depthwatt/${name}/state`, `depthwatt/${name}/info`]));
  await until("retained messages of all devices", () => kept.size === 2 * DEVICES, 20_000);
  return kept;
}

async function exercise(site: Site): Promise<string> {
  const devices = Array.from({ length: DEVICES }, (_, index) => new SimulatedDevice(site.devices, index));
  cleanups.push(() => Promise.all(devices.map(({ publisher }) => publisher.close())));
  await Promise.all(devices.map(({ publisher }) => publisher.firstAttempt));
  const consumer = connectConsumer(site.readers);
  cleanups.push(() => consumer.close());
  const frames = new Map<string, number>();
  const wrong: string[] = [];
  consumer.on("invalid", ({ device, error }) => wrong.push(`${device}: ${error.message}`));
  consumer.on("concurrentPublishers", ({ device }) => wrong.push(`${device} has more than one publisher`));
  consumer.on("frame", (frame) => {
    frames.set(frame.device, (frames.get(frame.device) ?? 0) + 1);
    const counts = frame.counts();
    const marker = 1000 + Number(frame.device.slice(-2));
    if (counts.some((count) => count !== marker))
      wrong.push(`${frame.device} has pictures of ${counts[0]! - 1000}`);
  });
  const timer = setInterval(() => {
    for (const device of devices) device.publish();
  }, 1000);
  cleanups.push(() => clearInterval(timer));
  await sleep(SECONDS * 1000);
  const before = await rightTable(site);
  expect(wrong).toEqual([]);
  await until("a frame of each", () => frames.size === DEVICES, 30_000);
  const enough = Math.floor(SECONDS * 0.7);
  await until("frames of each", () => Math.min(...frames.values()) >= enough, 30_000);
  const least = Math.min(...frames.values());
  // Changes just before the end of the broker are there again after it.
  await site.restart();
  await until(
    "the devices are back",
    () => devices.every(({ publisher }) => publisher.counters().connected),
    150_000,
  );
  await sleep(2500);
  await rightTable(site);
  expect(wrong).toEqual([]);
  // With all devices gone only the broker can know of them, right after it has started.
  clearInterval(timer);
  const seen = await retainedAt(site.readers);
  await Promise.all(devices.map(({ publisher }) => publisher.close()));
  const stopped = (index: number) => seen.get(`depthwatt/${robotName(index)}/state`)?.state === "stopped";
  await until(
    "the readers' broker has their last states",
    () => devices.every((_, index) => stopped(index)),
    30_000,
  );
  await sleep(500);
  await site.restart();
  const kept = await retainedAt(site.readers);
  for (let index = 0; index < DEVICES; index++) {
    expect(kept.get(`depthwatt/${robotName(index)}/state`)).toMatchObject({ state: "stopped" });
    expect(kept.get(`depthwatt/${robotName(index)}/info`)).toMatchObject({ version: `1.0.${index}` });
  }
  return `${before.length} devices, ${[...frames.values()].reduce((sum, count) => sum + count, 0)} frames, at least ${least} of each`;
}

const LIMIT_MS = (SECONDS + 400) * 1000;

needs("mosquitto").suite("fifty devices at Mosquitto bridged to Mosquitto", () => {
  test("the table, the pictures, a restart", { timeout: LIMIT_MS }, async () => {
    console.info(`Mosquitto bridged: ${await exercise(await bridged())}`);
  });
});

needs("nats").suite("fifty devices at NATS with its MQTT listener", () => {
  test("the table, the pictures, a restart", { timeout: LIMIT_MS }, async () => {
    console.info(`NATS: ${await exercise(await other(natsWithMqtt))}`);
  });
});

needs("rabbitmq").suite("fifty devices at RabbitMQ's MQTT plugin", () => {
  test("the table, the pictures, a restart", { timeout: LIMIT_MS }, async () => {
    console.info(`RabbitMQ: ${await exercise(await other(rabbitWithMqtt))}`);
  });
});

needs("mosquitto").suite("fleet --watch in a terminal", () => {
  test("shows the table again and again in the same place, cut to the terminal, until Ctrl-C", async () => {
    const broker = await startMosquitto();
    cleanups.push(() => broker.stop());
    const device = new SimulatedDevice(broker.url, 3);
    cleanups.push(() => device.publisher.close());
    await device.publisher.firstAttempt;
    const timer = setInterval(() => device.publish(), 200);
    cleanups.push(() => clearInterval(timer));
    const columns = 72;
    const fleet = startInTerminal(["fleet", broker.url, "--watch", "--seconds", "1"], columns);
    cleanups.push(() => fleet.kill());
    // Home, then clear: what the table before showed is gone.
    const tables = () => fleet.shown().split("\u001b[H\u001b[2J").slice(1);
    await until(
      "two tables",
      () => tables().filter((table) => table.includes("13.0 fps")).length >= 2,
      30_000,
    );
    const lines = tables().at(-2)!.trim().split("\r\n");
    expect(lines[0]).toMatch(/^DEVICE +STATE +FPS +W +FPS\/W +VERSION/);
    expect(lines[1]).toMatch(/^robot-03 +degraded +13\.0 +10\.0 +1\.30 +1\.0\.3 +orin-nano/);
    expect(lines[2]).toBe("1 device: 1 degraded; 13.0 fps together, 10.0 W of 1");
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns);
    // The state that changes meanwhile is in a table to come.
    device.publisher.state("online", "runs again");
    await until("the new state", () => tables().at(-1)!.includes("1 online"), 10_000);
    fleet.press("\u0003");
    expect(await fleet.ended).toBe(0);
  });

  test("without a terminal it prints tables one after the other, with --json one object a line", async () => {
    const broker = await startMosquitto();
    cleanups.push(() => broker.stop());
    const device = new SimulatedDevice(broker.url, 4);
    cleanups.push(() => device.publisher.close());
    await device.publisher.firstAttempt;
    const fleet = startProgram(["fleet", broker.url, "--watch", "--seconds", "0.5", "--json"]);
    const lines = () => fleet.stdout().trim().split("\n").filter(Boolean);
    await until("three objects", () => lines().length >= 3, 30_000);
    fleet.child.kill("SIGINT");
    await fleet.ended;
    for (const line of lines()) expect(JSON.parse(line).overlooked).toBe(0);
    expect(fleet.stdout()).not.toContain("\u001b");
  });
});

test("a fleet without a broker is an error that says what to do", async () => {
  const ran = await runProgram(["fleet", "mqtt://127.0.0.1:1"]);
  expect(ran.code).toBe(5);
  expect(ran.stderr).toContain("nothing listens there");
});
