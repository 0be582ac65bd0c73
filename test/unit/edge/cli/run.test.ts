// SPDX-License-Identifier: Apache-2.0
// depthwatt run, without cameras: what it prints and logs, what it notifies a service manager of, which errors end it, and how
// it begins again. One run, then several rigs.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { yaml } from "../../../../core/index.js";
import { type RunOptions, run } from "../../../../edge/cli/run/run.js";
import type { EnergyRecord } from "../../../../edge/contracts/energy.js";
import { loadNative } from "../../../../edge/contracts/native.js";
import {
  countedFigures,
  delays,
  ended,
  forgetRuns,
  nextSource,
  type OpenedRun,
  opened,
  pauses,
  refusal,
  refusals,
  settled,
} from "../../../doubles/opened-runs.js";

vi.mock("../../../../edge/run/main.js", async (actual) =>
  (await import("../../../doubles/opened-runs.js")).mainModule(await actual()),
);
vi.mock("node:timers/promises", async () => (await import("../../../doubles/opened-runs.js")).timersModule);
vi.mock("../../../../edge/cli/run/reload.js", async (actual) => ({
  ...(await actual<object>()),
  // As a service.
  hasTerminal: () => false,
}));

const END_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const listeners = () => END_SIGNALS.map((name) => process.listeners(name));
let before: ReturnType<typeof listeners>;
/** `all`: both streams in the order of their lines. */
let printed = { out: "", log: "", all: "" };
let folder: string;
let restore = () => {};

beforeEach(() => {
  forgetRuns();
  before = listeners();
  folder = mkdtempSync(join(tmpdir(), "depthwatt-run-"));
  printed = { out: "", log: "", all: "" };
  vi.spyOn(process, "exit").mockImplementation((() => {}) as never);
  vi.spyOn(process.stdout, "write").mockImplementation((text) => {
    printed.out += text;
    printed.all += text;
    return true;
  });
  vi.spyOn(process.stderr, "write").mockImplementation((text) => {
    // Warnings of Node are not the program's.
    if (!/^\((node:|Use `node)/.test(String(text))) printed.log += text;
    printed.all += text;
    return true;
  });
});
afterEach(async () => {
  // A run that begins again ends here.
  refusals.push(...Array.from({ length: 4 }, () => refusal("INTERNAL", "the test is over")));
  send("SIGTERM");
  for (const one of opened) one.end({ frames: 1 });
  await settled();
  restore();
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  for (const [at, name] of END_SIGNALS.entries())
    for (const one of added(at)) process.off(name, one as () => void);
  rmSync(folder, { recursive: true, force: true });
});

/** The listeners of this program alone: the signal is not this process's. */
const added = (at: number) => process.listeners(END_SIGNALS[at]!).filter((one) => !before[at]!.includes(one));
function send(signal: (typeof END_SIGNALS)[number]): void {
  for (const one of added(END_SIGNALS.indexOf(signal))) (one as (name: string) => void)(signal);
}

/** Lines on stderr since the last call: entries of the log without time and process, other lines as they are. */
function logged(): unknown[] {
  const lines = printed.log.split("\n").slice(0, -1);
  printed.log = "";
  return lines.map((line) => {
    if (!line.startsWith("{")) return line;
    const { time: _time, pid: _pid, hostname: _hostname, ...entry } = JSON.parse(line);
    return entry;
  });
}

const INFO = 30;
const WARN = 40;

const SET = ["board=none", "power.sensor=none", "match.sgm.paths=8", "match.numDisparities=48"];
const start = (options: RunOptions = {}) => {
  const running = run({ set: SET, ...options });
  running.catch(() => {});
  return running;
};

/** Makes stderr a terminal. @returns what was written to it since then */
function asTerminal(): () => string {
  const descriptor = Object.getOwnPropertyDescriptor(process.stderr, "isTTY");
  Object.defineProperty(process.stderr, "isTTY", { value: true, configurable: true });
  restore = () => {
    if (descriptor === undefined) Reflect.deleteProperty(process.stderr, "isTTY");
    else Object.defineProperty(process.stderr, "isTTY", descriptor);
  };
  // Without the times of the log.
  return () => printed.log.replace(/^\d\d:\d\d:\d\d\.\d{3} /gm, "");
}

/** Makes this process a service, and returns the messages that its manager gets. */
function asService(environment: Record<string, string> = {}): string[] {
  const messages: string[] = [];
  vi.stubEnv("NOTIFY_SOCKET", "/run/notify");
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  vi.spyOn(loadNative(), "sdNotify").mockImplementation((address, message) => {
    expect(address).toBe("/run/notify");
    messages.push(String(message));
    return "";
  });
  return messages;
}

const newest = () => opened.at(-1) as OpenedRun;
const LINE = "30.0 fps | watts unavailable | lost 0 | ms p50 (p95): none yet";
const GREETING = `source    by hand
engine    sgm, 8 paths, 48 disparities on cpu (scalar, 1 threads)
          a test
power     unavailable ('depthwatt doctor' says why)
mqtt      mqtt://h
`;
const record = (watts: EnergyRecord["watts"]) =>
  ({
    fps: 30,
    watts,
    wattsIdle: { available: false, reason: "not measured" },
    joulesPerFrame: 0.2,
    fpsPerWatt: 5,
    rails: {},
    matcher: "sgm",
  }) as EnergyRecord;

describe("one run", () => {
  test("prints where to look, a live line and its figures", async () => {
    const running = start({ frames: 7 });
    await settled();
    expect([printed.out, newest().limit, newest().calls]).toEqual([GREETING, 7, ["run"]]);
    newest().events.onFigures!(countedFigures({ frames: 5 }));
    newest().events.onState!("online", "the source runs");
    newest().events.onEnergy!(record(6));
    newest().end({ frames: 7 });
    await ended(running);
    expect(printed.out).toBe(`${GREETING}7 frames in 2.0 s | ${LINE}\n`);
    expect(logged()).toEqual([LINE]);
    expect(END_SIGNALS.flatMap((_, at) => added(at))).toEqual([]);
  });

  test("leaves its live line in a terminal before a notice, its figures and an error", async () => {
    const written = asTerminal();
    const running = start();
    await settled();
    newest().events.onFigures!(countedFigures({ frames: 5 }));
    newest().events.onNotice("careful");
    newest().events.onFigures!(countedFigures({ frames: 5 }));
    newest().end({ frames: 7 });
    await ended(running);
    const drawn = `\r\u001b[K${LINE}\n`;
    expect(written()).toBe(`${drawn}warn careful event=notice\n${drawn}`);
    expect(printed.all.endsWith(`${drawn}7 frames in 2.0 s | ${LINE}\n`)).toBe(true);
    printed.log = "";
    const failing = start();
    await settled();
    newest().events.onFigures!(countedFigures({ frames: 5 }));
    newest().fail(refusal("SOURCE_UNREADABLE", "torn"));
    await expect(ended(failing)).rejects.toThrow("torn");
    expect(written()).toBe(drawn);
  });

  test("with --json prints its figures alone", async () => {
    const running = start({ json: true });
    await settled();
    newest().events.onFigures!(countedFigures({ frames: 5 }));
    newest().end({ frames: 7 });
    await ended(running);
    expect(JSON.parse(printed.out)).toEqual(countedFigures({ frames: 7 }));
    expect(logged()).toEqual([]);
  });

  test("fails without a frame, and with what an output failed with, unless a signal ended it", async () => {
    const empty = start();
    await settled();
    newest().end({ frames: 0 });
    await expect(ended(empty)).rejects.toMatchObject({ code: "SOURCE_EMPTY" });
    const lost = start({ json: true });
    await settled();
    printed.out = "";
    newest().failure = refusal("OUTPUT_FAILED", "the disk is full");
    newest().end({ frames: 3 });
    await expect(ended(lost)).rejects.toThrow("the disk is full");
    expect(JSON.parse(printed.out)).toMatchObject({ frames: 3 });
    const stopped = start();
    await settled();
    send("SIGTERM");
    expect(newest().calls).toEqual(["run", "stop"]);
    newest().failure = refusal("OUTPUT_FAILED", "the disk is full");
    newest().end({ frames: 0 });
    await ended(stopped);
  });

  test("logs a notice that repeats five times, at the level that the settings have", async () => {
    void start({ json: true });
    await settled();
    const { onNotice, onSettings } = newest().events;
    for (let number = 0; number < 7; number++) onNotice(`camera ${number} is slow`);
    expect(logged()).toEqual(
      [0, 1, 2, 3, 4].map((number) => ({ level: WARN, event: "notice", msg: `camera ${number} is slow` })),
    );
    onSettings!({ ...newest().config, log: { ...newest().config.log, level: "error" } });
    onNotice("the lens is dirty");
    expect(logged()).toEqual([]);
    expect(newest().events.onState!("degraded", "no camera")).toBeUndefined();
    expect(logged()).toEqual([]);
  });

  test("begins at the level that the settings have", async () => {
    void start({ set: [...SET, "log.level=error"] });
    await settled();
    newest().events.onNotice("the lens is dirty");
    expect(logged()).toEqual([]);
  });

  test("begins again after a restart, with what the file then says, and prints the last figures as JSON", async () => {
    const file = join(folder, "depthwatt.yaml");
    writeFileSync(file, "match: { numDisparities: 64 }\n");
    const running = start({ config: file, set: SET.slice(0, 3), json: true });
    await settled();
    const first = newest();
    writeFileSync(file, "match: { numDisparities: -1 }\n");
    expect(() => first.host.restart!("control")).toThrow("match.numDisparities");
    expect(first.calls).toEqual(["run"]);
    writeFileSync(file, "match: { numDisparities: 96 }\n");
    first.host.restart!("control");
    expect(first.calls).toEqual(["run", "stop"]);
    first.failure = refusal("OUTPUT_FAILED", "cut off");
    first.end({ frames: 0 });
    await settled();
    expect(opened.map(({ config }) => config.match.numDisparities)).toEqual([64, 96]);
    expect([printed.out, logged()]).toEqual(["", [{ level: INFO, msg: "restart: beginning again" }]]);
    newest().end({ frames: 4 });
    await ended(running);
    expect(JSON.parse(printed.out)).toMatchObject({ frames: 4 });
  });

  test("does not begin again when a signal came too", async () => {
    const running = start();
    await settled();
    newest().host.restart!("control");
    send("SIGINT");
    newest().end({ frames: 0 });
    await ended(running);
    expect(opened).toHaveLength(1);
  });

  test("saves settings into its file, and only those that it can begin with", async () => {
    const file = join(folder, "depthwatt.yaml");
    writeFileSync(file, "device: cart # as on the label\n");
    void start({ config: file });
    await settled();
    const { host } = newest();
    expect([Object.keys(host), host.trial]).toEqual([["restart", "save"], undefined]);
    expect(host.save!({ "match.numDisparities": 64, "refine.median": false })).toEqual({
      file,
      overridden: ["match.numDisparities"],
    });
    expect(() => host.save!({ "match.numDisparities": -1 })).toThrow("match.numDisparities");
    expect(readFileSync(file, "utf8")).toBe(
      "device: cart # as on the label\nmatch:\n  numDisparities: 64\nrefine:\n  median: false\n",
    );
  });

  test.each([
    ["nothing is configured", [], {}, true],
    ["control is", ["control.authentication=broker"], {}, false],
    ["it is a service", [], { NOTIFY_SOCKET: "/run/notify" }, false],
  ])("without a file is a trial where %s", async (_, set, environment, trial) => {
    if ("NOTIFY_SOCKET" in environment) asService();
    void start({ set: [...SET, ...set] });
    await settled();
    expect([newest().host.trial, newest().host.save]).toEqual([trial, undefined]);
  });

  test.each<[RunOptions, object]>([
    [{ source: "walk.mcap" }, { kind: "mcap", mcap: { file: "walk.mcap" } }],
    [{ source: "synthetic" }, { kind: "synthetic" }],
    [
      { left: "/dev/video0", right: "/dev/video1" },
      { kind: "v4l2", v4l2: { left: "/dev/video0", right: "/dev/video1" } },
    ],
    [
      { left: "/", right: "/", rate: "12" },
      { kind: "replay", replay: { left: "/", right: "/", rateHz: 12 } },
    ],
  ])("%j is the source", async (options, source) => {
    void start(options);
    await settled();
    expect(newest().config.source).toMatchObject(source);
  });

  test("fails at once where a part is missing and no service manager waits", async () => {
    refusals.push(refusal("DEVICE_BUSY", "it is used"));
    await expect(ended(start())).rejects.toMatchObject({ code: "DEVICE_BUSY" });
    expect([opened, pauses]).toEqual([[], []]);
  });
});

describe("a run as a service", () => {
  test("notifies of its first frame and its figures, logs states, and draws no line", async () => {
    const messages = asService();
    void start();
    await settled();
    const { events } = newest();
    expect(messages).toEqual([]);
    events.onFrame!({} as never);
    events.onFigures!(countedFigures({ frames: 5 }));
    events.onIdle!(5);
    // Its own start takes a minute more.
    expect(messages).toEqual(["READY=1", `STATUS=${LINE}`, "EXTEND_TIMEOUT_USEC=65000000"]);
    events.onState!("degraded", "no camera");
    expect(logged()).toEqual([
      { level: INFO, event: "state", state: "degraded", reason: "no camera", msg: "degraded: no camera" },
    ]);
    send("SIGTERM");
    expect(messages.at(-1)).toBe("STOPPING=1");
  });

  test("logs energy that was measured, and once that it cannot be", async () => {
    asService();
    void start();
    await settled();
    const none = { available: false, reason: "no sensor" } as const;
    for (const watts of [none, 6, none, none, 7, 8, none]) newest().events.onEnergy!(record(watts));
    const line = "30.0 fps, 6.00 W, 0.200 J a frame, 5.00 fps/W";
    const entries = logged() as { event: string; msg: string }[];
    expect(entries.map(({ msg }) => msg)).toEqual([
      "30.0 fps, watts unavailable",
      line,
      "30.0 fps, watts unavailable",
      line.replace("6.00", "7.00"),
      line.replace("6.00", "8.00"),
      "30.0 fps, watts unavailable",
    ]);
    expect(entries[1]).toMatchObject({ event: "energy", watts: "6", wattsIdle: "unavailable: not measured" });
  });

  test("waits for a missing part, and reads its file again meanwhile on SIGHUP", async () => {
    const messages = asService();
    const file = join(folder, "depthwatt.yaml");
    writeFileSync(file, "match: { numDisparities: 64 }\n");
    refusals.push(refusal("DEVICE_BUSY", "it is used"), refusal("DEVICE_BUSY", "it is used"));
    const running = start({ config: file, set: SET.slice(0, 3) });
    await settled();
    expect(messages).toEqual(["READY=1", "STATUS=waiting: it is used"]);
    expect(logged()).toEqual([
      { level: WARN, event: "waiting", errorCode: "DEVICE_BUSY", hint: "Help.", msg: "waiting: it is used" },
    ]);
    writeFileSync(file, "match: { numDisparities: 96 }\n");
    send("SIGHUP");
    expect(logged()).toEqual([
      { level: INFO, event: "reload", changed: ["match.numDisparities"], msg: "reload: read again" },
    ]);
    for (const at of [0, 1]) {
      pauses[at]!.pass();
      await settled();
    }
    expect([newest().config.match.numDisparities, logged()]).toEqual([96, []]);
    // Now the running settings change.
    writeFileSync(file, "match: { numDisparities: 128 }\n");
    newest().config.match.numDisparities = 96;
    send("SIGHUP");
    await settled();
    expect(newest().calls).toEqual(["run", [{ "match.numDisparities": 128 }, "reload"]]);
    expect(logged()).toHaveLength(1);
    newest().end({ frames: 1 });
    await ended(running);
  });

  test.each([
    ["the camera is away", { away: true }, true],
    ["the machine sleeps between frames", { sleeps: true }, true],
    ["pairs come every ten seconds", { rateHz: 0.1 }, true],
    ["pairs come thirty times a second", { rateHz: 30 }, false],
    ["the rate is unknown", {}, false],
  ])("feeds the watchdog without a frame for two seconds if %s: %j", async (_, how, isFed) => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
    const messages = asService({ WATCHDOG_USEC: "4000000" });
    const {
      away = false,
      sleeps = false,
      rateHz,
    } = how as { away?: boolean; sleeps?: boolean; rateHz?: number };
    nextSource.rateHz = rateHz;
    void start();
    await settled();
    const one = newest();
    one.away = away;
    one.parts.duty.excusesFrames = sleeps;
    vi.advanceTimersByTime(2000);
    expect(messages.includes("WATCHDOG=1")).toBe(isFed);
    messages.length = 0;
    one.events.onFrame!({} as never);
    vi.advanceTimersByTime(1000);
    expect(messages).toEqual(["READY=1", "WATCHDOG=1"]);
  });
});

test("a service that gets a slower source feeds the watchdog for three of its periods", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
  const messages = asService({ WATCHDOG_USEC: "4000000" });
  void start();
  await settled();
  const { events, config, parts } = newest();
  parts.source.description.rateHz = 0.8;
  events.onSettings!(config);
  // Three periods are 3.75 s; a look each second.
  vi.advanceTimersByTime(6000);
  expect(messages).toEqual(["WATCHDOG=1", "WATCHDOG=1", "WATCHDOG=1"]);
});

describe("several rigs", () => {
  const two = { front: {}, rear: {} };
  let file: string;
  const write = (rigs: object, more: object = {}) =>
    writeFileSync(
      file,
      JSON.stringify({
        board: "none",
        device: "cart",
        power: { sensor: "none" },
        outputs: { mqtt: { broker: "none" } },
        match: { sgm: { paths: 8 }, numDisparities: 48 },
        ...more,
        rigs,
      }),
    );
  const startRigs = (options: RunOptions = {}, rigs: object = two) => {
    write(rigs);
    const running = run({ config: file, ...options });
    running.catch(() => {});
    return running;
  };
  beforeEach(() => {
    file = join(folder, "depthwatt.yaml");
  });
  const both = () => opened as [OpenedRun, OpenedRun];

  test("print where to look for each of them, one live line and the frames of each", async () => {
    const running = startRigs({ frames: 9 });
    await settled();
    expect(printed.out).toBe(`rig       front\n${GREETING}rig       rear\n${GREETING}`);
    printed.out = "";
    const [front, rear] = both();
    expect([front.limit, rear.limit]).toEqual([9, 9]);
    rear.events.onFigures!(countedFigures({ frames: 5, fps: 14.96 }));
    front.events.onFigures!(countedFigures({ frames: 5 }));
    front.events.onState!("online", "it runs");
    expect(logged()).toEqual(["front 30.0 fps | rear 15.0 fps | watts unavailable"]);
    front.end({ frames: 9 });
    rear.end({ frames: 4 });
    await ended(running);
    expect(printed.out).toBe("front: 9 frames in 2.0 s\nrear: 4 frames in 2.0 s\n");
    expect(END_SIGNALS.flatMap((_, at) => added(at))).toEqual([]);
  });

  test("leave their live line in a terminal before a notice, the next rig, one that waits, and the frames", async () => {
    const written = asTerminal();
    let open = () => {};
    delays.push(Promise.resolve(), new Promise((resolve) => (open = resolve)));
    const running = startRigs();
    await settled();
    const [front] = both();
    const figures = () => front.events.onFigures!(countedFigures({ frames: 5 }));
    const drawn = (rear: string) => `\r\u001b[Kfront 30.0 fps | rear ${rear} | watts unavailable\n`;
    figures();
    front.events.onNotice("careful");
    expect(written()).toBe(`${drawn("starting")}warn front: careful event=notice rig=front\n`);
    printed.log = "";
    figures();
    open();
    pauses[0]!.pass();
    await settled();
    expect(written()).toBe(drawn("starting"));
    printed.log = "";
    figures();
    both()[1].fail(refusal("DEVICE_BUSY", "it is used"));
    await settled();
    expect(written()).toBe(
      `${drawn("0.0 fps")}warn rear: it is used event=waiting rig=rear errorCode=DEVICE_BUSY hint=Help.\n`,
    );
    printed.log = "";
    figures();
    front.end({ frames: 7 });
    await settled();
    expect(written()).toBe(drawn("waiting: it is used"));
    await expect(ended(running)).rejects.toThrow("rig rear: it is used");
  });

  test("with --json print one object of all summaries", async () => {
    const running = startRigs({ json: true });
    await settled();
    const [front, rear] = both();
    front.events.onFigures!(countedFigures({ frames: 5 }));
    front.end({ frames: 9 });
    rear.end({ frames: 4 });
    await ended(running);
    expect(JSON.parse(printed.out)).toEqual({
      rigs: { front: countedFigures({ frames: 9 }), rear: countedFigures({ frames: 4 }) },
    });
    expect(logged()).toEqual([]);
  });

  test("end with the error of the rig that failed, unless a signal ended them", async () => {
    refusals.push(refusal("DEVICE_BUSY", "it is used"));
    const running = startRigs();
    await settled();
    expect(logged()).toEqual([
      {
        level: WARN,
        event: "waiting",
        rig: "front",
        errorCode: "DEVICE_BUSY",
        hint: "Help.",
        msg: "front: it is used",
      },
    ]);
    printed.out = "";
    newest().end({ frames: 3 });
    await expect(ended(running)).rejects.toMatchObject({
      code: "DEVICE_BUSY",
      message: "rig front: it is used",
      hint: "Help.",
    });
    expect(printed.out).toBe("front: it is used\nrear: 3 frames in 2.0 s\n");
    refusals.push(refusal("DEVICE_BUSY", "it is used"));
    const stopped = startRigs();
    await settled();
    send("SIGTERM");
    expect(newest().calls).toEqual(["run", "stop"]);
    newest().end({ frames: 0 });
    await ended(stopped);
  });

  test("log notices with the name of the rig, five of a kind, at the level that the settings have", async () => {
    void startRigs({ json: true });
    await settled();
    const [front, rear] = both();
    for (let number = 0; number < 7; number++) rear.events.onNotice(`camera ${number} is slow`);
    expect(logged()).toEqual(
      [0, 1, 2, 3, 4].map((number) => ({
        level: WARN,
        event: "notice",
        rig: "rear",
        msg: `rear: camera ${number} is slow`,
      })),
    );
    front.events.onSettings!({ ...front.config, log: { ...front.config.log, level: "error" } });
    front.events.onNotice("the lens is dirty");
    expect(logged()).toEqual([]);
  });

  test("begin at the level that the first one has", async () => {
    void startRigs({ set: ["log.level=error"] });
    await settled();
    newest().events.onNotice("the lens is dirty");
    expect(logged()).toEqual([]);
  });

  test("as a service notify of their frames, their line and rigs that wait, and log states and energy", async () => {
    const messages = asService();
    refusals.push(refusal("DEVICE_BUSY", "it is used"));
    void startRigs();
    await settled();
    expect(messages).toEqual([
      "READY=1",
      "STATUS=front starting: it is used | rear starting | watts unavailable",
    ]);
    expect(logged()).toMatchObject([
      { event: "waiting", rig: "front" },
      {
        level: INFO,
        event: "state",
        rig: "front",
        state: "degraded",
        reason: "it is used",
        msg: "front degraded: it is used",
      },
    ]);
    messages.length = 0;
    newest().events.onFigures!(countedFigures({ frames: 3 }));
    expect(messages).toEqual(["STATUS=front waiting: it is used | rear 30.0 fps | watts unavailable"]);
    expect(logged()).toEqual([]);
    send("SIGTERM");
    expect(messages.at(-1)).toBe("STOPPING=1");
  });

  test("as a service are ready with the first frame, and feed the watchdog with each", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
    const messages = asService({ WATCHDOG_USEC: "4000000" });
    void startRigs();
    await settled();
    const [front, rear] = both();
    expect(messages).toEqual([]);
    rear.events.onFrame!({} as never);
    vi.advanceTimersByTime(1000);
    expect(messages.splice(0)).toEqual(["READY=1", "WATCHDOG=1"]);
    vi.advanceTimersByTime(2000);
    expect(messages).toEqual([]);
    front.away = true;
    rear.away = true;
    vi.advanceTimersByTime(1000);
    expect(messages).toEqual(["WATCHDOG=1"]);
  });

  test("as a service feed the watchdog for three periods of a slow source", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
    const messages = asService({ WATCHDOG_USEC: "4000000" });
    // Three periods are 3.75 s; a look each second.
    nextSource.rateHz = 0.8;
    void startRigs();
    await settled();
    vi.advanceTimersByTime(6000);
    expect(messages).toEqual(["WATCHDOG=1", "WATCHDOG=1", "WATCHDOG=1"]);
  });

  test("as a service log the energy of the board each minute, and once that it cannot be measured", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "hrtime"] });
    asService();
    void startRigs({ set: ["log.energyIntervalSeconds=60"] });
    await settled();
    vi.advanceTimersByTime(180_000);
    expect(logged()).toMatchObject([{ event: "energy", msg: "0.0 fps, watts unavailable", fps: "0" }]);
  });

  test("save settings below the name of the rig", async () => {
    void startRigs();
    await settled();
    expect(both()[1].host.save!({ "match.numDisparities": 64 })).toEqual({ file, overridden: [] });
    expect(() => both()[1].host.save!({ "match.numDisparities": -1 })).toThrow("match.numDisparities");
    expect(yaml().parse(readFileSync(file, "utf8")).rigs).toEqual({
      front: {},
      rear: { match: { numDisparities: 64 } },
    });
  });

  test("follow their file when it is read again: each rig alone, and a new one only after a restart", async () => {
    void startRigs();
    await settled();
    write({ front: {}, rear: { match: { numDisparities: 64 } }, top: {} });
    send("SIGHUP");
    await settled();
    expect(opened.map(({ calls }) => calls)).toEqual([
      ["run"],
      ["run", [{ "match.numDisparities": 64 }, "reload"]],
    ]);
    expect(logged()).toEqual([
      {
        level: INFO,
        event: "reload",
        changed: [],
        rig: "front",
        msg: "front: reload: no setting has changed",
      },
      {
        level: INFO,
        event: "reload",
        changed: ["match.numDisparities"],
        rig: "rear",
        msg: "rear: reload: changed match.numDisparities",
      },
      {
        level: WARN,
        event: "reload",
        rig: "top",
        msg: "top: reload: it is new. Restart depthwatt to run it.",
      },
    ]);
  });

  test("read again what a rig missed that was just being opened", async () => {
    let open = () => {};
    delays.push(Promise.resolve(), new Promise((resolve) => (open = resolve)));
    void startRigs();
    await settled();
    write({ front: {}, rear: { match: { numDisparities: 64 } } });
    send("SIGHUP");
    await settled();
    expect(logged()).toMatchObject([{ event: "reload", rig: "front", changed: [] }]);
    open();
    await settled();
    expect(both()[1].calls).toEqual([[{ "match.numDisparities": 64 }, "reload"], "run"]);
    expect(logged()).toMatchObject([{ event: "reload", rig: "rear", changed: ["match.numDisparities"] }]);
  });

  test("stay as they are when their file cannot be read, or has lost one of them", async () => {
    void startRigs();
    await settled();
    writeFileSync(file, "rigs: {");
    send("SIGHUP");
    await settled();
    expect(logged()).toMatchObject([{ level: WARN, event: "reload" }]);
    write({ front: {} });
    send("SIGHUP");
    await settled();
    expect(logged().slice(1)).toEqual([
      {
        level: WARN,
        event: "reload",
        errorCode: "CONFIG_INVALID",
        rig: "rear",
        msg:
          "rear: reload: rigs: expected rear, which runs, found none of that name; the running settings stay. " +
          "Restart depthwatt to run other rigs.",
      },
    ]);
    expect(opened.map(({ calls }) => calls)).toEqual([["run"], ["run"]]);
  });
});
