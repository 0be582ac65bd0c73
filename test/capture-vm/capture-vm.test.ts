// SPDX-License-Identifier: Apache-2.0
// Capture on a real kernel: boots one virtual machine, in which the guest's cases run, and shows each as a test.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { needs } from "../doubles/needs.js";
import { CACHE, PROJECT } from "./kernel.js";
import { runMachine } from "./machine.js";
import { caseNamesIn, machineTests } from "./machine-suite.js";

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

const FILES = {
  capture: "capture-cases.mjs",
  "bad-days": "bad-day-cases.mjs",
  "loop-back": "loop-back-cases.mjs",
};
const GROUPS = Object.keys(FILES) as (keyof typeof FILES)[];
const SCENE = join(CACHE, "scene");
/** Of the whole machine, far above what it takes (README.md): a hang ends here, a busy host does not. */
const LIMIT_SECONDS = 720;

/** What the cameras will see: 20 frames of the scene as the lenses bend it, and the truth. */
function writeScene(): void {
  const words = ["scene", "--raw", "--truth", "left", "--frames", "20", "--width", "320", "--height", "240"];
  execFileSync(process.execPath, [join(PROJECT, "dist/edge/cli/main.js"), ...words, "--out", SCENE], {
    stdio: "pipe",
  });
}

needs("vm", "v4l", "mosquitto").suite("cameras of a real kernel, in a virtual machine", () => {
  const guest = new URL("guest/main.mjs", import.meta.url).pathname;
  machineTests({
    names: GROUPS.flatMap((group) => caseNamesIn(new URL(`guest/${FILES[group]}`, import.meta.url))),
    limitSeconds: LIMIT_SECONDS,
    prepare: writeScene,
    run: (onReport) =>
      runMachine({
        name: "capture",
        vivid: VIVID,
        program: [process.execPath, guest, `--scene=${SCENE}`, ...GROUPS],
        limitSeconds: LIMIT_SECONDS,
        onReport,
      }),
  });
});
