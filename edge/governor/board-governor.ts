// SPDX-License-Identifier: Apache-2.0
// One governor for all rigs of a board: it holds one budget, and the slowest rig's frame rate. A rig joins when it runs.
import type { Meter } from "../../power/index.js";
import type { PowerModes } from "../profile/power-modes.js";
import type { GovernorFigures } from "./figures.js";
import { Governor } from "./governor.js";
import { type JointLevel, joinLadders } from "./joint-ladder.js";
import type { QualityLevel } from "./ladder.js";
import type { GovernorGoal } from "./limits.js";
import { INTERVAL_MS, type RunGovernor, WINDOW_SECONDS } from "./loop.js";

/** A rig as the governor of its board sees it. */
export interface GovernedRig {
  name: string;
  /** Place in the configuration: the first rig keeps its quality longest. */
  rank: number;
  /** Its ladder, without power modes. */
  levels: readonly QualityLevel[];
  goal: GovernorGoal;
  /** Computes at a level from the next frame on; undefined: every frame is taken in again. */
  apply(level: QualityLevel | undefined): void;
  /** Frames computed since the start. */
  frames(): number;
  /** Milliseconds that a frame takes to compute. */
  busyMs(): number;
  onChange(reason: string): void;
}

export interface BoardGovernorOptions {
  meter: Pick<Meter, "recent">;
  /** Power modes that may be stepped down to, best first, and the program that changes them. */
  modes: { names: readonly string[]; modes: Pick<PowerModes, "change" | "settled" | "restore"> | undefined };
  onProblem(problem: Error): void;
  /** CLOCK_MONOTONIC in milliseconds. */
  now?: () => number;
}

interface Member {
  rig: GovernedRig;
  step: number;
  frames: number;
  changes: number;
}

const smallest = (values: readonly (number | undefined)[]) => {
  const given = values.filter((value) => value !== undefined);
  return given.length === 0 ? undefined : Math.min(...given);
};

const NO_CLOCKS = { available: false, reason: "power.clocks is off" } as const;

export class BoardGovernor {
  readonly #options: BoardGovernorOptions;
  readonly #now: () => number;
  /** In the order of the ranks. */
  #members: Member[] = [];
  #governor: Governor<JointLevel> | undefined;
  #modes: BoardGovernorOptions["modes"]["modes"];
  #timer: NodeJS.Timeout | undefined;
  #atMs = 0;

  constructor(options: BoardGovernorOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#modes = options.modes.modes;
  }

  /** Returns the part of one rig, which joins when it starts and leaves when it stops. */
  part(rig: GovernedRig): RunGovernor {
    const member: Member = { rig, step: 0, frames: 0, changes: 0 };
    const figures = () => this.#figures(member);
    return {
      start: () => this.#join(member),
      stop: async () => this.#leave(member),
      levels: rig.levels,
      get figures() {
        return figures();
      },
    };
  }

  #join(member: Member): void {
    const others = this.#members.filter((one) => one !== member);
    this.#members = [...others, member].sort((one, other) => one.rig.rank - other.rig.rank);
    this.#rebuild();
  }

  #leave(member: Member): void {
    if (!this.#members.includes(member)) return;
    this.#members = this.#members.filter((one) => one !== member);
    member.rig.apply(undefined);
    this.#rebuild();
  }

  /** Begins again with the rigs that run, each at the level where it is or below. */
  #rebuild(): void {
    clearInterval(this.#timer);
    this.#governor = undefined;
    const members = this.#members;
    if (members.length === 0) return;
    const ladders = new Map(members.map(({ rig }) => [rig.name, rig.levels]));
    const levels = joinLadders(ladders, this.#options.modes.names);
    const start = levels.findIndex(({ steps }) => steps.every((step, rig) => step >= members[rig]!.step));
    const goals = members.map(({ rig }) => rig.goal);
    const goal = {
      budgetWatts: smallest(goals.map(({ budgetWatts }) => budgetWatts)),
      minFps: smallest(goals.map(({ minFps }) => minFps)),
    };
    this.#governor = new Governor(levels, goal, [], start);
    for (const member of members) member.frames = member.rig.frames();
    this.#atMs = this.#now();
    this.#apply(this.#governor.levels[this.#governor.level]!);
    this.#timer = setInterval(() => this.look(), INTERVAL_MS);
    this.#timer.unref();
  }

  /** One observation and its consequence. */
  look(): void {
    const governor = this.#governor;
    if (governor === undefined) return;
    const nowMs = this.#now();
    const seconds = Math.max(1, nowMs - this.#atMs) / 1000;
    this.#atMs = nowMs;
    let fps = Number.POSITIVE_INFINITY;
    let busyMs = 0;
    for (const member of this.#members) {
      const frames = member.rig.frames();
      fps = Math.min(fps, (frames - member.frames) / seconds);
      member.frames = frames;
      busyMs += member.rig.busyMs();
    }
    const power = this.#options.meter.recent(WINDOW_SECONDS);
    const decision = governor.observe({
      nowMs,
      watts: power.available ? power.watts : power,
      fps,
      // The rigs take turns: so many frames of each could be computed.
      capacityFps: busyMs > 0 ? 1000 / busyMs : undefined,
      throttled: power.available && power.changed.some((change) => change.startsWith("throttle ")),
    });
    if (!decision.changed) return;
    const changed = this.#apply(governor.levels[governor.level]!);
    for (const { rig } of changed.length > 0 ? changed : this.#members.slice(0, 1))
      rig.onChange(decision.reason);
  }

  /** @returns the rigs whose level is another one now */
  #apply({ steps, mode }: JointLevel): Member[] {
    const changed: Member[] = [];
    for (const [index, member] of this.#members.entries()) {
      const step = steps[index]!;
      if (step !== member.step) {
        changed.push(member);
        member.step = step;
        member.changes++;
      }
      member.rig.apply(member.rig.levels[step]!);
    }
    this.#modes?.change(mode).catch((problem: Error) => {
      if (this.#modes !== undefined) this.#options.onProblem(problem);
      this.#modes = undefined;
    });
    return changed;
  }

  #figures({ rig, step, changes }: Member): GovernorFigures {
    const { budgetWatts, minFps } = this.#governor?.goal ?? rig.goal;
    return {
      available: true,
      level: step,
      levels: rig.levels.length,
      name: rig.levels[step]!.name,
      budgetWatts: budgetWatts ?? null,
      minFps: minFps ?? null,
      reason: this.#governor?.reason ?? "starting",
      changes,
      clocks: NO_CLOCKS,
    };
  }

  /** The power mode from the start comes back. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#modes?.settled();
    try {
      this.#options.modes.modes?.restore();
    } catch (problem) {
      this.#options.onProblem(problem as Error);
    }
  }
}
