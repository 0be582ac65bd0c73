// SPDX-License-Identifier: Apache-2.0
// Whole ROS messages, byte for byte, against a writer of CDR that is written here from the definitions of the messages.
import { describe, expect, test } from "vitest";
import type { Rectification, StereoCalibration } from "../../../camera/index.js";
import {
  laserScanMessage,
  obstaclesMessage,
  occupancyGridMessage,
} from "../../../edge/mcap/floor-messages.js";
import {
  cameraInfoMessage,
  compressedDepthPngPrefix,
  compressedDepthPrefix,
  imagePrefix,
  pointCloudPrefix,
  registeredCamera,
  rigTransforms,
  transformsMessage,
  writeImage,
  writePointCloud,
} from "../../../edge/mcap/messages.js";
import { readRosTransforms } from "../../doubles/ros-reader.js";

type Field =
  | readonly ["u8" | "i8" | "i32" | "u32" | "f32" | "f64", ...number[]]
  | readonly ["string", string]
  | readonly ["bytes", ArrayLike<number>];
const SIZES = { u8: 1, i8: 1, i32: 4, u32: 4, f32: 4, f64: 8 };

/** Little-endian CDR: four bytes of encapsulation, then each value at a multiple of its size, counted from behind them. */
function cdr(...fields: Field[]): number[] {
  const bytes = [0, 1, 0, 0];
  const put = (type: keyof typeof SIZES, value: number) => {
    const size = SIZES[type];
    while ((bytes.length - 4) % size !== 0) bytes.push(0);
    const view = new DataView(new ArrayBuffer(size));
    if (type === "f64") view.setFloat64(0, value, true);
    else if (type === "f32") view.setFloat32(0, value, true);
    else if (size === 4) view.setUint32(0, value >>> 0, true);
    else view.setUint8(0, value);
    bytes.push(...new Uint8Array(view.buffer));
  };
  for (const [type, ...values] of fields) {
    if (type === "string") {
      const text = [...Buffer.from(`${values[0]}\0`)];
      put("u32", text.length);
      bytes.push(...text);
    } else if (type === "bytes") bytes.push(...Array.from(values[0] as ArrayLike<number>));
    else for (const value of values as number[]) put(type, value);
  }
  return bytes;
}

const STAMP_NS = 5_000_000_009n;
const header = (frame: string, sec = 5, nanosec = 9): Field[] => [
  ["i32", sec],
  ["u32", nanosec],
  ["string", frame],
];
const LAYOUT = { frameId: "side", width: 7, height: 3, encoding: "mono16", strideBytes: 16 };

/** Writes a body behind a prefix into a buffer that holds other bytes, from its third byte on. */
function written(bytes: number, write: (target: Uint8Array) => number): number[] {
  const target = new Uint8Array(bytes + 5).fill(0xee);
  expect(write(target)).toBe(bytes);
  expect([...target.subarray(0, 2), ...target.subarray(bytes + 2)]).toEqual([238, 238, 238, 238, 238]);
  return [...target.subarray(2, bytes + 2)];
}

describe("images", () => {
  test("sensor_msgs/msg/Image", () => {
    const prefix = imagePrefix(LAYOUT);
    const expected = cdr(
      ...header("side"),
      ["u32", 3, 7],
      ["string", "mono16"],
      ["u8", 0],
      ["u32", 16, 3],
      ["bytes", [1, 2, 3]],
    );
    const body = Uint8Array.of(1, 2, 3);
    expect(
      written(expected.length, (target) => writeImage(target, 2, prefix, prefix.length - 4, STAMP_NS, body)),
    ).toEqual(expected);
  });

  test.each([
    ["rvl", compressedDepthPrefix(LAYOUT), [...Array(12).fill(0), 7, 0, 0, 0, 3, 0, 0, 0]],
    ["png", compressedDepthPngPrefix(LAYOUT), Array(12).fill(0)],
  ])("sensor_msgs/msg/CompressedImage of compressedDepth %s", (format, prefix, config) => {
    const body = Uint8Array.of(1, 2, 3, 4, 5);
    const expected = cdr(
      ...header("side"),
      ["string", `16UC1; compressedDepth ${format}`],
      ["u32", config.length + 5],
      ["bytes", [...config, ...body]],
    );
    // The length counts the head of compressedDepth too.
    const lengthAt = prefix.length - config.length - 4;
    expect(
      written(expected.length, (target) => writeImage(target, 2, prefix, lengthAt, STAMP_NS, body)),
    ).toEqual(expected);
  });
});

test.each([
  [undefined, ["x", "y", "z", "rgb"], false],
  [true, ["x", "y", "z", "rgb"], undefined],
  [false, ["x", "y", "z"], true],
])("sensor_msgs/msg/PointCloud2 with colours %s: %j", (colours, names, isDense) => {
  const pointBytes = 4 * names.length;
  const prefix = pointCloudPrefix({ ...LAYOUT, ...(colours !== undefined && { colours }) });
  const points = Uint8Array.from({ length: 21 * pointBytes }, (_, i) => i);
  const expected = cdr(
    ...header("side"),
    ["u32", 3, 7, names.length],
    // 7 is PointField.FLOAT32.
    ...names.flatMap((name, at): Field[] => [
      ["string", name],
      ["u32", 4 * at],
      ["u8", 7],
      ["u32", 1],
    ]),
    ["u8", 0],
    ["u32", pointBytes, 7 * pointBytes, points.length],
    ["bytes", points],
    ["u8", isDense === true ? 1 : 0],
  );
  expect(
    written(expected.length, (target) =>
      isDense === undefined
        ? writePointCloud(target, 2, prefix, STAMP_NS, points)
        : writePointCloud(target, 2, prefix, STAMP_NS, points, isDense),
    ),
  ).toEqual(expected);
});

describe("cameras", () => {
  const numbers = (first: number, count: number) => Array.from({ length: count }, (_, i) => first + i / 8);
  test.each([[[]], [[0.5, -0.25, 0.125]]])("sensor_msgs/msg/CameraInfo with distortion %j", (d) => {
    const camera = {
      width: 64,
      height: 48,
      distortionModel: "rational_polynomial",
      d,
      k: numbers(100, 9),
      r: numbers(200, 9),
      p: numbers(300, 12),
    };
    expect([...cameraInfoMessage(camera, "side", STAMP_NS)]).toEqual(
      cdr(
        ...header("side"),
        ["u32", 48, 64],
        ["string", "rational_polynomial"],
        ["u32", d.length],
        ["f64", ...d, ...camera.k, ...camera.r, ...camera.p],
        // binning_x, binning_y, and the region of interest, which ends with do_rectify.
        ["u32", 0, 0, 0, 0, 0, 0],
        ["u8", 0],
      ),
    );
  });

  const K = [201, 0, 31.5, 0, 202, 23.5, 0, 0, 1];
  const camera = (name: string, model: string, coefficients: readonly number[]) => ({
    name,
    imageSize: { width: 64, height: 48 },
    K,
    distortion: { model, coefficients },
  });
  const calibration = {
    others: [camera("flat", "none", []), camera("wide", "equidistant", [1, 2, 3, 4])],
  } as unknown as StereoCalibration;
  const rectification = {
    width: 60,
    height: 40,
    P1: [50, 0, 29, 0, 0, 51, 19, 0, 0, 0, 1, 0],
    P2: [50, 0, 30, -6, 0, 51, 19, 0, 0, 0, 1, 0],
  } as unknown as Rectification;
  const identity = [1, 0, 0, 0, 1, 0, 0, 0, 1];

  test.each([
    ["flat", "plumb_bob", [0, 0, 0, 0, 0]],
    ["wide", "equidistant", [1, 2, 3, 4]],
  ])("the camera %s keeps its lens, which is %s", (name, distortionModel, d) => {
    expect(registeredCamera(calibration, rectification, name)).toEqual({
      width: 64,
      height: 48,
      distortionModel,
      d,
      k: K,
      r: identity,
      p: [201, 0, 31.5, 0, 0, 202, 23.5, 0, 0, 0, 1, 0],
    });
  });

  test("the right camera is rectified; another name is none", () => {
    expect(registeredCamera(calibration, rectification, "right")).toEqual({
      width: 60,
      height: 40,
      distortionModel: "plumb_bob",
      d: [0, 0, 0, 0, 0],
      k: [50, 0, 30, 0, 51, 19, 0, 0, 1],
      r: identity,
      p: rectification.P2,
    });
    expect(registeredCamera(calibration, rectification, "left")).toBeUndefined();
    expect(registeredCamera({} as StereoCalibration, rectification, "flat")).toBeUndefined();
  });
});

/** Row-major, of a unit quaternion. */
const rotationOf = ([x, y, z, w]: readonly number[]) =>
  [
    [1 - 2 * (y! * y! + z! * z!), 2 * (x! * y! - z! * w!), 2 * (x! * z! + y! * w!)],
    [2 * (x! * y! + z! * w!), 1 - 2 * (x! * x! + z! * z!), 2 * (y! * z! - x! * w!)],
    [2 * (x! * z! - y! * w!), 2 * (y! * z! + x! * w!), 1 - 2 * (x! * x! + y! * y!)],
  ].flat();

describe("transforms", () => {
  // 1, 3, 5, 17: the squares sum to 324, so 18 is the length. Each place holds the largest once.
  test.each([
    [1, 3, 5, 17],
    [17, 1, 3, 5],
    [5, 17, 1, 3],
    [3, 5, 17, 1],
    [-17, 1, -3, 5],
    [5, -17, 1, 3],
    [3, 5, -17, -1],
    [-1, 3, -5, 17],
  ])("a rotation by %i %i %i %i is that quaternion or its negative", (...parts) => {
    const q = parts.map((part) => part / 18);
    const { message, stampsAt } = transformsMessage([
      { parent: "a", child: "bc", rotation: rotationOf(q), metres: [1, 2, 3] },
      { parent: "a", child: "d", rotation: rotationOf([0, 0, 0, 1]), metres: [4, 5, 6] },
    ]);
    const [first, second] = readRosTransforms(message);
    const sign = Math.sign(first!.quaternion[3]! / q[3]!);
    for (const [at, part] of q.entries()) expect(sign * first!.quaternion[at]!).toBeCloseTo(part, 12);
    expect(first).toMatchObject({ stampNs: 0n, frameId: "a", child: "bc", translation: [1, 2, 3] });
    expect(second).toMatchObject({ child: "d", translation: [4, 5, 6], quaternion: [0, 0, 0, 1] });
    // The first stamp is behind the encapsulation and the count of transforms.
    expect(stampsAt[0]).toBe(8);
    new DataView(message.buffer, message.byteOffset).setUint32(stampsAt[1]! + 4, 77, true);
    expect(readRosTransforms(message).map(({ stampNs }) => stampNs)).toEqual([0n, 77n]);
  });

  test("a camera next to the pair is where its rotation and translation put it", () => {
    const R = rotationOf([1 / 18, 3 / 18, 5 / 18, 17 / 18]);
    const T = [0.7, -0.4, 0.2] as const;
    const identity = [1, 0, 0, 0, 1, 0, 0, 0, 1];
    const view = { R1: identity, R2: identity, P2: [50, 0, 30, -6, 0, 51, 19, 0, 0, 0, 1, 0] };
    const transforms = rigTransforms(view as unknown as Rectification, {
      others: [{ name: "top", R, T }] as never,
    });
    const { parent, child, rotation, metres } = transforms.at(-1)!;
    expect([parent, child]).toEqual(["left", "top"]);
    // A point of the left camera, as the other camera has it, and back.
    const point = [0.3, -1.1, 2.5];
    const turn = (matrix: readonly number[], [x, y, z]: number[]) =>
      [0, 3, 6].map((row) => matrix[row]! * x! + matrix[row + 1]! * y! + matrix[row + 2]! * z!);
    const other = turn(R, point).map((value, axis) => value + T[axis]!);
    const back = turn(rotation, other).map((value, axis) => value + metres[axis]!);
    for (const [axis, value] of back.entries()) expect(value).toBeCloseTo(point[axis]!, 12);
  });

  test("the rectified right camera is a baseline to the right, where it is asked for", () => {
    const [R1, R2] = [rotationOf([0, 0, 0, 1]), rotationOf([1, 0, 0, 0])];
    const view = { R1, R2, P2: [50, 0, 30, -6, 0, 51, 19, 0, 0, 0, 1, 0] } as unknown as Rectification;
    const parent = "left_rectified";
    // 6 / 50 m.
    const plain = [
      { parent: "stereo_head", child: parent, rotation: [0, 0, 1, -1, 0, 0, 0, -1, 0], metres: [0, 0.06, 0] },
      { parent, child: "left", rotation: R1, metres: [0, 0, 0] },
      { parent, child: "right", rotation: R2, metres: [0.12, 0, 0] },
    ];
    expect(rigTransforms(view)).toEqual(plain);
    expect(rigTransforms(view, {}, true)).toEqual([
      ...plain,
      { parent, child: "right_rectified", rotation: [1, 0, 0, 0, 1, 0, 0, 0, 1], metres: [0.12, 0, 0] },
    ]);
  });
});

describe("the floor", () => {
  // Three cells ahead, three to the left: the column of cells in the middle is left = 1.
  const floor = { cells: Uint8Array.of(0, 1, 2, 3, 0, 1, 2, 3, 0), side: 3, cellMetres: 0.25 };

  test("nav_msgs/msg/OccupancyGrid: rows are to the left, columns ahead; a drop-off is occupied", () => {
    expect([...occupancyGridMessage(floor, STAMP_NS)]).toEqual(
      cdr(
        ...header("stereo_floor"),
        // map_load_time, resolution, width and height.
        ["i32", 0],
        ["u32", 0],
        ["f32", 0.25],
        ["u32", 3, 3],
        // One cell is to the right of the middle.
        ["f64", 0, -0.25, 0, 0, 0, 0, 1],
        ["u32", 9],
        ["i8", -1, 100, 100, 0, -1, 100, 100, 0, -1],
      ),
    );
  });

  test("sensor_msgs/msg/LaserScan: a ray without an obstacle is not a number", () => {
    const scan = { angleMin: -0.5, angleMax: 0.5, angleIncrement: 0.25, ranges: [1.5, null, 2] };
    expect([...laserScanMessage(scan, 4, STAMP_NS)]).toEqual(
      cdr(
        ...header("stereo_floor"),
        // Time between rays and between scans, then the nearest and the farthest range.
        ["f32", -0.5, 0.5, 0.25, 0, 0, 0, 4],
        ["u32", 3],
        ["f32", 1.5, Number.NaN, 2],
        ["u32", 0],
      ),
    );
  });

  test("sensor_msgs/msg/PointCloud2 of the middles of occupied cells and drop-offs", () => {
    // [ahead, left, class]: (0, 2) is occupied, (1, 0) a drop-off, (2, 0) occupied, (2, 1) a drop-off.
    const places = [
      [0.125, 0.375, 0, 2],
      [0.375, -0.125, 0, 3],
      [0.625, -0.125, 0, 2],
      [0.625, 0.125, 0, 3],
    ];
    expect([...obstaclesMessage(floor, STAMP_NS)]).toEqual(
      cdr(
        ...header("stereo_floor"),
        ["u32", 1, 4, 4],
        ...["x", "y", "z", "class"].flatMap((name, at): Field[] => [
          ["string", name],
          ["u32", 4 * at],
          ["u8", 7],
          ["u32", 1],
        ]),
        ["u8", 0],
        ["u32", 16, 64, 64],
        ["f32", ...places.flat()],
        ["u8", 1],
      ),
    );
  });
});
