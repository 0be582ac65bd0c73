// SPDX-License-Identifier: Apache-2.0
// An open camera: read in a loop or by a function, its controls, its counters, and what happens to it as events.
import { EventEmitter } from "node:events";
import type { CameraFrame, V4l2Camera } from "./camera.js";
import { type AppliedControl, CameraControls, controlName } from "./controls.js";
import { CameraError } from "./errors.js";
import { Frame, type FrameLayout } from "./frame.js";
import type { NativeAgreedFormat, NativeControl, NativeControlEvent, NativeIdentity } from "./native.js";
import { Newest } from "./newest.js";
import type { SupervisedCamera } from "./supervised-camera.js";

/** A watched control changed: the camera did it itself, or another program. */
export interface ControlChange {
  /** Such as "exposure_time_absolute". */
  name: string;
  value: number;
  /** Without effect from now on, as an exposure time under automatic exposure. */
  inactive: boolean;
  minimum: number;
  maximum: number;
}

export interface CameraEventMap {
  /** No frames until "back"; the text says why. */
  lost: [reason: string];
  back: [];
  control: [change: ControlChange];
  /** The camera is lost for good. Only where no loop reads it: a loop throws. */
  error: [error: Error];
}

/** A control as the camera describes it. */
export interface Control extends Omit<NativeControl, "id" | "wide" | "name"> {
  /** As v4l2-ctl writes it, such as "exposure_time_absolute". */
  name: string;
  /** As the driver writes it, such as "Exposure Time, Absolute". */
  label: string;
}

export interface CameraStatistics {
  /** Frames handed to a reader. */
  frames: number;
  /**
   * Frames lost, by cause. `driver`: made and never handed over; `errorFlag`: marked as broken; `incomplete`: fewer bytes than
   * the image has; `oversized`: more bytes than its buffer has; `decode`: no whole JPEG of this size; `noBuffer`: every decoded image was held;
   * `replaced`: a newer one came before this was read; `unread`: no reader. A cause that did not occur is absent.
   */
  drops: Record<string, number>;
  /** CPU time of the camera's own thread since its last opening, nanoseconds. */
  threadNs: number;
}

/** @internal */
export interface CameraParts {
  supervised: SupervisedCamera;
  layout: FrameLayout;
  /** Names of watched controls; watched again when the camera comes back. */
  watched: Set<string>;
  signal: AbortSignal | undefined;
}

/** A consumer of the camera's frames. */
interface Reader {
  onFrame(frame: Frame): void;
  onTurn?(): void;
  onLost?(): void;
  onEnd(error: unknown): void;
}

export class Camera extends EventEmitter<CameraEventMap> implements AsyncIterable<Frame> {
  /** The format that the camera uses, read back from the driver. */
  readonly format: Readonly<NativeAgreedFormat>;
  /** How its frames are in memory. */
  readonly layout: Readonly<FrameLayout>;
  readonly #parts: CameraParts;
  readonly #identity: NativeIdentity;
  #open: V4l2Camera | undefined;
  #frames: Frame[] = [];
  #reader: Reader | undefined;
  #started = false;
  #delivered = 0;
  #replaced = 0;
  #unread = 0;
  #closed: Promise<void> | undefined;
  #names = new Map<number, string>();

  /** @internal Use open(). */
  constructor(parts: CameraParts) {
    super();
    this.#parts = parts;
    const { native } = parts.supervised.camera!;
    this.format = native.format;
    this.layout = parts.layout;
    this.#identity = native.identity;
    parts.signal?.addEventListener("abort", this.#onAbort, { once: true });
  }

  /** Where the camera was opened, or where it is since it came back. */
  get path(): string {
    return this.#parts.supervised.camera?.path ?? this.#identity.path;
  }

  /** Driver, name and place on the bus: what stays the same when it is unplugged and comes back. */
  get identity(): { driver: string; card: string; bus: string; multiPlanar: boolean } {
    const { driver, card, bus, multiPlanar } = this.#identity;
    return { driver, card, bus, multiPlanar };
  }

  /** Measured or, before enough frames came, the camera's own word; undefined while neither is known. */
  get periodNs(): number | undefined {
    return this.#parts.supervised.period.periodNs;
  }

  /** Descriptors of the DMA buffers, where asked for, plane after plane of each; empty while the camera is away. */
  get dmaBuffers(): readonly number[] {
    return this.#parts.supervised.camera?.native.exportedDescriptors ?? [];
  }

  /**
   * Reads the camera: every frame is handed to `onFrame`, which releases it sooner or later. Nothing is allocated for it on the
   * native side. @returns how to stop reading; the camera stays open
   * @throws CameraError INVALID_STATE where it is read already or closed
   */
  start(onFrame: (frame: Frame) => void): () => void {
    return this.attach({ onFrame, onEnd: (error) => error !== undefined && this.#fail(error as Error) });
  }

  /** Iterates over the frames. A frame is released at the next turn unless kept. Newer frames replace unread ones. */
  [Symbol.asyncIterator](): AsyncIterableIterator<Frame, undefined, undefined> {
    const newest = new Newest<Frame>(
      () => this.#replaced++,
      () => stop(),
    );
    const stop = this.attach({
      onFrame: (frame) => newest.put(frame),
      onTurn: () => newest.flush(),
      onLost: () => newest.clear(),
      onEnd: (error) => newest.end(error),
    });
    return newest;
  }

  /** The next frame, which the caller releases. @throws the signal's reason, CameraError */
  async frame(): Promise<Frame> {
    for await (const frame of this) return frame.keep();
    throw new CameraError("INVALID_STATE", `${this.path}: the camera was closed before a frame came.`);
  }

  /** @throws CameraError DEVICE_UNAVAILABLE while the camera is away */
  controls(): Control[] {
    return this.#native.controls().map(({ id: _, wide: __, name, ...control }) => ({
      ...control,
      name: controlName(name),
      label: name,
    }));
  }

  /** @returns the control's value, undefined for one that can only be written. @throws CameraError */
  get(name: string): number | undefined {
    const controls = new CameraControls(this.#native);
    controls.require(name);
    return controls.read(name);
  }

  /**
   * Sets a control and reads it back: the driver may keep another value.
   * @param value a number, true or false, or the name of a menu's entry
   * @throws CameraError DEVICE_UNSUITABLE for a control that is not there or a value that it does not take
   */
  set(name: string, value: number | boolean | string): AppliedControl {
    return new CameraControls(this.#native).apply(name, typeof value === "boolean" ? Number(value) : value);
  }

  /** Enables "control" events for these controls. They are emitted while the camera is read. @throws CameraError */
  watch(...names: string[]): void {
    const controls = new CameraControls(this.#native);
    for (const name of names) {
      controls.watch(name);
      this.#parts.watched.add(name);
    }
  }

  statistics(): CameraStatistics {
    const { supervised } = this.#parts;
    const drops = supervised.drops();
    if (this.#replaced > 0) drops.replaced = this.#replaced;
    if (this.#unread > 0) drops.unread = this.#unread;
    return { frames: this.#delivered, drops, threadNs: supervised.camera?.native.statistics().threadNs ?? 0 };
  }

  /** Ends the stream and frees the device. Frames still held stay readable until their release(). Safe to call twice. */
  close(): Promise<void> {
    this.#closed ??= this.#close(undefined);
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** @internal One reader at a time. @returns how to detach it */
  attach(reader: Reader): () => void {
    if (this.#closed) throw new CameraError("INVALID_STATE", `${this.path}: the camera is closed.`);
    if (this.#reader) throw new CameraError("INVALID_STATE", `${this.path}: the camera is read already.`);
    this.#reader = reader;
    if (!this.#started) {
      this.#started = true;
      this.#parts.supervised.start({
        onFrame: (camera, frame) => this.#onFrame(camera, frame),
        onTurn: () => this.#reader?.onTurn?.(),
        onLost: (reason) => {
          this.#reader?.onLost?.();
          this.emit("lost", reason);
        },
        onBack: () => this.emit("back"),
        onControls: (events) => this.#onControls(events),
        onError: (error) => this.#end(error),
      });
    }
    return () => {
      if (this.#reader === reader) this.#reader = undefined;
    };
  }

  /** @internal For pair(). */
  get supervised(): SupervisedCamera {
    return this.#parts.supervised;
  }

  get #native() {
    const camera = this.#parts.supervised.camera;
    if (camera) return camera.native;
    const why = this.#closed ? "is closed" : "is away";
    throw new CameraError("DEVICE_UNAVAILABLE", `${this.path}: the camera ${why}.`);
  }

  #onFrame(camera: V4l2Camera, raw: CameraFrame): void {
    if (this.#open !== camera) {
      this.#open = camera;
      this.#frames = [];
    }
    this.#frames[raw.image] ??= new Frame(camera, raw, this.layout);
    const frame = this.#frames[raw.image]!;
    frame.begin(this.#parts.supervised.clock.origin ?? "monotonic");
    if (!this.#reader) {
      this.#unread++;
      frame.release();
      return;
    }
    this.#delivered++;
    this.#reader.onFrame(frame);
  }

  #onControls(events: readonly NativeControlEvent[]): void {
    for (const { id, ...change } of events) {
      if (!this.#names.has(id)) this.#names = new Map(this.#native.controls().map(nameById));
      this.emit("control", { name: this.#names.get(id) ?? String(id), ...change });
    }
  }

  readonly #onAbort = () => {
    this.#closed ??= this.#close(this.#parts.signal!.reason);
  };

  #end(error: Error): void {
    this.#closed ??= this.#close(error);
  }

  #fail(error: Error): void {
    // Without a listener an "error" event ends the process; an abort is requested by the program.
    if (error !== this.#parts.signal?.reason) this.emit("error", error);
  }

  async #close(error: unknown): Promise<void> {
    this.#parts.signal?.removeEventListener("abort", this.#onAbort);
    const reader = this.#reader;
    this.#reader = undefined;
    reader?.onEnd(error);
    await this.#parts.supervised.stop();
  }
}

const nameById = ({ id, name }: NativeControl): [number, string] => [id, controlName(name)];
