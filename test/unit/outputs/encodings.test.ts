// SPDX-License-Identifier: Apache-2.0
// Tests that the engine's encodings and slots follow from the outputs' settings; an output makes an encoding that the
// engine does not.
import { expect, test } from "vitest";
import { loadConfig } from "../../../edge/config/index.js";
import type { ComputedFrame } from "../../../edge/contracts/computed-frame.js";
import { mergeEncodings, requiredEncodings, slotsFor } from "../../../edge/outputs/encodings.js";
import { expirySeconds, frameProperties } from "../../../edge/outputs/mqtt/frame-properties.js";
import type { Publisher } from "../../../edge/outputs/mqtt/index.js";
import { RealtimeOffset } from "../../../edge/outputs/mqtt/realtime-offset.js";
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
