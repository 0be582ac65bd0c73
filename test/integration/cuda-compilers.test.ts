// SPDX-License-Identifier: Apache-2.0
// The oldest compiler that can be had takes every kernel for the boards it is for, at C++14 and without a spilled register;
// so does the newest, where it is there. The page of registers knows every kernel.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { kernelTable, residentWarps } from "../../scripts/cuda-table.mjs";
import { cachedNvcc118, FLAGS_11_8 } from "../../scripts/nvcc-11.8.mjs";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-compilers-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Report {
  nvcc: string;
  kernels: { kernel: string; architecture: number; registers: number; spillBytes: number }[];
}

/** Ten minutes of a processor; other suites run beside it and come first. */
const PATIENCE_MS = 3_000_000;

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
  "nvcc 11.8 ('npm run test:setup' fetches it)",
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

    test("docs/4-reference/cuda-kernels.md knows every kernel", () => {
      const page = readFileSync("docs/4-reference/cuda-kernels.md", "utf8");
      const unknown = kernelTable(built).rows.filter(([name]) => !page.includes(`\`${name}\``));
      expect(
        unknown.map(([name]) => name),
        "renew it by: node scripts/cuda-table.mjs",
      ).toEqual([]);
    });
  },
);

const newest = spawnSync("nvcc", ["--version"], { encoding: "utf8" }).stdout ?? "";
describe.skipIf(!newest.includes("release 13."))("nvcc 13 (not here: it is no Debian package)", () => {
  test("takes every kernel for sm_87, sm_90 and sm_110 without a spill", { timeout: PATIENCE_MS }, () => {
    expect(report("nvcc", "87,90,110", []).kernels.filter((row) => row.spillBytes > 0)).toEqual([]);
  });
});

describe("resident warps", () => {
  test("registers, shared memory and blocks each can be what limits", () => {
    expect(residentWarps(87, { registers: 128, sharedBytes: 0, threads: 128, dynamic: 0 })).toBe(16);
    expect(residentWarps(87, { registers: 32, sharedBytes: 0, threads: 128, dynamic: 32768 })).toBe(16);
    expect(residentWarps(53, { registers: 16, sharedBytes: 0, threads: 32, dynamic: 0 })).toBe(32);
    expect(residentWarps(110, { registers: 16, sharedBytes: 0, threads: 32, dynamic: 0 })).toBeUndefined();
  });
});
