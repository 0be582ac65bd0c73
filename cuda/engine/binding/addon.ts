// SPDX-License-Identifier: Apache-2.0
// Types of the functions that cuda/ registers on the native addon; engine.ts wraps them.
import { loadAddon } from "../../../core/index.js";
import type { Algorithm, Matcher, MatcherValues, SettingFact, StageName } from "../../matchers.js";
import type {
  EngineInfo,
  EngineOptions,
  EngineSlot,
  InstructionSet,
  NativeEncoding,
  PointsParameters,
  SearchChoice,
} from "./native.js";

export interface CpuFeatures {
  /** Instruction sets this build and this CPU both have, best first. */
  available: InstructionSet[];
  best: InstructionSet;
}

/** Stages one by one, for tests, benchmarks and derived outputs; unstable. The file x.node.inl.h of each stage's folder adds its functions. */
export type NativeStages = Record<string, (...parameters: never[]) => unknown>;

/** EngineOptions as the addon reads them: settings of stages as SECTION.NAME, the repeated stage as its index in STAGE_NAMES. */
export type NativeOptions = Omit<
  EngineOptions,
  "denoise" | "average" | "verticalOffset" | "blackLevel" | "points" | "repeatStage"
> & {
  match: EngineOptions["match"] & { denoise: string; average: boolean };
  rectify: { verticalOffset: number | "auto"; blackLevel: number };
  points?: PointsParameters & { colour: string };
  repeatStage?: { stage: number; times: number };
};

/** A rule between settings that does not hold: the first of the keys is the one to change. */
export interface BrokenRule {
  keys: [string, ...string[]];
  text: string;
}

/** The addon's own engine class; engine.ts makes a NativeEngine of it. */
export interface NativeSession {
  readonly info: EngineInfo;
  /**
   * Outcome of each slot's newest frame, numbers of each slot: encodedDepthBytes, encodedDisparityBytes, validPixels,
   * matchedPixels, the dropped pixels of each of DROP_CAUSES, the milliseconds of each of STAGE_NAMES (NaN = off).
   */
  readonly outcomes: Float64Array;
  setRightMap(call: { map: Int32Array }): void;
  submit(slot: number, left: Uint8Array, right: Uint8Array, follows: boolean, registered?: Uint8Array): void;
  close(): void;
}

/** A slot's memory, headroom included; native code computes into it. */
export type SlotMemory = Record<keyof EngineSlot, ArrayBuffer>;

/** An engine without a session, held by the addon. */
export interface OpenedEngine {
  readonly opened: unique symbol;
}

export interface EngineExports {
  /** `onDone(slot, error)` is called on the JavaScript thread for every submitted frame. */
  Session: new (
    options: NativeOptions,
    memory: readonly SlotMemory[],
    onDone: (slot: number, error: Error | null) => void,
    /** One that openEngine() has opened for the same options; without it the session opens its own. */
    opened?: OpenedEngine,
  ) => NativeSession;
  /** Opens an engine on another thread, for one Session. */
  openEngine(options: NativeOptions): Promise<OpenedEngine>;
  /** Bytes that encodedDepth or encodedDisparity must hold. */
  encodedBound(encoding: NativeEncoding, width: number, height: number): number;
  /** Why CUDA cannot be used, one sentence; "" where it can. */
  cudaUnavailable(): string;
  cpuFeatures(): CpuFeatures;
  readonly stages: NativeStages;
  /** Names, ranges, defaults, units and descriptions of matchers and stages. */
  facts(): {
    matchers: readonly Matcher[];
    stages: readonly { name: StageName; settings: readonly SettingFact[] }[];
  };
  /** The first rule between the settings of a matcher that its values break. */
  brokenRule(match: MatcherValues & { algorithm: Algorithm }): BrokenRule | null;
  /**
   * The search that a matcher runs for images of this size, and why; null if it has one search.
   * @param device multiprocessors of a GPU; 0 for a CPU
   */
  chooseSearch(
    match: MatcherValues & { algorithm: Algorithm },
    images: { width: number; height: number },
    device: { instructionSet: EngineInfo["instructionSet"]; multiprocessors: number },
  ): SearchChoice | null;
}

/** @throws DepthwattError ADDON_MISSING */
export const engineAddon = (): EngineExports => loadAddon<EngineExports>();
