// SPDX-License-Identifier: Apache-2.0
// Tests that the engine's encodings and slots follow from the outputs' settings; an output makes an encoding that the
// engine does not.
import { expect, test } from "vitest";
import { FRAME_HEADROOM_BYTES } from "../../../core/frame/frame-format.js";
import { loadConfig } from "../../../edge/config/index.js";
import type { ComputedFrame } from "../../../edge/contracts/computed-frame.js";
import { mergeEncodings, requiredEncodings, slotsFor } from "../../../edge/outputs/encodings.js";
import { expirySeconds, frameProperties } from "../../../edge/outputs/mqtt/frame-properties.js";
import type { Publisher } from "../../../edge/outputs/mqtt/index.js";
import { RealtimeOffset } from "../../../edge/outputs/mqtt/realtime-offset.js";
import { brokenMqtt, type MqttSettings } from "../../../edge/outputs/mqtt/settings.js";
import { streamSinks } from "../../../edge/outputs/mqtt/streams.js";
import { streamsOn } from "../../../edge/outputs/mqtt/streams-on.js";

const outputs = (...set: string[]) =>
  loadConfig({ set: ["board=none", ...set], environment: {} }).config.outputs;

test.each<[string[], boolean, object]>([
  [[], true, { encodeDepth: "rvl" }],
  [[], false, { encodeDisparity: "rvl" }],
  [["outputs.mqtt.depth.encoding=compressedDepth"], true, { encodeDepth: "rvl" }],
  [["outputs.mqtt.depth.encoding=raw"], true, {}],
  [
    ["outputs.mqtt.depth.encoding=png", "outputs.mqtt.disparity.enabled=true"],
    true,
    { encodeDisparity: "rvl" },
  ],
  [
    ["outputs.mqtt.disparity.enabled=true", "outputs.mqtt.disparity.encoding=raw"],
    false,
    { encodeDisparity: "raw" },
  ],
  [["outputs.mqtt.broker=none"], true, {}],
])("%j with depth %s", (set, hasDepth, expected) => {
  expect(requiredEncodings(outputs(...set), hasDepth)).toEqual(expected);
});

/** Every output with its frames switched on, and what the engine makes for it and nothing else. */
const NEEDED: Record<string, [set: string[], needed: object][]> = {
  viewer: [[[], {}]],
  derived: [[["enabled=true"], {}]],
  detections: [[["enabled=true"], { rightGrey: true }]],
  mcap: [
    [["file=a.mcap"], {}],
    [["file=a.mcap", "depth=compressedDepth"], { encodeDepth: "rvl" }],
    [["file=a.mcap", "points=true"], { points: true }],
    [["file=a.mcap", "right=true"], { rightGrey: true }],
    [["file=a.mcap", "leftColours=true"], { leftRgb: true }],
    [["file=a.mcap", "leftColours=true", "left=false"], {}],
    [["file=a.mcap", "registered=true"], { registration: true }],
    [
      ["file=a.mcap", "recording=false", "right=true", "leftColours=true", "points=true", "registered=true"],
      {},
    ],
  ],
  ros: [
    [["enabled=true"], { encodeDepth: "rvl" }],
    [["enabled=true", "compressedDepth=png"], {}],
    [["enabled=true", "compressedDepth=off", "points=true"], { points: true }],
    [["enabled=true", "compressedDepth=off", "voxels=true"], { voxels: true }],
    [["enabled=true", "compressedDepth=off", "right=true"], { rightGrey: true }],
    [["enabled=true", "compressedDepth=off", "registered=true"], { registration: true }],
  ],
  foxglove: [
    [["enabled=true"], {}],
    [["enabled=true", "points=true"], { points: true }],
    [["enabled=true", "leftColours=true"], { leftRgb: true }],
    [["enabled=true", "right=true"], { rightGrey: true }],
    [["enabled=true", "registered=true"], { registration: true }],
  ],
  sharedMemory: [
    [["path=/run/frames.sock"], {}],
    [["path=/run/frames.sock", "points=true"], { points: true }],
    [["path=/run/frames.sock", "leftColours=true"], { leftRgb: true }],
    [["path=/run/frames.sock", "right=true"], { rightGrey: true }],
    [["path=/run/frames.sock", "registered=true"], { registration: true }],
  ],
  mqtt: [
    [["broker=embedded", "depth.enabled=false", "left.enabled=true"], {}],
    [["broker=embedded", "depth.enabled=false", "left.enabled=true", "left.colours=true"], { leftRgb: true }],
    [["broker=embedded", "depth.enabled=false", "left.colours=true"], {}],
    [["broker=embedded", "depth.enabled=false", "right.enabled=true"], { rightGrey: true }],
    [["broker=embedded", "depth.enabled=false", "registered.enabled=true"], { registration: true }],
    [["broker=embedded", "depth.enabled=false", "points.enabled=true"], { points: true }],
    [
      ["broker=embedded", "depth.enabled=false", "points.enabled=true", "points.encoding=voxels"],
      { voxels: true },
    ],
  ],
};

test.each(
  Object.entries(NEEDED).flatMap(([kind, rows]) => rows.map(([set, needed]) => [kind, set, needed] as const)),
)("%s with %j needs %j", (kind, set, needed) => {
  const own = set.map((word) => `outputs.${kind}.${word}`);
  expect(requiredEncodings(outputs("outputs.mqtt.broker=none", ...own), true)).toEqual(needed);
});

test("outputs that request different encodings each get one that they can use", () => {
  expect(
    mergeEncodings([{ encodeDisparity: "raw" }, { encodeDepth: "rvl", encodeDisparity: "rvl" }]),
  ).toEqual({
    encodeDepth: "rvl",
    encodeDisparity: "rvl",
  });
  expect(mergeEncodings([{}, { encodeDisparity: "raw" }])).toEqual({ encodeDisparity: "raw" });
  expect(mergeEncodings([])).toEqual({});
});

test("two slots are computed into; an output may hold two, and gets one more", () => {
  const off = "outputs.viewer.enabled=false";
  expect(slotsFor(outputs(off))).toBe(5);
  expect(slotsFor(outputs(off, "outputs.mqtt.broker=none"))).toBe(2);
  // The page copies what it sends and holds nothing.
  expect(slotsFor(outputs())).toBe(6);
});

test("raw disparity is made of the map where the engine wrote RVL for another output", () => {
  const sent: { bytes: Uint8Array; done: (sent: boolean) => void }[] = [];
  const publisher = {
    publish: (buffer: Uint8Array, at: number, bytes: number, _: object, done: (sent: boolean) => void) =>
      sent.push({ bytes: buffer.slice(at, at + bytes), done }),
  } as unknown as Publisher;
  const settings = outputs("outputs.mqtt.disparity.enabled=true", "outputs.mqtt.disparity.encoding=raw").mqtt;
  const [sink] = streamSinks(settings, false, {
    publisher,
    offset: new RealtimeOffset(),
    onDropped: () => {},
    onReduced: () => {},
    colours: () => expect.fail("colours"),
  });
  const frame = (...disparityQ4: number[]) =>
    ({
      slot: { disparityQ4: Int16Array.from(disparityQ4) },
      encodings: { encodeDisparity: "rvl" },
      clock: "file",
    }) as unknown as ComputedFrame;
  let done = 0;
  sink!(frame(-32768, 0, 15, 32767), () => done++);
  sink!(frame(1, 2, 3, -32768), () => done++);
  const words = ({ bytes }: { bytes: Uint8Array }) => [...new Uint16Array(bytes.buffer)];
  expect(sent.map(words)).toEqual([
    [0, 1, 16, 32768],
    [2, 3, 4, 0],
  ]);
  for (const { done } of sent) done(true);
  expect(done).toBe(2);
});

/** The streams' sinks with a publisher that takes everything at once. */
function sinksBy(mqtt: object, hasDepth = true) {
  const published: { stream: string; bytes: number[]; description: Record<string, unknown> }[] = [];
  const drops: string[] = [];
  const publisher = {
    maxMessageBytes: 1 << 20,
    nextFrameNumber: () => 0,
    publish: (...[buffer, at, bytes, description, done]: Parameters<Publisher["publish"]>) => {
      const { stream, ...rest } = description;
      published.push({ stream, bytes: [...buffer.subarray(at, at + bytes)], description: { ...rest } });
      done(true);
    },
  } as unknown as Publisher;
  const sinks = streamSinks(mqtt as MqttSettings, hasDepth, {
    publisher,
    offset: new RealtimeOffset(),
    onDropped: (cause) => drops.push(cause),
    onReduced: () => expect.fail("reduced"),
    colours: () => Uint8Array.of(1, 2, 3, 4, 5, 6),
  });
  const send = (frame: ComputedFrame) =>
    Promise.all(sinks.map((sink) => new Promise<boolean>((resolve) => sink(frame, resolve))));
  return { published, drops, send, count: sinks.length };
}

const STREAMS = ["depth", "disparity", "confidence", "left", "right", "points", "registered"];
const everyStream = (encoding: string, changes: object = {}) =>
  Object.fromEntries(
    STREAMS.map((name) => [
      name,
      {
        enabled: true,
        encoding,
        reduceToFit: false,
        colours: true,
        confidence: true,
        rateHz: "max",
        ...changes,
      },
    ]),
  );

/** Each array behind the headroom that a header is written into. */
const roomy = <T extends Uint8Array | Uint16Array>(values: T): T => {
  const bytes = new Uint8Array(FRAME_HEADROOM_BYTES + values.byteLength);
  bytes.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength), FRAME_HEADROOM_BYTES);
  const Type = values.constructor as new (buffer: ArrayBuffer, at: number) => T;
  return new Type(bytes.buffer, FRAME_HEADROOM_BYTES);
};

/** Two pixels; the other camera's image has three. */
const twoPixels = (encodings: object = {}) =>
  ({
    width: 2,
    height: 1,
    clock: "realtime",
    timestampPoint: "start",
    leftTimestampNs: 1n,
    rightTimestampNs: 2n,
    leftSequence: 3,
    rightSequence: 4,
    encodings: {
      leftRgb: true,
      rightGrey: true,
      encodeDisparity: "raw",
      points: { element: "int16", frame: "robot", colours: false },
      registration: { camera: "rgb", width: 3, height: 1 },
      ...encodings,
    },
    slot: {
      depthMillimetres: roomy(Uint16Array.of(0x0102, 0x0304)),
      encodedDisparity: roomy(Uint8Array.of(11, 12, 13, 14, 99)),
      confidence: roomy(Uint8Array.of(21, 22)),
      left: roomy(Uint8Array.of(31, 32)),
      leftRgb: roomy(Uint8Array.of(41, 42, 43, 44, 45, 46)),
      right: roomy(Uint8Array.of(51, 52)),
      points: roomy(Uint8Array.of(61, 62)),
      registered: roomy(Uint16Array.of(0x0506, 0x0708, 0x090a)),
      registeredConfidence: roomy(Uint8Array.of(71, 72, 73)),
    },
    result: { encodedDepthBytes: 0, encodedDisparityBytes: 4 },
  }) as unknown as ComputedFrame;

test("raw bodies and their descriptions, of every stream", async () => {
  const { published, send, drops } = sinksBy(everyStream("raw"));
  expect(await send(twoPixels())).toEqual(Array(8).fill(true));
  const rectified = {
    encoding: "raw",
    width: 2,
    height: 1,
    leftTimestampNs: 1n,
    rightTimestampNs: 2n,
    clock: "realtime",
    timestampPoint: "start",
    realtimeOffsetNs: 0n,
    leftSequence: 3,
    rightSequence: 4,
    energy: undefined,
  };
  const other = { ...rectified, width: 3, camera: "rgb" };
  const points = { frame: "robot", colour: "grey" };
  expect(published).toEqual([
    { stream: "depth", bytes: [2, 1, 4, 3], description: { ...rectified, element: "u16" } },
    { stream: "disparity", bytes: [11, 12, 13, 14], description: { ...rectified, element: "u16" } },
    { stream: "confidence", bytes: [21, 22], description: { ...rectified, element: "u8" } },
    { stream: "left", bytes: [41, 42, 43, 44, 45, 46], description: { ...rectified, element: "rgb8" } },
    { stream: "right", bytes: [51, 52], description: { ...rectified, element: "u8" } },
    { stream: "points", bytes: [61, 62], description: { ...rectified, element: "i16", points } },
    { stream: "registered", bytes: [6, 5, 8, 7, 10, 9], description: { ...other, element: "u16" } },
    { stream: "registeredConfidence", bytes: [71, 72, 73], description: { ...other, element: "u8" } },
  ]);
  expect(drops).toEqual([]);
});

test("streams of an engine that does not compute them yet are skipped, and left has no colours", async () => {
  const without = { leftRgb: false, rightGrey: false, registration: undefined, points: undefined };
  const { published, send, drops } = sinksBy(everyStream("raw"));
  expect(await send(twoPixels(without))).toEqual([true, true, true, true, false, false, false, false]);
  expect(published.map(({ stream }) => stream)).toEqual(["depth", "disparity", "confidence", "left"]);
  expect(published[3]).toMatchObject({ bytes: [31, 32], description: { element: "u8" } });
  expect(drops).toEqual([]);
  expect(sinksBy(everyStream("raw"), false).count).toBe(4);
  expect(sinksBy(everyStream("raw", { confidence: false })).count).toBe(7);
  expect(sinksBy(everyStream("raw", { enabled: false })).count).toBe(0);
});

test("points have their own rate, and a picture that cannot be packed is counted and does not stop the next", async () => {
  const slow = sinksBy({
    ...everyStream("raw", { enabled: false }),
    points: { enabled: true, rateHz: 0.001 },
  });
  expect([await slow.send(twoPixels()), await slow.send(twoPixels())]).toEqual([[true], [false]]);
  expect(slow.drops).toEqual(["points.rateLimit"]);
  const { published, drops, send } = sinksBy({
    ...everyStream("png", { enabled: false }),
    depth: { enabled: true, encoding: "png" },
  });
  const broken = { ...twoPixels(), slot: {} } as ComputedFrame;
  expect(await send(broken)).toEqual([false]);
  expect(drops).toEqual(["depth.encoderFailed"]);
  await new Promise((resolve) => setImmediate(resolve));
  expect([await send(twoPixels()), published.length]).toEqual([[true], 1]);
});

test.each<[Partial<MqttSettings>, string[], string]>([
  [
    { broker: "mqtt://host:99999" },
    ["broker"],
    "expected mqtt://, mqtts://, ws:// or wss:// with a host name",
  ],
  [{ certFile: "c", broker: "mqtts://h" }, ["certFile", "keyFile"], "together, got only the first"],
  [{ keyFile: "k", broker: "wss://h" }, ["certFile", "keyFile"], "together, got only the second"],
  [{ caFile: "a", broker: "mqtt://h" }, ["caFile", "broker"], 'got "mqtt://h"'],
  [{ passwordFile: "p" }, ["passwordFile", "username"], "expected outputs.mqtt.username with it"],
  [{ passwordFile: "p", protocolVersion: 4 }, ["passwordFile", "username"], "got nothing"],
  [{ broker: "embedded", protocolVersion: 5 }, ["protocolVersion", "broker"], "got 5"],
])("the settings %o are refused", (changes, keys, text) => {
  const defaults = {
    broker: "mqtt://host",
    protocolVersion: "auto",
    left: { encoding: "jpeg", colours: false },
  };
  expect(brokenMqtt({ ...defaults, ...changes } as MqttSettings)).toEqual([
    { keys, text: expect.stringContaining(text) },
  ]);
});

test.each<Partial<MqttSettings>>([
  {},
  { broker: "none", protocolVersion: 5 },
  { broker: "embedded" },
  { passwordFile: "p", protocolVersion: 5 },
  { passwordFile: "p", username: "u" },
  { passwordFile: "p", broker: "mqtt://user@host" },
  { caFile: "a", certFile: "c", keyFile: "k", broker: "mqtts://host" },
  { caFile: "a", broker: "wss://host" },
  { left: { enabled: true, encoding: "raw", reduceToFit: false, colours: true } },
])("the settings %o are accepted", (changes) => {
  const defaults = {
    broker: "mqtt://host",
    protocolVersion: "auto",
    left: { encoding: "jpeg", colours: false },
  };
  expect(brokenMqtt({ ...defaults, ...changes } as MqttSettings)).toEqual([]);
});

test("unknown and wrong settings of an output are refused by name", () => {
  expect(() => outputs("outputs.mqtt.brocker=none")).toThrow(
    /outputs\.mqtt\.brocker.*"outputs\.mqtt\.broker"/,
  );
  expect(() => outputs("outputs.mqttt.broker=none")).toThrow(/outputs\.mqttt\.broker/);
  expect(() => outputs("outputs.mqtt.rateHz=0")).toThrow(/outputs\.mqtt\.rateHz/);
});

test("without depth disparity takes its place, and topics that need depth are off", () => {
  const all = ["depth", "points", "registered", "confidence", "left", "right"];
  const { mqtt } = outputs(...all.map((name) => `outputs.mqtt.${name}.enabled=true`));
  const without = (name: string) => all.filter((one) => one !== name);
  expect(streamsOn(mqtt, true).sort()).toEqual(all.sort());
  expect(streamsOn(mqtt, false).sort()).toEqual(["confidence", "disparity", "left", "right"]);
  const noDepth = { ...mqtt, depth: { ...mqtt.depth, enabled: false } };
  expect(streamsOn(noDepth, true).sort()).toEqual(without("depth").sort());
  expect(streamsOn(noDepth, false)).not.toContain("disparity");
});

test("a message's properties: header fields, energy with its digits or its reason, and three periods of expiry", () => {
  expect([0.5, 333, 334, 1000, 1001].map(expirySeconds)).toEqual([1, 1, 2, 3, 4]);
  const frame = { encoding: "rvl", width: 64, height: 48, leftTimestampNs: 7n, clock: "file" } as never;
  const properties = (rest: object) => frameProperties({ ...(frame as object), ...rest } as never, 9, 400);
  const head = [
    ["encoding", "rvl"],
    ["width", "64"],
    ["height", "48"],
    ["frameNumber", "9"],
    ["leftTimestampNs", "7"],
    ["clock", "file"],
  ];
  expect(properties({})).toEqual({
    contentType: "application/vnd.depthwatt.frame",
    expirySeconds: 2,
    user: head,
  });
  const energy = { available: true, joules: 1 / 3, joulesUncertainty: 1 / 70, seconds: 0.1, ageMs: 12.34567 };
  expect(properties({ energy, reduction: 2 }).user).toEqual([
    ...head,
    ["energyJoules", "0.333333"],
    ["energyUncertaintyJoules", "0.0143"],
    ["energySeconds", "0.100000"],
    ["energyAgeMs", "12.346"],
    ["reduction", "2"],
  ]);
  const joulesUncertainty = { available: false, reason: "no step" };
  expect(properties({ energy: { ...energy, joulesUncertainty } }).user).toContainEqual([
    "energyUncertaintyJoules",
    "unknown",
  ]);
  const missing = { available: false, reason: "no sensor" };
  expect(properties({ energy: missing }).user).toEqual([...head, ["energy", "unavailable: no sensor"]]);
});
