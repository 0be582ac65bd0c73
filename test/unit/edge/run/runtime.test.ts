// SPDX-License-Identifier: Apache-2.0
// A run without cameras: the order in which its parts begin and end, what a frame and an interval set off, and which notices,
// states and descriptions follow from what happens to it.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { greyPairLayout } from "../../../../camera/index.js";
import { type Config, loadConfig } from "../../../../edge/config/index.js";
import type { ComputedFrame } from "../../../../edge/contracts/computed-frame.js";
import type { EnergyRecord } from "../../../../edge/contracts/energy.js";
import { configuredGeometry } from "../../../../edge/pipeline/geometry.js";
import { matchParameters } from "../../../../edge/pipeline/parameters.js";
import { Runtime } from "../../../../edge/run/runtime.js";
import { ENGINE_INFO } from "../../../doubles/figures.js";
import { ended as isOver, settled } from "../../../doubles/opened-runs.js";

const SET = ["board=none", "power.sensor=none", "outputs.mqtt.broker=none", "power.idleSeconds=0"];
const DESCRIPTION = { title: "two cameras", ...greyPairLayout(160, 96), rateHz: 30, clock: "monotonic" };
const CLOCK = { origin: "boot", source: "driver", offsetMs: 5, jumps: 0 };
const AT_LIMIT = { ...ENGINE_INFO.verticalOffset, atLimit: true };

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
});
afterEach(() => {
  vi.useRealTimers();
});

type Call = [name: string, ...words: unknown[]];

/** A run whose parts record their calls. */
const assemble = (...set: string[]) => assembleWith({}, ...set);

function assembleWith(more: object, ...set: string[]) {
  const config: Config = loadConfig({ environment: {}, set: [...SET, ...set] }).config;
  const calls: Call[] = [];
  const note =
    (name: string) =>
    (...words: unknown[]) =>
      void calls.push([name, ...words]);
  let finish = () => {};
  let failure = (_error: Error) => {};
  const ended = new Promise<void>((resolve, reject) => {
    finish = resolve;
    failure = reject;
  });
  const geometry = configuredGeometry(config, DESCRIPTION as never, undefined);
  const parts = {
    board: { name: undefined },
    source: { description: DESCRIPTION, captureClocks: () => clocks.now, limit: note("gate.limit") },
    input: {
      source: {
        suspended: false,
        suspend: async (): Promise<void> => note("source.suspend")(),
      },
      geometry: { ...geometry, cameraInfo: undefined as object | undefined },
      warnings: ["the calibration is old"],
      picture: "picture",
      prepare: async (...words: unknown[]) => {
        prepared.signals.push(words[2] as AbortSignal);
        return prepared.next;
      },
      reopen: async () => ({ next: prepared.next, isSame: prepared.isSame }),
    },
    engine: {
      info: { ...ENGINE_INFO, backend: "cuda", memory: { images: "mapped", results: "copied" } } as Record<
        string,
        unknown
      >,
      match: matchParameters(config.match),
      options: {},
      setRightMap: note("engine.setRightMap"),
      stageMilliseconds: [1, Number.NaN, 2.5],
      tryOut: () => undefined,
      adjust: note("engine.adjust"),
      change: async (_options: object, afresh: boolean, commit: () => void) => {
        note("engine.change")(afresh);
        commit();
      },
    },
    gpu: { begin: async () => note("gpu.begin")() },
    meter: {
      sensor: { available: false } as object,
      start: note("meter.start"),
      restart: note("meter.restart"),
      measureIdle: async (seconds: number) => note("meter.measureIdle")(seconds),
      frame: (atNs: bigint) => ({ atNs }),
    },
    energyLog: { begin: note("energyLog.begin"), end: note("energyLog.end") },
    health: {
      problem: undefined as object | undefined,
      correction: "none",
      drift: "unknown",
      frame: note("health.frame"),
      open: note("health.open"),
      configure: note("health.configure"),
      corrected: () => corrected.now,
    },
    matching: { frame: note("matching.frame") },
    pipeline: {
      frames: 0,
      run: () => {
        note("pipeline.run")();
        return ended;
      },
      stop: note("pipeline.stop"),
      discardWaiting: note("pipeline.discardWaiting"),
    },
    outputs: {
      problem: undefined as string | undefined,
      failure: undefined as Error | undefined,
      ready: async () => note("outputs.ready")(),
      info: note("outputs.info"),
      cameraInfo: note("outputs.cameraInfo"),
      settings: note("outputs.settings"),
      state: note("outputs.state"),
      metrics: note("outputs.metrics"),
      notice: note("outputs.notice"),
      energy: note("outputs.energy"),
      configure: note("outputs.configure"),
    },
    reporter: {
      begin: note("reporter.begin"),
      figures: (span: string) => `figures of ${span}`,
      settled: (figures: string) => `settled ${figures}`,
      totals: () => "totals",
    },
    duty: {
      begin: note("duty.begin"),
      end: note("duty.end"),
      frameDone: note("duty.frameDone"),
      configure: note("duty.configure"),
      sourceChanged: note("duty.sourceChanged"),
    },
    snapshots: {},
    shared: undefined as object | undefined,
  };
  const corrected: { now: object } = { now: parts.input.geometry };
  const prepared: { signals: AbortSignal[]; next: object | undefined; isSame: boolean } = {
    signals: [],
    next: undefined,
    isSame: true,
  };
  const clocks: { now: Record<string, object> } = { now: {} };
  const runtime = new Runtime(config, {
    onNotice: note("onNotice"),
    onFigures: note("onFigures"),
    onEnergy: note("onEnergy"),
    onFrame: note("onFrame"),
    onState: note("onState"),
    onIdle: note("onIdle"),
    onSettings: note("onSettings"),
  });
  Object.assign(parts, more);
  runtime.assemble(parts as never);
  /** The calls since the last time, without descriptions, which are long. */
  const happened = (): (string | Call)[] =>
    calls.splice(0).map((call) => (call[0] === "outputs.info" || call.length === 1 ? call[0] : call));
  /** The notices since the last call. */
  const noticed = () =>
    calls.splice(0).flatMap(([name, text]) => (name === "onNotice" ? [text as string] : []));
  return {
    runtime,
    parts,
    config,
    calls,
    happened,
    noticed,
    prepared,
    corrected,
    clocks,
    finish: () => finish(),
    fail: (error: Error) => failure(error),
  };
}

/** The same, running, its beginning forgotten. */
const begin = (...set: string[]) => beginWith({}, ...set);

async function beginWith(more: object, ...set: string[]) {
  const bench = assembleWith(more, ...set);
  const run = bench.runtime.run();
  run.catch(() => {});
  await settled();
  bench.calls.length = 0;
  return { ...bench, run };
}

describe("the course of a run", () => {
  test("a warning of the calibration is a notice, and each part begins and ends in its turn", async () => {
    const { runtime, parts, config, happened, finish } = assemble("log.energyIntervalSeconds=60");
    expect(happened()).toEqual([
      ["onNotice", "the calibration is old"],
      ["outputs.notice", "the calibration is old"],
    ]);
    parts.input.geometry.cameraInfo = { width: 160 };
    runtime.owns({ close: () => void parts.outputs.energy("closed last") });
    runtime.owns({ close: async () => void parts.outputs.energy("closed first") });
    expect(runtime.totals).toBeUndefined();
    const run = runtime.run();
    await isOver(runtime.begun);
    await settled();
    expect(runtime.totals).toBe("totals");
    const settings = expect.objectContaining({ "match.numDisparities": config.match.numDisparities });
    expect(happened()).toEqual([
      "outputs.ready",
      "meter.start",
      ["outputs.cameraInfo", { width: 160 }],
      "outputs.info",
      ["outputs.settings", settings, "start"],
      ["outputs.state", "online", "two cameras", undefined],
      ["onState", "online", "two cameras", undefined],
      "gpu.begin",
      "reporter.begin",
      ["energyLog.begin", 60],
      "duty.begin",
      "pipeline.run",
    ]);
    finish();
    expect(await isOver(run)).toBe("settled figures of run");
    expect(happened()).toEqual([
      "duty.end",
      "energyLog.end",
      ["outputs.metrics", "figures of run"],
      ["outputs.energy", "closed first"],
      ["outputs.energy", "closed last"],
    ]);
    expect([runtime.totals, runtime.failure]).toEqual([undefined, undefined]);
    // After its end nothing is published.
    vi.advanceTimersByTime(10_000);
    runtime.dutyChanged("asleep");
    runtime.publishInfo();
    expect(happened()).toEqual([]);
  });

  test("a run that fails closes its parts and rejects", async () => {
    const { runtime, run, fail, happened } = await begin();
    const close = vi.fn();
    runtime.owns({ close });
    fail(new Error("torn"));
    await expect(isOver(run)).rejects.toThrow("torn");
    expect(happened()).toEqual(["duty.end", "energyLog.end", ["outputs.metrics", "figures of run"]]);
    expect(close).toHaveBeenCalledOnce();
  });

  test("stop() ends the pipeline; a run that is closed before it began never begins", async () => {
    const { runtime, happened } = await begin();
    runtime.stop();
    expect(happened()).toEqual(["pipeline.stop"]);
    const { runtime: other } = assemble();
    await other.close();
    await expect(isOver(other.begun)).rejects.toMatchObject({
      code: "RUN_ENDED",
      message: "the run ended before it began",
    });
  });

  test("what an output failed with before it was closed comes before what it failed with then", async () => {
    const [early, late] = [new Error("early"), new Error("late")];
    for (const first of [early, undefined]) {
      const { runtime, parts, run, finish } = await begin();
      parts.outputs.failure = first;
      runtime.owns({
        close: () => {
          parts.outputs.failure = late;
        },
      });
      finish();
      await isOver(run);
      expect(runtime.failure).toBe(first ?? late);
    }
  });

  test.each([
    ["a second at least", "0.5", { rails: [] }, 1.1],
    ["as long as asked", "3", { rails: [] }, 3],
    ["not without a sensor", "3", { available: false }, undefined],
    ["not if it is not asked for", "0", { rails: [] }, undefined],
  ])("the idle machine is measured: %s", async (_, idleSeconds, sensor, seconds) => {
    const { runtime, parts, calls } = assemble(`power.idleSeconds=${idleSeconds}`);
    parts.meter.sensor = sensor;
    void runtime.run();
    await settled();
    const meter = calls.filter((call) => /^(meter|onIdle)/.test((call as string[])[0]!));
    const idle = [["onIdle", seconds], ["meter.measureIdle", seconds], ["meter.restart"]];
    expect(meter).toEqual([["meter.start"], ...(seconds === undefined ? [] : idle)]);
  });

  test("a GPU that cannot be looked for is a notice", async () => {
    const { runtime, parts, calls } = assemble();
    parts.gpu.begin = async () => {
      throw new Error("no thread");
    };
    void runtime.run();
    await settled();
    expect(calls).toContainEqual(["onNotice", "no thread"]);
  });
});

describe("at each interval", () => {
  const tick = [
    ["outputs.metrics", "figures of recent"],
    ["onFigures", "figures of recent"],
  ];

  test("the figures are published; pairs that are too far apart are a notice each time they get there", async () => {
    const { parts, happened, noticed } = await begin("outputs.metricsIntervalMs=500");
    vi.advanceTimersByTime(499);
    expect(happened()).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(happened()).toEqual(tick);
    const noticesWith = (atLimit: boolean) => {
      parts.engine.info.verticalOffset = { ...AT_LIMIT, atLimit };
      vi.advanceTimersByTime(500);
      return noticed();
    };
    const far = [expect.stringMatching(/^the right image lies 4 rows or more above or below the left one/)];
    const notices = [true, true, false, true].map(noticesWith);
    expect(notices).toEqual([far, [], [], far]);
  });

  test("the last interval may end with pairs that are too far apart", async () => {
    const { parts, run, finish, noticed } = await begin();
    parts.engine.info.verticalOffset = AT_LIMIT;
    finish();
    await isOver(run);
    expect(noticed()).toHaveLength(1);
  });

  test("the run is described again when the cost of its memory is known, and when its paths change", async () => {
    const { parts, happened } = await begin();
    const intervalWith = (memory: object) => {
      parts.engine.info.memory = memory;
      vi.advanceTimersByTime(1000);
      return happened().filter((call) => call === "outputs.info").length;
    };
    const mapped = { images: "mapped", results: "copied" };
    expect([
      intervalWith(mapped),
      intervalWith({ ...mapped, imagesMicroseconds: 30 }),
      intervalWith({ ...mapped, imagesMicroseconds: 31 }),
      intervalWith({ ...mapped, results: "mapped", imagesMicroseconds: 31 }),
    ]).toEqual([0, 1, 0, 1]);
  });

  test("the clocks of the stamps are published when they are known, and when one jumps", async () => {
    const { parts, happened, clocks } = await begin();
    const intervalWith = (left: object | undefined) => {
      clocks.now = left === undefined ? {} : { left };
      vi.advanceTimersByTime(1000);
      return happened().slice(1, -1);
    };
    parts.input.geometry.cameraInfo = { width: 160 };
    const published = (left: object) => [
      "outputs.info",
      ["outputs.cameraInfo", { width: 160, captureClocks: { left } }],
    ];
    const jumped = { ...CLOCK, jumps: 1 };
    expect([
      intervalWith(undefined),
      intervalWith(CLOCK),
      intervalWith({ ...CLOCK, offsetMs: 5.5 }),
      intervalWith(jumped),
    ]).toEqual([[], published(CLOCK), [], published(jumped)]);
    parts.input.geometry.cameraInfo = undefined;
    expect(intervalWith({ ...CLOCK, jumps: 2 })).toEqual(["outputs.info"]);
  });

  test("another interval holds at once, with the settings that hold then", async () => {
    const { runtime, happened } = await begin("outputs.metricsIntervalMs=1000");
    vi.advanceTimersByTime(900);
    const change = { "outputs.metricsIntervalMs": 300, "match.numDisparities": 48 };
    expect(await runtime.apply(change)).toEqual(change);
    expect([runtime.config.outputs.metricsIntervalMs, runtime.searchChanged]).toEqual([300, true]);
    expect(happened()).toEqual([
      ["engine.change", true],
      ["duty.configure", runtime.config.power.dutyCycle],
      ["outputs.configure", runtime.config.outputs, "picture"],
      ["onSettings", runtime.config],
      ["outputs.settings", change, "apply"],
      "outputs.info",
    ]);
    vi.advanceTimersByTime(299);
    expect(happened()).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(happened()).toEqual(tick);
    vi.advanceTimersByTime(600);
    expect(happened()).toEqual([...tick, ...tick]);
  });

  test("settings that change before it runs begin no interval", async () => {
    const { runtime, happened } = assemble();
    happened();
    await runtime.apply({ "outputs.metricsIntervalMs": 300 }, "control");
    expect(runtime.searchChanged).toBe(false);
    expect(happened().at(-1)).toEqual(["outputs.settings", { "outputs.metricsIntervalMs": 300 }, "control"]);
    vi.advanceTimersByTime(1000);
    expect(happened()).toEqual([]);
  });
});

describe("a change of the settings", () => {
  /** Another source that is opened with a change. */
  function nextInput({ parts, prepared, happened }: Awaited<ReturnType<typeof begin>>, source: object) {
    const note = parts.outputs.notice;
    const next = {
      source: { description: { ...DESCRIPTION, title: "a recording" }, ...source },
      geometry: parts.input.geometry,
      warnings: ["its calibration is old"],
      takeOver: () => {
        parts.source.description = { ...DESCRIPTION, title: "a recording" };
        parts.input.geometry.cameraInfo = { width: 160 };
      },
      discard: async () => note("discarded"),
    };
    prepared.next = next;
    happened();
    return next;
  }

  test("that opens another source takes it over between two frames, describes it and publishes its warnings", async () => {
    const bench = await begin();
    const { runtime, happened, parts } = bench;
    nextInput(bench, {});
    await runtime.apply({ "source.synthetic.rateHz": 7 });
    expect(happened()).toEqual([
      ["engine.change", true],
      "pipeline.discardWaiting",
      ["health.open", runtime.config, { ...DESCRIPTION, title: "a recording" }, parts.input.geometry],
      ["duty.configure", runtime.config.power.dutyCycle],
      "duty.sourceChanged",
      ["outputs.configure", runtime.config.outputs, "picture"],
      ["outputs.cameraInfo", { width: 160 }],
      ["onSettings", runtime.config],
      ["outputs.settings", { "source.synthetic.rateHz": 7 }, "apply"],
      "outputs.info",
      ["outputs.state", "online", "a recording", undefined],
      ["onState", "online", "a recording", undefined],
      ["onNotice", "its calibration is old"],
      ["outputs.notice", "its calibration is old"],
    ]);
    expect(runtime.searchChanged).toBe(true);
  });

  test("that an engine refuses changes nothing, and discards the other source", async () => {
    const bench = await begin();
    const { runtime, parts, happened, config } = bench;
    nextInput(bench, {});
    parts.engine.change = async () => {
      throw new Error("too large");
    };
    await expect(isOver(runtime.apply({ "source.synthetic.rateHz": 7 }))).rejects.toThrow("too large");
    expect([happened(), runtime.config, runtime.searchChanged]).toEqual([
      [["outputs.notice", "discarded"]],
      config,
      false,
    ]);
    // The next change is not held up.
    bench.prepared.next = undefined;
    parts.engine.change = async (_options, _afresh, commit) => commit();
    await isOver(runtime.apply({ "refine.median": false }));
    expect(runtime.config.refine.median).toBe(false);
  });

  test("waits for the one before", async () => {
    const { runtime, parts } = await begin();
    const { change } = parts.engine;
    let open = () => {};
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    parts.engine.change = async (...words) => {
      await opened;
      return change(...words);
    };
    const first = runtime.apply({ "refine.median": false });
    await settled();
    parts.input.prepare = async () => {
      expect(runtime.config.refine.median).toBe(false);
      return undefined;
    };
    const second = runtime.apply({ "match.numDisparities": 48 });
    await settled();
    open();
    await isOver(first);
    await isOver(second);
    expect([runtime.config.refine.median, runtime.config.match.numDisparities]).toEqual([false, 48]);
  });

  test("of the watch configures it; a watch that fails is a notice, and the change holds", async () => {
    const { runtime, parts, happened, noticed } = await begin();
    await runtime.apply({ "health.enabled": false });
    expect(happened().slice(0, 2)).toEqual([
      ["engine.change", false],
      ["health.configure", runtime.config],
    ]);
    await runtime.apply({ "refine.median": false });
    expect(happened()[1]).toEqual(["duty.configure", runtime.config.power.dutyCycle]);
    parts.health.configure = () => {
      throw new Error("the drift file is torn");
    };
    await runtime.apply({ "health.enabled": true });
    expect([noticed(), runtime.config.health.enabled]).toEqual([["health: the drift file is torn"], true]);
  });

  test("to the same values publishes nothing", async () => {
    const { runtime, happened, config } = await begin();
    const change = { "match.numDisparities": config.match.numDisparities };
    expect(await runtime.apply(change)).toEqual(change);
    expect(happened()).toEqual([]);
  });

  test("to a matcher that reads colours is a notice where the images have none, once", async () => {
    const { runtime, noticed } = await begin();
    await runtime.apply({ "match.algorithm": "esaw" });
    expect(noticed()).toEqual([expect.stringContaining("(GREY)")]);
    await runtime.apply({ "refine.median": false });
    expect(noticed()).toEqual([]);
  });

  test("waits for its source no longer than until the run is stopped, or ends", async () => {
    const stopped = await begin();
    await stopped.runtime.apply({ "refine.median": false });
    expect(stopped.prepared.signals[0]!.aborted).toBe(false);
    stopped.runtime.stop();
    expect(stopped.prepared.signals[0]!.aborted).toBe(true);
    const over = await begin();
    await over.runtime.apply({ "refine.median": false });
    over.finish();
    await isOver(over.run);
    expect(over.prepared.signals[0]!.aborted).toBe(true);
  });
});

describe("a run that sleeps", () => {
  const yes = () => true;
  const no = () => false;

  test("closes its source between two frames, unless it is no longer wanted or the run ends", async () => {
    const { runtime, happened } = await begin();
    await runtime.sleep(no);
    expect(happened()).toEqual([]);
    await runtime.sleep(yes);
    expect(happened()).toEqual([
      ["engine.change", false],
      ["pipeline.discardWaiting", "dutyCycle"],
      "source.suspend",
    ]);
    runtime.stop();
    happened();
    await runtime.sleep(yes);
    expect(happened()).toEqual([]);
  });

  test("is asleep when its source has been closed", async () => {
    const { runtime, parts } = await begin();
    let close = () => {};
    parts.input.source.suspend = () => new Promise<void>((resolve) => (close = resolve));
    const asleep = runtime.sleep(yes);
    await expect(isOver(asleep)).rejects.toThrow("still waits");
    close();
    await isOver(asleep);
  });

  /** A run whose source is closed, and the source that is opened next. */
  async function asleep() {
    const bench = await begin();
    const { parts, prepared, happened } = bench;
    parts.input.source.suspended = true;
    prepared.next = {
      source: { description: DESCRIPTION },
      geometry: parts.input.geometry,
      takeOver: () => parts.outputs.notice("taken over"),
      discard: async () => parts.outputs.notice("discarded"),
    };
    happened();
    return bench;
  }

  test("opens its source again if that is wanted and it is closed", async () => {
    const { runtime, parts, happened } = await asleep();
    await runtime.wake(no);
    parts.input.source.suspended = false;
    await runtime.wake(yes);
    expect(happened()).toEqual([]);
    parts.input.source.suspended = true;
    await runtime.wake(yes);
    expect(happened()).toEqual([
      ["engine.change", false],
      ["outputs.notice", "taken over"],
    ]);
  });

  test("opens a source with other images as another source", async () => {
    const { runtime, prepared, happened } = await asleep();
    prepared.isSame = false;
    await runtime.wake(yes);
    expect(happened().slice(0, 4)).toEqual([
      ["engine.change", true],
      "pipeline.discardWaiting",
      ["outputs.notice", "taken over"],
      ["health.open", runtime.config, DESCRIPTION, expect.anything()],
    ]);
  });

  test("closes its source again if the engine refuses it", async () => {
    const { runtime, parts, happened } = await asleep();
    parts.engine.change = async () => {
      throw new Error("too large");
    };
    await expect(isOver(runtime.wake(yes))).rejects.toThrow("too large");
    expect(happened()).toEqual([["outputs.notice", "discarded"]]);
  });
});

describe("a rig of a board with a governor", () => {
  interface Part {
    goal: object;
    name: string;
    rank: number;
    levels: { rateHz: number | undefined }[];
    frames(): number;
    busyMs(): number;
    apply(level: object | undefined): void;
    onChange(reason: string): void;
  }

  function governed() {
    const joined: Part[] = [];
    const steps: string[] = [];
    const figures = { available: true, changes: 0 };
    const part = (one: Part) => {
      const number = joined.push(one);
      return {
        start: () => steps.push(`start ${number}`),
        stop: async () => void steps.push(`stop ${number}`),
        levels: one.levels,
        figures,
      };
    };
    return { joined, steps, figures, shared: { governor: { part }, name: "rear", rank: 2 } };
  }

  test("joins it from its beginning to its end, and again with other settings of the matcher", async () => {
    const { joined, steps, figures, shared } = governed();
    const { runtime, run, finish } = await beginWith({ shared }, "power.minFps=10", "power.budgetWatts=9");
    expect(joined).toMatchObject([{ name: "rear", rank: 2, goal: { budgetWatts: 9, minFps: 10 } }]);
    expect(steps.splice(0)).toEqual(["start 1"]);
    await runtime.apply({ "refine.median": false });
    expect(steps.splice(0)).toEqual([]);
    expect(runtime.searchChanged).toBe(false);
    figures.changes = 1;
    expect(runtime.searchChanged).toBe(true);
    figures.available = false;
    expect(runtime.searchChanged).toBe(false);
    await runtime.apply({ "power.minFps": 12 });
    expect(steps.splice(0)).toEqual(["stop 1", "start 2"]);
    expect(joined[1]!.goal).toEqual({ budgetWatts: 9, minFps: 12 });
    // Levels with fewer frames than asked for are left out.
    const slowest = joined.map(({ levels }) => Math.min(...levels.map(({ rateHz }) => rateHz ?? 30)));
    expect(slowest.map((hz, at) => hz >= [10, 12][at]!)).toEqual([true, true]);
    finish();
    await isOver(run);
    expect(steps).toEqual(["stop 2"]);
  });

  test("takes its level from it, and reports frames, times and changes", async () => {
    const { joined, shared } = governed();
    const { parts, happened } = await beginWith({ shared }, "power.budgetWatts=9");
    const [one] = joined as [Part];
    parts.pipeline.frames = 41;
    // A stage that did not run has no time.
    expect([one.frames(), one.busyMs()]).toEqual([41, 3.5]);
    const level = { parameters: { paths: 4 }, numDisparities: 48, halfResolution: true };
    one.apply({ ...level, rateHz: 12 });
    one.apply(undefined);
    one.onChange("less power");
    expect(happened()).toEqual([
      ["gate.limit", 12],
      ["engine.adjust", level],
      ["gate.limit", undefined],
      ["onNotice", "governor: less power"],
      ["outputs.notice", "governor: less power"],
    ]);
  });

  test("does not start it with settings that change before it runs", async () => {
    const { steps, shared } = governed();
    const { runtime } = assembleWith({ shared }, "power.budgetWatts=9");
    await runtime.apply({ "power.budgetWatts": 8 });
    expect(steps).toEqual(["stop 1"]);
  });
});

test("a calibration that is gone is published, and one that stays is not published again", async () => {
  const { runtime, parts, prepared, happened } = await begin();
  parts.input.geometry.cameraInfo = { width: 160 };
  await runtime.apply({ "refine.median": false });
  prepared.next = {
    source: parts.source,
    geometry: parts.input.geometry,
    warnings: [],
    takeOver: () => {
      parts.input.geometry.cameraInfo = undefined;
    },
  };
  expect(happened()).not.toContainEqual(["outputs.cameraInfo", { width: 160 }]);
  await runtime.apply({ "calibration.crop": 1 });
  expect(happened()).toContainEqual(["outputs.cameraInfo", undefined]);
});

test("a matcher that reads colours is a notice from the beginning where the images have none", () => {
  const { noticed } = assemble("match.algorithm=esaw");
  expect(noticed()).toEqual(["the calibration is old", expect.stringContaining("(GREY)")]);
});

describe("a frame", () => {
  const frame = (clock: string) =>
    ({ clock, leftTimestampNs: 5n, arrivedNs: 7n, images: { left: 1 } }) as unknown as ComputedFrame;

  test("is joined to energy by its capture time if that is on the meter's clock, and goes to those who watch", async () => {
    const { runtime, happened } = await begin();
    const [monotonic, other] = [frame("monotonic"), frame("realtime")];
    runtime.frameDone(monotonic);
    runtime.frameDone(other);
    expect([monotonic.energy, other.energy]).toEqual([{ atNs: 5n }, { atNs: 7n }]);
    expect(happened().slice(0, 4)).toEqual([
      "duty.frameDone",
      ["health.frame", { left: 1 }],
      ["matching.frame", monotonic],
      ["onFrame", monotonic],
    ]);
  });

  test("is the first one that has clocks: they are published with it", async () => {
    const { runtime, happened, clocks } = await begin();
    clocks.now = { left: CLOCK };
    runtime.frameDone(frame("monotonic"));
    expect(happened()[0]).toBe("outputs.info");
    clocks.now = { left: { ...CLOCK, jumps: 1 } };
    runtime.frameDone(frame("monotonic"));
    expect(happened()[0]).toBe("duty.frameDone");
  });

  test("ends the loss of a GPU that computed it", async () => {
    const { runtime, parts, happened } = await begin();
    parts.engine.info.backend = "cpu";
    runtime.backendLost("the GPU is gone");
    parts.engine.info.backend = "cuda";
    runtime.frameDone(frame("monotonic"));
    parts.engine.info.backend = "cpu";
    happened();
    runtime.dutyChanged("awake");
    expect(happened()[0]).toEqual(["outputs.state", "online", "awake", undefined]);
  });
});

describe("what happens to a run", () => {
  const notices = (text: string) => [
    ["onNotice", text],
    ["outputs.notice", text],
  ];
  const states = (...state: (string | undefined)[]) => [
    ["outputs.state", ...state],
    ["onState", ...state],
  ];
  const online = (reason: string) => states("online", reason, undefined);
  const RIG = { text: "the cameras have moved", code: "RIG_MOVED", hint: "Calibrate." };

  test("an energy entry goes to the outputs and to the owner", async () => {
    const { runtime, happened } = await begin();
    const record = { watts: 5 } as EnergyRecord;
    runtime.energyLogged(record);
    expect(happened()).toEqual([
      ["outputs.energy", record],
      ["onEnergy", record],
    ]);
  });

  test("a source that goes bad is a notice, with its code if it has one; its recovery is none", async () => {
    const { runtime, happened } = await begin();
    runtime.degraded("no camera", "DEVICE_GONE");
    expect(happened()).toEqual([
      ...states("degraded", "no camera", "DEVICE_GONE"),
      ...notices("no camera (DEVICE_GONE)"),
    ]);
    runtime.degraded("slow");
    expect(happened()).toEqual([...states("degraded", "slow", undefined), ...notices("slow")]);
    runtime.degraded(undefined);
    expect(happened()).toEqual(online("the source delivers again"));
  });

  test("an output that goes bad, and recovers", async () => {
    const { runtime, parts, happened } = await begin();
    parts.outputs.problem = "mqtt: away";
    runtime.outputProblem("mqtt: away");
    expect(happened()).toEqual([...notices("mqtt: away"), ...states("degraded", "mqtt: away", undefined)]);
    parts.outputs.problem = undefined;
    runtime.outputProblem(undefined);
    expect(happened()).toEqual(online("all outputs work again"));
  });

  test("cameras that have moved, are well again, belong to other settings, and are corrected", async () => {
    const { runtime, parts, happened } = await begin();
    parts.health.problem = RIG;
    runtime.rigProblem(RIG as never);
    expect(happened()).toEqual([
      ...notices("the cameras have moved (RIG_MOVED): Calibrate."),
      ...states("degraded", "the cameras have moved", "RIG_MOVED"),
    ]);
    parts.health.problem = undefined;
    runtime.rigProblem(undefined);
    const well = "the cameras match their calibration again";
    expect(happened()).toEqual([...notices(well), ...online(well)]);
    runtime.rigReset();
    expect(happened()).toEqual(online("the cameras are compared with their calibration anew"));
    runtime.rigCorrection("0.3 degrees are corrected");
    expect(happened()).toEqual([...notices("0.3 degrees are corrected"), "outputs.info", ...online(well)]);
    runtime.rigDrift(undefined);
    expect(happened()).toEqual(["outputs.info"]);
    runtime.rigDrift("the file is full");
    expect(happened()).toEqual([...notices("the file is full"), "outputs.info"]);
  });

  test("a GPU that is lost, once, and one that answers", async () => {
    const { runtime, parts, happened, noticed } = await begin();
    parts.engine.info.backend = "cpu";
    runtime.backendLost("the GPU is gone");
    const [first, ...rest] = happened();
    // The sentence ends with the hint of its code.
    expect((first as string[])[1]).toMatch(/^the GPU is gone \(GPU_LOST\): [A-Z].*\.$/);
    expect(rest.slice(1)).toEqual(["outputs.info", ...states("degraded", "the GPU is gone", "GPU_LOST")]);
    runtime.backendLost("the GPU is gone");
    expect(happened()).toEqual([]);
    runtime.backendLost("no driver", "GPU_NO_DRIVER");
    expect(happened()).toEqual([
      ...notices("no driver"),
      "outputs.info",
      ...states("degraded", "no driver", "GPU_NO_DRIVER"),
    ]);
    parts.engine.info.backend = "cuda";
    runtime.backendFound();
    const found = "the GPU answers now and computes from the next frame on";
    expect(happened()).toEqual([...notices(found), ...online(found)]);
    // The loss is over: the same one again is a new one, and another GPU computes on.
    runtime.backendLost("no driver", "GPU_NO_DRIVER");
    runtime.backendLost("the GPU is gone");
    expect(noticed()).toEqual(["no driver", "the GPU is gone"]);
  });

  test("another engine gets the corrected right map, unless it has it or needs none", async () => {
    const { runtime, happened, corrected } = await begin();
    const [old, fresh] = [{ old: 1 }, { fresh: 1 }];
    const change = (rightMap: object | undefined, maps: object | undefined) => {
      corrected.now = { maps };
      runtime.engineChanged({ rightMap } as never);
      return happened();
    };
    expect(change(old, { rightMap: fresh })).toEqual([["engine.setRightMap", fresh], "outputs.info"]);
    expect(change(fresh, { rightMap: fresh })).toEqual(["outputs.info"]);
    expect(change(undefined, { rightMap: fresh })).toEqual(["outputs.info"]);
    expect(change(old, undefined)).toEqual(["outputs.info"]);
  });
});
