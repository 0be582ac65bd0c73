// SPDX-License-Identifier: Apache-2.0
// Tests that the engine's encodings and slots follow from the outputs' settings; an output makes an encoding that the
// engine does not.
import { expect, test } from "vitest";
import { loadConfig } from "../../../edge/config/index.js";
import type { ComputedFrame } from "../../../edge/contracts/computed-frame.js";
import { mergeEncodings, requiredEncodings, slotsFor } from "../../../edge/outputs/encodings.js";
import type { Publisher } from "../../../edge/outputs/mqtt/index.js";
import { RealtimeOffset } from "../../../edge/outputs/mqtt/realtime-offset.js";
import { streamSinks } from "../../../edge/outputs/mqtt/streams.js";

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
