// SPDX-License-Identifier: Apache-2.0
// Compares derived measurements at Mosquitto with the depth frames of the same capture; zones change during the run.
import { execFileSync } from "node:child_process";
import mqtt from "mqtt";
import { afterEach, expect, test } from "vitest";
import { connectConsumer } from "../../clients/javascript/src/index.js";
import { until } from "../doubles/frames.js";
import { startMosquitto } from "../doubles/mosquitto.js";
import { needs } from "../doubles/needs.js";
import { startProgram } from "../doubles/program.js";
import {
  readRosGrid,
  readRosHeader,
  readRosPoints,
  readRosScan,
  readRosTransforms,
} from "../doubles/ros-reader.js";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

interface Derived {
  leftTimestampNs: string;
  zones: Record<string, { nearestMetres: number; matchedShare: number }>;
  scan: { angleMin: number; angleMax: number; angleIncrement: number; ranges: (number | null)[] };
  matchedShare: number;
  validShare: number;
  plane: { rmsPixels: number };
  temporalNoisePixels: number | { available: false };
}

/** Reads the packed grid as another program would, by its documented layout. */
const UNPACK = `
import struct, sys
for line in sys.stdin:
    data = bytes.fromhex(line)
    magic, version, clock, head, stamp, ahead, left, cell = struct.unpack_from("<4sBBHQHHf", data)
    assert (magic, version, clock, head) == (b"DWGR", 1, 1, 32), data[:8]
    cells = [data[head + i // 4] >> 2 * (i % 4) & 3 for i in range(ahead * left)]
    rows = ["".join("?.#v"[c] for c in reversed(cells[left * r : left * (r + 1)])) for r in range(ahead)]
    print(stamp, round(cell, 6), "/".join(reversed(rows)))
`;

/** The grid as bytes and as ROS messages shows the rows of the JSON. */
function expectGridBodies(grids: Map<string, unknown>, bodies: Map<string, Buffer[]>): void {
  const rowsAt = (stamp: string) => (grids.get(stamp) as { grid: { rows: string[] } } | undefined)?.grid.rows;
  const input = `${bodies
    .get("cells")!
    .map((body) => body.toString("hex"))
    .join("\n")}\n`;
  const lines = execFileSync("python3", ["-c", UNPACK], { input, encoding: "utf8" }).trim().split("\n");
  expect(lines.length).toBeGreaterThan(0);
  for (const line of lines) {
    const [stamp, cellMetres, rows] = line.split(" ");
    const expected = rowsAt(stamp!);
    if (expected === undefined) continue;
    expect([cellMetres, rows]).toEqual(["0.05", expected.join("/")]);
  }
  // ROS stamps are of the real-time clock. A frame that came late is close to the next one: such a pair is not compared.
  const offsetNs = BigInt(Date.now()) * 1_000_000n - process.hrtime.bigint();
  const near = (stampNs: bigint) => {
    const within = (ns: number) =>
      [...grids.keys()].filter((stamp) => Math.abs(Number(BigInt(stamp) + offsetNs - stampNs)) < ns);
    return within(30e6).length === 1 ? within(15e6)[0] : undefined;
  };
  let compared = 0;
  for (const body of bodies.get("ros/grid")!) {
    const grid = readRosGrid(body);
    const stamp = near(grid.stampNs);
    const sameFrame = (topic: string) =>
      bodies.get(topic)!.find((other) => readRosHeader(other).stampNs === grid.stampNs);
    const [scanBody, cloudBody] = [sameFrame("ros/grid_scan"), sameFrame("ros/obstacles")];
    // The bodies of the last frame may still be on their way.
    if (stamp === undefined || scanBody === undefined || cloudBody === undefined) continue;
    compared++;
    expect(grid).toMatchObject({ frameId: "stereo_floor", width: 100, height: 100 });
    expect(grid.resolution).toBeCloseTo(0.05, 6);
    expect(grid.origin.map((value) => Number(value.toFixed(6)))).toEqual([0, -2.5, 0, 0, 0, 0, 1]);
    const rows = rowsAt(stamp)!;
    // x is ahead: the rows from the last to the first; y is left: their signs from the last to the first.
    const value: Record<string, number> = { "?": -1, ".": 0, "#": 100, v: 100 };
    const expected = Array.from({ length: 100 * 100 }, (_, at) => {
      const [y, x] = [Math.floor(at / 100), at % 100];
      return value[rows[99 - x]![99 - y]!];
    });
    expect([...grid.data]).toEqual(expected);
    const json = grids.get(stamp) as { grid: { scan: { angleMin: number; ranges: (number | null)[] } } };
    const scan = readRosScan(scanBody);
    expect(scan).toMatchObject({ frameId: "stereo_floor", rangeMin: 0, rangeMax: 5 });
    expect(scan.angleMin).toBeCloseTo(json.grid.scan.angleMin, 5);
    expect([...scan.ranges].map((range) => (Number.isNaN(range) ? null : Number(range.toFixed(3))))).toEqual(
      json.grid.scan.ranges,
    );
    const cloud = readRosPoints(cloudBody);
    const points = new Float32Array(cloud.data.slice().buffer);
    expect(cloud.fields.map(({ name }) => name)).toEqual(["x", "y", "z", "class"]);
    expect(cloud.width).toBe(expected.filter((cell) => cell === 100).length);
    for (let point = 0; point < cloud.width; point++) {
      const [x, y, z, kind] = points.subarray(4 * point, 4 * point + 4);
      const sign = rows[99 - Math.floor(x! / 0.05)]![99 - Math.floor((y! + 2.5) / 0.05)];
      expect([sign, z]).toEqual([kind === 3 ? "v" : "#", 0]);
    }
  }
  expect(compared).toBeGreaterThan(0);
  // The cameras are 1.3 m above the floor and look down by 11.31 degrees.
  const [floor] = readRosTransforms(bodies.get("ros/tf")![0]!);
  const pitch = (11.31 / 180) * Math.PI;
  expect(floor).toMatchObject({ frameId: "stereo_head", child: "stereo_floor" });
  const expected = [1.3 * Math.sin(pitch), 0, -1.3 * Math.cos(pitch)];
  for (const [axis, metres] of floor!.translation.entries()) expect(metres).toBeCloseTo(expected[axis]!, 3);
  // Turned about the axis to the left, its x axis points up against that of the cameras.
  const turn = [0, -Math.sin(pitch / 2), 0, Math.cos(pitch / 2)];
  for (const [part, value] of floor!.quaternion.entries()) expect(value).toBeCloseTo(turn[part]!, 3);
}

needs("mosquitto").suite("derived topics", () => {
  test("are those of the frame of the same capture", async () => {
    const broker = await startMosquitto();
    cleanups.push(() => broker.stop());
    const bodies = new Map<string, Buffer[]>();
    const settings = [
      ...["outputs.derived.gridBinary=true", "outputs.derived.gridRos=true"],
      ...["source.synthetic.width=160", "source.synthetic.height=120", "match.numDisparities=32"],
      ...["outputs.viewer.enabled=false", "outputs.derived.enabled=true", "outputs.derived.minPixels=50"],
      ...["outputs.derived.scan=true", "outputs.derived.quality=true", "outputs.derived.scanMinPixels=1"],
      ...["outputs.derived.floor=set", "outputs.derived.floorHeightMetres=1.3", "outputs.derived.grid=true"],
      "outputs.derived.floorTiltDegrees=11.31",
      ...["outputs.derived.rateHz=max", "outputs.mqtt.confidence.enabled=true"],
      "outputs.derived.zones=all 0,0 1,0 1,1 0,1; lower 0,0.5 1,0.5 1,1 0,1",
    ];
    const words = ["run", "--broker", broker.url, "--device", "robot", "--rate", "20"];
    const run = startProgram([...words, ...settings.flatMap((one) => ["--set", one])]);
    cleanups.push(async () => {
      run.child.kill("SIGTERM");
      await run.ended;
    });
    const client = await mqtt.connectAsync(broker.url);
    cleanups.push(() => client.endAsync(true));
    const heard: Record<string, Map<string, Derived>> = {
      zones: new Map(),
      scan: new Map(),
      quality: new Map(),
      floor: new Map(),
      grid: new Map(),
    };
    client.on("message", (topic, payload) => {
      const body = topic.replace("depthwatt/robot/", "");
      if (/^(cells|ros\/.*)$/.test(body)) {
        bodies.set(body, [...(bodies.get(body) ?? []), payload]);
        return;
      }
      const message = JSON.parse(payload.toString()) as Derived;
      heard[topic.split("/").at(-1)!]!.set(message.leftTimestampNs, message);
    });
    await client.subscribeAsync(
      ["zones", "scan", "quality", "floor", "grid", "cells", "ros/+"].map(
        (leaf) => `depthwatt/robot/${leaf}`,
      ),
    );
    const consumer = connectConsumer(broker.url, { streams: ["depth", "confidence"] });
    cleanups.push(() => consumer.close());
    const frames = new Map<string, { depth?: Uint16Array; confidence?: Uint8Array }>();
    let focalPixels = 0;
    let centreX = 0;
    consumer.on("cameraInfo", ({ cameraInfo }) => {
      const { K } = cameraInfo as { K: number[] };
      [focalPixels, centreX] = [K[0]!, K[2]!];
    });
    consumer.on("frame", (frame) => {
      const key = String(frame.header.leftTimestampNs);
      frames.set(key, { ...frames.get(key), [frame.stream]: frame.counts() });
    });
    const whole = () =>
      [...frames].filter(
        ([key, { depth, confidence }]) =>
          depth && confidence && heard.zones!.has(key) && heard.scan!.has(key),
      );
    await until(
      "frames with all that belongs to them",
      () => whole().length >= 10 && focalPixels > 0,
      30_000,
    );
    for (const [key, { depth, confidence }] of whole()) {
      const matched = (from: number) =>
        [...depth!].filter((z, i) => i >= from && z > 0 && confidence![i]! > 0).sort((a, b) => a - b);
      const { zones } = heard.zones!.get(key)!;
      for (const [name, from] of [
        ["all", 0],
        ["lower", 160 * 60],
      ] as const) {
        const depths = matched(from);
        expect(zones[name]!.nearestMetres).toBe(depths[49]! / 1000);
        expect(zones[name]!.matchedShare).toBeCloseTo(depths.length / (160 * 120 - from), 3);
      }
      const { scan } = heard.scan!.get(key)!;
      const nearest = Array<number>(64).fill(Number.POSITIVE_INFINITY);
      for (let y = 48; y < 72; y++)
        for (let x = 0; x < 160; x++) {
          const i = y * 160 + x;
          if (depth![i] === 0 || confidence![i] === 0) continue;
          const angle = Math.atan2(centreX - x, focalPixels);
          const ray = Math.round((angle - scan.angleMin) / scan.angleIncrement);
          nearest[ray] = Math.min(
            nearest[ray]!,
            (depth![i]! / 1000) * Math.hypot(1, (x - centreX) / focalPixels),
          );
        }
      expect(scan.ranges).toHaveLength(64);
      // A column exactly between two rays may fall to either; allow for a few.
      const wrong = scan.ranges.filter((range, ray) =>
        range === null ? Number.isFinite(nearest[ray]!) : Math.abs(range - nearest[ray]!) > 0.002,
      );
      expect(wrong.length).toBeLessThanOrEqual(2);
    }
    // The scene's camera is 1.3 m above the floor and looks down by 11.31 degrees.
    await until("a floor", () => heard.floor!.size > 0 && heard.grid!.size > 0, 10_000);
    const { floor } = [...heard.floor!.values()].at(-1) as unknown as { floor: Record<string, number> };
    expect(floor).toMatchObject({ source: "set", heightMetres: 1.3, pitchDegrees: 11.31 });
    expect(floor.confidence).toBeGreaterThan(0.4);
    const { grid } = [...heard.grid!.values()].at(-1) as unknown as { grid: { rows: string[] } };
    expect(grid.rows).toHaveLength(100);
    expect(grid.rows.join("")).toMatch(/^(?=.*#)(?=.*\.)[?.#v]*$/);
    await until("bodies of the grid", () => bodies.size === 5 && bodies.get("ros/tf")!.length > 2, 10_000);
    expectGridBodies(heard.grid!, bodies);
    await until(
      "noise",
      () => [...heard.quality!.values()].some((q) => typeof q.temporalNoisePixels === "number"),
      20_000,
    );
    const quality = [...heard.quality!.values()].at(-1)!;
    expect(quality.matchedShare).toBeGreaterThan(0.3);
    expect(quality.validShare).toBeGreaterThanOrEqual(quality.matchedShare);
    expect(quality.plane.rmsPixels).toBeGreaterThan(0);
  });

  test("without a broker they are an error at the start", async () => {
    const ran = await startProgram([
      "run",
      "--broker",
      "none",
      "--frames",
      "1",
      "--set",
      "outputs.derived.enabled=true",
    ]).ended;
    expect([ran.code, ran.stderr]).toEqual([
      2,
      expect.stringContaining("expected a broker in outputs.mqtt.broker"),
    ]);
  });
});
