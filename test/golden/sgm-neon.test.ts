// SPDX-License-Identifier: Apache-2.0
// The golden hashes of semi-global matching in NEON, under emulation: the same as those of sgm.test.ts.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { buildArm64Program } from "../doubles/arm64-program.js";
import { needs } from "../doubles/needs.js";

const root = new URL("../../", import.meta.url).pathname;
const expected = JSON.parse(readFileSync(join(root, "test/golden/sgm.json"), "utf8")) as Record<
  string,
  string
>;

needs("aarch64").suite("golden hashes, NEON under emulation", () => {
  let program: string;
  beforeAll(async () => {
    program = await buildArm64Program("sgm_golden", [
      "test/native/golden_main.cc",
      "cuda/match/sgm/sgm.cc",
      "core/workers.cc",
      "cuda/simd/instruction_set.cc",
      "cuda/simd/isa_neon.cc",
      "cuda/simd/isa_scalar.cc",
    ]);
  }, 300_000);

  test.each(["neon", "scalar"])(
    "%s answers, with the same hashes",
    (isa) => {
      const ran = spawnSync("qemu-aarch64-static", [program, isa], { encoding: "utf8", timeout: 280_000 });
      const [answered, ...lines] = ran.stdout.trim().split("\n");
      expect(answered).toBe(`isa ${isa}`);
      expect(Object.fromEntries(lines.map((line) => line.split(" ")))).toEqual(expected);
    },
    300_000,
  );

  test("an instruction set of another CPU is refused", () => {
    const ran = spawnSync("qemu-aarch64-static", [program, "avx2"], { encoding: "utf8", timeout: 60_000 });
    expect(ran.status).toBe(1);
    expect(ran.stderr).toContain("got 'avx2'");
  });
});
