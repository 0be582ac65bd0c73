// SPDX-License-Identifier: Apache-2.0
// Defines what a source delivers. A frame cannot be made without its time and its sequence number.
import type { PixelFormat } from "../core/index.js";

export type { PixelFormat };

/** Which clock a capture time was read from. `file`: from a recording's names, unrelated to this machine's clocks. */
export type ClockName = "monotonic" | "realtime" | "file";

/** Which moment a capture time stands for; the driver reports it with each image. */
export type TimestampPoint = "startOfExposure" | "endOfFrame";

/** One camera's image. `data` is owned by the source until release(). */
export interface RawImage {
  data: Uint8Array;
  width: number;
  height: number;
  strideBytes: number;
  format: PixelFormat;
  /** Start of exposure where the source knows it, nanoseconds on `FramePair.clock`. */
  timestampNs: bigint;
  /** Counts every image the device made, also those that were lost: a gap is a loss. */
  sequence: number;
}

export interface FramePair {
  left: RawImage;
  right: RawImage;
  /** The image of a further camera next to the pair: the one nearest in time; absent: there is none for this pair. */
  other?: RawImage | undefined;
  clock: ClockName;
  /** Absent where the source does not know. */
  timestampPoint?: TimestampPoint | undefined;
  /** Hands the buffers back to the source. Must be called exactly once. */
  release(): void;
}

/** Describes a source before its first frame. */
export interface SourceDescription {
  /** One line for the user, such as "synthetic 640x480 at 30 Hz". */
  title: string;
  /** The pixel format that was chosen automatically, and the alternatives; absent: none was chosen. */
  formatChoice?: string | undefined;
  width: number;
  height: number;
  leftFormat: PixelFormat;
  rightFormat: PixelFormat;
  leftStrideBytes: number;
  rightStrideBytes: number;
  /** The images of a further camera; absent: the source has none. */
  other?: Pick<RawImage, "width" | "height" | "strideBytes" | "format"> | undefined;
  /** Nominal rate, Hz; undefined = as fast as the consumer takes them. */
  rateHz: number | undefined;
  clock: ClockName;
}

/** Describes the clock of a camera's stamps. */
export interface CaptureClock {
  /** The clock, such as "monotonic" or "tsc". */
  origin: string;
  /** Cameras of one bus share the offset. */
  bus: string;
  /** Added to the driver's stamps to get CLOCK_MONOTONIC, ms. */
  offsetMs: number;
  /** How the offset is known; absent: there is none. */
  source?: string;
  /** How well the offset is known; absent: unknown. */
  uncertaintyMs?: number;
  driftPpm?: number;
  /** Times that the driver's clock jumped or wrapped. */
  jumps: number;
}

/** Counts since open. Every image that did not become a pair is counted under a cause. */
export interface SourceCounters {
  /** Pairs delivered. */
  pairs: number;
  /** Images lost before pairing, by cause, such as {left: {unmatched: 2}, right: {driver: 1}}. */
  dropsLeft: Record<string, number>;
  dropsRight: Record<string, number>;
  /** Mean and 99th percentile of |left - right| capture time, milliseconds; undefined before the first pair. */
  skewMsMean: number | undefined;
  skewMsP99: number | undefined;
  /** Drift between the two cameras' clocks, parts per million; undefined where it cannot be known. */
  driftPpm: number | undefined;
  /** Images of the further camera; absent: the source has none. */
  other?: OtherCounters | undefined;
}

export interface OtherCounters {
  /** Pairs that have an image of it. */
  pairs: number;
  /** Pairs without one, by cause. */
  missed: Record<string, number>;
  /** Images that no pair took, or that were lost, by cause. */
  drops: Record<string, number>;
  /** Its capture time minus the left image's, of the newest pair that has one; undefined before. */
  offsetNs: number | undefined;
  /** Why it delivers no images, and the code of the error; undefined: it does. */
  problem: { code: string; reason: string } | undefined;
}

export interface SourceEvents {
  onPair(pair: FramePair): void;
  /** The source went bad (`reason` says how) or recovered (undefined). @param code classifies the cause, if it is known */
  onDegraded(reason: string | undefined, code?: string): void;
  /** Something that the user can fix while the source continues, such as a skew that stays high. */
  onWarning?(message: string): void;
  /** No more pairs will come: end of a recording, or the frame limit. */
  onEnd(): void;
  /** The source cannot continue. */
  onError(error: Error): void;
}

/** A source of stereo pairs. `start` may be called once; `stop` is safe at any time and resolves when all is released. */
/** userptr: the process's; dmabuf: the driver's, exported so that a GPU can import it; mmap: the driver's. */
export type CaptureMemory = "userptr" | "dmabuf" | "mmap";

export interface PairSource {
  readonly description: SourceDescription;
  /**
   * Memory that the source's images are in, where that is known and stays the same until stop() resolves; with the
   * descriptor of its DMA buffer where a driver exported one.
   */
  readonly inputMemory?: readonly (Uint8Array | { bytes: Uint8Array; dmaBuffer: number })[] | undefined;
  /** True while a device of it is not there, so that nothing but its return brings pairs; absent: never. */
  isAway?(): boolean;
  /** Memory that each camera writes to. Absent: no cameras. */
  captureMemory?(): Record<string, CaptureMemory>;
  /** Describes the clocks that stamp the images, by camera; absent if a source has no stamps of a driver. */
  captureClocks?(): Record<string, CaptureClock>;
  start(events: SourceEvents): void;
  stop(): Promise<void>;
  counters(): SourceCounters;
}
