// SPDX-License-Identifier: Apache-2.0
// Board detection and the adjustment as the addon offers them. Both compute on a thread of Node's pool.

/** Patterns of boards: the index in this list is the number that the addon uses. */
export const PATTERNS = ["chessboard", "circles", "charuco"] as const;
export type Pattern = (typeof PATTERNS)[number];

/** Lens models, by the addon's number. */
export const LENS_MODELS = ["radtan", "rational", "fisheye"] as const;
export type LensModel = (typeof LENS_MODELS)[number];

export interface NativeDetectCall {
  /** Grey u8, [height][width]; copied. */
  image: Uint8Array;
  /** 16 to 16384 pixels. */
  width: number;
  height: number;
  /** Place in PATTERNS. */
  pattern: number;
  /** Inner corners, circles or squares; 0: not known, which a chessboard alone may be. */
  columns: number;
  rows: number;
  /** ChArUco: place in DICTIONARIES. */
  dictionary: number;
  /** ChArUco: side of a marker in sides of a square; else 0. */
  markerShare: number;
}

/** Why a picture shows no usable board; "none": it shows one. */
export type Absence = "none" | "nothing" | "incomplete" | "tooSmall" | "otherSize" | "outOfOrder";

export interface Detection {
  readonly absence: Absence;
  /** As seen, 0 where nothing was. */
  readonly columns: number;
  readonly rows: number;
  /** Corners of the board that were not found. */
  readonly missing: number;
  /** row * columns + column of each point on the board. */
  readonly ids: Int32Array;
  /** x y of each point, pixels. */
  readonly points: Float64Array;
  /** Standard deviation of the blur across edges that run along the rows and along the columns, pixels; 0: unknown. */
  readonly blurAlongRows: number;
  readonly blurAlongColumns: number;
  /** Median step between dark and bright, grey levels. */
  readonly contrast: number;
}

export interface NativeSolveCall {
  /** 1 to 18; the first is the left one. */
  cameras: number;
  /** Place in LENS_MODELS, width and height of each camera. */
  cameraSpecs: Int32Array;
  views: number;
  /** True: corners far out count less (Huber). */
  robust: boolean;
  /** Radtan's k3 stays 0. */
  withoutK3: boolean;
  /** Corners seen. */
  count: number;
  viewIndex: Int32Array;
  cameraIndex: Uint8Array;
  /** 0: the corner decides nothing, its residual is reported all the same. */
  used: Uint8Array;
  /** x y z on the board of each corner, in the unit that the result shall have. */
  objects: Float64Array;
  /** x y of each corner, pixels. */
  pixels: Float64Array;
  /** Points in the left camera's coordinates whose deviation of depth is wanted. */
  depthCount: number;
  depthPoints: Float64Array;
  /** Matching error that their second figure assumes. */
  disparityPixels: number;
}

export interface NativeSolution {
  /** fx fy cx cy and coefficients of each camera. */
  readonly lenses: readonly Float64Array[];
  /** The pose of each camera but the first: x_camera = rotation x_left + translation. */
  readonly rigs: readonly { readonly rotation: Float64Array; readonly translation: Float64Array }[];
  /** Row-major rotation and translation, 12 a view: x_left = R x_board + t. */
  readonly poses: Float64Array;
  /** Seen minus projected, x y of each corner; NaN where it cannot be projected. */
  readonly residuals: Float64Array;
  /** Root of the mean squared distance over used corners, as in OpenCV's stereoCalibrate. */
  readonly rmsPixels: number;
  /**
   * [parameters][parameters]: lens of the first camera, then lens, rotation vector and translation of each other camera.
   * Empty if singular.
   */
  readonly covariance: Float64Array;
  readonly parameters: number;
  readonly iterations: number;
  /** Two a point: standard deviation of depth by the calibration, and by the matching error. NaN: unknown. */
  readonly depthDeviations: Float64Array;
}

/** Types what camera/rig/calibrate registers on the native addon. */
export interface CalibrateExports {
  /** @throws DepthwattError ENGINE_PARAMETER */
  detectBoard(call: NativeDetectCall): Promise<Detection>;
  /** @throws DepthwattError ENGINE_PARAMETER; rejects with ENGINE_FAILED where no camera fits */
  solveCalibration(call: NativeSolveCall): Promise<NativeSolution>;
}
