// SPDX-License-Identifier: Apache-2.0
// ROS messages against Fast CDR, which ROS 2 writes with, and against OpenCV; and those of a run at Mosquitto, whose pixels are
// the ones of the depth topic.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import mqtt from "mqtt";
import { afterEach, expect, test } from "vitest";
import { encodePng } from "../../camera/index.js";
import { connectConsumer } from "../../clients/javascript/src/index.js";
import { decodePng } from "../../clients/javascript/src/png.js";
import { decodeRvl } from "../../core/frame/rvl.js";
import { packageRoot } from "../../core/index.js";
import { laserScanMessage, occupancyGridMessage } from "../../edge/mcap/floor-messages.js";
import { parseCompressedImage } from "../../edge/mcap/images.js";
import {
  cameraInfoMessage,
  compressedDepthPngPrefix,
  compressedDepthPrefix,
  imagePrefix,
  pointCloudPrefix,
  writeImage,
  writePointCloud,
} from "../../edge/mcap/messages.js";
import type { RunFigures } from "../../edge/run/figures.js";
import { sleep, until } from "../doubles/frames.js";
import { startMosquitto } from "../doubles/mosquitto.js";
import { needs, PYTHON } from "../doubles/needs.js";
import { lastJson, startProgram } from "../doubles/program.js";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
function temporary(): string {
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-ros-"));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const STAMP = 1_700_000_000_123_456_789n;

needs("fastcdr", "toolchain").suite("against Fast CDR", () => {
  test("Image, CompressedImage, CameraInfo, PointCloud2, OccupancyGrid and LaserScan are the same bytes", () => {
    const program = join(temporary(), "fast_cdr");
    const source = join(packageRoot(), "test/doubles/readers/fast_cdr.cc");
    execFileSync("g++", ["-std=c++17", "-O1", source, "-lfastcdr", "-o", program]);
    const [image, compressed, png, camera, cloud, grid, scan] = execFileSync(program, { encoding: "utf8" })
      .trim()
      .split("\n");

    const layout = { frameId: "left_rectified", width: 3, height: 2, encoding: "16UC1", strideBytes: 6 };
    const written = (prefix: Uint8Array, behind: number, body: Uint8Array) => {
      const message = new Uint8Array(prefix.length + body.length);
      writeImage(message, 0, prefix, prefix.length - behind, STAMP, body);
      return Buffer.from(message).toString("hex");
    };
    const pixels = Uint8Array.of(1, 0, 2, 0, 255, 255, 0, 0, 7, 0, 9, 1);
    expect(written(imagePrefix(layout), 4, pixels)).toBe(image);
    expect(written(compressedDepthPrefix(layout), 24, Uint8Array.of(0, 1, 2, 3, 4, 5, 6, 7))).toBe(
      compressed,
    );
    const file = Uint8Array.of(0x89, 0x8a, 0x8b, 0x8c, 0x8d, 0x8e, 0x8f);
    expect(written(compressedDepthPngPrefix(layout), 16, file)).toBe(png);
    const facts = {
      width: 3,
      height: 2,
      distortionModel: "plumb_bob",
      d: [0, 0, 0, 0, 0],
      k: [500.5, 0, 1.5, 0, 500.5, 0.5, 0, 0, 1],
      r: [1, 0, 0, 0, 1, 0, 0, 0, 1],
      p: [500.5, 0, 1.5, 0, 0, 500.5, 0.5, 0, 0, 0, 1, 0],
    };
    expect(Buffer.from(cameraInfoMessage(facts, "cam", STAMP)).toString("hex")).toBe(camera);

    const points = new Uint8Array(32);
    new Float32Array(points.buffer).set([0.5, -0.25, 2, 0, NaN, NaN, NaN, 0]);
    points.set([1, 2, 3, 255], 12);
    points.set([9, 8, 7, 255], 28);
    const head = pointCloudPrefix({ frameId: "stereo_head", width: 2, height: 1 });
    const message = new Uint8Array(head.length + points.length + 1);
    expect(writePointCloud(message, 0, head, STAMP, points)).toBe(message.length);
    expect(Buffer.from(message).toString("hex")).toBe(cloud);

    const floor = { cells: Uint8Array.of(0, 3, 1, 2), side: 2, cellMetres: 0.25 };
    expect(Buffer.from(occupancyGridMessage(floor, STAMP)).toString("hex")).toBe(grid);
    const rays = { angleMin: -0.5, angleMax: 0.5, angleIncrement: 1, ranges: [1.5, null] };
    expect(Buffer.from(laserScanMessage(rays, 5, STAMP)).toString("hex")).toBe(scan);
  });
});

needs("opencv").suite("against OpenCV", () => {
  test("ROS' codec finds our pixels in our PNG message: format, ConfigHeader, imdecode", async () => {
    const folder = temporary();
    const data = Uint16Array.from({ length: 64 * 48 }, (_, i) => (i * 40503) & 0xffff);
    const file = await encodePng({ data, width: 64, height: 48 });
    const prefix = compressedDepthPngPrefix({ frameId: "cam" });
    const message = new Uint8Array(prefix.length + file.length);
    writeImage(message, 0, prefix, prefix.length - 16, STAMP, file);
    writeFileSync(join(folder, "message"), message);
    // As decodeCompressedDepthImage of compressed_depth_image_transport goes about it.
    const code = [
      "import cv2, numpy, struct, sys, zlib",
      "m = open(sys.argv[1], 'rb').read(); at = 12",
      "def sequence():",
      "  global at; at += -(at - 4) % 4; (n,) = struct.unpack_from('<I', m, at); at += 4 + n; return m[at - n : at]",
      "frame, form, data = sequence(), sequence(), sequence()",
      "encoding, transport = form[:-1].decode().split('; ')",
      "kind, a, b = struct.unpack_from('<iff', data)",
      "p = cv2.imdecode(numpy.frombuffer(data[12:], numpy.uint8), cv2.IMREAD_UNCHANGED)",
      "print(frame[:-1].decode(), encoding, transport, kind, a, b, at == len(m), p.dtype, p.shape, zlib.crc32(p.tobytes()))",
    ].join("\n");
    const said = execFileSync(PYTHON, ["-c", code, join(folder, "message")], { encoding: "utf8" });
    const { crc32 } = await import("../../core/frame/crc32.js");
    const sum = crc32(new Uint8Array(data.buffer));
    expect(said.trim()).toBe(`cam 16UC1 compressedDepth png 0 0.0 0.0 True uint16 (48, 64) ${sum}`);
  });
});

needs("mosquitto").suite("a run at Mosquitto", () => {
  test.each(["rvl", "png"] as const)(
    "publishes depth, camera_info, points and compressedDepth %s of each frame",
    async (form) => {
      const broker = await startMosquitto();
      cleanups.push(() => broker.stop());
      const settings = [
        ...["source.synthetic.width=160", "source.synthetic.height=120", "match.numDisparities=32"],
        ...["outputs.viewer.enabled=false", "outputs.ros.enabled=true", "outputs.ros.image=true"],
        `outputs.ros.compressedDepth=${form}`,
        "outputs.ros.points=true",
      ];
      const words = ["run", "--broker", broker.url, "--device", "robot", "--rate", "15"];
      const run = startProgram([...words, ...settings.flatMap((one) => ["--set", one])]);
      cleanups.push(async () => {
        run.child.kill("SIGTERM");
        await run.ended;
      });
      const heard = new Map<string, Map<bigint, Buffer>>();
      const readStamp = (payload: Buffer) =>
        BigInt(payload.readInt32LE(4)) * 1_000_000_000n + BigInt(payload.readUInt32LE(8));
      const client = await mqtt.connectAsync(broker.url);
      cleanups.push(() => client.endAsync(true));
      client.on("message", (topic, payload) => {
        const name = topic.split("/").at(-1)!;
        if (!heard.has(name)) heard.set(name, new Map());
        heard.get(name)!.set(readStamp(payload), payload);
      });
      await client.subscribeAsync("depthwatt/robot/ros/+");
      const consumer = connectConsumer(broker.url, { streams: ["depth"] });
      cleanups.push(() => consumer.close());
      const depths = new Map<number, Uint16Array>();
      // The offset to real time is read again each second: the sequence finds the frame instead.
      const sequences: { ns: bigint; counts: Uint16Array }[] = [];
      consumer.on("frame", ({ header, counts }) => {
        depths.set(header.leftSequence, counts() as Uint16Array);
        sequences.push({
          ns: header.leftTimestampNs + header.realtimeOffsetNs!,
          counts: counts() as Uint16Array,
        });
      });
      const names = ["depth", "compressedDepth", "camera_info", "points"];
      await until("messages", () => names.every((name) => (heard.get(name)?.size ?? 0) >= 8), 30_000);
      let [compared, clouds] = [0, 0];
      for (const [stamp, payload] of heard.get("compressedDepth")!) {
        // The nearest: on a busy machine frames come in bursts.
        const distance = ({ ns }: { ns: bigint }) => Math.abs(Number(ns - stamp));
        const frame = sequences
          .filter((one) => distance(one) < 5_000_000)
          .sort((a, b) => distance(a) - distance(b))[0];
        const image = heard.get("depth")!.get(stamp);
        if (frame === undefined || image === undefined) continue;
        const { format, data } = parseCompressedImage(payload);
        expect(format).toBe(`16UC1; compressedDepth ${form}`);
        const pixels = new Uint16Array(160 * 120);
        if (form === "rvl") decodeRvl(data.subarray(20), pixels);
        else pixels.set(decodePng(data.subarray(12), { width: 160, height: 120, depth: 16 }) as Uint16Array);
        expect(Buffer.from(pixels.buffer).equals(Buffer.from(frame.counts.buffer))).toBe(true);
        expect(image.subarray(-2 * 160 * 120).equals(Buffer.from(pixels.buffer))).toBe(true);
        compared++;
        const cloud = heard.get("points")!.get(stamp);
        if (cloud === undefined) continue;
        // x, y, z, rgb of each pixel stand before the last byte; z is the depth that the picture rounds to millimetres.
        const body = Uint8Array.from(cloud.subarray(cloud.length - 1 - 16 * pixels.length, cloud.length - 1));
        const places = new Float32Array(body.buffer);
        const wrong = [...pixels].filter((millimetres, i) => {
          const z = places[4 * i + 2]!;
          return millimetres === 0 ? z <= 65.535 : !(Math.abs(1000 * z - millimetres) <= 0.51);
        });
        expect(wrong).toEqual([]);
        clouds++;
      }
      expect(clouds).toBeGreaterThan(3);
      expect(compared).toBeGreaterThan(3);
      const [camera] = heard.get("camera_info")!.values();
      expect(camera!.length).toBeGreaterThan(300);
    },
  );

  test("every message of every frame is sent or dropped under a cause, over a broker that dies", async () => {
    const broker = await startMosquitto();
    const settings = [
      ...["outputs.viewer.enabled=false", "outputs.ros.enabled=true", "outputs.ros.image=true"],
      ...["match.numDisparities=32", "source.synthetic.rateHz=30"],
    ];
    const words = ["run", "--json", "--broker", broker.url, "--device", "robot"];
    const run = startProgram([...words, ...settings.flatMap((one) => ["--set", one])]);
    let messages = 0;
    const client = await mqtt.connectAsync(broker.url);
    client.on("error", () => {});
    client.on("message", () => messages++);
    await client.subscribeAsync("depthwatt/robot/ros/depth");
    await until("messages", () => messages > 5, 30_000);
    // Data in a socket that no consumer reads is lost with the socket.
    broker.freeze();
    await sleep(1500);
    await broker.stop("SIGKILL");
    await client.endAsync(true);
    await sleep(500);
    run.child.kill("SIGTERM");
    const figures = lastJson<RunFigures>(await run.ended);
    const { sentByTopic } = figures.outputs.ros as unknown as { sentByTopic: Record<string, number> };
    for (const topic of ["depth", "compressedDepth", "camera_info"]) {
      const own = Object.entries(figures.drops).filter(([cause]) => cause.startsWith(`ros.${topic}.`));
      const dropped = own.reduce((sum, [, count]) => sum + count, 0);
      expect(sentByTopic[topic]! + dropped, `${topic}: ${JSON.stringify(figures.drops)}`).toBe(
        figures.frames,
      );
    }
  });
});
