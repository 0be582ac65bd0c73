// SPDX-License-Identifier: Apache-2.0
// Rectification, the stages after matching and the cross-based matcher in NEON, under emulation: equal to their references bit for bit.
import { spawnSync } from "node:child_process";
import { beforeAll, expect, test } from "vitest";
import { nativeSources } from "../../scripts/native-sources.mjs";
import { buildArm64Program } from "../doubles/arm64-program.js";
import { needs } from "../doubles/needs.js";

const root = new URL("../../", import.meta.url).pathname;
const SOURCES = [
  "test/native/stage_twins_main.cc",
  "core/pixel_format.cc",
  "core/workers.cc",
  "cuda/simd/instruction_set.cc",
  "cuda/simd/isa_neon.cc",
  "cuda/simd/isa_scalar.cc",
  "cuda/match/cbca/cross.cc",
  "cuda/match/exponential/exponential.cc",
  "cuda/prepare/denoise/denoise.cc",
  "cuda/match/sgm/sgm.cc",
  "cuda/output/voxels/voxels.cc",
  "cuda/prepare/row_offset/row_offset.cc",
  "cuda/refine/fill/fill.cc",
  "cuda/refine/speckle/speckle.cc",
  ...nativeSources(root).filter((path) => /(?<!\.matcher)\.ref\.cc$/.test(path)),
];

needs("aarch64").suite("stage twins, NEON under emulation", () => {
  let program: string;
  beforeAll(async () => {
    program = await buildArm64Program("stage_twins", SOURCES);
  }, 300_000);

  test.each(["neon", "scalar"])(
    "%s",
    (isa) => {
      const seed = process.env.DEPTHWATT_SEED ?? String(Date.now() % 1_000_000_007);
      const ran = spawnSync("qemu-aarch64-static", [program, isa, seed], {
        encoding: "utf8",
        timeout: 280_000,
      });
      expect(ran.stdout, `seed ${seed}`).toMatch(new RegExp(`^isa ${isa}: \\d+ sizes equal bit for bit`));
      expect(ran.status).toBe(0);
    },
    300_000,
  );
});
