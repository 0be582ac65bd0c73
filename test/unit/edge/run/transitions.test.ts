// SPDX-License-Identifier: Apache-2.0
// Random sequences of what can happen to a run: pairs, finished and lost frames, changes that succeed and fail, budgets, sleep,
// passing time. After each step nothing is open twice, no pair is lost uncounted, and every timer runs once.
import fc from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { DepthwattError } from "../../../../core/index.js";
import {
  type EngineInfo,
  type EngineOptions,
  type FrameResult,
  STAGE_NAMES,
} from "../../../../cuda/index.js";
import type { RunFigures } from "../../../../edge/run/figures.js";
import type { Runtime } from "../../../../edge/run/runtime.js";
import { Meter, type PowerSensor, type RailReading } from "../../../../power/index.js";
import { UNWATCHED } from "../../../doubles/pipeline.js";
import { ScriptedSource, script } from "../../../doubles/run-script.js";
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

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ["setInterval", "clearInterval", "setTimeout", "clearTimeout", "performance", "hrtime"],
  });
});
afterEach(() => {
  vi.useRealTimers();
});

const SENSOR: Omit<PowerSensor, "read"> = {
  name: "scripted",
  rails: [{ label: "in", sourcePath: "test", kind: "power", updateIntervalMs: undefined, step: undefined }],
  total: { rails: ["in"], reason: "all" },
  close: () => {},
};

type OnDone = (error: Error | null, result: FrameResult) => void;

/** An engine that finishes a frame on request, and knows the source that its images come from. */
class StepEngine {
  readonly options: EngineOptions;
  readonly slots: object[];
  readonly stageMilliseconds = new Float64Array(STAGE_NAMES.length).fill(2);
  readonly framesInFlight = 1;
  readonly pending: { slot: number; onDone: OnDone }[] = [];
  readonly #bench: Bench;
  closed = false;
  backend: EngineInfo["backend"];

  constructor(bench: Bench, options: EngineOptions) {
    this.#bench = bench;
    this.options = options;
    this.backend = options.backend === "cpu" ? "cpu" : "cuda";
    this.slots = Array.from({ length: options.slots }, () => ({
      disparityQ4: new Int16Array(0),
      confidence: new Uint8Array(0),
    }));
  }

  get info(): EngineInfo {
    return {
      backend: this.backend,
      backendReason: `on ${this.backend}`,
      instructionSet: "scalar",
      threads: 1,
      workspaceBytes: 0,
      framesInFlight: 1,
      ...UNWATCHED,
    } as EngineInfo;
  }

  submit(slot: number, left: Uint8Array, right: Uint8Array, onDone: OnDone, follows?: boolean): void {
    const { inputWidth, inputHeight } = this.options;
    const fits = left.length === inputWidth * inputHeight && right.length === left.length;
    const { current } = this.#bench;
    if (this.closed) this.#bench.wrong.push("a closed engine was given a pair");
    if (!fits || left[0] !== current)
      this.#bench.wrong.push(`a pair of source ${left[0]} reached ${current}'s`);
    if (follows && current !== this.#bench.submitted)
      this.#bench.wrong.push("a first pair follows another source's");
    this.#bench.submitted = current;
    this.pending.push({ slot, onDone });
  }

  setRightMap(): void {}

  close(): void {
    if (this.closed) this.#bench.wrong.push("an engine was closed twice");
    this.closed = true;
  }
}

/** The running system. */
class Bench {
  runtime!: Runtime;
  readonly sources: ScriptedSource[] = [];
  readonly engines: StepEngine[] = [];
  readonly wrong: string[] = [];
  readonly states: string[] = [];
  readonly notices: string[] = [];
  readonly framed: bigint[] = [];
  metrics = 0;
  /** Far within any budget of the random sequences. */
  watts = () => 5;
  /** Sources that were in use, by number. */
  readonly used = new Set([0]);
  /** The source of the last pair that an engine was given. */
  submitted: number | undefined;
  /** Pairs of sources that were not in use any more. */
  late = 0;
  /** How the next source and engine open. */
  fate: Fate = "works";

  async open(): Promise<void> {
    const read = (): RailReading[] => [
      { available: true, timestampNs: process.hrtime.bigint(), powerMilliwatts: 1000 * this.watts() },
    ];
    const sensor = { ...SENSOR, read };
    script.openMeter = () => new Meter({ sensor, clock: () => process.hrtime.bigint() });
    script.openSource = (config) => {
      if (this.fate === "refused") throw new DepthwattError("SOURCE_UNREADABLE", "refused by the test");
      const { width, height } = config.source.synthetic;
      const number = this.sources.length;
      const data = new Uint8Array(width * height).fill(number);
      const source = new ScriptedSource(number, { width, height }, () => ({ left: data, right: data }));
      if (this.fate === "breaks")
        source.failure = new DepthwattError("SOURCE_UNREADABLE", "broken by the test");
      source.eager = number > 0;
      this.sources.push(source);
      return { source };
    };
    script.openEngine = (options) => {
      if (this.fate === "engine") throw new DepthwattError("ENGINE_FAILED", "no engine today");
      const engine = new StepEngine(this, options);
      this.engines.push(engine);
      return engine as never;
    };
    const size = ["source.synthetic.width=96", "source.synthetic.height=64"];
    const cycle = [`power.dutyCycle.everySeconds=${CYCLE_SECONDS}`, "power.dutyCycle.settleSeconds=0"];
    this.runtime = await openScriptedRun([...size, ...cycle, "match.numDisparities=32"], {
      onState: (state) => this.states.push(state),
      onNotice: (notice) => this.notices.push(notice),
      onFigures: () => this.metrics++,
    });
    const { meter } = this.runtime.parts;
    const noted = meter.frame.bind(meter);
    vi.spyOn(meter, "frame").mockImplementation((ns) => {
      this.framed.push(ns);
      return noted(ns);
    });
  }

  get source(): ScriptedSource {
    return this.sources[this.current]!;
  }

  get isClosed(): boolean {
    return this.runtime.parts.input.source.suspended;
  }

  deliver(): void {
    if (this.isClosed) this.late++;
    this.source.deliver();
  }

  /** Number of the source in use. */
  get current(): number {
    return Number(/\d+/.exec(this.runtime.parts.source.description.title)![0]);
  }

  get engine(): StepEngine {
    return this.engines.find(({ closed }) => !closed)!;
  }

  get inWork(): number {
    return this.engines.reduce((sum, { pending }) => sum + pending.length, 0);
  }

  /** @param error undefined: it is computed */
  finish(error: Error | null = null): void {
    const { engine } = this;
    const job = engine.pending.shift();
    job?.onDone(error, {
      slot: job.slot,
      encodedDepthBytes: 0,
      encodedDisparityBytes: 0,
      validPixels: 4,
      matchedPixels: 3,
      droppedPixels: { filled: 0, lowConfidence: 0, tooNear: 0, tooFar: 0 },
    });
  }
}

const CYCLE_SECONDS = 4;
type Fate = "works" | "refused" | "breaks" | "engine";

/** The expected state of the system. */
interface Model {
  metricsMs: number;
  /** Since the metrics timer was started. */
  elapsedMs: number;
  metrics: number;
  frames: number;
  lost: number;
  governed: boolean;
  sourceDegraded: boolean;
  backend: "cuda" | "cpu";
  /** The GPU was lost and has computed no frame since. */
  lossReported: boolean;
  lossNotices: number;
  width: number;
  numDisparities: number;
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

function finishFrame(model: Model, bench: Bench): void {
  model.frames++;
  if (bench.engine.backend === "cuda") model.lossReported = false;
  bench.finish();
}

/** Lets a change come to its end while frames are being computed. */
async function settled<T>(bench: Bench, model: Model, change: Promise<T>): Promise<T | Error> {
  let outcome: T | Error | undefined;
  change.then(
    (value) => {
      outcome = value;
    },
    (error: Error) => {
      outcome = error;
    },
  );
  for (let turns = 0; turns < 100; turns++) {
    await turn();
    if (outcome !== undefined) return outcome;
    // The engine comes to rest once the frame in work is done.
    if (turns > 5 && bench.inWork > 0) finishFrame(model, bench);
  }
  throw new Error("the change never ended");
}

function expectInvariants(bench: Bench, model: Model): void {
  const { runtime, sources, engines } = bench;
  expect(bench.wrong).toEqual([]);
  expect(engines.filter(({ closed }) => !closed)).toHaveLength(1);
  expect(
    sources.filter(({ stopped }) => !stopped).map(({ number }) => number),
    "sources that are open",
  ).toEqual(bench.isClosed ? [] : [bench.current]);
  expect(bench.source.description.width).toBe(model.width);
  expect(bench.engine.options).toMatchObject({ inputWidth: model.width });
  expect(bench.engine.options.match.numDisparities).toBe(model.numDisparities);
  expect(runtime.config.match.numDisparities).toBe(model.numDisparities);
  const { dutyCycle } = runtime.parts.reporter.figures("run");
  const isAsleep = dutyCycle.available && dutyCycle.state === "asleep";
  // Frames in work are finished before the cameras close.
  if (!isAsleep || bench.inWork === 0) expect(bench.isClosed, "closed cameras").toBe(isAsleep);
  // A closed source is no problem.
  if (bench.isClosed) model.sourceDegraded = false;
  // One timer each of the meter, the metrics, the energy log, the governor and the end of a sleep.
  expect(vi.getTimerCount(), "timers").toBe(3 + Number(model.governed) + Number(isAsleep));
  expect(runtime.governor !== undefined).toBe(model.governed);
  expect(bench.metrics, "metrics").toBe(model.metrics);
  const { pipeline } = runtime.parts;
  expect(pipeline.frames).toBe(model.frames);
  expect(bench.framed, "frames joined to energy").toHaveLength(model.frames);
  const drops = Object.values(pipeline.drops.snapshot()).reduce((sum, count) => sum + count, 0);
  expect(pipeline.drops.snapshot().backendLost ?? 0).toBe(model.lost);
  expect(bench.notices.filter((notice) => notice.startsWith(GPU_LOST))).toHaveLength(model.lossNotices);
  bench.used.add(bench.current);
  const used = sources.filter(({ number }) => bench.used.has(number));
  const delivered = used.reduce((sum, source) => sum + source.delivered, 0);
  const released = used.reduce((sum, source) => sum + source.released, 0);
  for (const source of sources)
    if (source.stopped) expect(source.released, `pairs of source ${source.number}`).toBe(source.delivered);
  expect(released, "released").toBe(model.frames + drops);
  const waiting = delivered - released - bench.inWork;
  expect(waiting, "pairs that wait").toBeGreaterThanOrEqual(0);
  expect(waiting, "pairs that wait").toBeLessThanOrEqual(1);
  expect(runtime.parts.source.counters().pairs, "pairs counted").toBe(delivered - bench.late);
  const degraded = model.sourceDegraded || (model.backend === "cpu" && model.lossReported);
  expect(bench.states.at(-1), bench.notices.join("\n")).toBe(degraded ? "degraded" : "online");
}

const GPU_LOST = "the GPU was lost";
type Command = fc.AsyncCommand<Model, Bench>;
const command = (name: string, run: (model: Model, bench: Bench) => void | Promise<void>): Command => ({
  check: () => true,
  run: async (model, bench) => {
    await run(model, bench);
    await turn();
    expectInvariants(bench, model);
  },
  toString: () => name,
});

/** Asks for a change. @param opens whether another engine is needed */
async function change(
  model: Model,
  bench: Bench,
  values: Record<string, number | null>,
  fate: Fate,
  { source = false, engine = false } = {},
): Promise<boolean> {
  bench.fate = fate;
  const applied = bench.runtime.apply(values, "a test");
  const outcome = await settled(bench, model, applied);
  bench.fate = "works";
  const fails = (source && fate !== "works") || (engine && fate === "engine");
  expect(outcome instanceof Error, `${JSON.stringify(values)}: ${outcome}`).toBe(fails);
  // Any change that holds begins a new interval of the metrics.
  if (!fails) model.elapsedMs = 0;
  return !fails;
}

const fates = fc.constantFrom<Fate>("works", "works", "refused", "breaks", "engine");

const COMMANDS: fc.Arbitrary<Command>[] = [
  fc.constant(command("pair", (_, bench) => bench.deliver())),
  fc.constant(command("pair", (_, bench) => bench.deliver())),
  fc.constant(
    command("frame", (model, bench) => {
      if (bench.inWork > 0) finishFrame(model, bench);
    }),
  ),
  fc.constant(
    command("late pair", (_, bench) => {
      const old = bench.sources.find(({ number }) => bench.used.has(number) && number !== bench.current);
      if (old === undefined) return;
      bench.late++;
      old.deliver();
    }),
  ),
  fc.constant(
    command("backend lost", (model, bench) => {
      if (bench.inWork === 0) return;
      model.backend = "cpu";
      if (!model.lossReported) model.lossNotices++;
      model.lossReported = true;
      model.lost++;
      bench.engine.backend = "cpu";
      bench.finish(new DepthwattError("FRAME_LOST", GPU_LOST));
    }),
  ),
  fc.constant(
    command("backend and source recover", (model, bench) => {
      model.backend = "cuda";
      model.lossReported = false;
      model.sourceDegraded = false;
      bench.engine.backend = "cuda";
      bench.runtime.backendFound();
      bench.source.events!.onDegraded(undefined);
    }),
  ),
  fc.constant(
    command("source degraded", (model, bench) => {
      if (bench.isClosed) return;
      model.sourceDegraded = true;
      bench.source.events!.onDegraded("a camera is away");
    }),
  ),
  fc.integer({ min: 1, max: 3000 }).map((ms) =>
    command(`${ms} ms`, (model) => {
      vi.advanceTimersByTime(ms);
      model.elapsedMs += ms;
      model.metrics += Math.floor(model.elapsedMs / model.metricsMs);
      model.elapsedMs %= model.metricsMs;
    }),
  ),
  fc.tuple(fc.constantFrom(16, 32, 48), fates).map(([numDisparities, fate]) =>
    command(`match.numDisparities ${numDisparities}, ${fate}`, async (model, bench) => {
      if (numDisparities === model.numDisparities) return;
      const values = { "match.numDisparities": numDisparities };
      if (await change(model, bench, values, fate, { engine: true })) model.numDisparities = numDisparities;
    }),
  ),
  fc.tuple(fc.constantFrom(96, 112, 128), fates).map(([width, fate]) =>
    command(`source.synthetic.width ${width}, ${fate}`, async (model, bench) => {
      if (width === model.width) return;
      const values = { "source.synthetic.width": width };
      if (!(await change(model, bench, values, fate, { source: true, engine: true }))) return;
      model.width = width;
      model.sourceDegraded = false;
    }),
  ),
  fc.constantFrom(250, 1000).map((ms) =>
    command(`outputs.metricsIntervalMs ${ms}`, async (model, bench) => {
      if (ms === model.metricsMs) return;
      model.metricsMs = ms;
      await change(model, bench, { "outputs.metricsIntervalMs": ms }, "works");
    }),
  ),
  fc.constantFrom(1, 2, null).map((frames) =>
    command(`power.dutyCycle.frames ${frames}`, async (model, bench) => {
      if ((bench.runtime.config.power.dutyCycle.frames ?? null) === frames) return;
      await change(model, bench, { "power.dutyCycle.frames": frames }, "works");
    }),
  ),
  fc.constant(command("request to wake", (_, bench) => void bench.runtime.parts.duty.request())),
  fc.constantFrom(500, 600, null).map((budgetWatts) =>
    command(`power.budgetWatts ${budgetWatts}`, async (model, bench) => {
      if ((bench.runtime.config.power.budgetWatts ?? null) === budgetWatts) return;
      model.governed = budgetWatts !== null;
      await change(model, bench, { "power.budgetWatts": budgetWatts }, "works");
    }),
  ),
];

/** Ends a run. Nothing of it may be left. */
async function end(bench: Bench, running: Promise<RunFigures>): Promise<void> {
  bench.used.add(bench.current);
  bench.runtime.stop();
  let figures: RunFigures | undefined;
  running.then((ended) => {
    figures = ended;
  });
  for (let turns = 0; turns < 200 && figures === undefined; turns++) {
    if (bench.inWork > 0) bench.finish();
    await turn();
  }
  expect(figures, "the run ended").toBeDefined();
  expect(bench.wrong).toEqual([]);
  expect(bench.sources.filter(({ stopped }) => !stopped)).toEqual([]);
  expect(bench.engines.filter(({ closed }) => !closed)).toEqual([]);
  expect(vi.getTimerCount(), "timers after the end").toBe(0);
  for (const { number, delivered, released } of bench.sources)
    expect(released, `pairs of source ${number}`).toBe(delivered);
  const { frames, drops } = figures!;
  const dropped = Object.values(drops).reduce((sum, count) => sum + count, 0);
  const delivered = bench.sources.filter(({ number }) => bench.used.has(number));
  expect(frames + dropped).toBe(delivered.reduce((sum, source) => sum + source.delivered, 0));
}

/** Opens a run and begins it. */
async function started() {
  // A sequence that failed may have left some.
  vi.clearAllTimers();
  const bench = new Bench();
  await bench.open();
  const running = bench.runtime.run();
  running.catch(() => {});
  await turn();
  return { bench, running };
}

/** Waits for a change, finishing the frame in work. */
async function applied(bench: Bench, values: Record<string, number | null>): Promise<void> {
  let done = false;
  const asked = bench.runtime.apply(values, "a test").finally(() => {
    done = true;
  });
  asked.catch(() => {});
  for (let turns = 0; turns < 100 && !done; turns++) {
    await turn();
    if (turns === 6) bench.finish();
  }
  await asked;
}

test("a pair that waits while the source changes is dropped, and the next frame follows no other", async () => {
  const { bench, running } = await started();
  bench.source.deliver();
  bench.source.deliver();
  vi.advanceTimersByTime(33);
  await applied(bench, { "source.synthetic.width": 112 });
  expect(bench.wrong).toEqual([]);
  expect(bench.runtime.parts.pipeline.drops.snapshot()).toEqual({ sourceChanged: 1 });
  expect(bench.sources.map(({ delivered, released }) => [delivered, released])).toEqual([
    [2, 2],
    [1, 0],
  ]);
  expect(bench.inWork).toBe(1);
  await end(bench, running);
});

test.each<Fate>(["refused", "breaks", "engine"])(
  "a change that fails (%s) leaves nothing open, and the run continues",
  async (fate) => {
    const { bench, running } = await started();
    bench.fate = fate;
    await expect(applied(bench, { "source.synthetic.width": 112 })).rejects.toBeInstanceOf(DepthwattError);
    bench.fate = "works";
    expect(bench.sources.map(({ stopped }) => stopped).slice(1)).toEqual(fate === "refused" ? [] : [true]);
    expect(bench.engines.map(({ closed }) => closed)).toEqual([false]);
    bench.source.deliver();
    bench.finish();
    expect(bench.runtime.parts.pipeline.frames).toBe(1);
    await end(bench, running);
  },
);

test("a budget that is taken back takes back its level, its limit of the rate and its timer", async () => {
  let watts = 5;
  const { bench, running } = await started();
  bench.watts = () => watts;
  const deliverTen = () => {
    for (let i = 0; i < 10; i++) {
      vi.advanceTimersByTime(100);
      bench.source.deliver();
      bench.finish();
    }
  };
  await applied(bench, { "power.budgetWatts": 6 });
  watts = 20;
  for (let second = 0; second < 60; second++) {
    deliverTen();
    await turn();
    await turn();
  }
  const { governor, parts } = bench.runtime;
  const figures = governor!.figures;
  expect(figures).toMatchObject({ available: true, level: figures.available && figures.levels - 1 });
  expect(bench.engine.options.match.numDisparities).toBeLessThanOrEqual(32);
  const limited = parts.pipeline.drops.snapshot().governor!;
  expect(limited).toBeGreaterThan(100);
  await applied(bench, { "power.budgetWatts": null });
  expect(bench.runtime.governor).toBeUndefined();
  const match = { numDisparities: 32, halfResolution: false, parameters: { paths: 4 } };
  expect(bench.engine.options.match).toMatchObject(match);
  deliverTen();
  expect(parts.pipeline.drops.snapshot().governor).toBe(limited);
  expect(vi.getTimerCount(), "timers").toBe(3);
  await end(bench, running);
});

test("a running system keeps what it owns in order through any sequence of events", async () => {
  await fc.assert(
    fc.asyncProperty(fc.commands(COMMANDS, { maxCommands: 40, size: "max" }), async (commands) => {
      const { bench, running } = await started();
      const model: Model = {
        metricsMs: 1000,
        elapsedMs: 0,
        metrics: 0,
        frames: 0,
        lost: 0,
        governed: false,
        sourceDegraded: false,
        backend: "cuda",
        lossReported: false,
        lossNotices: 0,
        width: 96,
        numDisparities: 32,
      };
      await fc.asyncModelRun(() => ({ model, real: bench }), commands);
      await end(bench, running);
    }),
    { numRuns: 100 },
  );
});
