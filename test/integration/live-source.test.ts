// SPDX-License-Identifier: Apache-2.0
// Another source while it runs: of another size, with and without a calibration. One that cannot be opened, or delivers
// nothing, leaves the old one running and says why.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import type { SettingsChange } from "../../edge/config/index.js";
import {
  accountedDepth,
  accountedPairs,
  assignments,
  ControlBench,
  hashes,
} from "../doubles/controlled-run.js";
import { until } from "../doubles/frames.js";
import { needs } from "../doubles/needs.js";

const bench = new ControlBench();
afterEach(() => bench.close());

/** As a change has them: the types of the settings, not their text. */
const asChange = (set: Record<string, string>): SettingsChange => ({
  ...set,
  "source.replay.loop": true,
  "source.replay.rateHz": 60,
});

needs("mosquitto").suite("another source while it runs", () => {
  test.each<[string, 4 | 5]>([
    ["3.1.1", 4],
    ["5", 5],
  ])(
    "MQTT %s: size, camera_info and info follow, results are those of a run that began with it, no pair is lost uncounted",
    async (_, version) => {
      const { url } = await bench.broker();
      const protocol = `outputs.mqtt.protocolVersion=${version}`;
      const run = await bench.run(url, "switching", protocol, "source.synthetic.rateHz=500");
      const client = await bench.client(url, "switching", version);
      const still = await bench.stillScene({ width: 128, height: 80, firstFrame: 7 });
      expect(await client.ask("set", { values: asChange(still) })).toMatchObject({ ok: true });
      await until("info follows", () => client.info.at(-1)?.width === 128, 5000);
      expect(client.info.at(-1)).toMatchObject({ height: 80, source: expect.stringContaining("left") });
      const now = await hashes(client);
      await bench.run(url, "fresh", protocol, ...assignments(still));
      const fresh = await bench.client(url, "fresh", version);
      expect(now).toEqual(await hashes(fresh));
      expect(Object.keys(now)).toContain("depth.png");

      // Without a calibration there is no depth, and camera_info is taken back.
      const cameraInfo: string[] = [];
      client.client.on("message", (topic, payload) => {
        if (topic.endsWith("/camera_info")) cameraInfo.push(payload.toString());
      });
      await client.client.subscribeAsync("depthwatt/switching/camera_info");
      await until("it is there", () => cameraInfo.length === 1);
      expect(JSON.parse(cameraInfo[0]!)).toMatchObject({ width: 128 });
      expect(await client.ask("set", { values: { "calibration.file": null } })).toMatchObject({ ok: true });
      await until("it is cleared", () => cameraInfo.at(-1) === "");
      expect(Object.keys(await hashes(client))).not.toContain("depth.png");
      expect(client.info.at(-1)).toMatchObject({ streams: ["disparity"] });

      expect(
        await client.ask("set", { values: { "source.kind": "synthetic", "source.synthetic.rateHz": 200 } }),
      ).toMatchObject({ ok: true });
      await until("it is the scene again", () => client.info.at(-1)?.width === 160, 5000);
      const ended = await run.stop();
      expect(accountedPairs(ended)).toBe(ended.captured);
      expect(accountedDepth(ended)).toBeLessThanOrEqual(ended.frames);
    },
    60_000,
  );
});

test("the state names the source in use", async () => {
  const { runtime, states } = await bench.run("none", "named");
  expect(states).toEqual([{ state: "online", reason: expect.stringMatching(/^synthetic/) }]);
  await runtime.apply(asChange(await bench.stillScene()), "the test");
  const { title } = runtime.parts.source.description;
  expect(title).not.toMatch(/^synthetic/);
  expect(states.slice(1)).toEqual([{ state: "online", reason: title }]);
  await runtime.apply({ "match.numDisparities": 16 }, "the test");
  expect(states).toHaveLength(2);
}, 60_000);

describe("a source that cannot be used", () => {
  test("leaves the old one running, and says why", async () => {
    const run = await bench.run("none", "careful");
    const { runtime } = run;
    const still = asChange(await bench.stillScene());
    const folder = bench.folder();
    for (const side of ["left", "right"]) {
      mkdirSync(join(folder, side));
      writeFileSync(join(folder, side, "000000.png"), "no picture");
    }
    const sides = (of: string) => ({
      "source.replay.left": `${of}/left`,
      "source.replay.right": `${of}/right`,
    });
    const small = await bench.stillScene({ width: 96, height: 64 });
    const cases: [SettingsChange, string, RegExp][] = [
      [{ ...still, ...sides("/nowhere") }, "SOURCE_UNREADABLE", /\/nowhere\/left/],
      [{ ...still, ...sides(folder) }, "IMAGE_UNSUPPORTED", /000000\.png/],
      [{ ...still, "calibration.file": "/nowhere.yaml" }, "CALIBRATION_UNREADABLE", /nowhere\.yaml/],
      [
        { ...still, "calibration.file": small["calibration.file"]! },
        "CALIBRATION_SIZE_MISMATCH",
        /96 ?x ?64/,
      ],
      [{ "source.kind": "replay" }, "CONFIG_INVALID", /source\.replay\.left/],
      [
        { "source.kind": "v4l2", "source.v4l2.left": "/dev/null", "source.v4l2.right": "/dev/zero" },
        "DEVICE_UNSUITABLE",
        /\/dev\/null/,
      ],
      [
        { "source.kind": "v4l2", "source.v4l2.sideBySide": "/dev/nocam" },
        "DEVICE_UNAVAILABLE",
        /\/dev\/nocam/,
      ],
      [
        { "source.kind": "v4l2", "source.v4l2.sideBySide": "/dev/nocam", "source.v4l2.buffers": 1 },
        "CONFIG_INVALID",
        /source\.v4l2\.buffers/,
      ],
      // Commands are only taken from the configuration, never from a client.
      [
        { "source.kind": "command", "source.command.sideBySide": "touch /tmp/x" },
        "SETTING_NEEDS_RESTART",
        /source\.command\.sideBySide/,
      ],
      // The picture is smaller than where the region begins.
      [{ ...still, "region.x": 500 }, "CONFIG_INVALID", /region/],
    ];
    const before = runtime.config;
    for (const [change, code, text] of cases) {
      const { frames } = runtime.parts.pipeline;
      const error = await runtime.apply(change, "the test").then(
        () => undefined,
        (reason) => reason,
      );
      expect(error, JSON.stringify(change)).toMatchObject({ code, message: expect.stringMatching(text) });
      expect(runtime.config).toBe(before);
      await until("the old one continues", () => runtime.parts.pipeline.frames > frames + 2);
    }
    const ended = await run.stop();
    expect(accountedPairs(ended)).toBe(ended.captured);
  }, 60_000);

  test("a change of the source that waits when the run ends automatically is answered", async () => {
    const { url } = await bench.broker();
    const run = await bench.run(url, "over", "source.kind=synthetic", "source.command.sideBySide=sleep 10");
    const client = await bench.client(url, "over");
    // It never writes a frame.
    const changed = client.ask("set", { values: { "source.kind": "command" } });
    // Requests come in their order: the one before is in work when this one is answered.
    expect(await client.ask("get", { keys: ["device"] })).toMatchObject({ ok: true });
    run.runtime.parts.pipeline.stop();
    expect(await changed).toMatchObject({ ok: false, code: "RUN_ENDED" });
  }, 60_000);

  test("a run that ends while another source is being opened ends, and stops both", async () => {
    const run = await bench.run("none", "ending");
    const still = asChange(await bench.stillScene());
    const changed = run.runtime.apply(still).catch((error) => error.code);
    const ended = await run.stop();
    expect(ended.frames).toBeGreaterThan(3);
    expect(["RUN_ENDED", undefined]).toContain(
      await changed.then((outcome) => (typeof outcome === "string" ? outcome : undefined)),
    );
  });
});
