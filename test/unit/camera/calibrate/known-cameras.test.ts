// SPDX-License-Identifier: Apache-2.0
// The adjustment without initial values, on corners of cameras that are known: pinholes of all focal lengths, flat boards
// that could be tilted the other way, and two cameras of which one is upside down.
import { describe, expect, test } from "vitest";
import {
  apply,
  type Matrix3,
  multiply,
  rotationMatrix,
  type Vector3,
} from "../../../../camera/calibration/matrix.js";
import { loadNative } from "../../../../edge/contracts/native.js";
import { type SeenCorner, solveCall } from "../../../doubles/calibration-rig.js";
import { Random } from "../../../doubles/random.js";

const [columns, rows] = [5, 4];
const places = Array.from(
  { length: columns * rows },
  (_, id) => [id % columns, Math.floor(id / columns)] as const,
);

interface Camera {
  readonly width: number;
  readonly height: number;
  readonly focal: number;
}
interface Pose {
  readonly R: Matrix3;
  readonly t: Vector3;
}
/** A board whose middle is at a pixel and whose rows are `span` pixels long where it faces the camera. */
function poseAt({ width, height, focal }: Camera, turn: Vector3, at: readonly number[], span: number): Pose {
  const R = rotationMatrix(turn);
  const z = (focal * (columns - 1)) / span;
  const middle = apply(R, [(columns - 1) / 2, (rows - 1) / 2, 0]);
  const centre = [((at[0]! - (width - 1) / 2) / focal) * z, ((at[1]! - (height - 1) / 2) / focal) * z, z];
  return { R, t: [centre[0]! - middle[0], centre[1]! - middle[1], centre[2]! - middle[2]] };
}

function projected({ width, height, focal }: Camera, { R, t }: Pose): [number, number][] {
  return places.map(([x, y]) => {
    const turned = apply(R, [x, y, 0]);
    const z = turned[2] + t[2];
    return [
      (focal * (turned[0] + t[0])) / z + (width - 1) / 2,
      (focal * (turned[1] + t[1])) / z + (height - 1) / 2,
    ];
  });
}

const callOf = (cameras: readonly Camera[], views: number, corners: readonly SeenCorner[]) =>
  solveCall(
    cameras.map(({ width, height }) => [0, width, height]),
    views,
    corners,
  );
const cornersOf = (pixels: readonly [number, number][], view: number, camera = 0): SeenCorner[] =>
  pixels.map((pixel, id) => ({ view, camera, object: places[id]!, pixel }));

const TURNS: readonly Vector3[] = [
  [0.5, 0.2, 0.1],
  [-0.5, 0.3, 0],
  [0.1, 0.6, 0.2],
  [0.2, -0.55, -0.2],
  [-0.3, -0.4, 0.1],
  [0.4, 0.4, -0.1],
];
/** Boards of a fifth of the image, around its middle. */
const nearPoses = (camera: Camera): Pose[] =>
  TURNS.map((turn, k) =>
    poseAt(
      camera,
      turn,
      [camera.width * (0.35 + 0.06 * k), camera.height * (0.6 - 0.05 * k)],
      0.35 * Math.min(camera.width, camera.height),
    ),
  );

const angle = (a: ArrayLike<number>, b: ArrayLike<number>, first: number, step: number) => {
  const cosine = [0, 1, 2].reduce((sum, k) => sum + a[first + step * k]! * b[first + step * k]!, 0);
  return (Math.acos(Math.min(1, cosine)) * 180) / Math.PI;
};

describe("exact corners", () => {
  test.each<Camera>([
    { width: 640, height: 480, focal: 160 },
    { width: 640, height: 480, focal: 500 },
    { width: 480, height: 640, focal: 2500 },
    { width: 640, height: 480, focal: 7000 },
  ])("a camera of $width x $height pixels and a focal length of $focal pixels", async (camera) => {
    const poses = nearPoses(camera);
    const corners = poses.flatMap((pose, view) => cornersOf(projected(camera, pose), view));
    const solution = await loadNative().solveCalibration(callOf([camera], poses.length, corners));
    const [fx, fy, cx, cy] = solution.lenses[0]!;
    expect(fx! / camera.focal).toBeCloseTo(1, 5);
    expect(fy! / camera.focal).toBeCloseTo(1, 5);
    expect([cx! / camera.width, cy! / camera.height]).toEqual([
      expect.closeTo(0.5 - 0.5 / camera.width, 4),
      expect.closeTo(0.5 - 0.5 / camera.height, 4),
    ]);
    expect(solution.rmsPixels).toBeLessThan(1e-6);
    for (const [view, { R, t }] of poses.entries()) {
      const found = [...solution.poses.subarray(12 * view, 12 * view + 12)];
      const scale = Math.hypot(...t);
      expect(found).toEqual([
        ...R.map((value) => expect.closeTo(value, 3)),
        ...t.map((value) => expect.toSatisfy((x: number) => Math.abs(x - value) < 1e-4 * scale)),
      ]);
    }
  });
});

// From far away a flat board looks nearly the same when it is tilted the other way, by 86 degrees. Noise decides which of
// both a homography gives, so each is refined before the better one is chosen.
test("small boards with noise are tilted as they were placed", async () => {
  const camera = { width: 640, height: 480, focal: 576 };
  const far = [113, 147, 163, 174, 187, 219, 223, 271].map((seed) => {
    const random = new Random(seed);
    const direction = (random.whole(0, 359) * Math.PI) / 180;
    const turn: Vector3 = [0.75 * Math.cos(direction), 0.75 * Math.sin(direction), 0];
    const pose = poseAt(camera, turn, [random.whole(80, 560), random.whole(60, 420)], 30);
    const noise = () => (0.4 * random.whole(-1000, 1000)) / 1000;
    return {
      pose,
      pixels: projected(camera, pose).map(([x, y]): [number, number] => [x + noise(), y + noise()]),
    };
  });
  const near = nearPoses(camera).map((pose) => ({ pose, pixels: projected(camera, pose) }));
  const views = [...near, ...far];
  const corners = views.flatMap(({ pixels }, view) => cornersOf(pixels, view));
  const { poses } = await loadNative().solveCalibration(callOf([camera], views.length, corners));
  for (const [view, { pose }] of views.entries())
    expect(angle(poses.subarray(12 * view, 12 * view + 9), pose.R, 2, 3)).toBeLessThan(12);
});

// The right camera is mounted upside down, and neither camera sees every board.
test("a pair of different cameras, of which one is upside down and each misses a board", async () => {
  const cameras: [Camera, Camera] = [
    { width: 640, height: 480, focal: 576 },
    { width: 480, height: 480, focal: 400 },
  ];
  const rig: Pose = { R: rotationMatrix([0.1, -0.2, 3]), t: [-3, 1, 0.5] };
  const poses = nearPoses(cameras[0]);
  const corners = poses.flatMap(({ R, t }, view) => {
    const moved = apply(rig.R, t);
    const seen: Pose = {
      R: multiply(rig.R, R),
      t: [moved[0] + rig.t[0], moved[1] + rig.t[1], moved[2] + rig.t[2]],
    };
    return [
      ...(view === 1 ? [] : cornersOf(projected(cameras[0], { R, t }), view)),
      ...(view === 3 ? [] : cornersOf(projected(cameras[1], seen), view, 1)),
    ];
  });
  const solution = await loadNative().solveCalibration(callOf(cameras, poses.length, corners));
  expect(solution.rmsPixels).toBeLessThan(1e-6);
  expect(solution.lenses.map(([focal]) => focal)).toEqual([expect.closeTo(576, 3), expect.closeTo(400, 3)]);
  expect([...solution.rigs[0]!.rotation]).toEqual(rig.R.map((value) => expect.closeTo(value, 6)));
  expect([...solution.rigs[0]!.translation]).toEqual(rig.t.map((value) => expect.closeTo(value, 5)));
  for (const [view, { R, t }] of poses.entries())
    expect([...solution.poses.subarray(12 * view, 12 * view + 12)]).toEqual(
      [...R, ...t].map((value) => expect.closeTo(value, 4)),
    );
});
