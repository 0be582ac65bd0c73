// SPDX-License-Identifier: Apache-2.0
// The memory that a command's frames are read into, and the images and pairs in it: made once and used again.
import { allocate, DepthwattError } from "../../core/index.js";
import type { ClockName, FramePair, PixelFormat, RawImage, TimestampPoint } from "../frame.js";
import { type FrameLayout, widthOfOne } from "./layout.js";

/** One is being read, two wait for the other camera, the rest is the consumer's. */
export const FRAMES = 8;

export class CommandFrame {
  readonly data: Uint8Array;
  /** The image, or the left and the right one of a frame that holds both. */
  readonly images: readonly RawImage[];
  /** Stated capture time, or time of arrival, or of the stream, ns. */
  timestampNs = 0n;
  /** True if the command stated the capture time. */
  isTimed = false;
  readonly pair: HeldPair;
  readonly #free: CommandFrame[];

  constructor(layout: FrameLayout, sideBySide: boolean, free: CommandFrame[]) {
    const { height, strideBytes, format } = layout;
    const width = widthOfOne(layout, sideBySide);
    this.data = new Uint8Array(allocate(layout.imageBytes, "a frame of the command"));
    this.#free = free;
    const image = (offsetBytes: number, format: PixelFormat = layout.format): RawImage => ({
      data: this.data.subarray(offsetBytes),
      width,
      height,
      strideBytes,
      format,
      timestampNs: 0n,
      sequence: 0,
    });
    const isMatched = format === "GREY_DISPARITY";
    this.images = isMatched
      ? [image(0, "GREY"), image(strideBytes * height)]
      : sideBySide
        ? [image(0), image((strideBytes * width) / layout.width)]
        : [image(0)];
    this.pair = new HeldPair(this);
  }

  stamp(timestampNs: bigint, sequence: number, isTimed: boolean): void {
    this.timestampNs = timestampNs;
    this.isTimed = isTimed;
    for (const image of this.images) {
      image.timestampNs = timestampNs;
      image.sequence = sequence;
    }
  }

  giveBack(): void {
    this.#free.push(this);
  }
}

/** Holds a pair. The pair belongs to its left frame: holding the pair holds that frame. */
export class HeldPair implements FramePair {
  left!: RawImage;
  right!: RawImage;
  clock: ClockName = "monotonic";
  timestampPoint: TimestampPoint | undefined;
  readonly #own: CommandFrame;
  #other: CommandFrame | undefined;
  #onRelease: (() => void) | undefined;

  constructor(own: CommandFrame) {
    this.#own = own;
  }

  /** @param right the same frame where it holds both images */
  hold(right: CommandFrame, clock: ClockName, onRelease: () => void): FramePair {
    this.left = this.#own.images[0]!;
    this.right = right === this.#own ? right.images[1]! : right.images[0]!;
    this.clock = clock;
    this.timestampPoint = this.#own.isTimed ? "startOfExposure" : undefined;
    this.#other = right === this.#own ? undefined : right;
    this.#onRelease = onRelease;
    return this;
  }

  release(): void {
    const onRelease = this.#onRelease;
    if (onRelease === undefined) throw new DepthwattError("INTERNAL", "a command's pair was released twice");
    this.#onRelease = undefined;
    this.#own.giveBack();
    this.#other?.giveBack();
    onRelease();
  }
}

export class FramePool {
  readonly #free: CommandFrame[] = [];

  constructor(layout: FrameLayout, sideBySide: boolean) {
    for (let i = 0; i < FRAMES; i++) this.#free.push(new CommandFrame(layout, sideBySide, this.#free));
  }

  take(): CommandFrame | undefined {
    return this.#free.pop();
  }
}
