// SPDX-License-Identifier: Apache-2.0
// nvcc 13 takes every kernel without a spilled register. It is no Debian package.
import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { PATIENCE_MS, report } from "../compilers/plugin-report.js";

const newest = spawnSync("nvcc", ["--version"], { encoding: "utf8" }).stdout ?? "";
describe.skipIf(!newest.includes("release 13."))("nvcc 13 (needs nvcc on the PATH)", () => {
  test("takes every kernel for sm_87, sm_90 and sm_110 without a spill", { timeout: PATIENCE_MS }, () => {
    expect(report("nvcc", "87,90,110", []).kernels.filter((row) => row.spillBytes > 0)).toEqual([]);
  });
});
