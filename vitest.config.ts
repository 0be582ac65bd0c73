// SPDX-License-Identifier: Apache-2.0
// One configuration for every suite; what a suite needs of the machine is declared in it (test/doubles/needs.ts).
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // The engine's own threads fill the cores; parallel test files would only fight them.
    pool: "forks",
    maxWorkers: 2,
    // A shared machine can starve one try of a test that talks to real processes; one that needs two is named at the end.
    retry: process.env.CI ? 1 : 0,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: ["default", "./test/doubles/run-report.ts"],
  },
});
