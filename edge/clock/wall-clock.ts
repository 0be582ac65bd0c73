// SPDX-License-Identifier: Apache-2.0
// Describes how good CLOCK_REALTIME is: whether something steers it, how far it may be off, and which PTP clocks exist.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { SystemExports } from "../../core/index.js";

/** Programs that steer CLOCK_REALTIME, by the name of their process. */
const STEERERS = ["chronyd", "ntpd", "openntpd", "systemd-timesyn", "ptp4l", "phc2sys", "timemaster"];

export interface WallClock {
  /** The kernel's own answer (adjtimex). */
  kernel:
    | { synchronised: boolean; maxErrorMs: number; estimatedErrorMs: number; taiOffsetSeconds: number }
    | { available: false; reason: string };
  /** Hardware clocks of PTP, such as "ptp0 (mvpp2)". */
  ptpClocks: string[];
  /** Programs found that steer the clock. In a sandbox other processes may be invisible. */
  steeredBy: string[];
}

/** The list of this machine's steerers is read again after this time, because it takes a file of every process. */
const STEERERS_MS = 10_000;
let found: { steeredBy: string[]; atMs: number } | undefined;

/**
 * Describes the clock. A program that has started or stopped to steer it is noticed after up to 10 s.
 * @param root what "/" means; another folder in tests
 */
export function readWallClock(native: Pick<SystemExports, "wallClock">, root = "/"): WallClock {
  const kernel = native.wallClock();
  return {
    kernel: typeof kernel === "string" ? { available: false, reason: kernel } : kernel,
    ptpClocks: names(join(root, "sys/class/ptp")).map((name) => {
      const clock = firstLine(join(root, "sys/class/ptp", name, "clock_name"));
      return clock === undefined ? name : `${name} (${clock})`;
    }),
    steeredBy: root === "/" ? recentSteerers() : steerers(root),
  };
}

/** Returns the result in words, and a doubt about it. */
export function wallClockWords({ kernel, ptpClocks, steeredBy }: WallClock): {
  text: string;
  doubt?: string;
} {
  if ("available" in kernel) return { text: `wall clock: ${kernel.reason}` };
  const { synchronised, maxErrorMs, taiOffsetSeconds } = kernel;
  const by = steeredBy.length === 0 ? "" : ` by ${steeredBy.join(", ")}`;
  if (!synchronised)
    return {
      text: "wall clock: not synchronised",
      doubt:
        "Start a time service (chrony, systemd-timesyncd or ptp4l with phc2sys): times of several machines cannot be compared.",
    };
  const text = `wall clock: synchronised${by}, off by ${Number(maxErrorMs.toPrecision(2))} ms at most`;
  const needsTai = ptpClocks.length > 0 && steeredBy.some((name) => name === "phc2sys" || name === "ptp4l");
  if (!needsTai || taiOffsetSeconds !== 0) return { text: `${text}, TAI - UTC ${taiOffsetSeconds} s` };
  return {
    text: `${text}, TAI - UTC unknown`,
    doubt:
      "PTP counts TAI, and the kernel does not know its offset from UTC: the wall clock may be 37 s ahead. Set utc_offset of ptp4l.",
  };
}

function recentSteerers(): string[] {
  const nowMs = performance.now();
  if (found === undefined || nowMs - found.atMs > STEERERS_MS)
    found = { steeredBy: steerers("/"), atMs: nowMs };
  return [...found.steeredBy];
}

function steerers(root: string): string[] {
  const running = new Set(
    names(join(root, "proc"))
      .filter((name) => /^\d+$/.test(name))
      .map((pid) => firstLine(join(root, "proc", pid, "comm"))),
  );
  return STEERERS.filter((name) => running.has(name));
}

function names(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}

function firstLine(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8").split("\n")[0]!.trim();
  } catch {
    return undefined;
  }
}
