// SPDX-License-Identifier: Apache-2.0
// The trial broker without its thread: what it forwards, keeps and refuses, and who may open a WebSocket to it.
import mqtt, { type IClientOptions, type MqttClient } from "mqtt";
import { afterEach, expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import { type BrokerLimits, type BrokerPorts, startBrokerCore } from "../../../edge/broker/broker-core.js";
import { until } from "../../doubles/frames.js";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function start(limits: Partial<BrokerLimits> = {}, ports: Partial<BrokerPorts> = {}) {
  const core = await startBrokerCore(
    {
      maxPendingBytesPerClient: 1e6,
      maxConnections: 8,
      maxPacketBytes: 100_000,
      maxRetainedBytes: 1000,
      maxRetainedMessages: 2,
      ...limits,
    },
    { mqtt: 0, webSocket: undefined, ...ports },
  );
  cleanups.push(() => core.close());
  const connect = async (options: IClientOptions = {}) => {
    const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${core.port}`, {
      protocolVersion: 4,
      reconnectPeriod: 0,
      ...options,
    });
    client.on("error", () => {});
    cleanups.push(() => client.endAsync(true));
    return client;
  };
  const listen = async (topic: string) => {
    const client = await connect();
    const texts: string[] = [];
    client.on("message", (name, payload) => texts.push(`${name} ${payload}`));
    await client.subscribeAsync(topic, { qos: 1 });
    return { client, texts };
  };
  return { core, connect, listen };
}

const isClosed = (client: MqttClient) => () => !client.connected;

test("messages reach subscribers and are counted, those for one that is behind are dropped and counted", async () => {
  // As many bytes as the limit may wait: none here.
  const { core, connect, listen } = await start({ maxPendingBytesPerClient: 0 });
  const { texts } = await listen("a/#");
  const sender = await connect();
  for (const [topic, text] of [
    ["a/1", "one"],
    ["b/1", "not asked for"],
    ["a/2", "two"],
  ] as const)
    await sender.publishAsync(topic, text, { qos: 1 });
  await until("both came", () => texts.length === 2);
  expect(texts).toEqual(["a/1 one", "a/2 two"]);
  const none = { dropped: 0, droppedBytes: 0, refusedConnections: 0 };
  expect(core.counters()).toEqual({ connections: 2, forwarded: 2, ...none });
  expect(core.webSocketPort).toBeUndefined();

  const strict = await start({ maxPendingBytesPerClient: -1 });
  const behind = await strict.listen("a");
  const other = await strict.connect();
  await other.publishAsync("a", "12345", { qos: 1 });
  await other.publishAsync("a", "123", { qos: 1 });
  expect(strict.core.counters()).toEqual({
    ...none,
    connections: 2,
    forwarded: 0,
    dropped: 2,
    droppedBytes: 8,
  });
  expect([behind.texts, behind.client.connected]).toEqual([[], true]);
});

test("a subscriber that is behind for more than 20 s is disconnected", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  cleanups.push(() => vi.useRealTimers());
  const { connect, listen } = await start({ maxPendingBytesPerClient: -1 });
  const { client } = await listen("a");
  const sender = await connect();
  await sender.publishAsync("a", "x", { qos: 1 });
  vi.advanceTimersByTime(20_000);
  await sender.publishAsync("a", "x", { qos: 1 });
  // An answer to the subscriber comes behind everything that was sent to it before.
  await client.subscribeAsync("b");
  expect(client.connected).toBe(true);
  vi.advanceTimersByTime(1);
  sender.publish("a", "x", { qos: 1 });
  // A clock that stands still has no deadline.
  while (client.connected) await new Promise((resolve) => setImmediate(resolve));
  expect(sender.connected).toBe(true);
});

test("retained messages come to newcomers, within limits; the broker's own topics are not published to", async () => {
  const { connect, listen } = await start();
  const sender = await connect();
  for (const topic of ["a", "b"]) await sender.publishAsync(topic, topic, { qos: 1, retain: true });
  const { texts } = await listen("#");
  await until("both came", () => texts.length === 2);
  expect(texts.sort()).toEqual(["a a", "b b"]);
  // Removed, another one has its place.
  await sender.publishAsync("a", "", { qos: 1, retain: true });
  await sender.publishAsync("c", "c", { qos: 1, retain: true });
  sender.publish("d", "d", { qos: 1, retain: true });
  await until("one too many ends its connection", isClosed(sender));
  const large = await connect();
  large.publish("c", "x".repeat(1000), { retain: true });
  await until("too many bytes end it too", isClosed(large));
  const unretained = await connect();
  await unretained.publishAsync("d", "x".repeat(2000), { qos: 1 });
  unretained.publish("$SYS/x", "x");
  await until("the broker's own topic ends it", isClosed(unretained));
});

test("a client has 1000 subscriptions, and has room again when it gives some up", async () => {
  const { connect } = await start();
  const client = await connect();
  const topics = (from: number, count: number) => Array.from({ length: count }, (_, i) => `t/${from + i}`);
  const granted = async (names: string[]) => {
    const counts = { granted: 0, refused: 0 };
    await new Promise<void>((done) =>
      client.subscribe(names, { qos: 0 }, (_error, _granted, packet) => {
        for (const code of (packet?.granted ?? []) as number[])
          if (code < 128) counts.granted++;
          else counts.refused++;
        done();
      }),
    );
    return counts;
  };
  expect(await granted(topics(0, 1000))).toEqual({ granted: 1000, refused: 0 });
  expect(await granted(["more"])).toEqual({ granted: 0, refused: 1 });
  await client.unsubscribeAsync(topics(0, 2));
  expect(await granted(["more", "and more", "too many"])).toEqual({ granted: 2, refused: 1 });
});

test("a session ends with its connection, and a newcomer without a place is refused and counted", async () => {
  const { core, connect } = await start({ maxConnections: 1 });
  const options = { clientId: "keeps", clean: false };
  const first = await connect(options);
  await first.subscribeAsync("a", { qos: 1 });
  await expect(connect()).rejects.toThrow();
  expect(core.counters()).toMatchObject({ connections: 1, refusedConnections: 1 });
  await first.endAsync();
  await until("its place is free", () => core.counters().connections === 0);
  const again = mqtt.connect(`mqtt://127.0.0.1:${core.port}`, { ...options, protocolVersion: 4 });
  cleanups.push(() => again.endAsync(true));
  const isKept = new Promise((resolve) =>
    again.once("connect", ({ sessionPresent }) => resolve(sessionPresent)),
  );
  expect(await isKept).toBe(false);
});

test("only pages of this machine open a WebSocket, and only for MQTT; other requests get an explanation", async () => {
  const { core } = await start({}, { webSocket: 0 });
  const { webSocketPort: port } = core;
  const outcome = (origin: string | undefined, protocol = "mqtt") =>
    new Promise<string>((resolve) => {
      const socket = new WebSocket(
        `ws://127.0.0.1:${port}`,
        protocol,
        origin === undefined ? {} : { origin },
      );
      socket.once("open", () => {
        resolve(`open ${socket.protocol}`);
        socket.terminate();
      });
      socket.once("error", ({ message }) => resolve(message));
    });
  for (const origin of [undefined, "http://localhost:5173", "http://127.0.0.1", "https://[::1]:8443"])
    expect(await outcome(origin), origin).toBe("open mqtt");
  for (const origin of ["http://attacker.example", "http://localhost.attacker.example", "null", "no URL"])
    expect(await outcome(origin), origin).toContain("401");
  expect(await outcome(undefined, "other")).toContain("subprotocol");
  const page = await fetch(`http://127.0.0.1:${port}/`);
  expect([page.status, await page.text()]).toEqual([426, expect.stringContaining("MQTT broker")]);
});

test("ports that are taken are replaced by free ones", async () => {
  const first = await start({}, { webSocket: 0 });
  const { port, webSocketPort } = first.core;
  const second = await start({}, { mqtt: port, webSocket: webSocketPort });
  const ports = [port, webSocketPort, second.core.port, second.core.webSocketPort];
  expect(ports.every((one) => typeof one === "number" && one > 0)).toBe(true);
  expect(new Set(ports).size).toBe(4);
  await second.core.close();
  await first.core.close();
  const third = await start({}, { mqtt: port });
  expect(third.core.port).toBe(port);
});
