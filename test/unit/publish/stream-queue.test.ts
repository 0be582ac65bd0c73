// SPDX-License-Identifier: Apache-2.0
// One stream's two places: who is released when, exactly once, and under which cause it is counted.
import { expect, test } from "vitest";
import {
  makeStreamQueues,
  type PendingFrame,
  StreamQueue,
  sumStreamQueues,
} from "../../../edge/outputs/mqtt/stream-queue.js";
import { makeFrame } from "../../doubles/frames.js";

function pendingFrame(frameNumber: number) {
  const { buffer, bodyBytes, frame } = makeFrame(1);
  const releases: boolean[] = [];
  const release = (sent: boolean) => void releases.push(sent);
  const pending: PendingFrame = { buffer, bodyOffset: 128, bodyBytes, frame, frameNumber, release };
  return { pending, releases };
}

test("the newest frame takes the waiting place; the older one is released as unsent", () => {
  const queue = new StreamQueue();
  const [older, newer] = [pendingFrame(0), pendingFrame(1)];
  queue.replaceWaiting(older.pending);
  queue.replaceWaiting(newer.pending);
  expect(queue.waiting).toBe(newer.pending);
  expect([older.releases, newer.releases]).toEqual([[false], []]);
  expect(queue.counters.drops).toEqual({ backpressure: 1 });
});

test("a frame is settled once, also if callbacks come later, even while its successor is being sent", () => {
  const queue = new StreamQueue();
  const [first, second] = [pendingFrame(0), pendingFrame(1)];
  queue.sending = first.pending;
  queue.settle(first.pending, undefined);
  queue.settle(first.pending, 100);
  expect(first.releases).toEqual([false]);
  queue.sending = second.pending;
  queue.settle(first.pending, 100);
  expect(queue.sending).toBe(second.pending);
  queue.settle(second.pending, 200);
  expect(second.releases).toEqual([true]);
  expect(queue.counters).toEqual({ published: 1, bytes: 200, drops: { lost: 1 } });
});

test("frame numbers count every frame offered; sums leave out streams without one", () => {
  const queues = makeStreamQueues();
  expect([queues.depth.nextFrameNumber(), queues.depth.nextFrameNumber()]).toEqual([0, 1]);
  const { pending } = pendingFrame(0);
  queues.depth.drop(pending, "offline");
  queues.depth.drop(pending, "offline");
  queues.left.nextFrameNumber();
  queues.left.drop(pending, "oversize");
  const sums = sumStreamQueues(queues);
  expect(sums.drops).toEqual({ offline: 2, oversize: 1 });
  expect(Object.keys(sums.streams)).toEqual(["depth", "left"]);
});

test("a frame that a newer one has overtaken is reported, also where the numbers restart", () => {
  const queue = new StreamQueue();
  const inOrder = (...numbers: number[]) =>
    numbers.map((number) => queue.comesInOrder(pendingFrame(number).pending));
  expect(inOrder(4, 6, 5, 6, 7)).toEqual([true, true, false, false, true]);
  const late = new StreamQueue();
  const wrapping = [2 ** 32 - 2, 0, 2 ** 32 - 1, 1];
  expect(wrapping.map((number) => late.comesInOrder(pendingFrame(number).pending))).toEqual([
    true,
    true,
    false,
    true,
  ]);
});
