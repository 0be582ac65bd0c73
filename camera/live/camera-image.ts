// SPDX-License-Identifier: Apache-2.0
// Images and pairs as the pipeline sees them: one object per camera buffer, made once and used again.
import type { CameraFrame, V4l2Camera } from "v4l2-camera/parts";
import { DepthwattError } from "../../core/index.js";
import type { ClockName, FramePair, PixelFormat, RawImage, TimestampPoint } from "../frame.js";
import { DefectRepair, type Position } from "./defects.js";

/** How an image is in its camera's buffer. */
export interface CameraImageLayout {
  width: number;
  height: number;
  strideBytes: number;
  format: PixelFormat;
  /** First byte of the image in the buffer: not 0 for the right half of a side-by-side image. */
  offsetBytes: number;
}

export class CameraImage implements RawImage {
  readonly data: Uint8Array;
  readonly width: number;
  readonly height: number;
  readonly strideBytes: number;
  readonly format: PixelFormat;
  timestampNs = 0n;
  sequence = 0;
  readonly camera: V4l2Camera;
  readonly frame: CameraFrame;
  /** The camera's view that `data` is in. */
  readonly whole: Uint8Array;

  constructor(camera: V4l2Camera, frame: CameraFrame, layout: CameraImageLayout) {
    this.camera = camera;
    this.frame = frame;
    this.whole = frame.data;
    this.data = this.whole.subarray(layout.offsetBytes);
    this.width = layout.width;
    this.height = layout.height;
    this.strideBytes = layout.strideBytes;
    this.format = layout.format;
  }

  release(): void {
    this.camera.release(this.frame);
  }
}

/** An image of a further camera that a pair has until it is released. */
export interface LentImage {
  image: RawImage;
  release(): void;
}

/** The left or the right images, one per buffer of the camera that is open now. */
export class CameraImages {
  readonly #layout: CameraImageLayout;
  readonly #repair: DefectRepair | undefined;
  #camera: V4l2Camera | undefined;
  #images: CameraImage[] = [];

  /** @param defects pixels that are replaced in every image */
  constructor(layout: CameraImageLayout, defects: readonly Position[] = []) {
    this.#layout = layout;
    this.#repair = defects.length === 0 ? undefined : new DefectRepair(defects, layout);
  }

  of(camera: V4l2Camera, frame: CameraFrame): CameraImage {
    if (this.#camera !== camera) {
      this.#camera = camera;
      this.#images = [];
    }
    let image = this.#images[frame.image];
    // Another view: the driver put something else before the data than it did before.
    if (image?.whole !== frame.data) {
      image = new CameraImage(camera, frame, this.#layout);
      this.#images[frame.image] = image;
    }
    this.#repair?.apply(image.data);
    image.timestampNs = frame.timestampNs;
    image.sequence = frame.sequence;
    return image;
  }
}

/**
 * Holds a pair. The pair belongs to its left image: holding the pair holds that buffer, so the object is free again
 * with it.
 */
class HeldPair implements FramePair {
  left!: CameraImage;
  right!: CameraImage;
  other: RawImage | undefined;
  lent: LentImage | undefined;
  timestampPoint!: TimestampPoint;
  readonly clock: ClockName = "monotonic";
  held = false;
  readonly #onRelease: () => void;

  constructor(onRelease: () => void) {
    this.#onRelease = onRelease;
  }

  release(): void {
    if (!this.held) throw new DepthwattError("INTERNAL", "a camera pair was released twice");
    this.held = false;
    this.left.release();
    // A side-by-side camera has both images in one buffer.
    if (this.right.frame !== this.left.frame) this.right.release();
    this.lent?.release();
    this.lent = this.other = undefined;
    this.#onRelease();
  }
}

export class PairPool {
  /** Pairs that the consumer holds. */
  held = 0;
  readonly #pairs = new WeakMap<CameraImage, HeldPair>();
  #waiters: (() => void)[] = [];

  make(left: CameraImage, right: CameraImage, lent?: LentImage): FramePair {
    let pair = this.#pairs.get(left);
    if (!pair) {
      pair = new HeldPair(() => this.#released());
      this.#pairs.set(left, pair);
    }
    pair.left = left;
    pair.right = right;
    pair.lent = lent;
    pair.other = lent?.image;
    pair.timestampPoint = left.frame.point;
    pair.held = true;
    this.held++;
    return pair;
  }

  /** Resolves when the consumer holds nothing any more. */
  whenEmpty(): Promise<void> {
    return this.held === 0 ? Promise.resolve() : new Promise((resolve) => this.#waiters.push(resolve));
  }

  #released(): void {
    this.held--;
    if (this.held > 0) return;
    for (const wake of this.#waiters.splice(0)) wake();
  }
}
