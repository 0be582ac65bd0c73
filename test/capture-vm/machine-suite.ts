// SPDX-License-Identifier: Apache-2.0
// Shows the cases that a virtual machine runs as tests: one machine for a whole suite, one test for each case.
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { MachineEnd } from "./qemu.js";

/** The result of one case of a guest. */
interface CaseReport {
  case: string;
  ok: boolean;
  error?: string;
}

export interface MachineSuite {
  /** The cases, in the order in which they are shown. */
  names: readonly string[];
  /** Timeout of the whole machine. Far above its normal time: a hang ends here, a busy host does not. */
  limitSeconds: number;
  /** Runs before the machine starts, such as what writes the files that it reads. */
  prepare?: () => void;
  /** Boots the machine; settles when it has ended. */
  run: (onReport: (report: Record<string, unknown>) => void) => Promise<MachineEnd>;
}

/**
 * Names of a guest's cases, read from its file, because running it needs the machine. Each case is a property of the exported
 * object, its name in quotes at the first level of indentation.
 */
export function caseNamesIn(file: URL): string[] {
  const names = [...readFileSync(file, "utf8").matchAll(/^ {2}"([^"]+)":/gm)].map((match) => match[1]!);
  if (names.length === 0) throw new Error(`${file.pathname} holds no case`);
  return names;
}

/** Registers the tests; call it within a suite. A case that the machine did not reach fails with the end of its output. */
export function machineTests({ names, limitSeconds, prepare, run }: MachineSuite): void {
  const reports = new Map<string, CaseReport>();
  let wake = () => {};
  let ended: MachineEnd | undefined;
  let machine: Promise<void>;

  beforeAll(() => {
    prepare?.();
    machine = run((report) => {
      if (typeof report.case === "string") reports.set(report.case, report as unknown as CaseReport);
      wake();
    })
      // No kernel, no disk, no emulator: every case reports it.
      .catch((error: Error): MachineEnd => ({ exitCode: undefined, seconds: 0, tail: String(error.stack) }))
      .then((end) => {
        ended = end;
        wake();
      });
    // The preparation takes a second, on a busy machine a minute.
  }, 300_000);
  afterAll(() => machine, limitSeconds * 1000);

  for (const name of names) {
    test(
      name,
      async () => {
        while (!reports.has(name)) {
          if (ended) expect.fail(`the machine ended (${ended.exitCode}) before this case:\n${ended.tail}`);
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
        const { ok, error } = reports.get(name)!;
        expect(ok, error).toBe(true);
      },
      limitSeconds * 1000,
    );
  }
}
