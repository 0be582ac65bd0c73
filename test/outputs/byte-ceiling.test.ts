// SPDX-License-Identifier: Apache-2.0
// The ceiling of cloud brokers: a run whose pictures are larger than 128 KB at a Mosquitto that takes no more. What fits by half
// or by a quarter arrives and reports it, to all three readers; what does not is counted.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import mqtt from "mqtt";
import { afterEach, expect, test } from "vitest";
import { parseFrame } from "../../core/frame/payload.js";
import { packageRoot } from "../../core/index.js";
import { until } from "../doubles/frames.js";
import { startMosquitto } from "../doubles/mosquitto.js";
import { needs, PYTHON } from "../doubles/needs.js";
import { startProgram } from "../doubles/program.js";
import { joined, verdict } from "../doubles/readers/corpus.js";

const CEILING = 131_072;
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

needs("mosquitto", "numpy", "paho", "toolchain").suite("a broker that takes 128 KB", () => {
  test.each(["the broker reports it", "maxPayloadBytes reports it"])("where %s", async (who) => {
    const own = who.startsWith("max");
    // A kilobyte of the broker's limit is reserved for topic and properties.
    const limit = own ? [] : [`max_packet_size ${CEILING + 1024}`];
    const broker = await startMosquitto({ settings: ["allow_anonymous true", ...limit] });
    cleanups.push(() => broker.stop());
    const streams = ["depth", "disparity", "left", "points", "confidence"];
    const settings = [
      ...["source.synthetic.width=640", "source.synthetic.height=480", "match.numDisparities=64"],
      ...["outputs.viewer.enabled=false", "outputs.metricsIntervalMs=500"],
      ...streams.map((stream) => `outputs.mqtt.${stream}.enabled=true`),
      // Confidence stays as it is: 307 KB, not subsampled.
      ...streams.slice(0, 4).map((stream) => `outputs.mqtt.${stream}.reduceToFit=true`),
      "outputs.mqtt.disparity.encoding=png",
      ...(own ? [`outputs.mqtt.maxPayloadBytes=${CEILING}`] : []),
    ];
    const words = ["run", "--broker", broker.url, "--device", "robot", "--rate", "4"];
    const run = startProgram([...words, ...settings.flatMap((one) => ["--set", one])]);
    cleanups.push(async () => {
      run.child.kill("SIGTERM");
      await run.ended;
    });
    const heard = new Map<string, Uint8Array[]>();
    let metrics:
      | { outputs: { mqtt: { reduced?: Record<string, number> } }; drops: Record<string, number> }
      | undefined;
    const client = await mqtt.connectAsync(broker.url);
    cleanups.push(() => client.endAsync(true));
    client.on("message", (topic, payload) => {
      const leaf = topic.split("/").at(-1)!;
      if (leaf === "metrics") metrics = JSON.parse(payload.toString());
      else if (streams.includes(leaf)) heard.set(leaf, [...(heard.get(leaf) ?? []), new Uint8Array(payload)]);
    });
    await client.subscribeAsync("depthwatt/robot/+");
    const enough = () => ["depth", "disparity", "left"].every((name) => (heard.get(name)?.length ?? 0) >= 3);
    const counts = () => Object.keys(metrics?.outputs.mqtt.reduced ?? {}).length === 3;
    await until("pictures and their counts", () => enough() && counts(), 60_000);
    const counted = metrics!.outputs.mqtt.reduced!;
    for (const stream of ["depth", "disparity", "left"]) {
      expect(counted[`${stream}.2`], stream).toBeGreaterThan(0);
      for (const message of heard.get(stream)!) {
        expect(message.length).toBeLessThanOrEqual(CEILING);
        const { header } = parseFrame(message);
        expect([header.width, header.height, header.reduction]).toEqual([320, 240, 2]);
      }
    }
    // 16 bytes a pixel are 307 KB even by a quarter, and confidence was not to be reduced.
    expect(heard.has("points") || heard.has("confidence")).toBe(false);
    await until("drops", () => (metrics!.drops["mqtt.points.oversize"] ?? 0) > 0, 10_000);
    expect(metrics!.drops["mqtt.confidence.oversize"]).toBeGreaterThan(0);

    const folder = mkdtempSync(join(tmpdir(), "depthwatt-ceiling-"));
    cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
    const messages = ["depth", "disparity", "left"].map((stream) => heard.get(stream)![0]!);
    const file = join(folder, "messages");
    writeFileSync(file, joined(messages));
    const expected = messages.map((message) => verdict(message).text);
    expect(expected.every((text) => /^ok 320 240 \d+ 2 /.test(text))).toBe(true);
    const root = packageRoot();
    const python = spawnSync(PYTHON, ["test/doubles/readers/read_frames.py", "clients/python", file], {
      cwd: root,
      encoding: "utf8",
      env: { ...process.env, XDG_CACHE_HOME: folder },
    });
    expect(python.stdout.trim().split("\n").slice(1), python.stderr).toEqual(expected);
    const program = join(folder, "read");
    execFileSync("g++", ["-std=c++17", "-O1", "test/doubles/readers/read_frames.cc", "-o", program], {
      cwd: root,
    });
    const cpp = execFileSync(program, [file], { encoding: "utf8" }).trim().split("\n");
    expect(cpp).toEqual([expected[0], "unsupported", expected[2]]);
  });
});
