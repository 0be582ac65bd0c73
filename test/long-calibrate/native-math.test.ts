// SPDX-License-Identifier: Apache-2.0
// The mathematics of rigs by hand and by differences (test/native/rig_math_main.cc).
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { needs } from "../doubles/needs.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-rig-math-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

needs("toolchain").suite("the mathematics of rigs", () => {
  test("derivatives, vectors, neighbours and bounds", () => {
    const calibrate = ["completion", "corners", "lattice", "lens", "linear", "plane"];
    const sources = [
      "test/native/rig_math_main.cc",
      "camera/rig/alignment/correction.cc",
      ...calibrate.map((name) => `camera/rig/calibrate/${name}.cc`),
    ];
    const program = join(folder, "rig_math");
    execFileSync("g++", ["-std=c++17", "-O0", ...sources, "-o", program]);
    const { stdout, status } = spawnSync(program, { encoding: "utf8" });
    expect(stdout).toBe("");
    expect(status).toBe(0);
  });
});
