// SPDX-License-Identifier: Apache-2.0
// From a depth picture to points in space (pinhole camera): X = (x - cx) Z / fx, Y = (y - cy) Z / fy. X right, Y down, Z away.
import type { Counts } from "depthwatt-consumer/frames";
import type { Camera } from "../documents.js";
import { type Meaning, meant, type Range } from "../picture/colourise.js";

export interface CloudInput {
  depth: Counts;
  meaning: Meaning;
  width: number;
  height: number;
  camera: Camera;
  /** Subsampling: of each square of so many pixels a side only the first one was measured, the others repeat it. */
  reduction?: number | undefined;
  /** Points outside are left out, metres. */
  range: Range;
  /** Left image, for the colour; [height][width]. */
  grey?: Counts | undefined;
  /** Where it is 0 the depth was filled; such points are left out where it is given. */
  confidence?: Counts | undefined;
}

export interface Points {
  /** X, Y, Z in metres, one after the other. */
  positions: Float32Array;
  /** Grey value, one a point; 255 without an image. */
  greys: Uint8Array;
}

export function buildPoints(input: CloudInput): Points {
  const { depth, meaning, width, height, camera, range, grey, confidence, reduction = 1 } = input;
  const positions = new Float32Array(3 * width * height);
  const greys = new Uint8Array(width * height);
  let count = 0;
  for (let y = 0, i = 0; y < height; y++) {
    for (let x = 0; x < width; x++, i++) {
      if (x % reduction !== 0 || y % reduction !== 0) continue;
      const z = meant(meaning, depth[i]!);
      // NaN is in no range.
      if (!(z >= range.min && z <= range.max) || confidence?.[i] === 0) continue;
      positions[3 * count] = ((x - camera.centreX) * z) / camera.focalX;
      positions[3 * count + 1] = ((y - camera.centreY) * z) / camera.focalY;
      positions[3 * count + 2] = z;
      greys[count] = grey?.[i] ?? 255;
      count++;
    }
  }
  return { positions: positions.subarray(0, 3 * count), greys: greys.subarray(0, count) };
}

const RECORD_BYTES = 15;

/** Binary little-endian PLY: float x, y, z in metres, uchar red, green, blue. */
export function encodePly({ positions, greys }: Points): Uint8Array<ArrayBuffer> {
  const count = greys.length;
  const head = new TextEncoder().encode(
    [
      "ply",
      "format binary_little_endian 1.0",
      "comment depthwatt: left camera, X right, Y down, Z away, metres",
      `element vertex ${count}`,
      ...["x", "y", "z"].map((name) => `property float ${name}`),
      ...["red", "green", "blue"].map((name) => `property uchar ${name}`),
      "end_header\n",
    ].join("\n"),
  );
  const file = new Uint8Array(head.length + RECORD_BYTES * count);
  file.set(head);
  const view = new DataView(file.buffer);
  for (let i = 0, at = head.length; i < count; i++, at += RECORD_BYTES) {
    for (let axis = 0; axis < 3; axis++) view.setFloat32(at + 4 * axis, positions[3 * i + axis]!, true);
    file.fill(greys[i]!, at + 12, at + 15);
  }
  return file;
}
