// SPDX-License-Identifier: Apache-2.0
// Processes and threads that end, and images that go away, while native threads work: none may take the process along. See leaving.mjs.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { packageRoot } from "../../core/index.js";

test.each([
  "images given away",
  "process.exit while frames are computed",
  "process.exit in a callback",
  "calls while the process exits",
  "an uncaught error",
  "nothing is closed",
  "four threads at once",
])(
  "%s",
  (name) => {
    const words = ["--expose-gc", join(packageRoot(), "test/hostile/leaving.mjs"), name];
    // The C library overwrites freed memory, so that use after free fails.
    const env = { ...process.env, MALLOC_PERTURB_: "165" };
    const { status, signal, stderr } = spawnSync(process.execPath, words, {
      env,
      encoding: "utf8",
      timeout: 200_000,
    });
    expect({ status, signal }, stderr.slice(-4000)).toEqual({ status: 0, signal: null });
  },
  240_000,
);
