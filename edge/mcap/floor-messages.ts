// SPDX-License-Identifier: Apache-2.0
// ROS messages of the grid on the floor, as bytes (CDR, little-endian).
import { CdrWriter } from "@foxglove/cdr";
import { header, ROBOT_FRAME_ID, transformsMessage, writeStamp } from "./messages.js";

/** On the floor below the middle of the baseline: x ahead, y left, z up. */
export const FLOOR_FRAME_ID = "stereo_floor";

/** Cells of the stage "grid": 0 unknown, 1 free, 2 occupied, 3 drop-off. */
export interface FloorCells {
  /** [ahead][left], the nearest and the farthest right first; square. */
  cells: Uint8Array;
  side: number;
  cellMetres: number;
}

/** Cells to the right of the middle. */
const rightCells = (side: number) => Math.floor(side / 2);
/** By cell: unknown, free, occupied, and a drop-off is occupied too. */
const OCCUPANCY = [-1, 0, 100, 100];

/** nav_msgs/msg/OccupancyGrid: x ahead is the column, y left the row. */
export function occupancyGridMessage({ cells, side, cellMetres }: FloorCells, stampNs: bigint): Uint8Array {
  const data = new Int8Array(side * side);
  for (let left = 0; left < side; left++)
    for (let ahead = 0; ahead < side; ahead++)
      data[left * side + ahead] = OCCUPANCY[cells[ahead * side + left]!]!;
  const writer = header(new CdrWriter({ size: data.length + 256 }), stampNs, FLOOR_FRAME_ID);
  // map_load_time, then the pose of the corner of the first cell.
  writer.int32(0).uint32(0).float32(cellMetres).uint32(side).uint32(side);
  for (const value of [0, -rightCells(side) * cellMetres, 0, 0, 0, 0, 1]) writer.float64(value);
  return writer.int8Array(data, true).data.slice();
}

export interface FloorScan {
  angleMin: number;
  angleMax: number;
  angleIncrement: number;
  /** Metres; null: no obstacle in the grid. */
  ranges: readonly (number | null)[];
}

/** sensor_msgs/msg/LaserScan. A ray without an obstacle is NaN: parts of it were not seen, so it must not clear anything. */
export function laserScanMessage(scan: FloorScan, rangeMaxMetres: number, stampNs: bigint): Uint8Array {
  const writer = header(new CdrWriter(), stampNs, FLOOR_FRAME_ID);
  for (const value of [scan.angleMin, scan.angleMax, scan.angleIncrement, 0, 0, 0, rangeMaxMetres])
    writer.float32(value);
  const ranges = Float32Array.from(scan.ranges, (range) => range ?? Number.NaN);
  return writer.float32Array(ranges, true).float32Array(new Float32Array(0), true).data.slice();
}

/** PointField.FLOAT32. */
const FLOAT32 = 7;
const FIELDS = ["x", "y", "z", "class"];
const OCCUPIED = 2;

/** sensor_msgs/msg/PointCloud2: the middle of each occupied (class 2) and drop-off (class 3) cell. */
export function obstaclesMessage({ cells, side, cellMetres }: FloorCells, stampNs: bigint): Uint8Array {
  const values: number[] = [];
  for (const [at, cell] of cells.entries()) {
    if (cell < OCCUPIED) continue;
    const [ahead, left] = [Math.floor(at / side), at % side];
    values.push((ahead + 0.5) * cellMetres, (left - rightCells(side) + 0.5) * cellMetres, 0, cell);
  }
  const points = new Uint8Array(Float32Array.from(values).buffer);
  const pointBytes = 4 * FIELDS.length;
  const writer = header(new CdrWriter({ size: points.length + 256 }), stampNs, FLOOR_FRAME_ID);
  writer.uint32(1).uint32(points.length / pointBytes);
  writer.sequenceLength(FIELDS.length);
  for (const [at, name] of FIELDS.entries())
    writer
      .string(name)
      .uint32(4 * at)
      .uint8(FLOAT32)
      .uint32(1);
  writer.uint8(0).uint32(pointBytes).uint32(points.length);
  return writer.uint8Array(points, true).uint8(1).data.slice();
}

export interface FloorPose {
  /** Unit vector down, in the axes of the left camera. */
  down: readonly [number, number, number];
  /** Height of the left camera above the floor. */
  heightMetres: number;
  baselineMetres: number;
}

/** tf2_msgs/msg/TFMessage: where the floor is in the frame of the robot's points. */
export function floorTransformMessage(pose: FloorPose, stampNs: bigint): Uint8Array {
  const { down: n, heightMetres, baselineMetres } = pose;
  const flat = Math.hypot(n[0], n[1]);
  const ahead = [(-n[2] * n[0]) / flat, (-n[2] * n[1]) / flat, flat] as const;
  const left = [
    n[2] * ahead[1] - n[1] * ahead[2],
    n[0] * ahead[2] - n[2] * ahead[0],
    n[1] * ahead[0] - n[0] * ahead[1],
  ] as const;
  const axes = [ahead, left, n.map((value) => -value)].map(([x, y, z]) => [z!, -x!, -y!]);
  const metres = heightMetres - 0.5 * baselineMetres * n[0];
  const { message, stampsAt } = transformsMessage([
    {
      parent: ROBOT_FRAME_ID,
      child: FLOOR_FRAME_ID,
      rotation: [0, 1, 2].flatMap((row) => axes.map((axis) => axis[row]!)),
      metres: [metres * n[2], -metres * n[0], -metres * n[1]],
    },
  ]);
  for (const at of stampsAt) writeStamp(message, at, stampNs);
  return message;
}
