// SPDX-License-Identifier: Apache-2.0
// The live line counts frames that were lost apart from frames that an output was asked to skip.
import { expect, test } from "vitest";
import { figuresLine } from "../../../../edge/cli/live-line.js";
import type { RunFigures } from "../../../../edge/run/figures.js";

const line = (drops: Record<string, number>) =>
  figuresLine({ fps: 30, stages: {}, power: { available: false }, drops } as unknown as RunFigures);

test.each([
  [{}, "lost 0 |"],
  [{ engineBusy: 2, "mqtt.depth.backpressure": 1 }, "lost 3 |"],
  [{ "derived.rateLimit": 20, "viewer.pageBusy": 4 }, "lost 0, skipped 24 |"],
  [{ "derived.rateLimit": 20, "left.late": 3, "right.late": 4 }, "lost 4, skipped 20 |"],
])("%j", (drops, expected) => {
  expect(line(drops as Record<string, number>)).toContain(`| ${expected}`);
});
