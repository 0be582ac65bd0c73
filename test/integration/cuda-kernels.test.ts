// SPDX-License-Identifier: Apache-2.0
// What can be known of the kernels without a GPU: that every one gives its reference's bits, on the processor, every thread a
// fiber (test/doubles/native/warp).
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { buildEmulatedTwins, withoutCudaSyntax } from "../doubles/emulated-kernels.js";
import { needs } from "../doubles/needs.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-kernels-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("kernels as C++", () => {
  test("launches and dynamic shared memory are rewritten, nothing else", () => {
    const text =
      "  extern __shared__ __align__(16) uint32_t tiles[];\n  a.k[b == 8]<<<n(1), 64, 0, on>>>(x, y);\n";
    expect(withoutCudaSyntax(text)).toBe(
      "  uint32_t* const tiles = reinterpret_cast<uint32_t*>(::warp::dynamicShared());\n" +
        "  ::warp::launcher(n(1), 64, 0, on, a.k[b == 8])(x, y);\n",
    );
    expect(withoutCudaSyntax("a << 3 >> (b)")).toBe("a << 3 >> (b)");
  });
});

needs("toolchain").suite("every kernel against its reference, on the processor", () => {
  test.each([
    ["U16", 900],
    ["HALF2", 620],
    ["HALF2", 870],
  ])(
    "cells in %s as architecture %i computes them",
    async (cell, architecture) => {
      const program = await buildEmulatedTwins(join(folder, `${cell}-${architecture}`), cell, architecture);
      const seed = process.env.DEPTHWATT_SEED ?? String(Date.now() % 1_000_000_007);
      const ran = spawnSync(program, ["40", seed, "--small"], { encoding: "utf8", timeout: 250_000 });
      expect(ran.stdout, `seed ${seed}`).toContain("40 cases equal bit for bit");
      expect(ran.status).toBe(0);
    },
    300_000,
  );
});
