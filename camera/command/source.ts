// SPDX-License-Identifier: Apache-2.0
// One or two commands as a source of pairs: live ones paired by time of arrival, recordings by the number of the frame.
import { driftPpm, Pairer, pairWindowNs, type Side, SkewStatistics } from "v4l2-camera/parts";
import { DepthwattError } from "../../core/index.js";
import type { PairSource, SourceCounters, SourceDescription, SourceEvents } from "../frame.js";
import type { CommandCamera } from "./command-camera.js";
import type { CommandFrame } from "./frames.js";

/** Pairs of a recording that the consumer holds at once: one in work, one ready. */
const MAX_HELD = 2;

export interface CommandSourceParts {
  description: SourceDescription;
  /** Opened; two, or one that delivers both images. */
  left: CommandCamera;
  right: CommandCamera | undefined;
  live: boolean;
  maxSkewMs: number | undefined;
}

export class CommandSource implements PairSource {
  readonly description: SourceDescription;
  readonly #parts: CommandSourceParts;
  readonly #skew = new SkewStatistics();
  readonly #pairer: Pairer<CommandFrame>;
  readonly #unpaired: Record<Side, Record<string, number>> = { left: {}, right: {} };
  /** For a recording: frames in order, waiting for the other camera's frame and an idle worker. */
  readonly #queues: Record<Side, CommandFrame[]> = { left: [], right: [] };
  readonly #over = new Map<Side, Error | undefined>();
  readonly #lost = new Map<Side, string>();
  #degraded = false;
  #pairs = 0;
  #held = 0;
  #ended = false;
  #stopped = false;
  #events: SourceEvents | undefined;
  #idle: (() => void)[] = [];

  constructor(parts: CommandSourceParts) {
    this.#parts = parts;
    this.description = parts.description;
    this.#pairer = new Pairer<CommandFrame>(this.#windowNs(), {
      onPair: (left, right) => this.#deliver(left, right),
      onUnpaired: (side, frame, cause) => this.#unpair(side, frame, cause),
    });
  }

  start(events: SourceEvents): void {
    if (this.#events) throw new DepthwattError("INTERNAL", "a command source was started twice");
    this.#events = events;
    for (const [side, camera] of this.#cameras()) {
      camera.start({
        onFrame: (frame) => this.#onFrame(side, frame),
        onLost: (reason) => this.#onLost(side, reason),
        onBack: () => this.#lost.delete(side),
        onEnd: (error) => {
          this.#over.set(side, error);
          this.#pump();
        },
        onError: (error) => events.onError(error),
      });
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#pairer.clear();
    for (const queue of Object.values(this.#queues)) for (const frame of queue.splice(0)) frame.giveBack();
    await Promise.all(this.#cameras().map(([, camera]) => camera.stop()));
    if (this.#held > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  counters(): SourceCounters {
    const { left, right } = this.#parts;
    return {
      pairs: this.#pairs,
      dropsLeft: { ...left.intake.drops, ...this.#unpaired.left },
      dropsRight: { ...(right ?? left).intake.drops, ...this.#unpaired.right },
      skewMsMean: this.#skew.meanMs,
      skewMsP99: this.#skew.p99Ms,
      driftPpm: right && this.#parts.live ? driftPpm(left.intake.period, right.intake.period) : undefined,
    };
  }

  #cameras(): [Side, CommandCamera][] {
    const { left, right } = this.#parts;
    return right
      ? [
          ["left", left],
          ["right", right],
        ]
      : [["left", left]];
  }

  #onFrame(side: Side, frame: CommandFrame): void {
    if (this.#stopped) {
      frame.giveBack();
      return;
    }
    const { live, right } = this.#parts;
    if (!live) {
      this.#queues[side].push(frame);
      this.#pump();
    } else if (right) {
      this.#pairer.windowNs = this.#windowNs();
      this.#pairer.push(side, frame);
    } else {
      this.#deliver(frame, frame);
    }
  }

  #onLost(side: Side, reason: string): void {
    this.#lost.set(side, reason);
    this.#pairer.clear();
    this.#degraded = true;
    this.#events!.onDegraded([...this.#lost.values()].join(" "));
  }

  /** For a recording: delivers the waiting pairs, and ends after the last one. */
  #pump(): void {
    const { left, right } = this.#queues;
    const single = this.#parts.right === undefined;
    while (!this.#stopped && this.#held < MAX_HELD && left.length > 0 && (single || right.length > 0)) {
      const frame = left.shift()!;
      this.#deliver(frame, single ? frame : right.shift()!);
    }
    for (const [side, error] of this.#over) {
      if (this.#queues[side].length > 0 || this.#ended || this.#stopped) continue;
      this.#ended = true;
      for (const frame of left.splice(0)) this.#unpair("left", frame, "unmatched");
      for (const frame of right.splice(0)) this.#unpair("right", frame, "unmatched");
      if (error) this.#events!.onError(error);
      else this.#events!.onEnd();
    }
  }

  #deliver(left: CommandFrame, right: CommandFrame): void {
    this.#pairs++;
    this.#held++;
    this.#skew.add(left.timestampNs, right.timestampNs);
    if (this.#degraded && this.#lost.size === 0) {
      this.#degraded = false;
      this.#events!.onDegraded(undefined);
    }
    const clock = this.#parts.live ? "monotonic" : "file";
    this.#events!.onPair(left.pair.hold(right, clock, () => this.#released()));
  }

  #released(): void {
    this.#held--;
    if (this.#stopped) {
      if (this.#held === 0) for (const resolve of this.#idle.splice(0)) resolve();
      return;
    }
    // Never from inside release(): the consumer is in the middle of something.
    if (!this.#parts.live) setImmediate(() => this.#goOn());
  }

  #goOn(): void {
    this.#pump();
    for (const [, camera] of this.#cameras()) camera.goOn();
  }

  #unpair(side: Side, frame: CommandFrame, cause: string): void {
    this.#unpaired[side][cause] = (this.#unpaired[side][cause] ?? 0) + 1;
    frame.giveBack();
  }

  #windowNs(): number {
    const { left, right, maxSkewMs } = this.#parts;
    const maxSkewNs = maxSkewMs === undefined ? undefined : maxSkewMs * 1e6;
    return pairWindowNs(left.intake.period.periodNs, right?.intake.period.periodNs, maxSkewNs);
  }
}
