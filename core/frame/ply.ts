// SPDX-License-Identifier: Apache-2.0
// Points as a PLY file (binary, little-endian): one vertex for each pixel that has a point.
import { bytesOfPoint, type PointsForm } from "./frame-format.js";

/** Head of a file of `count` vertices, then `vertexBytes` for each. */
export function plyFile(
  properties: readonly string[],
  count: number,
  vertexBytes: number,
  comments: readonly string[] = [],
): { file: Uint8Array; at: number } {
  const lines = [
    "ply",
    "format binary_little_endian 1.0",
    ...comments.map((text) => `comment ${text}`),
    `element vertex ${count}`,
    ...properties.map((one) => `property ${one}`),
    "end_header",
    "",
  ];
  const head = new TextEncoder().encode(lines.join("\n"));
  const file = new Uint8Array(head.length + count * vertexBytes);
  file.set(head);
  return { file, at: head.length };
}

export interface PlyPoints extends PointsForm {
  element: "float32" | "int16";
}

const COMMENTS = {
  camera: "x right, y down, z ahead; origin in the left camera",
  robot: "x ahead, y left, z up; origin in the middle of the baseline",
};

/** The middles of voxels, [count][3] metres, as a PLY file. */
export function plyOfVoxels(positions: Float32Array, frame: PointsForm["frame"]): Uint8Array {
  const properties = ["float x", "float y", "float z"];
  const comments = ["depthwatt, metres", COMMENTS[frame]];
  const { file, at } = plyFile(properties, positions.length / 3, 12, comments);
  file.set(new Uint8Array(positions.buffer, positions.byteOffset, positions.byteLength), at);
  return file;
}

/**
 * A body of the stream points as a PLY file: x, y, z as float metres or short millimetres, then red, green and blue.
 * @param pixels points in the body, those without a place among them
 */
export function plyOfPoints(
  body: Uint8Array,
  pixels: number,
  { frame, colour, element }: PlyPoints,
): Uint8Array {
  const float = element === "float32";
  const bytes = bytesOfPoint(float ? "f32" : "i16", colour);
  const placeBytes = float ? 12 : 6;
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  const isPlace = (at: number) =>
    float ? !Number.isNaN(view.getFloat32(at, true)) : view.getInt16(at, true) !== -32_768;
  let count = 0;
  for (let i = 0; i < pixels; i++) if (isPlace(i * bytes)) count++;
  const type = float ? "float" : "short";
  const { file, at: first } = plyFile(
    [`${type} x`, `${type} y`, `${type} z`, "uchar red", "uchar green", "uchar blue"],
    count,
    placeBytes + 3,
    [`depthwatt, ${float ? "metres" : "millimetres"}`, COMMENTS[frame]],
  );
  let to = first;
  for (let i = 0; i < pixels; i++) {
    const at = i * bytes;
    if (!isPlace(at)) continue;
    file.set(body.subarray(at, at + placeBytes), to);
    const from = at + placeBytes;
    const grey = bytes === 8;
    for (let one = 0; one < 3; one++) file[to + placeBytes + one] = body[grey ? from : from + 2 - one]!;
    to += placeBytes + 3;
  }
  return file;
}
