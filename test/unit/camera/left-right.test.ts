// SPDX-License-Identifier: Apache-2.0
// Tests where in a folder the images of both cameras are found.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { leftRightIn } from "../../../camera/index.js";

test.each<[string, string[], [string, string] | undefined]>([
  ["folders of the sides", ["left", "right"], ["left", "right"]],
  ["EuRoC", ["mav0/cam0/data", "mav0/cam1/data"], ["mav0/cam0/data", "mav0/cam1/data"]],
  ["EuRoC without mav0", ["cam0/data", "cam1/data"], ["cam0/data", "cam1/data"]],
  ["images without data/", ["mav0/cam0", "mav0/cam1"], ["mav0/cam0", "mav0/cam1"]],
  ["one camera", ["cam0/data", "left"], undefined],
])("%s", (_, made, expected) => {
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-left-right-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const path of made) mkdirSync(join(folder, path), { recursive: true });
  const [left, right] = (expected ?? []).map((path) => join(folder, path));
  expect(leftRightIn(folder)).toEqual(expected && { left, right });
});
