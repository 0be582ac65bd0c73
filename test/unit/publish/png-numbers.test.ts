// SPDX-License-Identifier: Apache-2.0
// A frame that finds the PNG encoder busy is dropped, and has a number all the same: readers see that it is missing.
import { expect, test } from "vitest";
import type { ComputedFrame } from "../../../edge/contracts/computed-frame.js";
import type { Publisher } from "../../../edge/outputs/mqtt/publisher-types.js";
import { RealtimeOffset } from "../../../edge/outputs/mqtt/realtime-offset.js";
import type { MqttSettings } from "../../../edge/outputs/mqtt/settings.js";
import { streamSinks } from "../../../edge/outputs/mqtt/streams.js";

test("numbers count every frame of the stream, also dropped ones", async () => {
  const numbers: (number | undefined)[] = [];
  const drops: string[] = [];
  let next = 0;
  const publisher = {
    nextFrameNumber: () => next++,
    publish: (...words: Parameters<Publisher["publish"]>) => {
      numbers.push(words[5]);
      words[4](true);
    },
  } as unknown as Publisher;
  const off = { enabled: false, encoding: "raw" };
  const settings = {
    depth: { enabled: true, encoding: "png" },
    disparity: off,
    confidence: off,
    left: off,
    right: off,
    points: off,
    registered: off,
  };
  const [sink] = streamSinks(settings as unknown as MqttSettings, true, {
    publisher,
    offset: new RealtimeOffset(),
    onDropped: (cause) => drops.push(cause),
    onReduced: () => {},
    colours: () => expect.fail("colours"),
  });
  const frame = {
    width: 4,
    height: 3,
    clock: "file",
    leftTimestampNs: 1n,
    rightTimestampNs: 1n,
    leftSequence: 1,
    rightSequence: 1,
    slot: { depthMillimetres: new Uint16Array(12) },
  } as unknown as ComputedFrame;
  const send = () => new Promise<boolean>((resolve) => sink!(frame, resolve));
  expect(await Promise.all([send(), send(), send()])).toEqual([true, false, false]);
  await new Promise((resolve) => setImmediate(resolve));
  expect(await send()).toBe(true);
  expect(numbers).toEqual([0, 3]);
  expect(drops).toEqual(["depth.encoderBusy", "depth.encoderBusy"]);
});
