// SPDX-License-Identifier: Apache-2.0
// Runs that a test opens and ends by hand, and pauses that the test ends. A test file replaces these modules:
//   vi.mock("…/edge/run/main.js", async (actual) => (await import("…/opened-runs.js")).mainModule(await actual()));
//   vi.mock("node:timers/promises", async () => (await import("…/opened-runs.js")).timersModule);
// This file must not import the run, which would wait for these modules.
import { DepthwattError, type ErrorCode } from "../../core/index.js";
import type { Config } from "../../edge/config/index.js";
import type { RunFigures } from "../../edge/run/figures.js";
import type { RuntimeEvents, RuntimeHost } from "../../edge/run/runtime.js";
import type { SharedParts } from "../../edge/run/shared-parts.js";

type Counted = Partial<RunFigures> & { frames: number };

/** A run whose end, frames and events are the test's. */
export class OpenedRun {
  readonly config: Config;
  readonly limit: number | undefined;
  readonly events: RuntimeEvents;
  readonly host: RuntimeHost;
  readonly shared: SharedParts | undefined;
  failure: DepthwattError | undefined;
  /** The calls of its methods, in order. */
  readonly calls: unknown[] = [];
  away = false;
  readonly parts = {
    source: {
      description: { title: "by hand", rateHz: nextSource.rateHz },
      isAway: () => this.away,
    },
    engine: {
      info: { backend: "cpu", backendReason: "a test.", instructionSet: "scalar", threads: 1 },
      match: { algorithm: "sgm", parameters: { paths: 4 }, numDisparities: 32 },
    },
    meter: { sensor: { available: false, reason: "a test" } },
    duty: { excusesFrames: false },
    outputs: { greeting: () => [["mqtt", "mqtt://h"]] },
    pipeline: { frames: 0 },
  };
  #end: (figures: RunFigures) => void = () => {};
  #fail: (error: Error) => void = () => {};
  readonly #ended = new Promise<RunFigures>((resolve, reject) => {
    this.#end = resolve;
    this.#fail = reject;
  });

  constructor(...[config, limit, events, host = {}, shared]: Opening) {
    this.config = config;
    this.limit = limit;
    this.events = events;
    this.host = host;
    this.shared = shared;
  }

  run(): Promise<RunFigures> {
    this.calls.push("run");
    return this.#ended;
  }

  /** Ends run(). */
  end(figures: Counted): void {
    this.parts.pipeline.frames = figures.frames;
    this.#end(countedFigures(figures));
  }

  fail(error: Error): void {
    this.#fail(error);
  }

  stop(): void {
    this.calls.push("stop");
  }

  async close(): Promise<void> {
    this.calls.push("close");
  }

  async apply(change: object, from: string): Promise<void> {
    this.calls.push([change, from]);
  }
}

type Opening = [Config, number | undefined, RuntimeEvents, RuntimeHost?, SharedParts?];

/** Figures of which the live line reads all. */
export const countedFigures = (figures: Counted): RunFigures =>
  ({
    seconds: 2.04,
    fps: 30,
    stages: {},
    drops: {},
    power: { available: false, reason: "a test" },
    dutyCycle: { available: false, reason: "a test" },
    ...figures,
  }) as RunFigures;

/** Pairs per second of the runs that are opened from now on. */
export const nextSource: { rateHz: number | undefined } = { rateHz: undefined };

/** The next runs to be opened wait for these. */
export const delays: Promise<void>[] = [];

/** Runs that were opened, oldest first, and the errors of the next ones to be opened. */
export const opened: OpenedRun[] = [];
export const refusals: Error[] = [];

export const refusal = (code: ErrorCode, message: string) =>
  new DepthwattError(code, message, { hint: "Help." });

export const mainModule = (actual: object) => ({
  ...actual,
  openRuntime: async (...opening: Opening) => {
    await delays.shift();
    const error = refusals.shift();
    if (error !== undefined) throw error;
    const run = new OpenedRun(...opening);
    opened.push(run);
    return run;
  },
});

/** A pause that the code under test waits in. */
export interface Pause {
  ms: number;
  pass(): void;
}
export const pauses: Pause[] = [];

export const timersModule = {
  setTimeout: (ms: number, value: unknown, { signal }: { signal?: AbortSignal } = {}) =>
    new Promise((resolve, reject) => {
      const end = () => reject(signal!.reason);
      if (signal?.aborted) end();
      signal?.addEventListener("abort", end);
      pauses.push({ ms, pass: () => resolve(value) });
    }),
};

/** Waits until everything that can happen without another event has happened. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => void globalThis.setImmediate(resolve));
}

/** Returns what `run` resolves with. @throws Error if it needs another event to end */
export async function ended<Result>(run: Promise<Result>): Promise<Result> {
  let isOver = false;
  const end = () => {
    isOver = true;
  };
  run.then(end, end);
  await settled();
  if (!isOver) throw new Error("expected the run to be over, it still waits");
  return run;
}

export function forgetRuns(): void {
  for (const list of [opened, refusals, pauses, delays]) list.length = 0;
  nextSource.rateHz = undefined;
}
