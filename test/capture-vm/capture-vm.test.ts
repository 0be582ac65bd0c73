// SPDX-License-Identifier: Apache-2.0
// Capture on a real kernel: boots one virtual machine, in which the guest's cases run, and shows each as a test.
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Board, stringifyCalibration } from "../../camera/index.js";
import { boardPicture } from "../doubles/board-pictures.js";
import { createPoses, createRig } from "../doubles/calibration-rig.js";
import { needs } from "../doubles/needs.js";
import { Random } from "../doubles/random.js";
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
  calibrate: "calibrate-cases.mjs",
};
const GROUPS = Object.keys(FILES) as (keyof typeof FILES)[];
const SCENE = join(CACHE, "scene");
const BOARDS = join(CACHE, "boards");
/** Timeout of the whole machine, far above its normal time (README.md): a hang ends here, a busy host does not. */
const LIMIT_SECONDS = 2400;

/** Images for the cameras: 20 frames of the scene as the lenses bend it, and the ground truth. */
function writeScene(): void {
  const words = ["scene", "--raw", "--truth", "left", "--frames", "20", "--width", "320", "--height", "240"];
  execFileSync(process.execPath, [join(PROJECT, "dist/edge/cli/main.js"), ...words, "--out", SCENE], {
    stdio: "pipe",
  });
}

/** Images of a rig while a person holds a board before it, and the rig's true parameters. */
function writeBoards(): void {
  const rig = createRig("radtan", { width: 320, height: 240 });
  const board: Board = { pattern: "chessboard", columns: 8, rows: 5, squareMetres: 0.03 };
  const random = new Random(41);
  const poses = createPoses(rig, board, 24, random, 0.7);
  mkdirSync(BOARDS, { recursive: true });
  for (const side of ["left", "right"] as const) {
    const pictures = poses.map((pose) => boardPicture(rig, board, pose, side, { noise: 1.5, random }).data);
    writeFileSync(join(BOARDS, `${side}.raw`), Buffer.concat(pictures));
  }
  writeFileSync(join(BOARDS, "rig.json"), stringifyCalibration(rig));
}

needs("vm", "v4l", "mosquitto").suite("cameras of a real kernel, in a virtual machine", () => {
  const guest = new URL("guest/main.mjs", import.meta.url).pathname;
  machineTests({
    names: GROUPS.flatMap((group) => caseNamesIn(new URL(`guest/${FILES[group]}`, import.meta.url))),
    limitSeconds: LIMIT_SECONDS,
    prepare: () => {
      writeScene();
      writeBoards();
    },
    run: (onReport) =>
      runMachine({
        name: "capture",
        vivid: VIVID,
        program: [process.execPath, guest, `--scene=${SCENE}`, `--boards=${BOARDS}`, ...GROUPS],
        limitSeconds: LIMIT_SECONDS,
        onReport,
      }),
  });
});
