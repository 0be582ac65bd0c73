// SPDX-License-Identifier: Apache-2.0
// Makes the built-in scene a source of pairs: at a rate, like a camera that does not wait, or as fast as pairs come
// back. A native thread draws one frame ahead, so that a pair is ready at its time. At a rate it begins when the pair
// before has come back, so that the matcher has all cores, or when half of the time until then has passed.
import { DepthwattError } from "../../core/index.js";
import type { StereoCalibration } from "../calibration/calibration.js";
import type { PairSource, RawImage, SourceCounters, SourceDescription, SourceEvents } from "../frame.js";
import { greyPairLayout, rgbPairLayout } from "../grey-pair.js";
import type { NativeScene, SceneExports } from "./native.js";
import { otherSceneSetup, type SceneOptions, sceneCalibration, sceneSetup } from "./scene-cameras.js";

export interface SyntheticOptions extends SceneOptions {
  /** Pairs per second, or "max": the next pair comes as soon as fewer than `maxHeldPairs` are held. */
  rateHz: number | "max";
  /** Ends after this many pairs. */
  frames?: number;
  /** Pairs the consumer may hold at once, 1 to 15; default 2 at "max", 3 at a rate. */
  maxHeldPairs?: number;
}

/** So many times as long as the last picture took is left for the next one. */
const DRAW_MARGIN = 2;
/** A late timer is not waited for again: this early is on time, milliseconds. */
const EARLY_MS = 0.5;

export class SyntheticSource implements PairSource {
  readonly description: SourceDescription;
  readonly calibration: StereoCalibration;
  readonly inputMemory: readonly Uint8Array[];
  readonly #scene: NativeScene;
  /** Draws the third camera into buffers of the same numbers. */
  readonly #other: NativeScene | undefined;
  /** Images of the frame in work that are not drawn yet. */
  #undrawn = 0;
  readonly #rateHz: number | undefined;
  readonly #frames: number;
  readonly #free: number[];
  readonly #sequences: number[];
  #maxHeldPairs: number;
  #heldPairs = 0;
  #drawing = false;
  #readyBuffer: number | undefined;
  /** Number of the next frame to draw; the picture shows it, the pair carries it as its sequence. */
  #nextFrame = 0;
  #beginMs = 0;
  #drawBeganMs = 0;
  #drawMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #events: SourceEvents | undefined;
  #pairs = 0;
  #drops: Record<string, number> = {};
  #stopped = false;
  #ended = false;
  #closed: (() => void)[] = [];

  /**
   * @param native the loaded addon
   * @throws DepthwattError CONFIG_INVALID for a rate, ENGINE_PARAMETER for a size, seed or noise outside its range
   */
  constructor(native: SceneExports, options: SyntheticOptions) {
    const { rateHz } = options;
    if (rateHz !== "max" && !(rateHz > 0)) {
      throw new DepthwattError(
        "CONFIG_INVALID",
        `expected source.synthetic.rateHz above 0 or "max", found ${rateHz}`,
      );
    }
    this.#rateHz = rateHz === "max" ? undefined : rateHz;
    this.#frames = options.frames ?? Number.POSITIVE_INFINITY;
    this.#maxHeldPairs = options.maxHeldPairs ?? (rateHz === "max" ? 2 : 3);
    const setup = sceneSetup(options);
    const buffers = this.#maxHeldPairs + 1;
    this.#scene = new native.Scene({ ...setup, buffers }, (error, buffer) => this.#drawn(error, buffer));
    this.#other = options.other
      ? new native.Scene({ ...otherSceneSetup(options), buffers }, (error, buffer) =>
          this.#drawn(error, buffer),
        )
      : undefined;
    this.#free = Array.from({ length: buffers }, (_, i) => i);
    this.#sequences = new Array<number>(buffers).fill(0);
    this.inputMemory = this.#scene.buffers.flatMap(({ left, right }) => [left, right]);
    this.calibration = sceneCalibration(options);
    const { width, height } = setup;
    const pace = rateHz === "max" ? "as fast as it is taken" : `at ${rateHz} Hz`;
    this.description = {
      title: `synthetic scene ${width}x${height} ${pace}`,
      ...(options.colours ? rgbPairLayout : greyPairLayout)(width, height),
      ...(options.other && { other: { width, height, strideBytes: 3 * width, format: "RGB8" as const } }),
      rateHz: this.#rateHz,
      clock: "monotonic",
    };
  }

  counters(): SourceCounters {
    return {
      pairs: this.#pairs,
      dropsLeft: { ...this.#drops },
      dropsRight: { ...this.#drops },
      skewMsMean: this.#pairs > 0 ? 0 : undefined,
      skewMsP99: this.#pairs > 0 ? 0 : undefined,
      driftPpm: this.#pairs > 0 ? 0 : undefined,
      ...(this.#other && {
        other: {
          pairs: this.#pairs,
          missed: {},
          drops: { ...this.#drops },
          offsetNs: this.#pairs > 0 ? 0 : undefined,
          problem: undefined,
        },
      }),
    };
  }

  start(events: SourceEvents): void {
    if (this.#events) throw new DepthwattError("INTERNAL", "a synthetic source was started twice");
    this.#events = events;
    this.#draw();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    if (this.#drawing || this.#heldPairs > 0) {
      await new Promise<void>((resolve) => this.#closed.push(resolve));
    }
    this.#scene.close();
    this.#other?.close();
  }

  /** Draws ahead into a free buffer, if there is one and nothing is ahead yet. */
  #draw(): void {
    if (this.#stopped || this.#drawing || this.#readyBuffer !== undefined) return;
    if (this.#pairs >= this.#frames) return;
    clearTimeout(this.#timer);
    const restMs = this.#restMs();
    if (restMs > EARLY_MS) {
      this.#timer = setTimeout(() => this.#draw(), restMs);
      return;
    }
    const buffer = this.#free.pop();
    if (buffer === undefined) return;
    this.#skipMissedFrames();
    this.#drawing = true;
    this.#drawBeganMs = performance.now();
    this.#sequences[buffer] = this.#nextFrame;
    this.#undrawn = this.#other === undefined ? 1 : 2;
    this.#other?.render(buffer, this.#nextFrame);
    this.#scene.render(buffer, this.#nextFrame++);
  }

  /** Returns how long the next image can wait: 0 while the one before is not being computed. */
  #restMs(): number {
    if (this.#rateHz === undefined || this.#beginMs === 0 || this.#heldPairs === 0) return 0;
    const periodMs = 1000 / this.#rateHz;
    const neededMs = Math.max(periodMs / 2, DRAW_MARGIN * this.#drawMs);
    return this.#beginMs + this.#nextFrame * periodMs - neededMs - performance.now();
  }

  #drawn(error: Error | null, buffer: number): void {
    if (--this.#undrawn > 0 && error === null) return;
    this.#drawing = this.#undrawn > 0;
    this.#drawMs = performance.now() - this.#drawBeganMs;
    if (this.#stopped) {
      this.#closeWhenIdle();
      return;
    }
    if (error) {
      this.#stopped = true;
      this.#events!.onError(error);
      return;
    }
    this.#readyBuffer = buffer;
    // The clock starts with the first picture: making the scene takes a second.
    if (this.#pairs === 0 && this.#beginMs === 0) this.#beginMs = performance.now();
    if (this.#rateHz === undefined) this.#deliverIfWanted();
    else this.#sleep();
  }

  /** Rests until the ready picture's moment. */
  #sleep(): void {
    if (this.#readyBuffer === undefined || this.#stopped) return;
    const dueMs = this.#beginMs + (this.#sequences[this.#readyBuffer]! * 1000) / this.#rateHz!;
    const waitMs = dueMs - performance.now();
    if (waitMs > EARLY_MS) this.#timer = setTimeout(() => this.#sleep(), waitMs);
    else this.#deliverIfWanted();
  }

  #deliverIfWanted(): void {
    const buffer = this.#readyBuffer;
    if (buffer === undefined || this.#stopped || this.#ended) return;
    if (this.#heldPairs >= this.#maxHeldPairs) {
      if (this.#rateHz === undefined) return;
      // No free buffer: the frame is dropped.
      this.#drop("noFreeBuffer", 1);
      this.#readyBuffer = undefined;
      this.#free.push(buffer);
    } else {
      this.#readyBuffer = undefined;
      this.#deliver(buffer);
      if (this.#pairs >= this.#frames) {
        this.#ended = true;
        this.#events!.onEnd();
        return;
      }
    }
    this.#draw();
  }

  /** Frames whose moment has passed while another was drawn are never drawn. */
  #skipMissedFrames(): void {
    if (this.#rateHz === undefined || this.#beginMs === 0) return;
    const elapsed = ((performance.now() - this.#beginMs) * this.#rateHz) / 1000;
    const missed = Math.floor(elapsed) - this.#nextFrame;
    if (missed <= 0) return;
    this.#drop("late", missed);
    this.#nextFrame += missed;
  }

  #drop(cause: string, count: number): void {
    this.#drops[cause] = (this.#drops[cause] ?? 0) + count;
  }

  #deliver(buffer: number): void {
    const { left, right } = this.#scene.buffers[buffer]!;
    const other = this.#other?.buffers[buffer];
    const { width, height, leftFormat: format, leftStrideBytes: strideBytes } = this.description;
    const timestampNs = process.hrtime.bigint();
    const image = (data: Uint8Array): RawImage => ({
      data,
      width,
      height,
      strideBytes,
      format,
      timestampNs,
      sequence: this.#sequences[buffer]!,
    });
    this.#pairs++;
    this.#heldPairs++;
    let released = false;
    this.#events!.onPair({
      left: image(left),
      right: image(right),
      ...(other && { other: { ...image(other.left), ...this.description.other! } }),
      clock: "monotonic",
      release: () => {
        if (released) throw new DepthwattError("INTERNAL", "a synthetic pair was released twice");
        released = true;
        this.#heldPairs--;
        this.#free.push(buffer);
        if (this.#stopped) this.#closeWhenIdle();
        if (this.#stopped || this.#ended) return;
        this.#draw();
        // Never from inside release(): the consumer is in the middle of something.
        if (this.#rateHz === undefined && this.#readyBuffer !== undefined) {
          setImmediate(() => this.#deliverIfWanted());
        }
      },
    });
  }

  #closeWhenIdle(): void {
    if (this.#drawing || this.#heldPairs > 0) return;
    for (const resolve of this.#closed.splice(0)) resolve();
  }
}
