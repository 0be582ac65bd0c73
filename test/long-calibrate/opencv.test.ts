// SPDX-License-Identifier: Apache-2.0
// Held-out sets: noisy, soft, a board covered by a hand in two pairs. The result is as good as OpenCV's, and close to
// the truth.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import sharp from "sharp";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Board, encodePng, type StereoCalibration } from "../../camera/index.js";
import { boardPicture } from "../doubles/board-pictures.js";
import { createPoses, createRig, normalPair } from "../doubles/calibration-rig.js";
import { needs, PYTHON } from "../doubles/needs.js";
import { lastJson, runProgram } from "../doubles/program.js";
import { Random } from "../doubles/random.js";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "depthwatt-opencv-sets-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Look {
  width: number;
  height: number;
  noise: number;
  blur: number;
}

/** Covered in these two pairs. */
const HIDDEN = [3, 7];

async function picture(
  sharpOne: { data: Uint8Array },
  { width, height, noise, blur }: Look,
  hidden: boolean,
  random: Random,
): Promise<Uint8Array> {
  const raw = { width, height, channels: 1 as const };
  const soft = await sharp(sharpOne.data, { raw }).blur(blur).extractChannel(0).raw().toBuffer();
  const data = Uint8Array.from(soft);
  const within = (at: number, size: number, from: number, to: number) => at > from * size && at < to * size;
  for (let at = 0; at < data.length; at++) {
    const [x, y] = [at % width, Math.floor(at / width)];
    if (hidden && within(x, width, 0.4, 0.6) && within(y, height, 0.35, 0.7)) data[at] = 90;
    data[at] = Math.max(0, Math.min(255, Math.round(data[at]! + noise * normalPair(random)[0])));
  }
  return encodePng({ data, width, height });
}

async function writeSet(place: string, board: Board, pairs: number, look: Look): Promise<StereoCalibration> {
  const rig = createRig("radtan", look);
  const random = new Random(123);
  for (const [at, pose] of createPoses(rig, board, pairs, random, 0.6).entries()) {
    for (const side of ["left", "right"] as const) {
      mkdirSync(join(place, side), { recursive: true });
      const one = boardPicture(rig, board, pose, side, { noise: 0, random, subsamples: 6 });
      const bytes = await picture(one, look, HIDDEN.includes(at), random);
      writeFileSync(join(place, side, `${String(at).padStart(2, "0")}.png`), bytes);
    }
  }
  return rig;
}

needs("opencv").suite("compared with OpenCV", () => {
  test.each([
    ["29 pairs 640x360", 29, { columns: 9, rows: 6 }, { width: 640, height: 360, noise: 4, blur: 0.8 }],
    ["12 pairs 320x240", 12, { columns: 8, rows: 5 }, { width: 320, height: 240, noise: 3, blur: 0.6 }],
  ])(
    "%s",
    async (name, pairs, size, look) => {
      const place = join(folder, name.replaceAll(" ", "-"));
      const rig = await writeSet(place, { pattern: "chessboard", squareMetres: 0.03, ...size }, pairs, look);
      const sides = ["--left", join(place, "left"), "--right", join(place, "right")];
      const ran = await runProgram([
        "calibrate",
        ...sides,
        "--square",
        "30mm",
        "-o",
        join(place, "rig.json"),
        "--json",
      ]);
      expect(ran.code, ran.stderr).toBe(0);
      const own = lastJson<{ pairsUsed: number; rmsPixels: number; calibration: StereoCalibration }>(ran);
      const words = ["test/long-calibrate/calibrate_opencv.py", place, `${size.columns}`, `${size.rows}`];
      const oracle = JSON.parse(spawnSync(PYTHON, words, { encoding: "utf8" }).stdout) as {
        pairs: number;
        rms: number;
        focal: [number, number];
      };
      console.log(
        `${name}: ${own.pairsUsed} pairs, rms ${own.rmsPixels.toFixed(4)} px; OpenCV ${JSON.stringify(oracle)}`,
      );
      expect(own.pairsUsed).toBe(pairs - HIDDEN.length);
      expect(own.rmsPixels).toBeLessThan(1.05 * oracle.rms);
      for (const [at, side] of (["left", "right"] as const).entries()) {
        const focal = own.calibration[side].K[0];
        expect(Math.abs(focal / oracle.focal[at]! - 1)).toBeLessThan(0.005);
        expect(Math.abs(focal / rig[side].K[0] - 1)).toBeLessThan(0.005);
      }
    },
    120_000,
  );
});
