// SPDX-License-Identifier: Apache-2.0
// One frame of a camera as a program sees it: the driver's memory, and what the driver said of it.
import type { CameraFrame, FramePlane, TimestampPoint, V4l2Camera } from "./camera.js";
import type { StampOrigin } from "./pair/device-clock.js";
import type { PixelFormat } from "./pixel-format.js";

/** How the frames of an open camera are in memory. */
export interface FrameLayout {
  width: number;
  height: number;
  /** From one row to the next; 0 for compressed frames. */
  strideBytes: number;
  /** Pixel format of the bytes; "MJPEG" if they are not decoded; undefined for a format without a name here. */
  format: PixelFormat | "MJPEG" | undefined;
  /** V4L2's four letters of what the camera sends. */
  fourcc: string;
}

/**
 * A frame in the memory that the driver wrote it to. There is one object for each buffer of the camera, used again: after
 * release() neither it nor `data` may be read.
 */
export class Frame implements FrameLayout {
  readonly width: number;
  readonly height: number;
  readonly strideBytes: number;
  readonly format: PixelFormat | "MJPEG" | undefined;
  readonly fourcc: string;
  /** Source of the capture time; "monotonic" is the kernel's own stamp, unchanged. */
  timestampOrigin: StampOrigin = "monotonic";
  readonly #camera: V4l2Camera;
  readonly #frame: CameraFrame;
  #held = false;
  #kept = false;

  /** @internal */
  constructor(camera: V4l2Camera, frame: CameraFrame, layout: FrameLayout) {
    this.#camera = camera;
    this.#frame = frame;
    this.width = layout.width;
    this.height = layout.height;
    this.strideBytes = layout.strideBytes;
    this.format = layout.format;
    this.fourcc = layout.fourcc;
  }

  /**
   * The image's bytes: all of its buffer, or of a compressed one as many as it has; of a format whose planes lie apart, the
   * first plane. Empty after release() of a closed camera.
   */
  get data(): Uint8Array {
    const { data, planes } = this.#frame;
    return this.strideBytes === 0 ? data.subarray(0, planes[0]!.bytesUsed) : data;
  }

  /** The memory planes: one of most formats, two of NV12M, three of YUV420M. */
  get planes(): readonly FramePlane[] {
    return this.#frame.planes;
  }

  /** Capture time on CLOCK_MONOTONIC, nanoseconds. */
  get timestampNs(): bigint {
    return this.#frame.timestampNs;
  }

  /** The same in milliseconds, as a number: exact to 2 ns in the first year of a machine. */
  get timestampMs(): number {
    return (this.#frame.dequeuedNumberNs - this.#frame.ageNs) / 1e6;
  }

  /** The moment that the time stamp stands for, as the driver says. */
  get timestampPoint(): TimestampPoint {
    return this.#frame.point;
  }

  /** The driver's time stamp as it came, nanoseconds on a clock that V4L2_BUF_FLAG_TIMESTAMP_MASK of `flags` names. */
  get driverTimestampNs(): bigint {
    return this.#frame.stampNs;
  }

  /** CLOCK_MONOTONIC when this process had the frame, nanoseconds. */
  get arrivalNs(): bigint {
    return this.#frame.dequeuedNs;
  }

  /** The driver's count of images, also of the ones that were lost; modulo 2^32. */
  get sequence(): number {
    return this.#frame.sequence;
  }

  /** Images between the frame before and this one that the driver counted and that did not come. */
  get lostBefore(): number {
    return this.#frame.lostBefore;
  }

  /** V4L2_BUF_FLAG_* of linux/videodev2.h. */
  get flags(): number {
    return this.#frame.flags;
  }

  /** Bytes that the driver wrote, of all planes. */
  get bytesUsed(): number {
    return this.#frame.bytesUsed;
  }

  /** False once it was released. */
  get held(): boolean {
    return this.#held;
  }

  /** Gives the buffer back to the camera. A second call does nothing. */
  release(): void {
    if (!this.#held) return;
    this.#held = false;
    this.#camera.release(this.#frame);
  }

  /** In a loop: it stays held at the next turn, until release(). @returns itself */
  keep(): this {
    this.#kept = true;
    return this;
  }

  /** @internal At the next turn of the loop that it was handed to. */
  releaseUnlessKept(): void {
    if (!this.#kept) this.release();
  }

  /** @internal A new image came into its buffer. */
  begin(origin: StampOrigin): void {
    this.timestampOrigin = origin;
    this.#held = true;
    this.#kept = false;
  }
}
