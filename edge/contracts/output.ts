// SPDX-License-Identifier: Apache-2.0
// The contract of an output: what takes frames, state, info, camera_info and metrics out of this process. A kind of output is a
// folder of edge/outputs and one line in its list.ts.
import type { z } from "zod";
import type { DepthwattError } from "../../core/index.js";
import type { ConnectionOptions } from "../../core/mqtt/connection.js";
import type { BrokenSetting } from "./broken-setting.js";
import type { ComputedFrame, RequestedEncodings } from "./computed-frame.js";
import type { RunControl } from "./control.js";
import type { EnergyRecord } from "./energy.js";
import type { HttpAccess } from "./http.js";
import type { InputLayout, Rig } from "./rig.js";
import type { Exact } from "./setting.js";
import type { RunTotals } from "./totals.js";

export type DeviceState = "online" | "degraded" | "stopped";

/** One frame, lent to one output. */
export interface FrameLease {
  /** Its slot's memory does not change until release(). */
  readonly frame: ComputedFrame;
  /** Counts the frames that were meant for this output from 1 on; one that it could not be lent leaves a gap. */
  readonly number: number;
  /** The frame has left this process: its latency ends here. Only the first call counts; a dropped frame has none. */
  sent(): void;
  /** The output is done with the slot. Only the first call counts. */
  release(): void;
}

/** Counts since the output was opened. */
export interface OutputCounters {
  /** Messages, files or responses that were delivered. */
  sent: number;
  bytes: number;
  /** Frames that were offered and not sent, by cause, such as "depth.backpressure". */
  drops: Record<string, number>;
  /** Further facts for the metrics, such as whether the output is connected. */
  details?: Record<string, unknown>;
}

/**
 * An open output. No method may wait, and none may keep the JavaScript thread for more than a millisecond or so. What they
 * throw is counted and makes the state `degraded`; it never ends the run.
 */
export interface Output {
  /** The streams that it takes now; empty: frames are not offered. */
  readonly streams: readonly string[];
  /**
   * Offers the newest frame. The output may keep it until it has been sent, but no more than its kind's `framesHeld`: of what
   * waits inside, the newest frame wins and the older one is released and counted. An output that holds more is offered nothing
   * until it has released some; those frames are counted as its drop `held`.
   */
  frame(lease: FrameLease): void;
  /** @param code of the error catalogue, where the reason has one */
  state?(state: DeviceState, reason: string, code?: string): void;
  /** A sentence that the log got. */
  notice?(text: string): void;
  /** The newest value replaces the one before. */
  info?(info: object): void;
  /** Undefined: the source has no calibration any more. */
  cameraInfo?(cameraInfo: object | undefined): void;
  /** RunFigures, every outputs.metricsIntervalMs and at the end. */
  metrics?(metrics: object): void;
  /** The grid of the floor as its topic has it, twice a second. */
  grid?(grid: object): void;
  /** An entry of the energy log, every log.energyIntervalSeconds. */
  energy?(record: EnergyRecord): void;
  /** Settings of the run that hold from now on, by dotted key; the first time all that can change while it runs. */
  settings?(values: object, from: string): void;
  counters(): OutputCounters;
  /**
   * Changed settings, among them only those that take effect live, or another source. The frames offered from now on are encoded
   * for them, and of that picture.
   */
  configure?(settings: never, picture: OutputPicture): void;
  /** Resolves before the run begins, so that an output that connects does not miss its first frames; never rejects. */
  readonly ready?: Promise<unknown>;
  /** The broker that it talks to: outputs further down the list may talk to it as well. */
  readonly broker?: BrokerAccess;
  /** Names of the zones whose nearest distance it publishes. */
  readonly zones?: readonly string[];
  /** Names of the zones whose alarms it publishes. */
  readonly alarms?: readonly string[];
  /** Why nothing arrives now, such as a broker that refuses; a run that ends so fails with it. */
  readonly failure?: DepthwattError | undefined;
  /** Lines for the person who started the run: a label and a text. */
  greeting?(): [label: string, text: string][];
  /** Sends what it is sending, releases every frame, and ends; after CLOSE_LIMIT_MS it is not waited for any more. */
  close(): Promise<void>;
}

/** Where a broker is, and how to get in. */
export interface BrokerAccess
  extends Pick<
    ConnectionOptions,
    "url" | "protocolVersion" | "username" | "password" | "ca" | "cert" | "key"
  > {
  /** It is the one in this process: only this machine reaches it. */
  embedded: boolean;
}

/** Describes the frames; another source may have other ones. */
export interface OutputPicture {
  width: number;
  height: number;
  /** False without a calibration: depth is unknown, and disparity takes its place. */
  hasDepth: boolean;
  /** The cameras; undefined without a calibration. */
  rig: Rig | undefined;
  /** How captured images are in memory. */
  input: InputLayout;
  /** Pairs a second of the source; undefined: as fast as the engine takes them. */
  rateHz: number | undefined;
  /** registration.camera: the other camera whose image depth is registered into. */
  camera?: string | undefined;
}

/** The work that prepare() has begun. prepare() and this work must not fail: open() reports errors. */
export interface Prepared {
  close(): Promise<void>;
}

/** Describes the run to an output that opens. */
export interface OutputContext<Settings> extends OutputPicture {
  settings: Settings;
  /** The result of the kind's prepare(), if it was called. */
  prepared?: Prepared | undefined;
  /** Prefix and name of this device, as topics or names of files want them. */
  base: string;
  device: string;
  /** The disparities that are searched now, pixels. */
  searched(): { min: number; max: number };
  /** One sentence for the log, such as why a connection was lost. */
  notice(text: string): void;
  /** The process's HTTP server, listening; opened with the first output that asks for it. @throws DepthwattError */
  http(): Promise<HttpAccess>;
  /** The broker of an output that was opened before; undefined: there is none. */
  broker?(): BrokerAccess | undefined;
  /** Names of the zones that an output publishes. */
  zones?(): readonly string[];
  /** Names of the zones whose alarms an output publishes. */
  alarms?(): readonly string[];
  /** Shows a grid of the floor to all outputs. */
  showGrid?(grid: object): void;
  /** Counts since the start of the run; undefined before it. Absent where an output runs automatically. */
  totals?(): RunTotals | undefined;
  /** Settings of the run, and a way to change them; absent where an output runs automatically. */
  control?: RunControl | undefined;
}

/** A kind of output: its settings, what it needs of the engine, how it is opened. */
export interface OutputDefinition<Section extends z.ZodObject> {
  /** The section `outputs.KIND`. A setting `rateHz` in it limits how many frames a second are offered. */
  settings: Section;
  /** Checks what types and ranges cannot; the names are those of the section. */
  broken?(settings: Exact<z.infer<Section>>): BrokenSetting[];
  /** Why it is switched off, such as "outputs.mqtt.broker is none"; undefined: it is on. */
  off(settings: Exact<z.infer<Section>>): string | undefined;
  /**
   * Returns what the engine should encode. If another output requires the same map in another encoding, the engine
   * makes rvl and `frame.encodings` reports it: the output then encodes the map.
   */
  encodings(settings: Exact<z.infer<Section>>, hasDepth: boolean): RequestedEncodings;
  /** Frames that it may hold when frame() has returned: slots are allotted for them, and one more for the newest. */
  framesHeld: number;
  /**
   * Begins what takes long to start and needs to know nothing of the frames, such as a thread, while the source and the engine are
   * opened; open() finds it in its context. Where that is never called, it is closed.
   */
  prepare?(settings: Exact<z.infer<Section>>): Prepared | undefined;
  /** @throws DepthwattError; what was opened before is closed again */
  open(context: OutputContext<Exact<z.infer<Section>>>): Promise<Output>;
}

/** Ties the types of a definition together. */
export function defineOutput<Section extends z.ZodObject>(
  definition: OutputDefinition<Section>,
): OutputDefinition<Section> {
  return definition;
}
