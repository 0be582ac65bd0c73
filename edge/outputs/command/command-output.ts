// SPDX-License-Identifier: Apache-2.0
// Writes pictures to a program's standard input. Nothing is queued: while the program has not read a picture, the next ones are
// dropped. A program that ends or reads nothing is started again.
import { basename } from "node:path";
import { type CommandEnd, CommandProcess, commandWords } from "../../../camera/index.js";
import { DepthwattError, printable, redactUrl } from "../../../core/index.js";
import type {
  FrameLease,
  Output,
  OutputContext,
  OutputCounters,
  OutputPicture,
} from "../../contracts/output.js";
import { CountsByCause } from "../../contracts/statistics.js";
import { type PictureOptions, PictureWriter, streamHeader } from "./pictures.js";
import type { CommandOutputSettings } from "./settings.js";

const SHORTEST_BACK_OFF_MS = 500;
const LONGEST_BACK_OFF_MS = 10_000;
/** A program that has read pictures for so long is started again without a longer pause. */
const STEADY_MS = 5000;
const MAX_LOOK_MS = 1000;

/** @throws DepthwattError COMMAND_FAILED where the program cannot be started */
export async function openCommandOutput(context: OutputContext<CommandOutputSettings>): Promise<Output> {
  if (context.settings.picture === "depth" && !context.hasDepth)
    throw new DepthwattError(
      "CALIBRATION_MISSING",
      "expected a calibration for outputs.command.picture depth",
    );
  const output = new CommandOutput(context);
  await output.start();
  return output;
}

class CommandOutput implements Output {
  readonly streams: readonly string[];
  readonly #context: OutputContext<CommandOutputSettings>;
  readonly #name: string;
  readonly #drops = new CountsByCause();
  #options: PictureOptions;
  #writer: PictureWriter;
  #process: CommandProcess | undefined;
  /** Size of the pictures that the running program gets; undefined before the first one. */
  #size: { width: number; height: number } | undefined;
  #isWriting = false;
  #readAtMs = 0;
  #startedMs = 0;
  #look: NodeJS.Timeout | undefined;
  #startAgain: NodeJS.Timeout | undefined;
  #backOffMs = SHORTEST_BACK_OFF_MS;
  /** The reason why this output ended the program. */
  #reason: string | undefined;
  #lastEnd: string | undefined;
  #restarts = 0;
  #sent = 0;
  #bytes = 0;
  #isClosed = false;

  constructor(context: OutputContext<CommandOutputSettings>) {
    const { picture, format, command, shell } = context.settings;
    this.#context = context;
    this.streams = [picture];
    this.#name = `command "${shell ? "sh" : basename(commandWords(command!, false)[0])}"`;
    this.#options = { picture, format, rateHz: context.rateHz, searched: () => context.searched() };
    this.#writer = new PictureWriter(this.#options);
  }

  /** Starts the program for the first time. @throws DepthwattError COMMAND_FAILED */
  async start(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#run(resolve, (end) => reject(new DepthwattError("COMMAND_FAILED", this.#describe(end))));
    });
    const lookMs = Math.min(MAX_LOOK_MS, this.#context.settings.timeoutMs / 4);
    this.#look = setInterval(() => this.#endIfSilent(), lookMs);
    this.#look.unref();
  }

  /** @param onRefused called instead of a restart where the program never ran */
  #run(onStart: () => void, onRefused: (end: CommandEnd) => void): void {
    const { command, shell } = this.#context.settings;
    let isStarted = false;
    this.#size = undefined;
    this.#reason = undefined;
    this.#startedMs = performance.now();
    this.#process = new CommandProcess(commandWords(command!, shell), {
      onStart: () => {
        isStarted = true;
        onStart();
      },
      onEnd: (end) => {
        this.#process = undefined;
        if (isStarted) this.#restart(end);
        else onRefused(end);
      },
    });
  }

  #describe({ how, lastLine }: CommandEnd): string {
    const last = lastLine === undefined ? "" : `; its last line: ${redactUrl(printable(lastLine))}`;
    return `${this.#name}: ${this.#reason ?? how}${last}`;
  }

  #restart(end: CommandEnd): void {
    if (this.#isClosed) return;
    const text = this.#describe(end);
    if (this.#isWriting) this.#drops.add("lost");
    this.#isWriting = false;
    if (performance.now() - this.#startedMs >= STEADY_MS) this.#backOffMs = SHORTEST_BACK_OFF_MS;
    const waitMs = this.#backOffMs;
    this.#backOffMs = Math.min(2 * waitMs, LONGEST_BACK_OFF_MS);
    // A program that ends in the same way each time is logged once.
    if (text !== this.#lastEnd) this.#context.notice(`${text}. It is started again in ${waitMs / 1000} s.`);
    this.#lastEnd = text;
    this.#startAgain = setTimeout(() => {
      this.#restarts += 1;
      this.#run(
        () => {},
        (refused) => this.#restart(refused),
      );
    }, waitMs);
  }

  #endIfSilent(): void {
    const { timeoutMs } = this.#context.settings;
    if (!this.#isWriting || performance.now() - this.#readAtMs < timeoutMs) return;
    this.#end(`read nothing for ${timeoutMs / 1000} s`);
  }

  #end(reason: string): void {
    this.#reason ??= reason;
    this.#process?.end();
  }

  frame(lease: FrameLease): void {
    const { frame } = lease;
    const input = this.#process?.input;
    if (input === undefined || !input.writable || this.#reason !== undefined) this.#drops.add("notRunning");
    else if (this.#isWriting) this.#drops.add("busy");
    else if (this.#isOtherSize(frame)) {
      this.#drops.add("otherSize");
      this.#end(`is started again for pictures of ${frame.width}x${frame.height}`);
    } else {
      if (this.#size === undefined) input.write(streamHeader(this.#options, frame.width, frame.height));
      this.#size = { width: frame.width, height: frame.height };
      const bytes = this.#writer.write(frame);
      this.#isWriting = true;
      this.#readAtMs = performance.now();
      input.write(bytes, (error) => {
        // Node reports no error for a write that a destroyed stream cuts off.
        if (error || input.destroyed || this.#process?.input !== input) return;
        this.#isWriting = false;
        this.#sent += 1;
        this.#bytes += bytes.length;
        lease.sent();
      });
    }
    lease.release();
  }

  #isOtherSize({ width, height }: { width: number; height: number }): boolean {
    return this.#size !== undefined && (this.#size.width !== width || this.#size.height !== height);
  }

  configure(_settings: CommandOutputSettings, { rateHz }: OutputPicture): void {
    this.#options.rateHz = rateHz;
  }

  counters(): OutputCounters {
    const running = this.#process !== undefined;
    const details = { running, restarts: this.#restarts, ...(this.#lastEnd && { lastEnd: this.#lastEnd }) };
    return { sent: this.#sent, bytes: this.#bytes, drops: this.#drops.snapshot(), details };
  }

  greeting(): [label: string, text: string][] {
    return [["command", this.#name]];
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#look);
    clearTimeout(this.#startAgain);
    await this.#process?.finish();
  }
}
