// SPDX-License-Identifier: Apache-2.0
// ROS messages byte by byte: one by hand, and the bodies of compressedDepth against those of ROS 1's own codec.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { rectify, sceneCalibration } from "../../../camera/index.js";
import { decodePng } from "../../../clients/javascript/src/png.js";
import { encodeRvl, rvlMaxBytes } from "../../../core/frame/rvl.js";
import {
  cameraInfoMessage,
  compressedDepthPngPrefix,
  compressedDepthPrefix,
  imagePrefix,
  pointCloudPrefix,
  registeredCamera,
  writeImage,
  writePointCloud,
} from "../../../edge/mcap/messages.js";

interface Golden {
  name: string;
  width: number;
  height: number;
  pixels: string;
  rvlData: string;
  pngData: string;
}
const golden = JSON.parse(readFileSync(new URL("../../golden/ros.json", import.meta.url), "utf8")) as {
  cases: Golden[];
};
const decodeBase64 = (base64: string) => new Uint8Array(Buffer.from(base64, "base64"));
const hex = (text: string) => text.replace(/\s/g, "");

test("an Image of 2 x 1 pixels, by hand", () => {
  const prefix = imagePrefix({ frameId: "cam", width: 2, height: 1, encoding: "16UC1", strideBytes: 4 });
  const message = new Uint8Array(prefix.length + 4);
  const body = Uint8Array.of(0xe8, 0x03, 0x00, 0x00); // 1000 mm, and no depth
  writeImage(message, 0, prefix, prefix.length - 4, 5_000_000_007n, body);
  expect(Buffer.from(message).toString("hex")).toBe(
    hex(
      `00010000             encapsulation: CDR, little-endian
         05000000 07000000   stamp: 5 s, 7 ns
         04000000 63616d00   frame_id "cam" and its zero
         01000000 02000000   height, width
         06000000 313655433100   encoding "16UC1" and its zero
         00                  is_bigendian
         00                  up to a multiple of four
         04000000            step
         04000000 e8030000   data`.replace(
        / {3,}[a-zA-Z].*$|\b(encapsulation|stamp|frame_id|height|encoding|is_bigendian|up|step|data)\b.*$/gm,
        "",
      ),
    ),
  );
});

test("a PointCloud2 of one point, by hand", () => {
  const prefix = pointCloudPrefix({ frameId: "cam", width: 1, height: 1 });
  const message = new Uint8Array(prefix.length + 17);
  const point = new Uint8Array(Float32Array.of(1, -2, 0.5, 0).buffer);
  point.set([10, 20, 30, 255], 12);
  expect(writePointCloud(message, 0, prefix, 5_000_000_007n, point)).toBe(message.length);
  const field = (name: string, offset: string) => `02000000 ${name}000000 ${offset}000000 07 000000 01000000`;
  expect(Buffer.from(message).toString("hex")).toBe(
    hex(
      [
        "00010000 05000000 07000000 04000000 63616d00", // CDR, 5 s, 7 ns, "cam"
        "01000000 01000000 04000000", // height, width, four fields
        ...[field("78", "00"), field("79", "04"), field("7a", "08")], // x, y, z: FLOAT32 at 0, 4, 8, one each
        "04000000 72676200 0c000000 07 000000 01000000", // rgb at 12
        "00 000000 10000000 10000000 10000000", // little-endian, point_step, row_step, bytes of data
        "0000803f 000000c0 0000003f 0a141eff 00", // 1, -2, 0.5, blue 10, green 20, red 30; not dense
      ].join(""),
    ),
  );
});

test.each(golden.cases)(
  "compressedDepth rvl of $name is what ROS writes, byte for byte",
  ({ width, height, pixels, rvlData }) => {
    const depth = new Uint16Array(decodeBase64(pixels).buffer);
    const body = new Uint8Array(rvlMaxBytes(depth.length));
    const packed = body.subarray(0, encodeRvl(depth, body));
    const prefix = compressedDepthPrefix({
      frameId: "cam",
      width,
      height,
      encoding: "16UC1",
      strideBytes: 2 * width,
    });
    const message = new Uint8Array(prefix.length + packed.length);
    writeImage(message, 0, prefix, prefix.length - 24, 0n, packed);
    const length = new DataView(message.buffer).getUint32(prefix.length - 24, true);
    const data = message.subarray(prefix.length - 20);
    expect(length).toBe(data.length);
    expect(Buffer.from(data).equals(Buffer.from(rvlData, "base64"))).toBe(true);
  },
);

test.each(golden.cases)(
  "compressedDepth png of $name unpacks to its pixels behind a header of zeros",
  ({ width, height, pixels, pngData }) => {
    const data = decodeBase64(pngData);
    const prefix = compressedDepthPngPrefix({ frameId: "cam" });
    expect([...data.subarray(0, 12)]).toEqual([...prefix.subarray(prefix.length - 12)]);
    const depth = decodePng(data.subarray(12), { width, height, depth: 16 });
    expect(Buffer.from((depth as Uint16Array).buffer).equals(Buffer.from(pixels, "base64"))).toBe(true);
  },
);

test("a CameraInfo has its numbers at multiples of eight", () => {
  const camera = {
    width: 3,
    height: 2,
    distortionModel: "plumb_bob",
    d: [0, 0, 0, 0, 0],
    k: [500.5, 0, 1.5, 0, 500.5, 0.5, 0, 0, 1],
    r: [1, 0, 0, 0, 1, 0, 0, 0, 1],
    p: [500.5, 0, 1.5, 0, 0, 500.5, 0.5, 0, 0, 0, 1, 0],
  };
  const message = cameraInfoMessage(camera, "cam", 1_700_000_000_123_456_789n);
  const view = new DataView(message.buffer, message.byteOffset);
  // 4 encapsulation, 8 stamp, 4 + 4 frame_id, 4 height, 4 width, 4 + 10 model, padding to 4, 4 count of d, padding to 8.
  expect(view.getUint32(44, true)).toBe(5);
  expect(view.getFloat64(4 + 48 + 40, true)).toBe(500.5);
  expect(message.length).toBe(4 + 48 + 8 * (5 + 9 + 9 + 12) + 24 + 1);
});

test("the camera that depth is registered into has its own lens, and five zeros without one", () => {
  const rig = sceneCalibration({ width: 64, height: 48, view: "rectified" });
  const camera = (model: "none" | "equidistant", coefficients: number[]) =>
    registeredCamera(
      {
        ...rig,
        others: [
          {
            name: "rgb",
            imageSize: { width: 40, height: 30 },
            K: [31, 0, 20, 0, 32, 14, 0, 0, 1],
            distortion: { model, coefficients },
            R: [1, 0, 0, 0, 1, 0, 0, 0, 1],
            T: [0.05, 0, 0],
          },
        ],
      },
      rectify(rig),
      "rgb",
    );
  const pinhole = {
    width: 40,
    height: 30,
    k: [31, 0, 20, 0, 32, 14, 0, 0, 1],
    r: [1, 0, 0, 0, 1, 0, 0, 0, 1],
    p: [31, 0, 20, 0, 0, 32, 14, 0, 0, 0, 1, 0],
  };
  expect(camera("none", [])).toEqual({ ...pinhole, distortionModel: "plumb_bob", d: [0, 0, 0, 0, 0] });
  expect(camera("equidistant", [0.1, 0.2, 0.3, 0.4])).toEqual({
    ...pinhole,
    distortionModel: "equidistant",
    d: [0.1, 0.2, 0.3, 0.4],
  });
  expect(registeredCamera(rig, rectify(rig), "rgb")).toBeUndefined();
});

test("the configuration of mqtt_client in the manual names the published topics", () => {
  const page = readFileSync(new URL("../../../docs/guides/ros.md", import.meta.url), "utf8");
  const [, block = ""] = /```yaml\n([\s\S]*?)```/.exec(page) ?? [];
  const { mqtt2ros } = parse(block)["/**/*"].ros__parameters.bridge;
  const types: Record<string, string> = {
    compressedDepth: "sensor_msgs/msg/CompressedImage",
    camera_info: "sensor_msgs/msg/CameraInfo",
    depth: "sensor_msgs/msg/Image",
    confidence: "sensor_msgs/msg/Image",
    points: "sensor_msgs/msg/PointCloud2",
  };
  expect(mqtt2ros.mqtt_topics.length).toBeGreaterThan(0);
  for (const topic of mqtt2ros.mqtt_topics as string[]) {
    const [, leaf = ""] = /^depthwatt\/robot-1\/ros\/(\w+)$/.exec(topic) ?? [];
    expect(mqtt2ros[topic].ros_type).toBe(types[leaf]);
  }
});
