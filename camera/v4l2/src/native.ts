// SPDX-License-Identifier: Apache-2.0
// The addon as TypeScript sees it: every call with its units. The layout of the ring is also in native/capture.h.

export interface NativeIdentity {
  path: string;
  driver: string;
  /** The camera's name, such as "HD Pro Webcam C920". */
  card: string;
  /** Where it is plugged in, such as "usb-0000:00:14.0-1". */
  bus: string;
  captures: boolean;
  streams: boolean;
  multiPlanar: boolean;
}

/** Pixels; discrete sizes have minimum = maximum. */
export interface NativeSize {
  minWidth: number;
  maxWidth: number;
  stepWidth: number;
  minHeight: number;
  maxHeight: number;
  stepHeight: number;
  /** Hz; with rateRange the two ends of a range. */
  ratesHz: number[];
  rateRange: boolean;
}

export interface NativeFormat {
  fourcc: string;
  description: string;
  compressed: boolean;
  /** Made by a library and not by the camera. */
  emulated: boolean;
  sizes: NativeSize[];
}

export interface NativeControl {
  id: number;
  /** The driver's name, such as "Exposure Time, Absolute". */
  name: string;
  kind: "integer" | "boolean" | "menu" | "button" | "bitmask";
  /** A 64-bit control. */
  wide: boolean;
  readable: boolean;
  writable: boolean;
  /** Without effect at the moment, such as an exposure time under automatic exposure. */
  inactive: boolean;
  minimum: number;
  maximum: number;
  step: number;
  initial: number;
  menu: { value: number; name: string }[];
}

export interface NativeDescription extends NativeIdentity {
  formats: NativeFormat[];
  controls: NativeControl[];
}

/** The format that the driver set, read back. */
export interface NativeAgreedFormat {
  fourcc: string;
  width: number;
  height: number;
  /** Bytes per row of the first memory plane, which is the only one of most formats. */
  strideBytes: number;
  imageBytes: number;
  /** Memory planes, each a separate allocation. */
  planes: { strideBytes: number; imageBytes: number }[];
  /** 0 if the driver does not report a rate. */
  rateHz: number;
}

/** Counts since open, but for the two times. */
export interface NativeStatistics {
  frames: number;
  errorFlagged: number;
  empty: number;
  oversized: number;
  decodeFailed: number;
  decodeRepaired: number;
  noFreeBuffer: number;
  queueFailed: number;
  /** Changes of controls that came faster than they were taken. */
  eventsLost: number;
  /** CLOCK_MONOTONIC when the stream was last switched on. */
  streamOnNs: number;
  /** CPU time of the camera's thread; 0 where it does not run. */
  threadNs: number;
}

export const RING_ENTRIES = 64;
/**
 * Size of an image's facts: int64 timestampNs, int64 dequeuedNs, uint32 sequence, flags, then uint32 bytesUsed and
 * offsetBytes for each of four memory planes.
 */
export const FACTS_BYTES = 64;

export interface NativeControlEvent {
  id: number;
  value: number;
  /** Without effect from now on. */
  inactive: boolean;
  minimum: number;
  maximum: number;
}

/** An open camera. Everything is made at open; a frame costs no memory. */
export interface NativeCamera {
  readonly identity: NativeIdentity;
  readonly format: NativeAgreedFormat;
  /** Memory planes of each image. */
  readonly planes: number;
  /** Image after image, a view of each memory plane, valid while its image is held; empty after close(). */
  readonly images: readonly Uint8Array[];
  /** uint32 each: numbers of the images as they were announced. */
  readonly ring: ArrayBuffer;
  /** FACTS_BYTES for each image by its number, which stay as they are while it is held. */
  readonly facts: ArrayBuffer;
  /** Descriptors of the DMA buffers where asked for; closed by close(). */
  readonly exportedDescriptors: readonly number[];
  /**
   * Starts the camera's thread. `onWake(produced, fault, action)` runs on the JavaScript thread: `produced` images were
   * announced so far (modulo 2^32), entry i is in the ring at i % RING_ENTRIES; `fault` is 0 or the errno of
   * `action` that ended the stream; with `events` takeEvents() has something. Every announced image is held until release().
   */
  start(onWake: (produced: number, fault: number, action: string | undefined, events: boolean) => void): void;
  /** @throws INVALID_ARGUMENT if the image is not held */
  release(image: number): void;
  /** Stops the stream and starts it again at this time, CLOCK_MONOTONIC ns. */
  restartAt(monotonicNs: number): void;
  controls(): NativeControl[];
  readControl(id: number, wide: boolean): number;
  writeControl(id: number, wide: boolean, value: number): void;
  /** Emits an event for each change of this control that another program or the camera's firmware makes. */
  watchControl(id: number): void;
  /** Changes since the last call, oldest first. */
  takeEvents(): NativeControlEvent[];
  statistics(): NativeStatistics;
  /** Ends the thread and closes the device. Images still held stay valid until their release(). */
  close(): Promise<void>;
  /** Frees the memory that `keepMapped` kept; images that are held at their release. */
  freeKept(): void;
}

export interface NativeOpenOptions {
  path: string;
  /** Absent leaves what the driver has: format, size and rate each. */
  fourcc?: string;
  width?: number;
  height?: number;
  rateHz?: number;
  /** Controls by name that change the formats: set before the format. */
  formatControls?: Readonly<Record<string, number>>;
  /** 4 to 32, default 8. */
  buffers?: number;
  /** Take formats whose memory planes lie apart (NV12M); else they are refused. */
  separatePlanes?: boolean;
  /** Also export every buffer as a DMA buffer. */
  exportBuffers?: boolean;
  /** The driver's buffers stay mapped from close() to freeKept(): a GPU may still know their addresses. */
  keepMapped?: boolean;
  /** The camera writes into these (V4L2 USERPTR), each of at least imageBytes; a JPEG is decoded into them. */
  userBuffers?: readonly Uint8Array[];
  /**
   * The same with whole pages of memory that open() makes. It is not the camera's: `images` stay as they are after close(),
   * and may be the `userBuffers` of a camera opened later.
   */
  ownMemory?: boolean;
  /** Decodes JPEG frames to GREY (default) or RGB8; `none` delivers their bytes. */
  decode?: "grey" | "rgb" | "none";
  /** A driver in memory, for tests. */
  system?: unknown;
}

/** The CPU's counter and the kernel's clocks at one moment, nanoseconds. */
export interface CounterReading {
  monotonicNs: bigint;
  /** CLOCK_MONOTONIC_RAW. */
  rawNs: bigint;
  /** The reads took this long: their moment is known to half of it. */
  bracketNs: number;
  /** arm64's cntvct_el0 since its reset; undefined: `unavailable` says why. */
  counterNs?: bigint;
  unavailable?: string;
}

export interface NativeAddon {
  /** CLOCK_MONOTONIC and CLOCK_REALTIME read back to back, nanoseconds. */
  clocks(): { monotonicNs: bigint; realtimeNs: bigint };
  counter(): CounterReading;
  describe(path: string, system?: unknown): Promise<NativeDescription>;
  /** As describe() without formats and controls: one call to the driver. */
  identify(path: string, system?: unknown): Promise<NativeIdentity>;
  open(options: NativeOpenOptions): Promise<NativeCamera>;
  /**
   * Decodes a JPEG five times and returns the shortest time, nanoseconds. Sides are at most 2048 pixels.
   * @throws DEVICE_UNSUITABLE without libturbojpeg, INVALID_ARGUMENT for anything but a JPEG of this size
   */
  timeDecoding(call: { jpeg: Uint8Array; width: number; height: number; decode: "grey" | "rgb" }): number;
}
