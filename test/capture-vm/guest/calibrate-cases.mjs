// SPDX-License-Identifier: Apache-2.0
// A board before two cameras of the kernel: depthwatt calibrate takes pairs automatically and writes the rig that saw them.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { HEIGHT, WIDTH, withPictures } from "./loop-back.mjs";
import { assert, root, until } from "./tools.mjs";

const BOARDS = process.env.BOARDS;
/** The signal ends the capture after so many pairs: fewer than the guide wants, which takes minutes here. */
const PAIRS = 9;
/** A pose that is not taken by then says nothing new; generous, since a look takes many seconds on a busy host. */
const MAX_HOLD_MS = 60_000;

const taken = (text) => Number([...text.matchAll(/taken: pair (\d+)/g)].at(-1)?.[1] ?? 0);

export const calibrateCases = {
  "calibrate with live cameras takes pairs of a board automatically and writes the rig that sees it": () =>
    withPictures(BOARDS, async ({ left, right, show, frames }) => {
      const output = "/tmp/live-rig.json";
      const words = [
        "calibrate",
        "--left",
        left,
        "--right",
        right,
        "--square",
        "30mm",
        "-o",
        output,
        "--json",
      ];
      const settings = [`width=${WIDTH}`, `height=${HEIGHT}`, "format=GREY"];
      const program = spawn(process.execPath, [
        join(root, "dist/edge/cli/main.js"),
        ...words,
        ...settings.flatMap((setting) => ["--set", `source.v4l2.${setting}`]),
      ]);
      const ended = new Promise((resolve) => program.on("close", resolve));
      const text = { stdout: "", stderr: "" };
      for (const name of ["stdout", "stderr"])
        program[name].on("data", (chunk) => {
          text[name] += chunk;
        });
      try {
        await until(
          () => /inner corners/.test(text.stderr) || program.exitCode !== null,
          "the board is recognised",
          60_000,
        );
        // The next pose as soon as this one is taken, as a person does it.
        for (let pose = 0; taken(text.stderr) < PAIRS && pose < 2 * frames; pose++) {
          show(pose);
          const before = taken(text.stderr);
          const end = performance.now() + MAX_HOLD_MS;
          await until(
            () => taken(text.stderr) > before || performance.now() > end || program.exitCode !== null,
            "the pose is taken",
          );
        }
        program.kill("SIGINT");
        const code = await ended;
        assert.equal(code, 0, `calibrate ended with ${code}`);
        const { pairsUsed, rmsPixels, board } = JSON.parse(text.stdout);
        assert.deepEqual([board.columns, board.rows], [8, 5]);
        assert(pairsUsed >= PAIRS - 2, `${pairsUsed} pairs`);
        const [made, truth] = [output, join(BOARDS, "rig.json")].map((file) =>
          JSON.parse(readFileSync(file, "utf8")),
        );
        const off = ["left", "right"].map((side) =>
          Math.abs(made[side].cameraMatrix[0] / truth[side].cameraMatrix[0] - 1),
        );
        assert(Math.max(...off) < 0.02, `focal lengths are off by ${off}`);
        const baseline = ({ translationMetres }) => Math.hypot(...translationMetres);
        assert(Math.abs(baseline(made) / baseline(truth) - 1) < 0.02, `baseline ${baseline(made)} m`);
        return { pairsUsed, rmsPixels, focalOff: off };
      } catch (error) {
        error.stack += `\ndepthwatt said: ${text.stderr.slice(-1500)}`;
        throw error;
      } finally {
        program.kill("SIGKILL");
        await ended;
      }
    }),
};
