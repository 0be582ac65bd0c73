// SPDX-License-Identifier: Apache-2.0
// The engine as TypeScript sees it: parameters, slots and results with their units. engine.ts opens one.
import type { PixelFormat } from "../../../core/index.js";
import type { Algorithm, MatcherValues, ParameterValue, SectionSettings, StageName } from "../../matchers.js";

export type BackendName = "cpu" | "cuda";
export type InstructionSet = "scalar" | "avx2" | "avx512" | "neon";

/** A matcher, its search and its parameters; ranges and tie rules stand in the stages' READMEs (cuda/match). */
export interface MatchParameters extends MatcherValues {
  algorithm: Algorithm;
  /** Matches and refines images of half the width and height, with half the disparities, and doubles the result. */
  halfResolution: boolean;
  /** Smallest disparity searched, pixels; 0 or more. */
  minDisparity: number;
  /** Whole number from 8 to 512; the search is [minDisparity, minDisparity + numDisparities). */
  numDisparities: number;
  /** Parameters of the matcher by key; the default if left out. */
  parameters: Readonly<Record<string, ParameterValue>>;
}

/** The settings refine.*, in the units of the settings; one that is left out has its default. */
export type RefineSettings = Partial<SectionSettings<"refine">>;

/** The settings depth.*, metres; 0 or absent: no limit. */
export type DepthLimits = Partial<SectionSettings<"depth">>;

/** Depth Z = focalPixels * baselineMetres / (disparity + disparityOffsetPixels), metres. */
export interface DepthGeometry {
  focalPixels: number;
  baselineMetres: number;
  disparityOffsetPixels: number;
}

/** camera: x right, y down, z ahead, from the left camera. robot: x ahead, y left, z up, from the middle of the baseline. */
export type PointFrame = "camera" | "robot";

/** A point for every pixel: cuda/output/points/points.h has the equations and the bytes. */
export interface PointsParameters {
  frame: PointFrame;
  /** float32: metres, NaN = none. int16: millimetres, -32768 = none. */
  element: "float32" | "int16";
  /** Each point has its colour, not its grey alone; needs a left image with colours. registered: `registration` with images. */
  colours: boolean | "registered";
  /** Principal point of the rectified left image, pixels. */
  cx: number;
  cy: number;
}

/** Bytes of one point. */
export function pointBytes({ element, colours }: Pick<PointsParameters, "element" | "colours">): number {
  return element === "float32" ? 16 : colours ? 10 : 8;
}

/** Voxels that have a point in them: cuda/output/voxels/voxels.h has the equations. */
export interface VoxelsParameters extends SectionSettings<"voxels"> {
  frame: PointFrame;
  /** Principal point of the rectified left image, pixels. */
  cx: number;
  cy: number;
}

/** Bytes of a voxel in EngineSlot.voxels. */
export const VOXEL_BYTES = 8;

/** Body encoding of a published image: see docs/reference/frames.md. */
export type NativeEncoding = "rvl" | "raw";

export interface Region {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Another camera and how depth is registered into its image: cuda/output/registration/registration.h has the equations. */
export interface RegistrationParameters {
  /** The camera's name; the engine does not read it. */
  camera: string;
  width: number;
  height: number;
  /** Row-major 3x4: (x, y, 1, disparity) to the camera's ideal image. */
  matrix: Float64Array;
  /** The lens: x, y of each node in 1/32 px, one node every 8 px from (gridX, gridY) / 32 on. Absent: no distortion. */
  grid?: Int32Array;
  gridX?: number;
  gridY?: number;
  gridWidth?: number;
  gridHeight?: number;
  /** Fills holes with the farthest depth around them. */
  fill: boolean;
  /** The form of the camera's captured images, which submit() gets with pairs. Absent: none come. */
  image?: { format: PixelFormat; strideBytes: number };
}

/** The floor of each frame: cuda/output/floor/floor.h has the definition. */
export interface FloorParameters {
  /** Principal point of the rectified left image, pixels. */
  cx: number;
  cy: number;
  /** The floor that is set, [a, b, c] of FloorPlane in cuda/geometry.h. Absent: it is estimated and followed over time. */
  plane?: Float64Array;
}

/** The grid of the floor: cuda/output/grid/grid.h has the definition. */
export interface GridParameters {
  cellMetres: number;
  /** Cells ahead and across, 1 to 1000. */
  aheadCells: number;
  leftCells: number;
  /** Heights above, and depth below the floor, metres. */
  obstacleMetres: number;
  tallMetres: number;
  dropMetres: number;
  /** Error of a disparity, pixels: the heights grow with it. */
  errorPixels: number;
  /** Pixels that make a cell occupied, or a drop-off. */
  minPixels: number;
  /** Only every so many-th column is read. */
  stepX: number;
}

/** Numbers of EngineSlot.floor, in the order of FloorNumber in cuda/geometry.h. */
export const FLOOR_NUMBERS = 13;

export interface EngineOptions {
  /** Size of the captured images, pixels. */
  inputWidth: number;
  inputHeight: number;
  /** Size of the rectified images and of every result. Equal to the input size where no maps are given. */
  width: number;
  height: number;
  leftFormat: PixelFormat;
  rightFormat: PixelFormat;
  /** Bytes from one row to the next of the captured images. */
  leftStrideBytes: number;
  rightStrideBytes: number;
  /**
   * Rectification maps: for each output pixel, row-major, the source x then y in 1/32 px (int32, two per pixel).
   * Absent: the images are rectified already and only converted to grey.
   */
  leftMap?: Int32Array;
  rightMap?: Int32Array;
  /**
   * Region of interest, pixels of the rectified images; absent: all of them. Results keep the whole size: outside the region
   * they are invalid, inside they are those of the images cropped to the region's rows and to its columns with
   * minDisparity + numDisparities - 1 more to the left, as far as the image goes (at half resolution from an even column and
   * row on). sad and pyramid give what they give of the whole images there, unless speckle filter or filling are on.
   */
  region?: Region;
  /** Rows by which the right image lies lower, quarters of a row; auto: estimated from the pairs. Absent: 0. */
  verticalOffset?: "auto" | number;
  /** Subtracted from grey and each colour, grey levels, 0 to 255. Absent: 0. */
  blackLevel?: number;
  /** Denoises pairs before they are matched; auto: while they are noisy. Absent: off. */
  denoise?: "auto" | "off" | "on";
  /** Averages pairs over the last frames before they are matched, except where something moves. Absent: false. */
  average?: boolean;
  match: MatchParameters;
  refine: RefineSettings;
  /** Needs `geometry` if it has a limit. */
  depth?: DepthLimits;
  /** Absent: no depth can be computed (depthMillimetres stays empty). */
  geometry?: DepthGeometry;
  /** Also delivers the rectified left image in colours. A camera without colours gives its grey values three times. */
  leftRgb?: boolean;
  /** Also delivers the rectified right image in grey. */
  rightGrey?: boolean;
  /** Encoding of the depth of each frame; absent: not encoded. */
  encodeDepth?: "rvl";
  encodeDisparity?: NativeEncoding;
  /** Needs `geometry`. Absent: no points. */
  points?: PointsParameters;
  /** Also delivers voxels; needs `geometry`. */
  voxels?: VoxelsParameters;
  /** Also delivers depth and confidence in the image of another camera; needs `geometry`. */
  registration?: RegistrationParameters;
  /** Also delivers the floor; needs `geometry`. */
  floor?: FloorParameters;
  /** Also delivers the grid of the floor; needs `floor`. */
  grid?: GridParameters;
  backend: "auto" | BackendName;
  /** Forces an instruction set on the CPU backend; refused with BACKEND_UNAVAILABLE where the CPU lacks it. */
  instructionSet?: InstructionSet;
  /** For measuring: runs one stage so many times in every frame, 1 to 10000, with the same result; its time is that of all. */
  repeatStage?: { stage: StageName; times: number };
  /** Worker threads; 0 = one per core, shared by the engines of this process, whose frames take turns. */
  threads: number;
  /** Rank among engines that share a GPU, 1 to 256: work of a lower one goes first. Absent: the device's default. */
  rank?: number;
  /**
   * Memory that images will be submitted from, such as a camera's buffers; kept until close(). A device page-locks it, so
   * that its copies run next to computation, and a board's GPU reads it in place. A driver's memory is imported there,
   * if it comes with the descriptor of its DMA buffer.
   */
  inputMemory?: readonly InputMemory[];
  /** Result slots: frames that may be in flight or held by outputs at once, 2 to 16. */
  slots: number;
}

/** Bytes kept free in front of every array of a slot, so that a frame header can be written there without a copy. */
export const ENCODED_HEADROOM_BYTES = 128;

/**
 * One result slot. All arrays are views of memory made once at open, each after ENCODED_HEADROOM_BYTES free bytes in a separate
 * ArrayBuffer. What they hold is valid until the slot is submitted again.
 */
export interface EngineSlot {
  /** Rectified left image, grey u8, [height][width]. */
  readonly left: Uint8Array;
  /** The same in colours, RGB, u8, [height][width][3]; empty unless asked for. */
  readonly leftRgb: Uint8Array;
  /** Rectified right image, grey u8, [height][width]; empty unless asked for. */
  readonly right: Uint8Array;
  /** Absolute disparity, 1/16 px, [height][width]; -32768 = invalid. */
  readonly disparityQ4: Int16Array;
  /** 255 times the share of such pixels that are within one pixel of the truth, at least 1, [height][width]; 0 where nothing was matched, filled or not. */
  readonly confidence: Uint8Array;
  /** Depth in millimetres, [height][width]; 0 = invalid or beyond 65.535 m. Empty without a geometry. */
  readonly depthMillimetres: Uint16Array;
  /** The encoded body, FrameResult says how long; empty unless asked for. */
  readonly encodedDepth: Uint8Array;
  readonly encodedDisparity: Uint8Array;
  /** [height][width] points of pointBytes() each; empty unless asked for. */
  readonly points: Uint8Array;
  /** The number of voxels as an int32 in the first four places, then x, y, z and level of each; empty unless asked for. */
  readonly voxels: Int16Array;
  /** Depth in the image of the camera of `registration`, millimetres, 0 = none; empty unless asked for. */
  readonly registered: Uint16Array;
  /** The confidence of the same pixels; 0 where there is no depth, or a filled one. */
  readonly registeredConfidence: Uint8Array;
  /** The image of that camera: RGB if its format has colours, else grey; that of this frame only if submit() got one. */
  readonly registeredImage: Uint8Array;
  /** FLOOR_NUMBERS numbers of the floor; empty unless asked for. */
  readonly floor: Float64Array;
  /** [aheadCells][leftCells]: 0 unknown, 1 free, 2 occupied, 3 drop-off; empty unless asked for. */
  readonly grid: Uint8Array;
}

/** Returns the x, y, z and level of each of a slot's voxels, in place. */
export function listedVoxels({ voxels }: Pick<EngineSlot, "voxels">): Int16Array {
  const count = new Int32Array(voxels.buffer, voxels.byteOffset, 1)[0]!;
  return voxels.subarray(4, 4 * (count + 1));
}

/** Why a pixel was dropped; of several causes the first. */
export const DROP_CAUSES = ["filled", "lowConfidence", "tooNear", "tooFar"] as const;

export type DropCause = (typeof DROP_CAUSES)[number];

export type DroppedPixels = Record<DropCause, number>;

/** One number for each cause. */
export function perCause(value: (cause: DropCause) => number): DroppedPixels {
  return Object.fromEntries(DROP_CAUSES.map((cause) => [cause, value(cause)])) as DroppedPixels;
}

/** Result of one submitted frame. */
export interface FrameResult {
  slot: number;
  /** Bytes of the body in encodedDepth; 0 when not asked for. */
  encodedDepthBytes: number;
  encodedDisparityBytes: number;
  /** Pixels with a valid disparity. */
  validPixels: number;
  /** Valid pixels that were matched; the others are filled. At half resolution these are pixels of the halved image. */
  matchedPixels: number;
  /** Pixels that refine.minConfidence, depth.minMetres and depth.maxMetres dropped, by cause. */
  droppedPixels: DroppedPixels;
}

/** Memory of images; with the descriptor of the DMA buffer that `bytes` maps, if the driver exported one. */
export type InputMemory = Uint8Array | { bytes: Uint8Array; dmaBuffer: number };

/** How images reach the kernels and results the caller, and what that costs. */
export interface MemoryPaths {
  /**
   * `in-place`: the CPU reads them; `user-pointer`: kernels read this process's memory; `dma-buf`: kernels read the driver's
   * memory; `pinned-copy`: copied from page-locked memory; `copy`: copied from pageable memory.
   */
  images: "in-place" | "user-pointer" | "dma-buf" | "pinned-copy" | "copy";
  results: "in-place" | "mapped" | "copied";
  /** Device time before the kernels can read both images: the mean of timed frames. Absent until two were timed, and on the CPU. */
  imagesMicroseconds?: number;
  resultsMicroseconds?: number;
}

/** The search of a matcher that has several, and the reason for it, one sentence. */
export interface SearchChoice {
  chosen: string;
  reason: string;
}

export interface EngineInfo {
  backend: BackendName;
  /** Why this backend runs, one sentence. */
  backendReason: string;
  instructionSet: InstructionSet | "cuda";
  threads: number;
  workspaceBytes: number;
  /** Frames that are computed at once: submitting more of them only makes them wait. */
  framesInFlight: number;
  /** The search in use: the choice of match.sgm.search: auto, or the setting. */
  search: SearchChoice | { available: false; reason: string };
  memory: MemoryPaths;
  /**
   * Vertical offset of the right image, in rows: the median of the newest estimates, and the applied offset. atLimit: 4 rows or more, not applied.
   * overWidth: how much larger the offset is at the right border than at the left, if that is a row or more.
   */
  verticalOffset: {
    watched: boolean;
    known: boolean;
    atLimit: boolean;
    measuredRows: number;
    appliedRows: number;
    measuredRowsOverWidth: number;
    appliedRowsOverWidth: number;
  };
  /** Standard deviation of the newest estimate, grey values; whether pairs are filtered, and the filter's range in grey values (0: not). */
  noise: { watched: boolean; known: boolean; sigma: number; smoothed: boolean; range: number };
}

export interface NativeEngine {
  readonly info: EngineInfo;
  readonly slots: readonly EngineSlot[];
  /** As in info, and changes as it does: when a frame was lost. */
  readonly framesInFlight: number;
  /**
   * Milliseconds of each stage of the newest completed frame, in the order of STAGE_NAMES; NaN = stage off, or this frame's
   * stages were not timed.
   */
  readonly stageMilliseconds: Float64Array;
  /**
   * Starts one frame; the caller keeps the images alive and unchanged until onDone. `registered` is the image of the camera of
   * `registration`, if one belongs to this pair. At most `slots` frames are
   * queued, computed in order on native threads. onDone is called on the JavaScript thread, in the order of submission.
   * Set `follows` to false if this pair does not come directly after the previous one, for example after the source changed:
   * stages then clear what they remember of earlier frames (refine.temporal, match.average). With
   * the error FRAME_LOST this frame came to nothing and the engine continues: info says with what. Any other error is final.
   * @throws DepthwattError ENGINE_PARAMETER (slot in use, buffer too small), ENGINE_FAILED after close()
   */
  submit(
    slot: number,
    left: Uint8Array,
    right: Uint8Array,
    onDone: (error: Error | null, result: FrameResult) => void,
    follows?: boolean,
    registered?: Uint8Array,
  ): void;
  /**
   * One frame in slot 0, automatically: submit() as a promise.
   * @throws DepthwattError as submit() and onDone
   */
  compute(left: Uint8Array, right: Uint8Array, registered?: Uint8Array): Promise<FrameResult>;
  /**
   * Reads the right image through this map from the next frame on. The map has the size of the present one.
   * @throws DepthwattError ENGINE_PARAMETER: another size, or an engine without maps; ENGINE_FAILED after close()
   */
  setRightMap(map: Int32Array): void;
  /** Waits for the frame in flight, drops those queued behind it (onDone reports it), stops the threads, frees the workspace. */
  close(): void;
}
