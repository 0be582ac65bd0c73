// SPDX-License-Identifier: Apache-2.0
// Reads ROS messages by their definitions, as another program would: nothing here comes from depthwatt.
import { CdrReader } from "@foxglove/cdr";

export interface RosHeader {
  stampNs: bigint;
  frameId: string;
}

const headerFrom = (reader: CdrReader): RosHeader => {
  const seconds = reader.int32();
  const nanoseconds = reader.uint32();
  return { stampNs: BigInt(seconds) * 1_000_000_000n + BigInt(nanoseconds), frameId: reader.string() };
};

/** Reads the header with which every stamped message begins. */
export const readRosHeader = (message: Uint8Array): RosHeader => headerFrom(new CdrReader(message));

/** Reads a sensor_msgs/msg/Image. */
export function readRosImage(message: Uint8Array) {
  const reader = new CdrReader(message);
  const header = headerFrom(reader);
  const [height, width, encoding] = [reader.uint32(), reader.uint32(), reader.string()];
  const isBigEndian = reader.uint8();
  const step = reader.uint32();
  return { ...header, height, width, encoding, isBigEndian, step, data: reader.uint8Array() };
}

/** Reads a sensor_msgs/msg/CompressedImage. */
export function readRosCompressedImage(message: Uint8Array) {
  const reader = new CdrReader(message);
  return { ...headerFrom(reader), format: reader.string(), data: reader.uint8Array() };
}

/** Reads a sensor_msgs/msg/CameraInfo. */
export function readRosCameraInfo(message: Uint8Array) {
  const reader = new CdrReader(message);
  const header = headerFrom(reader);
  const [height, width, distortionModel] = [reader.uint32(), reader.uint32(), reader.string()];
  const array = (length?: number) => [...reader.float64Array(length)];
  return { ...header, height, width, distortionModel, d: array(), k: array(9), r: array(9), p: array(12) };
}

/** Reads a sensor_msgs/msg/PointCloud2. */
export function readRosPoints(message: Uint8Array) {
  const reader = new CdrReader(message);
  const header = headerFrom(reader);
  const [height, width] = [reader.uint32(), reader.uint32()];
  const fields = Array.from({ length: reader.sequenceLength() }, () => ({
    name: reader.string(),
    offset: reader.uint32(),
    type: reader.uint8(),
    count: reader.uint32(),
  }));
  const isBigEndian = reader.uint8();
  const [pointStep, rowStep] = [reader.uint32(), reader.uint32()];
  const data = reader.uint8Array();
  return { ...header, height, width, fields, isBigEndian, pointStep, rowStep, data, isDense: reader.uint8() };
}

/**
 * Returns the byte that holds the brightness of a pixel, by the names of sensor_msgs/image_encodings.hpp: yuv422 is UYVY,
 * yuv422_yuy2 is YUYV, nv12 is a plane of brightness with chroma at half its rows behind it.
 */
export function rosBrightnessAt(encoding: string, step: number, x: number, y: number): number {
  const inRow: Record<string, number> = {
    mono8: x,
    mono16: 2 * x,
    yuv422: 2 * x + 1,
    yuv422_yuy2: 2 * x,
    nv12: x,
    // Green, where red, green and blue are equal.
    rgb8: 3 * x + 1,
  };
  const bayer = /^bayer_(?:rggb|grbg|gbrg|bggr)(8|16)$/.exec(encoding);
  const at = bayer === null ? inRow[encoding] : (Number(bayer[1]) / 8) * x;
  if (at === undefined) throw new Error(`ROS has no encoding ${encoding}`);
  return y * step + at;
}

/** Returns how many rows of `step` bytes an image of `height` rows has. */
export const rosRows = (encoding: string, height: number): number =>
  encoding === "nv12" ? height + height / 2 : height;

/** Reads a tf2_msgs/msg/TFMessage. */
export function readRosTransforms(message: Uint8Array) {
  const reader = new CdrReader(message);
  const float64s = (count: number) => Array.from({ length: count }, () => reader.float64());
  return Array.from({ length: reader.sequenceLength() }, () => ({
    ...headerFrom(reader),
    child: reader.string(),
    translation: float64s(3),
    quaternion: float64s(4),
  }));
}

/** Reads a nav_msgs/msg/OccupancyGrid. */
export function readRosGrid(message: Uint8Array) {
  const reader = new CdrReader(message);
  const header = headerFrom(reader);
  reader.int32();
  reader.uint32();
  const [resolution, width, height] = [reader.float32(), reader.uint32(), reader.uint32()];
  const origin = Array.from({ length: 7 }, () => reader.float64());
  return { ...header, resolution, width, height, origin, data: reader.int8Array() };
}

/** Reads a sensor_msgs/msg/LaserScan. */
export function readRosScan(message: Uint8Array) {
  const reader = new CdrReader(message);
  const header = headerFrom(reader);
  const [angleMin, angleMax, angleIncrement] = [reader.float32(), reader.float32(), reader.float32()];
  for (let time = 0; time < 2; time++) reader.float32();
  const [rangeMin, rangeMax] = [reader.float32(), reader.float32()];
  const [ranges, intensities] = [reader.float32Array(), reader.float32Array()];
  return { ...header, angleMin, angleMax, angleIncrement, rangeMin, rangeMax, ranges, intensities };
}
