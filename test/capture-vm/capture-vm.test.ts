// SPDX-License-Identifier: Apache-2.0
// Capture on a real kernel: boots one virtual machine, in which the guest's cases run, and shows each as a test.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { needs } from "../doubles/needs.js";
import { caseNames } from "./case-names.js";
import { CACHE, PROJECT } from "./kernel.js";
import { type MachineEnd, runMachine } from "./machine.js";

/** Two webcams, the second multi-planar, and two devices whose outputs loop back into their captures. */
const VIVID = [
  "n_devs=4",
  "node_types=0x1,0x1,0x101,0x101",
  "num_inputs=1,1,1,1",
  "input_types=0,0,3,3",
  "num_outputs=0,0,1,1",
  "output_types=1,1,1,1",
  "multiplanar=1,2,1,1",
].join(" ");

const GROUPS = ["capture", "bad-days", "loop-back"];
const SCENE = join(CACHE, "scene");
/** Of the whole machine, far above what it takes (README.md): a hang ends here, a busy host does not. */
const LIMIT_SECONDS = 720;

interface CaseReport {
  ok: boolean;
  ms: number;
  error?: string;
}

/** What the cameras will see: 20 frames of the scene as the lenses bend it, and the truth. */
function writeScene(): void {
  const words = ["scene", "--raw", "--truth", "left", "--frames", "20", "--width", "320", "--height", "240"];
  execFileSync(process.execPath, [join(PROJECT, "dist/edge/cli/main.js"), ...words, "--out", SCENE], {
    stdio: "pipe",
  });
}

needs("vm", "v4l", "mosquitto").suite("cameras of a real kernel, in a virtual machine", () => {
  const reports = new Map<string, CaseReport>();
  let wake = () => {};
  let ended: MachineEnd | undefined;
  let machine: Promise<void>;

  beforeAll(() => {
    writeScene();
    const guest = new URL("guest/main.mjs", import.meta.url).pathname;
    machine = runMachine({
      name: "capture",
      vivid: VIVID,
      program: [process.execPath, guest, `--scene=${SCENE}`, ...GROUPS],
      limitSeconds: LIMIT_SECONDS,
      onReport: (report) => {
        if (typeof report.case === "string") reports.set(report.case, report as unknown as CaseReport);
        wake();
      },
    })
      // No network for the kernel, no emulator: every case says so.
      .catch((error: Error): MachineEnd => ({ exitCode: undefined, seconds: 0, tail: String(error.stack) }))
      .then((end) => {
        ended = end;
        wake();
      });
    // The scene takes a second, on a busy machine a minute.
  }, 300_000);
  afterAll(() => machine, LIMIT_SECONDS * 1000);

  for (const name of GROUPS.flatMap(caseNames)) {
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
