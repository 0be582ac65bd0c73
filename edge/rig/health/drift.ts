// SPDX-License-Identifier: Apache-2.0
// The mean rotation of the right camera on each day, kept in a file over restarts.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { z } from "zod";
import { hasCode } from "../../../core/index.js";
import type { Unavailable } from "../../contracts/availability.js";
import type { Alignment } from "./estimate.js";

const day = z.strictObject({
  /** UTC. */
  date: z.iso.date(),
  /** Mean degrees against the calibration, with or without a correction. */
  pitch: z.number(),
  yaw: z.number(),
  roll: z.number(),
  /** Estimates of this mean. */
  looks: z.int().positive(),
});

export type DriftDay = z.infer<typeof day>;
export type DriftReport = { file: string; days: readonly DriftDay[] } | Unavailable;

/** Called when the file has been written (undefined), or cannot be read or written. */
export type OnDrift = (problem: string | undefined) => void;

const MAX_DAYS = 400;
const SAVE_MS = 3_600_000;
const DEGREES = 180 / Math.PI;

export class DriftFile {
  readonly #file: string;
  readonly #onChange: OnDrift;
  readonly #now: () => number;
  #days: DriftDay[] = [];
  #savedMs: number;
  #unsaved = false;
  #problem: string | undefined;
  #unreadable = false;

  /** A file that cannot be read stays as it is, and nothing is kept. */
  constructor(file: string, onChange: OnDrift, now: () => number = Date.now) {
    this.#file = file;
    this.#onChange = onChange;
    this.#now = now;
    this.#savedMs = now();
    try {
      this.#days = z.array(day).parse(JSON.parse(readFileSync(file, "utf8")));
    } catch (error) {
      this.#unreadable = !hasCode(error, "ENOENT");
      if (this.#unreadable) this.#fail("expected a list of days", error as Error);
    }
  }

  get report(): DriftReport {
    if (this.#problem !== undefined) return { available: false, reason: this.#problem };
    return { file: this.#file, days: this.#days };
  }

  take({ terms: { pitch, yaw, roll } }: Pick<Alignment, "terms">): void {
    if (this.#unreadable) return;
    const now = this.#now();
    const date = new Date(now).toISOString().slice(0, 10);
    const found = { pitch: pitch.value * DEGREES, yaw: yaw.value * DEGREES, roll: roll.value * DEGREES };
    const last = this.#days.at(-1);
    if (last?.date === date) {
      last.looks++;
      for (const axis of ["pitch", "yaw", "roll"] as const)
        last[axis] += (found[axis] - last[axis]) / last.looks;
    } else this.#days = [...this.#days, { date, ...found, looks: 1 }].slice(-MAX_DAYS);
    this.#unsaved = true;
    if (last?.date !== date || now - this.#savedMs >= SAVE_MS) this.save();
  }

  save(): void {
    if (!this.#unsaved) return;
    this.#savedMs = this.#now();
    const temporary = `${this.#file}.${process.pid}.new`;
    try {
      mkdirSync(dirname(this.#file), { recursive: true });
      writeFileSync(temporary, `${JSON.stringify(this.#days)}\n`, { flush: true });
      renameSync(temporary, this.#file);
    } catch (error) {
      // The next hour tries again, with all days.
      this.#fail("cannot write it", error as Error);
      return;
    }
    this.#unsaved = false;
    this.#problem = undefined;
    this.#onChange(undefined);
  }

  #fail(what: string, { message }: Error): void {
    this.#problem = `health.driftFile ${this.#file}: ${what}: ${message.split("\n")[0]}`;
    this.#onChange(this.#problem);
  }
}
