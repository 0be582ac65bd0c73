// SPDX-License-Identifier: Apache-2.0
// One configuration for every suite; what a suite needs of the machine is declared in it (test/doubles/needs.ts).
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // The engine's own threads fill the cores; parallel test files would only fight them.
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: ["default", "./test/doubles/skip-report.ts"],
  },
});
