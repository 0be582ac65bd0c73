// SPDX-License-Identifier: Apache-2.0
// Control over MQTT against Mosquitto, with MQTT 5 and 3.1.1: good requests, every refusal, changes under load, snapshots, the
// end of a run. The program itself (get, set, save, SIGHUP, restart) is in control-program.test.ts.
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { unzipSync } from "fflate";
import { afterEach, expect, test } from "vitest";
import { writeScene } from "../../camera/index.js";
import { loadConfig } from "../../edge/config/index.js";
import { loadNative } from "../../edge/contracts/native.js";
import { openRecording } from "../../edge/mcap/recording.js";
import type { RunFigures } from "../../edge/run/figures.js";
import { openRuntime } from "../../edge/run/main.js";
import type { Runtime } from "../../edge/run/runtime.js";
import { SECRET, TestClient } from "../doubles/control-client.js";
import { accountedPairs } from "../doubles/controlled-run.js";
import { until } from "../doubles/frames.js";
import { type MosquittoOptions, startMosquitto } from "../doubles/mosquitto.js";
import { needs } from "../doubles/needs.js";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function secretFile(secret = SECRET): string {
  const file = join(mkdtempSync(join(tmpdir(), "depthwatt-control-")), "secret");
  writeFileSync(file, `${secret}\n`, { mode: 0o600 });
  return file;
}

interface Run {
  runtime: Runtime;
  notices: string[];
  captured(): number;
  /** From now on no pair reaches the engine; resolves when none is in work any more. */
  starve(): Promise<void>;
  stop(): Promise<RunFigures>;
}

async function start(url: string, device: string, ...set: string[]): Promise<Run> {
  const small = ["source.synthetic.width=160", "source.synthetic.height=96", "match.numDisparities=32"];
  const control = ["control.enabled=true", `control.secretFile=${secretFile()}`];
  const all = [
    "board=none",
    "power.sensor=none",
    ...small,
    ...control,
    `outputs.mqtt.broker=${url}`,
    `device=${device}`,
  ];
  const { config } = loadConfig({ set: [...all, ...set], environment: {} });
  const notices: string[] = [];
  const runtime = await openRuntime(config, undefined, { onNotice: (notice) => notices.push(notice) });
  let captured = 0;
  let stopped = false;
  let starving = false;
  const { source, reporter } = runtime.parts;
  const startSource = source.start.bind(source);
  source.start = (events) =>
    startSource({
      ...events,
      onPair: (pair) => {
        if (starving) {
          pair.release();
          return;
        }
        if (!stopped) captured++;
        events.onPair(pair);
      },
    });
  const ended = runtime.run();
  const stop = () => {
    stopped = true;
    runtime.stop();
    return ended;
  };
  cleanups.push(stop);
  await until("frames", () => runtime.parts.pipeline.frames > 3, 30_000);
  const starve = () => {
    starving = true;
    return until("nothing is in work", () => accountedPairs(reporter.figures("run")) === captured);
  };
  return { runtime, notices, captured: () => captured, starve, stop };
}

async function broker(options: MosquittoOptions = {}) {
  const mosquitto = await startMosquitto(options);
  cleanups.push(() => mosquitto.stop());
  return mosquitto;
}

async function connectClient(url: string, device: string, version: 4 | 5 = 5): Promise<TestClient> {
  const client = await TestClient.connect(url, device, version);
  cleanups.push(() => client.close());
  return client;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const sum = (drops: Record<string, number>, pattern: RegExp) =>
  Object.entries(drops)
    .filter(([cause]) => pattern.test(cause))
    .reduce((total, [, count]) => total + count, 0);

needs("mosquitto").suite("control over MQTT", () => {
  test("record begins a file, ends it, and ends one automatically; nothing else chooses its place", async () => {
    const folder = mkdtempSync(join(tmpdir(), "depthwatt-control-record-"));
    try {
      const { url } = await broker();
      const file = join(folder, "out.mcap");
      const { runtime } = await start(
        url,
        "good",
        `outputs.mcap.file=${file}`,
        "outputs.mcap.recording=false",
      );
      const sent = () =>
        (runtime.parts.outputs.figures("run").outputs.mcap as unknown as { sent: number }).sent;
      const client = await connectClient(url, "good", 5);
      await pause(300);
      expect(readdirSync(folder)).toEqual([]);
      expect(await client.ask("record", { file: "/tmp/other.mcap" })).toMatchObject({
        code: "CONTROL_INVALID",
      });
      expect(await client.ask("record", {})).toMatchObject({ ok: true, recording: true });
      await until("frames are recorded", () => sent() > 3, 20_000);
      expect(await client.ask("record", { recording: false })).toMatchObject({ ok: true, recording: false });
      expect(await client.ask("record", { seconds: 1 })).toMatchObject({ ok: true, recording: true });
      const isIndexed = async (name: string) => {
        const recording = await openRecording(join(folder, name));
        await recording.close();
        return recording.loss.index === undefined;
      };
      // It is there before it has a whole chunk.
      await expect.poll(() => isIndexed("out-0002.mcap").catch(() => false), { timeout: 20_000 }).toBe(true);
      for (const name of ["out.mcap", "out-0002.mcap"]) {
        const recording = await openRecording(join(folder, name));
        expect(recording.loss.index, name).toBeUndefined(); // it was ended, with its index
        const topics = [...recording.channels.values()].map(({ topic }) => topic);
        for (const ending of ["left/image_rect", "/state", "/info", "/settings"])
          expect(
            topics.filter((topic) => topic.endsWith(ending)),
            name,
          ).toHaveLength(1);
        await recording.close();
      }
      expect(readdirSync(folder).sort()).toEqual(["out-0002.mcap", "out.mcap"]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }, 60_000);

  test.each<[string, 4 | 5]>([
    ["3.1.1", 4],
    ["5", 5],
  ])(
    "MQTT %s: get, set and its echo, schema, snapshot, record; each answered once",
    async (_, version) => {
      const { url } = await broker();
      const { runtime, notices } = await start(url, "good", `outputs.mqtt.protocolVersion=${version}`);
      const client = await connectClient(url, "good", version);
      expect(await client.ask("get", { keys: ["match.numDisparities"] }, "a")).toEqual({
        id: "a",
        ok: true,
        values: { "match.numDisparities": 32 },
      });
      expect(
        await client.ask("set", { values: { "match.numDisparities": 48, "refine.median": false } }),
      ).toMatchObject({
        ok: true,
        values: { "match.numDisparities": 48, "refine.median": false },
      });
      expect(runtime.parts.engine.match.numDisparities).toBe(48);
      expect(notices.at(-1)).toBe('settings changed by "test": match.numDisparities=48, refine.median=false');
      await until(
        "info follows",
        () => JSON.stringify(client.info.at(-1)).includes('"numDisparities":48'),
        5000,
      );
      expect(await client.ask("schema", {})).toMatchObject({ ok: true, settings: expect.any(Array) });
      expect(await client.ask("record", {})).toMatchObject({ ok: false, code: "CONTROL_UNSUPPORTED" });
      const { base64, files } = await client.ask("snapshot", {});
      const zip = unzipSync(Buffer.from(base64 as string, "base64"));
      expect(Object.keys(zip)).toEqual(files);
      expect(files).toEqual(
        expect.arrayContaining(["left.png", "disparity.png", "depth.png", "confidence.png"]),
      );
      // Facts of the frame, and nothing that was lent: captured images are in use again by then.
      expect(Object.keys(JSON.parse(Buffer.from(zip["frame.json"]!).toString()))).toEqual(
        expect.arrayContaining(["width", "height", "leftTimestampNs", "leftSequence"]),
      );
      expect(zip["frame.json"]!.length).toBeLessThan(1000);
      await pause(300);
      expect(client.received).toEqual([]);
      const { control } = runtime.parts.outputs.figures("recent").outputs.mqtt as unknown as {
        control: object;
      };
      expect(control).toMatchObject({
        answered: 5,
        refused: { CONTROL_UNSUPPORTED: 1 },
        unanswered: 0,
        retained: 0,
        lost: 0,
      });
    },
    60_000,
  );

  test("MQTT 5: the answer goes where it is asked for, with the correlation data, but only below response/", async () => {
    const { url } = await broker();
    await start(url, "five");
    const client = await connectClient(url, "five");
    const ask = async (id: string, responseTopic: string) => {
      const properties = { responseTopic, correlationData: Buffer.from(`c-${id}`) };
      await client.send("get", client.payload("get", { keys: ["match.sgm.paths"] }, id), { properties });
      const { topic, answer, packet } = await client.next();
      expect(packet.properties?.correlationData?.toString()).toBe(`c-${id}`);
      return { topic, answer };
    };
    const own = "depthwatt/five/response/get/me";
    expect(await ask("1", own)).toMatchObject({ topic: own, answer: { id: "1", ok: true } });
    for (const elsewhere of [
      "depthwatt/five/state",
      "depthwatt/other/response/get",
      "depthwatt/five/response/",
    ]) {
      expect(await ask("2", elsewhere)).toMatchObject({
        topic: "depthwatt/five/response/get",
        answer: { id: "2", ok: false, code: "CONTROL_INVALID" },
      });
    }
  }, 60_000);

  test.each<[string, 4 | 5]>([
    ["3.1.1", 4],
    ["5", 5],
  ])(
    "MQTT %s: every refusal has its code, and changes nothing",
    async (_, version) => {
      const { url } = await broker();
      const { runtime, stop } = await start(url, "wary", `outputs.mqtt.protocolVersion=${version}`);
      const before = runtime.config;
      const client = await connectClient(url, "wary", version);
      const refused = async (command: string, payload: string | Buffer) => {
        await pause(110); // refusals have their own limit
        await client.send(command, payload);
        return ((await client.next()).answer as { code?: string }).code;
      };
      const change = { values: { "match.sgm.paths": 8 } };
      const good = () => client.payload("set", change, "1");
      expect(await refused("set", client.payload("set", change, "1", "not the secret at all"))).toBe(
        "CONTROL_SECRET",
      );
      expect(await refused("get", good())).toBe("CONTROL_SECRET"); // signed for set
      const other = await connectClient(url, "another", version);
      expect(await refused("set", other.payload("set", change, "1"))).toBe("CONTROL_SECRET");
      expect(await refused("set", JSON.stringify({ id: "1", body: change }))).toBe("CONTROL_SECRET");
      const now = Date.now;
      Date.now = () => now() - 31_000;
      const old = good();
      Date.now = now;
      expect(await refused("set", old)).toBe("CONTROL_TIME");
      const harmless = client.payload("get", { keys: [] }, "1");
      expect(await refused("get", harmless)).toBeUndefined();
      expect(await refused("get", harmless)).toBe("CONTROL_REPLAYED");
      expect(await refused("set", Buffer.alloc(1 << 20, " "))).toBe("CONTROL_INVALID");
      expect(await refused("set", "{")).toBe("CONTROL_INVALID");
      expect(await refused("set", "")).toBe("CONTROL_INVALID");
      expect(await refused("unheard-of", client.payload("unheard-of", {}, "1"))).toBe("CONTROL_INVALID");
      const asked = async (values: object) => {
        await pause(110);
        return client.ask("set", { values });
      };
      expect(await asked({ "match.sgm.path": 8 })).toMatchObject({
        code: "CONFIG_UNKNOWN_KEY",
        message: expect.stringContaining('did you mean "match.sgm.paths"'),
      });
      expect(await asked({ "match.sgm.paths": 3 })).toMatchObject({ code: "CONFIG_INVALID" });
      expect(await asked({ "engine.threads": 1 })).toMatchObject({ code: "SETTING_NEEDS_RESTART" });
      expect(runtime.config).toBe(before);
      const { outputs } = await stop();
      const { control } = outputs.mqtt as unknown as { control: { refused: Record<string, number> } };
      expect(control.refused).toMatchObject({
        CONTROL_SECRET: 4,
        CONTROL_TIME: 1,
        CONTROL_REPLAYED: 1,
        CONTROL_INVALID: 4,
      });
    },
    90_000,
  );

  test("a request that the broker kept is not carried out at the next start", async () => {
    const { url } = await broker();
    const client = await connectClient(url, "kept");
    const trusting = ["control.authentication=broker"];
    await client.send("set", JSON.stringify({ id: "1", body: { values: { "match.sgm.paths": 8 } } }), {
      retain: true,
    });
    const { runtime } = await start(url, "kept", ...trusting);
    const counted = () =>
      runtime.parts.outputs.figures("recent").outputs.mqtt as unknown as { control: { retained: number } };
    await until("it was counted", () => counted().control.retained === 1);
    expect(runtime.config.match.sgm.paths).toBe(4);
    expect(client.received).toEqual([]);
    await client.send("set", JSON.stringify({ id: "2", body: { values: { "match.sgm.paths": 8 } } }));
    expect((await client.next()).answer).toEqual({ id: "2", ok: true, values: { "match.sgm.paths": 8 } });
  }, 60_000);

  test("changes under load: captured = published + drops exactly, with other requests at the same time", async () => {
    const { url } = await broker();
    const run = await start(url, "load", "source.synthetic.rateHz=1000", "match.numDisparities=128");
    const client = await connectClient(url, "load");
    const changes = [
      { "match.numDisparities": 64 },
      { "match.algorithm": "cbca" },
      { "region.x": 32, "region.width": 96, "outputs.mqtt.depth.encoding": "raw" },
      { "match.algorithm": "sgm", "refine.fill": "off", "refine.median": false },
      { "region.x": 0, "region.width": 0, "outputs.mqtt.disparity.enabled": true },
      {
        "outputs.mqtt.disparity.enabled": false,
        "refine.median": true,
        "outputs.mqtt.depth.encoding": "rvl",
      },
      { "power.minFps": 1, "outputs.metricsIntervalMs": 300 },
      { "power.minFps": null, "match.numDisparities": 128 },
    ];
    const mine: Promise<unknown>[] = [];
    for (let i = 0; i < 40; i++) {
      const values = changes[i % changes.length]!;
      // As a reload does, from another side.
      mine.push(run.runtime.apply({ "match.sgm.uniqueness": i % 20 }, "reload"));
      const answer = await client.ask("set", { values }, String(i));
      if (answer.ok === false && answer.code === "CONTROL_BUSY") await pause(1000);
      else expect(answer).toEqual({ id: String(i), ok: true, values });
    }
    await Promise.all(mine);
    expect(run.runtime.config.match.sgm.uniqueness).toBe(19);
    const { drops, frames, outputs } = await run.stop();
    expect(frames).toBeGreaterThan(20);
    expect(frames + sum(drops, /^(engineBusy|notSent|backendLost|governor)$/)).toBe(run.captured());
    const { sentByStream } = outputs.mqtt as unknown as { sentByStream: { depth: number } };
    expect(sentByStream.depth + sum(drops, /^mqtt\.(depth\.|held|failed|rateLimit)/)).toBe(frames);
  }, 180_000);

  test("after a change the results are those of a run that was started with it, bit for bit", async () => {
    const { url } = await broker();
    const folder = mkdtempSync(join(tmpdir(), "depthwatt-control-scene-"));
    await writeScene(loadNative(), {
      width: 160,
      height: 96,
      folder,
      frames: 1,
      view: "rectified",
      truth: "none",
    });
    const sides = ["left", "right"].map((side) => `source.replay.${side}=${join(folder, side)}`);
    const still = ["source.kind=replay", ...sides, "source.replay.loop=true", "source.replay.rateHz=30"];
    const calibration = `calibration.file=${join(folder, "calibration.json")}`;
    const maps = async (device: string, client: TestClient) => {
      await pause(110);
      const { base64, files } = await client.ask("snapshot", {});
      const zip = unzipSync(Buffer.from(base64 as string, "base64"));
      const names = (files as string[]).filter((name) => name.endsWith(".png"));
      expect(names, device).toEqual(["left.png", "disparity.png", "confidence.png", "depth.png"]);
      return names.map((name) => createHash("sha256").update(zip[name]!).digest("hex"));
    };
    await start(url, "changed", ...still, calibration);
    const changed = await connectClient(url, "changed");
    const seen = [await maps("changed", changed)];
    const changes = [
      { "match.numDisparities": 48 },
      { "match.sgm.paths": 8, "refine.fill": "off" },
      { "match.algorithm": "cbca" },
      { "region.x": 40, "region.width": 80 },
    ];
    const all: Record<string, string | number> = {};
    for (const [index, values] of changes.entries()) {
      Object.assign(all, values);
      expect(await changed.ask("set", { values })).toMatchObject({ ok: true });
      const device = `fresh-${index}`;
      const set = Object.entries(all).map(([key, value]) => `${key}=${value}`);
      const fresh = await start(url, device, ...still, calibration, ...set);
      const client = await connectClient(url, device);
      const now = await maps("changed", changed);
      expect(now, JSON.stringify(values)).toEqual(await maps(device, client));
      // And each change is seen.
      expect(now).not.toEqual(seen.at(-1));
      seen.push(now);
      await fresh.stop();
    }
  }, 120_000);

  test("a request while the run ends is answered; one in work is finished", async () => {
    const { url } = await broker();
    const { stop } = await start(url, "ending");
    const client = await connectClient(url, "ending");
    const payloads = ["1", "2", "3"].map((id) =>
      client.payload("set", { values: { "match.sgm.paths": 8 } }, id),
    );
    await client.send("set", payloads[0]!);
    const ended = stop();
    for (const payload of payloads.slice(1)) await client.send("set", payload);
    await ended;
    // The first reached the broker before the end began. The later ones may come after the end of the subscription.
    await until("the first is answered", () => client.received.some(({ answer }) => answer.id === "1"));
    await pause(200);
    for (const { answer } of client.received)
      expect(
        answer.ok === true || (answer as { code?: string }).code === "RUN_ENDED",
        JSON.stringify(answer),
      ).toBe(true);
  }, 60_000);

  test("a snapshot that waits for a frame when the run ends is refused", async () => {
    const { url } = await broker();
    const { starve, stop } = await start(url, "starving");
    const client = await connectClient(url, "starving");
    await starve();
    const snapshot = client.ask("snapshot", {});
    // Requests come in their order: the one before is in work when this one is answered.
    expect(await client.ask("get", { keys: ["device"] })).toMatchObject({ ok: true });
    await stop();
    expect(await snapshot).toMatchObject({ ok: false, code: "RUN_ENDED" });
  });
});
