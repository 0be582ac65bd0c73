// SPDX-License-Identifier: Apache-2.0
// createEngine: a NativeEngine from the addon's Session, its slots' memory and the bookkeeping of who waits for which slot.
import { markAsUntransferable } from "node:worker_threads";
import { allocate, DepthwattError, type ErrorCode, hasColours } from "../../../core/index.js";
import { STAGE_NAMES } from "../../matchers.js";
import {
  engineAddon,
  type NativeOptions,
  type NativeSession,
  type OpenedEngine,
  type SlotMemory,
} from "./addon.js";
import {
  DROP_CAUSES,
  ENCODED_HEADROOM_BYTES,
  type EngineInfo,
  type EngineOptions,
  type EngineSlot,
  FLOOR_NUMBERS,
  type FrameResult,
  type NativeEngine,
  type PointsParameters,
  perCause,
  pointBytes,
  type RegistrationParameters,
  VOXEL_BYTES,
} from "./native.js";

import { type PluginProbe, pluginPath, probePlugin, probePluginBeside } from "./plugin-probe.js";

const STAGES_AT = 4 + DROP_CAUSES.length;
const OUTCOME_NUMBERS = STAGES_AT + STAGE_NAMES.length;

/** Native errors carry the catalogue's code; here they get its hint. */
function coded(error: unknown): Error {
  if (error instanceof DepthwattError || !(error instanceof Error)) return error as Error;
  const code = (error as { code?: string }).code;
  return code === undefined ? error : new DepthwattError(code as ErrorCode, error.message, { cause: error });
}

/** As kMaxSlots and kMaxSide, by which the session refuses options. */
const MAX_SLOTS = 16;
const MAX_SIDE = 16_384;

/** Elements of an image or a grid; 0 for sides that the session refuses. */
const area = (...sides: number[]) =>
  sides.every((side) => Number.isInteger(side) && side > 0 && side <= MAX_SIDE)
    ? sides.reduce((a, b) => a * b)
    : 0;

function allocateSlot(options: EngineOptions, encodedBytes: (encoding: "rvl" | "raw") => number): SlotMemory {
  const pixels = area(options.width, options.height);
  const memory = (bytes: number) => {
    const buffer = allocate(ENCODED_HEADROOM_BYTES + bytes, "the results of a frame");
    // Native threads write into it: sent to a worker, it would be written to, or freed, under somebody else's hands.
    markAsUntransferable(buffer);
    return buffer;
  };
  return {
    left: memory(pixels),
    leftRgb: memory(options.leftRgb ? 3 * pixels : 0),
    right: memory(options.rightGrey ? pixels : 0),
    disparityQ4: memory(2 * pixels),
    confidence: memory(pixels),
    depthMillimetres: memory(options.geometry === undefined ? 0 : 2 * pixels),
    encodedDepth: memory(options.encodeDepth === undefined ? 0 : encodedBytes(options.encodeDepth)),
    encodedDisparity: memory(
      options.encodeDisparity === undefined ? 0 : encodedBytes(options.encodeDisparity),
    ),
    registered: memory(options.registration === undefined ? 0 : 2 * registeredPixels(options.registration)),
    registeredConfidence: memory(
      options.registration === undefined ? 0 : registeredPixels(options.registration),
    ),
    registeredImage: memory(registeredImageBytes(options.registration)),
    floor: memory(options.floor === undefined ? 0 : 8 * FLOOR_NUMBERS),
    grid: memory(options.grid === undefined ? 0 : area(options.grid.aheadCells, options.grid.leftCells)),
    voxels: memory(options.voxels === undefined ? 0 : VOXEL_BYTES * (pixels + 1)),
    points: memory(options.points === undefined ? 0 : pixels * pointBytes(options.points)),
  };
}

const registeredPixels = ({ width, height }: RegistrationParameters) => area(width, height);

function registeredImageBytes(registration: RegistrationParameters | undefined): number {
  if (registration?.image === undefined) return 0;
  return (hasColours(registration.image.format) ? 3 : 1) * registeredPixels(registration);
}

function createViews(memory: SlotMemory): EngineSlot {
  const at = ENCODED_HEADROOM_BYTES;
  return {
    left: new Uint8Array(memory.left, at),
    leftRgb: new Uint8Array(memory.leftRgb, at),
    right: new Uint8Array(memory.right, at),
    disparityQ4: new Int16Array(memory.disparityQ4, at),
    confidence: new Uint8Array(memory.confidence, at),
    depthMillimetres: new Uint16Array(memory.depthMillimetres, at),
    encodedDepth: new Uint8Array(memory.encodedDepth, at),
    encodedDisparity: new Uint8Array(memory.encodedDisparity, at),
    points: new Uint8Array(memory.points, at),
    voxels: new Int16Array(memory.voxels, at),
    registered: new Uint16Array(memory.registered, at),
    registeredConfidence: new Uint8Array(memory.registeredConfidence, at),
    registeredImage: new Uint8Array(memory.registeredImage, at),
    floor: new Float64Array(memory.floor, at),
    grid: new Uint8Array(memory.grid, at),
  };
}

/** The options as the addon reads them: settings of stages by section, a repeated stage by its index. */
function toNative(options: EngineOptions): NativeOptions {
  const { denoise = "off", average = false, ...others } = options;
  const { verticalOffset = 0, blackLevel = 0, points, repeatStage, ...rest } = others;
  return {
    ...rest,
    match: { ...options.match, denoise, average },
    rectify: { verticalOffset, blackLevel },
    ...(points && { points: { ...points, colour: pointColour(points) } }),
    ...(repeatStage && { repeatStage: { ...repeatStage, stage: STAGE_NAMES.indexOf(repeatStage.stage) } }),
  };
}

const pointColour = ({ colours }: PointsParameters) =>
  colours === "registered" ? colours : colours ? "rgb" : "grey";

const kept = new WeakSet<ArrayBufferLike>();

/**
 * A thread reads the image after the call. Sent to a worker meanwhile, its memory would be freed under that thread's hands: a copy is
 * sent instead (Node 20), or the sending refused.
 */
function keepHere({ buffer }: Uint8Array): void {
  if (kept.has(buffer)) return;
  markAsUntransferable(buffer);
  kept.add(buffer);
}

interface Waiting {
  onDone: (error: Error | null, result: FrameResult) => void;
  /** The images, so that they live until the frame is done. */
  left: Uint8Array;
  right: Uint8Array;
  registered?: Uint8Array | undefined;
}

/**
 * From the addon's callback to the engine. The addon holds its callback while the session lives, and the session lives while
 * the engine does: a circle that no garbage collector sees through, with the memory of all slots in it. close() cuts it.
 */
interface Link {
  engine: SessionEngine | undefined;
}

class SessionEngine implements NativeEngine {
  readonly slots: readonly EngineSlot[];
  readonly stageMilliseconds = new Float64Array(STAGE_NAMES.length).fill(Number.NaN);
  readonly #session: NativeSession;
  readonly #link: Link = { engine: this };
  readonly #outcomes: Float64Array;
  readonly #waiting: (Waiting | undefined)[];
  readonly #results: FrameResult[];
  framesInFlight: number;
  /** Description of the engine, kept for reports after close(). */
  #lastInfo: EngineInfo | undefined;

  /** Why the CPU computes, if the plugin was not opened at all. */
  readonly #whyCpu: string | undefined;

  constructor(options: EngineOptions, opened?: OpenedEngine, whyCpu?: string) {
    this.#whyCpu = whyCpu;
    const native = engineAddon();
    const { width, height, slots } = options;
    // A size beyond its limits gets no memory: the session refuses it by name.
    const encodedBytes = (encoding: "rvl" | "raw") =>
      area(width, height) === 0 ? 0 : native.encodedBound(encoding, width, height);
    const memory = Array.from({ length: slots <= MAX_SLOTS ? slots : 0 }, () =>
      allocateSlot(options, encodedBytes),
    );
    this.slots = memory.map(createViews);
    this.#waiting = memory.map(() => undefined);
    this.#results = memory.map((_, slot) => ({
      slot,
      encodedDepthBytes: 0,
      encodedDisparityBytes: 0,
      validPixels: 0,
      matchedPixels: 0,
      droppedPixels: perCause(() => 0),
    }));
    try {
      this.#session = new native.Session(
        toNative(options),
        memory,
        SessionEngine.#createFinisher(this.#link),
        opened,
      );
    } catch (error) {
      throw coded(error);
    }
    this.#outcomes = this.#session.outcomes;
    this.framesInFlight = this.#session.info.framesInFlight;
  }

  get info(): EngineInfo {
    const info = this.#lastInfo ?? this.#session.info;
    return this.#whyCpu === undefined ? info : { ...info, backendReason: this.#whyCpu };
  }

  submit(
    slot: number,
    left: Uint8Array,
    right: Uint8Array,
    onDone: Waiting["onDone"],
    follows = true,
    registered?: Uint8Array,
  ): void {
    try {
      this.#session.submit(slot, left, right, follows, registered);
      keepHere(left);
      keepHere(right);
      if (registered !== undefined) keepHere(registered);
    } catch (error) {
      throw coded(error);
    }
    this.#waiting[slot] = { onDone, left, right, registered };
  }

  compute(left: Uint8Array, right: Uint8Array, registered?: Uint8Array): Promise<FrameResult> {
    return new Promise((resolve, reject) => {
      const onDone: Waiting["onDone"] = (error, result) =>
        error === null ? resolve(structuredClone(result)) : reject(error);
      this.submit(0, left, right, onDone, true, registered);
    });
  }

  setRightMap(map: Int32Array): void {
    try {
      this.#session.setRightMap({ map });
    } catch (error) {
      throw coded(error);
    }
  }

  close(): void {
    this.#lastInfo ??= this.#session.info;
    // Every frame that still waits is reported in here.
    this.#session.close();
    this.#link.engine = undefined;
  }

  /** Next to the constructor, whose variables a function made in it would keep. */
  static #createFinisher(link: Link): (slot: number, error: Error | null) => void {
    return (slot, error) => {
      if (link.engine !== undefined) link.engine.#finish(slot, error);
    };
  }

  #finish(slot: number, error: Error | null): void {
    const waiting = this.#waiting[slot] as Waiting;
    this.#waiting[slot] = undefined;
    const result = this.#results[slot] as FrameResult;
    const at = slot * OUTCOME_NUMBERS;
    result.encodedDepthBytes = this.#outcomes[at] as number;
    result.encodedDisparityBytes = this.#outcomes[at + 1] as number;
    result.validPixels = this.#outcomes[at + 2] as number;
    result.matchedPixels = this.#outcomes[at + 3] as number;
    DROP_CAUSES.forEach((cause, i) => {
      result.droppedPixels[cause] = this.#outcomes[at + 4 + i] as number;
    });
    this.stageMilliseconds.set(this.#outcomes.subarray(at + STAGES_AT, at + OUTCOME_NUMBERS));
    if (error !== null) this.framesInFlight = this.info.framesInFlight;
    waiting.onDone(error === null ? null : coded(error), result);
  }
}

/** The plugin with which a child process has found a GPU: from then on this process opens it itself. */
let provenPlugin: string | undefined;

/**
 * Keeps this process away from a plugin that no child process could use.
 * @returns why the CPU computes; undefined: the addon decides
 * @throws DepthwattError BACKEND_UNAVAILABLE
 */
function refuse({ backend }: EngineOptions, { installed, reason }: PluginProbe): string | undefined {
  if (installed && reason === "") provenPlugin = pluginPath();
  if (!installed || reason === "") return undefined;
  if (backend === "cuda") throw new DepthwattError("BACKEND_UNAVAILABLE", reason);
  return reason;
}

const asksForDevice = ({ backend, instructionSet }: EngineOptions) =>
  backend !== "cpu" && instructionSet === undefined && provenPlugin !== pluginPath();

/**
 * Opens an engine: allocates every buffer, starts its threads.
 * @throws DepthwattError ENGINE_PARAMETER (names the parameter, its range and what came), BACKEND_UNAVAILABLE (an explicit
 * backend or instruction set that is not there), ENGINE_FAILED, MEMORY_EXHAUSTED, ADDON_MISSING
 */
export function createEngine(options: EngineOptions): NativeEngine {
  const whyCpu = asksForDevice(options) ? refuse(options, probePlugin()) : undefined;
  return new SessionEngine(
    whyCpu === undefined ? options : { ...options, backend: "cpu" },
    undefined,
    whyCpu,
  );
}

/**
 * As createEngine(), but its memory is made on another thread, while other engines continue.
 * @throws (as a rejection) what createEngine() throws
 */
export async function openEngine(options: EngineOptions): Promise<NativeEngine> {
  try {
    const whyCpu = asksForDevice(options) ? refuse(options, await probePluginBeside()) : undefined;
    const asked: EngineOptions = whyCpu === undefined ? options : { ...options, backend: "cpu" };
    return new SessionEngine(asked, await engineAddon().openEngine(toNative(asked)), whyCpu);
  } catch (error) {
    throw coded(error);
  }
}
