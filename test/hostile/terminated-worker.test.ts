// SPDX-License-Identifier: Apache-2.0
// Worker threads that are terminated while native threads work for them must not take the process along. See terminated-worker.mjs.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { packageRoot } from "../../core/index.js";

const COUNT = Number(process.env.DEPTHWATT_HOSTILE_COUNT ?? 125);

test("terminated in the middle of frames, every time", async () => {
  const seed = Number(process.env.DEPTHWATT_SEED ?? Date.now() % 1_000_000_007);
  const words = [join(packageRoot(), "test/hostile/terminated-worker.mjs"), COUNT, seed];
  // The C library overwrites freed memory, so that use after free fails.
  const env = { ...process.env, MALLOC_PERTURB_: "165" };
  const child = spawn(process.execPath, words.map(String), { env });
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
  const counts = Object.values((JSON.parse(output) as { terminated: Record<string, number> }).terminated);
  expect(counts.reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(COUNT);
}, 600_000);
