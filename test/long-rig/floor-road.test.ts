// SPDX-License-Identifier: Apache-2.0
// The floor on a road: 30 pairs from a driving car (KITTI odometry, sequence 1), one engine, its state kept from frame to frame.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { decodeGreyImage, greyPairLayout } from "../../camera/index.js";
import { createEngine } from "../../cuda/index.js";
import { loadConfig } from "../../edge/config/index.js";
import type { ComputedFrame } from "../../edge/contracts/computed-frame.js";
import type { Rig } from "../../edge/contracts/rig.js";
import { floorEngineOptions } from "../../edge/outputs/derived/floor/engine-options.js";
import { Obstacles } from "../../edge/outputs/derived/floor/obstacles.js";
import { engineOptionsFrom } from "../../edge/pipeline/engine-options.js";
import { uncalibrated } from "../../edge/pipeline/geometry.js";
import { needsData } from "../doubles/needs.js";

/** How far the left camera is above the road, as the authors of the data set say. */
const CAMERA_METRES = 1.65;

needsData("seq/kitti_odom_seq1").suite("the road of KITTI", (folder) => {
  test("the floor is found in each of 30 frames, within 4 cm of the camera's height, and steady", async () => {
    const image = async (side: string, frame: number) => {
      const file = join(folder, side, `${String(frame).padStart(6, "0")}.png`);
      return await decodeGreyImage(readFileSync(file), file);
    };
    const { width, height } = await image("left", 0);
    const line = readFileSync(join(folder, "calib.txt"), "utf8").split("\n")[1]!;
    const projection = line.split(" ").map(Number);
    const focalPixels = projection[0]!;
    const depth = {
      focalPixels,
      cx: projection[2]!,
      cy: projection[6]!,
      baselineMetres: -projection[3]! / focalPixels,
      disparityOffsetPixels: 0,
    };
    const derived = "outputs.derived";
    const { config } = loadConfig({
      environment: {},
      set: ["board=none", "match.numDisparities=128", `${derived}.enabled=true`, `${derived}.floor=auto`],
    });
    const rig = { rectification: depth } as unknown as Rig;
    const engine = createEngine(
      engineOptionsFrom(
        config,
        { description: greyPairLayout(width, height) },
        { ...uncalibrated(width, height), depth },
        floorEngineOptions(config.outputs.derived, { width, height, rig }),
      ),
    );
    const obstacles = new Obstacles(config.outputs.derived);
    const floors: { source: string; heightMetres: number; pitchDegrees: number; rollDegrees: number }[] = [];
    try {
      for (let frame = 0; frame < 30; frame++) {
        const [left, right] = [await image("left", frame), await image("right", frame)];
        await engine.compute(Uint8Array.from(left.data), Uint8Array.from(right.data));
        const computed = { slot: engine.slots[0] } as unknown as ComputedFrame;
        floors.push(obstacles.documents(computed, { ...depth, width, height }).floor as never);
      }
    } finally {
      engine.close();
    }
    expect(floors.map(({ source }) => source)).toEqual(floors.map(() => "estimated"));
    for (const [frame, { heightMetres, pitchDegrees, rollDegrees }] of floors.entries()) {
      expect(Math.abs(heightMetres - CAMERA_METRES)).toBeLessThan(0.04);
      const before = floors[Math.max(0, frame - 1)]!;
      expect(Math.abs(heightMetres - before.heightMetres)).toBeLessThan(0.01);
      expect(Math.abs(pitchDegrees - before.pitchDegrees)).toBeLessThan(0.2);
      expect(Math.abs(rollDegrees - before.rollDegrees)).toBeLessThan(0.2);
    }
  });
});
