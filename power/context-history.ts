// SPDX-License-Identifier: Apache-2.0
// The conditions once a second, and what changed among them inside a window.
import type { ContextSnapshot } from "./context.js";
import type { Unavailable } from "./sensor.js";

const INTERVAL_NS = 1e9;
const KEPT = 600;

export class ContextHistory {
  readonly #read: () => ContextSnapshot;
  readonly #kept: { atNs: number; snapshot: ContextSnapshot }[] = [];

  constructor(read: () => ContextSnapshot) {
    this.#read = read;
  }

  /** Takes a snapshot unless the last one is younger than a second. */
  sample(atNs: number): void {
    const last = this.#kept.at(-1);
    if (last !== undefined && atNs - last.atNs < INTERVAL_NS) return;
    this.#kept.push({ atNs, snapshot: this.#read() });
    if (this.#kept.length > KEPT) this.#kept.shift();
  }

  /** The newest snapshot of a window and every change between neighbours in it. */
  within(fromNs: number, toNs: number): { context: ContextSnapshot | Unavailable; changed: string[] } {
    // The snapshot just before the window says what its first second was like.
    const inside = this.#kept.filter((kept) => kept.atNs > fromNs - INTERVAL_NS && kept.atNs <= toNs);
    const last = inside.at(-1);
    if (last === undefined) {
      const reason = "the conditions were not recorded in this window";
      return { context: { available: false, reason }, changed: [] };
    }
    // A counter that rises again and again is one change, from its first value to its last.
    const changed = new Map<string, ContextChange>();
    for (let i = 1; i < inside.length; i++) {
      for (const change of contextChanges(inside[i - 1]!.snapshot, inside[i]!.snapshot)) {
        changed.set(change.name, { ...change, before: changed.get(change.name)?.before ?? change.before });
      }
    }
    const words = [...changed.values()].map(({ name, before, after }) => `${name}: ${before} -> ${after}`);
    return { context: last.snapshot, changed: words };
  }
}

export interface ContextChange {
  name: string;
  before: number | string | boolean;
  after: number | string | boolean;
}

/** Returns the differences between two snapshots that make them two operating points; temperatures may drift. */
export function contextChanges(a: ContextSnapshot, b: ContextSnapshot): ContextChange[] {
  const changes: ContextChange[] = [];
  const compare = (name: string, before: unknown, after: unknown, tolerance = 0): void => {
    if (typeof before === "number" && typeof after === "number") {
      if (Math.abs(after - before) > tolerance * Math.abs(before)) changes.push({ name, before, after });
    } else if (typeof before === typeof after && typeof before !== "object" && before !== after) {
      changes.push({ name, before, after } as ContextChange);
    }
  };
  compare("powerMode", a.powerMode, b.powerMode);
  compare("onlineCores", a.onlineCores, b.onlineCores);
  compare("clocksLocked", a.clocksLocked, b.clocksLocked);
  compare("tpcMask", a.tpcMask, b.tpcMask);
  compare("emcCapMegahertz", a.emcCapMegahertz, b.emcCapMegahertz);
  // Clocks jitter by a fraction of a percent on x86 without having changed.
  compare("gpuMegahertz", a.gpuMegahertz, b.gpuMegahertz, 0.02);
  compare("emcMegahertz", a.emcMegahertz, b.emcMegahertz, 0.02);
  for (const key of Object.keys(a.cpuKilohertz)) {
    const before = (a.cpuKilohertz as Record<string, unknown>)[key];
    const after = (b.cpuKilohertz as Record<string, unknown>)[key];
    compare(`cpuKilohertz ${key}`, before, after, 0.05);
  }
  for (const key of Object.keys(a.throttle)) compare(`throttle ${key}`, a.throttle[key], b.throttle[key]);
  return changes;
}
