// SPDX-License-Identifier: Apache-2.0
// Tools that judge the tests work in a copy of the tree. On a full disk they say so and leave no copy.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { mountDisk, testThatMounts } from "../doubles/mounts.js";

const TOOLS = [
  ["mutate", "--count", "1", "cuda/refine/median"],
  ["sanitize", "--addon", "depthwatt", "--quick", "test/stages/median.test.ts"],
];

testThatMounts(
  "a full disk ends mutation testing and the sanitizers with a clear error, and without a copy",
  () => {
    const disk = mkdtempSync(join(tmpdir(), "depthwatt-tools-"));
    const unmount = mountDisk(disk, "2m");
    try {
      for (const words of TOOLS) {
        const [name, ...rest] = words;
        const { status, stderr } = spawnSync(process.execPath, [`test/${name}/${name}.mjs`, ...rest], {
          env: { ...process.env, TMPDIR: disk },
          encoding: "utf8",
        });
        expect(stderr).toMatch(/^error: ENOSPC.* -> .*\nhint: free 1 GB there/m);
        expect(status).toBe(2);
        expect(readdirSync(disk), name).toEqual([]);
      }
    } finally {
      unmount();
      rmSync(disk, { recursive: true });
    }
  },
);
