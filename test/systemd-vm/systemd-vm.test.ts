// SPDX-License-Identifier: Apache-2.0
// The service under a real systemd: one virtual machine, booted three times, whose cases are shown as tests.
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { MachineEnd } from "../capture-vm/qemu.js";
import { needs } from "../doubles/needs.js";
import { runSystemdMachine } from "./machine.js";

/** Of the whole machine, far above what it takes (README.md): a hang ends here, a busy host does not. */
const LIMIT_SECONDS = 1500;

interface CaseReport {
  ok: boolean;
  error?: string;
}

/** Names of the cases: properties of the guest's objects. */
const NAMES = ["running", "booting", "waiting"].flatMap((group) => {
  const text = readFileSync(new URL(`guest/${group}-cases.mjs`, import.meta.url), "utf8");
  return [...text.matchAll(/^ {2}"([^"]+)":/gm)].map((match) => match[1]!);
});

needs("vm", "systemdVm").suite("the service under systemd, in a virtual machine", () => {
  const reports = new Map<string, CaseReport>();
  let wake = () => {};
  let ended: MachineEnd | undefined;
  let machine: Promise<void>;
  const only = process.env.SYSTEMD_VM_ONLY;

  beforeAll(() => {
    machine = runSystemdMachine({
      words: only === undefined ? [] : [`only=${only}`],
      limitSeconds: LIMIT_SECONDS,
      onReport: (report) => {
        if (typeof report.case === "string") reports.set(report.case, report as unknown as CaseReport);
        wake();
      },
    })
      // No disk, no kernel, no emulator: every case says so.
      .catch((error: Error): MachineEnd => ({ exitCode: undefined, seconds: 0, tail: String(error.stack) }))
      .then((end) => {
        ended = end;
        wake();
      });
  });
  afterAll(() => machine, LIMIT_SECONDS * 1000);

  for (const name of NAMES) {
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
      LIMIT_SECONDS * 1000,
    );
  }
});
