// SPDX-License-Identifier: Apache-2.0
// Tests runtime.apply on a running pipeline: no frame is lost uncounted over fifty changes, all or nothing, one after
// the other, and the reported state follows.
import mqtt from "mqtt";
import { afterEach, describe, expect, test } from "vitest";
import { DepthwattError } from "../../core/index.js";
import { type Config, loadConfig, type SettingsChange } from "../../edge/config/index.js";
import type { RunFigures } from "../../edge/run/figures.js";
import { openRuntime } from "../../edge/run/main.js";
import type { Runtime } from "../../edge/run/runtime.js";
import { until } from "../doubles/frames.js";
import { startMosquitto } from "../doubles/mosquitto.js";
import { needs } from "../doubles/needs.js";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

interface Run {
  runtime: Runtime;
  ended: Promise<RunFigures>;
  /** Pairs that the source had delivered when the run was stopped. */
  captured(): number;
  stop(): Promise<RunFigures>;
  settings: Config[];
  notices: string[];
}

async function start(...set: string[]): Promise<Run> {
  const small = ["source.synthetic.width=160", "source.synthetic.height=96", "match.numDisparities=32"];
  const all = ["board=none", "power.sensor=none", ...small, "source.synthetic.rateHz=120", ...set];
  const { config } = loadConfig({ set: all, environment: {} });
  const settings: Config[] = [];
  const notices: string[] = [];
  const runtime = await openRuntime(config, undefined, {
    onNotice: (notice) => notices.push(notice),
    onSettings: (now) => settings.push(now),
  });
  let captured = 0;
  let stopped = false;
  const { source } = runtime.parts;
  const startSource = source.start.bind(source);
  source.start = (events) =>
    startSource({
      ...events,
      onPair: (pair) => {
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
  return { runtime, ended, captured: () => captured, stop, settings, notices };
}

const sum = (drops: Record<string, number>, pattern: RegExp) =>
  Object.entries(drops)
    .filter(([cause]) => pattern.test(cause))
    .reduce((total, [, count]) => total + count, 0);

const CHANGES: SettingsChange[] = [
  { "match.numDisparities": 64 },
  { "outputs.mqtt.depth.encoding": "raw" },
  { "refine.median": false, "refine.speckleSize": 0 },
  { "region.x": 32, "region.width": 96, "region.y": 8 },
  { "match.algorithm": "cbca" },
  { "outputs.mqtt.disparity.enabled": true, "outputs.mqtt.depth.encoding": "png" },
  { "match.algorithm": "sgm", "match.halfResolution": true },
  { "outputs.mqtt.disparity.encoding": "raw", "outputs.mqtt.left.enabled": true },
  { "region.x": 0, "region.width": 0, "region.y": 0, "match.numDisparities": 32 },
  { "outputs.mqtt.disparity.enabled": false, "outputs.mqtt.left.enabled": false },
  { "outputs.mqtt.depth.encoding": "rvl", "match.halfResolution": "auto", "refine.median": true },
];

needs("mosquitto").suite("fifty changes while frames flow", () => {
  test("captured = computed + dropped, computed = sent + dropped, exactly; the newest settings are reported", async () => {
    const mosquitto = await startMosquitto();
    cleanups.push(() => mosquitto.stop());
    const client = await mqtt.connectAsync(mosquitto.url);
    cleanups.push(() => client.endAsync(true));
    let info: Record<string, unknown> = {};
    client.on("message", (_, payload) => {
      info = JSON.parse(payload.toString());
    });
    await client.subscribeAsync("depthwatt/apply/info");
    const run = await start(
      `outputs.mqtt.broker=${mosquitto.url}`,
      "device=apply",
      "source.synthetic.rateHz=1000",
      "match.numDisparities=128",
    );
    for (let i = 0; i < 50; i++) {
      const change = CHANGES[i % CHANGES.length]!;
      expect(await run.runtime.apply(change)).toEqual(change);
      const frames = run.runtime.parts.pipeline.frames;
      if (i % 5 === 0) await until("another frame", () => run.runtime.parts.pipeline.frames > frames + 1);
    }
    expect(run.settings.length).toBe(50);
    const { refine, match } = run.runtime.config;
    const { streams } = run.runtime.parts.outputs.figures("run").outputs.mqtt as unknown as {
      streams: string[];
    };
    expect(streams).toEqual(["depth", "disparity"]);
    const reported = () => info as { streams?: string[]; parameters?: { match: object; refine: object } };
    await until("info follows", () => JSON.stringify(reported().streams) === JSON.stringify(streams), 20_000);
    expect(reported().parameters).toMatchObject({ match: { numDisparities: match.numDisparities }, refine });
    const figures = await run.stop();
    const { drops, frames } = figures;
    expect(frames).toBeGreaterThan(20);
    expect(drops.engineBusy).toBeGreaterThan(0);
    expect(frames + sum(drops, /^(engineBusy|notSent|backendLost|governor)$/)).toBe(run.captured());
    const { sentByStream } = figures.outputs.mqtt as unknown as { sentByStream: { depth: number } };
    expect(sentByStream.depth + sum(drops, /^mqtt\.(depth\.|held|failed|rateLimit)/)).toBe(frames);
  }, 120_000);
});

describe("a change", () => {
  test("takes effect with the next frame, and only what needs it opens another engine", async () => {
    const { runtime, stop, settings } = await start("outputs.mqtt.broker=none");
    const { engine } = runtime.parts;
    const before = engine.options;
    await runtime.apply({ "log.level": "debug", "outputs.metricsIntervalMs": 200 });
    expect(engine.options).toBe(before);
    expect(settings.at(-1)!.log.level).toBe("debug");
    await runtime.apply({ "region.x": 80 });
    expect(engine.options.region).toEqual({
      x: 80,
      y: 0,
      width: engine.options.width - 80,
      height: engine.options.height,
    });
    // Which slot the next frame takes is the engine's affair; the others hold frames of before.
    await until("a frame of the region alone", () =>
      engine.slots.some(({ disparityQ4 }) => Math.max(...disparityQ4.subarray(0, 80)) === -32768),
    );
    await stop();
  });

  test("is refused as a whole: unknown, out of range, against a rule, or only at the next start", async () => {
    const { runtime, stop } = await start("outputs.mqtt.broker=none");
    const before = runtime.config;
    const refused = async (change: SettingsChange) =>
      runtime.apply({ "match.numDisparities": 48, ...change }, "the test").then(
        () => expect.unreachable(),
        (error) => error,
      );
    expect(await refused({ "match.numDisparitie": 3 })).toMatchObject({
      code: "CONFIG_UNKNOWN_KEY",
      message: expect.stringContaining('did you mean "match.numDisparities"?'),
    });
    expect(await refused({ "refine.speckleSize": -1 })).toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringMatching(
        /^refine\.speckleSize \(from the test\): expected a whole number from 0/,
      ),
    });
    expect(await refused({ "match.minDisparity": 2039 })).toMatchObject({ code: "CONFIG_INVALID" });
    const late = await refused({ "outputs.mqtt.broker": "embedded", "engine.threads": 1 });
    expect(late).toMatchObject({
      code: "SETTING_NEEDS_RESTART",
      context: { keys: ["engine.threads", "outputs.mqtt.broker"] },
    });
    expect(late.message).toContain("engine.threads, outputs.mqtt.broker (from the test)");
    // The engine refuses what no rule knows: a region that begins beyond the images.
    expect(await refused({ "region.x": 5000 })).toMatchObject({ code: "CONFIG_INVALID" });
    expect(await refused({ "region.width": 5000 })).toMatchObject({ code: "ENGINE_PARAMETER" });
    expect(runtime.config).toBe(before);
    expect(runtime.parts.engine.match.numDisparities).toBe(32);
    // A setting with the same value is no change, at any time.
    expect(await runtime.apply({ "engine.threads": before.engine.threads })).toEqual({ "engine.threads": 0 });
    await stop();
  });

  test("several at the same time are served in their order, one that fails stops no other", async () => {
    const { runtime, stop, settings } = await start("outputs.mqtt.broker=none");
    const outcomes = await Promise.allSettled([
      runtime.apply({ "match.numDisparities": 40 }),
      runtime.apply({ "match.numDisparities": 4 }),
      runtime.apply({ "match.numDisparities": 56 }),
      runtime.apply({ "match.sgm.uniqueness": 3 }),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "fulfilled"]);
    expect(settings.map(({ match }) => match.numDisparities)).toEqual([40, 56, 56]);
    expect(runtime.parts.engine.match.numDisparities).toBe(56);
    const figures = await stop();
    expect(figures.frames).toBeGreaterThan(3);
    await expect(runtime.apply({ "match.numDisparities": 24 })).rejects.toMatchObject({ code: "RUN_ENDED" });
  });

  test("a budget that comes starts the governor, one that goes gives everything back", async () => {
    const { runtime, stop } = await start("outputs.mqtt.broker=none");
    expect(runtime.governor).toBeUndefined();
    await runtime.apply({ "power.minFps": 5 });
    expect(runtime.governor!.figures).toMatchObject({ available: true, level: 0, minFps: 5 });
    await runtime.apply({ "match.numDisparities": 64 });
    expect(runtime.governor!.figures).toMatchObject({ name: expect.stringContaining("64 disparities") });
    expect(runtime.parts.engine.match.numDisparities).toBe(64);
    expect(await runtime.apply({ "power.minFps": null })).toEqual({ "power.minFps": undefined });
    expect(runtime.governor).toBeUndefined();
    await stop();
  });
});

test("another source continues though there is no memory to watch its rig", async () => {
  const run = await start("outputs.mqtt.broker=none", "outputs.viewer.enabled=false");
  const { health, pipeline } = run.runtime.parts;
  health.open = () => {
    throw new DepthwattError("MEMORY_EXHAUSTED", "expected memory for two images, got none");
  };
  expect(await run.runtime.apply({ "source.synthetic.width": 128 })).toEqual({
    "source.synthetic.width": 128,
  });
  const before = pipeline.frames;
  await until("frames of the new source", () => pipeline.frames > before + 5, 30_000);
  expect(run.notices.join("\n")).toContain("expected memory for two images");
  expect((await run.stop()).width).toBe(128);
});
