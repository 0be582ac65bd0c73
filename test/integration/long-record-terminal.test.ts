// SPDX-License-Identifier: Apache-2.0
// The progress bar in a terminal: it grows in one line, is cut to the terminal, and is erased at the end.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { writeScene } from "../../camera/index.js";
import { loadNative } from "../../edge/contracts/native.js";
import { runProgram } from "../doubles/program.js";
import { startInTerminal } from "../doubles/terminal.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-bar-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const PAIRS = 12;

beforeAll(async () => {
  const options = { frames: PAIRS, width: 128, height: 96, truth: "left", view: "ideal" } as const;
  await writeScene(loadNative(), { ...options, folder: join(folder, "scene") });
}, 60_000);

const COLUMNS = 70;
const START = "\r\u001b[K";

/** Returns the successive texts of the terminal's line. */
const shownScreens = (text: string) => text.split(START).slice(1);

test.each([
  ["batch", ["scene", "maps"], ["--num-disparities", "16", "--set", "board=none"]],
  ["convert", ["scene", "scene.mcap"], []],
  ["eval", ["scene"], ["--frames", "1", "--set", "board=none"]],
  [
    "eval",
    ["scene"],
    ["--frames", "1", "--set", "board=none", "--sweep", "p1=8,10", "--plot", join(folder, "p1.svg")],
  ],
  ["scene", [], ["--frames", "4", "--width", "64", "--height", "48", "--out", join(folder, "drawn")]],
  ["bench", [], ["--frames", "5", "--width", "64", "--height", "48", "--set", "board=none"]],
])("%s shows a bar in a terminal and erases it, and none in a pipe", async (command, places, more) => {
  const words = [command, ...places.map((name) => join(folder, name)), ...more];
  const run = startInTerminal(words, COLUMNS);
  expect(await run.ended, run.shown()).toBe(0);
  const bars = shownScreens(run.shown()).filter((line) => line.startsWith("["));
  expect(bars.length, run.shown()).toBeGreaterThan(0);
  const done = bars.map((line) => {
    const [, bar = "", percent, number, total] = /^\[([#-]{24})\] (\d+) % (\d+)\/(\d+)/.exec(line) ?? [];
    expect(line.length).toBeLessThan(COLUMNS);
    expect(Number(percent)).toBe(Math.floor((100 * Number(number)) / Number(total)));
    expect(bar.lastIndexOf("#") + 1).toBe(Math.round((24 * Number(number)) / Number(total)));
    return Number(number);
  });
  expect(done).toEqual(done.toSorted((a, b) => a - b));
  // Erased before the summary is printed.
  expect(shownScreens(run.shown()).at(-1)).not.toMatch(/^\[/);

  const again = words.map((word) => word.replace(/(maps|scene\.mcap)$/, "piped-$1"));
  const piped = await runProgram(again);
  expect(piped.code, piped.stderr).toBe(0);
  expect(piped.stdout + piped.stderr).not.toContain("\u001b");
});
