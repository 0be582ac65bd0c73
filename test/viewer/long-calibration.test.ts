// SPDX-License-Identifier: Apache-2.0
// Tests the live page of depthwatt calibrate in Chromium: guidance for the person who holds the board.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Board, loadStereoCalibration, type StereoCalibration } from "../../camera/index.js";
import { type BoardStream, boardStream } from "../doubles/board-stream.js";
import { openBrowser } from "../doubles/browser.js";
import { createPoses, createRig } from "../doubles/calibration-rig.js";
import { until } from "../doubles/frames.js";
import { needs } from "../doubles/needs.js";
import { startProgram } from "../doubles/program.js";
import { Random } from "../doubles/random.js";
import { readPixels } from "./shown-page.js";

const SIZE = { width: 400, height: 300 };
const BOARD: Board = { pattern: "chessboard", columns: 8, rows: 5, squareMetres: 0.03 };

let folder: string;
let rig: StereoCalibration;
let camera: BoardStream;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "depthwatt-calibration-page-"));
  rig = createRig("radtan", SIZE);
  const random = new Random(5);
  const poses = createPoses(rig, BOARD, 8, random, 0.75);
  camera = boardStream(join(folder, "boards.grey"), rig, BOARD, poses, random, { rateHz: 10, hold: 12 });
}, 60_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const focalOff = ({ left, right }: StereoCalibration) =>
  Math.max(Math.abs(left.K[0] / rig.left.K[0] - 1), Math.abs(right.K[0] / rig.right.K[0] - 1));

needs("chromium").suite("the live page of a calibration", () => {
  test("both images, covered parts, what to do, and what it is worth; a signal ends it with what there is", async () => {
    const output = join(folder, "page.json");
    const words = [
      "calibrate",
      ...camera.words,
      "--board",
      "8x5",
      "--square",
      "30mm",
      "-o",
      output,
      "--set",
      "power.sensor=none",
    ];
    const run = startProgram(words);
    try {
      const address = () => /^page +(\S+)$/m.exec(run.stdout())?.[1];
      await until("the program names its page", () => address() !== undefined, 30_000);
      const browser = await openBrowser(address()!);
      try {
        const { page, complaints, foreign } = browser;
        await page.locator(".guidance").waitFor({ timeout: 30_000 });
        // From five pairs on it is known what they are worth.
        await page.locator('[data-depth-error="10"]').waitFor({ timeout: 60_000 });
        const text = (selector: string) => page.locator(selector).first().innerText();
        expect(await text('[data-depth-error="1"]')).toMatch(/\d (mm|cm|m)$/);
        expect(await text("main")).toMatch(/left image: corners were seen in \d+ of 20 parts/i);
        expect(await page.locator("rect.covered").count()).toBeGreaterThan(4);
        expect(await page.locator("rect.empty").count()).toBeGreaterThan(0);
        expect(await text(".guidance")).toMatch(/hold|tilt|taken|known|enough|show/);
        const pixels = await readPixels(page, '[data-side="right"] canvas');
        expect(pixels.length).toBe(4 * SIZE.width * SIZE.height);
        const reds = pixels.filter((_, at) => at % 4 === 0);
        expect(reds.reduce((max, value) => Math.max(max, value), 0)).toBeGreaterThan(190);
        expect(reds.reduce((least, value) => Math.min(least, value), 255)).toBeLessThan(60);
        if (process.env.SCREENSHOT_FOLDER) {
          const path = join(process.env.SCREENSHOT_FOLDER, "live-page-calibration.png");
          await page.screenshot({ path, fullPage: true });
        }
        run.child.kill("SIGINT");
        await page.locator('.guidance[data-verdict="ended"]').waitFor({ timeout: 30_000 });
        expect(await text(".guidance")).toMatch(/pairs, 0\.\d+ px rms, written to .*page\.json/);
        expect(complaints.filter((line) => !/WebSocket|ERR_CONNECTION/.test(line))).toEqual([]);
        expect(foreign).toEqual([]);
      } finally {
        await browser.close();
      }
      const { code, stderr } = await run.ended;
      expect(code, stderr).toBe(0);
      expect(stderr).toContain("ended before the goals were reached");
      const { calibration } = loadStereoCalibration(output, { imageSize: SIZE });
      expect(focalOff(calibration)).toBeLessThan(0.02);
    } finally {
      run.child.kill("SIGKILL");
      await run.ended;
    }
  }, 180_000);
});
