// SPDX-License-Identifier: Apache-2.0
// Holds a watt budget or a frame rate by walking the quality ladder. It goes down at once and up slowly: being over the
// budget is the fault it exists to prevent, being a step too low for ten seconds is not.
import { mean } from "../../core/index.js";
import { Knowledge, type LevelFigures } from "./knowledge.js";
import type { GovernorLevel, QualityLevel } from "./ladder.js";
import { type Decision, type GovernorGoal, GOVERNOR_LIMITS as LIMITS, type Observation } from "./limits.js";

const KEPT = 5;

export class Governor<Level extends GovernorLevel = QualityLevel> {
  readonly levels: readonly Level[];
  readonly goal: GovernorGoal;
  readonly #knowledge: Knowledge;
  readonly #dwellMs: number[];
  /** How much more each level drew when it was left than when it was entered: heat, mostly; and when that was. */
  readonly #creep: { watts: number; atMs: number }[];
  #enteredWatts: number | undefined;
  #level: number;
  #changes = 0;
  #reason = "starting";
  #changedMs: number | undefined;
  #steppedUpMs: number | undefined;
  #seenMs: number | undefined;
  #watts: number[] = [];
  #fps: number[] = [];

  /**
   * @param table what a profile knows of each level, in the ladder's order
   * @param start the level to begin at; default the best one that the table says is within the budget, else the best
   */
  constructor(
    levels: readonly Level[],
    goal: GovernorGoal,
    table: readonly LevelFigures[] = [],
    start?: number,
  ) {
    this.levels = levels;
    this.goal = goal;
    this.#knowledge = new Knowledge(levels, table);
    this.#dwellMs = levels.map(() => LIMITS.dwellMs);
    this.#creep = levels.map(() => ({ watts: 0, atMs: 0 }));
    const fits = levels.findIndex(
      (_, i) => (table[i]?.watts ?? Number.POSITIVE_INFINITY) <= this.#allowedWatts,
    );
    this.#level = start ?? Math.max(0, fits);
  }

  get level(): number {
    return this.#level;
  }

  get changes(): number {
    return this.#changes;
  }

  get reason(): string {
    return this.#reason;
  }

  get #allowedWatts(): number {
    return (this.goal.budgetWatts ?? Number.POSITIVE_INFINITY) * (1 - LIMITS.marginShare);
  }

  /** Takes one observation and says at which level to continue. */
  observe(now: Observation): Decision {
    this.#changedMs ??= now.nowMs;
    this.#seenMs ??= now.nowMs;
    const watts = typeof now.watts === "number" ? now.watts : undefined;
    if (watts !== undefined) this.#seenMs = now.nowMs;
    if (now.throttled) {
      if (this.#level < this.levels.length - 1) {
        this.#dwellMs[this.#level] = Math.max(this.#dwellMs[this.#level]!, LIMITS.throttleDwellMs / 2);
        this.#postpone(this.#level);
        return this.#go(this.#level + 1, now, "the machine throttled itself");
      }
    }
    // The first readings after a change hold energy of both levels.
    if (this.#changes > 0 && now.nowMs - this.#changedMs < LIMITS.settleMs) return this.#stay(this.#reason);
    this.#note(watts, now);
    const { budgetWatts } = this.goal;
    if (budgetWatts !== undefined && watts === undefined) return this.#blind(now, budgetWatts);
    return this.#tooMuch(now) ?? this.#tooSlow(now) ?? this.#better(now) ?? this.#stay(this.#within(watts));
  }

  #note(watts: number | undefined, { fps, capacityFps }: Observation): void {
    const keep = (values: number[], value: number): number[] => [...values, value].slice(-KEPT);
    if (watts !== undefined) this.#watts = keep(this.#watts, watts);
    this.#fps = keep(this.#fps, fps);
    if (this.#watts.length === LIMITS.confirm) this.#enteredWatts ??= mean(this.#watts);
    this.#knowledge.learn(this.#level, watts, capacityFps);
  }

  #within(watts: number | undefined): string {
    const { budgetWatts, minFps } = this.goal;
    const parts = [];
    if (budgetWatts !== undefined && watts !== undefined)
      parts.push(`${watts.toFixed(2)} W of ${budgetWatts} W`);
    if (minFps !== undefined) parts.push(`${mean(this.#fps).toFixed(1)} fps of at least ${minFps}`);
    return `holding: ${parts.join(", ")}`;
  }

  /** Over the budget: as far down as is predicted to be enough, one step where nothing is known. */
  #tooMuch(now: Observation): Decision | undefined {
    const { budgetWatts } = this.goal;
    const last = this.#watts.slice(-LIMITS.confirm);
    if (budgetWatts === undefined || last.length === 0) return undefined;
    const latest = last.at(-1)!;
    // Two of three, so that a single wild reading does not make three.
    const nearlyAll = last.filter((reading) => reading > budgetWatts).length >= LIMITS.confirm - 1;
    const confirmed = last.length === LIMITS.confirm && nearlyAll && mean(last) > budgetWatts;
    const over = latest > budgetWatts * LIMITS.farOver || confirmed;
    if (!over) return undefined;
    const why = `${latest.toFixed(2)} W is over the budget of ${budgetWatts} W`;
    if (this.#enteredWatts !== undefined) {
      const crept = Math.min(mean(last) - this.#enteredWatts, budgetWatts * LIMITS.creepShare);
      this.#creep[this.#level] = { watts: Math.max(0, crept), atMs: now.nowMs };
    }
    if (this.#level === this.levels.length - 1) return this.#stay(`${why}, and there is no lower level`);
    for (let target = this.#level + 1; target < this.levels.length; target++) {
      const predicted = this.#knowledge.predictWatts(this.#level, target, latest);
      if (predicted === undefined || predicted <= this.#allowedWatts) return this.#go(target, now, why);
    }
    return this.#go(this.levels.length - 1, now, why);
  }

  /** Too few frames because they take too long to compute; fewer frames asked for would not help. */
  #tooSlow(now: Observation): Decision | undefined {
    const { minFps } = this.goal;
    if (minFps === undefined || this.#fps.length < LIMITS.confirm) return undefined;
    const fps = mean(this.#fps.slice(-LIMITS.confirm));
    if (fps >= minFps * (1 - LIMITS.marginShare)) return undefined;
    const why = `${fps.toFixed(1)} fps is less than ${minFps}`;
    const limit = this.levels[this.#level]!.rateHz;
    if (limit !== undefined && limit < minFps) return undefined;
    const capacity = now.capacityFps ?? fps;
    if (capacity > minFps * 1.1) return this.#stay(`${why}, but the source, not the engine, is the limit`);
    for (let target = this.#level + 1; target < this.levels.length; target++) {
      const { rateHz, mode } = this.levels[target]!;
      if (rateHz !== undefined || mode !== undefined) break;
      if (this.#knowledge.predictCapacity(this.#level, target, capacity) >= minFps)
        return this.#go(target, now, why);
    }
    const lowest = this.levels.findLastIndex(
      ({ rateHz, mode }) => rateHz === undefined && mode === undefined,
    );
    return this.#level < lowest
      ? this.#go(lowest, now, why)
      : this.#stay(`${why}, and there is no faster level`);
  }

  /** Up by as many levels as are known to fit, or one level into the unknown where much is free. */
  #better(now: Observation): Decision | undefined {
    const since = now.nowMs - (this.#changedMs ?? now.nowMs);
    if (this.#level === 0) return undefined;
    const { budgetWatts } = this.goal;
    if (this.#fps.length < KEPT || (budgetWatts !== undefined && this.#watts.length < KEPT)) return undefined;
    for (let target = 0; target < this.#level; target++) {
      if (since < this.#dwellMs[target]!) continue;
      if (!this.#fastEnough(target, now)) continue;
      if (budgetWatts === undefined) return this.#up(target, now, "there is speed to spare");
      const watts = mean(this.#watts);
      const settled = this.#knowledge.predictWatts(this.#level, target, watts);
      const predicted = settled === undefined ? undefined : settled + this.#expectedCreep(target, now.nowMs);
      const free = `${(budgetWatts - watts).toFixed(2)} W of the budget are free`;
      if (predicted !== undefined && predicted <= this.#allowedWatts) return this.#up(target, now, free);
      const mayTry = predicted === undefined && target === this.#level - 1;
      if (mayTry && watts <= budgetWatts * (1 - LIMITS.unknownShare))
        return this.#up(target, now, `${free}, trying`);
    }
    return undefined;
  }

  #fastEnough(target: number, now: Observation): boolean {
    const { minFps } = this.goal;
    if (minFps === undefined) return true;
    const level = this.levels[target]!;
    if (level.rateHz !== undefined && level.rateHz < minFps) return false;
    const capacity = this.#knowledge.predictCapacity(this.#level, target, now.capacityFps ?? mean(this.#fps));
    return capacity >= minFps * (1 + 2 * LIMITS.marginShare);
  }

  /** Returns the watts that a level will draw more once it is warm; halved every ten minutes. */
  #expectedCreep(level: number, nowMs: number): number {
    const { watts, atMs } = this.#creep[level]!;
    return watts * 2 ** (-(nowMs - atMs) / LIMITS.creepHalvesMs);
  }

  /** Nothing can be read: never up, and down to a level that is known to be within the budget. */
  #blind(now: Observation, budgetWatts: number): Decision {
    const reason = typeof now.watts === "number" ? "" : now.watts.reason;
    const why = `watts are unavailable (${reason})`;
    if (now.nowMs - this.#seenMs! < LIMITS.blindMs) return this.#stay(`holding: ${why}`);
    const known = this.#knowledge.watts(this.#level);
    if (known !== undefined && known <= budgetWatts) return this.#stay(`holding: ${why}`);
    const safe = this.levels.findIndex((_, i) => {
      const watts = this.#knowledge.watts(i);
      return i > this.#level && watts !== undefined && watts <= this.#allowedWatts;
    });
    const target = safe >= 0 ? safe : this.levels.length - 1;
    return target === this.#level ? this.#stay(`holding: ${why}`) : this.#go(target, now, why);
  }

  #up(target: number, now: Observation, why: string): Decision {
    this.#steppedUpMs = now.nowMs;
    return this.#go(target, now, why);
  }

  #go(target: number, now: Observation, why: string): Decision {
    if (target > this.#level && this.#steppedUpMs !== undefined) {
      const failed = now.nowMs - this.#steppedUpMs < LIMITS.probationMs;
      if (failed && !now.throttled) this.#postpone(this.#level);
      else if (!failed && !now.throttled) this.#dwellMs[this.#level] = LIMITS.dwellMs;
      this.#steppedUpMs = undefined;
    }
    const verb = target > this.#level ? "down" : "up";
    this.#level = target;
    this.#changes++;
    this.#changedMs = now.nowMs;
    this.#watts = [];
    this.#fps = [];
    this.#enteredWatts = undefined;
    this.#reason = `${verb} to ${this.levels[target]!.name}: ${why}`;
    return { level: target, changed: true, reason: this.#reason };
  }

  /** The next try of a level that did not last waits twice as long; a better level draws more, so it waits as well. */
  #postpone(level: number): void {
    const dwell = Math.min(2 * this.#dwellMs[level]!, LIMITS.longestDwellMs);
    for (let i = 0; i <= level; i++) this.#dwellMs[i] = Math.max(this.#dwellMs[i]!, dwell);
  }

  #stay(reason: string): Decision {
    this.#reason = reason;
    return { level: this.#level, changed: false, reason };
  }
}
