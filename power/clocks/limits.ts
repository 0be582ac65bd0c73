// SPDX-License-Identifier: Apache-2.0
// Lowers the clock limits of a board, and restores them. Needs root. A file in /run names the process that lowered them and the
// values from before, so that any later process can restore them. A reboot forgets both.
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DepthwattError, hasCode } from "../../core/index.js";
import type { Unavailable } from "../sensor.js";
import { optionalNumber, readValueFile, type ValueReader } from "../sysfs.js";
import {
  CLOCK_NAMES,
  type ClockDomain,
  type ClockName,
  type Clocks,
  coolingDevice,
  findClocks,
} from "./domains.js";

/** Upper limits in hertz; a clock without one is restored. */
export type ClockTargets = Partial<Record<ClockName, number>>;

/** In a folder that the root helper may write. */
export const CLOCK_STATE = "/run/depthwatt-clocks/limits.json";

export interface ClockFiles {
  /** Stands for "/"; another folder in tests. */
  root?: string;
  read?: ValueReader;
  write?: (path: string, text: string) => void;
}

interface Change {
  path: string;
  before: number;
  /** The value that was written last. */
  written: number;
}

interface State {
  owner: string;
  changes: Change[];
}

/** Names a process also if its number is used again: number and start time. Undefined: there is no such process. */
export function processName(pid: number): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? undefined : `${pid} ${fields[19]}`;
  } catch {
    return undefined;
  }
}

/** The memory clock's cap if there is none. */
const NO_CAP = 0;
const isMinimum = ({ path }: Change): boolean => path.endsWith("min_freq");

const pidOf = (owner: string): number => Number(owner.split(" ")[0]);
const isAlive = (owner: string): boolean => processName(pidOf(owner)) === owner;

const unavailable = (message: string, cause?: unknown): DepthwattError =>
  new DepthwattError("DEVICE_UNAVAILABLE", message, {
    hint: "Set power.clocks: off, or run 'depthwatt power-modes' to see what changes clocks on this machine.",
    cause,
  });

class Board {
  readonly #root: string;
  readonly #read: ValueReader;
  readonly #write: (path: string, text: string) => void;
  readonly #stateFile: string;
  #claimed = false;

  constructor({ root = "/", read = readValueFile, write = writeFileSync }: ClockFiles) {
    this.#root = root;
    this.#read = read;
    this.#write = write;
    this.#stateFile = join(root, CLOCK_STATE);
  }

  state(): State | undefined {
    try {
      return JSON.parse(readFileSync(this.#stateFile, "utf8")) as State;
    } catch (cause) {
      if (hasCode(cause, "ENOENT")) return undefined;
      throw unavailable(`${this.#stateFile}: ${(cause as Error).message}`, cause);
    }
  }

  /** Written before a limit is lowered, so that a killed process leaves no limit without a record. */
  #save(state: State): void {
    const part = `${this.#stateFile}.part`;
    try {
      mkdirSync(dirname(part), { recursive: true });
      // Two processes may claim the clocks at once: one of them creates the file.
      if (!this.#claimed) writeFileSync(this.#stateFile, "", { flag: "wx" });
      this.#claimed = true;
      writeFileSync(part, JSON.stringify(state));
      renameSync(part, this.#stateFile);
    } catch (cause) {
      // Without a claim, the files are another process's.
      if (this.#claimed) rmSync(part, { force: true });
      throw unavailable(`${this.#stateFile}: ${(cause as Error).message}`, cause);
    }
  }

  #claim(owner: string): State {
    const state = this.state();
    if (state?.owner === owner) {
      this.#claimed = true;
      return state;
    }
    if (state !== undefined) {
      if (isAlive(state.owner)) throw unavailable(`Process ${pidOf(state.owner)} limits the clocks already.`);
      this.restore(state);
    }
    return { owner, changes: [] };
  }

  /** Reads the value to restore. */
  #before(path: string): Change {
    const before = optionalNumber(this.#read, path);
    if (before === undefined) throw unavailable(`${path} cannot be read any more.`);
    const cooling = coolingDevice(this.#root, this.#read);
    if (cooling !== undefined)
      throw unavailable(`Heat limits the GPU's clock now (${cooling}), so its own limit cannot be read.`);
    return { path, before, written: before };
  }

  /** Lowers the value of one file. @returns the value that the kernel shows then */
  #lower(state: State, path: string, wanted: number): number {
    const known = state.changes.find((one) => one.path === path);
    const change = known ?? this.#before(path);
    if (known === undefined) state.changes.push(change);
    if (change.before !== NO_CAP && wanted > change.before)
      throw unavailable(`${path}: expected at most its limit, ${change.before}, found ${wanted}.`);
    change.written = wanted;
    this.#save(state);
    try {
      this.#write(path, String(wanted));
    } catch (cause) {
      throw unavailable(`${path}: the kernel refused ${wanted}: ${(cause as Error).message}`, cause);
    }
    const now = optionalNumber(this.#read, path);
    if (now === undefined) throw unavailable(`${path} cannot be read any more.`);
    if (now > wanted || now === NO_CAP)
      throw unavailable(`${path}: asked for ${wanted}, the kernel kept ${now}.`);
    return now;
  }

  limit(owner: string, targets: ClockTargets): ClockTargets {
    const state = this.#claim(owner);
    const reached: ClockTargets = {};
    try {
      const clocks = findClocks(this.#root, this.#read);
      for (const name of CLOCK_NAMES) {
        const clock = clocks[name];
        const wanted = targets[name];
        if ("available" in clock) {
          if (wanted === undefined) continue;
          throw unavailable(`The ${name} clock cannot be limited: ${clock.reason}.`);
        }
        const { maxFile, minFile, choices } = clock;
        if (wanted === undefined) {
          const own = state.changes.filter(({ path }) => path === maxFile || path === minFile);
          for (const change of own) this.#undo(change);
          state.changes = state.changes.filter((change) => !own.includes(change));
          continue;
        }
        if (!choices.includes(wanted))
          throw unavailable(`The ${name} clock has no step of ${wanted} Hz; it has ${choices.join(", ")}.`);
        // Older kernels refuse a maximum below the minimum, which jetson_clocks raises.
        const least = minFile === undefined ? undefined : optionalNumber(this.#read, minFile);
        if (minFile !== undefined && least !== undefined && least > wanted)
          this.#lower(state, minFile, wanted);
        reached[name] = this.#lower(state, maxFile, wanted);
      }
    } catch (error) {
      // Without a claim, nothing was changed and the record is another process's.
      if (this.#claimed) this.restore(state);
      throw error;
    }
    if (state.changes.length === 0) rmSync(this.#stateFile, { force: true });
    else this.#save(state);
    return reached;
  }

  /** Restores one file. A file that has vanished has nothing to restore. */
  #undo({ path, before, written }: Change): void {
    const now = optionalNumber(this.#read, path);
    // A value above the written one comes from another program, such as nvpmodel: it stays.
    if (now === undefined || now > written) return;
    try {
      this.#write(path, String(before));
    } catch (cause) {
      throw unavailable(`${path}: ${before} could not be restored: ${(cause as Error).message}`, cause);
    }
  }

  restore(state: State): void {
    let problem: unknown;
    // Upper limits first: older kernels refuse a minimum above the maximum.
    for (const change of state.changes.toSorted((a, b) => Number(isMinimum(a)) - Number(isMinimum(b)))) {
      try {
        this.#undo(change);
      } catch (error) {
        problem ??= error;
      }
    }
    // The record of what could not be restored stays, so that a later try can.
    if (problem !== undefined) throw problem;
    rmSync(this.#stateFile, { force: true });
  }
}

/** Finds the clocks of this machine, with the limits from before a process lowered them. */
export function ownClocks(files: ClockFiles = {}): Clocks {
  const clocks = findClocks(files.root, files.read);
  const changes = new Board(files).state()?.changes ?? [];
  const own = (clock: ClockDomain | Unavailable): ClockDomain | Unavailable => {
    const before =
      "available" in clock ? undefined : changes.find(({ path }) => path === clock.maxFile)?.before;
    return "available" in clock || before === undefined
      ? clock
      : { ...clock, limit: before === NO_CAP ? clock.choices.at(-1)! : before };
  };
  return { gpu: own(clocks.gpu), emc: own(clocks.emc) };
}

/**
 * Lowers clock limits for a process, and restores those without a target. Restores limits that a process which has ended left
 * behind.
 * @returns the limits that the kernel shows: lower ones where heat limits the clock further
 * @throws DepthwattError DEVICE_UNAVAILABLE where the board has no such clock or step, the kernel refuses, or another
 *   process limits the clocks; all limits are as before then
 */
export function limitClocks(owner: string, targets: ClockTargets, files: ClockFiles = {}): ClockTargets {
  return new Board(files).limit(owner, targets);
}

/** Names the process that has lowered limits, also one that has ended. */
export const clockOwner = (files: ClockFiles = {}): string | undefined => new Board(files).state()?.owner;

/**
 * Restores what a process has lowered; safe to call again.
 * @param owner undefined: any process that has ended
 * @throws DepthwattError DEVICE_UNAVAILABLE where a limit cannot be restored
 */
export function restoreClocks(owner?: string, files: ClockFiles = {}): void {
  const board = new Board(files);
  const state = board.state();
  if (state !== undefined && (state.owner === owner || !isAlive(state.owner))) board.restore(state);
}
