// SPDX-License-Identifier: Apache-2.0
// The duty cycle of a whole run: cameras, engine, sensor and clock are the test's.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { DepthwattError } from "../../../../core/index.js";
import type { DutyState } from "../../../../edge/contracts/duty-cycle.js";
import type { EnergyRecord } from "../../../../edge/contracts/energy.js";
import type { Runtime } from "../../../../edge/run/runtime.js";
import { Meter } from "../../../../power/index.js";
import { scriptedSensor } from "../../../doubles/figures.js";
import { HandEngine } from "../../../doubles/pipeline.js";
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

const cleanups: (() => unknown)[] = [];
beforeEach(() => {
  vi.useFakeTimers({
    toFake: ["setInterval", "clearInterval", "setTimeout", "clearTimeout", "performance", "hrtime"],
  });
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  vi.useRealTimers();
});

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
async function turns(count = 20): Promise<void> {
  for (let i = 0; i < count; i++) await turn();
}

const [WIDTH, HEIGHT] = [96, 64];
/** Watts of the scripted board: published idle power of a stripped Orin Nano, and a draw while its cameras are open. */
const [ASLEEP_WATTS, AWAKE_WATTS] = [2.4, 7];

class Bench {
  runtime!: Runtime;
  readonly sources: ScriptedSource[] = [];
  readonly engines: { options: object; engine: HandEngine }[] = [];
  readonly states: string[] = [];
  readonly notices: string[] = [];
  readonly energy: EnergyRecord[] = [];
  /** Grey value of the images. */
  grey = 100;
  /** Columns on the left that are white. */
  object = 0;
  refuse: string | undefined;
  /** Memory of the images that a source names, if its number is given. */
  memoryOf: (number: number) => Uint8Array[] | undefined = () => undefined;
  hasSensor = true;
  height = HEIGHT;

  async open(...set: string[]): Promise<void> {
    script.openSource = () => {
      if (this.refuse !== undefined) throw new DepthwattError("DEVICE_UNAVAILABLE", this.refuse);
      const number = this.sources.length;
      const size = { width: WIDTH, height: this.height };
      const source = new ScriptedSource(number, size, () => {
        const image = new Uint8Array(WIDTH * this.height).fill(this.grey);
        for (let row = 0; row < this.height; row++) image.fill(250, row * WIDTH, row * WIDTH + this.object);
        return { left: image, right: image };
      });
      Object.assign(source, { inputMemory: this.memoryOf(number) });
      this.sources.push(source);
      return { source };
    };
    script.openEngine = (options) => {
      const engine = new HandEngine(options.slots);
      this.engines.push({ options, engine });
      return engine;
    };
    const watts = () => ({ main: this.sources.some(({ stopped }) => !stopped) ? AWAKE_WATTS : ASLEEP_WATTS });
    const sensor = this.hasSensor
      ? scriptedSensor(watts)
      : { available: false as const, reason: "this board has no sensor" };
    script.openMeter = () => new Meter({ sensor, clock: () => process.hrtime.bigint() });
    const size = [`source.synthetic.width=${WIDTH}`, `source.synthetic.height=${HEIGHT}`];
    this.runtime = await openScriptedRun([...size, "match.numDisparities=32", ...set], {
      onState: (state, reason) => this.states.push(`${state}: ${reason}`),
      onNotice: (notice) => this.notices.push(notice),
      onEnergy: (record) => this.energy.push(record),
    });
    const running = this.runtime.run();
    cleanups.push(async () => {
      this.runtime.stop();
      await running;
      expect(this.sources.every(({ stopped }) => stopped)).toBe(true);
      for (const { delivered, released } of this.sources) expect(released).toBe(delivered);
      expect(vi.getTimerCount(), "timers after the end").toBe(0);
    });
    await turns();
  }

  get source(): ScriptedSource {
    return this.sources.at(-1)!;
  }

  get figures() {
    const { dutyCycle } = this.runtime.parts.reporter.figures("run");
    if (!dutyCycle.available) throw new Error(dutyCycle.reason);
    return dutyCycle;
  }

  get state(): DutyState {
    return this.figures.state;
  }

  get drops() {
    return this.runtime.parts.pipeline.drops.snapshot();
  }

  /** Delivers pairs 100 ms apart. Each one that reaches the engine is computed at once. */
  async pairs(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      vi.advanceTimersByTime(100);
      this.source.deliver();
      for (const { engine } of this.engines) while (engine.pending.length > 0) engine.finish();
      await turns(5);
    }
    await turns();
  }

  async pass(seconds: number): Promise<void> {
    vi.advanceTimersByTime(1000 * seconds);
    await turns();
  }
}

const CYCLE = ["power.dutyCycle.frames=2", "power.dutyCycle.everySeconds=10"];

test("computes its frames, closes the cameras, and opens them again after the interval", async () => {
  const bench = new Bench();
  await bench.open(...CYCLE);
  expect(bench.state).toBe("settling");
  await bench.pairs(4);
  expect(bench.state).toBe("asleep");
  expect(bench.runtime.parts.pipeline.frames).toBe(2);
  expect(bench.drops).toEqual({ settling: 2 });
  expect(bench.sources.map(({ stopped }) => stopped)).toEqual([true]);
  expect(bench.runtime.parts.duty.excusesFrames).toBe(true);
  await bench.pass(9.5);
  expect(bench.sources).toHaveLength(1);
  await bench.pass(0.2);
  expect(bench.sources.map(({ stopped }) => stopped)).toEqual([true, false]);
  expect(bench.runtime.parts.duty.excusesFrames).toBe(false);
  await bench.pairs(4);
  expect(bench.runtime.parts.source.counters().pairs).toBe(8);
  expect(bench.figures).toMatchObject({ state: "asleep", wakes: 2, usefulFrames: 4 });
  expect(bench.states.every((state) => state.startsWith("online"))).toBe(true);
});

test("discards frames until the brightness is steady, or for the longest time", async () => {
  const bench = new Bench();
  await bench.open(...CYCLE, "power.dutyCycle.settleSeconds=1");
  for (const grey of [20, 60, 90, 99, 100]) {
    bench.grey = grey;
    await bench.pairs(1);
  }
  expect(bench.drops).toEqual({ settling: 5 });
  await bench.pairs(1);
  expect([bench.state, bench.runtime.parts.pipeline.frames]).toEqual(["awake", 1]);
  await bench.pairs(1);
  await bench.pass(10);
  for (let i = 0; bench.state !== "awake"; i++) {
    bench.grey = 20 + 50 * (i % 2);
    await bench.pairs(1);
    expect(i).toBeLessThan(11);
  }
  // The first one came 0.1 s after the wake, and limits the time.
  expect(bench.drops).toEqual({ settling: 15 });
});

test("counts the energy of sleep and discarded frames as that of the useful frames", async () => {
  const bench = new Bench();
  await bench.open(...CYCLE, "log.energyIntervalSeconds=30");
  const awakeSeconds = 0.4;
  for (let cycle = 0; cycle < 6; cycle++) {
    await bench.pairs(4);
    await bench.pass(5);
    if (cycle === 0)
      expect(bench.figures.joulesPerUsefulFrame).toEqual({
        available: false,
        reason: "no cycle with a frame is complete yet",
      });
    await bench.pass(5 - awakeSeconds);
  }
  const expected = (AWAKE_WATTS * awakeSeconds + ASLEEP_WATTS * (10 - awakeSeconds)) / 2;
  const { joulesPerUsefulFrame, asleepSeconds } = bench.figures;
  // A reading of the sensor is 20 ms.
  expect(Math.abs((joulesPerUsefulFrame as number) / expected - 1)).toBeLessThan(0.02);
  expect(asleepSeconds).toBeCloseTo(6 * (10 - awakeSeconds), 1);
  expect(bench.runtime.totals!.dutyCycle).toMatchObject({ usefulFrames: 12, wakes: 7 });
  expect(bench.energy).toHaveLength(2);
  expect(bench.energy[0]).toMatchObject({ seconds: 30, frames: 6 });
  expect(bench.energy[0]!.asleepSeconds).toBeCloseTo(3 * (10 - awakeSeconds), 1);
});

test("says why there are no joules where the machine has no sensor", async () => {
  const bench = new Bench();
  bench.hasSensor = false;
  await bench.open(...CYCLE);
  await bench.pairs(4);
  await bench.pass(10);
  expect(bench.figures.joulesPerUsefulFrame).toEqual({
    available: false,
    reason: "this board has no sensor",
  });
});

test("never sleeps by default", async () => {
  const bench = new Bench();
  await bench.open();
  await bench.pairs(30);
  expect(bench.runtime.parts.pipeline.frames).toBe(30);
  expect(bench.runtime.parts.reporter.figures("run").dutyCycle).toEqual({
    available: false,
    reason: "power.dutyCycle.frames is not set",
  });
  expect(bench.runtime.parts.duty.request()).toBe(false);
});

test("a camera that does not open after the sleep is reported and tried again", async () => {
  const bench = new Bench();
  await bench.open(...CYCLE);
  await bench.pairs(4);
  bench.refuse = "the left camera is unplugged";
  await bench.pass(10);
  expect(bench.states.at(-1)).toBe("degraded: the left camera is unplugged");
  expect([bench.state, bench.runtime.parts.duty.excusesFrames]).toEqual(["waking", true]);
  bench.refuse = undefined;
  await bench.pass(2);
  expect(bench.states.at(-1)).toMatch(/^online/);
  await bench.pairs(4);
  expect(bench.runtime.parts.pipeline.frames).toBe(4);
});

test("a request wakes it, and nothing else does if power.dutyCycle.wake is request", async () => {
  const bench = new Bench();
  await bench.open(...CYCLE, "power.dutyCycle.wake=request");
  await bench.pairs(4);
  await bench.pass(3600);
  expect([bench.state, bench.sources.length]).toEqual(["asleep", 1]);
  expect(bench.runtime.parts.duty.request()).toBe(true);
  await turns();
  await bench.pairs(3);
  // A request while it is awake starts the count of frames again.
  expect(bench.runtime.parts.duty.request()).toBe(true);
  await bench.pairs(1);
  expect(bench.state).toBe("awake");
  await bench.pairs(1);
  expect([bench.state, bench.runtime.parts.pipeline.frames]).toEqual(["asleep", 5]);
});

test("with wake motion it computes only where the image has changed since the last look", async () => {
  const bench = new Bench();
  await bench.open(...CYCLE, "power.dutyCycle.wake=motion");
  const cycle = async (pairs: number) => {
    await bench.pairs(pairs);
    expect(bench.state).toBe("asleep");
    await bench.pass(10);
    return bench.runtime.parts.pipeline.frames;
  };
  expect(await cycle(4)).toBe(2);
  // Another exposure is no motion.
  bench.grey = 130;
  expect(await cycle(3)).toBe(2);
  expect(bench.drops).toEqual({ settling: 4, noMotion: 1 });
  bench.object = 30;
  expect(await cycle(4)).toBe(4);
  expect(await cycle(3)).toBe(4);
  expect(bench.runtime.parts.duty.request()).toBe(true);
  expect(await cycle(4)).toBe(6);
  expect(bench.figures).toMatchObject({ wakes: 6, usefulFrames: 6 });
});

test("settings change the cycle while it runs", async () => {
  const bench = new Bench();
  await bench.open();
  await bench.pairs(3);
  await bench.runtime.apply({ "power.dutyCycle.frames": 1 }, "a test");
  expect(bench.state).toBe("awake");
  await bench.pairs(1);
  expect(bench.state).toBe("asleep");
  await bench.runtime.apply({ "power.dutyCycle.everySeconds": 5 }, "a test");
  await bench.pass(5);
  expect(bench.state).toBe("settling");
  await bench.pairs(3);
  expect(bench.state).toBe("asleep");
  // A setting of the engine changes while the cameras are closed.
  await bench.runtime.apply({ "match.numDisparities": 48 }, "a test");
  expect(bench.sources).toHaveLength(2);
  await bench.runtime.apply({ "power.dutyCycle.frames": null }, "a test");
  await turns();
  await bench.pairs(5);
  expect(bench.sources).toHaveLength(3);
  expect(bench.runtime.parts.pipeline.frames).toBe(3 + 1 + 1 + 5);
  expect(bench.engines.at(-1)!.options).toMatchObject({ match: { numDisparities: 48 } });
});

test("the engine gives up the memory of the images before the cameras are closed", async () => {
  const bench = new Bench();
  const memory = [0, 1].map((number) => [new Uint8Array(8).fill(number)]);
  bench.memoryOf = (number) => memory[number];
  await bench.open(...CYCLE);
  const stop = vi.spyOn(bench.source, "stop");
  const close = vi.spyOn(bench.engines[0]!.engine, "close");
  await bench.pairs(4);
  expect(bench.engines.map(({ options }) => (options as { inputMemory?: unknown }).inputMemory)).toEqual([
    memory[0],
    undefined,
  ]);
  expect(close.mock.invocationCallOrder[0]).toBeLessThan(stop.mock.invocationCallOrder[0]!);
  await bench.pass(10);
  expect(bench.engines.at(-1)!.options).toMatchObject({ inputMemory: memory[1] });
});

test("if the engine cannot give it up, the cameras stay open, with a notice", async () => {
  const bench = new Bench();
  bench.memoryOf = () => [new Uint8Array(8)];
  await bench.open(...CYCLE);
  script.openEngine = () => {
    throw new DepthwattError("ENGINE_PARAMETER", "no memory is left");
  };
  await bench.pairs(4);
  expect(bench.notices).toContain("the cameras stay open: no memory is left");
  expect(bench.source.stopped).toBe(false);
});

test("cameras that come back with another size get another engine and geometry", async () => {
  const bench = new Bench();
  await bench.open(...CYCLE);
  await bench.pairs(4);
  bench.height = 80;
  await bench.pass(10);
  expect(bench.engines.at(-1)!.options).toMatchObject({ inputHeight: 80 });
  await bench.pairs(4);
  expect(bench.runtime.parts.pipeline.frames).toBe(4);
});

test("another source ends the sleep", async () => {
  const bench = new Bench();
  await bench.open(...CYCLE);
  await bench.pairs(4);
  const changed = bench.runtime.apply({ "source.synthetic.rateHz": 25 }, "a test");
  await turns();
  bench.source.deliver();
  await changed;
  expect(bench.state).toBe("settling");
  await bench.pairs(4);
  expect(bench.runtime.parts.pipeline.frames).toBe(4);
  expect(bench.state).toBe("asleep");
});

test("the governor does not take a sleep for missing frames", async () => {
  const bench = new Bench();
  await bench.open("power.dutyCycle.frames=20", "power.dutyCycle.everySeconds=10", "power.minFps=5");
  for (let cycle = 0; cycle < 4; cycle++) {
    await bench.pairs(22);
    await bench.pass(7.8);
  }
  const { figures } = bench.runtime.governor!;
  expect(figures).toMatchObject({ available: true, level: 0, changes: 0 });
  expect((figures as { reason: string }).reason).toMatch(/^holding: 10.0 fps/);
});

test("a recording, which would begin again after each sleep, is refused", async () => {
  const recording = ["source.kind=replay", "source.replay.left=/none/l", "source.replay.right=/none/r"];
  await expect(new Bench().open(...CYCLE, ...recording)).rejects.toMatchObject({
    code: "CONFIG_INVALID",
    message: expect.stringContaining("power.dutyCycle.frames"),
  });
});

test("a run that ends while it sleeps leaves nothing open", async () => {
  const bench = new Bench();
  await bench.open(...CYCLE);
  await bench.pairs(4);
  expect(bench.state).toBe("asleep");
});
