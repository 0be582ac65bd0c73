// SPDX-License-Identifier: Apache-2.0
// Tests the memory of a broker's refusals, without a broker: by topic, until it takes a message again or the topic is
// not used any more.
import { expect, test } from "vitest";
import { BrokerRefusals } from "../../../edge/outputs/mqtt/broker-refusals.js";

const NOT_AUTHORIZED = 135;

test("a topic that nothing is published to any more is refused no longer, also where the answer comes late", () => {
  const reported: string[] = [];
  const acceptance = new BrokerRefusals("mqtt://broker", ({ message }) => reported.push(message));
  acceptance.ask("depth", 1);
  acceptance.answer(1, NOT_AUTHORIZED);
  acceptance.ask("left", 2);
  acceptance.answer(2, NOT_AUTHORIZED);
  acceptance.leave(["depth"]);
  expect(acceptance.refusal?.message).toMatch(/: left$/);
  acceptance.ask("left", 3);
  acceptance.leave(["depth", "left"]);
  expect(acceptance.answer(3, NOT_AUTHORIZED)).toBe(true);
  // A frame that was still being packed when its stream was switched off.
  acceptance.ask("left", 4);
  acceptance.answer(4, NOT_AUTHORIZED);
  expect(acceptance.refusal).toBeUndefined();
  expect(reported).toHaveLength(2);
  // Switched on again it asks at once.
  acceptance.leave(["depth"]);
  expect([acceptance.isDue("left"), acceptance.refusal]).toEqual([true, undefined]);
  acceptance.ask("left", 5);
  acceptance.answer(5, NOT_AUTHORIZED);
  expect(acceptance.refusal?.message).toMatch(/: left$/);
});

test("a topic asks every 10 s, and is refused until the broker takes a message", () => {
  let now = 0;
  const errors: { message: string; hint?: string | undefined; context: object }[] = [];
  const refusals = new BrokerRefusals(
    "mqtt://anna:secret@broker:1883",
    (error) => errors.push(error),
    () => now,
  );
  const state = () => [refusals.isDue("a"), refusals.isRefused("a"), refusals.inFlight];
  expect(state()).toEqual([true, false, 0]);
  refusals.ask("a", 1);
  expect(state()).toEqual([false, false, 1]);
  expect([refusals.answer(2, 135), refusals.answer(1, 127)]).toEqual([false, true]);
  expect(state()).toEqual([false, false, 0]);
  now = 9_999;
  expect(refusals.isDue("a")).toBe(false);
  now = 10_000;
  expect(refusals.isDue("a")).toBe(true);
  const answer = (messageId: number, code: number) => {
    refusals.ask("a", messageId);
    refusals.answer(messageId, code);
  };
  answer(2, 128);
  expect(state()).toEqual([false, true, 0]);
  now = 20_000;
  expect(state()).toEqual([true, false, 0]);
  // While the next answer is on its way the topic stays refused; the same answer is reported once.
  refusals.ask("a", 3);
  expect(state()).toEqual([false, true, 1]);
  refusals.answer(3, 128);
  answer(4, 149);
  answer(5, 255);
  const broker = "mqtt://broker:1883";
  expect(errors.map(({ message, context }) => [message, context])).toEqual([
    [`the broker ${broker} refuses a message (reason code 128): a`, { broker, topic: "a", found: 128 }],
    [`the broker ${broker} refuses a message that is too large: a`, { broker, topic: "a", found: 149 }],
    [
      `the broker ${broker} answers a message to a with a code that MQTT 5 does not define`,
      { broker, topic: "a", found: 255 },
    ],
  ]);
  expect(errors.map(({ hint }) => hint?.split(" ")[0])).toEqual(["Let", "Raise", "Look"]);
  expect(refusals.refusal?.message).toBe(errors[2]!.message);
  answer(6, 0);
  expect([refusals.refusal, refusals.isRefused("a")]).toEqual([undefined, false]);
});

test("after a packet that the client could not read every question is answered with a refusal, until it connects again", () => {
  const reported: string[] = [];
  const refusals = new BrokerRefusals("mqtt://broker", ({ message }) => reported.push(message));
  refusals.ask("a", 1);
  refusals.ask("b", 2);
  refusals.unreadable("document");
  expect(reported.map((text) => text.match(/ to (\w+) with/)?.[1])).toEqual(["a", "b"]);
  refusals.ask("c", 3);
  expect([refusals.inFlight, refusals.isRefused("c")]).toEqual([0, true]);
  refusals.unreadable(undefined);
  expect(reported).toHaveLength(3);
  refusals.unreadable("document");
  expect(reported[3]).toContain(" to document with");
  refusals.ask("d", 4);
  refusals.forget();
  expect([refusals.refusal, refusals.isDue("a"), refusals.inFlight]).toEqual([undefined, true, 0]);
  refusals.ask("a", 5);
  expect([refusals.inFlight, refusals.answer(4, 135)]).toEqual([1, false]);
});
