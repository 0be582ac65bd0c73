// SPDX-License-Identifier: Apache-2.0
// Matches rendered rooms: the floor is right within 1 cm and 0.2 degrees, and the grid has no free cell beyond a step down.
import { expect, test } from "vitest";
import { greyPairLayout, SCENE_BASELINE_METRES, SceneRenderer, sceneView } from "../../../camera/index.js";
import { loadConfig } from "../../../edge/config/index.js";
import type { ComputedFrame } from "../../../edge/contracts/computed-frame.js";
import type { Rig } from "../../../edge/contracts/rig.js";
import { floorEngineOptions } from "../../../edge/outputs/derived/floor/engine-options.js";
import { Obstacles } from "../../../edge/outputs/derived/floor/obstacles.js";
import { engineOptionsFrom } from "../../../edge/pipeline/engine-options.js";
import { uncalibrated } from "../../../edge/pipeline/geometry.js";
import { computeFrame } from "../../doubles/engine-call.js";
import { native } from "../../doubles/stages.js";

const CELL_METRES = 0.1;

interface Pose {
  heightMetres: number;
  pitchDegrees: number;
  rollDegrees: number;
}
type Floor = Pose & { source: string; reason?: string };

async function render(room: "bare" | "stairs", pose: Pose, width: number, height: number) {
  const renderer = new SceneRenderer(native, { width, height, view: "rectified", room, pose });
  const { left, right } = await renderer.frame(0);
  renderer.close();
  return { width, height, left: Uint8Array.from(left.data), right: Uint8Array.from(right.data) };
}

/** Rendered pairs, because several tests look at the same one. */
const pairs = new Map<string, Awaited<ReturnType<typeof render>>>();

async function observe(room: "bare" | "stairs", pose: Pose, floor: "auto" | "set", width = 640) {
  const height = (width * 3) / 4;
  const key = JSON.stringify([room, pose, width]);
  const pair = pairs.get(key) ?? (await render(room, pose, width, height));
  pairs.set(key, pair);
  const derived = {
    floor,
    floorHeightMetres: pose.heightMetres,
    floorTiltDegrees: pose.pitchDegrees,
    floorRollDegrees: pose.rollDegrees,
    enabled: true,
    grid: true,
    gridCellMetres: CELL_METRES,
  };
  const set = Object.entries(derived).map(([key, value]) => `outputs.derived.${key}=${value}`);
  const { config } = loadConfig({
    environment: {},
    set: ["board=none", "match.numDisparities=128", ...set],
  });
  const description = greyPairLayout(width, height);
  const depth = {
    ...sceneView(width, height),
    baselineMetres: SCENE_BASELINE_METRES,
    disparityOffsetPixels: 0,
  };
  const rig = { rectification: depth } as unknown as Rig;
  const slot = await computeFrame(
    pair,
    engineOptionsFrom(
      config,
      { description },
      { ...uncalibrated(width, height), depth },
      floorEngineOptions(config.outputs.derived, { width, height, rig }),
    ),
  );
  const obstacles = new Obstacles(config.outputs.derived);
  const frame = { slot } as unknown as ComputedFrame;
  const documents = obstacles.documents(frame, { ...depth, width, height });
  return { floor: documents.floor as Floor, ...beyondTheEdge(obstacles.view) };
}

/** Counts cells within 3 m: beyond the edge of the platform, and drop-offs on it. */
function beyondTheEdge({ cells, side }: { cells: Uint8Array; side: number }) {
  const counts = { free: 0, drops: 0, falseDrops: 0 };
  for (let ahead = 0; ahead < 3 / CELL_METRES; ahead++)
    for (let left = 0; left < side; left++) {
      // The platform ends 2.6 m ahead and 0.96 m to the left of the middle.
      const [x, y] = [(ahead + 0.5) * CELL_METRES, (left + 0.5 - side / 2) * CELL_METRES];
      const cell = cells[ahead * side + left];
      if (x > 2.7 || y > 1.1) {
        if (cell === 1) counts.free++;
        if (cell === 3) counts.drops++;
      } else if (x < 2.5 && y < 0.8 && cell === 3) counts.falseDrops++;
    }
  return counts;
}

const POSES: Pose[] = [
  { heightMetres: 0.6, pitchDegrees: 20, rollDegrees: 5 },
  { heightMetres: 1, pitchDegrees: 25, rollDegrees: -3 },
  { heightMetres: 1.3, pitchDegrees: 11.3, rollDegrees: 0 },
];

function expectPose(floor: Floor, pose: Pose): void {
  expect(floor.source).toBe("estimated");
  expect(Math.abs(floor.heightMetres - pose.heightMetres)).toBeLessThan(0.01);
  expect(Math.abs(floor.pitchDegrees - pose.pitchDegrees)).toBeLessThan(0.2);
  expect(Math.abs(floor.rollDegrees - pose.rollDegrees)).toBeLessThan(0.2);
}

test("before a frame the grid is unknown, and the scan is empty", () => {
  const { config } = loadConfig({ environment: {}, set: ["board=none"] });
  const { view } = new Obstacles(config.outputs.derived);
  const { cells, ...rest } = view;
  expect([cells.length, cells.some((cell) => cell !== 0)]).toEqual([view.side ** 2, false]);
  expect(rest).toEqual({
    side: expect.any(Number),
    cellMetres: config.outputs.derived.gridCellMetres,
    scan: { angleMin: 0, angleMax: 0, angleIncrement: 0, ranges: [] },
    pose: undefined,
  });
});

test.each(POSES)("a bare room: the floor is found, from %j", async (pose) => {
  expectPose((await observe("bare", pose, "auto")).floor, pose);
});

test.each(POSES.slice(0, 2))(
  "stairs down: the floor is the platform, beyond it nothing is free, from %j",
  async (pose) => {
    const { floor, free, drops, falseDrops } = await observe("stairs", pose, "auto");
    expectPose(floor, pose);
    expect({ free, falseDrops }).toEqual({ free: 0, falseDrops: 0 });
    expect(drops).toBeGreaterThan(50);
  },
);

test("a platform that fills too little of the image is refused and not guessed", async () => {
  const pose = POSES[2]!;
  const guessed = await observe("stairs", pose, "auto");
  expect(guessed.floor.reason).toContain("show another level");
  expect(guessed.free).toBe(0);
});

test.each(POSES)(
  "a floor that was set, with its tilt and roll: the stairs are seen, from %j",
  async (pose) => {
    const { floor, free, drops, falseDrops } = await observe("stairs", pose, "set");
    expect(floor).toMatchObject({ source: "set", ...pose });
    expect({ free, falseDrops }).toEqual({ free: 0, falseDrops: 0 });
    expect(drops).toBeGreaterThan(50);
  },
);

test("images too small to separate platform and stairs are refused", async () => {
  const { floor, free } = await observe("stairs", POSES[2]!, "auto", 320);
  expect(floor.reason).toContain("use larger images");
  expect(free).toBe(0);
});
