// SPDX-License-Identifier: Apache-2.0
// The service under a real systemd: one virtual machine, booted three times, whose cases are shown as tests.
import { caseNamesIn, machineTests } from "../capture-vm/machine-suite.js";
import { needs } from "../doubles/needs.js";
import { runSystemdMachine } from "./machine.js";

/** Timeout of the whole machine, far above its normal time (README.md): a hang ends here, a busy host does not. */
const LIMIT_SECONDS = 1500;

needs("vm", "systemdVm").suite("the service under systemd, in a virtual machine", () => {
  const only = process.env.SYSTEMD_VM_ONLY;
  machineTests({
    names: ["running", "booting", "waiting"].flatMap((group) =>
      caseNamesIn(new URL(`guest/${group}-cases.mjs`, import.meta.url)),
    ),
    limitSeconds: LIMIT_SECONDS,
    run: (onReport) =>
      runSystemdMachine({
        name: "systemd",
        words: only === undefined ? [] : [`only=${only}`],
        limitSeconds: LIMIT_SECONDS,
        onReport,
      }),
  });
});
