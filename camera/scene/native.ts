// SPDX-License-Identifier: Apache-2.0
// The built-in scene as the addon offers it.

/** One camera of the synthetic scene: x_camera = rotation x_scene, lens after OpenCV's plumb_bob. */
export interface NativeSceneCamera {
  /** Pixels; the centre of the first pixel is at 0. */
  fx: number;
  fy: number;
  cx: number;
  cy: number;
  /** k1 k2 p1 p2 k3. */
  distortion: readonly number[];
  /** Row-major 3x3. */
  rotation: readonly number[];
  /** To the right of the scene's origin. */
  offsetMetres: number;
  gain: number;
  offsetGrey: number;
  /** Loss of light per squared normalised radius. */
  vignetting: number;
}

export interface NativeSceneOptions {
  /** 16 to 16384 pixels. */
  width: number;
  height: number;
  /** 0 to 1000000. */
  seed: number;
  /** Standard deviation of the sensor's noise in the dark, grey levels, 0 to 8. */
  noiseGrey: number;
  /** Side of a block of the frame number's board in the ideal view, 1 to 256 pixels. */
  cellPixels: number;
  /** Focal length of the ideal view. */
  focalPixels: number;
  baselineMetres: number;
  /** The place in SCENE_ROOMS; default 0. */
  room?: number;
  /** Where the pair is; absent: 1.3 m above the floor, looking down by 11.3 degrees. */
  pose?: { heightMetres: number; rotation: readonly number[] };
  /** RGB8 in place of grey; absent: grey. */
  colours?: boolean;
  /** Image pairs that can be drawn or held at once, 1 to 16. */
  buffers: number;
  left: NativeSceneCamera;
  right: NativeSceneCamera;
}

/** The exact answer for one frame, in a pinhole view without rotation whose cameras have one principal point. */
export interface NativeSceneTruth {
  /** 0 to 2^31 - 1. */
  frame: number;
  /** 0 left, 1 right. */
  side: 0 | 1;
  width: number;
  height: number;
  focalPixels: number;
  cx: number;
  cy: number;
  /** Filled: focalPixels * baselineMetres / Z, pixels, [height][width]. */
  disparity: Float32Array;
  /** Filled: 255 where the other camera sees the same point inside its image, else 0. */
  visible: Uint8Array;
}

/** The built-in scene on its own native thread. */
export interface NativeScene {
  /** Grey u8, [height][width], or in colours [height][width][3]; memory made once. */
  readonly buffers: readonly { readonly left: Uint8Array; readonly right: Uint8Array }[];
  /** Starts drawing a frame (modulo 2^32) into a buffer; the callback given to Scene reports when it is there. */
  render(buffer: number, frame: number): void;
  /** Computes truth on the calling thread, waiting for the scene to be made if it must. */
  truth(call: NativeSceneTruth): void;
  /**
   * Computes the depth that another camera sees along its rays, as truth() does: x_camera = rotation (x_pair - centre) in the axes
   * of the unrotated left camera, metres; rays are x and y at depth 1, and depth gets one value for each.
   */
  depthAlong(call: {
    frame: number;
    count: number;
    rotation: readonly number[];
    centre: readonly number[];
    rays: Float64Array;
    depth: Float32Array;
  }): void;
  /** Stops the thread; frames not yet begun are dropped without a call back. */
  close(): void;
}

/** Types what camera/scene registers on the native addon. */
export interface SceneExports {
  /**
   * Makes the scene on its own thread; returns at once.
   * @throws DepthwattError ENGINE_PARAMETER for a value outside its range
   */
  readonly Scene: new (
    options: NativeSceneOptions,
    onRendered: (error: Error | null, buffer: number) => void,
  ) => NativeScene;
}
