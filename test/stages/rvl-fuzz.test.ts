// SPDX-License-Identifier: Apache-2.0
// The native RVL code under the address and undefined-behaviour sanitizers, with random pictures and hostile bodies.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { packageRoot } from "../../core/index.js";
import { needs } from "../doubles/needs.js";

needs("toolchain").suite("rvl under sanitizers", () => {
  let folder = "";
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "depthwatt-rvl-"));
    const sources = [
      "test/doubles/native/rvl_fuzz.cc",
      "cuda/output/rvl/rvl.cc",
      "cuda/output/rvl/rvl.ref.cc",
    ];
    const flags = ["-std=c++17", "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    execFileSync("g++", [...flags, ...sources, "-o", join(folder, "fuzz")], { cwd: packageRoot() });
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("30000 pictures and 60000 hostile bodies touch nothing that is not theirs", () => {
    const seed = process.env.DEPTHWATT_SEED ?? String(Date.now() % 1_000_000_007);
    const run = spawnSync(join(folder, "fuzz"), ["30000", seed], { encoding: "utf8" });
    expect(run.status, `seed ${seed}: ${run.stdout}${run.stderr}`).toBe(0);
    const [pictures, refused] = (run.stdout.match(/\d+/g) ?? []).map(Number);
    expect((pictures ?? 0) + (refused ?? 0)).toBe(60000);
    expect(pictures).toBeGreaterThan(0);
  });
});
