// SPDX-License-Identifier: Apache-2.0
// Tests images that are too large for the memory: the first failing allocation is reported in words. Memory that Node
// reserves, and whose lack ends the process, is not tested.
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { PROGRAM } from "../doubles/program.js";

function runWithin(megabytes: number, side: number) {
  const size = `--set source.synthetic.width=${side} --set source.synthetic.height=${side}`;
  const command = `ulimit -v ${megabytes * 1024}; exec ${process.execPath} ${PROGRAM} run --broker none --frames 1 ${size}`;
  const { status, stderr } = spawnSync("bash", ["-c", command], { encoding: "utf8", timeout: 50_000 });
  return { status, error: stderr.split("\n").find((line) => line.startsWith("error:")) };
}

test.each([
  [2500, 16384, /^error: Expected 269 MB of memory for a picture of the scene, the system gave none\.$/],
  [5000, 16384, /^error: Expected 2148 MB of memory for a rectification map, the system gave none\.$/],
  [1500, 4000, /^error: Expected 128 MB of memory for a rectification map, the system gave none\.$/],
  [2500, 4000, /^error: Expected .*memory for/],
])("%d MB for pictures of %d pixels a side", (megabytes, side, message) => {
  const { status, error } = runWithin(megabytes, side);
  expect(error).toMatch(message);
  expect(status).toBe(4);
});
