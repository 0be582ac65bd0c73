// SPDX-License-Identifier: Apache-2.0
// Builds the plugin with one nvcc and reads what the assembler says of every kernel.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-compilers-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The plugin that report() built last. */
export const library = join(folder, "libdepthwatt_cuda.so");

export interface Report {
  nvcc: string;
  kernels: { kernel: string; architecture: number; registers: number; spillBytes: number }[];
}

/** A build takes ten minutes of a CPU at low priority. */
export const PATIENCE_MS = 6_000_000;

/** Builds the whole plugin for these architectures. @returns registers and spilled bytes of every kernel */
export function report(nvcc: string, architectures: string, flags: string[]): Report {
  const file = join(folder, "report.json");
  const run = spawnSync(
    "nice",
    ["-n", "19", process.execPath, "scripts/build-cuda.mjs", "--out", library, "--report", file],
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
