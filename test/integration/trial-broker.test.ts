// SPDX-License-Identifier: Apache-2.0
// The embedded broker: publisher falls back to its MQTT 3.1.1, a stalled subscriber costs a bounded amount of memory, ports
// and origins. Its thread runs the compiled broker-worker.js, so `npm run build:ts` comes first.
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import mqtt from "mqtt";
import { afterEach, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { FRAME_HEADER_BYTES, FRAME_HEADROOM_BYTES } from "../../core/frame/frame-format.js";
import { startBrokerCore } from "../../edge/broker/broker-core.js";
import { startTrialBroker, type TrialBrokerOptions } from "../../edge/broker/trial-broker.js";
import { createPublisher } from "../../edge/outputs/mqtt/publisher.js";
import { makeFrame, sleep, until } from "../doubles/frames.js";
import { needsOwnMalloc } from "../doubles/needs.js";
import { connectStalledSubscriber } from "../doubles/stalled-subscriber.js";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function trialBroker(options: TrialBrokerOptions = {}) {
  const broker = await startTrialBroker({ port: 0, webSocketPort: null, ...options });
  cleanups.push(() => broker.close());
  return broker;
}

function publisher(url: string, protocolVersion: "auto" | 4 | 5 = "auto") {
  const made = createPublisher({ broker: url, base: "depthwatt", device: "test", protocolVersion });
  cleanups.push(() => made.close());
  return made;
}

/** Bytes that open a WebSocket for MQTT. */
const WEBSOCKET_REQUEST = [
  "GET / HTTP/1.1",
  "Host: 127.0.0.1",
  "Connection: Upgrade",
  "Upgrade: websocket",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Protocol: mqtt",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
  "\r\n",
].join("\r\n");

describe("trial broker", () => {
  test.each([
    ["an unfinished packet to a full broker", "mqtt", ["\x10"]],
    ["an unfinished request", "webSocket", ["G"]],
    ["a refused upgrade", "webSocket", [WEBSOCKET_REQUEST.replace("websocket", "h2c")]],
    ["an invalid WebSocket frame", "webSocket", [WEBSOCKET_REQUEST, Buffer.of(0xff, 0xff)]],
  ] as const)("close() does not wait for a client that stays after %s", async (_, listener, messages) => {
    const limits = { maxPendingBytesPerClient: 1e6, maxConnections: 1, maxPacketBytes: 1e6 };
    const retained = { maxRetainedBytes: 1e6, maxRetainedMessages: 10 };
    const broker = await startBrokerCore({ ...limits, ...retained }, { mqtt: 0, webSocket: 0 });
    const port = listener === "mqtt" ? broker.port : broker.webSocketPort!;
    // The second one finds no room.
    for (let count = 0; count < 2; count++) {
      const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
      cleanups.push(() => socket.destroy());
      // The broker may reset the connection.
      socket.on("error", () => {});
      for (const message of messages) {
        socket.write(message);
        await Promise.race([once(socket, "data"), sleep(100)]);
      }
    }
    await broker.close();
  });

  test("a publisher falls back to MQTT 3.1.1 within its first attempt, but not from an explicit 5", async () => {
    const { url } = await trialBroker();
    const status = await publisher(url).firstAttempt;
    expect(status).toMatchObject({ connected: true, reason: expect.stringContaining("MQTT 3.1.1") });
    const refused = await publisher(url, 5).firstAttempt;
    expect(refused.connected).toBe(false);
    expect(refused.error).toMatchObject({ code: "BROKER_REFUSED" });
    expect(refused.error?.hint).toContain("outputs.mqtt.protocolVersion");
  });

  test("a subscriber that stops reading: memory stays flat, others get their frames, drops are counted", async () => {
    const broker = await trialBroker();
    const stalled = await connectStalledSubscriber(broker.port, "depthwatt/#");
    cleanups.push(() => stalled.destroy());
    const reader = await mqtt.connectAsync(broker.url, { protocolVersion: 4 });
    cleanups.push(() => reader.endAsync(true));
    let received = 0;
    reader.on("message", () => {
      received++;
    });
    await reader.subscribeAsync("depthwatt/#");
    const made = publisher(broker.url);
    await made.firstAttempt;
    const next = makeFrame(1, { encoding: "raw" }, [640, 480]);
    const rssBefore = process.memoryUsage().rss;
    let peak = 0;
    const rounds = 400;
    for (let round = 0; round < rounds; round++) {
      const sent = await new Promise<boolean>((resolve) => {
        made.publish(next.buffer, FRAME_HEADROOM_BYTES, next.bodyBytes, next.frame, resolve);
      });
      expect(sent).toBe(true);
      peak = Math.max(peak, process.memoryUsage().rss);
      await sleep(4);
    }
    // On a busy machine the reader, in this very process, may be behind now and then; what it missed was dropped for it.
    await until("the reader has had nearly all", () => received > 0.9 * rounds);
    const counters = await broker.counters();
    expect(counters.dropped).toBeGreaterThan(rounds / 2);
    expect(counters.droppedBytes).toBe(counters.dropped * (next.bodyBytes + FRAME_HEADER_BYTES));
    // Without the guard the stalled subscriber alone would hold 400 x 614 KB = 246 MB.
    // AddressSanitizer keeps what was freed for a while.
    if (needsOwnMalloc().met) expect((peak - rssBefore) / 2 ** 20).toBeLessThan(130);
  });

  test("many small messages to a stalled subscriber do not hold the others up", async () => {
    const broker = await trialBroker();
    const stalled = await connectStalledSubscriber(broker.port, "#");
    cleanups.push(() => stalled.destroy());
    const [reader, writer] = await Promise.all([
      mqtt.connectAsync(broker.url, { protocolVersion: 4 }),
      mqtt.connectAsync(broker.url, { protocolVersion: 4 }),
    ]);
    cleanups.push(() => Promise.all([reader.endAsync(true), writer.endAsync(true)]));
    let received = 0;
    reader.on("message", () => {
      received++;
    });
    await reader.subscribeAsync("small");
    const payload = Buffer.alloc(8192);
    // Enough to fill the kernel's buffers (a few megabytes) and then some thousand messages more.
    for (let count = 1; count <= 4000; count++) {
      writer.publish("small", payload);
      if (count % 100 === 0) await until("the reader keeps up", () => received >= count - 100);
    }
    await until("all arrive", () => received === 4000);
    expect((await broker.counters()).dropped).toBeGreaterThan(0);
  });

  test("takes a free port where its own is taken, and reports it", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    cleanups.push(() => other.close());
    await new Promise((resolve) => other.once("listening", resolve));
    const { port } = other.address() as { port: number };
    const broker = await trialBroker({ port });
    expect(broker.port).not.toBe(port);
    expect(broker.notices.join("\n")).toContain(
      `port ${port} is taken: the embedded broker listens on ${broker.port}`,
    );
    expect(await publisher(broker.url).firstAttempt).toMatchObject({ connected: true });
  });

  test("two of them next to each other: the second takes free ports for both listeners", async () => {
    const first = await trialBroker({ port: 0, webSocketPort: 0 });
    const taken = Number(new URL(first.webSocketUrl ?? "").port);
    const second = await trialBroker({ port: first.port, webSocketPort: taken });
    expect(second.port).not.toBe(first.port);
    expect(second.webSocketUrl).not.toBe(first.webSocketUrl);
    expect(await publisher(second.webSocketUrl ?? "").firstAttempt).toMatchObject({ connected: true });
  });

  test("browsers connect over a WebSocket, but only from pages of this machine", async () => {
    const broker = await trialBroker({ webSocketPort: 0 });
    const url = broker.webSocketUrl ?? "";
    expect(await publisher(url).firstAttempt).toMatchObject({ connected: true });
    const knock = (origin: string) =>
      new Promise<string>((resolve) => {
        const socket = new WebSocket(url, "mqtt", { origin });
        socket.once("open", () => {
          socket.close();
          resolve("open");
        });
        socket.once("error", ({ message }) => resolve(message));
      });
    expect(await knock("http://localhost:5173")).toBe("open");
    expect(await knock("https://example.com")).toContain("401");
    expect(await knock("null")).toContain("401");
  });

  test("refuses connections beyond its cap and packets beyond its size", async () => {
    const broker = await trialBroker({ maxConnections: 2, maxPacketBytes: 1000 });
    const stays = await mqtt.connectAsync(broker.url, { protocolVersion: 4 });
    cleanups.push(() => stays.endAsync(true));
    const large = await mqtt.connectAsync(broker.url, { protocolVersion: 4, reconnectPeriod: 0 });
    const cut = new Promise((resolve) => large.once("close", () => resolve("cut")));
    const third = await publisher(broker.url).firstAttempt;
    expect(third.connected).toBe(false);
    large.publish("t", Buffer.alloc(2000));
    expect(await cut).toBe("cut");
    expect((await broker.counters()).refusedConnections).toBeGreaterThan(0);
  });

  const rawConnection = (port: number) =>
    new Promise<Socket>((resolve) => {
      const socket = connect(port, "127.0.0.1", () => resolve(socket));
      socket.on("error", () => {});
      cleanups.push(() => socket.destroy());
    });
  const CONNECT = Buffer.from([0x10, 13, 0, 4, ...Buffer.from("MQTT"), 4, 2, 0, 0, 0, 1, 97]);

  test("it ends without waiting: silent connections, half a request, guests at either port", async () => {
    const core = await startBrokerCore(
      {
        maxPendingBytesPerClient: 1e6,
        maxConnections: 8,
        maxPacketBytes: 1e6,
        maxRetainedBytes: 1e6,
        maxRetainedMessages: 10,
      },
      { mqtt: 0, webSocket: 0 },
    );
    const sockets = await Promise.all(
      [core.port, core.webSocketPort!, core.webSocketPort!].map(rawConnection),
    );
    sockets[2]!.write("GET / HTTP/1.1\r\nHost: localhost\r\n");
    const guests = await Promise.all(
      [`mqtt://127.0.0.1:${core.port}`, `ws://127.0.0.1:${core.webSocketPort}`].map((url) =>
        mqtt.connectAsync(url, { protocolVersion: 4, reconnectPeriod: 0 }),
      ),
    );
    const cut = [...sockets, ...guests].map(
      (one) => new Promise<void>((resolve) => void one.once("close", () => resolve())),
    );
    await core.close();
    await Promise.all(cut);
  });

  test("a packet that will be too large ends its connection when it begins, not when it is whole", async () => {
    const broker = await trialBroker({ maxPacketBytes: 100_000 });
    const socket = await rawConnection(broker.port);
    const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
    socket.write(CONNECT);
    // PUBLISH, 250 MB to come. Ten bytes of it are sent.
    socket.write(Buffer.from([0x30, 0x80, 0xe5, 0x9a, 0x77, 0, 1, 116, 0, 0]));
    await closed;
    const reader = await mqtt.connectAsync(broker.url, { protocolVersion: 4 });
    cleanups.push(() => reader.endAsync(true));
    await reader.subscribeAsync("t");
    const got = new Promise<number>((resolve) => reader.once("message", (_, { length }) => resolve(length)));
    await reader.publishAsync("t", Buffer.alloc(90_000));
    expect(await got).toBe(90_000);
  });

  test("retained messages are limited in number and in bytes; clearing makes room", async () => {
    const broker = await trialBroker({ maxRetainedMessages: 3, maxRetainedBytes: 5000 });
    const publish = async (topic: string, bytes: number) => {
      const client = await mqtt.connectAsync(broker.url, { protocolVersion: 4, reconnectPeriod: 0 });
      cleanups.push(() => client.endAsync(true));
      const closed = new Promise((resolve) => client.once("close", () => resolve("refused")));
      const kept = client
        .publishAsync(topic, Buffer.alloc(bytes), { qos: 1, retain: true })
        .then(() => "kept");
      return Promise.race([kept.catch(() => "refused"), closed]);
    };
    for (const topic of ["a", "b", "c"]) expect(await publish(topic, 1000)).toBe("kept");
    expect(await publish("d", 1)).toBe("refused");
    expect(await publish("a", 2000)).toBe("kept");
    expect(await publish("a", 4000)).toBe("refused");
    expect(await publish("b", 0)).toBe("kept");
    expect(await publish("d", 1)).toBe("kept");
  });

  test("idle connections make room for active ones; otherwise a new one is refused", async () => {
    const broker = await trialBroker({ maxConnections: 3 });
    for (let i = 0; i < 3; i++) await rawConnection(broker.port);
    // Idle from 200 ms on, by the clock of the broker's thread, which may have noticed late.
    await sleep(1500);
    const reader = await mqtt.connectAsync(broker.url, { protocolVersion: 4, reconnectPeriod: 0 });
    cleanups.push(() => reader.endAsync(true));
    await reader.subscribeAsync("x");
    for (let i = 0; i < 2; i++) {
      const client = await mqtt.connectAsync(broker.url, { protocolVersion: 4, reconnectPeriod: 0 });
      cleanups.push(() => client.endAsync(true));
      await client.subscribeAsync("y");
    }
    for (const version of [4, 5] as const) {
      const { connected, error } = await publisher(broker.url, version).firstAttempt;
      expect(connected).toBe(false);
      expect(error).toMatchObject({
        code: "BROKER_UNREACHABLE",
        hint: expect.stringContaining("tries again"),
      });
    }
    expect(reader.connected).toBe(true);
  });

  test("a session ends with its client, also if the client asked to keep it", async () => {
    const broker = await trialBroker();
    const options = { protocolVersion: 4, clean: false, clientId: "stays" } as const;
    const first = await mqtt.connectAsync(broker.url, options);
    await first.subscribeAsync("t", { qos: 1 });
    await first.endAsync();
    const writer = await mqtt.connectAsync(broker.url, { protocolVersion: 4 });
    cleanups.push(() => writer.endAsync(true));
    await writer.publishAsync("t", "queued", { qos: 1 });
    const second = await mqtt.connectAsync(broker.url, options);
    cleanups.push(() => second.endAsync(true));
    const seen: string[] = [];
    second.on("message", (_, payload) => seen.push(payload.toString()));
    await sleep(300);
    expect(seen).toEqual([]);
  });
});
