// SPDX-License-Identifier: Apache-2.0
// The oldest compiler that can be had takes every kernel for the boards it is for, at C++14 and without a spilled register;
// so does the newest, where it is there.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cachedNvcc118, FLAGS_11_8 } from "../setup/nvcc-11.8.mjs";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-compilers-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Report {
  nvcc: string;
  kernels: { kernel: string; architecture: number; registers: number; spillBytes: number }[];
}

/** Ten minutes of a CPU; other suites run beside it and come first. */
const PATIENCE_MS = 6_000_000;

/** Builds the whole plugin and gives what the assembler says of every kernel. */
function report(nvcc: string, architectures: string, flags: string[]): Report {
  const file = join(folder, "report.json");
  const run = spawnSync(
    "nice",
    [
      "-n",
      "19",
      process.execPath,
      "scripts/build-cuda.mjs",
      "--out",
      join(folder, "libdepthwatt_cuda.so"),
      "--report",
      file,
    ],
    {
      encoding: "utf8",
      env: {
        ...process.env,
        NVCC: nvcc,
        NVCCFLAGS: flags.join(" "),
        DEPTHWATT_CUDA_ARCHS: architectures,
      },
    },
  );
  expect(run.stderr).toMatch(/built with nvcc .* 0 with spills/);
  return JSON.parse(readFileSync(file, "utf8"));
}

const old = cachedNvcc118();
describe.skipIf(old === undefined && process.env.CI !== "true")(
  "nvcc 11.8 ('npm run test:setup -- --long' fetches it)",
  () => {
    let built: Report;
    beforeAll(() => {
      if (old === undefined)
        expect.fail("with CI=true this suite must run, but nvcc 11.8 has not been fetched");
      built = report(old, "53,62,72,87", FLAGS_11_8);
    }, PATIENCE_MS);

    test("takes every kernel for sm_53, sm_62, sm_72 and sm_87 at C++14 without a spill", () => {
      const architectures = new Set(built.kernels.map((row) => row.architecture));
      expect([...architectures].sort((a, b) => a - b)).toEqual([53, 62, 72, 87]);
      expect(built.nvcc).toBe("11.8");
      expect(built.kernels.filter((row) => row.spillBytes > 0)).toEqual([]);
    });
  },
);

const newest = spawnSync("nvcc", ["--version"], { encoding: "utf8" }).stdout ?? "";
describe.skipIf(!newest.includes("release 13."))("nvcc 13 (not here: it is no Debian package)", () => {
  test("takes every kernel for sm_87, sm_90 and sm_110 without a spill", { timeout: PATIENCE_MS }, () => {
    expect(report("nvcc", "87,90,110", []).kernels.filter((row) => row.spillBytes > 0)).toEqual([]);
  });
});
