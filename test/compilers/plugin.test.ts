// SPDX-License-Identifier: Apache-2.0
// nvcc 11.8, the oldest that the kernels promise, takes all of them for the boards they are for, at C++14 and without a spilled register.
import { spawnSync } from "node:child_process";
import { beforeAll, describe, expect, test } from "vitest";
import { reasonWith } from "../doubles/plugin-reason.js";
import { cachedNvcc118, FLAGS_11_8 } from "../setup/nvcc-11.8.mjs";
import { library, PATIENCE_MS, type Report, report } from "./plugin-report.js";

const hasDriver = spawnSync("nvidia-smi", ["-L"]).status === 0;

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

    test.skipIf(hasDriver)("builds a plugin that reports a missing driver", () => {
      expect(reasonWith(library)).toBe("CUDA unavailable: there is no NVIDIA driver on this machine.");
    });
  },
);
