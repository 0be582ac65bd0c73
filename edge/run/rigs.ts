// SPDX-License-Identifier: Apache-2.0
// Several rigs in one process: what they share is opened once, and each runs, fails and comes back alone.
import { setMaxListeners } from "node:events";
import { setTimeout as rest } from "node:timers/promises";
import type { DepthwattError } from "../../core/index.js";
import type { Meter } from "../../power/index.js";
import { type PreparedBroker, prepareBroker } from "../broker/prepared-broker.js";
import { type Config, chooseBoard, type SettingsChange } from "../config/index.js";
import type { EnergyRecord } from "../contracts/energy.js";
import type { HttpAccess } from "../contracts/http.js";
import type { DeviceState, Output, OutputContext } from "../contracts/output.js";
import type { BoardGovernor } from "../governor/index.js";
import { type HttpServer, RoutesBelow, SharedHttp } from "../http/index.js";
import { PreparedOutputs } from "../outputs/outputs.js";
import type { OutputKind } from "../outputs/section.js";
import { outputDefinition } from "../outputs/section.js";
import { EnergyLog } from "../power/energy-log.js";
import { type RunMeter, shareMeter } from "../power/run-meter.js";
import { matcherWords, openBoardMeter } from "./main.js";
import { openBoardGovernor } from "./open-governor.js";
import { Rig, type RigSummary } from "./rig.js";
import { rigsPage } from "./rigs-page.js";
import type { Runtime } from "./runtime.js";
import type { SharedParts } from "./shared-parts.js";

export interface RigsOptions {
  /** By name, the one to keep at its quality first. */
  configs: ReadonlyMap<string, Config>;
  /** Reads the configuration of a rig again. @throws DepthwattError CONFIG_* */
  load(name: string): Config;
  /** Each rig ends after this many frames. */
  frames?: number | undefined;
  /** Waits even if no rig runs: a service manager expects it. */
  waits: boolean;
  /** Writes values into the configuration file. @throws DepthwattError OUTPUT_UNWRITABLE */
  save?(name: string, change: SettingsChange): { file: string; overridden: string[] };
  /** Pause before a rig that failed is opened again; doubled each time. */
  firstPauseMs?: number;
}

/** Events of all rigs, with the name of the rig. */
export interface RigsEvents {
  onNotice(name: string, notice: string): void;
  onState?(name: string, state: DeviceState, reason: string, code?: string): void;
  onFrame?(name: string): void;
  /** Once for each metrics interval of the first rig that runs. */
  onFigures?(): void;
  onSettings?(config: Config): void;
  onEnergy?(record: EnergyRecord): void;
  onIdle?(seconds: number): void;
  onOpen?(name: string, runtime: Runtime): void;
  /** A rig failed and is opened again after a pause. */
  onWait?(name: string, problem: DepthwattError): void;
}

const ALL = "rigs";
/** A camera that takes longer to answer no longer delays the next rig. */
const TURN_MS = 1000;

export class Rigs {
  readonly rigs: readonly Rig[];
  readonly #options: RigsOptions;
  readonly #events: RigsEvents;
  /** Settings that all rigs share have the same values in each of them. */
  readonly #config: Config;
  readonly #over = new AbortController();
  readonly #meter: Meter;
  readonly #runMeter: RunMeter;
  readonly #governor: BoardGovernor;
  readonly #http: SharedHttp;
  readonly #energyLog: EnergyLog;
  #energyFile: Output | undefined;
  #broker: PreparedBroker | undefined;
  readonly #newest = new Map<string, number>();
  #stopped = false;

  /** @throws DepthwattError of the meter and the power modes; a rig that fails does not throw */
  constructor(options: RigsOptions, events: RigsEvents) {
    this.#options = options;
    this.#events = events;
    setMaxListeners(0, this.#over.signal);
    const [config] = options.configs.values() as Iterable<Config> as [Config];
    this.#config = config;
    this.#meter = openBoardMeter(config, chooseBoard(config.board));
    this.#runMeter = shareMeter(this.#meter);
    const notice = (text: string) => events.onNotice(ALL, text);
    this.#governor = openBoardGovernor(config.power, this.#meter, ({ message }) =>
      notice(`governor: ${message}`),
    );
    this.#http = new SharedHttp(config.http, ({ message }) => notice(`http: ${message}`));
    this.rigs = [...options.configs].map(([name, own], index) => this.#rig(name, own, index + 1));
    this.#energyLog = new EnergyLog({
      report: (window) => {
        this.#meter.sample();
        return this.#meter.report(window);
      },
      frames: () => this.rigs.reduce((sum, { frames }) => sum + frames, 0),
      asleepSeconds: () => 0,
      matcher: () => this.#matchers(),
      onRecord: (record) => {
        this.#energyFile?.energy?.(record);
        events.onEnergy?.(record);
      },
    });
  }

  #rig(name: string, config: Config, rank: number): Rig {
    const { load, frames, save, firstPauseMs } = this.#options;
    const events = this.#events;
    return new Rig(
      {
        name,
        config,
        load: () => load(name),
        frames,
        share: () => this.#share(name, rank),
        brokerUrl: async () => (await this.#broker?.started.catch(() => undefined))?.url,
        save: save && ((change) => save(name, change)),
        over: this.#over.signal,
        firstPauseMs,
      },
      {
        onNotice: (text) => events.onNotice(name, text),
        onState: (state, reason, code) => events.onState?.(name, state, reason, code),
        onFrame: () => events.onFrame?.(name),
        onFigures: (figures) => {
          this.#newest.set(name, figures.fps);
          if (this.#running[0]?.name === name) events.onFigures?.();
        },
        onSettings: (changed) => events.onSettings?.(changed),
        onOpen: (runtime) => events.onOpen?.(name, runtime),
        onPhase: () => this.#checkOver(),
        onWait: (problem) => events.onWait?.(name, problem),
      },
    );
  }

  get #running(): readonly Rig[] {
    return this.rigs.filter(({ phase }) => phase === "running");
  }

  /** Ends the waiting when no rig runs any more. */
  #checkOver(): void {
    const phases = this.rigs.map(({ phase }) => phase);
    const isActive = phases.some((phase) => phase === "starting" || phase === "running");
    if (!isActive && (phases.includes("ended") || !this.#options.waits)) this.#over.abort();
  }

  #matchers(): string {
    return this.#running
      .map(
        ({ name, runtime }) => `${name}: ${runtime === undefined ? "" : matcherWords(runtime.parts.engine)}`,
      )
      .join("; ");
  }

  #share(name: string, rank: number): SharedParts & { close(): void } {
    let routes: RoutesBelow | undefined;
    return {
      name,
      rank,
      meter: this.#runMeter,
      governor: this.#governor,
      prepare: (settings) => new PreparedOutputs(settings, this.#lentBroker(settings)),
      http: async () => {
        const { server, gate } = await this.#openHttp();
        routes ??= new RoutesBelow(server, `/rigs/${name}`);
        return { server: routes, gate };
      },
      close: () => routes?.close(),
    };
  }

  async #openHttp(): Promise<{ server: HttpServer; gate: HttpAccess["gate"] }> {
    const access = await this.#http.access();
    access.server.get(
      "/",
      rigsPage(() =>
        this.rigs.map((rig) => ({
          name: rig.name,
          path: rig.runtime && `/rigs/${rig.name}/`,
          state: rig.problem === undefined ? rig.phase : `${rig.phase}: ${rig.problem.message}`,
        })),
      ),
    );
    return access;
  }

  /** The embedded broker, started with the first rig that publishes to it; closing it is this class's. */
  #lentBroker(settings: Record<string, object>): ReadonlyMap<OutputKind, PreparedBroker> {
    const { broker } = settings.mqtt as Config["outputs"]["mqtt"];
    if (broker !== "embedded") return new Map();
    if (this.#broker === undefined) {
      const prepared = prepareBroker();
      const forget = () => {
        if (this.#broker === prepared) this.#broker = undefined;
      };
      prepared.started.catch(forget);
      void prepared.failed.then(forget);
      this.#broker = prepared;
    }
    const { started, failed } = this.#broker;
    const lent = started.then((one) => ({ ...one, close: async () => {} }));
    lent.catch(() => {});
    return new Map([["mqtt", { started: lent, failed, close: async () => {} }]]);
  }

  /** Frames per second of a rig in the newest interval; undefined before its first. */
  fps(name: string): number | undefined {
    return this.#newest.get(name);
  }

  /** The meter's figures of the last seconds. */
  get power(): ReturnType<Meter["recent"]> {
    return this.#meter.recent();
  }

  /** Returns whether no rig can be expected to deliver frames. */
  get isExcused(): boolean {
    return this.rigs.every(({ runtime }) => runtime === undefined || runtime.parts.source.isAway());
  }

  /** Runs all rigs to their ends and closes what they share. @returns their summaries, in the file's order */
  async run(): Promise<Record<string, RigSummary>> {
    try {
      await this.#begin();
      let turn: Promise<unknown> = Promise.resolve();
      await Promise.all(
        this.rigs.map((rig) => {
          const served = turn.then(() => (this.#over.signal.aborted ? undefined : rig.serve()));
          turn = turn.then(() => this.#turnOf(rig));
          return served;
        }),
      );
    } finally {
      this.#over.abort();
      this.#energyLog.end();
      await this.#close();
    }
    return Object.fromEntries(this.rigs.map(({ name, summary }) => [name, summary]));
  }

  /** Rigs open in their order, so that the first ones get the memory they need. */
  async #turnOf(rig: Rig): Promise<void> {
    const { signal } = this.#over;
    await Promise.race([rig.begun, rest(TURN_MS, undefined, { signal }).catch(() => {})]);
  }

  async #begin(): Promise<void> {
    const { energy } = this.#config.outputs;
    if (outputDefinition("energy").off(energy) === undefined) {
      const notice = (text: string) => this.#events.onNotice(ALL, text);
      const context = { settings: energy, notice } as OutputContext<Config["outputs"]["energy"]>;
      this.#energyFile = await outputDefinition("energy").open(context as never);
    }
    this.#meter.start();
    const { idleSeconds } = this.#config.power;
    if (idleSeconds > 0 && "rails" in this.#meter.sensor) {
      // A window of the meter is a second at least.
      const seconds = Math.max(1.1, idleSeconds);
      this.#events.onIdle?.(seconds);
      await this.#meter.measureIdle(seconds, this.#over.signal);
      this.#meter.restart();
    }
    this.#energyLog.begin(this.#config.log.energyIntervalSeconds);
  }

  async #close(): Promise<void> {
    await this.#governor.close();
    await this.#http.close();
    await this.#energyFile?.close();
    const broker = await this.#broker?.started.catch(() => undefined);
    await broker?.close();
    this.#meter.close();
  }

  /** True from stop() on. */
  get stopped(): boolean {
    return this.#stopped;
  }

  /** Ends run() after the frames that are being computed. */
  stop(): void {
    this.#stopped = true;
    this.#over.abort();
  }
}
