// SPDX-License-Identifier: Apache-2.0
// depthwatt power-modes without flags, and with flags that exclude each other.
import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import "../../../../edge/commands/power-modes/command.js";
import { runInProcess } from "../../../doubles/command-line.js";

test("says which modes there are, and whether the service may change them", async () => {
  const { code, stdout, stderr } = await runInProcess(["power-modes"]);
  expect([code, stderr]).toEqual([0, ""]);
  const lines = stdout.split("\n").slice(0, -1);
  const none = "This machine has no /etc/nvpmodel.conf, so it has no power modes.";
  // A board has its modes here, and a line for each clock.
  if (existsSync("/etc/nvpmodel.conf")) expect(lines[0]).toMatch(/^Power modes: \S/);
  else expect(lines[0]).toBe(none);
  for (const line of lines.slice(1, -1))
    expect(line).toMatch(/^Clock of the (gpu|emc): at most [\d.]+ MHz; steps: [\d.]+(, [\d.]+)*$/);
  expect(lines.at(-1)).toBe(
    existsSync("/run/depthwatt-power-mode.socket")
      ? "The service may change them; 'depthwatt power-modes --forbid' undoes that."
      : "The service may not change them; 'depthwatt power-modes --allow' permits it.",
  );
});

test("--allow and --forbid together are refused", async () => {
  const { code, stdout, stderr } = await runInProcess(["power-modes", "--allow", "--forbid"]);
  expect([code, stdout, stderr]).toEqual([
    2,
    "",
    "error: expected one of --allow and --forbid, got both\nhint: Give one of them.\n",
  ]);
});
