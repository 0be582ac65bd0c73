// SPDX-License-Identifier: Apache-2.0
// The embedded broker: publisher falls back to its MQTT 3.1.1, a stalled subscriber costs a bounded amount of memory, ports
// and origins. Its thread runs the compiled broker-worker.js, so `npm run build:ts` comes first.
import { createServer } from "node:net";
import mqtt from "mqtt";
import { afterEach, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { startTrialBroker, type TrialBrokerOptions } from "../../edge/outputs/mqtt/broker.js";
import { FRAME_HEADER_BYTES, FRAME_HEADROOM_BYTES } from "../../edge/frame/frame-format.js";
import { createPublisher } from "../../edge/outputs/mqtt/publisher.js";
import { makeFrame, sleep, until } from "../doubles/frames.js";
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

describe("trial broker", () => {
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
    expect((peak - rssBefore) / 2 ** 20).toBeLessThan(130);
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

  test("takes a free port where its own is taken, and says so", async () => {
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

  test("two of them beside each other: the second takes free ports for both listeners", async () => {
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
});
