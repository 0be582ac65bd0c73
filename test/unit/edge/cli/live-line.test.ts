// SPDX-License-Identifier: Apache-2.0
// The line of a run that shows its newest figures: lost frames apart from frames that an output was asked to skip, drawn again on
// a terminal, written once for each change in a log.
import { expect, test } from "vitest";
import { cutToTerminal, figuresLine, LiveLine, powerWords } from "../../../../edge/cli/live-line.js";
import type { RunFigures } from "../../../../edge/run/figures.js";

const line = (drops: Record<string, number>, dutyCycle: object = { available: false }) =>
  figuresLine({
    fps: 30,
    stages: {},
    power: { available: false },
    dutyCycle,
    drops,
  } as unknown as RunFigures);

test("the line of a run that sleeps names it", () => {
  expect(line({}, { available: true, state: "asleep" })).toMatch(/^30\.0 fps, asleep \|/);
});

test.each([
  [{}, "lost 0 |"],
  [{ engineBusy: 2, "mqtt.depth.backpressure": 1 }, "lost 3 |"],
  [{ "derived.rateLimit": 20, "viewer.pageBusy": 4 }, "lost 0, skipped 24 |"],
  [{ settling: 3, dutyCycle: 2, noMotion: 1 }, "lost 0, skipped 6 |"],
  [{ "derived.rateLimit": 20, "left.late": 3, "right.late": 4 }, "lost 4, skipped 20 |"],
])("%j", (drops, expected) => {
  expect(line(drops as Record<string, number>)).toContain(`| ${expected}`);
});

test("the whole line: slowest stage first, watts, shares", () => {
  const figures = {
    fps: 29.96,
    matchedPercent: 91.23,
    validPercent: 99.99,
    stages: { rectify: { p50Ms: 0.625, p95Ms: 0.7 }, match: { p50Ms: 7.9, p95Ms: 8.4 } },
    power: { available: true, watts: 12.1, fpsPerWatt: 2.468 },
    dutyCycle: { available: true, state: "awake" },
    drops: { engineBusy: 3, "mqtt.rateLimit": 12, "right.late": 5, "left.late": 1 },
  } as unknown as RunFigures;
  expect(figuresLine(figures)).toBe(
    "30.0 fps | 91.2 % matched, 100.0 % valid | 12.10 W, 2.47 fps/W | lost 8, skipped 12 | " +
      "ms p50 (p95): match 7.90 (8.40), rectify 0.63 (0.70)",
  );
  const unknown = { available: false, reason: "" };
  expect(figuresLine({ ...figures, validPercent: unknown } as never)).not.toContain("matched");
  expect(figuresLine({ ...figures, matchedPercent: unknown } as never)).not.toContain("matched");
  expect(powerWords({ power: { available: true, watts: 1, fpsPerWatt: unknown } } as never)).toBe("1.00 W");
  expect(line({})).toBe("30.0 fps | watts unavailable | lost 0 | ms p50 (p95): none yet");
});

test.each([
  [11, "0123456789"],
  [10, "01234567…"],
  [1, "…"],
])("in %s columns", (columns, shown) => {
  expect(cutToTerminal("0123456789", { columns })).toBe(shown);
  expect(cutToTerminal("x".repeat(79), {} as never)).toBe("x".repeat(79));
  expect(cutToTerminal("x".repeat(80), { columns: 0 })).toHaveLength(79);
});

function lineOn(stream: { isTTY: boolean; columns?: number }) {
  let out = "";
  const write = (text: string) => {
    out += text;
    return true;
  };
  const line = new LiveLine({ ...stream, write } as never);
  return { line, out: () => out };
}

test("a log gets a line when it differs from the one before", () => {
  const { line, out } = lineOn({ isTTY: false });
  for (const text of ["10 fps", "10 fps", "11 fps", "10 fps"]) line.show(text);
  line.finish();
  expect(out()).toBe("10 fps\n11 fps\n10 fps\n");
});

test("a terminal gets each line in place of the one before, and one line break at the end", () => {
  const { line, out } = lineOn({ isTTY: true, columns: 80 });
  line.show("10 fps");
  line.show("10 fps");
  line.finish();
  line.finish();
  expect(out()).toBe("\r\u001b[K10 fps\r\u001b[K10 fps\n");
});
