// SPDX-License-Identifier: Apache-2.0
// The energy that frames carry, as a recording has it.
import { expect, test } from "vitest";
import type { ComputedFrame } from "../../../edge/contracts/computed-frame.js";
import { frameChannels } from "../../../edge/outputs/mcap/channels.js";

const [width, height] = [4, 2];
const channels = frameChannels({
  settings: { inputs: false, left: false, depth: "image" } as never,
  prefix: "/robot",
  width,
  height,
  hasDepth: true,
  rig: undefined,
  input: { width, height } as never,
});

test.each([
  { available: true, joules: 0.375, joulesUncertainty: 0.01, seconds: 0.05, ageMs: 21 },
  { available: false, reason: "VDD_IN: no reading for 0.7 s" },
] as const)("%o", (energy) => {
  const channel = channels.at(-1)!;
  expect(channel).toMatchObject({ topic: "/robot/energy", schema: { name: "depthwatt.FrameEnergy" } });
  const frame = { energy, leftSequence: 7 } as ComputedFrame;
  const bytes = channel.bytes(frame)!;
  const target = new Uint8Array(bytes + 3);
  const stamp = channel.write(target, 3, frame, { leftNs: 5n, rightNs: 6n });
  expect(stamp).toEqual({ publishNs: 5n, sequence: 7 });
  expect(JSON.parse(Buffer.from(target.subarray(3)).toString())).toEqual(energy);
});

test("a frame of a source without a meter has no such message", () => {
  expect(channels.at(-1)!.bytes({} as ComputedFrame)).toBeUndefined();
});
