// SPDX-License-Identifier: Apache-2.0
// Classifies messages on the state topic: ours, or of another publisher under the same name.
import { expect, test } from "vitest";
import { classifyState, type StateMessage } from "../../../edge/outputs/mqtt/other-publishers.js";

const OURS = 7;
const THEIRS = 8;

test.each<[object | string, boolean, StateMessage]>([
  [{ state: "online", runId: OURS }, false, "ours"],
  [{ state: "degraded", runId: OURS }, true, "ours"],
  [{ state: "online", runId: THEIRS }, false, "other"],
  [{ state: "degraded", runId: THEIRS }, false, "other"],
  [{ state: "online", runId: THEIRS }, true, "older"],
  [{ state: "degraded", runId: THEIRS }, true, "older"],
  [{ state: "offline", runId: THEIRS }, false, "otherEnded"],
  [{ state: "stopped", runId: THEIRS }, false, "otherEnded"],
  [{ state: "stopped", runId: THEIRS }, true, "ended"],
  [{ state: "online" }, false, "broken"],
  [{ runId: THEIRS }, false, "broken"],
  ["", false, "broken"],
  ["null", true, "broken"],
])("%j, retained %s: %s", (message, retained, expected) => {
  const text = typeof message === "string" ? message : JSON.stringify(message);
  expect(classifyState(new TextEncoder().encode(text), OURS, retained)).toBe(expected);
});
