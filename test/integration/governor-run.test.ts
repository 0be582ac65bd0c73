// SPDX-License-Identifier: Apache-2.0
// Tests the messages of a governor that gives up half resolution: frames keep their size, camera_info does not change,
// info has the current computation, metrics the reason.
import { connectAsync } from "mqtt";
import { expect, test } from "vitest";
import { until } from "../doubles/frames.js";
import { startMosquitto } from "../doubles/mosquitto.js";
import { needs } from "../doubles/needs.js";
import { startProgram } from "../doubles/program.js";

interface Info {
  width: number;
  height: number;
  parameters: { match: { paths: number; numDisparities: number; halfResolution: boolean } };
}

needs("mosquitto").suite("a governed run against Mosquitto", () => {
  test("a level of half resolution is reported, and nothing that is published changes its size", async () => {
    const broker = await startMosquitto();
    const client = await connectAsync(broker.url);
    const seen = new Map<string, Buffer[]>();
    client.on("message", (topic, payload) => {
      const name = topic.split("/").at(-1)!;
      seen.set(name, [...(seen.get(name) ?? []), payload]);
    });
    await client.subscribeAsync("depthwatt/bench/#");
    const set = [
      "source.synthetic.width=192",
      "source.synthetic.height=128",
      "match.numDisparities=64",
      "match.sgm.paths=8",
      // Without a sensor the governor goes, after five seconds, to the last level: half resolution is one of its steps.
      "power.budgetWatts=5",
      "power.minFps=6",
      "power.sensor=none",
      "outputs.metricsIntervalMs=300",
    ].flatMap((item) => ["--set", item]);
    const words = [
      "run",
      "--source",
      "synthetic",
      "--rate",
      "12",
      "--broker",
      broker.url,
      "--device",
      "bench",
    ];
    const running = startProgram([...words, "--backend", "cpu", ...set]);
    const infos = () => (seen.get("info") ?? []).map((payload) => JSON.parse(payload.toString()) as Info);
    try {
      await until("info of the new level", () => infos().length >= 2, 60_000);
      const before = seen.get("depth")!.length;
      await until("frames of the new level", () => seen.get("depth")!.length > before + 4, 30_000);
      await until(
        "metrics of the new level",
        () => String(seen.get("metrics")?.at(-1)).includes("half"),
        30_000,
      );
      const [first, second] = infos() as [Info, Info];
      expect(first.parameters.match).toMatchObject({ paths: 8, numDisparities: 64, halfResolution: false });
      expect(second.parameters.match).toMatchObject({ paths: 4, numDisparities: 32, halfResolution: true });
      expect([second.width, second.height]).toEqual([first.width, first.height]);
      expect(new Set(seen.get("camera_info")!.map(String)).size).toBe(1);
      // Offsets 16 and 20 of the header: width and height (docs/reference/frames.md).
      const sizes = seen.get("depth")!.map((frame) => `${frame.readUInt32LE(16)}x${frame.readUInt32LE(20)}`);
      expect(new Set(sizes)).toEqual(new Set([`${first.width}x${first.height}`]));
      const { governor } = JSON.parse(String(seen.get("metrics")!.at(-1)));
      expect(governor).toMatchObject({ available: true, changes: 1 });
      expect(governor.name).toContain("half resolution");
      expect(governor.reason).toContain("watts are unavailable");
    } finally {
      running.child.kill("SIGTERM");
      await running.ended;
      await client.endAsync();
      await broker.stop();
    }
  });
});
