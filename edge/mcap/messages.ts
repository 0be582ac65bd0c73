// SPDX-License-Identifier: Apache-2.0
// ROS messages as bytes (CDR, little-endian). The part of an image message that stays the same is written once; each frame
// changes the time and the length in it and appends its pixels.
import { CdrWriter } from "@foxglove/cdr";
import { type Rectification, RIGHT_CAMERA, type StereoCalibration } from "../../camera/index.js";
import { COMPRESSED_DEPTH_HEADER_BYTES } from "../../core/frame/frame-format.js";

const NS_PER_SECOND = 1_000_000_000n;
/** Behind the four bytes of the encapsulation: int32 sec, uint32 nanosec. */
export const STAMP_AT = 4;
/** ROS' ConfigHeader: int32 format, float32 depthParam[2]; all 0 for 16UC1. */
const CONFIG_HEADER_BYTES = 12;

/** An image message without its pixels; its last four bytes are the length of what follows. */
export type ImagePrefix = Uint8Array;

export interface ImageLayout {
  frameId: string;
  width: number;
  height: number;
  /** As ROS names it, such as mono8 and 16UC1. */
  encoding: string;
  strideBytes: number;
}

/** Writes std_msgs/msg/Header. */
export const header = (writer: CdrWriter, stampNs: bigint, frameId: string) =>
  writer
    .int32(Number(stampNs / NS_PER_SECOND))
    .uint32(Number(stampNs % NS_PER_SECOND))
    .string(frameId);

/** Writes the time of a message whose int32 sec stands at `at`. */
export function writeStamp(target: Uint8Array, at: number, stampNs: bigint): void {
  const view = new DataView(target.buffer, target.byteOffset + at);
  view.setInt32(0, Number(stampNs / NS_PER_SECOND), true);
  view.setUint32(4, Number(stampNs % NS_PER_SECOND), true);
}

/** sensor_msgs/msg/Image. */
export function imagePrefix({ frameId, width, height, encoding, strideBytes }: ImageLayout): ImagePrefix {
  const writer = header(new CdrWriter(), 0n, frameId).uint32(height).uint32(width).string(encoding);
  return writer.uint8(0).uint32(strideBytes).uint32(0).data.slice();
}

/** sensor_msgs/msg/CompressedImage whose body is compressedDepth RVL: a header of 20 bytes, then the words. */
export function compressedDepthPrefix({ frameId, width, height }: ImageLayout): ImagePrefix {
  const message = header(new CdrWriter(), 0n, frameId).string("16UC1; compressedDepth rvl").uint32(0).data;
  const prefix = new Uint8Array(message.length + COMPRESSED_DEPTH_HEADER_BYTES);
  prefix.set(message);
  const view = new DataView(prefix.buffer);
  view.setUint32(prefix.length - 8, width, true);
  view.setUint32(prefix.length - 4, height, true);
  return prefix;
}

/** The same with a PNG behind it: a header of 12 bytes, and the file says its size. */
export function compressedDepthPngPrefix({ frameId }: Pick<ImageLayout, "frameId">): ImagePrefix {
  const message = header(new CdrWriter(), 0n, frameId).string("16UC1; compressedDepth png").uint32(0).data;
  const prefix = new Uint8Array(message.length + CONFIG_HEADER_BYTES);
  prefix.set(message);
  return prefix;
}

/**
 * Writes a whole message to `target` from `at` on.
 * @param lengthAt where in the prefix the length of the data stands
 * @returns its bytes
 */
export function writeImage(
  target: Uint8Array,
  at: number,
  prefix: ImagePrefix,
  lengthAt: number,
  stampNs: bigint,
  body: Uint8Array,
): number {
  target.set(prefix, at);
  writeStamp(target, at + STAMP_AT, stampNs);
  const view = new DataView(target.buffer, target.byteOffset + at);
  view.setUint32(lengthAt, prefix.length - lengthAt - 4 + body.length, true);
  target.set(body, at + prefix.length);
  return prefix.length + body.length;
}

/** PointField.FLOAT32. */
const FLOAT32 = 7;
/** As ROS reads points: x, y, z, and rgb, a float whose bytes are blue, green, red and anything. */
const POINT_FIELDS = ["x", "y", "z", "rgb"];

/** sensor_msgs/msg/PointCloud2 of points of 16 bytes, a row of them for each row of the picture. Behind the body comes is_dense. */
export function pointCloudPrefix({
  frameId,
  width,
  height,
  colours = true,
}: Pick<ImageLayout, "frameId" | "width" | "height"> & { colours?: boolean }): ImagePrefix {
  const writer = header(new CdrWriter(), 0n, frameId).uint32(height).uint32(width);
  const fields = colours ? POINT_FIELDS : POINT_FIELDS.slice(0, 3);
  writer.sequenceLength(fields.length);
  for (const [at, name] of fields.entries())
    writer
      .string(name)
      .uint32(4 * at)
      .uint8(FLOAT32)
      .uint32(1);
  const pointBytes = 4 * fields.length;
  return writer
    .uint8(0)
    .uint32(pointBytes)
    .uint32(pointBytes * width)
    .uint32(0)
    .data.slice();
}

/** Where points are that robots read: between the cameras. */
export const RIGHT_FRAME_ID = "right_rectified";
export const ROBOT_FRAME_ID = "stereo_head";

/**
 * Writes a whole PointCloud2 to `target` from `at` on.
 * @param isDense no point lacks a place
 * @returns its bytes
 */
export function writePointCloud(
  target: Uint8Array,
  at: number,
  prefix: ImagePrefix,
  stampNs: bigint,
  points: Uint8Array,
  isDense = false,
): number {
  const bytes = writeImage(target, at, prefix, prefix.length - 4, stampNs, points);
  target[at + bytes] = isDense ? 1 : 0;
  return bytes + 1;
}

export interface RosCamera {
  width: number;
  height: number;
  /** As ROS names it: plumb_bob, rational_polynomial, equidistant; empty: no distortion. */
  distortionModel: string;
  d: readonly number[];
  /** Row-major 3x3, 3x3, 3x4. */
  k: readonly number[];
  r: readonly number[];
  p: readonly number[];
}

/** sensor_msgs/msg/CameraInfo. */
export function cameraInfoMessage(camera: RosCamera, frameId: string, stampNs: bigint): Uint8Array {
  const writer = header(new CdrWriter(), stampNs, frameId).uint32(camera.height).uint32(camera.width);
  writer.string(camera.distortionModel).float64Array([...camera.d], true);
  for (const matrix of [camera.k, camera.r, camera.p]) writer.float64Array([...matrix], false);
  // No binning; the region of interest is the whole image, which ROS says by zeros.
  for (let zero = 0; zero < 6; zero++) writer.uint32(0);
  return writer.uint8(0).data.slice();
}

const IDENTITY = [1, 0, 0, 0, 1, 0, 0, 0, 1];

/** Returns a rectified camera: no distortion, no rotation. The right one's P has -fx times the baseline in metres. */
export function rectifiedCamera(
  { width, height, P1, P2 }: Rectification,
  side: "left" | "right" = "left",
): RosCamera {
  const p = side === "left" ? P1 : P2;
  const k = [...p.slice(0, 3), ...p.slice(4, 7), ...p.slice(8, 11)];
  return { width, height, distortionModel: "plumb_bob", d: [0, 0, 0, 0, 0], k, r: IDENTITY, p };
}

/** Returns the camera that depth is registered into, as its image is: with its lens. */
export function registeredCamera(
  { others = [] }: StereoCalibration,
  rectification: Rectification,
  name: string,
): RosCamera | undefined {
  if (name === RIGHT_CAMERA) return rectifiedCamera(rectification, "right");
  const camera = others.find((one) => one.name === name);
  if (camera === undefined) return undefined;
  const { K, distortion, imageSize } = camera;
  const [fx, , cx, , fy, cy] = K;
  const isNone = distortion.model === "none";
  return {
    ...imageSize,
    distortionModel: isNone ? "plumb_bob" : distortion.model,
    d: isNone ? [0, 0, 0, 0, 0] : distortion.coefficients,
    k: K,
    r: IDENTITY,
    p: [fx, 0, cx, 0, 0, fy, cy, 0, 0, 0, 1, 0],
  };
}

/** Pose of a frame in its parent: x_parent = rotation x_child + translation. */
export interface Transform {
  parent: string;
  child: string;
  /** Row-major. */
  rotation: readonly number[];
  metres: readonly [number, number, number];
}

/**
 * Returns the poses of all cameras, of the robot's frame and, if asked, of the rectified right camera; one tree with
 * the robot's frame at its root.
 */
export function rigTransforms(
  { R1, R2, P2 }: Rectification,
  { others = [] }: Pick<StereoCalibration, "others"> = {},
  withRectifiedRight = false,
): Transform[] {
  const baselineMetres = -P2[3]! / P2[0]!;
  const parent = "left_rectified";
  return [
    {
      parent: ROBOT_FRAME_ID,
      child: parent,
      // ahead = z, left = -x, up = -y
      rotation: [0, 0, 1, -1, 0, 0, 0, -1, 0],
      metres: [0, baselineMetres / 2, 0],
    },
    { parent, child: "left", rotation: R1, metres: [0, 0, 0] },
    { parent, child: "right", rotation: R2, metres: [baselineMetres, 0, 0] },
    ...(withRectifiedRight
      ? [{ parent, child: RIGHT_FRAME_ID, rotation: IDENTITY, metres: [baselineMetres, 0, 0] as const }]
      : []),
    // x_other = R x_left + T
    ...others.map(({ name, R: [a, b, c, d, e, f, g, h, i], T: [x, y, z] }) => ({
      parent: "left",
      child: name,
      rotation: [a, d, g, b, e, h, c, f, i],
      metres: [-a * x - d * y - g * z, -b * x - e * y - h * z, -c * x - f * y - i * z] as const,
    })),
  ];
}

/** Returns x, y, z, w of a rotation, row-major. */
function quaternion([a, b, c, d, e, f, g, h, i]: readonly number[]): number[] {
  // Row k is 4 q_k q of the unit quaternion q.
  const rows = [
    [1 + a! - e! - i!, b! + d!, c! + g!, h! - f!],
    [b! + d!, 1 - a! + e! - i!, f! + h!, c! - g!],
    [c! + g!, f! + h!, 1 - a! - e! + i!, d! - b!],
    [h! - f!, c! - g!, d! - b!, 1 + a! + e! + i!],
  ];
  // The row of the largest component: that of a small one would be divided by nearly 0.
  const largest = rows.reduce((best, row, k) => (row[k]! > rows[best]![best]! ? k : best), 0);
  const length = Math.hypot(...rows[largest]!);
  return rows[largest]!.map((value) => value / length);
}

/** tf2_msgs/msg/TFMessage. @returns the message, and where each of its stamps stands */
export function transformsMessage(transforms: readonly Transform[]): {
  message: Uint8Array;
  stampsAt: number[];
} {
  const writer = new CdrWriter();
  writer.sequenceLength(transforms.length);
  const stampsAt: number[] = [];
  for (const { parent, child, rotation, metres } of transforms) {
    stampsAt.push(writer.size);
    header(writer, 0n, parent).string(child);
    for (const value of [...metres, ...quaternion(rotation)]) writer.float64(value);
  }
  return { message: writer.data.slice(), stampsAt };
}
