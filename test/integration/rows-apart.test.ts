// SPDX-License-Identifier: Apache-2.0
// Cameras that are too many rows apart to be corrected: a run reports it once, with the hint, and its figures say why there is no offset.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { until } from "../doubles/frames.js";
import { lastJson, runProgram, startProgram } from "../doubles/program.js";
import { Random } from "../doubles/stages.js";

const [WIDTH, HEIGHT, DISPARITY] = [240, 120, 9];
const folder = mkdtempSync(join(tmpdir(), "depthwatt-rows-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Smooth patches: rows are distinguishable. The right camera's image is `rows` lower. */
function write(name: string, rows: number, frames = 3): string[] {
  const picture = new Random(3).fill(new Uint8Array((WIDTH + 40) * (HEIGHT + 40)), 20, 235);
  const row = WIDTH + 40;
  for (let i = row + 1; i < picture.length; ++i)
    picture[i] = (picture[i - 1]! + picture[i - row]! + 2 * picture[i]!) >> 2;
  const cut = (dx: number, dy: number) =>
    Uint8Array.from(
      { length: WIDTH * HEIGHT },
      (_, i) => picture[(Math.floor(i / WIDTH) + 20 + dy) * row + (i % WIDTH) + 20 + dx]!,
    );
  const sides = [
    ["left", cut(0, 0)],
    ["right", cut(DISPARITY, -rows)],
  ] as const;
  return sides.flatMap(([side, image]) => {
    const at = join(folder, name, side);
    mkdirSync(at, { recursive: true });
    for (let frame = 0; frame < frames; ++frame)
      writeFileSync(
        join(at, `${frame}.pgm`),
        Buffer.concat([Buffer.from(`P5 ${WIDTH} ${HEIGHT} 255\n`), image]),
      );
    return [`--${side}`, at];
  });
}

const WARNING =
  "4 rows or more above or below the left one, which 'auto' does not correct: calibrate the cameras";

test.each([
  [4, 1],
  [1, 0],
])("cameras %i rows apart are warned of %i times", async (rows, times) => {
  const words = ["run", "--broker", "none", "--rate", "max", "--json", "--set", "match.numDisparities=24"];
  const ran = await runProgram([...words, "--set", "board=none", ...write(`${rows}`, rows)]);
  expect(ran.code, ran.stderr).toBe(0);
  expect(ran.stderr.split(WARNING)).toHaveLength(times + 1);
  const { verticalOffset } = lastJson<{ verticalOffset: { measuredRows: unknown } }>(ran);
  if (times > 0) expect(verticalOffset.measuredRows).toMatchObject({ available: false });
  else expect(verticalOffset.measuredRows).toBeCloseTo(rows, 0);
});

test("the warning comes with the next metrics, not at the end", async () => {
  const words = ["run", "--broker", "none", "--rate", "10", "--json", "--set", "match.numDisparities=24"];
  const running = startProgram([...words, "--set", "board=none", ...write("long", 4, 600)]);
  await until("the warning", () => running.stderr().includes(WARNING), 30_000);
  running.child.kill("SIGINT");
  expect(lastJson<{ frames: number }>(await running.ended).frames).toBeLessThan(600);
});
