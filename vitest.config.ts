// SPDX-License-Identifier: Apache-2.0
// The projects of test/suites.ts; what a suite needs of the machine is declared in its files (test/doubles/needs.ts).
import { relative } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import {
  chosenSuites,
  filesAtOnce,
  findSuite,
  longestFirst,
  projectOf,
  type Suite,
  sharesProcesses,
  testFiles,
} from "./test/suites.js";

const files = testFiles();
const suites = chosenSuites(process.argv);

// Every random test of a run draws from these seeds; test/doubles/run-report.ts prints them next to a failure.
const seed = String(Date.now() % 1_000_000_007);
process.env.DEPTHWATT_SEED ??= seed;
process.env.V4L2_CAMERA_SEED ??= seed;

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return longestFirst(await super.sort(files), ({ moduleId }) => relative(import.meta.dirname, moduleId));
  }
}

/** Shuffled runs keep vitest's order. */
const isShuffled = process.argv.some((word) => word.startsWith("--sequence.shuffle"));

const source = (path: string) => new URL(path, import.meta.url).pathname;

export default defineConfig({
  resolve: {
    // Its sources, so that a test never runs an older build of the package.
    alias: [
      { find: /^v4l2-camera$/, replacement: source("camera/v4l2/src/index.ts") },
      { find: /^v4l2-camera\/parts$/, replacement: source("camera/v4l2/src/parts.ts") },
    ],
  },
  test: {
    ...(!isShuffled && { sequence: { sequencer: LongestFirst } }),
    globalSetup: "test/setup/fresh-build.ts",
    setupFiles: "test/setup/equal-arrays.ts",
    pool: "forks",
    // Keeps what was compiled, by the content of each module.
    experimental: { fsModuleCache: true },
    // A shared machine can starve one try of a test that talks to real processes; one that needs two is named at the end.
    retry: process.env.CI ? 1 : 0,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 10_000 } },
    reporters: ["default", "./test/doubles/run-report.ts"],
    projects: [...new Set(suites.map(projectOf))].map((name) => {
      const own = suites.filter((suite) => projectOf(suite) === name);
      const [suite] = own as [Suite];
      return {
        extends: true as const,
        test: {
          name,
          include: files.filter((path) => own.includes(findSuite(path) as Suite)),
          isolate: !sharesProcesses(suite),
          maxWorkers: filesAtOnce(suite),
          // One group runs after the other, and all suites of a group have the same number of workers.
          sequence: { groupOrder: filesAtOnce(suite) },
          // Emulation and virtual machines are slow where other work shares the cores.
          testTimeout: /^(long|nightly|apart)-/.test(name) ? 300_000 : 60_000,
        },
      };
    }),
  },
});
