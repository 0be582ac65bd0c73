// SPDX-License-Identifier: Apache-2.0
// Tests the publisher against Mosquitto: messages, retained messages, and frames during a bad link.
import mqtt, { type IPublishPacket, type MqttClient } from "mqtt";
import { afterEach, expect, test } from "vitest";
import { parseFrame } from "../../core/frame/payload.js";
import { decodeRvl } from "../../core/frame/rvl.js";
import {
  FRAME_CONTENT_TYPE,
  FRAME_HEADROOM_BYTES,
  type PublisherOptions,
} from "../../edge/outputs/mqtt/index.js";
import { createPublisher } from "../../edge/outputs/mqtt/publisher.js";
import { cpuMsSince } from "../doubles/cpu-time.js";
import { makeFrame, sleep, type TestFrame, until } from "../doubles/frames.js";
import { type Mosquitto, type MosquittoOptions, startMosquitto } from "../doubles/mosquitto.js";
import { needs } from "../doubles/needs.js";
import { startTcpProxy } from "../doubles/tcp-proxy.js";

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function broker(options?: MosquittoOptions): Promise<Mosquitto> {
  const mosquitto = await startMosquitto(options);
  cleanups.push(() => mosquitto.stop());
  return mosquitto;
}

function publisher(url: string, options: Partial<PublisherOptions> = {}) {
  const made = createPublisher({ broker: url, base: "depthwatt", device: "test", ...options });
  cleanups.push(() => made.close());
  return made;
}

interface Message {
  topic: string;
  payload: Buffer;
  packet: IPublishPacket;
}

async function subscriber(url: string, filter = "depthwatt/#"): Promise<Message[] & { client: MqttClient }> {
  const client = await mqtt.connectAsync(url, { protocolVersion: 5 });
  cleanups.push(() => client.endAsync(true));
  const messages: Message[] & { client?: MqttClient } = [];
  client.on("message", (topic, payload, packet) => messages.push({ topic, payload, packet }));
  await client.subscribeAsync(filter);
  return Object.assign(messages, { client });
}

function hand(
  to: ReturnType<typeof createPublisher>,
  { buffer, bodyBytes, frame }: TestFrame,
): { released: number } {
  const count = { released: 0 };
  to.publish(buffer, FRAME_HEADROOM_BYTES, bodyBytes, frame, () => {
    count.released++;
  });
  return count;
}

const json = (messages: Message[], leaf: string) =>
  messages
    .filter(({ topic }) => topic === `depthwatt/test/${leaf}`)
    .map(({ payload }) => JSON.parse(payload.toString()) as { state: string });

needs("mosquitto").suite("publisher against Mosquitto", () => {
  test("a frame arrives whole, over MQTT 5 and 3.1.1, and its buffer comes back once", async () => {
    const { url } = await broker();
    const messages = await subscriber(url, "depthwatt/test/depth");
    for (const protocolVersion of [5, 4] as const) {
      messages.length = 0;
      const made = publisher(url, { protocolVersion, framePeriodMs: 700 });
      expect(await made.firstAttempt).toMatchObject({ connected: true });
      for (let seed = 0; seed < 3; seed++) {
        const sent = makeFrame(seed);
        const count = hand(made, sent);
        await until("the frame arrives", () => messages.length === seed + 1 && count.released === 1);
        const { header, body } = parseFrame(messages[seed]!.payload);
        expect(header).toMatchObject({ ...sent.frame, frameNumber: seed, unitScale: 0.001 });
        const pixels = new Uint16Array(header.width * header.height);
        decodeRvl(body, pixels);
        expect(pixels).toEqual(sent.pixels);
        const { properties, retain, qos } = messages[seed]!.packet;
        expect({ retain, qos }).toEqual({ retain: false, qos: 0 });
        if (protocolVersion === 4) expect(properties?.contentType).toBeUndefined();
        else {
          expect(properties).toMatchObject({ contentType: FRAME_CONTENT_TYPE, messageExpiryInterval: 3 });
          expect(properties?.userProperties).toMatchObject({
            encoding: "rvl",
            width: "64",
            frameNumber: `${seed}`,
          });
        }
      }
      const published = { published: 3, drops: {}, connected: true, connections: 1, pendingBytes: 0 };
      expect(made.counters()).toMatchObject(published);
      expect(made.counters().reason).toContain(protocolVersion === 5 ? "MQTT 5" : "MQTT 3.1.1");
    }
  });

  test("works over websockets", async () => {
    const { url, webSocketUrl } = await broker({ websockets: true });
    const messages = await subscriber(url, "depthwatt/test/depth");
    const made = publisher(webSocketUrl ?? "");
    expect(await made.firstAttempt).toMatchObject({ connected: true });
    const sent = makeFrame(1, { encoding: "raw" }, [320, 240]);
    const before = sent.buffer.slice(FRAME_HEADROOM_BYTES);
    const count = hand(made, sent);
    await until("the frame arrives", () => messages.length === 1 && count.released === 1);
    expect(parseFrame(messages[0]!.payload).body.length).toBe(320 * 240 * 2);
    // WebSocket clients mask what they send: it must not be our pixels in place.
    expect(sent.buffer.slice(FRAME_HEADROOM_BYTES)).toEqual(before);
  });

  test("state, info and camera_info are retained, and come back when the broker lost them", async () => {
    const first = await broker();
    const made = publisher(first.url);
    made.state("online", "starting");
    made.state("online", "running");
    made.info({ version: "0" });
    made.cameraInfo({ width: 640 });
    await made.firstAttempt;
    const taken = (leaf: string) => first.log().includes(`'depthwatt/test/${leaf}'`);
    await until("the broker has all three", () => ["state", "info", "camera_info"].every(taken));
    const before = await subscriber(first.url);
    await until("three retained messages arrive", () => before.length === 3);
    expect(before.every(({ packet }) => packet.retain)).toBe(true);
    expect(json(before, "state")).toEqual([
      { state: "online", reason: "running", runId: expect.any(Number) },
    ]);

    await before.client.endAsync(true);
    await first.stop("SIGKILL");
    await until("the loss is noticed", () => !made.counters().connected);
    expect(made.counters().reason).toMatch(/closed the connection|does not answer/);
    const lost = hand(made, makeFrame(1));
    expect(lost.released).toBe(1);
    made.state("degraded", "changed while away");
    await broker({ port: first.port });
    await until("it is back", () => made.counters().connected);
    const after = await subscriber(first.url);
    await until("three retained messages arrive", () => after.length >= 3);
    expect(json(after, "state").at(-1)).toEqual({
      state: "degraded",
      reason: "changed while away",
      runId: expect.any(Number),
    });
    expect(json(after, "info")).toHaveLength(1);
    expect(made.counters()).toMatchObject({ connections: 2, drops: { offline: 1 } });
  });

  test("twelve restarts of the broker: each frame counted, documents retained after each, nothing accumulates", async () => {
    let mosquitto = await broker();
    const { port, url } = mosquitto;
    const made = publisher(url, { longestPauseMs: 20 });
    made.state("online", "running");
    made.info({ version: "0" });
    made.cameraInfo({ width: 640 });
    await made.firstAttempt;
    const frames: { released: number }[] = [];
    const send = () => frames.push(hand(made, makeFrame(frames.length)));
    const resources = () => process.getActiveResourcesInfo().length;
    const listeners = () => process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0);
    const held: [number, number][] = [];
    for (let restart = 1; restart <= 12; restart++) {
      send();
      await mosquitto.stop(restart % 2 === 0 ? "SIGTERM" : "SIGKILL");
      send();
      await until("the loss is noticed", () => !made.counters().connected);
      send();
      mosquitto = await startMosquitto({ port });
      await until("it is back", () => made.counters().connections === restart + 1);
      send();
      const reader = await mqtt.connectAsync(url, { protocolVersion: 5 });
      const topics = new Set<string>();
      reader.on("message", (topic) => topics.add(topic));
      await reader.subscribeAsync("depthwatt/test/+");
      await until("three documents", () =>
        ["state", "info", "camera_info"].every((leaf) => topics.has(`depthwatt/test/${leaf}`)),
      );
      await reader.endAsync(true);
      held.push([resources(), listeners()]);
    }
    await made.close();
    await mosquitto.stop();
    expect(frames.every(({ released }) => released === 1)).toBe(true);
    const { published, drops } = made.counters();
    expect(published + (drops.offline ?? 0) + (drops.lost ?? 0)).toBe(frames.length);
    expect(drops.offline).toBeGreaterThanOrEqual(12);
    // A leak of one thing at each restart is eight between the first four and the last four.
    for (const kind of [0, 1] as const) {
      const counts = held.map((one) => one[kind]);
      expect(Math.max(...counts.slice(-4)), String(counts)).toBeLessThan(Math.max(...counts.slice(0, 4)) + 5);
    }
  }, 60_000);

  test("the will says offline when the link breaks; close says stopped", async () => {
    const mosquitto = await broker();
    const proxy = await startTcpProxy(mosquitto.port);
    cleanups.push(() => proxy.close());
    const messages = await subscriber(mosquitto.url, "depthwatt/test/state");
    const made = publisher(`mqtt://127.0.0.1:${proxy.port}`);
    made.state("online", "running");
    await until("online", () => json(messages, "state").at(-1)?.state === "online");
    proxy.cut();
    // The device may be online again before the check.
    await until("the will arrives", () => json(messages, "state").some(({ state }) => state === "offline"));
    await until("online again", () => json(messages, "state").at(-1)?.state === "online");
    await made.close();
    await until("stopped", () => json(messages, "state").at(-1)?.state === "stopped");
    const late = hand(made, makeFrame(1));
    expect(late.released).toBe(1);
    expect(made.counters()).toMatchObject({ connected: false, drops: { closed: 1 } });
    await sleep(100);
    expect(json(messages, "state").at(-1)?.state).toBe("stopped");
  });

  test.each([4, 5] as const)(
    "documents that another client removes or replaces are renewed, MQTT %i",
    async (protocolVersion) => {
      const { url } = await broker();
      const messages = await subscriber(url, "depthwatt/test/+");
      const renewalMs = 1000;
      const made = publisher(url, { protocolVersion, renewalMs });
      made.info({ version: "1" });
      made.state("online", "running");
      await until("both", () => messages.length === 2);
      messages.length = 0;
      const publish = (leaf: string, text: string) =>
        messages.client.publishAsync(`depthwatt/test/${leaf}`, text, { retain: true });
      const removedMs = performance.now();
      await publish("info", "");
      await publish("state", "null");
      await until("their renewals", () => messages.length === 4);
      const renewed = messages.filter(({ packet }) => packet.qos === 0 && packet.payload.length > 4);
      expect(renewed.map(({ payload }) => JSON.parse(payload.toString()))).toEqual(
        expect.arrayContaining([{ version: "1" }, expect.objectContaining({ state: "online" })]),
      );
      // Its own value, and what was there when it came, are no reason to publish again.
      await sleep(300);
      expect(messages).toHaveLength(4);
      // Removed once more within the second: renewed when it is over.
      await publish("info", "");
      await until("its second renewal", () => messages.length === 6);
      expect(performance.now() - removedMs).toBeGreaterThan(renewalMs - 50);
    },
    20_000,
  );

  test("3000 forged states are answered with a few renewals", async () => {
    const { url } = await broker();
    const messages = await subscriber(url, "depthwatt/test/state");
    const renewalMs = 1000;
    const made = publisher(url, { renewalMs });
    made.state("online", "running");
    await until("online", () => messages.length === 1);
    const { runId } = json(messages, "state")[0] as { runId?: number };
    const began = performance.now();
    const forged = JSON.stringify({ state: "offline", reason: "forged", runId: 1 });
    for (let count = 0; count < 3000; count++)
      await messages.client.publishAsync("depthwatt/test/state", forged, { qos: 0, retain: true });
    const last = () => json(messages, "state").at(-1) as { runId?: number };
    await until("the last word is its own", () => messages.length > 3000 && last().runId === runId);
    const own = json(messages, "state").filter(({ state }) => state === "online");
    expect(own.length).toBeLessThanOrEqual(3 + (performance.now() - began) / renewalMs);
  }, 30_000);

  test("a link that takes nothing: calls stay short, two buffers are held, the rest is counted", async () => {
    const mosquitto = await broker();
    const proxy = await startTcpProxy(mosquitto.port);
    cleanups.push(() => proxy.close());
    const messages = await subscriber(mosquitto.url, "depthwatt/test/depth");
    // A bound of bytes that never binds: one frame at the socket per stream is what holds.
    const made = publisher(`mqtt://127.0.0.1:${proxy.port}`, { maxPendingBytes: 2 ** 30 });
    await made.firstAttempt;
    proxy.stall(true);
    const frames = Array.from({ length: 4 }, (_, seed) => makeFrame(seed, { encoding: "raw" }, [1280, 960]));
    const held: { released: number }[] = [];
    const rssBefore = process.memoryUsage().rss;
    let callsCpuMs = 0;
    const rounds = 300;
    for (let round = 0; round < rounds; round++) {
      const before = process.cpuUsage();
      held.push(hand(made, frames[round % frames.length]!));
      callsCpuMs += cpuMsSince(before);
      await sleep(2);
    }
    const waiting = held.filter(({ released }) => released === 0).length;
    const { drops, published } = made.counters();
    expect(waiting).toBe(2);
    expect(held.every(({ released }) => released <= 1)).toBe(true);
    expect((drops.backpressure ?? 0) + published + waiting).toBe(rounds);
    expect(drops.backpressure).toBeGreaterThan(rounds / 2);
    // 300 frames of 2.4 MB would be 737 MB.
    expect((process.memoryUsage().rss - rssBefore) / 2 ** 20).toBeLessThan(64);
    // A CRC over 2.4 MB is the longest thing a call does.
    expect(callsCpuMs / rounds).toBeLessThan(50);
    proxy.stall(false);
    await until("the link drains", () => held.every(({ released }) => released === 1));
    await until("the newest frame arrives", () => {
      const last = messages.at(-1);
      return last !== undefined && parseFrame(last.payload).header.frameNumber === rounds - 1;
    });
  });

  test("a broker that stalls and then dies gives every buffer back as lost", async () => {
    const mosquitto = await broker();
    const proxy = await startTcpProxy(mosquitto.port);
    cleanups.push(() => proxy.close());
    const made = publisher(`mqtt://127.0.0.1:${proxy.port}`);
    await made.firstAttempt;
    proxy.stall(true);
    const held: { released: number }[] = [];
    const kept = () => held.filter(({ released }) => released === 0);
    // How much the kernel's buffers swallow before the link is full is the machine's own affair.
    const full = async () => {
      for (let seed = 1; seed <= 6; seed++)
        held.push(hand(made, makeFrame(seed, { encoding: "raw" }, [1920, 1080])));
      const before = kept();
      await sleep(50);
      return before.length === 2 && before.every(({ released }) => released === 0);
    };
    for (let tries = 0; tries < 20 && !(await full()); tries++);
    expect(kept()).toHaveLength(2);
    proxy.cut();
    await until("all are back", () => held.every(({ released }) => released === 1));
    expect(made.counters().drops).toMatchObject({ lost: 1, offline: 1 });
  });

  test("close cuts a stalled link within its grace and gives every buffer back", async () => {
    const mosquitto = await broker();
    const proxy = await startTcpProxy(mosquitto.port);
    cleanups.push(() => proxy.close());
    const made = publisher(`mqtt://127.0.0.1:${proxy.port}`);
    await made.firstAttempt;
    proxy.stall(true);
    const held = [1, 2, 3].map((seed) => hand(made, makeFrame(seed, { encoding: "raw" }, [1920, 1080])));
    // Two seconds of grace; without it the test would wait for the link without end.
    await made.close();
    expect(held.map(({ released }) => released)).toEqual([1, 1, 1]);
  });

  test("frames beyond the limit are dropped as oversize with one notice, by our limit and by the broker's", async () => {
    const { url } = await broker({ settings: ["allow_anonymous true", "max_packet_size 100000"] });
    const notices: string[] = [];
    const onNotice = (notice: string) => notices.push(notice);
    const made = publisher(url, { onNotice });
    const small = publisher(url, { onNotice, maxPayloadBytes: 1500, clientId: "small" });
    await Promise.all([made.firstAttempt, small.firstAttempt]);
    hand(small, makeFrame(1));
    for (let round = 0; round < 3; round++) hand(made, makeFrame(1, { encoding: "raw" }, [320, 240]));
    expect(made.counters().drops).toEqual({ oversize: 3 });
    expect(small.counters().drops).toEqual({ oversize: 1 });
    expect(notices).toHaveLength(2);
    expect(notices[0]).toContain("outputs.mqtt.maxPayloadBytes");
    expect(notices[1]).toMatch(
      /takes packets of at most 100000 bytes; depth frames of 153696 bytes \(320 x 240, raw\) are dropped/,
    );
    expect(made.failure).toMatchObject({ code: "BROKER_REFUSED" });
    expect(small.failure).toBeUndefined();
    expect(made.counters().connected).toBe(true);
  });

  test("several streams share one socket, each with its own newest frame", async () => {
    const { url } = await broker();
    const messages = await subscriber(url);
    const made = publisher(url, { maxPendingBytes: 65536 });
    await made.firstAttempt;
    const held = (["depth", "disparity"] as const).flatMap((stream) =>
      [1, 2, 3].map((seed) => hand(made, makeFrame(seed, { stream, encoding: "raw" }, [640, 480]))),
    );
    await until("all are back", () => held.every(({ released }) => released === 1));
    await until("both arrive", () => new Set(messages.map(({ topic }) => topic)).size === 2);
    const { streams, published, drops } = made.counters();
    expect(Object.keys(streams)).toEqual(["depth", "disparity"]);
    expect(published + (drops.backpressure ?? 0)).toBe(6);
    const last = () => messages.filter(({ topic }) => topic.endsWith("disparity")).at(-1)!;
    await until("the newest disparity arrives", () => parseFrame(last().payload).header.frameNumber === 2);
    expect(parseFrame(last().payload).header).toMatchObject({ quantity: "disparityPixels" });
  });

  test("a frame that a newer one has overtaken is not sent: order is kept", async () => {
    const { url } = await broker();
    const messages = await subscriber(url);
    const made = publisher(url);
    await made.firstAttempt;
    const numbers = [
      made.nextFrameNumber("depth"),
      made.nextFrameNumber("depth"),
      made.nextFrameNumber("depth"),
    ];
    for (const number of [numbers[1]!, numbers[0]!, numbers[2]!]) {
      const { buffer, bodyBytes, frame } = makeFrame(number);
      await new Promise((done) => made.publish(buffer, FRAME_HEADROOM_BYTES, bodyBytes, frame, done, number));
    }
    const frames = () => messages.filter(({ topic }) => topic.endsWith("/depth"));
    await until("two arrive", () => frames().length === 2);
    expect(frames().map(({ payload }) => parseFrame(payload).header.frameNumber)).toEqual([1, 2]);
    expect(made.counters().drops).toEqual({ overtaken: 1 });
  });
});
