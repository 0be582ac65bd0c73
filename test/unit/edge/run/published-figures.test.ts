// SPDX-License-Identifier: Apache-2.0
// Every number that a run publishes, computed a second time from the maps, times and watts that this test scripts: summary,
// metrics, info, camera_info, frames and Prometheus. Whole documents are compared, so a new number needs its line here.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { withHash } from "../../../../camera/calibration/index.js";
import { decodeBody } from "../../../../clients/javascript/src/decode.js";
import { parseFrame } from "../../../../core/frame/payload.js";
import { encodeRvl, rvlMaxBytes } from "../../../../core/frame/rvl.js";
import { ENCODED_HEADROOM_BYTES, type FrameResult, STAGE_NAMES } from "../../../../cuda/index.js";
import {
  type Buckets,
  ENERGY_BUCKETS,
  SKEW_BUCKETS,
  TIME_BUCKETS,
} from "../../../../edge/contracts/bucket-counts.js";
import { VERSION } from "../../../../edge/contracts/version.js";
import { FAMILIES } from "../../../../edge/outputs/prometheus/families.js";
import { OUTPUT_KINDS } from "../../../../edge/outputs/section.js";
import type { RunFigures } from "../../../../edge/run/figures.js";
import { Meter } from "../../../../power/index.js";
import {
  CONTEXT,
  ENGINE_INFO,
  INVALID,
  nearestRank,
  SCRIPTED_UNCERTAINTY,
  scriptedSensor,
  stageMs,
  stageTimes,
} from "../../../doubles/figures.js";
import { recordedDocuments } from "../../../doubles/recordings.js";
import { ScriptedSource, script } from "../../../doubles/run-script.js";
import { PUBLISH, type Received, startScriptedBroker } from "../../../doubles/scripted-broker.js";
import { openScriptedRun } from "../../../doubles/scripted-run.js";

vi.mock("../../../../edge/run/open-source.js", async () => {
  const { sourceModule } = await import("../../../doubles/run-script.js");
  return sourceModule;
});
vi.mock("../../../../cuda/engine/binding/engine.js", async () => {
  const { engineModule } = await import("../../../doubles/run-script.js");
  return engineModule;
});
vi.mock("../../../../edge/power/open-meter.js", async () => {
  const { meterModule } = await import("../../../doubles/run-script.js");
  return meterModule;
});

const cleanups: (() => unknown)[] = [];
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance", "hrtime"] });
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const [WIDTH, HEIGHT, DISPARITIES] = [96, 64, 32];
const PIXELS = WIDTH * HEIGHT;
const [FOCAL, BASELINE] = [80, 0.1];
const K = [FOCAL, 0, 47.5, 0, FOCAL, 31.5, 0, 0, 1];
const IDENTITY = [1, 0, 0, 0, 1, 0, 0, 0, 1];
const CALIBRATION = withHash({
  imageSize: { width: WIDTH, height: HEIGHT },
  left: { name: "a", K: K as never, distortion: { model: "none", coefficients: [] } },
  right: { name: "b", K: K as never, distortion: { model: "none", coefficients: [] } },
  R: IDENTITY as never,
  T: [-BASELINE, 0, 0],
  given: {
    R1: IDENTITY as never,
    R2: IDENTITY as never,
    P1: [FOCAL, 0, 47.5, 0, 0, FOCAL, 31.5, 0, 0, 0, 1, 0],
    P2: [FOCAL, 0, 47.5, -FOCAL * BASELINE, 0, FOCAL, 31.5, 0, 0, 0, 1, 0],
  },
  files: [],
});

/** Milliseconds from capture to the end of the computation, which here is the moment of sending too. */
const scriptedLatency = (frame: number) => 20 + ((7 * frame) % 13);

interface Maps {
  disparityQ4: Int16Array;
  confidence: Uint8Array;
  depthMillimetres: Uint16Array;
}

/** Maps of a frame: some pixels invalid, some filled, some at the end of the search, each frame with other shares. */
function makeMaps(frame: number): Maps {
  const disparityQ4 = new Int16Array(PIXELS).fill(INVALID);
  const confidence = new Uint8Array(PIXELS);
  const depthMillimetres = new Uint16Array(PIXELS);
  for (let i = 0; i < PIXELS; i++) {
    const kind = (i * 7919 + frame * 104_729) % 100;
    if (kind < 10 + frame) continue;
    disparityQ4[i] = kind < 14 + frame ? 16 * (DISPARITIES - 2) + (i % 32) : 16 + (i % 400);
    if (kind < 80) confidence[i] = 1 + (i % 255);
    depthMillimetres[i] = Math.round((1000 * FOCAL * BASELINE * 16) / disparityQ4[i]!);
  }
  return { disparityQ4, confidence, depthMillimetres };
}

const count = (maps: Maps, holds: (disparityQ4: number, confidence: number) => boolean) =>
  maps.disparityQ4.reduce((sum, d, i) => sum + Number(holds(d, maps.confidence[i]!)), 0);
const validIn = (maps: Maps) => count(maps, (d) => d !== INVALID);
const matchedIn = (maps: Maps) => count(maps, (d, c) => d !== INVALID && c > 0);
const atEndIn = (maps: Maps) => count(maps, (d, c) => d !== INVALID && c > 0 && d / 16 >= DISPARITIES - 2);
/** Distinct numbers that no other figure has. */
const droppedIn = (frame: number) => ({
  filled: 1 + frame,
  lowConfidence: 40,
  tooNear: 7,
  tooFar: 3 * frame,
});

const CLOCKS = {
  left: { origin: "tsc", bus: "vi", offsetMs: -29012.4, source: "counter", uncertaintyMs: 0.0001, jumps: 0 },
};

/** An engine that finishes each frame on request, with the maps of its number. */
class MapEngine {
  readonly info = ENGINE_INFO;
  readonly framesInFlight = 1;
  readonly slots;
  stageMilliseconds = new Float64Array(STAGE_NAMES.length);
  pending: { slot: number; onDone: (error: Error | null, result: FrameResult) => void } | undefined;
  computed = 0;

  constructor(slots: number) {
    const view = (bytes: number) =>
      new Uint8Array(new ArrayBuffer(ENCODED_HEADROOM_BYTES + bytes), ENCODED_HEADROOM_BYTES);
    this.slots = Array.from({ length: slots }, () => ({
      left: view(PIXELS),
      leftRgb: view(0),
      right: view(PIXELS),
      disparityQ4: new Int16Array(PIXELS),
      confidence: view(PIXELS),
      depthMillimetres: new Uint16Array(PIXELS),
      encodedDepth: view(rvlMaxBytes(PIXELS)),
      encodedDisparity: view(0),
      points: view(0),
    }));
  }

  submit(
    slot: number,
    _left: Uint8Array,
    _right: Uint8Array,
    onDone: NonNullable<MapEngine["pending"]>["onDone"],
  ) {
    this.pending = { slot, onDone };
  }

  finish(): void {
    const { slot, onDone } = this.pending!;
    this.pending = undefined;
    const frame = this.computed++;
    const maps = makeMaps(frame);
    const { disparityQ4, confidence, depthMillimetres, encodedDepth } = this.slots[slot]!;
    disparityQ4.set(maps.disparityQ4);
    confidence.set(maps.confidence);
    depthMillimetres.set(maps.depthMillimetres);
    this.stageMilliseconds = stageTimes(frame);
    onDone(null, {
      slot,
      encodedDepthBytes: encodeRvl(maps.depthMillimetres, encodedDepth),
      encodedDisparityBytes: 0,
      validPixels: validIn(maps),
      matchedPixels: matchedIn(maps),
      droppedPixels: droppedIn(frame),
    });
  }

  setRightMap(): void {}
  close(): void {}
}

const COUNTED = {
  dropsLeft: { driver: 3, unmatched: 2 },
  dropsRight: { errorFlag: 4 },
  skewMsMean: 1.25,
  skewMsP99: 3.5,
  driftPpm: -7.5,
};

/** Two rails: 4 W and 1 W while idle, 10 W and 2.5 W afterwards. The first one is the total. */
const IDLE = { main: 4, gpu: 1 };
const BUSY = { main: 10, gpu: 2.5 };
const IDLE_SECONDS = 3;

function scriptPower(): void {
  let watts = IDLE;
  const sensor = scriptedSensor(() => watts);
  script.openMeter = () =>
    new Meter({ sensor, rateHz: 50, clock: () => process.hrtime.bigint(), readContext: () => CONTEXT });
  // As the meter does it, on the clock of the test.
  vi.spyOn(Meter.prototype, "measureIdle").mockImplementation(async function (this: Meter, seconds) {
    const from = process.hrtime.bigint();
    vi.advanceTimersByTime(1000 * seconds);
    const measured = this.setIdleBaseline(from, process.hrtime.bigint());
    watts = BUSY;
    return measured;
  });
}

/** Waits on the real clock. */
async function until(what: string, holds: () => boolean): Promise<void> {
  for (let tries = 0; tries < 1000; tries++) {
    if (holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`waited in vain until ${what}`);
}

const round3 = (value: number) => Math.round(1000 * value) / 1000;
const percentiles = (values: readonly number[]) => ({
  p50: round3(nearestRank(values, 0.5)),
  p95: round3(nearestRank(values, 0.95)),
  p99: round3(nearestRank(values, 0.99)),
});
const near = (value: number) => expect.closeTo(value, 6);

const FRAMES = 24;
/** Skews of all pairs that arrive. Two pairs have one time for both images, and the first of these is dropped. */
const SKEWS = [...Array.from({ length: FRAMES - 1 }, () => 2.5), 0, 0];

/** Plays a run. @param clock of the captured pairs */
async function play(clock: "monotonic" | "file", periodMs = 100, settings: readonly string[] = []) {
  scriptPower();
  let engine: MapEngine | undefined;
  let source!: ScriptedSource;
  script.openSource = () => {
    const images = { left: new Uint8Array(PIXELS), right: new Uint8Array(PIXELS) };
    source = new ScriptedSource(7, { width: WIDTH, height: HEIGHT }, () => images, { clock, rateHz: 10 });
    Object.assign(source, { captureClocks: () => (source.counters().pairs > 0 ? CLOCKS : {}) });
    Object.assign(source.description, { formatChoice: "takes GREY" });
    return { source, calibration: CALIBRATION };
  };
  script.openEngine = ({ slots }) => {
    // The watch of the search range asks for another one, to propose a range.
    if (engine !== undefined) throw new Error("one engine is enough");
    engine = new MapEngine(slots);
    return engine as never;
  };
  const messages: Received[] = [];
  const broker = await startScriptedBroker((packet, session) => {
    session.answer(packet);
    if (packet.type === PUBLISH) messages.push(packet);
  });
  cleanups.push(() => broker.close());
  const metrics: RunFigures[] = [];
  const runtime = await openScriptedRun(
    [
      `outputs.mqtt.broker=${broker.url}`,
      "outputs.prometheus.enabled=true",
      "calibration.crop=given",
      "outputs.metricsIntervalMs=1000",
      `power.idleSeconds=${IDLE_SECONDS}`,
      `match.numDisparities=${DISPARITIES}`,
      "region.x=16",
      "region.width=80",
      ...settings,
    ],
    {
      onFigures: (figures) => metrics.push(structuredClone(figures)),
    },
  );
  const running = runtime.run();
  await until("the run began", () => source.events !== undefined);
  const begun = performance.now();
  const arrived: bigint[] = [];
  const topic = (name: string) =>
    messages.filter((message) => message.topic === `depthwatt/scripted/${name}`).map(readBody);
  for (let frame = 0; frame < FRAMES; frame++) {
    vi.advanceTimersByTime(periodMs);
    const now = process.hrtime.bigint();
    arrived.push(now);
    const captured =
      clock === "file"
        ? 1_600_000_000_000_000_000n + BigInt(frame) * 33_000_000n
        : now - BigInt(scriptedLatency(frame)) * 1_000_000n;
    const rightLater = 2_500_000n;
    source.deliver(captured, captured + rightLater);
    if (frame === 5) {
      // Two more while it computes: the older one goes.
      source.deliver(captured, captured);
      source.deliver(captured, captured);
    }
    engine!.finish();
    if (frame === 5) {
      frame++;
      arrived.push(now);
      engine!.finish();
    }
    await until("the frame was received", () => topic("depth").length === frame + 1);
    await until("its lease ended", () => runtime.totals!.outputs.mqtt!.sent === frame + 1);
  }
  return { runtime, source, running, begun, metrics, topic, arrived, messages };
}

const readBody = ({ bytes, payloadBytes }: Received) => bytes.subarray(bytes.length - payloadBytes);
const newest = (documents: Buffer[]) => JSON.parse(documents.at(-1)!.toString());

/** Frame 6 was captured with frame 5. */
const latencies = Array.from({ length: FRAMES }, (_, frame) => scriptedLatency(frame === 6 ? 5 : frame));

test("summary, metrics, info, camera_info, frames and Prometheus of a scripted run", async () => {
  // Text and readiness of the page are none of this test's.
  const { runtime, source, running, begun, metrics, topic, messages } = await play("monotonic");
  source.counted = COUNTED;
  const all = Array.from({ length: FRAMES }, (_, frame) => makeMaps(frame));
  const asked = FRAMES * 80 * HEIGHT;
  const sum = (of: (maps: Maps, frame: number) => number) =>
    all.reduce((total, maps, i) => total + of(maps, i), 0);
  const share = (pixels: number) => round3((100 * pixels) / asked);
  const dropped = (cause: "filled" | "lowConfidence" | "tooNear" | "tooFar") =>
    sum((_, frame) => droppedIn(frame)[cause]);

  const scrape = await (await fetch(`${pageUrl(runtime)}/metrics`)).text();
  const totals = runtime.totals!;
  const seconds = (performance.now() - begun) / 1000;
  runtime.stop();
  const figures = await running;

  const { power } = figures;
  if (!power.available) throw new Error(power.reason);
  // From the first reading of the run on, at most a fiftieth of a second after its begin.
  const { windowSeconds } = power;
  expect(windowSeconds).toBeGreaterThan(seconds - 0.021);
  expect(windowSeconds).toBeLessThanOrEqual(seconds);
  const joules = BUSY.main * windowSeconds;
  const megaDisparities = (80 * HEIGHT * DISPARITIES) / 1e6;
  // One frame a second is sampled: those computed 0.1, 1.1 and 2.1 s after the begin.
  const sampled = 21;
  const drops = {
    engineBusy: 1,
    "left.driver": 3,
    "left.unmatched": 2,
    "right.errorFlag": 4,
  };
  const sentBytes = topic("depth").reduce((total, body) => total + body.length, 0);
  const expected: RunFigures = {
    frames: FRAMES,
    seconds: round3(seconds),
    fps: round3(FRAMES / seconds),
    backend: "cpu",
    backendReason: "as the test says",
    instructionSet: "scalar",
    algorithm: "sgm",
    search: ENGINE_INFO.search,
    width: WIDTH,
    height: HEIGHT,
    validPercent: share(sum(validIn)),
    matchedPercent: share(sum(matchedIn)),
    atRangeEndPercent: expect.closeTo((100 * atEndIn(all[sampled]!)) / matchedIn(all[sampled]!), 3),
    droppedPercent: {
      filled: share(dropped("filled")),
      lowConfidence: share(dropped("lowConfidence")),
      tooNear: share(dropped("tooNear")),
      tooFar: share(dropped("tooFar")),
    },
    verticalOffset: {
      measuredRows: 1.25,
      appliedRows: 1.5,
      measuredRowsOverWidth: 2.25,
      appliedRowsOverWidth: 2.5,
    },
    noise: { sigma: 3.46, smoothed: true },
    health: { available: false, reason: expect.stringContaining("health.enabled") },
    stages: Object.fromEntries(
      STAGE_NAMES.map((name, stage) => {
        const { p50, p95, p99 } = percentiles(all.map((_, frame) => stageMs(stage, frame)));
        return [name, { p50Ms: p50, p95Ms: p95, p99Ms: p99 }];
      }),
    ),
    latencyMs: percentiles(latencies),
    drops,
    pairing: {
      skewMsMean: 1.25,
      skewMsP99: 3.5,
      skewMsHistogram: {
        upToMs: SKEW_BUCKETS.bounds,
        pairs: SKEW_BUCKETS.bounds.map((bound) => SKEWS.filter((skewMs) => skewMs <= bound).length),
        allPairs: SKEWS.length,
      },
      driftPpm: -7.5,
      unmatchedLeft: 2,
      unmatchedRight: 0,
      other: { available: false, reason: "the source has no further camera" },
    },
    power: {
      available: true,
      reason: "main feeds all",
      sensor: "scripted",
      watts: near(BUSY.main),
      wattsUncertainty: near(SCRIPTED_UNCERTAINTY),
      idleWatts: near(IDLE.main),
      joules: near(joules),
      joulesPerFrame: near(joules / FRAMES),
      joulesPerFrameNet: near((joules - IDLE.main * windowSeconds) / FRAMES),
      fpsPerWatt: near(FRAMES / joules),
      mdePerJoule: near((megaDisparities * FRAMES) / joules),
      rails: {
        main: rail(BUSY.main, windowSeconds),
        gpu: rail(BUSY.gpu, windowSeconds),
      },
      windowSeconds,
      frames: FRAMES,
      sampling: {
        rateHz: 50,
        by: "timer",
        userPercent: unavailable("JavaScript thread"),
        busReadPercent: unavailable("JavaScript thread"),
        timerPercent: unavailable("JavaScript thread"),
      },
      context: CONTEXT,
      changed: [],
    },
    governor: { available: false, reason: expect.stringContaining("power.budgetWatts") },
    dutyCycle: { available: false, reason: expect.stringContaining("power.dutyCycle.frames") },
    outputs: {
      ...Object.fromEntries(
        OUTPUT_KINDS.map((kind) => [kind, { available: false, reason: expect.any(String) }]),
      ),
      mqtt: {
        streams: ["depth"],
        sent: FRAMES,
        bytes: sentBytes,
        latencyMs: percentiles(latencies),
        problem: null,
        connected: true,
        reason: expect.stringContaining("MQTT 5"),
        sentByStream: { depth: FRAMES },
      },
      prometheus: {
        streams: [],
        sent: 1,
        bytes: Buffer.byteLength(scrape),
        latencyMs: unavailable("no frame"),
        problem: null,
        cutOff: 0,
        refusedBusy: 0,
      },
    },
  };
  expect(figures).toEqual(expected);

  // The metrics: the same shape over the newest seconds, received as they were handed on.
  expect(metrics.length).toBe(2);
  const published = topic("metrics").map((body) => JSON.parse(body.toString()));
  expect(published.slice(0, 2)).toEqual(metrics);
  const second = metrics[1]!;
  const inSummary = new Set(fieldsOf(figures));
  expect(fieldsOf(second).filter((name) => !inSummary.has(name))).toEqual([]);
  // At 2 s after the begin, 20 frames came in 1.8 s; those captured in the window of 5 s are joined to its energy.
  expect(second).toMatchObject({ frames: 20, seconds: 2, fps: expect.closeTo(19 / 1.8, 0) });
  expect(second.power).toMatchObject({ watts: near(BUSY.main), frames: 20, idleWatts: near(IDLE.main) });
  expect(second.latencyMs).toEqual(percentiles(latencies.slice(0, 20)));

  expect(newest(topic("info"))).toEqual({
    version: VERSION,
    board: "none",
    source: "source 7",
    backend: "cpu",
    backendReason: "as the test says",
    instructionSet: "scalar",
    threads: 3,
    algorithm: "sgm",
    parameters: {
      match: expect.objectContaining({
        minDisparity: 0,
        numDisparities: DISPARITIES,
        halfResolution: false,
        paths: 4,
      }),
      refine: runtime.config.refine,
    },
    search: ENGINE_INFO.search,
    region: { x: 16, y: 0, width: 80, height: HEIGHT },
    depth: { minMetres: 0, maxMetres: 0 },
    width: WIDTH,
    height: HEIGHT,
    correction: unavailable("health"),
    drift: unavailable("health"),
    // The clock of this machine has its own tests.
    captureClocks: CLOCKS,
    captureFormat: "takes GREY",
    captureMemory: {},
    memory: {
      images: "pinned-copy",
      imagesMicroseconds: 31.5,
      results: "copied",
      resultsMicroseconds: 62,
    },
    wallClock: expect.any(Object),
    streams: ["depth"],
    limits: { maxPayloadBytes: expect.any(Number), maxPendingBytes: expect.any(Number) },
    control: unavailable("control"),
  });
  // Without clocks until the first image came.
  expect(JSON.parse(topic("camera_info")[0]!.toString())).not.toHaveProperty("captureClocks");
  expect(newest(topic("camera_info"))).toEqual({
    width: WIDTH,
    height: HEIGHT,
    K,
    P: CALIBRATION.given!.P1,
    rightP: CALIBRATION.given!.P2,
    // OpenCV's form: disparity to depth, with the same principal points.
    Q: [1, 0, 0, -47.5, 0, 1, 0, -31.5, 0, 0, 0, FOCAL, 0, 0, near(1 / BASELINE), 0],
    captureClocks: CLOCKS,
    baselineMetres: near(BASELINE),
    focalPixels: FOCAL,
    disparityOffsetPixels: 0,
    calibrationHash: CALIBRATION.hash,
  });
  const { runId } = parseFrame(topic("depth")[0]!).header;
  expect(topic("state").map((body) => JSON.parse(body.toString()))).toEqual([
    { state: "online", reason: "source 7", runId },
    { state: "stopped", reason: "depthwatt was stopped", runId },
  ]);
  const names = new Set(messages.map(({ topic: name }) => name.replace("depthwatt/scripted/", "")));
  expect([...names].sort()).toEqual(["camera_info", "depth", "info", "metrics", "state"]);

  const frames = topic("depth").map((body) => parseFrame(body));
  const intervals: number[] = [];
  for (const [frame, { header, body }] of frames.entries()) {
    expect(decodeBody(header, body), `frame ${frame}`).toEqual(all[frame]!.depthMillimetres);
    // The pair that came while frame 5 was computed has one time for both images, and the one before it was dropped.
    const shift = frame > 5 ? 1 : 0;
    const { energy: _, ...described } = header;
    expect(described).toEqual({
      stream: "depth",
      encoding: "rvl",
      element: "u16",
      quantity: "depthMetres",
      width: WIDTH,
      height: HEIGHT,
      frameNumber: frame,
      runId,
      // A random number of the boot.
      clockDomain: expect.any(Number),
      leftSequence: frame + shift,
      rightSequence: 1000 + frame + shift,
      leftTimestampNs: expect.any(BigInt),
      rightTimestampNs: header.leftTimestampNs + (frame === 6 ? 0n : 2_500_000n),
      realtimeOffsetNs: expect.any(BigInt),
      unitScale: 0.001,
      valueOffset: 0,
      invalidRule: "zero",
      reduction: 1,
      points: undefined,
      timestampPoint: undefined,
      headerBytes: header.energy === undefined ? 96 : expect.any(Number),
      bodyBytes: body.length,
      clock: "monotonic",
    });
    // Read up to the end of the interval: it ends with the capture of the frame itself.
    if (frame === 0 || frame === 6) expect(header.energy).toBeUndefined();
    else {
      const seconds = Number(header.leftTimestampNs - frames[frame - 1]!.header.leftTimestampNs) / 1e9;
      intervals.push(BUSY.main * seconds);
      expect(header.energy).toEqual({
        available: true,
        joules: near(BUSY.main * seconds),
        // Written in thousandths, rounded up.
        joulesUncertainty: near(
          (Math.ceil((1000 * SCRIPTED_UNCERTAINTY) / BUSY.main) / 1000) * BUSY.main * seconds,
        ),
        seconds: near(seconds),
        ageMs: 0,
      });
    }
  }
  const offered = messages
    .filter(({ topic: name }) => name === "depthwatt/scripted/depth")
    .map((message) => message.bytes.toString("latin1"));
  expect(offered[0]).toContain("unavailable: the first frame has no frame before it");
  expect(offered[6]).toContain("unavailable: the frame has the capture time of the frame before it");
  // As MQTT 5 has a pair of strings: the length of the value stands before it.
  const seconds1 = intervals[0]! / BUSY.main;
  for (const [name, value] of [
    ["energyJoules", intervals[0]!.toPrecision(6)],
    ["energyUncertaintyJoules", (SCRIPTED_UNCERTAINTY * seconds1).toPrecision(3)],
    ["energySeconds", seconds1.toPrecision(6)],
    ["energyAgeMs", "0.000"],
  ] as const)
    expect(offered[1]).toContain(`${name}\0${String.fromCharCode(value.length)}${value}`);

  const POWER = metrics.at(-1)!.power as {
    wattsUncertainty: number;
    joulesPerFrame: number;
    fpsPerWatt: number;
  };
  expectScrape(scrape, {
    depthwatt_build: [
      [{ version: VERSION, board: "none", backend: "cpu", instruction_set: "scalar", algorithm: "sgm" }, 1],
    ],
    depthwatt_state: [
      [{ state: "online" }, 1],
      [{ state: "degraded" }, 0],
      [{ state: "stopped" }, 0],
    ],
    depthwatt_warnings: [[{}, 0]],
    depthwatt_frames: [[{}, FRAMES]],
    depthwatt_drops: Object.entries(drops).map(([cause, value]) => [{ cause }, value]),
    depthwatt_pixels: [
      [{ kind: "asked" }, asked],
      [{ kind: "valid" }, sum(validIn)],
      [{ kind: "matched" }, sum(matchedIn)],
    ],
    depthwatt_dropped_pixels: (["filled", "lowConfidence", "tooNear", "tooFar"] as const).map((cause) => [
      { cause },
      dropped(cause),
    ]),
    depthwatt_stage_duration_seconds: STAGE_NAMES.flatMap((stage, index) =>
      histogram(
        { stage },
        all.map((_, frame) => stageMs(index, frame)),
      ),
    ),
    depthwatt_compute_latency_seconds: histogram({}, latencies),
    depthwatt_output_latency_seconds: histogram({ output: "mqtt" }, latencies),
    depthwatt_output_messages: [
      [{ output: "mqtt" }, FRAMES],
      [{ output: "prometheus" }, 0],
    ],
    depthwatt_output_bytes: [
      [{ output: "mqtt" }, sentBytes],
      [{ output: "prometheus" }, 0],
    ],
    depthwatt_output_problem: [
      [{ output: "mqtt" }, 0],
      [{ output: "prometheus" }, 0],
    ],
    depthwatt_power_watts: [[{}, BUSY.main]],
    depthwatt_rail_power_watts: [
      [{ rail: "main" }, BUSY.main],
      [{ rail: "gpu" }, BUSY.gpu],
    ],
    depthwatt_idle_power_watts: [[{}, IDLE.main]],
    depthwatt_power_uncertainty_watts: [[{}, POWER.wattsUncertainty]],
    depthwatt_frame_energy_joules: [[{}, POWER.joulesPerFrame]],
    depthwatt_frame_interval_energy_joules: histogram({}, intervals, ENERGY_BUCKETS),
    depthwatt_pair_skew_seconds: histogram({}, SKEWS, SKEW_BUCKETS),
    depthwatt_frames_per_second_watt: [[{}, POWER.fpsPerWatt]],
    depthwatt_energy_joules: [[{}, joules]],
    depthwatt_rail_energy_joules: [
      [{ rail: "main" }, joules],
      [{ rail: "gpu" }, BUSY.gpu * windowSeconds],
    ],
    depthwatt_asleep_seconds: [],
    depthwatt_wakes: [],
    depthwatt_useful_frame_joules: [],
    depthwatt_temperature_celsius: [
      [{ zone: "cpu" }, 51.5],
      [{ zone: "gpu" }, 47],
    ],
    depthwatt_throttle_events: [[{ counter: "oc3" }, 5]],
    depthwatt_unavailable: [],
    // Figures of this process.
    process_cpu_seconds: "any",
    process_resident_memory_bytes: "any",
    process_start_time_seconds: "any",
  });
  // The same counts that the dashboard's readers get.
  expect(totals.frames).toBe(FRAMES);
});

test("frames of a recording are joined to energy by their arrival, and their age counts from there", async () => {
  const { runtime, running, metrics, topic } = await play("file", 300);
  runtime.stop();
  const figures = await running;
  const recent = metrics.at(-1)!;
  if (!recent.power.available || !figures.power.available) throw new Error("expected figures");
  // Longer than the metrics' window of 5 s, so that its frames are looked up by time.
  expect(recent.power.frames).toBeGreaterThanOrEqual(15);
  expect(recent.power.frames).toBeLessThanOrEqual(18);
  expect(figures.power.joulesPerFrame).toBeCloseTo(figures.power.joules / FRAMES, 9);
  // On the clock of the test a frame is computed and sent in the moment of its arrival.
  expect(figures.latencyMs).toEqual({ p50: 0, p95: 0, p99: 0 });
  for (const body of topic("depth")) {
    const { header } = parseFrame(body);
    expect(header.clock).toBe("file");
    expect(header.realtimeOffsetNs).toBeUndefined();
  }
});

test("the details of outputs that have their own connection or file", async () => {
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-figures-"));
  cleanups.push(() => rmSync(folder, { recursive: true }));
  const { runtime, running, messages, topic } = await play("monotonic", 100, [
    "outputs.derived.enabled=true",
    "outputs.ros.enabled=true",
    "outputs.homeAssistant.enabled=true",
    "outputs.detections.enabled=true",
    "outputs.detections.topic=cameras/boxes",
    `outputs.mcap.file=${join(folder, "run.mcap")}`,
    "outputs.mcap.compression=none",
  ]);
  await runtime.apply({ "outputs.mqtt.rateHz": 5 }, "the test");
  runtime.notice("a text for the recording");
  runtime.stop();
  const { outputs } = await running;
  expectRecorded(join(folder, "run.mcap"), topic);
  const received = (pattern: RegExp) => messages.filter(({ topic }) => pattern.test(topic));
  const countsOf = (pattern: RegExp) => {
    const matching = received(pattern);
    return {
      sent: matching.length,
      bytes: matching.reduce((sum, { payloadBytes }) => sum + payloadBytes, 0),
      problem: null,
    };
  };
  const sentLater = { p50: expect.any(Number), p95: expect.any(Number), p99: expect.any(Number) };
  const { mqtt, prometheus, mcap, derived, detections, ros, homeAssistant, ...others } = outputs;
  expect(mcap).toEqual({
    streams: [],
    sent: FRAMES,
    bytes: expect.any(Number),
    latencyMs: sentLater,
    problem: null,
    recording: true,
    files: 1,
    pendingBytes: 0,
    file: join(folder, "run.mcap"),
  });
  expect(derived).toEqual({
    streams: ["zones"],
    ...countsOf(/scripted\/zones$/),
    latencyMs: sentLater,
    connected: true,
    messageDrops: {},
  });
  expect(detections).toEqual({
    streams: ["distances"],
    ...countsOf(/scripted\/distances$/),
    latencyMs: sentLater,
    connected: true,
    measured: 0,
    waiting: 0,
    ignored: 0,
    refused: {},
    messageDrops: {},
  });
  expect(ros).toEqual({
    streams: ["compressedDepth", "confidence", "camera_info"],
    ...countsOf(/scripted\/ros\//),
    latencyMs: percentiles(latencies),
    connected: true,
    sentByTopic: { camera_info: FRAMES, compressedDepth: FRAMES, confidence: FRAMES },
  });
  expect(homeAssistant).toEqual({
    streams: [],
    ...countsOf(/^homeassistant\//),
    latencyMs: unavailable("no frame"),
    connected: true,
    announced: true,
    refused: 0,
  });
  for (const [kind, figures] of Object.entries(others))
    expect(figures, kind).toEqual(unavailable("outputs."));
});

/** Expects the documents of a recording to be those of the topics, whose figures the first test computes. */
function expectRecorded(file: string, topic: (name: string) => Buffer[]): void {
  const recorded = recordedDocuments(file);
  const published = (name: string) => topic(name).map((body) => JSON.parse(body.toString()));
  expect(recorded.get("metrics")!.length).toBeGreaterThan(1);
  expect(recorded.get("metrics")).toEqual(published("metrics"));
  // The topic adds what only a subscriber needs.
  const info = recorded.get("info")!.at(-1) as object;
  expect(Object.keys(info)).toEqual(expect.arrayContaining(["backend", "parameters", "source", "version"]));
  expect(published("info").at(-1)).toMatchObject(info);
  // Only the topic says that the device has stopped.
  const states = published("state").map(({ state, reason }) => ({ state, reason }));
  expect(recorded.get("state")).toEqual(states.filter(({ state }) => state !== "stopped"));
  const [start, change] = recorded.get("settings") as { from: string; values: Record<string, unknown> }[];
  expect(start).toMatchObject({
    from: "start",
    values: { "match.numDisparities": DISPARITIES, "outputs.mqtt.rateHz": "max" },
  });
  expect(change).toEqual({ from: "the test", values: { "outputs.mqtt.rateHz": 5 } });
  expect(recorded.get("notice")).toContainEqual({ text: "a text for the recording" });
  const energies = recorded.get("energy") as { available: boolean }[];
  expect(energies).toHaveLength(FRAMES);
}

function pageUrl({ parts }: { parts: { outputs: { greeting(): [string, string][] } } }): string {
  const [, url] = parts.outputs.greeting().find(([label]) => label === "metrics")!;
  return new URL(url).origin;
}

const rail = (watts: number, windowSeconds: number) => ({
  available: true as const,
  watts: near(watts),
  joules: near(watts * windowSeconds),
  wattsUncertainty: near(SCRIPTED_UNCERTAINTY),
  samples: expect.any(Number),
});

const unavailable = (reason: string) => ({
  available: false as const,
  reason: expect.stringContaining(reason),
});

/** Returns the names of all fields, nested ones with their parents; those of unavailable values are left out. */
function fieldsOf(value: unknown, path = ""): string[] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [path];
  if ((value as { available?: boolean }).available === false) return [path];
  return Object.entries(value).flatMap(([name, inner]) => fieldsOf(inner, `${path}.${name}`));
}

type Sample = [labels: Record<string, string>, value: number];

/** The samples of a histogram, by counting. */
function histogram(
  labels: Record<string, string>,
  values: number[],
  { bounds, perUnit }: Buckets = TIME_BUCKETS,
): Sample[] {
  const upTo = (bound: number) => values.filter((value) => value <= bound).length;
  return [
    ...bounds.map((bound): Sample => [{ ...labels, le: String(bound / perUnit) }, upTo(bound)]),
    [{ ...labels, le: "+Inf" }, values.length],
    [{ ...labels, of: "sum" }, values.reduce((sum, value) => sum + value, 0) / perUnit],
    [{ ...labels, of: "count" }, values.length],
  ];
}

/** Compares every family; one without a line fails. "any": it is there. */
function expectScrape(text: string, expected: Record<string, Sample[] | "any">): void {
  expect(Object.keys(expected)).toEqual(FAMILIES.map(({ name }) => name));
  const found: Record<string, Sample[]> = Object.fromEntries(FAMILIES.map(({ name }) => [name, []]));
  for (const line of text.split("\n")) {
    const [, full, labels = "", value] = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (full === undefined) continue;
    const family = FAMILIES.filter(({ name }) => full.startsWith(name)).sort(
      (a, b) => b.name.length - a.name.length,
    )[0]!;
    const ending = full.slice(family.name.length);
    const pairs = [...labels.matchAll(/([a-z_]+)="([^"]*)"/g)].map(([, name, text]) => [
      name,
      name === "le" ? String(text === "+Inf" ? text : Number(text)) : text,
    ]);
    const of = ending === "_sum" || ending === "_count" ? { of: ending.slice(1) } : {};
    found[family.name]!.push([{ ...Object.fromEntries(pairs), ...of }, Number(value)]);
  }
  for (const [name, samples] of Object.entries(expected)) {
    if (samples === "any") expect(found[name], name).toEqual([[{}, expect.any(Number)]]);
    else
      expect(found[name], name).toEqual(samples.map(([labels, value]) => [labels, expect.closeTo(value, 6)]));
  }
}
