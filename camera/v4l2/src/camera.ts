// SPDX-License-Identifier: Apache-2.0
// One open camera: reads the ring of announced images into frame objects made once, and counts what the driver lost.
import { constants } from "node:os";
import { CameraError, cameraError } from "./errors.js";
import {
  FACTS_BYTES,
  type NativeAddon,
  type NativeCamera,
  type NativeControlEvent,
  type NativeOpenOptions,
  RING_ENTRIES,
} from "./native.js";
import type { DeviceClock } from "./pair/device-clock.js";

/** Bits of v4l2_buffer.flags. */
const TIMESTAMP_MASK = 0xe000;
const TIMESTAMP_MONOTONIC = 0x2000;
const SOURCE_MASK = 0x70000;
const SOURCE_START_OF_EXPOSURE = 0x10000;

/** Which moment a capture time stands for; the driver reports it with each image. */
export type TimestampPoint = "startOfExposure" | "endOfFrame";

/** One memory plane of a frame. */
export interface FramePlane {
  /** From where its data begins to the end of its memory. Empty after release() of a closed camera. */
  readonly data: Uint8Array;
  /** From one row to the next; 0 for compressed frames. */
  readonly strideBytes: number;
  /** Bytes that the driver wrote. */
  readonly bytesUsed: number;
}

/** Words of an image's facts, by FACTS_BYTES of native.ts. */
const WORDS = FACTS_BYTES / 4;
const SEQUENCE = 4;
const FLAGS = 5;
const PLANES = 6;

/** Facts about all images of a camera: the values that the addon writes, and values computed from them. */
interface Facts {
  words: Uint32Array;
  times: BigInt64Array;
  /** How old each image was when it arrived, nanoseconds: arrival less capture time. */
  agesNs: Float64Array;
}

class Plane implements FramePlane {
  readonly strideBytes: number;
  readonly #memory: Uint8Array;
  readonly #words: Uint32Array;
  readonly #at: number;
  #data: Uint8Array;
  #offsetBytes = 0;

  constructor(memory: Uint8Array, strideBytes: number, words: Uint32Array, at: number) {
    this.#memory = this.#data = memory;
    this.strideBytes = strideBytes;
    this.#words = words;
    this.#at = at;
  }

  get data(): Uint8Array {
    const offsetBytes = this.#words[this.#at + 1]!;
    // A driver that puts something before the data does so with every image.
    if (offsetBytes !== this.#offsetBytes) {
      this.#offsetBytes = offsetBytes;
      this.#data = this.#memory.subarray(offsetBytes);
    }
    return this.#data;
  }

  get bytesUsed(): number {
    return this.#words[this.#at]! - this.#words[this.#at + 1]!;
  }
}

/**
 * One image as the driver gave it. The object belongs to its buffer and is reused. Getters convert the addon's values to
 * bigint on access, so a frame whose times are not read costs no memory.
 */
export class CameraFrame {
  readonly image: number;
  readonly planes: readonly FramePlane[];
  /** Images between this one and the one before that the driver counted and that were not announced. */
  lostBefore = 0;
  readonly #facts: Facts;
  readonly #at: number;

  constructor(image: number, planes: readonly FramePlane[], facts: Facts) {
    this.image = image;
    this.planes = planes;
    this.#facts = facts;
    this.#at = image * WORDS;
  }

  /** The first memory plane: of most formats the whole image. */
  get data(): Uint8Array {
    return this.planes[0]!.data;
  }

  /** The driver's time stamp, its own clock, ns. */
  get stampNs(): bigint {
    return this.#facts.times[this.#at / 2]!;
  }

  /** CLOCK_MONOTONIC when this process had the image, ns. */
  get dequeuedNs(): bigint {
    return this.#facts.times[this.#at / 2 + 1]!;
  }

  /** The same as a number, which is exact for the first 104 days of a machine and then to 2 ns. */
  get dequeuedNumberNs(): number {
    const { words } = this.#facts;
    return words[this.#at + 3]! * 2 ** 32 + words[this.#at + 2]!;
  }

  /** Arrival less capture time, ns; 0 before followed(). */
  get ageNs(): number {
    return this.#facts.agesNs[this.image]!;
  }

  /** Capture time on CLOCK_MONOTONIC, ns, once followed() knows it. */
  get timestampNs(): bigint {
    return this.dequeuedNs - BigInt(this.ageNs);
  }

  get sequence(): number {
    return this.#facts.words[this.#at + SEQUENCE]!;
  }

  /** V4L2_BUF_FLAG_*. */
  get flags(): number {
    return this.#facts.words[this.#at + FLAGS]!;
  }

  /** Sum over all planes. */
  get bytesUsed(): number {
    let sum = 0;
    for (const plane of this.planes) sum += plane.bytesUsed;
    return sum;
  }

  get monotonic(): boolean {
    return (this.flags & TIMESTAMP_MASK) === TIMESTAMP_MONOTONIC;
  }

  get point(): TimestampPoint {
    return (this.flags & SOURCE_MASK) === SOURCE_START_OF_EXPOSURE ? "startOfExposure" : "endOfFrame";
  }

  /** Brings its time stamp to CLOCK_MONOTONIC. */
  followed(clock: DeviceClock): void {
    this.#facts.agesNs[this.image] = clock.follow(this.#facts.words, this.#at, this.monotonic);
  }
}

export interface CameraEvents {
  onFrame(frame: CameraFrame): void;
  /** After the frames that came together. */
  onTurn?(): void;
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

/** No camera loses more images than these: a larger gap is a wrong sequence number. */
const MAX_LOST_PER_MS = 1;
const MAX_LOST_AT_START = 1000;

export class V4l2Camera {
  readonly native: NativeCamera;
  /** Images that the driver counted and that were not announced. */
  sequenceGaps = 0;
  /** Images that were handed out and are not back. */
  held = 0;
  readonly #frames: CameraFrame[];
  readonly #ring: Uint32Array;
  #read = 0;
  #lastSequence: number | undefined;
  #firstNs = 0;
  #events: CameraEvents | undefined;
  #closed: Promise<void> | undefined;
  /** The addon holds its callback for good: what leads from there to this camera is cut when it is closed. */
  readonly #link: { camera: V4l2Camera | undefined } = { camera: this };

  private constructor(native: NativeCamera) {
    this.native = native;
    this.#ring = new Uint32Array(native.ring);
    const words = new Uint32Array(native.facts);
    const count = native.images.length / native.planes;
    const facts = { words, times: new BigInt64Array(native.facts), agesNs: new Float64Array(count) };
    this.#frames = Array.from({ length: count }, (_, image) => {
      const planes = Array.from({ length: native.planes }, (__, plane) => {
        const memory = native.images[image * native.planes + plane]!;
        const at = image * WORDS + PLANES + 2 * plane;
        return new Plane(memory, native.format.planes[plane]!.strideBytes, words, at);
      });
      return new CameraFrame(image, planes, facts);
    });
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
    this.native.start(V4l2Camera.#createWaker(this.#link));
  }

  /** Next to start(), whose variables a function made in it would keep. */
  static #createWaker(link: { camera: V4l2Camera | undefined }) {
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
      this.native.release(this.#ring[this.#read % RING_ENTRIES]!);
    }
    this.#events?.onTurn?.();
    if (fault !== 0) this.#events?.onFault(faultError(this.path, fault, action));
  }

  #take(entry: number): CameraFrame {
    const frame = this.#frames[this.#ring[entry]!]!;
    const { sequence } = frame;
    if (this.#lastSequence === undefined) this.#firstNs = frame.dequeuedNumberNs;
    const lost = this.#lastSequence === undefined ? 0 : lostBetween(this.#lastSequence, sequence);
    const maxLost = MAX_LOST_AT_START + (MAX_LOST_PER_MS * (frame.dequeuedNumberNs - this.#firstNs)) / 1e6;
    frame.lostBefore = this.sequenceGaps + lost > maxLost ? 0 : lost;
    this.sequenceGaps += frame.lostBefore;
    this.#lastSequence = sequence;
    return frame;
  }
}

const errnoNames = new Map(Object.entries(constants.errno).map(([name, value]) => [value, name]));

function faultError(path: string, errno: number, action: string | undefined): CameraError {
  const name = errnoNames.get(errno) ?? `errno ${errno}`;
  if (name === "ENOSPC") {
    // Only the start of a stream answers so: USB reserves a stream's bandwidth in advance.
    const message = `${path}: expected enough free USB bandwidth for this stream, the bus has too little left (${name}).`;
    return new CameraError("DEVICE_BANDWIDTH", message, { context: { device: path, errno: name } });
  }
  const isGone = name === "ENODEV" || name === "ENXIO";
  const message = isGone
    ? `${path}: the camera was unplugged (${name}).`
    : `${path}: ${action ?? "streaming"} failed (${name}).`;
  return new CameraError("DEVICE_UNAVAILABLE", message, { context: { device: path, errno: name } });
}
