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
