// SPDX-License-Identifier: Apache-2.0
// Every live setting of the registry acts: changed in a running system, its images, messages, figures or input are others. The
// cameras, the meter and the broker are the test's; the engine and the outputs are real.
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FoxgloveClient } from "@foxglove/ws-protocol";
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import { SceneRenderer, sceneCalibration, stringifyCalibration } from "../../../../camera/index.js";
import type { SceneOptions } from "../../../../camera/scene/scene-cameras.js";
import { decodeBody } from "../../../../clients/javascript/src/decode.js";
import { parseFrame } from "../../../../core/frame/payload.js";
import { type Config, SETTINGS } from "../../../../edge/config/index.js";
import type { ComputedFrame } from "../../../../edge/contracts/computed-frame.js";
import { loadNative } from "../../../../edge/contracts/native.js";
import { readSharedFrames } from "../../../../edge/library/shared-frames.js";
import type { RunFigures } from "../../../../edge/run/figures.js";
import type { Runtime } from "../../../../edge/run/runtime.js";
import { CHANGES, type Change, type Values } from "../../../doubles/live-changes.js";
import { differentValue, settingDefault } from "../../../doubles/other-value.js";
import { ScriptedSource, script } from "../../../doubles/run-script.js";
import { PUBLISH, type Received, startScriptedBroker } from "../../../doubles/scripted-broker.js";
import { openScriptedRun } from "../../../doubles/scripted-run.js";

vi.mock("../../../../edge/run/open-source.js", async (importActual) => {
  const { calibrationFor } = await importActual<typeof import("../../../../edge/run/open-source.js")>();
  const openSource = async (config: Config) => {
    const { source } = script.openSource(config);
    return { source, ...(await calibrationFor(config, source)) };
  };
  return { openSource, calibrationFor };
});
vi.mock("../../../../edge/power/open-meter.js", async () => {
  const { meterModule } = await import("../../../doubles/run-script.js");
  return meterModule;
});

const FOLDER = mkdtempSync(join(tmpdir(), "depthwatt-live-"));
afterAll(() => rmSync(FOLDER, { recursive: true, force: true }));
const writeCalibration = (name: string, scene: SceneOptions) =>
  writeFileSync(join(FOLDER, name), stringifyCalibration(sceneCalibration(scene)));
const cleanups: (() => unknown)[] = [];
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance", "hrtime"] });
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  vi.useRealTimers();
});

async function until<T>(what: string, holds: () => T | Promise<T>): Promise<NonNullable<T>> {
  for (let tries = 0; tries < 2000; tries++) {
    const found = await holds();
    if (found) return found as NonNullable<T>;
    await new Promise((resolve) => setTimeout(resolve, 3));
  }
  throw new Error(`waited in vain for ${what}`);
}

const LIVE = SETTINGS.filter(({ takesEffect }) => takesEffect === "live");
const STREAMS = ["depth", "disparity", "confidence", "left", "right", "points", "preview"] as const;
/** The capture time of the frame that a message belongs to. */
function readStamp(topic: string, body: Buffer): bigint | undefined {
  if (/^ros\//.test(topic))
    return BigInt(body.readInt32LE(4)) * 1_000_000_000n + BigInt(body.readUInt32LE(8));
  if (/^(zones|scan|quality)$/.test(topic)) return BigInt(JSON.parse(body.toString()).leftTimestampNs);
  return STREAMS.some((stream) => stream === topic && stream !== "preview")
    ? parseFrame(body).header.leftTimestampNs
    : undefined;
}
const readBody = ({ bytes, payloadBytes }: Received) => bytes.subarray(bytes.length - payloadBytes);
const hashParts = (...parts: NodeJS.ArrayBufferView[]) =>
  parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest("hex");

/** A run whose cameras see the scene of the options, in colours. */
class Bench {
  runtime!: Runtime;
  metrics = 0;
  announced = false;
  maps = "";
  newest!: ComputedFrame;
  /** The configuration as the program was last given it. */
  currentConfig!: Config;
  /** Configurations that a source was opened with. */
  readonly openedWith: Config[] = [];
  #messages: { topic: string; body: Buffer; stamp: bigint | undefined }[] = [];
  #source!: ScriptedSource;
  #captured = 0n;

  async open(scene: SceneOptions & { width: number; height: number }, ...set: string[]): Promise<void> {
    const renderer = new SceneRenderer(loadNative(), { ...scene, colours: true });
    const frames = [await renderer.frame(0), await renderer.frame(1)];
    renderer.close();
    writeCalibration("calibration.json", scene);
    const strideBytes = 3 * scene.width;
    script.openSource = (config) => {
      this.openedWith.push(config);
      const images = (sequence: number) => {
        const { left, right } = frames[this.moving ? sequence % 2 : 0]!;
        return { left: left.data as Uint8Array, right: right.data as Uint8Array };
      };
      const layout = { leftFormat: "RGB8", rightFormat: "RGB8" } as const;
      const strides = { leftStrideBytes: strideBytes, rightStrideBytes: strideBytes };
      this.#source = new ScriptedSource(this.openedWith.length, scene, images, {
        ...layout,
        ...strides,
        // Its times are published as they are.
        clock: "file",
      });
      this.#source.eager = this.openedWith.length > 1;
      return { source: this.#source };
    };
    const broker = await startScriptedBroker((packet, session) => {
      session.answer(packet);
      if (packet.type !== PUBLISH) return;
      const topic = packet.topic.replace("depthwatt/scripted/", "");
      const body = readBody(packet);
      this.#messages.push({ topic, body, stamp: readStamp(topic, body) });
      // Home Assistant forgets a device whose announcement is empty.
      if (packet.topic.startsWith("homeassistant/")) this.announced = packet.payloadBytes > 0;
    });
    cleanups.push(() => broker.close());
    const own = [`outputs.mqtt.broker=${broker.url}`, `calibration.file=${FOLDER}/calibration.json`];
    const cameras = ["source.kind=v4l2", "source.v4l2.left=/none/left", "source.v4l2.right=/none/right"];
    const settings = [...own, ...cameras, "match.numDisparities=32", ...set];
    this.runtime = await openScriptedRun(settings, {
      onFigures: () => this.metrics++,
      onSettings: (settings) => {
        this.currentConfig = settings;
      },
      onFrame: (frame) => {
        const { disparityQ4, confidence, depthMillimetres } = frame.slot;
        this.newest = frame;
        this.maps = hashParts(disparityQ4, confidence, depthMillimetres);
      },
    });
    const running = this.runtime.run();
    cleanups.push(async () => {
      this.runtime.stop();
      await running;
    });
    await until("the run", () => this.#source.events);
  }

  /** Returns whether the newest source has delivered pairs, and they were used or dropped. */
  get isDone(): boolean {
    return this.#source.delivered > 0 && this.#source.released === this.#source.delivered;
  }

  /** The two images of the scene alternate. */
  moving = false;

  /** Delivers a pair after this time and waits until the engine and all outputs are done with it. */
  async frame(afterMs = 700): Promise<void> {
    const { pipeline } = this.runtime.parts;
    const { frames } = pipeline;
    vi.advanceTimersByTime(afterMs);
    // Messages of earlier frames are not needed, but those of this one.
    this.#messages = this.#messages.filter(({ stamp }) => stamp === this.#captured);
    this.#captured = process.hrtime.bigint();
    this.#source.deliver(this.#captured);
    await until(
      "a frame",
      () => pipeline.frames > frames && this.#source.released === this.#source.delivered,
    );
  }

  valueOf(key: string, config: Config = this.runtime.config): Values[string] {
    const node = key
      .split(".")
      .reduce<unknown>((inner, name) => (inner as Record<string, unknown>)[name], config);
    return (node as Values[string] | undefined) ?? null;
  }

  async set(values: Values): Promise<void> {
    await this.runtime.apply(values as never, "a test");
  }

  /** Messages of the frame that was captured then. @param stamp default: the newest frame */
  of(topic: string, stamp = this.#captured): Buffer[] {
    return this.#messages.flatMap((message) =>
      message.topic === topic && (message.stamp ?? stamp) === stamp ? [message.body] : [],
    );
  }

  /** Resolves to the topic's message of another frame. */
  async next(topic: string): Promise<Buffer> {
    await this.frame();
    return until(`a message of ${topic}`, () => this.of(topic).at(-1));
  }

  async json(topic: string): Promise<Record<string, unknown>> {
    return JSON.parse((await this.next(topic)).toString());
  }

  /** Topics of a frame that begin like this. The next frame's first message says that all have come. */
  async topics(start: RegExp): Promise<string[]> {
    await this.frame();
    const frame = this.#captured;
    await this.frame();
    const messages = () => this.#messages.filter(({ topic }) => start.test(topic));
    await until("the next frame", () => messages().some(({ stamp }) => stamp === this.#captured));
    return messages().flatMap(({ topic, stamp }) => (stamp === frame ? [topic] : []));
  }

  get figures(): RunFigures {
    return this.runtime.parts.reporter.figures("run");
  }

  /** Returns whether an output refuses a frame that comes a second after another. */
  async limited(output: string): Promise<boolean> {
    const drops = () => this.figures.drops[`${output}.rateLimit`] ?? 0;
    const before = drops();
    for (let i = 0; i < 3; i++) await this.frame(1000);
    return drops() > before;
  }
}

interface Effect {
  /** Replaces the values in CHANGES. */
  with?: Values;
  to?: Values;
  /** @param awaited the expected result, for effects that take several frames */
  see(bench: Bench, awaited?: unknown): unknown;
  /** Results before and after the change. Default: the two differ. */
  expected?: readonly [before: unknown, after: unknown];
}

const limitedRate = (output: string): Effect => ({
  to: { [`outputs.${output}.rateHz`]: 0.1 },
  see: (bench) => bench.limited(output),
  expected: [false, true],
});
const rosTopics = (name: string, whenDefault: boolean): Effect => ({
  see: async (bench) => (await bench.topics(/^ros\//)).includes(`ros/${name}`),
  expected: [whenDefault, !whenDefault],
});
const ZONE = "ahead";
const zone = async (bench: Bench) => (await bench.json("zones")).zones as Record<string, object>;
const ranges = async (bench: Bench) => ((await bench.json("scan")).scan as { ranges: unknown[] }).ranges;
const scan = (see: Effect["see"] = ranges): Effect => ({ with: { "outputs.derived.scan": true }, see });
const derivedTopic = (name: string): Effect => ({
  see: async (bench) => (await bench.topics(/^(zones|scan|quality)$/)).includes(name),
  expected: [false, true],
});
/** Computes the only frame of a cycle. @param then runs before the cycle is ended. @returns the state after the frame */
async function afterFrame(bench: Bench, then = async () => {}): Promise<string> {
  await bench.set({ "power.dutyCycle.frames": 1 });
  await bench.frame();
  const { dutyCycle } = bench.figures;
  await then();
  await bench.set({ "power.dutyCycle.frames": null });
  await until("open cameras", () => !bench.runtime.parts.input.source.suspended && bench.isDone);
  return dutyCycle.available ? dutyCycle.state : "off";
}

/** Waits for a state that comes some time after the setting. */
const turns = (state: (bench: Bench) => boolean, expected: Effect["expected"]): Effect => ({
  see: async (bench, awaited) => {
    await bench.frame();
    await until("the change", () => state(bench) === awaited);
    return state(bench);
  },
  expected: expected!,
});
const RECORDING = join(FOLDER, "run.mcap");
/** A recording ends with the format's eight bytes. */
const isComplete = () =>
  existsSync(RECORDING) && readFileSync(RECORDING).subarray(-7).toString() === "MCAP0\r\n";
/** A stream whose picture is larger than outputs.mqtt.maxPayloadBytes: dropped, or subsampled. */
const reduced = (stream: string, values: Values = {}, reduction = 2): Effect => ({
  with: { "outputs.mqtt.depth.enabled": false, ...values, [`outputs.mqtt.${stream}.enabled`]: true },
  see: async (bench) => {
    const oversize = () => bench.figures.drops[`mqtt.${stream}.oversize`] ?? 0;
    const before = oversize();
    await bench.frame();
    await until("its fate", () => oversize() > before || bench.of(stream).length > 0);
    const [body] = bench.of(stream);
    return body === undefined ? "oversize" : parseFrame(body).header.reduction;
  },
  expected: ["oversize", reduction],
});

/** Settings whose effect is not in the images of a scene that stands still, by what each of them runs in. */
const OUTPUTS: Record<string, Effect> = {
  "outputs.mqtt.rateHz": limitedRate("mqtt"),
  "outputs.viewer.rateHz": limitedRate("viewer"),
  "outputs.mcap.rateHz": limitedRate("mcap"),
  "outputs.foxglove.rateHz": limitedRate("foxglove"),
  "outputs.video.rateHz": limitedRate("video"),
  "outputs.sharedMemory.rateHz": limitedRate("sharedMemory"),
  "outputs.command.rateHz": limitedRate("command"),
  "outputs.derived.rateHz": limitedRate("derived"),
  "outputs.ros.rateHz": limitedRate("ros"),
  "outputs.mcap.recording": {
    ...turns(isComplete, [false, true]),
    to: { "outputs.mcap.recording": false },
  },
  "outputs.derived.zones": {
    see: async (bench) => Object.keys(await zone(bench)),
    expected: [[ZONE], ["all"]],
  },
  "outputs.derived.alarms": {
    see: async (bench) => {
      await bench.frame();
      const { derived } = bench.figures.outputs;
      return "streams" in derived! && derived.streams.includes("alarms");
    },
    expected: [false, true],
  },
  "outputs.derived.minPixels": {
    to: { "outputs.derived.minPixels": 100_000 },
    see: async (bench) => (await zone(bench))[ZONE],
    expected: [
      { nearestMetres: expect.any(Number), matchedShare: expect.any(Number) },
      expect.objectContaining({ nearestMetres: expect.objectContaining({ available: false }) }),
    ],
  },
  "outputs.derived.quality": derivedTopic("quality"),
  "outputs.derived.qualityWindow": {
    with: { "outputs.derived.quality": true },
    see: async (bench) => (await bench.json("quality")).plane,
  },
  "outputs.derived.scan": derivedTopic("scan"),
  "outputs.derived.scanTop": { ...scan(), to: { "outputs.derived.scanTop": 0.1 } },
  "outputs.derived.scanBottom": { ...scan(), to: { "outputs.derived.scanBottom": 1 } },
  "outputs.derived.scanRays": {
    ...scan(async (bench) => (await ranges(bench)).length),
    expected: [64, 16],
  },
  "outputs.derived.scanMinPixels": { ...scan(), to: { "outputs.derived.scanMinPixels": 64 } },
  "outputs.ros.image": rosTopics("depth", false),
  "outputs.ros.points": rosTopics("points", false),
  "outputs.ros.voxels": rosTopics("voxels", false),
  "outputs.ros.right": rosTopics("right", false),
  "outputs.ros.confidence": rosTopics("confidence", true),
  "outputs.ros.cameraInfo": rosTopics("camera_info", true),
  "outputs.ros.compressedDepth": {
    see: async (bench) =>
      /compressedDepth \w+/.exec((await bench.next("ros/compressedDepth")).toString("latin1"))![0],
    expected: ["compressedDepth rvl", "compressedDepth png"],
  },
  "outputs.ros.frameId": {
    see: async (bench) => {
      await bench.frame();
      const texts = ["camera_info", "compressedDepth", "confidence"].map(async (topic) => {
        const body = await until(topic, () => bench.of(`ros/${topic}`)[0]);
        return /left_rectified|camera/.exec(body.toString("latin1"))![0];
      });
      return Promise.all(texts);
    },
    expected: [Array(3).fill("left_rectified"), Array(3).fill("camera")],
  },
  "outputs.homeAssistant.announced": turns((bench) => bench.announced, [true, false]),
  "outputs.metricsIntervalMs": {
    see: (bench) => {
      const before = bench.metrics;
      vi.advanceTimersByTime(3000);
      return bench.metrics - before;
    },
    expected: [3, 10],
  },
  "power.budgetWatts": {
    to: { "power.budgetWatts": 500 },
    see: ({ figures: { governor } }) => governor.available && governor.budgetWatts,
    expected: [false, 500],
  },
  "power.dutyCycle.frames": {
    to: { "power.dutyCycle.frames": 100_000 },
    see: ({ figures: { dutyCycle } }) => dutyCycle.available,
    expected: [false, true],
  },
  "power.dutyCycle.everySeconds": {
    to: { "power.dutyCycle.everySeconds": 0.1 },
    see: (bench) => afterFrame(bench),
    expected: ["asleep", "awake"],
  },
  "power.dutyCycle.wake": {
    with: { "power.dutyCycle.everySeconds": 0.1 },
    see: (bench) => afterFrame(bench),
    expected: ["awake", "asleep"],
  },
  "power.dutyCycle.settleSeconds": {
    see: async (bench) => {
      const before = bench.figures.drops.settling ?? 0;
      await afterFrame(bench, async () => {
        const { length } = bench.openedWith;
        bench.runtime.parts.duty.request();
        await until("the first pair", () => bench.openedWith.length > length && bench.isDone);
      });
      return (bench.figures.drops.settling ?? 0) > before;
    },
    expected: [true, false],
  },
  "power.minFps": {
    see: ({ figures: { governor } }) => governor.available && governor.minFps,
    expected: [false, 1],
  },
};

const REDUCED: Record<string, Effect> = {
  "outputs.mqtt.depth.reduceToFit": reduced("depth", { "outputs.mqtt.depth.encoding": "raw" }),
  "outputs.mqtt.disparity.reduceToFit": reduced("disparity", { "outputs.mqtt.disparity.encoding": "raw" }),
  "outputs.mqtt.confidence.reduceToFit": reduced("confidence"),
  "outputs.mqtt.left.reduceToFit": reduced("left"),
  "outputs.mqtt.right.reduceToFit": reduced("right"),
  "outputs.mqtt.points.reduceToFit": reduced("points", {}, 4),
};

const VOXELS: Record<string, Effect> = {
  "voxels.sizeMillimetres": {
    see: async (bench) => parseFrame(await bench.next("points")).header.unitScale,
    expected: [0.05, 0.2],
  },
  "voxels.uncertaintyPixels": {
    see: async (bench) => hashParts(parseFrame(await bench.next("points")).body),
  },
  "outputs.mqtt.points.rateHz": {
    to: { "outputs.mqtt.points.rateHz": 0.5 },
    see: (bench) => bench.limited("mqtt.points"),
    expected: [false, true],
  },
};

const readHealth = ({ figures: { health } }: Bench) => ("looks" in health ? health : undefined);
/** Plays frames until the watch over the rig reports the awaited state. */
async function watched<T>(bench: Bench, state: () => T, awaited: T): Promise<T> {
  for (let frames = 0; frames < 60 && (frames < 5 || state() !== awaited); frames++) await bench.frame(3000);
  return state();
}
const alarm = (before: Values, to: Values): Effect => ({
  with: before,
  to,
  see: (bench, awaited) => watched(bench, () => readHealth(bench)?.problem?.code, awaited),
  expected: ["RIG_MOVED", undefined],
});
const corrected = (bench: Bench) => {
  const correction = readHealth(bench)!.correction;
  if (!("changes" in correction)) return "off";
  return correction.refused !== null ? "refused" : correction.changes > 0 ? "corrected" : "waiting";
};

/** The right camera has turned by 0.3 degrees. */
const MOVED: Record<string, Effect> = {
  "health.enabled": { see: (bench) => readHealth(bench) !== undefined, expected: [true, false] },
  "health.maxRows": alarm({ "health.maxDegrees": 10 }, { "health.maxRows": 50 }),
  "health.maxDegrees": alarm({ "health.maxRows": 50 }, { "health.maxDegrees": 10 }),
  "health.correct": {
    to: { "health.correct": true },
    see: (bench, awaited) => watched(bench, () => corrected(bench), awaited),
    expected: ["off", "corrected"],
  },
  "health.driftFile": {
    to: { "health.driftFile": join(FOLDER, "drift.json") },
    see: (bench) => watched(bench, () => existsSync(join(FOLDER, "drift.json")), true),
    expected: [false, true],
  },
  "health.maxCorrectionDegrees": {
    with: { "health.correct": true },
    to: { "health.maxCorrectionDegrees": 0.1 },
    see: (bench, awaited) => watched(bench, () => corrected(bench), awaited),
    expected: ["corrected", "refused"],
  },
};

/** Asks for a calibration file and takes it back. Returns the error's code. */
const accepted = (file: string) => async (bench: Bench) => {
  const { file: before } = bench.runtime.config.calibration;
  try {
    await bench.set({ "calibration.file": join(FOLDER, file) });
  } catch (error) {
    return (error as { code: string }).code;
  }
  await bench.set({ "calibration.file": before! });
  return "accepted";
};

const kalibrCamera = (name: string, more: string) => `${name}:
  camera_model: pinhole
  distortion_coeffs: [0, 0, 0, 0]
  distortion_model: radtan
  intrinsics: [130, 130, 79.5, 47.5]
  resolution: [160, 96]
${more}`;
/** Its second camera is the left one. */
const CHAIN =
  kalibrCamera("cam0", "") +
  kalibrCamera("cam1", "  T_cn_cnm1: [[1, 0, 0, 0.12], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]\n");

/** Looks at twelve frames with new noise: whether fewer than this share of the disparities of the last two differ. */
const isCalm = (share: number) => async (bench: Bench) => {
  bench.moving = true;
  const frames = [];
  for (let i = 0; i < 12; i++) {
    await bench.frame(30);
    frames.push(bench.newest.slot.disparityQ4.slice());
  }
  bench.moving = false;
  const [last, before] = frames.reverse() as [Int16Array, Int16Array];
  return last.filter((value, i) => value !== before[i]).length / last.length < share;
};

const IMAGES: Record<string, Effect> = {
  "match.average": { see: isCalm(0.55), expected: [false, true] },
  "refine.temporal": { see: isCalm(0.55), expected: [false, true] },
  "depth.maxMetres": {
    to: { "depth.maxMetres": 4 },
    see: async (bench) => {
      const { header, body } = parseFrame(await bench.next("depth"));
      return (decodeBody(header, body) as Uint16Array).some((millimetres) => millimetres > 4000);
    },
    expected: [true, false],
  },
  "calibration.file": { to: { "calibration.file": `${FOLDER}/other.json` }, see: (bench) => pictures(bench) },
  "calibration.allowScaling": {
    see: accepted("doubled.json"),
    expected: ["CALIBRATION_SIZE_MISMATCH", "accepted"],
  },
  "calibration.leftName": {
    to: { "calibration.leftName": "cam1" },
    see: accepted("chain.yaml"),
    expected: ["CALIBRATION_INVALID", "accepted"],
  },
  "log.level": { see: (bench) => bench.currentConfig.log.level, expected: ["info", "debug"] },
};

/** Hashes of the newest maps and of a message of every stream that is on. */
async function pictures(bench: Bench): Promise<object> {
  const { mqtt } = bench.runtime.config.outputs;
  const on = STREAMS.filter((stream) => mqtt[stream].enabled);
  await bench.frame();
  const bodies = on.map((stream) => until(`a message of ${stream}`, () => bench.of(stream).at(-1)));
  const messages = (await Promise.all(bodies)).map((body, i) => {
    if (on[i] === "preview") return body.subarray(0, 4).toString("latin1");
    const { header } = parseFrame(body);
    return [header.encoding, header.element, header.width, header.height];
  });
  return { maps: bench.maps, on, messages };
}

/** Sets each of these settings alone, and looks before and afterwards. */
async function expectEffects(bench: Bench, effects: Record<string, Effect>): Promise<void> {
  const wrong: string[] = [];
  const start = bench.runtime.config;
  let back: Values = {};
  for (const [key, effect] of Object.entries(effects)) {
    const change = CHANGES[key] as Change | undefined;
    const before = effect.with ?? change?.with ?? {};
    const to = effect.to ?? change?.to;
    if (to === undefined) throw new Error(`${key}: no change of it is known`);
    try {
      await bench.set({ ...back, ...before });
      const names = Object.keys({ ...before, ...to });
      back = Object.fromEntries(names.map((name) => [name, bench.valueOf(name, start)]));
      const found = await effect.see(bench, effect.expected?.[0]);
      await bench.set(to);
      const then = await effect.see(bench, effect.expected?.[1]);
      if (effect.expected === undefined) expect(then, `${key} acts`).not.toEqual(found);
      else expect([found, then], `${key} acts`).toEqual(effect.expected);
    } catch (error) {
      wrong.push(`${key}: ${(error as Error).message}`);
    }
  }
  expect(wrong).toEqual([]);
}

const SIZE = { width: 160, height: 96 };

describe("every live setting acts", () => {
  test("of the outputs, the metrics and the governor", async () => {
    const bench = new Bench();
    await bench.open(
      SIZE,
      ...["outputs.ros.enabled=true", "outputs.derived.enabled=true", "outputs.homeAssistant.enabled=true"],
      ...["outputs.viewer.enabled=true", "outputs.foxglove.enabled=true", "outputs.video.enabled=true"],
      "health.enabled=false",
      `outputs.mcap.file=${RECORDING}`,
      `outputs.sharedMemory.path=${FOLDER}/frames.sock`,
      "outputs.command.command=cat",
    );
    const shared = readSharedFrames(join(FOLDER, "frames.sock"), "left", { timeoutMs: 60_000 });
    const first = shared.next();
    void first.catch(() => {}).then(() => cleanups.push(() => void shared.return()));
    await until("a reader of shared memory", () => {
      const { sharedMemory } = bench.figures.outputs;
      return "streams" in sharedMemory! && sharedMemory.streams.includes("left");
    });
    const [, url] = bench.runtime.parts.outputs.greeting().find(([label]) => label === "page")!;
    const page = new WebSocket(`${new URL(url).origin.replace("http", "ws")}/live`);
    page.on("message", () => page.send(JSON.stringify({ type: "next" })));
    await new Promise((resolve) => page.on("open", resolve));
    page.send(JSON.stringify({ type: "watch", device: "scripted", streams: ["depth"] }));
    cleanups.push(() => page.terminate());
    const [, address] = bench.runtime.parts.outputs.greeting().find(([label]) => label === "foxglove")!;
    const socket = new WebSocket(address, ["foxglove.websocket.v1"]);
    cleanups.push(() => socket.terminate());
    const foxglove = new FoxgloveClient({ ws: socket as never });
    foxglove.on("advertise", (channels) => foxglove.subscribe(channels!.at(-1)!.id));
    await until(
      "a channel of foxglove",
      () =>
        "streams" in bench.figures.outputs.foxglove! &&
        (bench.figures.outputs.foxglove.streams as string[]).length > 0,
    );
    const [, pictures] = bench.runtime.parts.outputs.greeting().find(([label]) => label === "video")!;
    const picture = get(pictures.split(" ")[0]!);
    cleanups.push(() => picture.destroy());
    await new Promise((resolve) => picture.on("response", resolve));
    await expectEffects(bench, OUTPUTS);
  });

  test("of streams whose pictures are too large", async () => {
    const bench = new Bench();
    await bench.open(
      SIZE,
      "outputs.mqtt.maxPayloadBytes=9000",
      "points.element=int16",
      "health.enabled=false",
    );
    await expectEffects(bench, REDUCED);
  });

  test("of voxels", async () => {
    const bench = new Bench();
    await bench.open(SIZE, "health.enabled=false");
    await expectEffects(bench, VOXELS);
  });

  test("of the watch over a rig that has moved", async () => {
    const bench = new Bench();
    await bench.open({ width: 320, height: 240, turnedDegrees: [0.3, 0, 0] }, "health.enabled=true");
    await expectEffects(bench, MOVED);
  });

  test("of the input: another source is opened with it", async () => {
    const bench = new Bench();
    await bench.open(SIZE, "health.enabled=false");
    const wrong: string[] = [];
    for (const setting of LIVE.filter(({ key }) => SOURCE.test(key))) {
      const { key } = setting;
      const kind = key === "source.kind" ? "v4l2" : key.split(".")[1]!;
      const alone = key.endsWith(".sideBySide") ? unset(NEEDED[kind]!) : {};
      const value = key === "source.kind" ? "synthetic" : differentValue(setting);
      await bench.set({ "source.kind": kind, ...NEEDED[kind] });
      const opened = bench.openedWith.length;
      await bench.set({ ...(kind === "v4l2" && OTHER_CAMERAS), ...alone, [key]: value });
      const config = bench.openedWith.slice(opened).at(-1);
      // Paths are made absolute.
      const used = config && String(bench.valueOf(key, config)).endsWith(String(value));
      if (used !== true) wrong.push(key);
      const back = { [key]: (settingDefault(setting) ?? null) as Values[string] };
      await bench.set({ ...back, ...unset(NEEDED[kind]!), "source.kind": "v4l2", ...NEEDED.v4l2 });
    }
    expect(wrong).toEqual([]);
  });

  test("of the computation and of the streams", async () => {
    const bench = new Bench();
    writeCalibration("doubled.json", { width: 2 * SIZE.width, height: 2 * SIZE.height });
    writeCalibration("other.json", { ...SIZE, view: "rectified" });
    writeFileSync(join(FOLDER, "chain.yaml"), CHAIN);
    await bench.open(SIZE, "health.enabled=false");
    const elsewhere = { ...OUTPUTS, ...REDUCED, ...VOXELS, ...MOVED, ...IMAGES };
    const rest = LIVE.filter((setting) => {
      if (setting.key in elsewhere || SOURCE.test(setting.key)) return false;
      try {
        return differentValue(setting) !== undefined;
      } catch {
        // It has one value, which nothing can change.
        return false;
      }
    });
    const effects = rest.map(({ key }) => [key, { see: pictures }]);
    await expectEffects(bench, { ...IMAGES, ...Object.fromEntries(effects) });
  });
});

const unset = (values: Values): Values => Object.fromEntries(Object.keys(values).map((key) => [key, null]));
const SOURCE = /^source\./;
/** A camera cannot be opened twice. */
const OTHER_CAMERAS = { "source.v4l2.left": "/none/other-left", "source.v4l2.right": "/none/other-right" };
/** Settings without which a source is refused. */
const NEEDED: Record<string, Values> = {
  v4l2: { "source.v4l2.left": "/none/left", "source.v4l2.right": "/none/right" },
  replay: { "source.replay.left": "/none/left", "source.replay.right": "/none/right" },
  mcap: { "source.mcap.file": "/none.mcap" },
  synthetic: {},
};
