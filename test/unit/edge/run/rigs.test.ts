// SPDX-License-Identifier: Apache-2.0
// Several rigs, without cameras: when a rig is opened again and with which settings, what its failures publish, what the rigs
// share, and when all of them are over.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { DepthwattError } from "../../../../core/index.js";
import { loadConfig } from "../../../../edge/config/index.js";
import type { EnergyRecord } from "../../../../edge/contracts/energy.js";
import { Rig, type RigOptions } from "../../../../edge/run/rig.js";
import { Rigs, type RigsEvents, type RigsOptions } from "../../../../edge/run/rigs.js";
import type { Meter } from "../../../../power/index.js";
import { until } from "../../../doubles/frames.js";
import { freePort } from "../../../doubles/mosquitto.js";
import {
  countedFigures,
  ended,
  forgetRuns,
  type OpenedRun,
  opened,
  pauses,
  refusal,
  refusals,
  settled,
} from "../../../doubles/opened-runs.js";
import { script } from "../../../doubles/run-script.js";

const absent = vi.hoisted(() => [] as unknown[]);
const brokers = vi.hoisted(() => [] as { fail(reason: Error): void; lose(): void; closes: number }[]);

vi.mock("../../../../edge/run/main.js", async (actual) =>
  (await import("../../../doubles/opened-runs.js")).mainModule(await actual()),
);
vi.mock("node:timers/promises", async () => (await import("../../../doubles/opened-runs.js")).timersModule);
vi.mock("../../../../edge/power/open-meter.js", async () => {
  const { meterModule } = await import("../../../doubles/run-script.js");
  return meterModule;
});
vi.mock("../../../../edge/outputs/mqtt/absent-state.js", () => ({
  AbsentState: class {
    readonly #device: string;
    constructor({ settings, ...device }: { settings: { broker: string }; device: string }) {
      this.#device = device.device;
      absent.push({ broker: settings.broker, ...device });
    }
    state(...words: unknown[]) {
      if (words.includes("unreachable")) throw new Error("no credentials");
      absent.push([this.#device, ...words]);
    }
    async close() {
      absent.push(`${this.#device} closed`);
    }
  },
}));
vi.mock("../../../../edge/broker/prepared-broker.js", () => ({
  prepareBroker() {
    const broker = { fail: (_reason: Error) => {}, lose: () => {}, closes: 0 };
    brokers.push(broker);
    const close = async () => void broker.closes++;
    const started = new Promise<object>((resolve, reject) => {
      broker.fail = reject;
      if (brokers.length > 0) setImmediate(resolve, { url: `mqtt://broker-${brokers.length}`, close });
    });
    const failed = new Promise<void>((resolve) => {
      broker.lose = resolve;
    });
    return { started, failed, close };
  },
}));

const emptyFolder = () => mkdtempSync(join(tmpdir(), "depthwatt-rigs-"));
const cleanups: (() => unknown)[] = [];
beforeEach(() => {
  forgetRuns();
  absent.length = 0;
  brokers.length = 0;
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const config = (...set: string[]) =>
  loadConfig({
    environment: {},
    set: ["board=none", "power.sensor=none", "device=cart-front", "outputs.mqtt.broker=none", ...set],
  }).config;

const newest = () => opened.at(-1) as OpenedRun;

/** A rig that is served, and everything that it reports. */
function serve(options: Partial<RigOptions> = {}) {
  const over = new AbortController();
  const happened: unknown[] = [];
  const shares: { isClosed: boolean }[] = [];
  const rig = new Rig(
    {
      name: "front",
      config: config(),
      load: () => config(),
      frames: 7,
      share: () => {
        const share = { isClosed: false };
        shares.push(share);
        const close = () => {
          share.isClosed = true;
        };
        return { close } as never;
      },
      brokerUrl: async () => undefined,
      save: undefined,
      over: over.signal,
      ...options,
    },
    {
      onNotice: (text) => happened.push(["notice", text]),
      onState: (...state) => happened.push(["state", ...state]),
      onOpen: () => happened.push("open"),
      onPhase: (phase) => happened.push(phase),
      onWait: ({ code, message }) => happened.push(["wait", code, message]),
    },
  );
  let hasBegun = false;
  void rig.begun.then(() => {
    hasBegun = true;
  });
  const served = rig.serve();
  return { rig, served, over, happened, shares, hasBegun: () => hasBegun };
}

test("a rig runs once and ends with the figures of its run", async () => {
  const { rig, served, happened, shares, over } = serve();
  expect([rig.name, rig.phase, rig.summary, rig.frames]).toEqual([
    "front",
    "starting",
    { available: false, reason: "the run ended before it began", code: "RUN_ENDED" },
    0,
  ]);
  await settled();
  const run = newest();
  expect([rig.runtime, rig.phase, run.limit, Object.keys(run.host), run.calls]).toEqual([
    run,
    "running",
    7,
    ["restart"],
    ["run"],
  ]);
  run.parts.pipeline.frames = 5;
  expect([rig.frames, shares]).toEqual([5, [{ isClosed: false }]]);
  run.end({ frames: 7 });
  await ended(served);
  expect(happened).toEqual(["running", "open", "ended"]);
  expect([rig.summary, rig.frames, rig.runtime, rig.problem]).toEqual([
    countedFigures({ frames: 7 }),
    7,
    undefined,
    undefined,
  ]);
  expect([run.calls, shares[0]!.isClosed, opened.length, pauses.length]).toEqual([
    ["run", "close"],
    true,
    1,
    0,
  ]);
  over.abort();
  expect(run.calls).toEqual(["run", "close"]);
});

test("a rig that fails is opened again, after pauses that double up to a minute and begin again after a run", async () => {
  const seconds = [2, 4, 8, 16, 32, 60, 60];
  refusals.push(...seconds.map((_, at) => refusal("DEVICE_UNAVAILABLE", `no camera ${at}`)));
  const { rig, over, happened, hasBegun } = serve();
  expect(hasBegun()).toBe(false);
  for (const [at, one] of seconds.entries()) {
    await settled();
    expect([pauses.length, pauses[at]!.ms, rig.phase, hasBegun()]).toEqual([
      at + 1,
      1000 * one,
      "waiting",
      true,
    ]);
    pauses[at]!.pass();
  }
  await settled();
  expect(happened.slice(0, 4)).toEqual([
    ["wait", "DEVICE_UNAVAILABLE", "no camera 0"],
    ["state", "degraded", "no camera 0", "DEVICE_UNAVAILABLE"],
    "waiting",
    "starting",
  ]);
  expect([rig.phase, rig.problem]).toEqual(["running", undefined]);
  newest().parts.pipeline.frames = 30;
  newest().failure = refusal("OUTPUT_FAILED", "the disk is gone");
  newest().end({ frames: 30 });
  await settled();
  expect([pauses.length, pauses.at(-1)!.ms, rig.problem?.message, rig.frames]).toEqual([
    8,
    2000,
    "the disk is gone",
    30,
  ]);
  pauses.at(-1)!.pass();
  await settled();
  newest().parts.pipeline.frames = 12;
  expect([rig.phase, rig.frames, rig.summary]).toEqual(["running", 42, countedFigures({ frames: 30 })]);
  over.abort();
  expect(newest().calls).toEqual(["run", "stop"]);
});

test("a pause ends when no rig is waited for any more", async () => {
  refusals.push(refusal("DEVICE_BUSY", "it is used"));
  const { rig, served, over, happened } = serve({ firstPauseMs: 5 });
  await settled();
  expect(pauses[0]!.ms).toBe(5);
  over.abort();
  await ended(served);
  expect(opened).toEqual([]);
  expect(happened.slice(-2)).toEqual(["waiting", "ended"]);
  expect(rig.summary).toEqual({ available: false, reason: "it is used", code: "DEVICE_BUSY" });
});

test("a rig that fails when all is over reports nothing and does not wait", async () => {
  const { served, over, happened } = serve();
  await settled();
  over.abort();
  newest().fail(new TypeError("a bug"));
  await ended(served);
  expect(happened).toEqual(["running", "open", "waiting", "ended"]);
  expect(pauses).toEqual([]);
});

test("a run without a frame is a failure, and so is an error without a code, unless the run was stopped", async () => {
  const first = serve();
  await settled();
  newest().end({ frames: 0 });
  await settled();
  expect(first.happened[2]).toEqual([
    "wait",
    "SOURCE_EMPTY",
    "Expected at least one frame, none was computed.",
  ]);
  const second = serve();
  await settled();
  newest().fail(new TypeError("a bug"));
  await settled();
  expect(second.happened[2]).toEqual(["wait", "INTERNAL", "a bug"]);
  const stopped = serve();
  await settled();
  stopped.over.abort();
  newest().failure = refusal("OUTPUT_FAILED", "cut off");
  newest().end({ frames: 0 });
  await ended(stopped.served);
  expect(stopped.happened).toEqual(["running", "open", "ended"]);
  first.over.abort();
  second.over.abort();
});

test("a rig that opens when all is over is stopped at once", async () => {
  const over = new AbortController();
  const { served } = serve({ over: over.signal, share: () => ({ close() {} }) as never });
  over.abort();
  await settled();
  expect(newest().calls).toEqual(["stop", "run"]);
  newest().end({ frames: 0 });
  await ended(served);
});

test("a restart reads the configuration, ends the run without a pause and begins the next one with it", async () => {
  const next = config("match.numDisparities=48");
  const load = vi.fn(() => next);
  const save = () => ({ file: "f", overridden: [] });
  const { rig, served, happened } = serve({ load, save });
  await settled();
  const first = newest();
  expect(first.host.save).toBe(save);
  load.mockImplementationOnce(() => {
    throw refusal("CONFIG_INVALID", "p1 is wrong");
  });
  expect(() => first.host.restart!("control")).toThrow("p1 is wrong");
  expect(first.calls).toEqual(["run"]);
  first.host.restart!("control");
  expect(first.calls).toEqual(["run", "stop"]);
  first.failure = refusal("OUTPUT_FAILED", "cut off");
  first.end({ frames: 0 });
  await settled();
  expect([opened.length, newest().config === next, pauses.length]).toEqual([2, true, 0]);
  expect(happened).toEqual(["running", "open", "starting", "running", "open"]);
  newest().end({ frames: 4 });
  await ended(served);
  expect([rig.frames, opened.length, load.mock.calls.length]).toEqual([4, 2, 3]);
});

test("the first attempt has the given configuration, the next ones what the file then says", async () => {
  const given = config();
  const corrected = config("match.numDisparities=48");
  refusals.push(refusal("CALIBRATION_UNREADABLE", "no calibration"));
  const load = vi.fn(() => corrected);
  const { over } = serve({ config: given, load });
  await settled();
  expect(load).not.toHaveBeenCalled();
  pauses[0]!.pass();
  await settled();
  expect(newest().config).toBe(corrected);
  over.abort();
  const { over: other } = serve({ config: given, load });
  await settled();
  expect(newest().config).toBe(given);
  other.abort();
});

test.each<[string, string, string | undefined, object | undefined]>([
  ["a broker's URL", "mqtt://h", undefined, { broker: "mqtt://h", base: "depthwatt", device: "cart-front" }],
  [
    "a broker's URL next to an embedded one",
    "mqtt://h",
    "mqtt://e",
    { broker: "mqtt://h", base: "depthwatt", device: "cart-front" },
  ],
  [
    "the embedded broker",
    "embedded",
    "mqtt://e",
    { broker: "embedded", base: "depthwatt", device: "cart-front", url: "mqtt://e" },
  ],
  ["the embedded broker, which does not run", "embedded", undefined, undefined],
  ["no broker", "none", "mqtt://e", undefined],
])("the state of a rig that waits goes to %s", async (_, broker, url, connection) => {
  refusals.push(refusal("DEVICE_BUSY", "it is used"), refusal("DEVICE_UNAVAILABLE", "it is gone"));
  const chosen = config(`outputs.mqtt.broker=${broker}`);
  const { served } = serve({ config: chosen, load: () => chosen, brokerUrl: async () => url });
  await settled();
  pauses[0]!.pass();
  await settled();
  pauses[1]!.pass();
  await settled();
  const states = [
    ["cart-front", "degraded", "it is used", "DEVICE_BUSY"],
    ["cart-front", "degraded", "it is gone", "DEVICE_UNAVAILABLE"],
  ];
  // The outputs of the run take over: the connection is closed once.
  expect(absent).toEqual(connection === undefined ? [] : [connection, ...states, "cart-front closed"]);
  newest().end({ frames: 1 });
  await ended(served);
  expect(absent).toHaveLength(connection === undefined ? 0 : 4);
});

test("a state that cannot be published is a notice, and the rig waits all the same", async () => {
  refusals.push(refusal("DEVICE_BUSY", "unreachable"));
  const { happened, served, over } = serve({ config: config("outputs.mqtt.broker=mqtt://h") });
  await settled();
  expect(happened.slice(-2)).toEqual([["notice", "state: no credentials"], "waiting"]);
  over.abort();
  await ended(served);
  expect(absent.at(-1)).toBe("cart-front closed");
});

const RAILS = { rails: [{ label: "in" }], total: { rails: ["in"] } };

/** A meter that records its calls. */
function scriptMeter(sensor: object = { available: false, reason: "none" }) {
  const calls: unknown[] = [];
  const note =
    (name: string) =>
    (...words: unknown[]) =>
      void calls.push(words.length === 0 ? name : [name, ...words]);
  const meter = {
    sensor,
    start: note("start"),
    restart: note("restart"),
    close: note("close"),
    sample: note("sample"),
    measureIdle: async (seconds: number) => void calls.push(["measureIdle", seconds]),
    recent: () => ({ available: true, watts: 12 }),
    report: () => ({ available: false, reason: "no sensor" }),
  };
  script.openMeter = () => meter as unknown as Meter;
  return calls;
}

interface Board extends Partial<Omit<RigsOptions, "configs">> {
  names?: readonly string[];
  set?: readonly string[];
  sensor?: object;
}

function startRigs(
  { names = ["front", "rear"], set = [], sensor, ...options }: Board,
  events: Partial<RigsEvents> = {},
) {
  const calls = scriptMeter(sensor);
  const configs = new Map(names.map((name) => [name, config(`device=${name}`, ...set)]));
  const notices: unknown[] = [];
  const rigs = new Rigs(
    { configs, load: (name) => configs.get(name)!, waits: false, ...options },
    { onNotice: (...notice) => notices.push(notice), ...events },
  );
  const run = rigs.run();
  cleanups.push(() => {
    rigs.stop();
    for (const one of opened) one.end({ frames: 1 });
    return run.catch(() => {});
  });
  return { rigs, run, calls, notices };
}

test("rigs open in their order: the next one when the one before runs, has failed, or takes longer than a second", async () => {
  const { rigs, run } = startRigs({ names: ["front", "rear"], frames: 9 });
  await settled();
  const shared = opened.map((run) => [run.config.device, run.limit, run.shared!.name, run.shared!.rank]);
  expect(shared).toEqual([
    ["front", 9, "front", 1],
    ["rear", 9, "rear", 2],
  ]);
  expect(pauses.map(({ ms }) => ms)).toEqual([1000, 1000]);
  expect([rigs.stopped, rigs.power]).toEqual([false, { available: true, watts: 12 }]);
  opened[1]!.end({ frames: 3 });
  await settled();
  expect(opened[0]!.calls).toEqual(["run"]);
  opened[0]!.end({ frames: 9 });
  expect(await ended(run)).toEqual({
    front: countedFigures({ frames: 9 }),
    rear: countedFigures({ frames: 3 }),
  });
  expect(Object.keys(await run)).toEqual(["front", "rear"]);
});

test("a rig that is still being opened delays the next one by a second at most", async () => {
  const open = script.openMeter;
  const { rigs } = startRigs({ names: ["front", "rear"] });
  // As with a camera that does not answer.
  vi.spyOn(rigs.rigs[0]!, "serve").mockImplementation(() => new Promise<void>(() => {}));
  await settled();
  expect([opened.length, pauses.map(({ ms }) => ms)]).toEqual([0, [1000]]);
  pauses[0]!.pass();
  await settled();
  expect(opened.map((run) => run.config.device)).toEqual(["rear"]);
  vi.restoreAllMocks();
  script.openMeter = open;
  cleanups.length = 0;
  rigs.stop();
});

test("all is over when no rig runs and one has ended, or no service manager waits; a service waits for rigs that failed", async () => {
  refusals.push(refusal("DEVICE_BUSY", "one"), refusal("DEVICE_BUSY", "two"));
  const once = startRigs({ waits: false });
  expect(await ended(once.run)).toEqual({
    front: { available: false, reason: "one", code: "DEVICE_BUSY" },
    rear: { available: false, reason: "two", code: "DEVICE_BUSY" },
  });
  refusals.push(refusal("DEVICE_BUSY", "one"), refusal("DEVICE_BUSY", "two"));
  const service = startRigs({ waits: true });
  await settled();
  expect(service.rigs.rigs.map(({ phase }) => phase)).toEqual(["waiting", "waiting"]);
  service.rigs.stop();
  await ended(service.run);
  expect([service.rigs.stopped, service.rigs.rigs.map(({ phase }) => phase)]).toEqual([
    true,
    ["ended", "ended"],
  ]);
  refusals.push(refusal("DEVICE_BUSY", "one"));
  const half = startRigs({ waits: true });
  await settled();
  expect(half.rigs.rigs.map(({ phase }) => phase)).toEqual(["waiting", "running"]);
  newest().end({ frames: 2 });
  expect(await ended(half.run)).toMatchObject({ front: { code: "DEVICE_BUSY" }, rear: { frames: 2 } });
});

test("stop() ends every run and begins no further one", async () => {
  const { rigs, run, calls } = startRigs({});
  await settled();
  rigs.stop();
  expect(opened.map((run) => run.calls)).toEqual([
    ["run", "stop"],
    ["run", "stop"],
  ]);
  for (const one of opened) one.end({ frames: 1 });
  await ended(run);
  expect(calls).toEqual(["start", "close"]);
  const early = startRigs({});
  early.rigs.stop();
  expect(await ended(early.run)).toMatchObject({ front: { code: "RUN_ENDED" }, rear: { code: "RUN_ENDED" } });
  expect(opened).toHaveLength(2);
});

test("each event has the name of its rig; the line of figures follows the first rig that runs", async () => {
  const happened: unknown[] = [];
  const note =
    (what: string) =>
    (...words: unknown[]) =>
      void happened.push([what, ...words]);
  const events = { onState: note("state"), onFrame: note("frame"), onFigures: note("figures") };
  refusals.push(refusal("DEVICE_BUSY", "used"));
  const { rigs, notices } = startRigs(
    { waits: true },
    {
      ...events,
      onSettings: note("settings"),
      onOpen: (name) => note("open")(name),
      onWait: (name) => note("wait")(name),
    },
  );
  await settled();
  expect(happened.splice(0)).toEqual([
    ["wait", "front"],
    ["state", "front", "degraded", "used", "DEVICE_BUSY"],
    ["open", "rear"],
  ]);
  const rear = newest();
  rear.events.onNotice("careful");
  rear.events.onState!("online", "all well");
  rear.events.onFrame!({} as never);
  rear.events.onSettings!(rear.config);
  expect([rigs.fps("rear"), rigs.fps("front")]).toEqual([undefined, undefined]);
  rear.events.onFigures!(countedFigures({ frames: 1, fps: 29.5 }));
  expect(notices).toEqual([["rear", "careful"]]);
  expect(happened.splice(0)).toEqual([
    ["state", "rear", "online", "all well", undefined],
    ["frame", "rear"],
    ["settings", rear.config],
    ["figures"],
  ]);
  expect([rigs.fps("rear"), rigs.fps("front")]).toEqual([29.5, undefined]);
  pauses.find(({ ms }) => ms === 2000)!.pass();
  await settled();
  happened.length = 0;
  rear.events.onFigures!(countedFigures({ frames: 1, fps: 28 }));
  newest().events.onFigures!(countedFigures({ frames: 1, fps: 15 }));
  expect([happened, rigs.fps("rear"), rigs.fps("front")]).toEqual([[["figures"]], 28, 15]);
});

test("no frame is expected while every rig is closed or its camera is away", async () => {
  refusals.push(refusal("DEVICE_BUSY", "used"));
  const { rigs } = startRigs({ waits: true });
  expect(rigs.isExcused).toBe(true);
  await settled();
  expect(rigs.isExcused).toBe(false);
  newest().away = true;
  expect(rigs.isExcused).toBe(true);
});

test("a rig's settings are saved and read under its name", async () => {
  const save = vi.fn(() => ({ file: "depthwatt.yaml", overridden: [] }));
  const load = vi.fn((name: string) => config(`device=${name}`));
  startRigs({ save, load });
  await settled();
  expect(opened[1]!.host.save!({ "match.numDisparities": 48 })).toEqual({
    file: "depthwatt.yaml",
    overridden: [],
  });
  opened[1]!.host.restart!("control");
  expect([save.mock.calls, load.mock.calls]).toEqual([
    [["rear", { "match.numDisparities": 48 }]],
    [["rear"]],
  ]);
  startRigs({});
  await settled();
  expect(Object.keys(newest().host)).toEqual(["restart"]);
});

test("the meter measures the idle board once, for 1.1 seconds at least, before a rig opens", async () => {
  const onIdle = vi.fn();
  const { calls } = startRigs({ set: ["power.idleSeconds=0.5"], sensor: RAILS }, { onIdle });
  await settled();
  expect([calls, onIdle.mock.calls]).toEqual([["start", ["measureIdle", 1.1], "restart"], [[1.1]]]);
  expect(opened).toHaveLength(2);
});

test.each([
  ["that is asked for without a sensor", ["power.idleSeconds=0.5"], undefined],
  ["that is not asked for", ["power.idleSeconds=0"], RAILS],
])("an idle time %s is not waited for", async (_, set, sensor) => {
  const onIdle = vi.fn();
  const { calls } = startRigs({ set, ...(sensor && { sensor }) }, { onIdle });
  await settled();
  expect([calls, onIdle.mock.calls, opened.length]).toEqual([["start"], [], 2]);
});

test("the rigs share one meter and one governor, which is closed after the last of them", async () => {
  const { run } = startRigs({ sensor: RAILS });
  await settled();
  const [front, rear] = opened.map(({ shared }) => shared!);
  expect([front!.meter === rear!.meter, front!.meter.sensor, rear!.governor === front!.governor]).toEqual([
    true,
    RAILS,
    true,
  ]);
  const close = vi.spyOn(front!.governor, "close");
  for (const one of opened) one.end({ frames: 1 });
  await ended(run);
  expect(close).toHaveBeenCalledOnce();
});

test("an energy log that cannot be written ends all rigs before one opens", async () => {
  const { run, calls } = startRigs({ set: ["outputs.energy.file=/dev/null/energy.jsonl"] });
  await expect(run).rejects.toMatchObject({ code: "OUTPUT_UNWRITABLE" });
  expect([opened.length, calls]).toEqual([0, ["close"]]);
});

test("the energy log counts the frames of all rigs, names their matchers and goes to its file", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "hrtime"] });
  cleanups.push(() => vi.useRealTimers());
  const folder = emptyFolder();
  cleanups.push(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "energy.jsonl");
  const records: EnergyRecord[] = [];
  const { run, calls } = startRigs(
    { set: ["log.energyIntervalSeconds=10", `outputs.energy.file=${file}`] },
    { onEnergy: (record) => records.push(record) },
  );
  await until("both runs", () => opened.length === 2, 2000);
  opened[0]!.parts.pipeline.frames = 300;
  opened[1]!.parts.pipeline.frames = 150;
  calls.length = 0;
  vi.advanceTimersByTime(10_000);
  expect(calls).toEqual(["sample"]);
  const matcher = "sgm, 4 paths, 32 disparities";
  expect(records).toMatchObject([
    { seconds: 10, frames: 450, fps: 45, asleepSeconds: 0, matcher: `front: ${matcher}; rear: ${matcher}` },
  ]);
  // A window at the end that is long enough has its own entry.
  vi.advanceTimersByTime(5000);
  for (const one of opened) one.end({ frames: 300 });
  await run;
  expect(records.map(({ seconds, frames }) => [seconds, frames])).toEqual([
    [10, 450],
    [5, 150],
  ]);
  const lines = readFileSync(file, "utf8").trim().split("\n");
  expect(lines.map((line) => JSON.parse(line).frames)).toEqual([450, 150]);
});

test("the rigs share one server: each has its folder, the first page lists their states", async () => {
  const port = await freePort();
  refusals.push(refusal("DEVICE_BUSY", "used"));
  const { run } = startRigs({ names: ["front", "rear", "top"], waits: true, set: [`http.port=${port}`] });
  await settled();
  const [rear, top] = opened as [OpenedRun, OpenedRun];
  const access = await rear.shared!.http();
  expect(await rear.shared!.http()).toEqual(access);
  const { server } = await top.shared!.http();
  const url = `http://127.0.0.1:${port}`;
  expect([access.server.url, server.url]).toEqual([`${url}/rigs/rear`, `${url}/rigs/top`]);
  const page = await (await fetch(`${url}/`)).text();
  expect(page.match(/<li>.*<\/li>/g)).toEqual([
    "<li>front: waiting: used</li>",
    '<li><a href="/rigs/rear/">rear</a>: running</li>',
    '<li><a href="/rigs/top/">top</a>: running</li>',
  ]);
  access.server.get("/hello", (_request, response) => response.end("rear says hello"));
  expect(await (await fetch(`${url}/rigs/rear/hello`)).text()).toBe("rear says hello");
  rear.end({ frames: 1 });
  await settled();
  const gone = await fetch(`${url}/rigs/rear/hello`);
  await gone.text();
  expect(gone.status).toBe(404);
  top.end({ frames: 1 });
  await run;
  await expect(fetch(`${url}/`)).rejects.toThrow();
});

test("one embedded broker serves all rigs until they end, and a broker that fails is started again", async () => {
  const set = ["outputs.mqtt.broker=embedded"];
  const { run } = startRigs({ set, waits: true });
  await settled();
  const [front, rear] = opened as [OpenedRun, OpenedRun];
  const lend = (run: OpenedRun) =>
    run.shared!.prepare(run.config.outputs).take("mqtt") as unknown as {
      started: Promise<{ url: string; close(): Promise<void> }>;
      close(): Promise<void>;
    };
  expect(brokers).toHaveLength(0);
  const first = lend(front);
  const lent = await first.started;
  await lent.close();
  await first.close();
  expect([lent.url, brokers[0]!.closes]).toEqual(["mqtt://broker-1", 0]);
  expect((await lend(rear).started).url).toBe("mqtt://broker-1");
  brokers[0]!.lose();
  await settled();
  const second = lend(rear);
  brokers[1]!.fail(new Error("no thread"));
  await expect(second.started).rejects.toThrow("no thread");
  await settled();
  expect((await lend(rear).started).url).toBe("mqtt://broker-3");
  expect(brokers).toHaveLength(3);
  front.fail(new DepthwattError("SOURCE_UNREADABLE", "torn"));
  await settled();
  expect(absent).toEqual([
    { broker: "embedded", base: "depthwatt", device: "front", url: "mqtt://broker-3" },
    ["front", "degraded", "torn", "SOURCE_UNREADABLE"],
  ]);
  rear.end({ frames: 1 });
  await ended(run);
  expect(brokers.map(({ closes }) => closes)).toEqual([0, 0, 1]);
});

test("without an embedded broker none is started", async () => {
  startRigs({});
  await settled();
  const run = newest();
  expect(run.shared!.prepare(run.config.outputs).take("mqtt")).toBeUndefined();
  expect(brokers).toEqual([]);
});
