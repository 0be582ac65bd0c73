// SPDX-License-Identifier: Apache-2.0
// One open camera: reads the ring of announced images into frame objects made once, and counts what the driver lost.
import { constants } from "node:os";
import { CameraError, cameraError } from "./errors.js";
import {
  type NativeCamera,
  type NativeControlEvent,
  type NativeOpenOptions,
  type NativeAddon,
  RING_ENTRIES,
  RING_ENTRY_BYTES,
} from "./native.js";

/** Bits of v4l2_buffer.flags. */
const TIMESTAMP_MASK = 0xe000;
const TIMESTAMP_MONOTONIC = 0x2000;
const SOURCE_MASK = 0x70000;
const SOURCE_START_OF_EXPOSURE = 0x10000;

/** Which moment a capture time stands for; the driver says so with each image. */
export type TimestampPoint = "startOfExposure" | "endOfFrame";

/** One image as the driver gave it; the object belongs to its buffer and is used again. */
export interface CameraFrame {
  readonly image: number;
  readonly data: Uint8Array;
  /** The driver's time stamp, its own clock, ns. */
  stampNs: bigint;
  /** CLOCK_MONOTONIC when this process had the image, ns. */
  dequeuedNs: bigint;
  sequence: number;
  bytesUsed: number;
  /** V4L2_BUF_FLAG_*. */
  flags: number;
  /** Images between this one and the one before that the driver counted and that were not announced. */
  lostBefore: number;
  monotonic: boolean;
  point: TimestampPoint;
}

export interface CameraEvents {
  onFrame(frame: CameraFrame): void;
  /** The stream is over; close() is all that is left. */
  onFault(error: CameraError): void;
  /** Watched controls that changed. */
  onControls?(events: readonly NativeControlEvent[]): void;
}

/** Frames between two sequence numbers that a uint32 counter passed over; 0 for neighbours and for a restart. */
export function lostBetween(previous: number, next: number): number {
  const step = (next - previous) >>> 0;
  // A step backwards is a counter that began again; it looks like nearly 2^32 frames.
  return step === 0 || step >= 0x80000000 ? 0 : step - 1;
}

export class V4l2Camera {
  readonly native: NativeCamera;
  /** Images that the driver counted and that were not announced. */
  sequenceGaps = 0;
  /** Images that were handed out and are not back. */
  held = 0;
  readonly #frames: CameraFrame[];
  readonly #times: BigInt64Array;
  readonly #words: Uint32Array;
  #read = 0;
  #lastSequence: number | undefined;
  #events: CameraEvents | undefined;
  #closed: Promise<void> | undefined;
  /** The addon holds its callback for good: what leads from there to this camera is cut when it is closed. */
  readonly #link: { camera: V4l2Camera | undefined } = { camera: this };

  private constructor(native: NativeCamera) {
    this.native = native;
    this.#times = new BigInt64Array(native.ring);
    this.#words = new Uint32Array(native.ring);
    this.#frames = native.images.map((data, image) => ({
      image,
      data,
      stampNs: 0n,
      dequeuedNs: 0n,
      sequence: 0,
      bytesUsed: 0,
      flags: 0,
      lostBefore: 0,
      monotonic: true,
      point: "endOfFrame",
    }));
  }

  /** @throws CameraError DEVICE_UNAVAILABLE, DEVICE_PERMISSION, DEVICE_BUSY or DEVICE_UNSUITABLE */
  static async open(addon: NativeAddon, options: NativeOpenOptions): Promise<V4l2Camera> {
    try {
      return new V4l2Camera(await addon.open(options));
    } catch (error) {
      throw cameraError(error, options.path);
    }
  }

  get path(): string {
    return this.native.identity.path;
  }

  start(events: CameraEvents): void {
    this.#events = events;
    this.native.start(V4l2Camera.#wakerOf(this.#link));
  }

  /** Beside start(), whose variables a function made in it would keep. */
  static #wakerOf(link: { camera: V4l2Camera | undefined }) {
    return (produced: number, fault: number, action: string | undefined, events: boolean) => {
      const { camera } = link;
      if (camera === undefined) return;
      if (events) camera.#events?.onControls?.(camera.native.takeEvents());
      camera.#wake(produced, fault, action);
    };
  }

  release(frame: CameraFrame): void {
    this.native.release(frame.image);
    this.held -= 1;
  }

  close(): Promise<void> {
    this.#events = undefined;
    this.#closed ??= this.native.close().finally(() => {
      this.#link.camera = undefined;
    });
    return this.#closed;
  }

  #wake(produced: number, fault: number, action: string | undefined): void {
    while (this.#read !== produced && this.#events) {
      const frame = this.#take(this.#read % RING_ENTRIES);
      this.#read = (this.#read + 1) >>> 0;
      this.held += 1;
      this.#events.onFrame(frame);
    }
    // Closed from within onFrame: what was announced and not read goes back unread.
    for (; this.#read !== produced; this.#read = (this.#read + 1) >>> 0) {
      this.native.release(this.#words[(this.#read % RING_ENTRIES) * (RING_ENTRY_BYTES / 4) + 4]!);
    }
    if (fault !== 0) this.#events?.onFault(faultError(this.path, fault, action));
  }

  #take(entry: number): CameraFrame {
    const times = entry * (RING_ENTRY_BYTES / 8);
    const words = entry * (RING_ENTRY_BYTES / 4) + 4;
    const frame = this.#frames[this.#words[words]!]!;
    const flags = this.#words[words + 3]!;
    frame.stampNs = this.#times[times]!;
    frame.dequeuedNs = this.#times[times + 1]!;
    frame.bytesUsed = this.#words[words + 1]!;
    frame.sequence = this.#words[words + 2]!;
    frame.monotonic = (flags & TIMESTAMP_MASK) === TIMESTAMP_MONOTONIC;
    frame.point = (flags & SOURCE_MASK) === SOURCE_START_OF_EXPOSURE ? "startOfExposure" : "endOfFrame";
    frame.flags = flags;
    frame.lostBefore = this.#lastSequence === undefined ? 0 : lostBetween(this.#lastSequence, frame.sequence);
    this.sequenceGaps += frame.lostBefore;
    this.#lastSequence = frame.sequence;
    return frame;
  }
}

const errnoNames = new Map(Object.entries(constants.errno).map(([name, value]) => [value, name]));

function faultError(path: string, errno: number, action: string | undefined): CameraError {
  const name = errnoNames.get(errno) ?? `errno ${errno}`;
  const gone = name === "ENODEV" || name === "ENXIO";
  const message = gone
    ? `${path}: the camera was unplugged (${name}).`
    : `${path}: ${action ?? "streaming"} failed (${name}).`;
  return new CameraError("DEVICE_UNAVAILABLE", message, { context: { device: path, errno: name } });
}
