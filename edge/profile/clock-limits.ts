// SPDX-License-Identifier: Apache-2.0
// Limits the clocks of the board's GPU and memory for a run, and restores the limits at its end. A guard process restores them if
// this process is killed.
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import type { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { DepthwattError } from "../../core/index.js";
import {
  CLOCK_NAMES,
  type ClockFiles,
  type ClockName,
  type Clocks,
  type ClockTargets,
  limitClocks,
  ownClocks,
  processName,
  restoreClocks,
} from "../../power/index.js";
import type { Unavailable } from "../contracts/availability.js";
import { askHelper } from "../service/power-mode/client.js";
import { clockRequest, parseClocks } from "../service/power-mode/request.js";
import { POWER_MODE_SOCKET } from "../service/power-mode/socket.js";

export interface ClockLimitsOptions extends ClockFiles {
  /** Default: whether this process is root. */
  isRoot?: boolean;
}

const HINT =
  "Limiting clocks needs root: run depthwatt with sudo, or allow the service with 'sudo depthwatt power-modes --allow'.";
const CLIENT = fileURLToPath(new URL("../service/power-mode/client.js", import.meta.url));
/** Waits until its input ends, which the end of this process causes. */
const GUARD = 'trap "" INT TERM HUP; cat >/dev/null; exec "$@"';

const megahertz = (hertz: number): number => Number((hertz / 1e6).toPrecision(6));

/** Names limits for people, such as "gpu 612 MHz, emc 2133 MHz". */
export const clockWords = (targets: ClockTargets): string =>
  CLOCK_NAMES.flatMap((name) => {
    const hertz = targets[name];
    return hertz === undefined ? [] : [`${name} ${megahertz(hertz)} MHz`];
  }).join(", ");

export class ClockLimits {
  readonly clocks: Clocks;
  readonly #files: ClockFiles;
  readonly #isRoot: boolean;
  #last: Promise<unknown> = Promise.resolve();
  #guard: ChildProcess | undefined;
  /** Limits may be lowered: they were, or an attempt failed. */
  #isLowered = false;

  private constructor(clocks: Clocks, isRoot: boolean, files: ClockFiles) {
    this.clocks = clocks;
    this.#isRoot = isRoot;
    this.#files = files;
  }

  /** The clocks that this process may limit, or why it may limit none. Restores limits that a killed run left behind. */
  static open({
    isRoot = process.geteuid?.() === 0,
    ...files
  }: ClockLimitsOptions = {}): ClockLimits | Unavailable {
    try {
      if (isRoot) restoreClocks(undefined, files);
      const clocks = ownClocks(files);
      if ("available" in clocks.gpu && "available" in clocks.emc) return clocks.gpu;
      if (!isRoot && !existsSync(POWER_MODE_SOCKET))
        return { available: false, reason: "only root may limit the clocks", refused: true };
      return new ClockLimits(clocks, isRoot, files);
    } catch (error) {
      return { available: false, reason: (error as Error).message };
    }
  }

  /**
   * The same as open().
   * @throws DepthwattError DEVICE_UNAVAILABLE where this process may limit no clock
   */
  static require(options?: ClockLimitsOptions): ClockLimits {
    const limits = ClockLimits.open(options);
    if (limits instanceof ClockLimits) return limits;
    throw new DepthwattError(
      "DEVICE_UNAVAILABLE",
      `The clocks of this machine cannot be limited: ${limits.reason}.`,
      { hint: limits.refused ? HINT : "Set power.clocks: off, or leave --clocks out, on this machine." },
    );
  }

  /** The machine's own limits, hertz. */
  get limits(): ClockTargets {
    const { gpu, emc } = this.clocks;
    return { ...("limit" in gpu && { gpu: gpu.limit }), ...("limit" in emc && { emc: emc.limit }) };
  }

  /** Returns whether every target is a step of its clock, up to its limit now. */
  accepts(targets: ClockTargets): boolean {
    return CLOCK_NAMES.every((name) => {
      const [clock, hertz] = [this.clocks[name], targets[name]];
      if (hertz === undefined) return true;
      return !("available" in clock) && hertz <= clock.limit && clock.choices.includes(hertz);
    });
  }

  /** Steps of a clock in megahertz, ascending, up to its limit now; none where the machine does not limit it. */
  steps(name: ClockName): number[] {
    const clock = this.clocks[name];
    return "available" in clock ? [] : clock.choices.filter((hertz) => hertz <= clock.limit).map(megahertz);
  }

  /**
   * Changes the limits; one change after the other.
   * @param targets hertz; a clock without one gets its limit from before
   * @returns the limits that the kernel shows
   * @throws DepthwattError DEVICE_UNAVAILABLE
   */
  change(targets: ClockTargets): Promise<ClockTargets> {
    const changed = this.#last.then(() => this.#change(targets));
    this.#last = changed.catch(() => {});
    return changed;
  }

  async #change(targets: ClockTargets): Promise<ClockTargets> {
    const isRestored = Object.keys(targets).length === 0;
    if (isRestored && !this.#isLowered) return {};
    this.#guard ??= this.#startGuard();
    const guard = this.#guard;
    this.#isLowered = true;
    try {
      const owner = processName(process.pid)!;
      if (isRestored && this.#isRoot) restoreClocks(owner, this.#files);
      const reached = this.#isRoot
        ? isRestored
          ? {}
          : limitClocks(owner, targets, this.#files)
        : parseClocks((await askHelper(clockRequest(process.pid, targets))).split(" "));
      if (isRestored) {
        this.#isLowered = false;
        this.#guard = undefined;
        guard.kill("SIGKILL");
      }
      return reached;
    } catch (cause) {
      // The guard tries to restore them at once, restore() at the end.
      this.#guard = undefined;
      guard.stdin!.end();
      const { message } = cause as Error;
      throw new DepthwattError("DEVICE_UNAVAILABLE", message.replace(/^refused /, ""), { hint: HINT, cause });
    }
  }

  #startGuard(): ChildProcess {
    const words = [process.execPath, CLIENT, "clocks", String(process.pid), this.#files.root ?? "/"];
    const guard = spawn("/bin/sh", ["-c", GUARD, "sh", ...words], {
      stdio: ["pipe", "ignore", "ignore"],
      detached: true,
    });
    guard.on("error", () => {});
    guard.stdin!.on("error", () => {});
    if (guard.pid === undefined)
      throw new DepthwattError(
        "DEVICE_UNAVAILABLE",
        "The process that restores the clocks after a crash cannot be started: /bin/sh is missing.",
      );
    guard.unref();
    (guard.stdin as Socket).unref();
    return guard;
  }

  /** The changes so far have been made, or have failed. */
  async settled(): Promise<void> {
    await this.#last;
  }

  /** Restores the limits; safe to call again. @throws DepthwattError DEVICE_UNAVAILABLE */
  async restore(): Promise<void> {
    await this.change({});
  }
}
