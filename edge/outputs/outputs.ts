// SPDX-License-Identifier: Apache-2.0
// All outputs of a run: opens those that are switched on, reports each of them everything, and closes them.
import { DepthwattError, isDepthwattError } from "../../core/index.js";
import { orUnavailable, type Unavailable } from "../contracts/availability.js";
import type { FrameSink } from "../contracts/computed-frame.js";
import type { EnergyRecord } from "../contracts/energy.js";
import type { DeviceState, OutputContext, OutputPicture, Prepared } from "../contracts/output.js";
import type { Percentiles } from "../contracts/statistics.js";
import type { OutputTotals } from "../contracts/totals.js";
import { Outlet } from "./outlet.js";
import { OUTPUT_KINDS, type OutputKind, outputDefinition } from "./section.js";

/** One output in metrics and summaries. */
export interface OutputFigures {
  streams: readonly string[];
  sent: number;
  bytes: number;
  /** From capture to the moment when the frame had left this process. */
  latencyMs: Percentiles | Unavailable;
  /** The output's problem; null: none. */
  problem: string | null;
  [detail: string]: unknown;
}

type Settings = Record<OutputKind, object>;

/** Begins what takes long to start, such as threads, before the outputs are opened; Outputs.open() continues with it. */
export class PreparedOutputs {
  readonly #prepared = new Map<OutputKind, Prepared>();

  /** @param given prepared already, by kind */
  constructor(settings: Settings, given: ReadonlyMap<OutputKind, Prepared> = new Map()) {
    for (const kind of OUTPUT_KINDS) {
      const { off, prepare } = outputDefinition(kind);
      const own = settings[kind] as never;
      if (prepare === undefined || off(own) !== undefined) continue;
      const prepared = given.get(kind) ?? prepare(own);
      if (prepared !== undefined) this.#prepared.set(kind, prepared);
    }
  }

  /** Hands over what was begun for an output. The output closes it. */
  take(kind: OutputKind): Prepared | undefined {
    const prepared = this.#prepared.get(kind);
    this.#prepared.delete(kind);
    return prepared;
  }

  /** Closes what no output has taken. */
  async close(): Promise<void> {
    await Promise.all([...this.#prepared.values()].map((prepared) => prepared.close()));
  }
}

export interface OutputsEvents {
  onNotice(notice: string): void;
  /** Called with the problem of an output, by name; undefined: it is solved. */
  onProblem(problem: string | undefined): void;
}

export class Outputs {
  readonly #outlets: Outlet[] = [];
  /** Why the others are off. */
  readonly #off: Partial<Record<OutputKind, string>> = {};
  readonly #events: OutputsEvents;

  constructor(events: OutputsEvents) {
    this.#events = events;
  }

  /**
   * @param elsewhere reasons of outputs that another part of the process has opened
   * @throws DepthwattError of the first output that cannot be opened; OUTPUT_FAILED where its error has no code
   */
  async open(
    settings: Settings,
    prepared: PreparedOutputs,
    given: Omit<
      OutputContext<unknown>,
      "settings" | "prepared" | "notice" | "broker" | "zones" | "alarms" | "showGrid"
    >,
    elsewhere: Partial<Record<OutputKind, string>> = {},
  ): Promise<void> {
    const context = {
      ...given,
      broker: () => this.#outlets.find(({ output }) => output.broker !== undefined)?.output.broker,
      zones: () => this.#outlets.flatMap(({ output }) => output.zones ?? []),
      alarms: () => this.#outlets.flatMap(({ output }) => output.alarms ?? []),
      showGrid: (grid: object) => {
        for (const outlet of this.#outlets) outlet.notify("grid", (output) => output.grid?.(grid));
      },
    };
    for (const kind of OUTPUT_KINDS) {
      const definition = outputDefinition(kind);
      const own = settings[kind] as never;
      const off = definition.off(own) ?? elsewhere[kind];
      if (off !== undefined) {
        this.#off[kind] = off;
        continue;
      }
      const notice = (text: string) => this.#events.onNotice(text);
      const output = await definition
        .open({ ...context, settings: own, prepared: prepared.take(kind), notice })
        .catch((error: unknown) => {
          throw codedFor(kind, error);
        });
      const outlet = new Outlet(kind, output, definition.framesHeld, {
        onProblem: (problem) => this.#events.onProblem(problem && `output ${kind}: ${problem}`),
      });
      outlet.limit(outputRate(own));
      this.#outlets.push(outlet);
    }
  }

  /** Resolves when all that connect have tried to. */
  async ready(): Promise<void> {
    await Promise.all(this.#outlets.map(({ output }) => output.ready));
  }

  get sinks(): FrameSink[] {
    return this.#outlets.map(({ sink }) => sink);
  }

  /** Returns the problem of the first output that has one. */
  get problem(): string | undefined {
    const bad = this.#outlets.find(({ problem }) => problem !== undefined);
    return bad && `output ${bad.name}: ${bad.problem}`;
  }

  /** Returns the first output's reason why its frames do not arrive. */
  get failure(): DepthwattError | undefined {
    return this.#outlets.find(({ failure }) => failure !== undefined)?.failure;
  }

  /** Changed settings, where the engine's bodies are encoded for them from the next frame on. */
  configure(settings: Settings, picture: OutputPicture): void {
    for (const outlet of this.#outlets) {
      const own = settings[outlet.name as OutputKind];
      outlet.limit(outputRate(own));
      outlet.notify("configure", (output) => output.configure?.(own as never, picture));
    }
  }

  state(state: DeviceState, reason: string, code?: string): void {
    for (const outlet of this.#outlets)
      outlet.notify("state", (output) => output.state?.(state, reason, code));
  }

  notice(text: string): void {
    for (const outlet of this.#outlets) outlet.notify("notice", (output) => output.notice?.(text));
  }

  info(info: object): void {
    for (const outlet of this.#outlets) outlet.notify("info", (output) => output.info?.(info));
  }

  cameraInfo(cameraInfo: object | undefined): void {
    for (const outlet of this.#outlets)
      outlet.notify("cameraInfo", (output) => output.cameraInfo?.(cameraInfo));
  }

  metrics(metrics: object): void {
    for (const outlet of this.#outlets) outlet.notify("metrics", (output) => output.metrics?.(metrics));
  }

  energy(record: EnergyRecord): void {
    for (const outlet of this.#outlets) outlet.notify("energy", (output) => output.energy?.(record));
  }

  settings(values: object, from: string): void {
    for (const outlet of this.#outlets)
      outlet.notify("settings", (output) => output.settings?.(values, from));
  }

  greeting(): [label: string, text: string][] {
    return this.#outlets.flatMap(({ output }) => output.greeting?.() ?? []);
  }

  /** Returns the latency of the first output that takes frames; undefined if there is none. */
  latency(window: "run" | "recent"): (Percentiles | undefined) | "none" {
    const first = this.#outlets.find(({ output }) => output.streams.length > 0);
    return first === undefined ? "none" : first.latency.percentiles(window);
  }

  /** By name, those that are off with the reason; and the drops of all, "mqtt.depth.backpressure". */
  figures(window: "run" | "recent"): {
    outputs: Record<string, OutputFigures | Unavailable>;
    drops: Record<string, number>;
  } {
    const outputs: Record<string, OutputFigures | Unavailable> = {};
    const drops: Record<string, number> = {};
    for (const kind of OUTPUT_KINDS) {
      const outlet = this.#outlets.find(({ name }) => name === kind);
      if (outlet === undefined) {
        outputs[kind] = { available: false, reason: this.#off[kind] ?? "it is not open" };
        continue;
      }
      const { sent, bytes, drops: own, details } = outlet.counters();
      const latencyMs = orUnavailable(rounded(outlet.latency.percentiles(window)), "no frame has left yet");
      const problem = outlet.problem ?? null;
      outputs[kind] = { streams: outlet.output.streams, sent, bytes, latencyMs, problem, ...details };
      for (const [cause, count] of Object.entries(own)) drops[`${kind}.${cause}`] = count;
    }
    return { outputs, drops };
  }

  /** Counts since the start, of the ones that are open. */
  totals(): { outputs: Record<string, OutputTotals>; drops: Record<string, number> } {
    const outputs: Record<string, OutputTotals> = {};
    const drops: Record<string, number> = {};
    for (const outlet of this.#outlets) {
      const { sent, bytes, drops: own } = outlet.counters();
      const { name, problem, latency } = outlet;
      outputs[name] = { sent, bytes, problem, latency: latency.counts() };
      for (const [cause, count] of Object.entries(own)) drops[`${name}.${cause}`] = count;
    }
    return { outputs, drops };
  }

  /** All at once; takes no longer than the slowest is waited for. */
  async close(): Promise<void> {
    await Promise.all(
      this.#outlets.map(async (outlet) => {
        const problem = await outlet.close();
        if (problem !== undefined) this.#events.onNotice(`output ${outlet.name}: ${problem}`);
      }),
    );
  }
}

const outputRate = (settings: object): number | "max" =>
  (settings as { rateHz?: number | "max" }).rateHz ?? "max";

function codedFor(kind: OutputKind, error: unknown): Error {
  if (isDepthwattError(error)) return error;
  const why = error instanceof Error ? error.message : String(error);
  return new DepthwattError("OUTPUT_FAILED", `the output ${kind} could not be opened: ${why}`, {
    cause: error,
  });
}

const round = (value: number): number => Math.round(value * 1000) / 1000;

function rounded(latency: Percentiles | undefined): Percentiles | undefined {
  return latency && { p50: round(latency.p50), p95: round(latency.p95), p99: round(latency.p99) };
}
