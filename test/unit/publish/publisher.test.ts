// SPDX-License-Identifier: Apache-2.0
// The publisher at a scripted broker: every document and frame whole, each limit at its border, and other publishers' messages.
import { afterEach, expect, test } from "vitest";
import { bytesBeforeBody, parseFrame } from "../../../core/frame/payload.js";
import { FRAME_HEADROOM_BYTES, type PublisherOptions } from "../../../edge/outputs/mqtt/index.js";
import { createPublisher } from "../../../edge/outputs/mqtt/publisher.js";
import { makeFrame, until } from "../../doubles/frames.js";
import {
  CONNECT,
  connack,
  PUBLISH,
  type Received,
  startScriptedBroker,
} from "../../doubles/scripted-broker.js";
import { startSideListener } from "../../doubles/side-listener.js";

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function open(url: string, options: Partial<PublisherOptions> = {}) {
  const notices: string[] = [];
  const made = createPublisher({
    broker: url,
    base: "depthwatt",
    device: "rig",
    protocolVersion: 5,
    onNotice: (notice) => notices.push(notice),
    ...options,
  });
  cleanups.push(() => made.close());
  const publish = ({ buffer, bodyBytes, frame } = makeFrame(1), frameNumber?: number) => {
    const releases: boolean[] = [];
    const release = (sent: boolean) => void releases.push(sent);
    made.publish(buffer, FRAME_HEADROOM_BYTES, bodyBytes, frame, release, frameNumber);
    return releases;
  };
  return { made, notices, publish };
}

/** A publisher that is connected to a broker which takes everything. */
async function connected(options: Partial<PublisherOptions> = {}) {
  const broker = await startSideListener();
  cleanups.push(() => broker.close());
  const opened = open(broker.access.url, options);
  expect(await opened.made.firstAttempt).toMatchObject({ connected: true });
  await until("it has subscribed", () => broker.subscriptions === 1);
  const published = () => broker.packets.filter(({ type }) => type === PUBLISH);
  const payload = ({ bytes, payloadBytes }: Received) => bytes.subarray(bytes.length - payloadBytes);
  return { broker, published, payload, ...opened };
}

/** A publisher whose broker takes packets of at most so many bytes. */
async function limited(limit: number) {
  const broker = await startScriptedBroker((packet, session) =>
    packet.type === CONNECT
      ? session.send(connack(0, [0x27, 0, 0, limit >> 8, limit & 255]))
      : session.answer(packet),
  );
  cleanups.push(() => broker.close());
  const opened = open(broker.url);
  await opened.made.firstAttempt;
  return { broker, ...opened };
}

test("documents are kept, metrics are not, and the last state says that it was stopped", async () => {
  const { broker, made, published } = await connected();
  const next = async (count: number) => {
    await until(`${count} messages`, () => broker.heard.length >= count);
    return broker.take();
  };
  made.state("online", "running");
  made.info({ a: 1 });
  made.cameraInfo({ b: 2 });
  const documents = await next(3);
  const runId = (documents[0]![1] as { runId: number }).runId;
  expect(Number.isInteger(runId) && runId > 0 && runId < 2 ** 32).toBe(true);
  expect(documents).toEqual([
    ["depthwatt/rig/state", { state: "online", reason: "running", runId }, true],
    ["depthwatt/rig/info", { a: 1 }, true],
    ["depthwatt/rig/camera_info", { b: 2 }, true],
  ]);
  made.state("degraded", "hot", "SOURCE_STALLED");
  made.cameraInfo(undefined);
  made.metrics({ c: 3 });
  expect(await next(3)).toEqual([
    ["depthwatt/rig/state", { state: "degraded", reason: "hot", code: "SOURCE_STALLED", runId }, true],
    ["depthwatt/rig/camera_info", "", true],
    ["depthwatt/rig/metrics", { c: 3 }, false],
  ]);
  await made.close();
  expect(await next(1)).toEqual([
    ["depthwatt/rig/state", { state: "stopped", reason: "depthwatt was stopped", runId }, true],
  ]);
  expect(published().map(({ qos }) => qos)).toEqual([1, 1, 1, 1, 1, 0, 1]);
  const will = { state: "offline", reason: "the connection to the device was lost", runId };
  const [connect] = broker.packets;
  expect(connect!.bytes.includes(JSON.stringify(will))).toBe(true);
  expect(broker.packets.find(({ filters }) => filters > 0)?.filters).toBe(3);
  // Nothing follows the end.
  made.metrics({ d: 4 });
  made.state("online", "again");
  expect(made.counters()).toMatchObject({ connected: false, reason: "closed", connections: 1 });
});

test("frames have numbers, this run's id and an expiry of three periods; the first asks for an answer", async () => {
  const { made, broker, publish, published, payload } = await connected({ framePeriodMs: 700 });
  const send = async () => {
    const releases = publish();
    await until("it is sent", () => releases.length === 1);
    expect(releases).toEqual([true]);
  };
  made.state("online", "running");
  await until("the state came", () => broker.heard.length === 1);
  const { runId } = broker.take()[0]![1] as { runId: number };
  await send();
  await send();
  made.expect(["depth"], 2000);
  await send();
  made.expect(["depth"], undefined);
  await send();
  await until("all came", () => published().length === 5);
  const frames = published().filter(({ topic }) => topic === "depthwatt/rig/depth");
  expect(frames.map(({ qos }) => qos)).toEqual([1, 0, 0, 0]);
  const headers = frames.map((packet) => parseFrame(payload(packet)).header);
  expect(headers.map(({ frameNumber, runId }) => [frameNumber, runId])).toEqual(
    [0, 1, 2, 3].map((number) => [number, runId]),
  );
  // Message Expiry Interval (MQTT 5 section 3.3.2.3.3): 2.1, 2.1 and 6 s, and of 30 frames a second one at least.
  const expiry = frames.map(({ bytes, payloadBytes }) => {
    const head = bytes.subarray(0, bytes.length - payloadBytes);
    expect(head.includes("application/vnd.depthwatt.frame")).toBe(true);
    return [1, 3, 6].filter((seconds) => head.includes(Buffer.of(2, 0, 0, 0, seconds)));
  });
  expect(expiry).toEqual([[3], [3], [6], [1]]);
  const { frame, bodyBytes } = makeFrame(1);
  const counts = { published: 4, bytes: 4 * (bytesBeforeBody(frame) + bodyBytes), drops: {} };
  expect(made.counters()).toEqual({
    ...counts,
    streams: { depth: counts },
    connected: true,
    reason: expect.stringMatching(/^connected to mqtt:\/\/127\.0\.0\.1:\d+, MQTT 5$/),
    connections: 1,
    pendingBytes: 0,
    oversizeDocuments: {},
  });
  expect(frames[0]!.payloadBytes).toBe(bytesBeforeBody(frame) + bodyBytes);
  expect(made.failure).toBeUndefined();
});

test("a frame that is not sent is released at once, and counted under its cause", async () => {
  const early = open("mqtt://127.0.0.1:9");
  expect([early.publish(), early.made.preview(new Uint8Array(1), "image/png")]).toEqual([[false], "offline"]);
  const { made, notices, publish } = await connected();
  const sent = publish(makeFrame(1), 5);
  await until("it is sent", () => sent.length === 1);
  expect([publish(makeFrame(1), 5), publish(makeFrame(1), 4)]).toEqual([[false], [false]]);
  const { buffer, frame } = makeFrame(1);
  const releases: boolean[] = [];
  // Without room for the header.
  for (let turn = 0; turn < 2; turn++)
    made.publish(buffer, 8, 10, frame, (isSent) => releases.push(isSent), 6 + turn);
  expect(releases).toEqual([false, false]);
  expect(notices).toEqual([
    expect.stringMatching(/^a frame could not be written: .*before a body of 10, .* with 8$/),
  ]);
  await made.close();
  expect([publish(), made.preview(new Uint8Array(1), "image/png")]).toEqual([[false], "closed"]);
  expect(made.counters().drops).toEqual({ overtaken: 2, invalid: 2, closed: 1 });
  expect(early.made.counters()).toMatchObject({ connected: false, drops: { offline: 1 } });
});

test("a message of maxPayloadBytes is sent, and a larger one is dropped with one notice", async () => {
  const frame = makeFrame(1);
  const bytes = bytesBeforeBody(frame.frame) + frame.bodyBytes;
  const fitting = await connected({ maxPayloadBytes: bytes });
  const releases = fitting.publish(frame);
  await until("it is sent", () => releases.length === 1);
  expect([releases, fitting.notices, fitting.made.maxMessageBytes]).toEqual([[true], [], bytes]);
  const picture = new Uint8Array(bytes);
  expect(fitting.made.preview(picture, "image/png")).toBeUndefined();
  await until("the preview came", () => fitting.published().length === 2);
  const [, preview] = fitting.published();
  expect([preview!.topic, preview!.payloadBytes, preview!.qos]).toEqual(["depthwatt/rig/preview", bytes, 0]);
  const head = preview!.bytes.subarray(0, preview!.bytes.length - bytes);
  expect([head.includes("image/png"), head.includes(Buffer.of(2, 0, 0, 0, 3))]).toEqual([true, true]);
  const { made, notices, publish } = await connected({ maxPayloadBytes: bytes - 1 });
  expect([publish(frame), publish(frame)]).toEqual([[false], [false]]);
  expect(notices).toEqual([
    `depth frames of ${bytes} bytes (64 x 48, rvl) exceed the limit of ${bytes - 1} bytes and are dropped: raise ` +
      "outputs.mqtt.maxPayloadBytes, choose the encoding rvl, set reduceToFit, or take a smaller picture",
  ]);
  expect([made.preview(picture, "image/png"), made.counters().drops]).toEqual(["oversize", { oversize: 2 }]);
  // The limit is that of the settings, not of the broker.
  expect(made.failure).toBeUndefined();
});

test("a document of the broker's largest packet is sent, a larger one is dropped until it fits again", async () => {
  const { broker, made, notices } = await limited(3000);
  // Header, lengths and packet identifier take at most 10 bytes, the topic 18 and {"text":""} 11.
  const info = (length: number) => made.info({ text: "x".repeat(length) });
  info(2962);
  expect(made.failure).toMatchObject({
    code: "BROKER_REFUSED",
    message: `the broker ${broker.url} takes packets of at most 3000 bytes; info of 3001 bytes is dropped`,
  });
  expect(made.counters().oversizeDocuments).toEqual({ info: 1 });
  info(2963);
  made.metrics({ text: "x".repeat(2962) });
  expect(made.counters().oversizeDocuments).toEqual({ info: 2, metrics: 1 });
  info(2961);
  made.metrics({ text: "" });
  expect([made.failure, made.counters().oversizeDocuments]).toEqual([undefined, { info: 2, metrics: 1 }]);
  await until("both came", () => broker.packets.filter(({ type }) => type === PUBLISH).length === 2);
  const sizes = broker.packets.filter(({ type }) => type === PUBLISH).map(({ bytes }) => bytes.length);
  expect(sizes[0]).toBeLessThanOrEqual(3000);
  expect(notices.map((notice) => notice.match(/; (\w+) of/)?.[1])).toEqual(["info", "metrics"]);
});

test("frames beyond the broker's packet limit are a failure, until the settings change", async () => {
  const { broker, made, publish, notices } = await limited(3000);
  // 1024 bytes are left for the topic and its properties.
  expect(made.maxMessageBytes).toBe(1976);
  const body = (bodyBytes: number) => {
    const { buffer, frame } = makeFrame(1, { encoding: "raw" });
    return {
      buffer,
      bodyBytes,
      frame: { ...frame, width: bodyBytes / 2, height: 1 },
      pixels: new Uint16Array(0),
    };
  };
  const room = 1976 - bytesBeforeBody(body(2).frame);
  const sent = publish(body(room));
  await until("it is sent", () => sent.length === 1);
  expect([sent, publish(body(room + 2))]).toEqual([[true], [false]]);
  const message =
    `the broker ${broker.url} takes packets of at most 3000 bytes; ` +
    `depth frames of 1978 bytes (${room / 2 + 1} x 1, raw) are dropped`;
  expect(made.failure).toMatchObject({ code: "BROKER_REFUSED", message });
  expect(notices).toEqual([expect.stringContaining(message)]);
  made.expect(["depth"], 100);
  expect(made.failure).toBeUndefined();
});

test.each([
  [{ state: "online", runId: 0 }, false, /^another depthwatt publishes as depthwatt\/rig: give each its own/],
  [{ state: "degraded", runId: 0 }, false, /^another depthwatt publishes as depthwatt\/rig: /],
  [{ state: "online", runId: 0 }, true, /^another run is still 'online' on depthwatt\/rig\/state: /],
  [{ state: "stopped", runId: 0 }, true, undefined],
])("another run's state %j, retained %j, is noticed once", async (state, retained, notice) => {
  const { broker, made, notices } = await connected();
  made.state("online", "running");
  await until("it is online", () => broker.heard.length === 1);
  const own = broker.take()[0]![1];
  broker.say("depthwatt/rig/state", JSON.stringify(own));
  for (let turn = 0; turn < 2; turn++) broker.say("depthwatt/rig/state", JSON.stringify(state), retained);
  // The device's info is removed: when it comes again, all messages before were read.
  made.info({ a: 1 });
  broker.say("depthwatt/rig/info", "");
  await until("info came twice", () => broker.heard.length === 2);
  expect(notices).toEqual(notice === undefined ? [] : [expect.stringMatching(notice)]);
});

test("documents that another client removes or ends are published again, others' documents are left", async () => {
  const { broker, made } = await connected({ renewalMs: 1 });
  made.state("online", "running");
  made.info({ a: 1 });
  await until("both came", () => broker.heard.length === 2);
  broker.take();
  const again = async (topic: string, text: string, retained = false) => {
    broker.say(`depthwatt/rig/${topic}`, text, retained);
    await until(`${topic} came again`, () => broker.heard.length === 1);
    return broker.take().map(([name, document]) => [name, document]);
  };
  const info = ["depthwatt/rig/info", { a: 1 }];
  const state = ["depthwatt/rig/state", { state: "online", reason: "running", runId: expect.any(Number) }];
  expect(await again("info", "")).toEqual([info]);
  expect(await again("info", "no JSON")).toEqual([info]);
  expect(await again("state", "")).toEqual([state]);
  expect(await again("state", '{"state":"stopped","runId":0}')).toEqual([state]);
  // Kept from before, or whole: neither is touched.
  broker.say("depthwatt/rig/info", "", true);
  broker.say("depthwatt/rig/info", '{"b":2}');
  broker.say("depthwatt/rig/state", "", true);
  expect(await again("state", "")).toEqual([state]);
});
