// SPDX-License-Identifier: Apache-2.0
// One stream's two places: who is released when, exactly once, and under which cause it is counted.
import { expect, test } from "vitest";
import { Lane, makeLanes, type PendingFrame, sumLanes } from "../../../edge/outputs/mqtt/lane.js";
import { makeFrame } from "../../doubles/frames.js";

function pendingFrame(frameNumber: number) {
  const { buffer, bodyBytes, frame } = makeFrame(1);
  const releases: boolean[] = [];
  const release = (sent: boolean) => void releases.push(sent);
  const pending: PendingFrame = { buffer, bodyOffset: 128, bodyBytes, frame, frameNumber, release };
  return { pending, releases };
}

test("the newest frame takes the waiting place; the older one is released as unsent", () => {
  const lane = new Lane();
  const [older, newer] = [pendingFrame(0), pendingFrame(1)];
  lane.replaceWaiting(older.pending);
  lane.replaceWaiting(newer.pending);
  expect(lane.waiting).toBe(newer.pending);
  expect([older.releases, newer.releases]).toEqual([[false], []]);
  expect(lane.counters.drops).toEqual({ backpressure: 1 });
});

test("a frame is settled once, whatever calls back later, even while its successor is being sent", () => {
  const lane = new Lane();
  const [first, second] = [pendingFrame(0), pendingFrame(1)];
  lane.sending = first.pending;
  lane.settle(first.pending, undefined);
  lane.settle(first.pending, 100);
  expect(first.releases).toEqual([false]);
  lane.sending = second.pending;
  lane.settle(first.pending, 100);
  expect(lane.sending).toBe(second.pending);
  lane.settle(second.pending, 200);
  expect(second.releases).toEqual([true]);
  expect(lane.counters).toEqual({ published: 1, bytes: 200, drops: { lost: 1 } });
});

test("frame numbers count every frame offered; sums leave out streams without one", () => {
  const lanes = makeLanes();
  expect([lanes.depth.nextFrameNumber(), lanes.depth.nextFrameNumber()]).toEqual([0, 1]);
  const { pending } = pendingFrame(0);
  lanes.depth.drop(pending, "offline");
  lanes.depth.drop(pending, "offline");
  lanes.left.nextFrameNumber();
  lanes.left.drop(pending, "oversize");
  const sums = sumLanes(lanes);
  expect(sums.drops).toEqual({ offline: 2, oversize: 1 });
  expect(Object.keys(sums.streams)).toEqual(["depth", "left"]);
});
