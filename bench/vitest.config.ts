// SPDX-License-Identifier: Apache-2.0
// `npm run bench:stages`: one file at a time, so that no benchmark disturbs another.
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    pool: "forks",
    maxWorkers: 1,
    benchmark: { include: ["bench/stages/*.bench.ts"] },
  },
});
