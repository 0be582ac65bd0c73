// SPDX-License-Identifier: Apache-2.0
// One camera's frames over all the times that its command is started: their memory, numbers and times, and what was lost.
import { FramePeriod, lostBetween } from "v4l2-camera/parts";
import { DepthwattError } from "../../core/index.js";
import { FrameStream } from "./frame-stream.js";
import { type CommandFrame, FramePool } from "./frames.js";
import type { FrameLayout } from "./layout.js";
import { checkDisparities, PAIRS } from "./pairs-header.js";
import { SharedFrames } from "./shared-frames.js";
import { type FrameStamp, type StreamLayout, Y4M } from "./y4m.js";

/** Largest age of a live frame's stated capture time, and how far it may be ahead of the arrival. */
const OLDEST_NS = 10_000_000_000n;
const AHEAD_NS = 1_000_000n;
/** Where neither the stream nor the settings know the rate of a recording. */
const COUNTED_RATE_HZ = 30;

export interface IntakeOptions {
  /** Layout of raw frames; undefined for a stream with a header. */
  layout: FrameLayout | undefined;
  /** The stream has pairs with disparity; absent: YUV4MPEG2. */
  withDisparity?: boolean;
  /** Rate of raw frames, if it is known. */
  rateHz: number | undefined;
  sideBySide: boolean;
  /**
   * A live one has the stated capture time or that of arrival and never waits for memory; a recording has the stated
   * time or the stream's and does.
   */
  live: boolean;
  nowNs(): bigint;
  onFrame(frame: CommandFrame): void;
}

export class FrameIntake {
  readonly drops: Record<string, number> = {};
  readonly #options: IntakeOptions;
  #layout: StreamLayout | undefined;
  #period: FramePeriod | undefined;
  #pool: FramePool | undefined;
  #stream: FrameStream | undefined;
  #shared: SharedFrames | undefined;
  #frame: CommandFrame | undefined;
  #begun = 0;
  #lastSequence: number | undefined;

  constructor(options: IntakeOptions) {
    this.#options = options;
  }

  /** Known once a frame has come. */
  get layout(): StreamLayout {
    return this.#layout!;
  }

  get period(): FramePeriod {
    return this.#period!;
  }

  /** The command begins, or begins again. */
  begin(): void {
    const { layout, rateHz } = this.#options;
    if (layout) this.#settle({ ...layout, rateHz });
    this.#lastSequence = undefined;
    const sink = {
      onLayout: (found: StreamLayout) => this.#settle(found),
      begin: (stamp: FrameStamp) => this.#place(stamp),
      end: () => this.#whole(),
      shared: (frame: number, stamp: FrameStamp) => this.#readShared(frame, stamp),
    };
    this.#stream = new FrameStream(layout, sink, this.#options.withDisparity ? PAIRS : Y4M);
  }

  /**
   * Takes bytes from the command's output.
   * @returns bytes taken: fewer if a recording has to wait
   * @throws DepthwattError COMMAND_FAILED for bytes that are not a frame, DEVICE_UNSUITABLE for frames that cannot be
   * used
   */
  push(bytes: Uint8Array): number {
    try {
      return this.#stream!.push(bytes);
    } catch (error) {
      if ((error as DepthwattError).code === "COMMAND_FAILED") this.drop("garbage");
      throw error;
    }
  }

  /** The command has ended. */
  end(): void {
    this.close();
    if (this.#frame === undefined) return;
    this.drop("cut");
    this.#frame.giveBack();
    this.#frame = undefined;
  }

  /** Closes the helper's memory. */
  close(): void {
    this.#shared?.close();
    this.#shared = undefined;
  }

  drop(cause: string): void {
    this.drops[cause] = (this.drops[cause] ?? 0) + 1;
  }

  /** The first header says what every other one must say. */
  #settle(found: StreamLayout): void {
    const was = this.#layout;
    if (was === undefined) {
      this.#pool = new FramePool(found, this.#options.sideBySide);
      this.#period = new FramePeriod(found.rateHz === undefined ? undefined : 1e9 / found.rateHz);
      this.#layout = found;
    } else if (was.width !== found.width || was.height !== found.height || was.format !== found.format) {
      const words = ({ format, width, height }: FrameLayout) => `${format} ${width}x${height}`;
      throw new DepthwattError(
        "DEVICE_UNSUITABLE",
        `expected it to come back with ${words(was)}, got ${words(found)}`,
        { hint: "Let the command write one size and format each time it starts, or start depthwatt again." },
      );
    }
    if (found.memoryPath === undefined) return;
    if (!this.#options.live) {
      throw new DepthwattError(
        "CONFIG_INVALID",
        "expected a live command for frames in shared memory, got source.command.live: false",
        {
          hint: "A recording waits for the reader, and shared memory is overwritten: let the command write its frames.",
        },
      );
    }
    this.#shared = new SharedFrames(found.memoryPath, found.imageBytes + found.skipBytes);
  }

  #readShared(number: number, stamp: FrameStamp): void {
    const place = this.#place(stamp);
    if (typeof place === "string") {
      this.#frame = undefined;
      return;
    }
    if (this.#shared!.read(number, place)) {
      this.#whole();
      return;
    }
    this.drop("overwritten");
    this.#frame!.giveBack();
    this.#frame = undefined;
  }

  #place({ timestampNs, sequence }: FrameStamp): Uint8Array | "drop" | "wait" {
    const { live, nowNs } = this.#options;
    const arrivedNs = live ? nowNs() : undefined;
    if (timestampNs !== undefined && arrivedNs !== undefined) requirePlausible(timestampNs, arrivedNs);
    const frame = this.#pool!.take();
    if (frame === undefined && !live) return "wait";
    const number = this.#begun++;
    if (sequence !== undefined) this.#countLost(sequence);
    this.#frame = frame;
    if (frame === undefined) {
      this.drop("noFreeBuffer");
      return "drop";
    }
    const streamNs = () => BigInt(Math.round((number * 1e9) / (this.layout.rateHz ?? COUNTED_RATE_HZ)));
    frame.stamp(timestampNs ?? arrivedNs ?? streamNs(), sequence ?? number, timestampNs !== undefined);
    return frame.data;
  }

  #countLost(sequence: number): void {
    const lost = this.#lastSequence === undefined ? 0 : lostBetween(this.#lastSequence, sequence);
    this.#lastSequence = sequence;
    if (lost > 0) this.drops.driver = (this.drops.driver ?? 0) + lost;
  }

  #whole(): void {
    const frame = this.#frame!;
    this.#frame = undefined;
    try {
      if (this.#options.withDisparity) checkDisparities(frame.data);
    } catch (error) {
      frame.giveBack();
      throw error;
    }
    this.period.add(frame.timestampNs);
    this.#options.onFrame(frame);
  }
}

function requirePlausible(timestampNs: bigint, arrivedNs: bigint): void {
  const ageNs = arrivedNs - timestampNs;
  if (ageNs <= OLDEST_NS && ageNs >= -AHEAD_NS) return;
  throw new DepthwattError(
    "COMMAND_FAILED",
    `expected a capture time (XTIME) of the last 10 s, got one ${Number(ageNs) / 1e9} s before the frame arrived`,
    { hint: "XTIME is in nanoseconds of CLOCK_MONOTONIC, as clock_gettime() reports them." },
  );
}
