// SPDX-License-Identifier: Apache-2.0
// Compares derived measurements at Mosquitto with the depth frames of the same capture; zones change during the run.
import mqtt from "mqtt";
import { afterEach, expect, test } from "vitest";
import { connectConsumer } from "../../clients/javascript/src/index.js";
import { until } from "../doubles/frames.js";
import { startMosquitto } from "../doubles/mosquitto.js";
import { needs } from "../doubles/needs.js";
import { startProgram } from "../doubles/program.js";

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

needs("mosquitto").suite("derived topics", () => {
  test("are those of the frame of the same capture", async () => {
    const broker = await startMosquitto();
    cleanups.push(() => broker.stop());
    const settings = [
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
      const message = JSON.parse(payload.toString()) as Derived;
      heard[topic.split("/").at(-1)!]!.set(message.leftTimestampNs, message);
    });
    await client.subscribeAsync(
      ["zones", "scan", "quality", "floor", "grid"].map((leaf) => `depthwatt/robot/${leaf}`),
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
