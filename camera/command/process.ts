// SPDX-License-Identifier: Apache-2.0
// A command in its own process group: its output or input, its last line on stderr, and an end that leaves nothing running.
import { type ChildProcess, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";

/** Time from SIGTERM to SIGKILL, and from a closed output to SIGTERM. */
const GRACE_MS = 1000;
const LONGEST_LAST_LINE = 300;
/** Pause after each piece of stderr, so that a command that floods it waits and does not keep this process busy. */
const STDERR_PAUSE_MS = 10;

export interface CommandEnd {
  /** Exit code; undefined where a signal ended it or it never started. */
  code: number | undefined;
  /** The reason, without a full stop: "ended with exit code 1", "cannot be started: ENOENT". */
  how: string;
  /** The last line that it wrote on stderr that is not blank. */
  lastLine: string | undefined;
}

export interface CommandEvents {
  /** Takes the command's output. Absent: the command gets an input, and its output is discarded. */
  onData?(bytes: Buffer): void;
  /** The process runs. */
  onStart?(): void;
  /** The process is gone and its output is read. Called once, not after stop(). */
  onEnd(end: CommandEnd): void;
}

/** Groups of processes that this one started and that may run. */
const groups = new Set<number>();

function signalGroup(group: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-group, signal);
  } catch {
    // ESRCH: the group is empty.
  }
}

/** A process that is made to exit has no time to ask politely. */
function killAll(): void {
  for (const group of groups) signalGroup(group, "SIGKILL");
}

function remember(group: number): void {
  if (groups.size === 0) process.on("exit", killAll);
  groups.add(group);
}

function forget(group: number): void {
  groups.delete(group);
  if (groups.size === 0) process.off("exit", killAll);
}

export class CommandProcess {
  /** Undefined where the kernel refused it at once. */
  readonly #child: ChildProcess | undefined;
  readonly #events: CommandEvents;
  readonly #lastLine = new LastLine();
  readonly #closed: Promise<void>;
  #ended = false;
  #stopped = false;
  /** It was ended because it had closed its output. */
  #closedOutput = false;
  #asked: NodeJS.Timeout | undefined;

  /** @param words program and arguments, as they are handed to the kernel */
  constructor(words: readonly [string, ...string[]], events: CommandEvents) {
    const [program, ...rest] = words;
    this.#events = events;
    const refused = (error: NodeJS.ErrnoException) =>
      this.#finish({ code: undefined, how: `cannot be started: ${startProblem(error)}` });
    try {
      // Its own group: what a command starts ends with it. No stdin: ffmpeg would read commands from the terminal.
      const stdio = events.onData
        ? (["ignore", "pipe", "pipe"] as const)
        : (["pipe", "ignore", "pipe"] as const);
      this.#child = spawn(program, rest, { detached: true, stdio: [...stdio] });
    } catch (error) {
      // Node throws some of the kernel's refusals and reports others by an event.
      this.#closed = Promise.resolve();
      setImmediate(() => refused(error as NodeJS.ErrnoException));
      return;
    }
    const child = this.#child;
    if (child.pid !== undefined) remember(child.pid);
    // Without a process there may be no pipes either.
    if (events.onStart) child.once("spawn", () => events.onStart!());
    child.stdout?.on("data", (bytes: Buffer) => events.onData!(bytes));
    // EPIPE: the end of the command is reported by its own event.
    child.stdin?.on("error", () => {});
    // One that closes its output and runs on delivers no more.
    child.stdout?.once("end", () =>
      this.#later(() => {
        this.#closedOutput = true;
        this.end();
      }),
    );
    if (child.stderr) readSlowly(child.stderr, (bytes) => this.#lastLine.add(bytes));
    child.once("exit", () => this.#signal("SIGTERM"));
    this.#closed = new Promise((resolve) => {
      child.on("error", (error: NodeJS.ErrnoException) => {
        if (child.pid !== undefined) return;
        refused(error);
        resolve();
      });
      child.once("close", (code, signal) => {
        const how = this.#closedOutput
          ? "closed its output and did not end"
          : signal === null
            ? `ended with exit code ${code}`
            : `was ended by ${signal}`;
        this.#finish({ code: code ?? undefined, how });
        resolve();
      });
    });
  }

  /** The command's input; undefined if it has none. */
  get input(): Writable | undefined {
    return this.#child?.stdin ?? undefined;
  }

  /** Bytes stop coming, and the command stands still once the pipe is full. */
  pause(): void {
    this.#child?.stdout?.pause();
  }

  resume(): void {
    this.#child?.stdout?.resume();
  }

  /** Asks the group to end, and then ends it; onEnd reports when. What it had written is not read any more. */
  end(): void {
    if (this.#ended) return;
    this.#child?.stdout?.destroy();
    this.#child?.stdin?.destroy();
    this.#signal("SIGTERM");
    this.#later(() => {
      this.#signal("SIGKILL");
      // A process that left the group could hold this end open for ever.
      this.#child?.stderr?.destroy();
    });
  }

  /** Closes its input, so that it can finish its work, and ends it after GRACE_MS; resolves when it is gone. */
  async finish(): Promise<void> {
    this.#stopped = true;
    this.#child?.stdin?.end();
    this.#later(() => this.end());
    await this.#closed;
  }

  /** Ends it without onEnd; resolves when it is gone. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.end();
    await this.#closed;
  }

  #later(act: () => void): void {
    clearTimeout(this.#asked);
    if (!this.#ended) this.#asked = setTimeout(act, GRACE_MS);
  }

  #signal(signal: NodeJS.Signals): void {
    const group = this.#child?.pid;
    if (group !== undefined && groups.has(group)) signalGroup(group, signal);
  }

  #finish(end: Omit<CommandEnd, "lastLine">): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#asked);
    if (this.#child?.pid !== undefined) forget(this.#child.pid);
    if (!this.#stopped) this.#events.onEnd({ ...end, lastLine: this.#lastLine.text });
  }
}

function startProblem({ code, message }: NodeJS.ErrnoException): string {
  if (code === "ENOENT") return "there is no such program";
  if (code === "EACCES") return "it may not be executed";
  if (code === "ENOTDIR") return "there is no such folder";
  return code ?? message;
}

function readSlowly(stream: Readable, take: (bytes: Buffer) => void): void {
  stream.on("data", (bytes: Buffer) => {
    take(bytes);
    stream.pause();
    setTimeout(() => stream.resume(), STDERR_PAUSE_MS);
  });
}

/** Keeps the last line on stderr that has text; a progress line ends with a return. */
export class LastLine {
  #whole: string | undefined;
  #open = "";

  add(bytes: Buffer): void {
    const lines = (this.#open + bytes.toString("utf8")).split(/[\r\n]+/);
    this.#open = lines.pop()!.slice(0, LONGEST_LAST_LINE);
    const last = lines.findLast((line) => line.trim() !== "");
    if (last !== undefined) this.#whole = last.trim().slice(0, LONGEST_LAST_LINE);
  }

  get text(): string | undefined {
    return this.#open.trim() === "" ? this.#whole : this.#open.trim();
  }
}
