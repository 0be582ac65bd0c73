// SPDX-License-Identifier: Apache-2.0
// Worker threads that are terminated while native threads work for them must not take the process along. See terminated-worker.mjs.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { packageRoot } from "../../core/index.js";

const SCENES = Number(process.env.DEPTHWATT_HOSTILE_COUNT ?? 20);

test("terminated in the middle of frames", async () => {
  const seed = Number(process.env.DEPTHWATT_SEED ?? Date.now() % 1_000_000_007);
  const words = [
    join(packageRoot(), "test/hostile/terminated-worker.mjs"),
    SCENES,
    Math.ceil(SCENES / 5),
    seed,
  ];
  const child = spawn(process.execPath, words.map(String));
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      output += chunk;
    });
  }
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve) => {
    child.once("close", (...how) => resolve(how));
  });
  expect({ code, signal }, `seed ${seed}: ${output}`).toEqual({ code: 0, signal: null });
  expect(JSON.parse(output)).toMatchObject({ scenes: SCENES });
}, 600_000);
