// SPDX-License-Identifier: Apache-2.0
// The two cameras that look at the synthetic scene, as a calibration would describe them: one description feeds the
// renderer and the calibration file, so that they cannot disagree.
import { type StereoCalibration, withHash } from "../calibration/calibration.js";
import {
  apply,
  IDENTITY3,
  type Matrix3,
  multiply,
  rotationMatrix,
  scale,
  transpose,
  type Vector3,
} from "../calibration/matrix.js";
import type { NativeSceneCamera, NativeSceneOptions } from "./native.js";

export const SCENE_ROOMS = ["furnished", "bare", "stairs", "glossy", "tiles", "poster"] as const;
export type SceneRoom = (typeof SCENE_ROOMS)[number];

/** The truth that an estimate of the floor is compared with. */
export interface ScenePose {
  /** Height of the left camera above the floor. */
  heightMetres: number;
  /** Positive where the cameras look down. */
  pitchDegrees: number;
  /** Positive where the right side is lower. */
  rollDegrees: number;
}

/** tan = 1/5. */
export const DEFAULT_POSE: ScenePose = {
  heightMetres: 1.3,
  pitchDegrees: (Math.atan(0.2) * 180) / Math.PI,
  rollDegrees: 0,
};

export interface SceneOptions {
  /** 16 to 16384 pixels; default 640x480. */
  width?: number;
  height?: number;
  /** Changes textures and noise, not the room; 0 to 1000000, default 1. */
  seed?: number;
  /**
   * Default furnished. bare: walls of one grey value, and a blind whose slats repeat. stairs: stairs down, and an edge.
   * glossy: the floor and a window mirror the room. tiles: floor and walls repeat. poster: on a white wall.
   */
  room?: SceneRoom;
  /** Where the pair is above the floor; default 1.3 m, looking down by 11.31 degrees. */
  pose?: ScenePose;
  /**
   * raw (default): lenses that bend, cameras turned against each other, noise, a right camera that is darker.
   * rectified: the same sensors behind pinholes without rotation: what a perfect rectification would give.
   * ideal: pinholes, no noise, equal cameras.
   */
  view?: "raw" | "rectified" | "ideal";
  /** Standard deviation of the noise in the dark, grey levels, 0 to 8; default 1.2, ideal 0. */
  noiseGrey?: number;
  /** RGB8 in place of grey; default false. */
  colours?: boolean;
  /**
   * By how much the right camera has turned since it was calibrated: about x (right), y (down) and z (ahead), degrees. The
   * calibration does not know of it. Default none.
   */
  turnedDegrees?: Vector3;
  /** Adds a third camera between the two, SCENE_OTHER_CAMERA, to the calibration. Default false. */
  other?: boolean;
}

/** The pinhole view in which the scene's truth is reported: both cameras share focal length and principal point. */
export interface SceneView {
  width: number;
  height: number;
  focalPixels: number;
  cx: number;
  cy: number;
}

export const SCENE_BASELINE_METRES = 0.12;
/** The name of the scene's third camera, in the calibration. */
export const SCENE_OTHER_CAMERA = "rgb";
/** Horizontal field of view of 63 degrees. */
const FOCAL_PER_WIDTH = 0.8125;

/** A rotation from tan(half the angle) about each axis (a quaternion that is not yet of length 1): no sine needed. */
function cayleyRotation(x: number, y: number, z: number): Matrix3 {
  const n = 1 + x * x + y * y + z * z;
  return [
    (1 + x * x - y * y - z * z) / n,
    (2 * (x * y - z)) / n,
    (2 * (x * z + y)) / n,
    (2 * (x * y + z)) / n,
    (1 - x * x + y * y - z * z) / n,
    (2 * (y * z - x)) / n,
    (2 * (x * z - y)) / n,
    (2 * (y * z + x)) / n,
    (1 - x * x - y * y + z * z) / n,
  ];
}

/** The pair's axes in the room: x_room = R x_pair; the roll is about the optical axis, the pitch about the room's x axis. */
function poseRotation({ pitchDegrees, rollDegrees }: ScenePose): Matrix3 {
  const radians = Math.PI / 180;
  return multiply(
    rotationMatrix([-pitchDegrees * radians, 0, 0]),
    rotationMatrix([0, 0, rollDegrees * radians]),
  );
}

/** The ideal view of a size: what rectification without cropping or zoom would give. */
export function sceneView(width: number, height: number): SceneView {
  return {
    width,
    height,
    focalPixels: FOCAL_PER_WIDTH * width,
    cx: (width - 1) / 2,
    cy: (height - 1) / 2,
  };
}

/** Side of a block of the frame number's board in the ideal view, pixels. */
export function boardCellPixels(width: number): number {
  return Math.max(4, Math.round(width / 80));
}

/**
 * Everything the renderer needs but its buffers. The cameras are turned by equal and opposite amounts, so that turning both
 * half-way (what rectification does) ends exactly in the ideal view's axes.
 */
export function sceneSetup(options: SceneOptions = {}): Omit<NativeSceneOptions, "buffers"> {
  const { width = 640, height = 480, seed = 1, view = "raw" } = options;
  const ideal = sceneView(width, height);
  const pinhole = (offsetMetres: number): NativeSceneCamera => ({
    fx: ideal.focalPixels,
    fy: ideal.focalPixels,
    cx: ideal.cx,
    cy: ideal.cy,
    distortion: [0, 0, 0, 0, 0],
    rotation: IDENTITY3,
    offsetMetres,
    gain: 1,
    offsetGrey: 0,
    vignetting: 0,
  });
  let left = pinhole(0);
  let right = pinhole(SCENE_BASELINE_METRES);
  if (view !== "ideal") {
    left = { ...left, vignetting: 0.16 };
    right = { ...right, vignetting: 0.18, gain: 0.93, offsetGrey: 3 };
  }
  if (view === "raw") {
    const f = ideal.focalPixels;
    const half = cayleyRotation(0.0016, -0.0024, 0.0012);
    left = {
      ...left,
      fx: f * 1.004,
      fy: f * 1.003,
      cx: ideal.cx + 0.006 * width,
      cy: ideal.cy - 0.004 * width,
      distortion: [-0.105, 0.028, 0.0004, -0.0003, 0],
      rotation: half,
    };
    right = {
      ...right,
      fx: f * 0.997,
      fy: f * 0.998,
      cx: ideal.cx - 0.005 * width,
      cy: ideal.cy + 0.005 * width,
      distortion: [-0.098, 0.022, -0.0003, 0.0005, 0],
      rotation: transpose(half),
    };
  }
  if (options.turnedDegrees !== undefined) {
    const turn = rotationMatrix(scale(options.turnedDegrees, Math.PI / 180));
    right = { ...right, rotation: multiply(turn, right.rotation as Matrix3) };
  }
  return {
    width,
    height,
    seed,
    room: SCENE_ROOMS.indexOf(options.room ?? "furnished"),
    ...(options.pose && {
      pose: { heightMetres: options.pose.heightMetres, rotation: poseRotation(options.pose) },
    }),
    ...(options.colours && { colours: true }),
    noiseGrey: options.noiseGrey ?? (view === "ideal" ? 0 : 1.2),
    cellPixels: boardCellPixels(width),
    focalPixels: ideal.focalPixels,
    baselineMetres: SCENE_BASELINE_METRES,
    left,
    right,
  };
}

/** The third camera: between the two and turned against them, with a lens that bends in every view. */
function otherCamera({ width = 640, height = 480 }: SceneOptions): NativeSceneCamera {
  const ideal = sceneView(width, height);
  return {
    fx: 0.95 * ideal.focalPixels,
    fy: 0.95 * ideal.focalPixels,
    cx: ideal.cx - 0.01 * width,
    cy: ideal.cy + 0.008 * width,
    distortion: [-0.12, 0.03, 0.0005, -0.0004, 0],
    rotation: cayleyRotation(-0.006, 0.004, 0.005),
    offsetMetres: SCENE_BASELINE_METRES / 2,
    gain: 1,
    offsetGrey: 0,
    vignetting: 0,
  };
}

/** Returns the scene in colours whose left camera is the third one. */
export const otherSceneSetup = (options: SceneOptions): Omit<NativeSceneOptions, "buffers"> => ({
  ...sceneSetup(options),
  colours: true,
  left: otherCamera(options),
});

/** The calibration of the cameras that sceneSetup(options) describes, made before any of them turned. */
export function sceneCalibration(options: SceneOptions = {}): StereoCalibration {
  const { turnedDegrees: _, ...asCalibrated } = options;
  const { width, height, left, right } = sceneSetup(asCalibrated);
  const intrinsics = ({ fx, cx, fy, cy }: NativeSceneCamera): Matrix3 => [fx, 0, cx, 0, fy, cy, 0, 0, 1];
  const written = (name: string, camera: NativeSceneCamera) => ({
    name,
    K: intrinsics(camera),
    distortion:
      (options.view ?? "raw") === "raw"
        ? { model: "plumb_bob" as const, coefficients: camera.distortion }
        : { model: "none" as const, coefficients: [] },
  });
  // x_left = Rl X, x_camera = Rc (X - C): x_camera = Rc Rl' x_left - Rc C.
  const fromLeft = (camera: NativeSceneCamera) => ({
    R: multiply(camera.rotation as Matrix3, transpose(left.rotation as Matrix3)),
    T: apply(camera.rotation as Matrix3, [-camera.offsetMetres, 0, 0]),
  });
  const other = otherCamera(asCalibrated);
  return withHash({
    imageSize: { width, height },
    left: written("left", left),
    right: written("right", right),
    ...fromLeft(right),
    ...(options.other && {
      others: [
        {
          name: SCENE_OTHER_CAMERA,
          imageSize: { width, height },
          K: intrinsics(other),
          distortion: { model: "plumb_bob" as const, coefficients: other.distortion },
          ...fromLeft(other),
        },
      ],
    }),
    files: [],
  });
}
