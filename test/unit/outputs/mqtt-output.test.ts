// SPDX-License-Identifier: Apache-2.0
// The open MQTT output at a scripted broker: which frames get which numbers, its documents, counters and greeting.
import { afterEach, expect, test, vi } from "vitest";
import { decodeBody } from "../../../clients/javascript/src/decode.js";
import { FRAME_HEADROOM_BYTES } from "../../../core/frame/frame-format.js";
import { parseFrame } from "../../../core/frame/payload.js";
import { loadConfig } from "../../../edge/config/index.js";
import type { FrameLease } from "../../../edge/contracts/output.js";
import { AbsentState } from "../../../edge/outputs/mqtt/absent-state.js";
import { openMqtt } from "../../../edge/outputs/mqtt/open-mqtt.js";
import type { MqttSettings } from "../../../edge/outputs/mqtt/settings.js";
import { until } from "../../doubles/frames.js";
import { CONNECT, connack, PUBLISH, startScriptedBroker } from "../../doubles/scripted-broker.js";
import { startSideListener } from "../../doubles/side-listener.js";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const [WIDTH, HEIGHT] = [4, 2];
const PIXELS = WIDTH * HEIGHT;

async function openOutput(set: readonly string[] = [], changes: object = {}) {
  const broker = await startSideListener();
  cleanups.push(() => broker.close());
  const keys = ["broker", "depth.encoding", "confidence.enabled", ...set.map((one) => one.split("=")[0]!)];
  const values = [broker.access.url, "raw", "true", ...set.map((one) => one.split("=")[1]!)];
  const settings = keys.map((key, i) => `outputs.mqtt.${key}=${values[i]}`);
  const { config } = loadConfig({ set: ["board=none", ...settings], environment: {} });
  const notices: string[] = [];
  const picture = { hasDepth: true, rateHz: 20, width: WIDTH, height: HEIGHT, ...changes };
  const output = await openMqtt({
    settings: config.outputs.mqtt,
    base: "depthwatt",
    device: "rig",
    notice: (text: string) => notices.push(text),
    searched: () => ({ min: 0, max: 64 }),
    ...picture,
  } as never);
  cleanups.push(() => output.close());
  await output.ready;
  /** Messages of a topic, the newest last; those that are retained are marked. */
  const messages = (leaf: string) =>
    broker.packets
      .filter(({ type, topic }) => type === PUBLISH && topic === `depthwatt/rig/${leaf}`)
      .map(({ bytes, payloadBytes }) => bytes.subarray(bytes.length - payloadBytes));
  const lend = (number: number, more: object = {}) => {
    const lease = { sent: 0, released: 0 };
    const room = (bytes: number) => new ArrayBuffer(FRAME_HEADROOM_BYTES + bytes);
    const slot = {
      depthMillimetres: new Uint16Array(room(2 * PIXELS), FRAME_HEADROOM_BYTES).fill(1000 + number),
      confidence: new Uint8Array(room(PIXELS), FRAME_HEADROOM_BYTES).fill(number),
      disparityQ4: new Int16Array(PIXELS).fill(16 * number),
    };
    const times = { clock: "file", leftTimestampNs: BigInt(number), rightTimestampNs: 5n };
    const sequences = { leftSequence: number, rightSequence: number };
    const frame = { width: WIDTH, height: HEIGHT, slot, result: {}, encodings: {}, ...times, ...sequences };
    const count = { sent: () => lease.sent++, release: () => lease.released++ };
    output.frame({ number, frame: { ...frame, ...more }, ...count } as unknown as FrameLease);
    return lease;
  };
  return { output, broker, settings: config.outputs.mqtt, picture, notices, messages, lend };
}

test("frames that the output missed keep their numbers, and each frame is given back once", async () => {
  const { output, messages, lend } = await openOutput();
  expect(output.streams).toEqual(["depth", "confidence"]);
  const leases: { sent: number; released: number }[] = [];
  for (const number of [1, 4]) {
    leases.push(lend(number));
    await until("both streams", () => messages("confidence").length === leases.length);
  }
  await until("all are settled", () => leases.every(({ released }) => released === 1));
  expect(leases).toEqual(Array(2).fill({ sent: 1, released: 1 }));
  for (const stream of ["depth", "confidence"]) {
    const frames = messages(stream).map((message) => parseFrame(message));
    expect(frames.map(({ header }) => header.frameNumber)).toEqual([0, 3]);
    const { header, body } = frames[1]!;
    expect(header).toMatchObject({ stream, leftSequence: 4, leftTimestampNs: 4n });
    const counts = stream === "depth" ? Array(PIXELS).fill(1004) : Array(PIXELS).fill(4);
    expect([...decodeBody(header, body)]).toEqual(counts);
  }
  const bytes = ["depth", "confidence"].flatMap(messages).reduce((sum, { length }) => sum + length, 0);
  expect(output.counters()).toEqual({
    sent: 4,
    bytes,
    drops: {},
    details: { connected: true, reason: expect.any(String), sentByStream: { depth: 2, confidence: 2 } },
  });
});

test("without a calibration disparity takes the place of depth, and changes take effect with the next frame", async () => {
  const { output, messages, lend, settings, picture } = await openOutput(["disparity.encoding=raw"], {
    hasDepth: false,
  });
  expect(output.streams).toEqual(["disparity", "confidence"]);
  const first = lend(1);
  const arrived = () => [messages("confidence").length, messages("disparity").length].join();
  await until("both streams", () => first.released === 1 && arrived() === "1,1");
  const { header, body } = parseFrame(messages("disparity")[0]!);
  expect([...decodeBody(header, body)]).toEqual(Array(PIXELS).fill(17));
  output.configure({ ...settings, confidence: { ...settings.confidence, enabled: false } }, picture as never);
  expect(output.streams).toEqual(["disparity"]);
  const second = lend(2);
  await until("the disparity", () => second.released === 1 && messages("disparity").length === 2);
  expect(arrived()).toBe("1,2");
});

test("a lease is given back at once where no stream is on", async () => {
  const { output, lend } = await openOutput(["depth.enabled=false", "confidence.enabled=false"]);
  expect(output.streams).toEqual([]);
  expect(lend(1)).toEqual({ sent: 0, released: 1 });
});

test("documents are retained and metrics are not; info has streams, limits, and whether requests are answered", async () => {
  const set = ["preview.enabled=true", "maxPayloadBytes=500000", "maxPendingBytes=400000"];
  const { output, broker } = await openOutput(set);
  output.state("online", "running");
  output.info({ board: "none" });
  output.cameraInfo({ K: [1] });
  output.metrics({ fps: 30 });
  output.cameraInfo(undefined);
  await until("all", () => broker.heard.length >= 5);
  const { heard } = broker;
  const of = (leaf: string) =>
    heard
      .filter(({ topic }) => topic === `depthwatt/rig/${leaf}`)
      .map(({ text, retained }) => [text === "" ? "" : JSON.parse(text), retained]);
  expect(of("state")).toEqual([[{ state: "online", reason: "running", runId: expect.any(Number) }, true]]);
  expect(of("info")).toEqual([
    [
      {
        board: "none",
        streams: ["depth", "confidence", "preview"],
        limits: { maxPayloadBytes: 500_000, maxPendingBytes: 400_000 },
        control: { available: false, reason: "requests need control.secretFile" },
      },
      true,
    ],
  ]);
  expect(of("metrics")).toEqual([[{ fps: 30 }, false]]);
  expect(of("camera_info").at(-1)).toEqual(["", true]);
  await output.close();
  expect(of("state").at(-1)).toEqual([
    { state: "stopped", reason: "depthwatt was stopped", runId: expect.any(Number) },
    true,
  ]);
});

test("the pace of the preview survives a change of other settings; another encoding begins at once", async () => {
  const { output, messages, lend, settings, picture } = await openOutput(["preview.enabled=true"]);
  // A clock a thousand times slower: the half second between two pictures does not pass.
  const now = performance.now.bind(performance);
  const clock = vi.spyOn(performance, "now").mockImplementation(() => now() / 1000);
  cleanups.push(() => clock.mockRestore());
  const kinds = () => messages("preview").map((file) => (file[0] === 0xff ? "jpeg" : "png"));
  lend(1);
  await until("the first picture", () => kinds().length === 1);
  output.configure({ ...settings }, picture as never);
  lend(2);
  await until("the second frame", () => messages("depth").length === 2);
  output.configure({ ...settings, preview: { ...settings.preview, encoding: "png" } }, picture as never);
  lend(3);
  await until("another picture", () => kinds().length === 2);
  expect(kinds()).toEqual(["jpeg", "png"]);
});

test("the preview is an image file, and a frame that is too large is dropped by name", async () => {
  const { output, messages, lend } = await openOutput([
    "preview.enabled=true",
    "preview.encoding=png",
    "maxPayloadBytes=2000",
  ]);
  const lease = lend(1);
  await until("the preview", () => messages("preview").length === 1);
  expect(messages("preview")[0]!.subarray(1, 4).toString()).toBe("PNG");
  await until("it is given back", () => lease.released === 1);
  // Larger than all that may be sent.
  const [width, height] = [64, 48];
  const large = new Uint16Array(
    new ArrayBuffer(FRAME_HEADROOM_BYTES + 2 * width * height),
    FRAME_HEADROOM_BYTES,
  );
  const confidence = new Uint8Array(new ArrayBuffer(FRAME_HEADROOM_BYTES + 8), FRAME_HEADROOM_BYTES);
  const slot = { depthMillimetres: large, confidence, disparityQ4: new Int16Array(width * height) };
  const dropped = lend(2, { width, height, slot });
  await until("it is given back", () => dropped.released === 1);
  expect(output.counters().drops).toMatchObject({ "depth.oversize": 1 });
  expect(dropped.sent).toBe(0);
});

test.each<[string[], object, [string, string][]]>([
  [
    [],
    {},
    [
      ["topics", "depthwatt/rig/{depth,confidence,metrics,state,info,camera_info}"],
      ["consume", "npx depthwatt consume BROKER --device rig"],
    ],
  ],
  [
    ["depth.enabled=false", "username=anna"],
    { base: "site", device: "my rig" },
    [
      ["topics", "site/my rig/{confidence,metrics,state,info,camera_info}"],
      [
        "consume",
        "npx depthwatt consume BROKER --device 'my rig' --base site --stream confidence --username anna",
      ],
    ],
  ],
  [
    ["depth.enabled=false", "confidence.enabled=false", "preview.enabled=true"],
    {},
    [["topics", "depthwatt/rig/{preview,metrics,state,info,camera_info}"]],
  ],
])("the greeting with %j names topics and the command that reads them", async (set, changes, lines) => {
  const { output, broker } = await openOutput(set, changes);
  const { url } = broker.access;
  const named = lines.map(([label, text]) => [label, text.replace("BROKER", url)]);
  expect(output.greeting()).toEqual([["broker", url], ...named]);
  expect(output.broker).toMatchObject({ url, embedded: false, protocolVersion: "auto" });
});

test.each<[object, object, string[]]>([
  [{ off: "control.enabled is false." }, { available: false, reason: "control.enabled is false" }, []],
  [
    { off: undefined, secret: undefined, brokerAuthenticates: false },
    { available: false, reason: "requests need control.secretFile" },
    ["control: only the live page is served; requests over MQTT need control.secretFile"],
  ],
])("control %j is reported as %j", async (control, expected, expectedNotices) => {
  const { output, broker, notices } = await openOutput([], { control });
  output.info({});
  await until("info", () => broker.heard.some(({ topic }) => topic.endsWith("/info")));
  const info = broker.heard.find(({ topic }) => topic.endsWith("/info"))!;
  expect(JSON.parse(info.text).control).toEqual(expected);
  expect(notices).toEqual(expectedNotices);
});

test("a device whose outputs are not open has its newest state at the broker, also after this program is gone", async () => {
  const broker = await startSideListener();
  cleanups.push(() => broker.close());
  const settings = { broker: broker.access.url, protocolVersion: 5 } as MqttSettings;
  const absent = new AbsentState({ settings, base: "depthwatt", device: "rig" });
  absent.state("offline" as never, "one", "SOURCE_UNAVAILABLE");
  absent.state("offline" as never, "two", "SOURCE_UNAVAILABLE");
  await until("the state", () => broker.heard.length === 1);
  absent.state("offline" as never, "three", "CONFIG_INVALID");
  await until("the next state", () => broker.heard.length === 2);
  const state = (reason: string, code: string) => [
    "depthwatt/rig/state",
    { state: "offline", reason, code },
    true,
  ];
  expect(broker.take()).toEqual([state("two", "SOURCE_UNAVAILABLE"), state("three", "CONFIG_INVALID")]);
  expect(broker.packets.filter(({ type }) => type === PUBLISH).map(({ qos }) => qos)).toEqual([1, 1]);
  const [connect] = broker.packets;
  // The version (MQTT 5 section 3.1.2.2), and neither will nor user name.
  expect([connect!.bytes.subarray(4, 9).toString("latin1"), connect!.bytes[9]! & 0b1100_0100]).toEqual([
    "MQTT\u0005",
    0,
  ]);
  await absent.close();
  absent.state("offline" as never, "four", "CONFIG_INVALID");
  expect(broker.heard).toEqual([]);
});

test("a broker that does not let this client in is noticed, with the advice for an error that stays", async () => {
  // Bad user name or password (MQTT 5 section 3.2.2.2).
  const broker = await startScriptedBroker((packet, session) => {
    if (packet.type === CONNECT) session.send(connack(134));
  });
  cleanups.push(() => broker.close());
  const set = ["board=none", `outputs.mqtt.broker=${broker.url}`, "outputs.mqtt.protocolVersion=5"];
  const { config } = loadConfig({ set, environment: {} });
  const notices: string[] = [];
  const output = await openMqtt({
    settings: config.outputs.mqtt,
    base: "depthwatt",
    device: "rig",
    hasDepth: true,
    searched: () => ({ min: 0, max: 64 }),
    notice: (text: string) => notices.push(text),
  } as never);
  cleanups.push(() => output.close());
  await output.ready;
  const { failure } = output;
  expect(failure).toMatchObject({ retryable: false, hint: expect.stringContaining("outputs.mqtt.username") });
  expect(notices).toHaveLength(1);
  expect(notices[0]!.startsWith(`broker: ${failure!.message}`)).toBe(true);
  expect(notices[0]).toContain(failure!.hint);
  expect(output.counters().details).toMatchObject({ connected: false, reason: failure!.message });
});
