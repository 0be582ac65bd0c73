// SPDX-License-Identifier: Apache-2.0
// The addon's export table as TypeScript sees it; engine.ts and camera/ make usable things of it.
import type { NativeVideo } from "../../camera/index.js";
import type { EngineInfo, EngineOptions, EngineSlot, InstructionSet, NativeEncoding } from "./native.js";
import type { NativeScene, NativeSceneOptions } from "./native-scene.js";

export interface CpuFeatures {
  /** Instruction sets this build and this processor both have, best first. */
  available: InstructionSet[];
  best: InstructionSet;
}

/** Rooms one by one, for tests and benchmarks; unstable. Each file of cuda/binding/rooms adds its own. */
export type NativeRooms = Record<string, (...parameters: never[]) => unknown>;

/** EngineOptions with the repeated stage as its place in STAGE_NAMES. */
export type NativeOptions = Omit<EngineOptions, "repeatStage"> & {
  repeatStage?: { stage: number; times: number };
};

/** The addon's own engine class; engine.ts makes a NativeEngine of it. */
export interface NativeSession {
  readonly info: EngineInfo;
  /**
   * Outcome of each slot's newest frame, 3 + STAGE_NAMES.length numbers a slot: encodedDepthBytes, encodedDisparityBytes,
   * validPixels, then milliseconds of each stage (NaN = off).
   */
  readonly outcomes: Float64Array;
  submit(slot: number, left: Uint8Array, right: Uint8Array): void;
  close(): void;
}

/** A slot's memory, headroom included; native code computes into it. */
export type SlotMemory = Record<keyof EngineSlot, ArrayBuffer>;

export interface NativeAddon {
  /** `onDone(slot, error)` is called on the JavaScript thread for every submitted frame. */
  Session: new (
    options: NativeOptions,
    memory: readonly SlotMemory[],
    onDone: (slot: number, error: Error | null) => void,
  ) => NativeSession;
  /** Bytes that encodedDepth or encodedDisparity must hold. */
  encodedBound(encoding: NativeEncoding, width: number, height: number): number;
  /** Why CUDA cannot be used, one sentence; "" where it can. */
  cudaUnavailable(): string;
  cpuFeatures(): CpuFeatures;
  /**
   * Makes the scene on its own thread; returns at once.
   * @throws DepthwattError ENGINE_PARAMETER for a value outside its range
   */
  createScene(
    options: NativeSceneOptions,
    onRendered: (error: Error | null, buffer: number) => void,
  ): NativeScene;
  /** CLOCK_MONOTONIC and CLOCK_REALTIME read back to back, nanoseconds. */
  clocks(): { monotonicNs: bigint; realtimeNs: bigint };
  /**
   * One datagram to a Unix socket ("@" in front: abstract namespace), as sd_notify(3) sends it. Never blocks.
   * @returns "" when sent, else the system's words for why not
   */
  sdNotify(socketAddress: string, message: string): string;
  /** V4L2 capture; camera/capture/v4l2 makes sources of it. */
  readonly video: NativeVideo;
  readonly rooms: NativeRooms;
  /** The native half of power/: power/native.ts has its type, edge hands it over, and nothing in cuda looks inside. */
  readonly power: object;
}
