// SPDX-License-Identifier: Apache-2.0
// A command as a camera. A live one is started again when it ends, falls silent or writes garbage; a recording waits until its
// frames are taken, and its end is the end.
import { DepthwattError, type ErrorCode } from "../../core/index.js";
import { FrameIntake, type IntakeOptions } from "./frame-intake.js";
import type { CommandFrame } from "./frames.js";
import { type CommandEnd, CommandProcess } from "./process.js";

const LOOK_MS = 100;
const SHORTEST_BACK_OFF_MS = 500;
const LONGEST_BACK_OFF_MS = 10_000;
/** Frames for so long, and the next end is a new trouble. */
const STEADY_MS = 2000;

export interface CommandCameraOptions extends Omit<IntakeOptions, "onFrame"> {
  /** As messages name it, such as `left command "ffmpeg"`. */
  name: string;
  words: readonly [string, ...string[]];
  /** Longest time without a whole frame. */
  timeoutMs: number;
  /** Removes from a line on stderr what must not be shown. */
  clean(line: string): string;
  /** Asked each time a live command has ended: an error that another start cannot fix, which ends the source. */
  giveUp?: (() => Promise<Error | undefined>) | undefined;
}

export interface CommandCameraEvents {
  /** The frame is the receiver's until giveBack(). */
  onFrame(frame: CommandFrame): void;
  /** A live one is away, once per end; it is started again automatically. */
  onLost(reason: string): void;
  onBack(): void;
  /** A recording is over, with its error where it failed. */
  onEnd(error: Error | undefined): void;
  /** It came back unable to do what it did before. */
  onError(error: Error): void;
}

export class CommandCamera {
  readonly intake: FrameIntake;
  readonly #options: CommandCameraOptions;
  #process: CommandProcess | undefined;
  #events: CommandCameraEvents | undefined;
  #opening: { resolve(): void; reject(error: Error): void } | undefined;
  /** For a recording: whole frames that arrived before a consumer did, and the recording's end. */
  readonly #early: CommandFrame[] = [];
  #earlyEnd: (() => void) | undefined;
  /** Bytes that have to wait. */
  #rest: Buffer | undefined;
  #bytes = 0;
  #look: NodeJS.Timeout | undefined;
  #startAgain: NodeJS.Timeout | undefined;
  #backOffMs = SHORTEST_BACK_OFF_MS;
  #lastFrameMs = 0;
  /** The command has ended, and bytes of it still wait for memory. */
  #endBehindRest: CommandEnd | undefined;
  #firstFrameMs: number | undefined;
  #suspect = false;
  #lost: string | undefined;
  #stopped = false;
  /** Why we ended it ourselves. */
  #trouble: DepthwattError | undefined;

  constructor(options: CommandCameraOptions) {
    this.#options = options;
    this.intake = new FrameIntake({ ...options, onFrame: (frame) => this.#onFrame(frame) });
  }

  /**
   * Starts the command; resolves with its first frame.
   * @throws DepthwattError COMMAND_FAILED, DEVICE_UNSUITABLE
   */
  open(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#opening = { resolve, reject };
      this.#look = setInterval(() => this.#watch(), LOOK_MS);
      this.#run();
    });
  }

  start(events: CommandCameraEvents): void {
    this.#events = events;
    for (const frame of this.#early.splice(0)) events.onFrame(frame);
    if (this.#lost !== undefined) events.onLost(this.#lost);
    this.#earlyEnd?.();
  }

  /** A frame was given back: a recording that waited for one continues. */
  goOn(): void {
    const rest = this.#rest;
    if (rest === undefined || this.#stopped) return;
    this.#rest = undefined;
    this.#lastFrameMs = performance.now();
    this.#feed(rest);
    if (this.#rest !== undefined) return;
    const end = this.#endBehindRest;
    this.#endBehindRest = undefined;
    if (end) this.#ended(end);
    else this.#process?.resume();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#look);
    clearTimeout(this.#startAgain);
    for (const frame of this.#early.splice(0)) frame.giveBack();
    await this.#process?.stop();
    this.intake.close();
  }

  #run(): void {
    this.#bytes = 0;
    this.#trouble = undefined;
    this.#firstFrameMs = undefined;
    this.#suspect = false;
    this.#lastFrameMs = performance.now();
    this.intake.begin();
    this.#process = new CommandProcess(this.#options.words, {
      onData: (bytes) => {
        this.#bytes += bytes.length;
        // Node resumes the output of a command that has exited, paused or not: what comes stands behind what waits.
        if (this.#rest === undefined) this.#feed(bytes);
        else this.#rest = Buffer.concat([this.#rest, bytes]);
      },
      onEnd: (end) => this.#ended(end),
    });
  }

  #feed(bytes: Buffer): void {
    if (this.#trouble !== undefined || this.#stopped) return;
    try {
      const taken = this.intake.push(bytes);
      if (taken === bytes.length) return;
      this.#rest = bytes.subarray(taken);
      this.#process!.pause();
    } catch (error) {
      this.#end(error as DepthwattError);
    }
  }

  #onFrame(frame: CommandFrame): void {
    this.#lastFrameMs = performance.now();
    this.#firstFrameMs ??= this.#lastFrameMs;
    this.#opening?.resolve();
    this.#opening = undefined;
    if (this.#stopped) {
      frame.giveBack();
      return;
    }
    if (this.#lost !== undefined) {
      this.#lost = undefined;
      this.#events?.onBack();
    }
    if (this.#events) this.#events.onFrame(frame);
    // A camera that no consumer looks at yet has lost nothing.
    else if (this.#options.live) frame.giveBack();
    else this.#early.push(frame);
  }

  #end(trouble: DepthwattError): void {
    this.#trouble = trouble;
    this.#rest = undefined;
    this.#process?.end();
  }

  #watch(): void {
    const silentMs = performance.now() - this.#lastFrameMs;
    // Timers run before what has arrived meanwhile: after a pause of this very process the first look is unfair.
    const wasSuspect = this.#suspect;
    const waits = this.#rest !== undefined || this.#startAgain !== undefined;
    this.#suspect = silentMs > this.#options.timeoutMs && !waits;
    if (!wasSuspect || !this.#suspect || this.#trouble !== undefined) return;
    const wrote = this.#bytes === 0 ? "wrote nothing" : `wrote no whole frame (${this.#bytes} bytes so far)`;
    this.#end(new DepthwattError("COMMAND_FAILED", `${wrote} for ${(silentMs / 1000).toFixed(1)} s`));
  }

  #ended(end: CommandEnd): void {
    if (this.#rest !== undefined) {
      this.#endBehindRest = end;
      return;
    }
    this.intake.end();
    const error = this.#endError(end);
    const opening = this.#opening;
    this.#opening = undefined;
    if (!opening && this.#options.live && error.code !== "DEVICE_UNSUITABLE") {
      this.#restart(error, end.code === 0);
      return;
    }
    clearInterval(this.#look);
    if (opening) {
      opening.reject(error);
      return;
    }
    const good = end.code === 0 && this.#trouble === undefined;
    const report = () =>
      this.#options.live ? this.#events!.onError(error) : this.#events!.onEnd(good ? undefined : error);
    if (this.#events) report();
    else this.#earlyEnd = report;
  }

  #endError({ how, lastLine }: CommandEnd): DepthwattError {
    const { name, clean } = this.#options;
    const code: ErrorCode = this.#trouble?.code ?? "COMMAND_FAILED";
    const said = lastLine === undefined ? "" : `; its last line: ${clean(lastLine)}`;
    const message = `${name}: ${this.#trouble?.message ?? how}${said}`;
    return new DepthwattError(code, message, this.#trouble && { hint: this.#trouble.hint });
  }

  #restart(error: Error, good: boolean): void {
    const steady = this.#firstFrameMs !== undefined && this.#lastFrameMs - this.#firstFrameMs >= STEADY_MS;
    if (steady) this.#backOffMs = SHORTEST_BACK_OFF_MS;
    const waitMs = this.#backOffMs;
    this.#backOffMs = Math.min(2 * waitMs, LONGEST_BACK_OFF_MS);
    const hint = good && this.#trouble === undefined ? " (a recording needs source.command.live: false)" : "";
    this.#lost = `${error.message}. It is started again in ${waitMs / 1000} s${hint}.`;
    this.#events?.onLost(this.#lost);
    this.#startAgain = setTimeout(() => void this.#again(), waitMs);
  }

  async #again(): Promise<void> {
    const error = await this.#options.giveUp?.();
    this.#startAgain = undefined;
    if (this.#stopped) return;
    if (error === undefined) {
      this.#run();
      return;
    }
    clearInterval(this.#look);
    this.#events?.onError(error);
  }
}
