// SPDX-License-Identifier: Apache-2.0
// One stream's two places: who is released when, exactly once, and under which cause it is counted.
import type { MqttClient } from "mqtt";
import { expect, onTestFinished, test, vi } from "vitest";
import { RetainedTopics } from "../../../edge/outputs/mqtt/retained.js";
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

test("a step of half the range is still one ahead; frames that wait at the end are counted as closed", () => {
  for (const [step, isAhead] of [
    [2 ** 31, true],
    [2 ** 31 + 1, false],
  ] as const) {
    const queue = new StreamQueue();
    queue.comesInOrder(pendingFrame(0).pending);
    expect(queue.comesInOrder(pendingFrame(step).pending)).toBe(isAhead);
  }
  const queue = new StreamQueue();
  queue.dropWaiting("closed");
  const { pending, releases } = pendingFrame(0);
  queue.replaceWaiting(pending);
  queue.dropWaiting("closed");
  queue.dropWaiting("closed");
  expect([queue.waiting, releases, queue.counters.drops]).toEqual([undefined, [false], { closed: 1 }]);
  const queues = makeStreamQueues();
  queues.depth.nextFrameNumber();
  queues.depth.sending = pending;
  queues.depth.settle(pending, 7);
  const counted = { published: 1, bytes: 7, drops: {} };
  expect(sumStreamQueues(queues)).toEqual({ ...counted, streams: { depth: counted } });
});

/** A client that keeps what it is to publish, and its callbacks. */
function makeClient() {
  const sent: { topic: string; value: string; options: object; done: (error?: object) => void }[] = [];
  const publish = (topic: string, value: string, options: object, done: (error?: object) => void) =>
    sent.push({ topic, value, options, done });
  return { client: { publish } as unknown as MqttClient, sent };
}

test("retained topics: the newest value of each, no more at a time than the broker takes, and again on a new connection", () => {
  const { client, sent } = makeClient();
  const retained = new RetainedTopics();
  const answers: unknown[] = [];
  const publish = (maxInFlight: number, fits = true) =>
    retained.publishChanged(
      client,
      maxInFlight,
      () => fits,
      (topic, code) => answers.push([topic, code]),
    );
  const values = () => sent.splice(0).map(({ topic, value, options }) => [topic, value, options]);
  const kept = { qos: 1, retain: true };
  expect([retained.hasChanges, retained.unanswered]).toEqual([false, undefined]);
  retained.set("a", "1");
  retained.set("b", "2");
  retained.set("a", "3");
  publish(1);
  const [first] = sent;
  expect(values()).toEqual([["a", "3", kept]]);
  expect([retained.hasChanges, retained.inFlight, retained.unanswered]).toEqual([true, 1, "a"]);
  publish(1);
  expect(values()).toEqual([]);
  first!.done();
  publish(1);
  const [second] = sent;
  expect(values()).toEqual([["b", "2", kept]]);
  second!.done({ code: 135 });
  expect([answers.splice(0), retained.inFlight, retained.hasChanges]).toEqual([
    [
      ["a", 0],
      ["b", 135],
    ],
    0,
    false,
  ]);
  retained.set("a", "4");
  publish(1, false);
  expect([values(), retained.hasChanges]).toEqual([[], false]);
  // A connection that broke: the next one publishes all of it.
  retained.set("b", "5");
  publish(9);
  sent[0]!.done({ code: "ECONNRESET" });
  retained.set("b", "6");
  publish(9);
  retained.markAll();
  expect([answers, retained.inFlight]).toEqual([[], 0]);
  sent.length = 0;
  publish(9);
  expect(values()).toEqual([
    ["a", "4", kept],
    ["b", "6", kept],
  ]);
});

test("a topic that another client replaced is published again at once, and then every 5 s at most", () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const retained = new RetainedTopics();
  let renewed = 0;
  const renew = (topic = "a") => retained.renew(topic, () => renewed++);
  renew("unknown");
  retained.set("empty", "");
  renew("empty");
  expect(vi.getTimerCount()).toBe(0);
  retained.set("a", "1");
  retained.publishChanged(
    makeClient().client,
    9,
    () => true,
    () => {},
  );
  renew();
  renew();
  expect([vi.getTimerCount(), retained.hasChanges]).toEqual([1, false]);
  vi.advanceTimersByTime(0);
  expect([renewed, retained.hasChanges]).toEqual([1, true]);
  renew();
  vi.advanceTimersByTime(4_999);
  expect(renewed).toBe(1);
  vi.advanceTimersByTime(1);
  expect(renewed).toBe(2);
  renew();
  retained.close();
  vi.advanceTimersByTime(10_000);
  expect(renewed).toBe(2);
});
