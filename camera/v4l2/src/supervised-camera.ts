// SPDX-License-Identifier: Apache-2.0
// A camera that comes back: when its stream fails, stalls or is unplugged it is closed, looked for and opened again.
import { type CameraFrame, V4l2Camera } from "./camera.js";
import { type DeviceFolders, findCamera } from "./devices.js";
import { addDrops } from "./drops.js";
import { CameraError, type CameraErrorCode } from "./errors.js";
import type { NativeAddon, NativeCamera, NativeControlEvent, NativeOpenOptions } from "./native.js";
import type { BusClocks, ClockReader } from "./pair/bus-clock.js";
import { DeviceClock } from "./pair/device-clock.js";
import { FramePeriod } from "./pair/frame-period.js";

/** How often a lost camera is looked for, and a silent one noticed. */
const LOOK_MS = 200;
/** Silence of this many periods, and of at least so long, is a stall. */
const STALL_PERIODS = 5;
const STALL_MS = 1000;
/** A camera that was just switched on may take longer over its first image. */
const FIRST_IMAGE_MS = 3000;

export interface SupervisorEvents {
  /** frame.timestampNs is known; the frame is held until camera.release(frame). */
  onFrame(camera: V4l2Camera, frame: CameraFrame): void;
  /** After the frames that came together. */
  onTurn?(): void;
  /** No images until onBack; called once per loss, and again when its cause changes. */
  onLost(reason: string): void;
  onBack(): void;
  /** Watched controls that changed. */
  onControls?(events: readonly NativeControlEvent[]): void;
  /**
   * The camera is lost for good: it came back unable to do what it did before, its first stream found no USB bandwidth,
   * or reconnect is false.
   */
  onError(error: Error): void;
}

export interface SupervisorOptions {
  addon: NativeAddon;
  clocks: ClockReader;
  /** Clocks that cameras of one bus share; absent: this camera shares none. */
  buses?: BusClocks;
  open: NativeOpenOptions;
  folders?: DeviceFolders;
  /** False: a lost camera is not looked for, and onError is called in place of onLost. Default true. */
  reconnect?: boolean;
  /** Runs on every fresh camera before its stream starts: controls. */
  prepare(camera: V4l2Camera): void;
}

/** A driver's memory and the descriptor of the DMA buffer that it maps. */
export interface DmaMemory {
  bytes: Uint8Array;
  dmaBuffer: number;
}

export class SupervisedCamera {
  readonly period: FramePeriod;
  /** The first camera; every successor must be the same camera with the same format. */
  readonly #first: NativeCamera;
  /** Losses by cause of cameras that were closed since; add those of the open one. */
  #pastDrops: Record<string, number> = {};
  #camera: V4l2Camera | undefined;
  #previous: V4l2Camera | undefined;
  #clock: DeviceClock;
  readonly #options: SupervisorOptions;
  #path: string;
  #events: SupervisorEvents | undefined;
  #timer: NodeJS.Timeout | undefined;
  #lastImageMs = 0;
  /** An image came since the last look. */
  #heard = false;
  /** Capture time of the last image, NaN before the first; in an array because a field would be a new number each time. */
  readonly #lastTimeNs = Float64Array.of(Number.NaN);
  #graceMs = FIRST_IMAGE_MS;
  /** Silent for too long at the last look. */
  #suspect = false;
  /** Why the camera is lost, while it is. */
  #lostCode: CameraErrorCode | undefined;
  #away = false;
  #stopped = false;
  #reopening: Promise<void> | undefined;
  /** From STREAMON to the capture time of the first image, ns; undefined until seen. */
  startLatencyNs: number | undefined;
  #firstOfStream = true;

  constructor(camera: V4l2Camera, options: SupervisorOptions) {
    this.#camera = camera;
    this.#first = camera.native;
    this.#options = options;
    this.#path = options.open.path;
    this.#clock = this.#makeClock();
    const { rateHz } = camera.native.format;
    this.period = new FramePeriod(rateHz > 0 ? 1e9 / rateHz : undefined);
  }

  static async open(options: SupervisorOptions): Promise<SupervisedCamera> {
    const camera = await V4l2Camera.open(options.addon, options.open);
    return new SupervisedCamera(camera, options);
  }

  /**
   * Memory of this camera's images: its own, shared by its successors, or the driver's with the descriptors of its DMA
   * buffers. Undefined for other memory, such as that of a camera that came back with new buffers.
   */
  get inputMemory(): readonly (Uint8Array | DmaMemory)[] | undefined {
    const { ownMemory, keepMapped } = this.#options.open;
    if (ownMemory) return this.#first.images;
    const { images, exportedDescriptors } = this.#first;
    // The images of a JPEG camera are decoded ones, not the driver's.
    if (!keepMapped || this.#camera?.native !== this.#first || exportedDescriptors.length !== images.length)
      return undefined;
    return images.map((bytes, image) => ({ bytes, dmaBuffer: exportedDescriptors[image]! }));
  }

  /** The open camera; undefined while it is lost. */
  get camera(): V4l2Camera | undefined {
    return this.#camera;
  }

  /** Lost, and no such camera was there at the last look. */
  get away(): boolean {
    return this.#away;
  }

  get clock(): DeviceClock {
    return this.#clock;
  }

  #makeClock(): DeviceClock {
    const { clocks, buses } = this.#options;
    return new DeviceClock(clocks, buses?.forBus(this.#first.identity.bus));
  }

  start(events: SupervisorEvents): void {
    this.#events = events;
    this.#timer = setInterval(() => this.#watch(), LOOK_MS);
    this.#run(this.#camera!);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    const camera = this.#camera;
    if (camera) this.#keepDrops(camera);
    this.#camera = undefined;
    await camera?.close();
    await this.#reopening;
    if (this.#options.open.keepMapped) this.#first.freeKept();
  }

  /** Restarts the stream at this time, CLOCK_MONOTONIC ns. */
  restartAt(monotonicNs: number): void {
    this.#firstOfStream = true;
    this.#heard = false;
    this.#lastImageMs = performance.now();
    this.#graceMs = FIRST_IMAGE_MS;
    this.#camera?.native.restartAt(monotonicNs);
  }

  /** Images this camera lost before pairing, by cause, since open. */
  drops(): Record<string, number> {
    const drops = { ...this.#pastDrops };
    if (this.#camera) addDrops(drops, this.#camera);
    return drops;
  }

  #run(camera: V4l2Camera): void {
    this.#heard = false;
    this.#lastImageMs = performance.now();
    this.#graceMs = FIRST_IMAGE_MS;
    this.#firstOfStream = true;
    camera.start({
      onFrame: (frame) => this.#onFrame(camera, frame),
      onTurn: () => this.#events?.onTurn?.(),
      onFault: (error) => this.#lose(error),
      onControls: (events) => this.#events?.onControls?.(events),
    });
  }

  #onFrame(camera: V4l2Camera, frame: CameraFrame): void {
    this.#heard = true;
    frame.followed(this.#clock);
    const timeNs = frame.dequeuedNumberNs - frame.ageNs;
    if (this.#firstOfStream) {
      this.#firstOfStream = false;
      this.startLatencyNs = timeNs - camera.native.statistics().streamOnNs;
    }
    const stepNs = timeNs - this.#lastTimeNs[0]!;
    this.#lastTimeNs[0] = timeNs;
    this.period.addStep(Number.isNaN(stepNs) ? 0 : stepNs);
    if (this.#lostCode !== undefined) {
      this.#lostCode = undefined;
      this.#events?.onBack();
    }
    this.#events!.onFrame(camera, frame);
  }

  #watch(): void {
    if (this.#camera === undefined) {
      this.#reopening ??= this.#reopen().finally(() => {
        this.#reopening = undefined;
      });
      return;
    }
    if (this.#heard) {
      this.#heard = false;
      this.#graceMs = 0;
      this.#lastImageMs = performance.now();
    }
    const periodMs = (this.period.periodNs ?? 0) / 1e6;
    const limitMs = Math.max(STALL_MS, STALL_PERIODS * periodMs, this.#graceMs);
    const silentMs = performance.now() - this.#lastImageMs;
    // Timers run before what the camera's thread announced: after a pause of this very process the first look is unfair.
    const wasSuspect = this.#suspect;
    this.#suspect = silentMs > limitMs;
    if (wasSuspect && this.#suspect) {
      const seconds = (silentMs / 1000).toFixed(1);
      const reason = this.#firstOfStream
        ? `${this.#path}: the stream started but no image came for ${seconds} s; the stream is started again. Check the trigger line and the sensor's cable (on a Jetson: uncorr_err in dmesg).`
        : `${this.#path}: no image for ${seconds} s; the stream is started again.`;
      this.#lose(new CameraError("DEVICE_UNAVAILABLE", reason, { context: { device: this.#path } }));
    }
  }

  #lose(error: CameraError): void {
    const camera = this.#camera;
    if (camera === undefined) return;
    this.#camera = undefined;
    this.#previous = camera;
    this.#keepDrops(camera);
    const neverStreamed = Number.isNaN(this.#lastTimeNs[0]);
    const isFinal = this.#options.reconnect === false || (error.code === "DEVICE_BANDWIDTH" && neverStreamed);
    // Before the close: the consumer may hold images whose memory keeps the kernel from forgetting the device.
    if (isFinal) {
      clearInterval(this.#timer);
      this.#events?.onError(error);
    } else if (this.#lostCode !== error.code) {
      this.#lostCode = error.code;
      this.#events?.onLost(
        error.code === "DEVICE_BANDWIDTH" ? `${error.message} ${error.hint}` : error.message,
      );
    }
    this.#reopening = camera.close().finally(() => {
      this.#reopening = undefined;
    });
  }

  async #reopen(): Promise<void> {
    const { addon, folders, prepare } = this.#options;
    const { ownMemory, keepMapped, exportBuffers, ...open } = this.#options.open;
    // The next camera writes into the same memory: not under a reader of the last one's images.
    if (ownMemory && this.#previous!.held > 0) return;
    const path = await findCamera(addon, this.#path, this.#first.identity, folders, open.system);
    this.#away = path === undefined;
    if (path === undefined || this.#stopped) return;
    let camera: V4l2Camera;
    try {
      camera = await V4l2Camera.open(addon, {
        ...open,
        path,
        // A GPU knows the first camera's buffers only.
        ...(exportBuffers && !keepMapped && { exportBuffers }),
        ...(ownMemory && { userBuffers: this.#first.images }),
      });
    } catch {
      // Not ready yet, or its permissions are not set yet: the next look tries again.
      return;
    }
    if (this.#stopped) return camera.close();
    try {
      this.#requireSameFormat(camera);
      prepare(camera);
    } catch (error) {
      await camera.close();
      if (error instanceof CameraError && error.retryable) return;
      this.#stopped = true;
      this.#events?.onError(error as Error);
      return;
    }
    this.#path = path;
    this.#clock = this.#makeClock();
    this.#camera = camera;
    this.#run(camera);
  }

  #requireSameFormat(camera: V4l2Camera): void {
    const was = this.#first.format;
    const is = camera.native.format;
    const same =
      was.fourcc === is.fourcc &&
      was.width === is.width &&
      was.height === is.height &&
      was.planes.length === is.planes.length &&
      was.planes.every(({ strideBytes }, i) => strideBytes === is.planes[i]!.strideBytes);
    if (same) return;
    throw new CameraError(
      "DEVICE_UNSUITABLE",
      `${camera.path}: expected the camera to come back with ${was.fourcc} ${was.width}x${was.height}, got ${is.fourcc} ${is.width}x${is.height}.`,
      { context: { device: camera.path, expected: was, found: is } },
    );
  }

  #keepDrops(camera: V4l2Camera): void {
    addDrops(this.#pastDrops, camera);
  }
}
