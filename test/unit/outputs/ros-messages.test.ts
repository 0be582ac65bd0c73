// SPDX-License-Identifier: Apache-2.0
// Recorded and published ROS messages, read by ROS' own definitions: matrices, encodings, layouts, times, frame names.
import { afterEach, describe, expect, test } from "vitest";
import { withHash } from "../../../camera/calibration/index.js";
import { type PixelFormat, rectify, sceneCalibration } from "../../../camera/index.js";
import { decodePng } from "../../../clients/javascript/src/png.js";
import type { ComputedFrame } from "../../../edge/contracts/computed-frame.js";
import type { FrameLease } from "../../../edge/contracts/output.js";
import type { Rig } from "../../../edge/contracts/rig.js";
import {
  floorTransformMessage,
  laserScanMessage,
  obstaclesMessage,
  occupancyGridMessage,
} from "../../../edge/mcap/floor-messages.js";
import { rigTransforms, transformsMessage } from "../../../edge/mcap/messages.js";
import { type ChannelContext, frameChannels } from "../../../edge/outputs/mcap/channels.js";
import { openRos } from "../../../edge/outputs/ros/ros-output.js";
import { rectifiedGeometry } from "../../../edge/pipeline/geometry.js";
import { until } from "../../doubles/frames.js";
import {
  readRosCameraInfo,
  readRosCompressedImage,
  readRosGrid,
  readRosHeader,
  readRosImage,
  readRosPoints,
  readRosScan,
  readRosTransforms,
  rosBrightnessAt,
  rosRows,
} from "../../doubles/ros-reader.js";
import { PUBLISH, startScriptedBroker } from "../../doubles/scripted-broker.js";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const [WIDTH, HEIGHT] = [8, 4];
/** Every number differs, so that none can stand for another. */
const LEFT_K = [301, 0, 3.1, 0, 302, 1.2, 0, 0, 1];
const RIGHT_K = [303, 0, 3.3, 0, 304, 1.4, 0, 0, 1];
const [FX, FY, CX, CY, RIGHT_CX, BASELINE] = [311, 312, 3.5, 1.6, 3.75, 0.12];
const TURNED = [0, -1, 0, 1, 0, 0, 0, 0, 1];
const TURNED_BACK = [0, 1, 0, -1, 0, 0, 0, 0, 1];
const CALIBRATION = withHash({
  imageSize: { width: WIDTH, height: HEIGHT },
  left: { name: "a", K: LEFT_K as never, distortion: { model: "plumb_bob", coefficients: [1, 2, 3, 4, 5] } },
  right: { name: "b", K: RIGHT_K as never, distortion: { model: "none", coefficients: [] } },
  R: [1, 0, 0, 0, 1, 0, 0, 0, 1],
  T: [-BASELINE, 0, 0],
  given: {
    R1: TURNED as never,
    R2: TURNED_BACK as never,
    P1: [FX, 0, CX, 0, 0, FY, CY, 0, 0, 0, 1, 0],
    P2: [FX, 0, RIGHT_CX, -FX * BASELINE, 0, FY, CY, 0, 0, 0, 1, 0],
  },
  files: [],
});
const { rig, cameraInfo } = rectifiedGeometry(CALIBRATION, "given");

const LEFT_NS = 1_700_000_000_123_456_789n;
const RIGHT_NS = LEFT_NS + 7_654_321n;
const SETTINGS = {
  inputs: true,
  left: true,
  leftColours: true,
  depth: "image",
  disparity: true,
  confidence: true,
};

/** A frame whose every byte says where it is. */
function makeFrame(input: { left: Uint8Array; right: Uint8Array }, more: Partial<ComputedFrame> = {}) {
  const pixels = WIDTH * HEIGHT;
  const ramp = (start: number, length = pixels) => Array.from({ length }, (_, i) => start + i);
  const points = new Uint8Array(16 * pixels);
  new Float32Array(points.buffer).set(ramp(0, 4 * pixels).map((value) => value / 8));
  return {
    slot: {
      left: Uint8Array.from(ramp(1)),
      leftRgb: Uint8Array.from(ramp(40, 3 * pixels)),
      right: Uint8Array.from(ramp(90)),
      disparityQ4: Int16Array.from(ramp(-300)),
      confidence: Uint8Array.from(ramp(200)),
      depthMillimetres: Uint16Array.from(ramp(1000)),
      encodedDepth: new Uint8Array(0),
      encodedDisparity: new Uint8Array(0),
      points,
    },
    result: { encodedDepthBytes: 0 },
    encodings: { points: { frame: "camera" } },
    width: WIDTH,
    height: HEIGHT,
    clock: "file",
    leftTimestampNs: LEFT_NS,
    rightTimestampNs: RIGHT_NS,
    leftSequence: 11,
    rightSequence: 22,
    images: { left: { data: input.left, sequence: 11 }, right: { data: input.right, sequence: 22 } },
    arrivedNs: 0n,
    ...more,
  } as unknown as ComputedFrame;
}

const context = (changes: Partial<ChannelContext> = {}): ChannelContext => ({
  settings: { ...SETTINGS, points: true } as never,
  prefix: "/rig",
  width: WIDTH,
  height: HEIGHT,
  hasDepth: true,
  rig,
  input: {
    width: WIDTH,
    height: HEIGHT,
    leftFormat: "GREY",
    rightFormat: "GREY",
    leftStrideBytes: WIDTH,
    rightStrideBytes: WIDTH,
  },
  ...changes,
});

/** Writes a frame to every channel. */
function record(frame: ComputedFrame, changes: Partial<ChannelContext> = {}) {
  const messages = new Map<string, { data: Uint8Array; publishNs: bigint; sequence: number }>();
  for (const channel of frameChannels(context(changes))) {
    const bytes = channel.bytes(frame);
    if (bytes === undefined) continue;
    // Not at the start of the buffer, and room behind it that must stay as it is.
    const target = new Uint8Array(bytes + 9).fill(0xee);
    const { publishNs, sequence } = channel.write(target, 3, frame, { leftNs: LEFT_NS, rightNs: RIGHT_NS });
    expect([...target.subarray(0, 3), ...target.subarray(bytes + 3)], channel.topic).toEqual(
      Array(9).fill(0xee),
    );
    messages.set(channel.topic.replace(/^\/rig\//, ""), {
      data: target.slice(3, bytes + 3),
      publishNs,
      sequence,
    });
  }
  return messages;
}

const GREY = { left: new Uint8Array(WIDTH * HEIGHT), right: new Uint8Array(WIDTH * HEIGHT) };

/** Formats that ROS has a name for. */
type NamedFormat = Exclude<PixelFormat, "GREY_DISPARITY" | `Y${8 | 12}I_${"LEFT" | "RIGHT"}` | `${string}P`>;

/** The name in ROS, bytes of a pixel, and whether values fill two bytes: a format without a line does not compile. */
const FORMATS: Record<NamedFormat, [encoding: string, pixelBytes: number]> = {
  GREY: ["mono8", 1],
  Y10: ["mono16", 2],
  Y12: ["mono16", 2],
  Y16: ["mono16", 2],
  YUYV: ["yuv422_yuy2", 2],
  UYVY: ["yuv422", 2],
  NV12: ["nv12", 1],
  RGB8: ["rgb8", 3],
  BAYER_RGGB8: ["bayer_rggb8", 1],
  BAYER_GRBG8: ["bayer_grbg8", 1],
  BAYER_GBRG8: ["bayer_gbrg8", 1],
  BAYER_BGGR8: ["bayer_bggr8", 1],
  BAYER_RGGB10: ["bayer_rggb16", 2],
  BAYER_GRBG10: ["bayer_grbg16", 2],
  BAYER_GBRG10: ["bayer_gbrg16", 2],
  BAYER_BGGR10: ["bayer_bggr16", 2],
  BAYER_RGGB12: ["bayer_rggb16", 2],
  BAYER_GRBG12: ["bayer_grbg16", 2],
  BAYER_GBRG12: ["bayer_gbrg16", 2],
  BAYER_BGGR12: ["bayer_bggr16", 2],
  BAYER_RGGB16: ["bayer_rggb16", 2],
  BAYER_GRBG16: ["bayer_grbg16", 2],
  BAYER_GBRG16: ["bayer_gbrg16", 2],
  BAYER_BGGR16: ["bayer_bggr16", 2],
};

/** An image of a camera with 50 + 10y + x as the brightness of each pixel, padding behind its rows, and chroma 128. */
function captured(format: NamedFormat, strideBytes: number): Uint8Array {
  const rows = format === "NV12" ? HEIGHT + HEIGHT / 2 : HEIGHT;
  // Buffers of drivers are larger than the image.
  const data = new Uint8Array(strideBytes * rows + 64).fill(128);
  const [, pixelBytes] = FORMATS[format];
  for (let y = 0; y < HEIGHT; y++)
    for (let x = 0; x < WIDTH; x++) {
      const at = y * strideBytes + x * pixelBytes;
      const value = 50 + 10 * y + x;
      if (format === "RGB8") data.fill(value, at, at + 3);
      else data[format === "UYVY" ? at + 1 : at] = value;
    }
  return data;
}

describe("captured images", () => {
  test.each(Object.entries(FORMATS) as [NamedFormat, [string, number]][])(
    "%s is what ROS reads under its name, whole, in both images",
    (format, [encoding, pixelBytes]) => {
      const [leftStrideBytes, rightStrideBytes] = [pixelBytes * WIDTH + 4, pixelBytes * WIDTH + 8];
      const left = captured(format, leftStrideBytes);
      const right = captured(format, rightStrideBytes);
      const input = {
        width: WIDTH,
        height: HEIGHT,
        leftFormat: format,
        rightFormat: format,
        leftStrideBytes,
        rightStrideBytes,
      };
      const messages = record(makeFrame({ left, right }), { input });
      for (const [side, stride, image] of [
        ["left", leftStrideBytes, left],
        ["right", rightStrideBytes, right],
      ] as const) {
        const read = readRosImage(messages.get(`${side}/image_raw`)!.data);
        const size = { width: WIDTH, height: HEIGHT, step: stride, isBigEndian: 0 };
        expect(read, side).toMatchObject({ ...size, encoding, frameId: side });
        expect(read.data, side).toEqual(image.slice(0, stride * rosRows(encoding, HEIGHT)));
        for (let y = 0; y < HEIGHT; y++)
          for (let x = 0; x < WIDTH; x++)
            expect(read.data[rosBrightnessAt(encoding, stride, x, y)], `${side} ${x},${y}`).toBe(
              50 + 10 * y + x,
            );
      }
    },
  );

  test("Y8I is divided into two grey images, without the padding", () => {
    const strideBytes = 2 * WIDTH + 6;
    const data = new Uint8Array(strideBytes * HEIGHT + 64).fill(99);
    for (let y = 0; y < HEIGHT; y++)
      for (let x = 0; x < WIDTH; x++) data.set([10 * y + x, 100 + 10 * y + x], y * strideBytes + 2 * x);
    const input = {
      width: WIDTH,
      height: HEIGHT,
      leftFormat: "Y8I_LEFT",
      rightFormat: "Y8I_RIGHT",
      leftStrideBytes: strideBytes,
      rightStrideBytes: strideBytes,
    } as const;
    const messages = record(makeFrame({ left: data, right: data }), { input });
    for (const [side, first] of [
      ["left", 0],
      ["right", 100],
    ] as const) {
      const read = readRosImage(messages.get(`${side}/image_raw`)!.data);
      expect(read, side).toMatchObject({ width: WIDTH, height: HEIGHT, step: WIDTH, encoding: "mono8" });
      const values = Array.from(
        { length: WIDTH * HEIGHT },
        (_, i) => first + 10 * Math.floor(i / WIDTH) + (i % WIDTH),
      );
      expect([...read.data], side).toEqual(values);
    }
  });

  test("packed samples are recorded in 16 bits, at the top, under the name of their mosaic", () => {
    const strideBytes = 1.25 * 4 + 1;
    const bytes = [1, 2, 3, 4, 0b11100100, 99, 5, 6, 7, 8, 0, 99];
    const input = {
      width: 4,
      height: 2,
      leftFormat: "Y10P",
      rightFormat: "BAYER_GBRG10P",
      leftStrideBytes: strideBytes,
      rightStrideBytes: strideBytes,
    } as const;
    const [left, right] = [Uint8Array.from(bytes), Uint8Array.from(bytes)];
    const messages = record(makeFrame({ left, right }), { input });
    for (const [side, encoding] of [
      ["left", "mono16"],
      ["right", "bayer_gbrg16"],
    ] as const) {
      const read = readRosImage(messages.get(`${side}/image_raw`)!.data);
      expect(read, side).toMatchObject({ width: 4, height: 2, step: 8, encoding });
      expect([...new Uint16Array(read.data.slice().buffer)], side).toEqual([
        0x100, 0x240, 0x380, 0x4c0, 0x500, 0x600, 0x700, 0x800,
      ]);
    }
  });

  test("each has its own capture time and number; computed images have the left one's", () => {
    const messages = record(makeFrame(GREY));
    expect(messages.size).toBe(11);
    for (const [topic, { data, publishNs, sequence }] of messages) {
      const right = topic === "right/image_raw";
      expect({ publishNs, sequence }, topic).toEqual({
        publishNs: right ? RIGHT_NS : LEFT_NS,
        sequence: right ? 22 : 11,
      });
      const stamps =
        topic === "/tf"
          ? readRosTransforms(data).map(({ stampNs }) => stampNs)
          : [readRosHeader(data).stampNs];
      for (const stampNs of stamps) expect(stampNs, topic).toBe(publishNs);
    }
  });
});

test("camera_info: both cameras as calibrated, and the rectified one by its projection alone", () => {
  const messages = record(makeFrame(GREY));
  const read = (topic: string) => readRosCameraInfo(messages.get(`${topic}/camera_info`)!.data);
  const size = { width: WIDTH, height: HEIGHT, stampNs: LEFT_NS };
  const p = [FX, 0, CX, 0, 0, FY, CY, 0, 0, 0, 1, 0];
  expect(read("left")).toEqual({
    ...size,
    frameId: "left",
    distortionModel: "plumb_bob",
    d: [1, 2, 3, 4, 5],
    k: LEFT_K,
    r: TURNED,
    p,
  });
  expect(read("right")).toEqual({
    ...size,
    frameId: "right",
    distortionModel: "plumb_bob",
    d: [0, 0, 0, 0, 0],
    k: RIGHT_K,
    r: TURNED_BACK,
    p: [FX, 0, RIGHT_CX, -FX * BASELINE, 0, FY, CY, 0, 0, 0, 1, 0],
  });
  expect(read("depth")).toEqual({
    ...size,
    frameId: "left_rectified",
    distortionModel: "plumb_bob",
    d: [0, 0, 0, 0, 0],
    k: [FX, 0, CX, 0, FY, CY, 0, 0, 1],
    r: [1, 0, 0, 0, 1, 0, 0, 0, 1],
    p,
  });
});

test("/tf places both cameras and the robot's frame: points of one are points of the other", () => {
  const transforms = readRosTransforms(record(makeFrame(GREY)).get("/tf")!.data);
  expect(transforms.map(({ frameId, child }) => [frameId, child])).toEqual([
    ["stereo_head", "left_rectified"],
    ["left_rectified", "left"],
    ["left_rectified", "right"],
  ]);
  const [head, left, right] = transforms;
  // x right, y down, z ahead of the left camera; x ahead, y left, z up of the middle of the baseline.
  const [x, y, z] = [0.3, 0.5, 2];
  expectClose(moved(head!, [x, y, z]), [z, BASELINE / 2 - x, -y]);
  // R1 turns (x, y, z) into (-y, x, z), R2 back.
  expectClose(moved(left!, [x, y, z]), [-y, x, z]);
  expectClose(moved(right!, [x, y, z]), [y + BASELINE, -x, z]);
});

test("/tf places other cameras: a point of theirs is the left camera's", () => {
  const R = [0, -1, 0, 1, 0, 0, 0, 0, 1] as const;
  const pair = sceneCalibration({ width: 64, height: 48, view: "rectified" });
  const imageSize = { width: 64, height: 48 };
  const others = [{ ...pair.left, name: "thermal", imageSize, R, T: [0.1, 0.2, -0.3] as const }];
  const { message } = transformsMessage(rigTransforms(rectify(pair), { others }));
  const found = readRosTransforms(message).find(({ child }) => child === "thermal")!;
  expect(found.frameId).toBe("left");
  const [x, y, z] = [0.3, 0.5, 2];
  // R turns (x, y, z) into (-y, x, z).
  expectClose(moved(found, [-y + 0.1, x + 0.2, z - 0.3]), [x, y, z]);
});

test.each([
  ["about x", [1, 0, 0, 0, -1, 0, 0, 0, -1]],
  ["about y", [-1, 0, 0, 0, 1, 0, 0, 0, -1]],
  ["about z", [-1, 0, 0, 0, -1, 0, 0, 0, 1]],
  ["not at all", [1, 0, 0, 0, 1, 0, 0, 0, 1]],
  ["in a circle", [0, 0, 1, 1, 0, 0, 0, 1, 0]],
])("a rotation %s stays one as a quaternion", (_name, rotation) => {
  const { message } = transformsMessage([{ parent: "a", child: "b", rotation, metres: [1, 2, 3] }]);
  const [read] = readRosTransforms(message);
  const turned = [0, 3, 6].map(
    (row) => rotation[row]! * 0.2 + rotation[row + 1]! * 0.3 + rotation[row + 2]! * 0.5,
  );
  expectClose(
    moved(read!, [0.2, 0.3, 0.5]),
    turned.map((value, axis) => value + axis + 1),
  );
});

/** Turns a point by v + 2 w (q x v) + 2 q x (q x v), and moves it. */
function moved({ translation, quaternion }: ReturnType<typeof readRosTransforms>[number], point: number[]) {
  const [qx, qy, qz, w] = quaternion as [number, number, number, number];
  const cross = ([x, y, z]: number[]) => [qy * z! - qz * y!, qz * x! - qx * z!, qx * y! - qy * x!];
  const once = cross(point);
  const twice = cross(once);
  return point.map((value, axis) => value + 2 * w * once[axis]! + 2 * twice[axis]! + translation[axis]!);
}

function expectClose(values: number[], expected: number[]): void {
  for (const [axis, value] of values.entries()) expect(value).toBeCloseTo(expected[axis]!, 12);
}

describe("the floor", () => {
  const head = { stampNs: LEFT_NS, frameId: "stereo_floor" };
  // Rows from the nearest; in each the rightmost cell first.
  const floor = { cells: Uint8Array.of(0, 1, 2, 3, 0, 2, 1, 0, 3), side: 3, cellMetres: 0.5 };

  test("a grid has x ahead and y left, with its corner to the right", () => {
    expect(readRosGrid(occupancyGridMessage(floor, LEFT_NS))).toEqual({
      ...head,
      resolution: 0.5,
      width: 3,
      height: 3,
      origin: [0, -0.5, 0, 0, 0, 0, 1],
      data: Int8Array.of(-1, 100, 0, 0, -1, -1, 100, 100, 100),
    });
  });

  test("a scan has NaN for rays without an obstacle", () => {
    const scan = { angleMin: -0.75, angleMax: 0.5, angleIncrement: 0.25, ranges: [1.5, null, 2] };
    expect(readRosScan(laserScanMessage(scan, 2.5, LEFT_NS))).toEqual({
      ...head,
      ...scan,
      rangeMin: 0,
      rangeMax: 2.5,
      ranges: Float32Array.of(1.5, Number.NaN, 2),
      intensities: new Float32Array(0),
    });
  });

  test("obstacles are the middles of cells, with their class", () => {
    const { data, ...cloud } = readRosPoints(obstaclesMessage(floor, LEFT_NS));
    expect(cloud).toEqual({
      ...head,
      height: 1,
      width: 4,
      fields: ["x", "y", "z", "class"].map((name, i) => ({ name, offset: 4 * i, type: 7, count: 1 })),
      isBigEndian: 0,
      pointStep: 16,
      rowStep: 64,
      isDense: 1,
    });
    const points = [0.25, 0.75, 0, 2, 0.75, -0.25, 0, 3, 0.75, 0.75, 0, 2, 1.25, 0.75, 0, 3];
    expect([...new Float32Array(data.slice().buffer)]).toEqual(points);
  });

  test("its frame stands upright below the middle of the baseline, turned ahead", () => {
    const pose = { down: [2 / 7, 6 / 7, 3 / 7], heightMetres: 1.5, baselineMetres: 0.28 } as const;
    const [found] = readRosTransforms(floorTransformMessage(pose, LEFT_NS));
    expect(found).toMatchObject({ stampNs: LEFT_NS, frameId: "stereo_head", child: "stereo_floor" });
    // The middle is 0.14 m right of the left camera, where the floor is 0.04 m nearer.
    const below = [3, -2, -6].map((value) => (1.46 * value) / 7);
    expectClose(found!.translation, below);
    const from = (along: number[]) => along.map((value, axis) => value + below[axis]!);
    expectClose(moved(found!, [0, 0, 1]), from([-3 / 7, 2 / 7, 6 / 7]));
    // The cameras' axis less its part along the normal.
    expectClose(moved(found!, [1, 0, 0]), from([40, 6, 18].map((value) => value / Math.sqrt(1960))));
  });
});

test("the topic camera_info is the calibration's own matrices", () => {
  expect(cameraInfo).toEqual({
    width: WIDTH,
    height: HEIGHT,
    K: [FX, 0, CX, 0, FY, CY, 0, 0, 1],
    P: [FX, 0, CX, 0, 0, FY, CY, 0, 0, 0, 1, 0],
    rightP: [FX, 0, RIGHT_CX, -FX * BASELINE, 0, FY, CY, 0, 0, 0, 1, 0],
    // Rows of [X Y Z W] = Q [x y disparity 1]: a point of the plane Z = 1 and one disparity further.
    Q: expect.any(Array),
    baselineMetres: expect.closeTo(BASELINE, 12),
    focalPixels: FX,
    disparityOffsetPixels: RIGHT_CX - CX,
    calibrationHash: CALIBRATION.hash,
  });
  const { Q } = cameraInfo as { Q: number[] };
  const at = (x: number, y: number, disparity: number) => {
    const [X, Y, Z, W] = [0, 4, 8, 12].map((row) => {
      const [a, b, c, d] = Q.slice(row, row + 4) as [number, number, number, number];
      return a * x + b * y + c * disparity + d;
    }) as [number, number, number, number];
    return [X / W, Y / W, Z / W];
  };
  // By similar triangles: both cameras see the point where their own matrices project it.
  for (const [X, Y, Z] of [
    [0.3, -0.2, 2],
    [-1, 0.5, 7],
  ] as const) {
    const [xLeft, xRight] = [(FX * X) / Z + CX, (FX * (X - BASELINE)) / Z + RIGHT_CX];
    const place = at(xLeft, (FY * Y) / Z + CY, xLeft - xRight);
    for (const [axis, value] of [X, Y, Z].entries()) expect(place[axis]).toBeCloseTo(value, 9);
  }
});

test("computed images: names, sizes, pixels, and points with their fields", () => {
  const frame = makeFrame(GREY);
  const messages = record(frame);
  const { slot } = frame;
  const bytes = (map: Uint16Array | Int16Array) => new Uint8Array(map.buffer);
  for (const [topic, encoding, step, data] of [
    ["left/image_rect", "mono8", WIDTH, slot.left],
    ["depth/image_rect", "16UC1", 2 * WIDTH, bytes(slot.depthMillimetres)],
    ["disparity/image_rect", "16SC1", 2 * WIDTH, bytes(slot.disparityQ4)],
    ["confidence/image_rect", "mono8", WIDTH, slot.confidence],
  ] as const)
    expect(readRosImage(messages.get(topic)!.data), topic).toEqual({
      width: WIDTH,
      height: HEIGHT,
      stampNs: LEFT_NS,
      frameId: "left_rectified",
      encoding,
      step,
      data: new Uint8Array(data),
      isBigEndian: 0,
    });
  const coloured = record(makeFrame(GREY, { encodings: { leftRgb: true } as never }));
  expect(readRosImage(coloured.get("left/image_rect")!.data)).toMatchObject({
    encoding: "rgb8",
    step: 3 * WIDTH,
    data: slot.leftRgb,
  });
  const withRight = record(makeFrame(GREY, { encodings: { rightGrey: true } as never }), {
    settings: { right: true } as never,
  });
  expect(readRosImage(withRight.get("right/image_rect")!.data)).toMatchObject({
    frameId: "right_rectified",
    encoding: "mono8",
    step: WIDTH,
    data: slot.right,
  });
  // Without it no image, and an engine that has not taken the setting yet gives none.
  expect(messages.has("right/image_rect")).toBe(false);
  expect(record(frame, { settings: { right: true } as never }).has("right/image_rect")).toBe(false);
  const registration = { camera: "right", width: WIDTH, height: HEIGHT };
  const registered = record(
    makeFrame(GREY, {
      slot: {
        ...slot,
        registered: Uint16Array.from({ length: WIDTH * HEIGHT }, (_, i) => 500 + i),
        registeredConfidence: Uint8Array.from({ length: WIDTH * HEIGHT }, (_, i) => 255 - i),
      },
      encodings: { registration },
    } as never),
    { settings: { registered: true } as never, camera: "right" },
  );
  const other = { frameId: "right_rectified", width: WIDTH, height: HEIGHT, stampNs: LEFT_NS };
  expect(readRosImage(registered.get("registered/right/confidence")!.data)).toMatchObject({
    ...other,
    encoding: "mono8",
    step: WIDTH,
    data: Uint8Array.from({ length: WIDTH * HEIGHT }, (_, i) => 255 - i),
  });
  expect(readRosImage(registered.get("registered/right/image")!.data)).toMatchObject({
    ...other,
    encoding: "16UC1",
    step: 2 * WIDTH,
    data: new Uint8Array(Uint16Array.from({ length: WIDTH * HEIGHT }, (_, i) => 500 + i).buffer),
  });
  expect(readRosCameraInfo(registered.get("registered/right/camera_info")!.data)).toMatchObject({
    p: [FX, 0, RIGHT_CX, -FX * BASELINE, 0, FY, CY, 0, 0, 0, 1, 0],
  });
  const { data, fields, ...cloud } = readRosPoints(messages.get("points")!.data);
  expect(cloud).toEqual({
    width: WIDTH,
    height: HEIGHT,
    stampNs: LEFT_NS,
    frameId: "left_rectified",
    isBigEndian: 0,
    pointStep: 16,
    rowStep: 16 * WIDTH,
    isDense: 0,
  });
  expect(fields.map(({ name, offset }) => [name, offset])).toEqual(
    ["x", "y", "z", "rgb"].map((name, i) => [name, 4 * i]),
  );
  expect(data).toEqual(slot.points);
});

const CAMERAS = ["/rig/left/camera_info", "/rig/right/camera_info"];
const EVERYTHING = {
  inputs: true,
  left: true,
  leftColours: false,
  right: true,
  depth: "compressedDepth",
  disparity: true,
  confidence: true,
  registered: true,
  points: true,
};

test.each<[object, object, string[]]>([
  [{}, { rig: undefined }, ["/rig/energy"]],
  [{}, {}, [...CAMERAS, "/rig/depth/camera_info", "/tf", "/rig/energy"]],
  [
    EVERYTHING,
    { camera: "right" },
    [
      ...["/rig/left/image_raw", "/rig/right/image_raw", "/rig/left/image_rect", "/rig/right/image_rect"],
      ...["/rig/depth/image_rect/compressedDepth", "/rig/disparity/image_rect", "/rig/confidence/image_rect"],
      ...["image", "confidence", "camera_info"].map((leaf) => `/rig/registered/right/${leaf}`),
      ...["/rig/points", ...CAMERAS, "/rig/depth/camera_info", "/tf", "/rig/energy"],
    ],
  ],
  // Without depth disparity is always recorded, and what needs depth is not.
  [
    { depth: "image", points: true, registered: true },
    { hasDepth: false, camera: "right" },
    ["/rig/disparity/image_rect", ...CAMERAS, "/tf", "/rig/energy"],
  ],
  [{ depth: "image", registered: true }, { rig: undefined }, ["/rig/depth/image_rect", "/rig/energy"]],
])("a recording with the settings %j and %j has the channels %j", (settings, changes, topics) => {
  const channels = frameChannels(context({ settings: settings as never, ...changes }));
  expect(channels.map(({ topic }) => topic)).toEqual(topics);
});

test("compressed depth is as long as the engine says, and left is grey unless colours are asked for", () => {
  const frame = makeFrame(GREY, {
    encodings: { leftRgb: true } as never,
    result: { encodedDepthBytes: 4 } as never,
  });
  const encodedDepth = Uint8Array.of(1, 2, 3, 4, 5, 6);
  const messages = record({ ...frame, slot: { ...frame.slot, encodedDepth } } as never, {
    settings: { left: true, depth: "compressedDepth" } as never,
  });
  const { data, ...rest } = readRosCompressedImage(messages.get("depth/image_rect/compressedDepth")!.data);
  expect(rest).toMatchObject({
    stampNs: LEFT_NS,
    frameId: "left_rectified",
    format: "16UC1; compressedDepth rvl",
  });
  expect([...data]).toEqual([...Array(12).fill(0), WIDTH, 0, 0, 0, HEIGHT, 0, 0, 0, 1, 2, 3, 4]);
  expect(readRosImage(messages.get("left/image_rect")!.data)).toMatchObject({
    encoding: "mono8",
    step: WIDTH,
    data: frame.slot.left,
  });
});

const LIVE = {
  enabled: true,
  image: true,
  compressedDepth: "rvl",
  points: true,
  confidence: true,
  cameraInfo: true,
  right: true,
  frameId: "first",
  rateHz: "max",
};

/** Opens the output at a broker that keeps each topic's messages. */
async function openLive(settings: object, usedRig: Rig | undefined = rig) {
  const payloads = new Map<string, Uint8Array[]>();
  const broker = await startScriptedBroker((packet, session) => {
    session.answer(packet);
    if (packet.type !== PUBLISH) return;
    const name = packet.topic.replace(/^.*\/ros\//, "");
    const body = packet.bytes.subarray(packet.bytes.length - packet.payloadBytes);
    payloads.set(name, [...(payloads.get(name) ?? []), Uint8Array.from(body)]);
  });
  cleanups.push(() => broker.close());
  const picture = {
    width: WIDTH,
    height: HEIGHT,
    hasDepth: true,
    rig: usedRig,
    input: context().input,
    rateHz: 30,
  };
  const ros = await openRos({
    ...picture,
    settings,
    base: "depthwatt",
    device: "rig",
    notice: () => {},
    broker: () => ({ url: broker.url, embedded: false, protocolVersion: 5 }),
  } as never);
  cleanups.push(() => ros.close());
  await ros.ready;
  const send = (frame: ComputedFrame) => {
    let released = false;
    const release = () => {
      released = true;
    };
    ros.frame({ frame, number: 1, sent: () => {}, release } as unknown as FrameLease);
    expect(released).toBe(true);
  };
  return { ros, payloads, send, picture };
}

test("the live topics carry the configured frame name, also after it was changed", async () => {
  const { ros, payloads, send, picture } = await openLive(LIVE);
  const encodings = { rightGrey: true, points: { frame: "camera" } } as never;
  send(makeFrame(GREY, { encodings }));
  await until("the first frame", () => payloads.size === ros.streams.length);
  ros.configure!({ ...LIVE, frameId: "second" } as never, picture as never);
  send(makeFrame(GREY, { encodings }));
  await until("the second frame", () => [...payloads.values()].every((messages) => messages.length === 2));
  const frameIds = (message: Uint8Array) => readRosHeader(message).frameId;
  for (const [name, messages] of payloads) {
    const isRight = name.startsWith("right");
    const expected = isRight ? ["right_rectified", "right_rectified"] : ["first", "second"];
    expect(messages.map(frameIds), name).toEqual(expected);
  }
  expect(readRosImage(payloads.get("right")![0]!)).toMatchObject({
    encoding: "mono8",
    data: makeFrame(GREY).slot.right,
  });
  expect(readRosCameraInfo(payloads.get("right/camera_info")![0]!)).toMatchObject({
    k: [FX, 0, RIGHT_CX, 0, FY, CY, 0, 0, 1],
    p: [FX, 0, RIGHT_CX, -FX * BASELINE, 0, FY, CY, 0, 0, 0, 1, 0],
  });
  expect(readRosCameraInfo(payloads.get("camera_info")![1]!)).toMatchObject({
    width: WIDTH,
    height: HEIGHT,
    stampNs: LEFT_NS,
    k: [FX, 0, CX, 0, FY, CY, 0, 0, 1],
    p: [FX, 0, CX, 0, 0, FY, CY, 0, 0, 0, 1, 0],
  });
  expect(ros.counters().details).toMatchObject({
    sentByTopic: Object.fromEntries(ros.streams.map((name) => [name, 2])),
  });
});

/** Only these topics. */
const NONE = { enabled: true, compressedDepth: "off", frameId: "first", rateHz: "max" };

test.each([
  ["camera", "first"],
  ["robot", "stereo_head"],
])(
  "live voxels of the frame %s are the middles of the listed cubes, as a dense cloud in %s",
  async (axes, frameId) => {
    const { payloads, send } = await openLive({ ...NONE, voxels: true });
    const encodings = { voxels: { frame: axes, sizeMillimetres: 100 } } as never;
    // x, y, z and level; the places behind the listed voxels are another frame's.
    const list = [10, -1, 20, 0, -3, 0, 5, 2, 7, 7, 7, 7];
    const voxels = Int16Array.of(2, 0, 0, 0, ...list);
    send(makeFrame(GREY));
    const frame = makeFrame(GREY, { encodings });
    send({ ...frame, slot: { ...frame.slot, voxels } });
    await until("the voxels", () => payloads.size > 0);
    expect([...payloads].map(([name, messages]) => [name, messages.length])).toEqual([["voxels", 1]]);
    const { data, fields, ...cloud } = readRosPoints(payloads.get("voxels")![0]!);
    expect(cloud).toEqual({
      width: 2,
      height: 1,
      stampNs: LEFT_NS,
      frameId,
      isBigEndian: 0,
      pointStep: 12,
      rowStep: 24,
      isDense: 1,
    });
    expect(fields).toEqual(["x", "y", "z"].map((name, i) => ({ name, offset: 4 * i, type: 7, count: 1 })));
    const middles = [...new Float32Array(data.slice().buffer)];
    // Cubes of 0.1 m, and of 0.4 m at level 2.
    const expected = [1.05, -0.05, 2.05, -1, 0.2, 2.2];
    for (const [at, value] of middles.entries()) expect(value).toBeCloseTo(expected[at]!, 6);
    expect(middles).toHaveLength(6);
  },
);

test("live registered depth is in the other camera's frame and size, with its lens and confidence", async () => {
  const [width, height] = [5, 3];
  const K = [201, 0, 2.2, 0, 202, 1.1, 0, 0, 1];
  const distortion = { model: "plumb_bob", coefficients: [0.1, 0.2, 0.3, 0.4, 0.5] };
  const colour = {
    name: "colour",
    K,
    distortion,
    imageSize: { width, height },
    R: TURNED,
    T: [0.02, 0.03, 0.04],
  };
  const calibration = { ...CALIBRATION, others: [colour] } as never;
  const { payloads, send } = await openLive(
    { ...NONE, registered: true, cameraInfo: true },
    { ...rig!, calibration },
  );
  const frame = makeFrame(GREY, {
    encodings: { registration: { camera: "colour", width, height } },
  } as never);
  const registered = Uint16Array.from({ length: width * height }, (_, i) => 3000 + i);
  const registeredConfidence = Uint8Array.from({ length: width * height }, (_, i) => 60 + i);
  send({ ...frame, slot: { ...frame.slot, registered, registeredConfidence } });
  const topic = "registered/colour";
  await until("the camera", () => payloads.has(`${topic}/camera_info`));
  const head = { stampNs: LEFT_NS, frameId: "colour", width, height };
  expect(readRosImage(payloads.get(topic)![0]!)).toEqual({
    ...head,
    encoding: "16UC1",
    step: 2 * width,
    isBigEndian: 0,
    data: new Uint8Array(registered.buffer),
  });
  expect(readRosImage(payloads.get(`${topic}/confidence`)![0]!)).toMatchObject({
    ...head,
    encoding: "mono8",
    data: registeredConfidence,
  });
  expect(readRosCameraInfo(payloads.get(`${topic}/camera_info`)![0]!)).toMatchObject({
    ...head,
    distortionModel: "plumb_bob",
    d: distortion.coefficients,
    k: K,
    r: [1, 0, 0, 0, 1, 0, 0, 0, 1],
    p: [201, 0, 2.2, 0, 0, 202, 1.1, 0, 0, 0, 1, 0],
  });
});

const ALL = { ...LIVE, voxels: true, registered: true };
test.each<[object, object, string[]]>([
  [
    ALL,
    {},
    [
      ...["depth", "compressedDepth", "points", "voxels", "confidence"],
      ...["camera_info", "registered", "right", "right/camera_info"],
    ],
  ],
  [
    { ...ALL, cameraInfo: false, compressedDepth: "off" },
    {},
    ["depth", "points", "voxels", "confidence", "registered", "right"],
  ],
  [NONE, {}, []],
  [ALL, { hasDepth: false }, []],
])("the streams of %j with %j are %j", async (settings, picture, streams) => {
  const { ros, picture: whole } = await openLive(settings);
  ros.configure!(settings as never, { ...whole, ...picture } as never);
  expect(ros.streams).toEqual(streams);
});

test("RVL is as long as the engine says, and a PNG is made of one frame at a time, which is held meanwhile", async () => {
  const settings = { ...NONE, compressedDepth: "rvl", confidence: true };
  const { ros, payloads, send, picture } = await openLive(settings, undefined);
  const frame = makeFrame(GREY);
  const encodedDepth = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8);
  send({ ...frame, slot: { ...frame.slot, encodedDepth }, result: { encodedDepthBytes: 4 } } as never);
  await until("the frame", () => payloads.size === 2);
  const rvl = readRosCompressedImage(payloads.get("compressedDepth")![0]!);
  expect(rvl).toMatchObject({ stampNs: LEFT_NS, frameId: "first", format: "16UC1; compressedDepth rvl" });
  expect([...rvl.data]).toEqual([...Array(12).fill(0), WIDTH, 0, 0, 0, HEIGHT, 0, 0, 0, 1, 2, 3, 4]);
  const confidence = readRosImage(payloads.get("confidence")![0]!);
  expect(confidence).toMatchObject({ encoding: "mono8", step: WIDTH, data: frame.slot.confidence });

  ros.configure!({ ...NONE, compressedDepth: "png" } as never, picture as never);
  const lend = () => {
    const lease = { sent: 0, released: 0 };
    const count = { sent: () => lease.sent++, release: () => lease.released++ };
    ros.frame({ frame, number: 1, ...count } as unknown as FrameLease);
    return lease;
  };
  const [first, second] = [lend(), lend()];
  expect([first, second]).toEqual([
    { sent: 0, released: 0 },
    { sent: 0, released: 1 },
  ]);
  await until("the PNG", () => first.released === 1 && payloads.get("compressedDepth")!.length === 2);
  const { format, data } = readRosCompressedImage(payloads.get("compressedDepth")![1]!);
  expect([format, ...data.subarray(0, 12)]).toEqual(["16UC1; compressedDepth png", ...Array(12).fill(0)]);
  const size = { width: WIDTH, height: HEIGHT, depth: 16 };
  expect(decodePng(data.slice(12), size)).toEqual(frame.slot.depthMillimetres);
  await until("all are counted", () => ros.counters().sent === 3);
  const bytes = [...payloads.values()].flat().reduce((sum, { length }) => sum + length, 0);
  expect(ros.counters()).toEqual({
    sent: 3,
    bytes,
    drops: { "compressedDepth.encoderBusy": 1 },
    details: { connected: true, sentByTopic: { compressedDepth: 2, confidence: 1 } },
  });
  expect([first.sent, second.sent]).toEqual([1, 0]);
  const third = lend();
  await until("the next one", () => third.released === 1);
});

test("of three frames at once two are on their way and one is dropped, and none is sent after the end", async () => {
  const { ros, payloads, send } = await openLive({ ...NONE, image: true, compressedDepth: "rvl" }, undefined);
  const frame = makeFrame(GREY);
  const packed = (bytes: number) => {
    const encodedDepth = Uint8Array.from({ length: 100 }, (_, i) => i);
    return { ...frame, slot: { ...frame.slot, encodedDepth }, result: { encodedDepthBytes: bytes } } as never;
  };
  for (const bytes of [10, 40, 20]) send(packed(bytes));
  const drops = { "depth.backpressure": 1, "compressedDepth.backpressure": 1 };
  await until("two of each", () => ros.counters().sent === 4);
  expect(ros.counters().drops).toEqual(drops);
  // Memory that comes back is used again, also for a longer message.
  for (const bytes of [30, 100]) send(packed(bytes));
  await until("two more of each", () => [...payloads.values()].flat().length === 8);
  await until("all are counted", () => ros.counters().sent === 8);
  const lengths = payloads.get("compressedDepth")!.map((message) => readRosCompressedImage(message).data);
  // The header of 12 bytes, width and height come before the packed pixels.
  expect(lengths.map((data) => data.length - 20)).toEqual([10, 40, 30, 100]);
  for (const data of lengths) expect([...data.subarray(20)]).toEqual([...Array(data.length - 20).keys()]);
  expect(payloads.get("depth")!.map((message) => [...readRosImage(message).data])).toEqual(
    Array(4).fill([...new Uint8Array(frame.slot.depthMillimetres.buffer)]),
  );
  await ros.close();
  send(packed(10));
  expect(ros.counters()).toMatchObject({
    sent: 8,
    drops: { ...drops, "depth.offline": 1, "compressedDepth.offline": 1 },
    details: { connected: false, sentByTopic: { depth: 4, compressedDepth: 4 } },
  });
});

test("stamps count from 1970, also those of a monotonic clock", async () => {
  const { payloads, send } = await openLive({ ...NONE, image: true }, undefined);
  const leftTimestampNs = process.hrtime.bigint();
  send(makeFrame(GREY, { clock: "monotonic", leftTimestampNs } as never));
  await until("the frame", () => payloads.size > 0);
  const { stampNs } = readRosImage(payloads.get("depth")![0]!);
  expect(Math.abs(Number(stampNs / 1_000_000n) - Date.now())).toBeLessThan(60_000);
});

test("frames of another size or rig have it in their messages", async () => {
  const { ros, payloads, send, picture } = await openLive(
    { ...NONE, image: true, cameraInfo: true },
    undefined,
  );
  const frame = makeFrame(GREY);
  ros.configure!(
    { ...NONE, image: true, cameraInfo: true } as never,
    { ...picture, rig: undefined } as never,
  );
  const sized = (width: number, height: number) => {
    const depthMillimetres = Uint16Array.from({ length: width * height }, (_, i) => i);
    send({ ...frame, width, height, slot: { ...frame.slot, depthMillimetres } } as never);
  };
  const sizes: [number, number][] = [
    [8, 4],
    [8, 2],
    [4, 2],
  ];
  for (const [at, [width, height]] of sizes.entries()) {
    sized(width, height);
    await until("the frame", () => payloads.get("depth")?.length === at + 1);
  }
  const shapes = payloads.get("depth")!.map((message) => readRosImage(message));
  expect(shapes.map(({ width, height, step, data }) => [width, height, step, data.length])).toEqual(
    sizes.map(([width, height]) => [width, height, 2 * width, 2 * width * height]),
  );
  // Without a rig nothing is known of the camera.
  expect([...payloads.keys()]).toEqual(["depth"]);
  ros.configure!({ ...NONE, cameraInfo: true } as never, { ...picture, rig } as never);
  sized(8, 4);
  await until("the camera", () => payloads.has("camera_info"));
  expect(payloads.get("depth")).toHaveLength(3);
});
